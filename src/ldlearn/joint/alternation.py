"""DLDL's alternation (Algorithm 2): W-steps and D-steps in turn."""

import logging
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ldlearn.core.simplex import Array
from ldlearn.joint.dldl_steps import DegreeStep
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.softmax_regression import SoftmaxFit

_log = logging.getLogger(__name__)


class Steps(Protocol):
    """The two steps of the alternation."""

    D: Any  # the current degrees

    @property
    def features(self) -> CentredMatrix:
        """What W multiplies."""

    def terms(self) -> float:
        """The terms of the objective in D alone, at D."""

    def update_W(self, start: SoftmaxFit | None, rtol: float) -> SoftmaxFit:
        """Minimise the objective over W and b, given D; ``rtol`` as in `softmax_regression`."""

    def update_D(self, W: SoftmaxFit) -> DegreeStep:
        """Minimise the objective over D, given W and b."""


@dataclass(frozen=True)
class _Alternation:
    """The result of `alternate`."""

    first_W: SoftmaxFit
    W: SoftmaxFit
    objective_path: Array  # after every half-step
    n_newton: list[int]  # iterations of each D-step
    steps_converged: bool  # the last W-step and the last D-step were solved to tol
    converged: bool  # so was the outer iteration


def alternate(
    steps: Steps, *, gamma: float, tol: float, max_iter: int, start: SoftmaxFit | None = None
) -> _Alternation:
    """Algorithm 2: update W and D in turn until an iteration changes little.

    There are at most ``max_iter`` iterations. W comes before D because equal degrees are a fair
    first D, and there is no such W. D comes last, so that it is optimal for the W that is returned.
    The outer iteration has converged when, at the rate at which changes of degrees shrink, further
    iterations would change none by more than ``sqrt(tol)`` (the objective is quadratic near its
    minimum), and the last one has lowered the objective by at most ``tol`` per row, which makes W
    accurate to ``tol``.
    """
    terms = steps.terms()
    path: list[float] = []
    n_newton: list[int] = []
    last_change = np.inf
    W = first_W = steps.update_W(start, rtol=0.0)  # Eq. 8
    while True:
        D = steps.update_D(W)  # Eq. 11
        path += [W.loss + terms, D.objective + gamma * np.sum(W.coef**2)]
        terms = D.terms
        n_newton.append(D.n_iter)
        n_iter = len(n_newton)
        _log.info("iteration %d of %d: objective %.6f", n_iter, max_iter, path[-1])
        # Changes that shrink by this rate, and were not below tol before, add up to change / (1 -
        # rate).
        rate = D.change / max(last_change, tol)
        limit = np.sqrt(tol) * max(1.0 - rate, np.sqrt(tol))
        smallest_gain = tol * steps.features.total
        converged = bool(n_iter > 1 and path[-3] - path[-1] <= smallest_gain and D.change <= limit)
        last_change = D.change
        if converged or n_iter == max_iter:
            break
        # The last W is certified; one before it only has to be accurate compared with what it
        # gains.
        W = steps.update_W(W, rtol=min(1e4 * tol, 0.1) if n_iter + 1 < max_iter else 0.0)
    solved = bool(W.converged and D.converged)
    return _Alternation(first_W, W, np.array(path), n_newton, solved, converged and solved)
