"""Regression with a nuclear norm penalty: the sum of the singular values of the coefficients."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ldlearn.core.simplex import Array, SampleWeight, row_weights
from ldlearn.solvers.low_rank import nuclear_norm, singular_value_threshold

_RowLoss = Callable[[Array], tuple[float, Array]]

_PATIENCE = 5  # consecutive small decreases; accelerated steps are uneven


class NuclearFit(NamedTuple):
    """Coefficients of a regression; ``scores = X @ coef + intercept``."""

    coef: Array
    intercept: Array
    scores: Array
    objective: float
    n_iter: int
    converged: bool


def nuclear_regression(
    X: Array,
    row_loss: _RowLoss,
    penalty: float,
    start: tuple[Array, Array],
    *,
    curvature: float,
    fit_intercept: bool = True,
    sample_weight: SampleWeight | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> NuclearFit:
    r"""Minimise ``loss(X W + b) + penalty |W|_*`` by accelerated proximal gradients.

    Momentum is reset whenever the objective would increase, so that it is monotone. For a
    non-convex loss the result is a stationary point below the start. W has exactly low rank,
    because every iterate is a thresholded matrix.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        With an intercept: columns of (weighted) mean zero, for which W and b do not interact in the
        curvature.
    row_loss : callable
        ``f(Z) -> (loss, gradient)`` for scores Z of shape (n_samples, n_labels).
    penalty : float
    start : W of shape (n_features, n_labels) and b of shape (n_labels,)
    curvature : float
        Bound on the largest eigenvalue of the Hessian of the loss of a row.
    fit_intercept : bool, default=True
        Whether b is optimised.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights of the rows in ``row_loss``, for the bounds on the curvature.
    tol : float, default=1e-7
        Stop when several consecutive steps decrease the objective by less than this fraction of it.
    max_iter : int, default=1000

    Examples
    --------
    Of two singular values, 3 and 1, both are reduced by half of ``penalty``:

    >>> import numpy as np
    >>> target = np.diag([3.0, 1.0])
    >>> def squares(Z):
    ...     return float(np.sum((Z - target) ** 2)), 2.0 * (Z - target)
    >>> start = np.zeros((2, 2)), np.zeros(2)
    >>> options = {"curvature": 2.0, "fit_intercept": False}
    >>> fit = nuclear_regression(np.eye(2), squares, 1.0, start, **options)
    >>> fit.coef.round(3) + 0.0  # no -0.0
    array([[2.5, 0. ],
           [0. , 0.5]])
    """
    weights = row_weights(X, sample_weight)
    spectral = np.linalg.norm(X * np.sqrt(weights)[:, None], 2) or 1.0
    # The Hessian in W is at most curvature * X' diag(weights) X, that in b at most
    # curvature * sum(weights).
    bounds = curvature * np.array([spectral**2, weights.sum()])
    # The bound applies to the worst row; start with a fraction of it, because most rows have much
    # less curvature.
    fraction = 2.0**-6

    def step(point: _Iterate) -> tuple[_Iterate, float]:
        """Minimise a quadratic model of bounded curvature plus the penalty; return the loss too."""
        nonlocal fraction
        value, slope = row_loss(point.Z)
        gradient = X.T @ slope
        shift = slope.sum(axis=0) * fit_intercept
        while True:
            bound_w, bound_b = fraction * bounds
            W = singular_value_threshold(point.W - gradient / bound_w, penalty / bound_w)
            b = point.b - shift / bound_b
            dW = W - point.W
            db = b - point.b
            model = (
                value
                + np.vdot(gradient, dW)
                + shift @ db
                + 0.5 * (bound_w * np.sum(dW**2) + bound_b * (db @ db))
            )
            # With the full bound the model is above the loss; a smaller fraction has to be checked
            # and never decreases.
            new = _Iterate(W, b, X @ W + b)
            loss, _ = row_loss(new.Z)
            if fraction >= 1.0 or loss <= model:
                return new, loss
            fraction *= 2.0

    W, b = start
    here = ahead = _Iterate(W, b, X @ W + b)
    objective = row_loss(here.Z)[0] + penalty * nuclear_norm(W)
    momentum = 1.0
    small = 0
    n_iter = 0
    while small < _PATIENCE and n_iter < max_iter:
        n_iter += 1
        there, loss = step(ahead)
        reached = loss + penalty * nuclear_norm(there.W)
        if reached > objective:
            if momentum == 1.0:  # then only rounding is left
                small = _PATIENCE
            ahead = here
            momentum = 1.0
            continue
        small = small + 1 if objective - reached <= tol * reached else 0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        extrapolation = (momentum - 1.0) / next_momentum
        pairs = zip(there, here, strict=True)
        ahead = _Iterate(*[new + extrapolation * (new - old) for new, old in pairs])
        here = there
        objective = reached
        momentum = next_momentum
    return NuclearFit(*here, objective, n_iter, small >= _PATIENCE)


class _Iterate(NamedTuple):
    W: Array
    b: Array
    Z: Array  # X W + b, which is linear in the others: mixtures of points need no product with X
