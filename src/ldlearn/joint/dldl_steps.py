"""The steps of DLDL's alternation: degrees given the predictor, and both on rows in memory."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from ldlearn.core.graph import NeighborGraph
from ldlearn.core.simplex import (
    Array,
    Mask,
    SampleWeight,
    log_degrees,
    log_softmax,
    row_weights,
    take_rows,
)
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.newton_simplex import SimplexSolution, newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression


@dataclass(frozen=True)
class DegreeRows:
    """The constraints and weights of the degrees of some rows."""

    support: Any  # Mask or Support: labels that may have a degree, positive or unknown
    laplacian: Any = None  # alpha G
    sample_weight: SampleWeight | None = None
    fixed: Mask | None = None  # rows whose degrees are given and stay as they start

    def take(self, rows: Mask) -> Self:
        """Some of the rows, and the graph among them."""
        G = self.laplacian
        if G is not None:
            G = G[rows][:, rows]
        weights = take_rows(self.sample_weight, rows)
        return replace(
            self, support=self.support[rows], laplacian=G, sample_weight=weights, fixed=None
        )


@dataclass(frozen=True)
class DegreeStep(SimplexSolution):
    """The result of a D-step; its objective lacks the penalty of W."""

    terms: float  # the part of the objective that does not depend on W
    change: float  # largest change of a degree


def second_difference_penalty(n_labels: int) -> Array:
    """The matrix Q with ``d' Q d = |second differences of d|^2``.

    It is zero if there are fewer than three labels.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0, 4.0])
    >>> (
    ...     float(d @ second_difference_penalty(4) @ d),
    ...     float(np.eye(4)[1] @ second_difference_penalty(4) @ np.eye(4)[1]),
    ... )
    (0.0, 5.0)
    """
    S = np.diff(np.eye(n_labels), n=2, axis=0)
    return S.T @ S


@dataclass(frozen=True)
class DegreeTerms:
    """The terms of the objective in D alone.

    They are ``sum D ln D + alpha tr(D'GD) + beta |D|^2 + ordered tr(D Q D')``. Q sums the squared
    second differences along the labels of a row. Each row counts by its sample weight; the graph
    term is not weighted.
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
        if w is not None and sparse.issparse(D):
            values *= np.repeat(w, np.diff(D.indptr))
        elif w is not None:
            values *= w[:, None]
        total = float(values.sum())
        if rows.laplacian is not None:
            total += float(np.vdot(D, rows.laplacian @ D))
        return total

    def minimize(self, logP: Any, rows: DegreeRows, start: Any, tol: float) -> DegreeStep:
        """The D-step (Eq. 11): minimise these terms minus ``<D, ln P>`` on the support."""
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
        fixed = np.asarray(rows.fixed)
        free = ~fixed
        fixed_D = start[fixed]
        w = row_weights(start, rows.sample_weight)
        # The fixed rows add a constant to the objective.
        constant = self.value(fixed_D, rows.take(fixed))
        constant -= float(w[fixed] @ (fixed_D * logP[fixed]).sum(axis=1))
        gap = np.zeros(len(start))
        if not free.any():
            return SimplexSolution(start, gap, constant, 0, True)
        prior = logP[free]
        if rows.laplacian is not None:
            # G is symmetric: <D_free, G D_fixed> occurs twice. The prior of a row is multiplied by
            # its weight, the graph is not.
            coupling = 2.0 * (rows.laplacian[free][:, fixed] @ fixed_D)
            prior = prior - coupling / w[free, None]
        found = self._solve(prior, rows.take(free), start[free], tol)
        D = start.copy()
        D[free] = found.D
        gap[free] = found.gap
        return replace(found, D=D, gap=gap, objective=found.objective + constant)


@dataclass
class LocalSteps:
    """The two steps of the alternation on rows in memory."""

    features: CentredMatrix
    rows: DegreeRows
    D: Any
    degree_terms: DegreeTerms
    gamma: float
    tol: float
    gap: Array = field(init=False)

    def terms(self) -> float:
        """See `Steps.terms`."""
        return self.degree_terms.value(self.D, self.rows)

    def update_W(self, start: SoftmaxFit | None, rtol: float) -> SoftmaxFit:
        """See `Steps.update_W`."""
        return softmax_regression(
            self.features, self.D, l2=self.gamma, start=start, tol=self.tol, rtol=rtol
        )

    def update_D(self, W: SoftmaxFit) -> DegreeStep:
        """See `Steps.update_D`."""
        # Sparse logits are those of the positive labels only, and normalised already.
        logP = W.logits if sparse.issparse(W.logits) else log_softmax(W.logits)
        step = self.degree_terms.minimize(logP, self.rows, self.D, self.tol)
        self.D = step.D
        self.gap = step.gap
        return step


@dataclass
class SharedWork:
    """Results that fits on the same rows share, computed by the first that needs them."""

    graph: NeighborGraph | None = None
    feature_map: Any = None
    offsets: Array | None = None  # of the feature map
    features: CentredMatrix | None = None
    first_W: SoftmaxFit | None = None  # the same for equal gamma, a warm start for others
