"""DLDL's alternation (Algorithm 2): W-steps and D-steps in turn, on rows in memory or in blocks on
a cluster."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ldlearn.core.simplex import Array, Mask, SampleWeight, log_degrees
from ldlearn.solvers.newton_simplex import SimplexSolution, newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DegreeRows:
    """The constraints and weights of the degrees of some rows."""

    support: Any  # Mask or Support: labels that may have a degree, positive or unknown
    laplacian: Any = None  # alpha G
    sample_weight: SampleWeight | None = None
    fixed: Mask | None = None  # rows whose degrees are given and stay as they start

    def take(self, rows: Mask) -> DegreeRows:
        """Some of the rows, and the graph among them."""
        G = None if self.laplacian is None else self.laplacian[rows][:, rows]
        return DegreeRows(
            self.support[rows], G, None if self.sample_weight is None else self.sample_weight[rows]
        )


@dataclass(frozen=True)
class DegreeStep(SimplexSolution):
    """The result of a D-step; its objective lacks the penalty of W."""

    terms: float  # the part of the objective that does not depend on W
    change: float  # largest change of a degree


def second_difference_penalty(n_labels: int) -> Array:
    """The matrix Q with ``d' Q d = |second differences of d|^2``; zero if there are fewer than
    three labels.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0, 4.0])
    >>> (
    ...     float(d @ second_difference_penalty(4) @ d),
    ...     float(np.eye(4)[1] @ second_difference_penalty(4) @ np.eye(4)[1]),
    ... )
    (0.0, 5.0)
    """
    S = np.diff(np.eye(n_labels), n=2, axis=0) if n_labels > 2 else np.zeros((1, n_labels))
    return np.asarray(S.T @ S)


@dataclass(frozen=True)
class DegreeTerms:
    """The terms of the objective in D alone: ``sum D ln D + alpha tr(D'GD) + beta |D|^2 + ordered
    tr(D Q D')``.

    Q sums the squared second differences along the labels of a row. Each row counts by its sample
    weight; the graph term is not weighted.
    """

    beta: float
    ordered: float

    def between_labels(self, n_labels: int) -> Array | None:
        """Q times its penalty; None if labels are not ordered."""
        return self.ordered * second_difference_penalty(n_labels) if self.ordered else None

    def value(self, D: Any, rows: DegreeRows) -> float:
        """The terms at D."""
        entries = D.data if sparse.issparse(D) else D
        values = entries * (log_degrees(entries) + self.beta * entries)  # 0 ln 0 is 0
        Q = self.between_labels(D.shape[1])
        if Q is not None:
            values = values + D * (D @ Q)
        w = rows.sample_weight
        if w is not None:
            values *= np.repeat(w, np.diff(D.indptr)) if sparse.issparse(D) else w[:, None]
        graph_term = 0.0 if rows.laplacian is None else float(np.vdot(D, rows.laplacian @ D))
        return graph_term + float(values.sum())

    def minimize(self, logP: Any, rows: DegreeRows, start: Any, tol: float) -> DegreeStep:
        """The D-step (Eq. 11): minimise these terms minus ``<D, ln P>`` over distributions on the
        support."""
        solve = self._solve if rows.fixed is None else self._solve_free
        found = solve(logP, rows, start, tol)
        change = float(abs(found.D - start).max())
        return DegreeStep(**vars(found), terms=self.value(found.D, rows), change=change)

    def _solve(self, logP: Any, rows: DegreeRows, start: Any, tol: float) -> SimplexSolution:
        return newton_simplex(
            logP,
            rows.support,
            laplacian=rows.laplacian,
            beta=self.beta,
            sample_weight=rows.sample_weight,
            between_labels=self.between_labels(logP.shape[1]),
            start=start,
            tol=tol,
        )

    def _solve_free(
        self, logP: Array, rows: DegreeRows, start: Array, tol: float
    ) -> SimplexSolution:
        """Solve for the rows that are not fixed.

        The graph couples both kinds of row: ``tr(D'GD)`` is quadratic in the free rows and linear
        in their products with the fixed ones, which shift the prior of the free rows.
        """
        assert rows.fixed is not None
        free, fixed = ~rows.fixed, rows.fixed
        fixed_D, w = start[fixed], rows.sample_weight
        # The fixed rows add a constant to the objective.
        fit = (fixed_D * logP[fixed]).sum(axis=1)
        constant = self.value(fixed_D, rows.take(fixed)) - float(
            fit.sum() if w is None else w[fixed] @ fit
        )
        if not free.any():
            return SimplexSolution(start, np.zeros(len(start)), constant, 0, True)
        prior = logP[free]
        if rows.laplacian is not None:
            # G is symmetric: <D_free, G D_fixed> occurs twice. The prior of a row is multiplied by
            # its weight, the graph is not.
            coupling = 2.0 * (rows.laplacian[free][:, fixed] @ fixed_D)
            prior = prior - (coupling if w is None else coupling / w[free, None])
        found = self._solve(prior, rows.take(free), start[free], tol)
        D, gap = start.copy(), np.zeros(len(start))
        D[free], gap[free] = found.D, found.gap
        return replace(found, D=D, gap=gap, objective=found.objective + constant)


class Steps(Protocol):
    """The two steps of the alternation."""

    total: float  # sum of the sample weights
    D: Any  # the current degrees

    def terms(self) -> float:
        """The terms of the objective in D alone, at D."""

    def update_W(self, start: SoftmaxFit | None, rtol: float) -> SoftmaxFit:
        """Minimise the objective over W and b, given D; ``rtol`` as in `softmax_regression`."""

    def update_D(self, W: SoftmaxFit) -> DegreeStep:
        """Minimise the objective over D, given W and b."""


@dataclass(frozen=True)
class Alternation:
    """The result of `alternate`."""

    first_W: SoftmaxFit
    W: SoftmaxFit
    objective_path: Array  # after every half-step
    n_newton: list[int]  # iterations of each D-step
    steps_converged: bool  # the last W-step and the last D-step were solved to tol
    converged: bool  # so was the outer iteration


def alternate(
    steps: Steps, *, gamma: float, tol: float, max_iter: int, start: SoftmaxFit | None = None
) -> Alternation:
    """Algorithm 2: update W and D in turn until an iteration changes little, at most ``max_iter``
    times.

    W comes before D because equal degrees are a fair first D, and there is no such W. D comes last,
    so that it is optimal for the W that is returned. The outer iteration has converged when, at the
    rate at which changes of degrees shrink, further iterations would change none by more than
    ``sqrt(tol)`` (the objective is quadratic near its minimum), and the last one has lowered the
    objective by at most ``tol`` per row, which makes W accurate to ``tol``.
    """
    terms, path, n_newton, last_change = steps.terms(), list[float](), list[int](), np.inf
    W = first_W = steps.update_W(start, rtol=0.0)  # Eq. 8
    while True:
        D = steps.update_D(W)  # Eq. 11
        path += [W.loss + terms, D.objective + gamma * float(np.sum(W.coef**2))]
        terms = D.terms
        n_newton.append(D.n_iter)
        n_iter = len(n_newton)
        _log.info("iteration %d of %d: objective %.6f", n_iter, max_iter, path[-1])
        # Changes that shrink by this rate, and were not below tol before, add up to change / (1 -
        # rate).
        rate = D.change / max(last_change, tol)
        limit = np.sqrt(tol) * max(1.0 - rate, np.sqrt(tol))
        converged = bool(
            n_iter > 1 and path[-3] - path[-1] <= tol * steps.total and D.change <= limit
        )
        last_change = D.change
        if converged or n_iter == max_iter:
            break
        # The last W is certified; one before it only has to be accurate compared with what it
        # gains.
        W = steps.update_W(W, rtol=min(1e4 * tol, 0.1) if n_iter + 1 < max_iter else 0.0)
    solved = bool(W.converged and D.converged)
    return Alternation(first_W, W, np.array(path), n_newton, solved, converged and solved)
