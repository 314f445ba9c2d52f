"""Regression with a penalty on the sum of the singular values of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array, SampleWeight
from ldlearn.solvers.low_rank import nuclear_norm, singular_value_threshold

RowLoss = Callable[[Array], tuple[float, Array]]

_PATIENCE = 5  # small falls in a row; accelerated steps are uneven


class NuclearFit(NamedTuple):
    """Coefficients of a regression; ``scores = X @ coef + intercept``."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    scores: NDArray[np.float64]
    objective: float
    n_iter: int
    converged: bool


def nuclear_regression(
    X: Array,
    row_loss: RowLoss,
    weight: float,
    start: tuple[Array, Array],
    *,
    curvature: float,
    fit_intercept: bool = True,
    sample_weight: SampleWeight | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> NuclearFit:
    r"""Lower ``loss(X W + b) + weight |W|_*`` from a start, by accelerated proximal gradients.

    Momentum is dropped whenever the objective would rise, so that it never does. A loss that is not convex is only
    followed downhill: small steps from one start end in one place, whatever rounding does. The weights have exactly
    low rank, because every iterate is a thresholded matrix.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        With an intercept: columns of (weighted) mean zero, for which W and b do not interact in the curvature.
    row_loss : callable
        ``f(Z) -> (loss, gradient)`` for scores Z of shape (n, c).
    weight : float
    start : W of shape (m, c) and b of shape (c,)
    curvature : float
        Bound on the largest eigenvalue of the Hessian of the loss of a row.
    fit_intercept : bool, default=True
        Whether b moves.
    sample_weight : ndarray of shape (n,), default=None
        How often ``row_loss`` counts each row, for the bounds on the curvature.
    tol : float, default=1e-7
        Stop when some steps in a row lower the objective by less than this share of it.
    max_iter : int, default=1000

    Examples
    --------
    Of two weights, 3 and 1, both are lowered by half of ``weight``:

    >>> import numpy as np
    >>> target = np.diag([3.0, 1.0])
    >>> def squares(Z):
    ...     return float(np.sum((Z - target) ** 2)), 2.0 * (Z - target)
    >>> start = np.zeros((2, 2)), np.zeros(2)
    >>> nuclear_regression(np.eye(2), squares, 1.0, start, curvature=2.0, fit_intercept=False).coef.round(3) + 0.0
    array([[2.5, 0. ],
           [0. , 0.5]])
    """
    problem = _Problem(X, row_loss, weight, curvature, fit_intercept, sample_weight)
    here = problem.point(*(np.asarray(array, dtype=np.float64) for array in start))
    objective = problem.row_loss(here.Z)[0] + problem.penalty(here)
    ahead, momentum, small, n_iter = here, 1.0, 0, 0
    while small < _PATIENCE and n_iter < max_iter:
        n_iter += 1
        there, loss = problem.step(ahead)
        reached = loss + problem.penalty(there)
        if reached > objective:
            if momentum == 1.0:  # a plain step that rises: nothing is left but rounding
                small = _PATIENCE
            ahead, momentum = here, 1.0
            continue
        small = small + 1 if objective - reached <= tol * reached else 0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        extrapolation = (momentum - 1.0) / next_momentum
        ahead = _Point(*(new + extrapolation * (new - old) for new, old in zip(there, here, strict=True)))
        here, objective, momentum = there, reached, next_momentum
    return NuclearFit(*here, objective, n_iter, small >= _PATIENCE)


class _Point(NamedTuple):
    W: NDArray[np.float64]
    b: NDArray[np.float64]
    Z: NDArray[np.float64]  # X W + b, which is linear in the others: mixtures of points need no product with X


class _Problem:
    """The objective, and proximal steps whose length adapts to the curvature that is met."""

    def __init__(
        self,
        X: Array,
        row_loss: RowLoss,
        weight: float,
        curvature: float,
        fit_intercept: bool,
        sample_weight: SampleWeight | None,
    ) -> None:
        self.X, self.row_loss, self.weight, self.fit_intercept = X, row_loss, weight, fit_intercept
        counts = np.ones(len(X)) if sample_weight is None else sample_weight
        spectral = float(np.linalg.norm(X if sample_weight is None else X * np.sqrt(counts)[:, None], 2))
        # The Hessian in W is at most curvature * X' diag(counts) X, that in b at most curvature * the number of rows.
        self.bounds = curvature * (spectral**2 if spectral > 0 else 1.0), curvature * float(counts.sum())
        # The curvature bound holds for the worst row; most rows are far flatter.
        self.share = 2.0**-6

    def point(self, W: NDArray[np.float64], b: NDArray[np.float64]) -> _Point:
        return _Point(W, b, np.asarray(self.X @ W + b))

    def penalty(self, point: _Point) -> float:
        return self.weight * nuclear_norm(point.W)

    def step(self, point: _Point) -> tuple[_Point, float]:
        """The minimiser of a quadratic model with bounded curvature, plus the penalty; and the loss there."""
        value, slope = self.row_loss(point.Z)
        gradient, shift = self.X.T @ slope, slope.sum(axis=0) * self.fit_intercept
        while True:
            bound_w, bound_b = (self.share * bound for bound in self.bounds)
            W = singular_value_threshold(point.W - gradient / bound_w, self.weight / bound_w)
            new = self.point(W, point.b - shift / bound_b)
            dW, db = new.W - point.W, new.b - point.b
            model = value + np.vdot(gradient, dW) + shift @ db + 0.5 * (bound_w * np.sum(dW**2) + bound_b * (db @ db))
            # At a share of 1 the bound is proven, at less it is tried; what was too little is not tried again.
            loss, _ = self.row_loss(new.Z)
            if self.share >= 1.0 or loss <= model:
                return new, loss
            self.share *= 2.0
