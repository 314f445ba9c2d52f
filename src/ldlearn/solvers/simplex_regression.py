"""Linear regression on partly known degrees, whose fitted values are distributions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ldlearn.core.simplex import Array, project_simplex
from ldlearn.solvers.low_rank import ThinFactors


class SimplexFit(NamedTuple):
    """Result of `simplex_regression`: ``X W + intercept`` is near ``fitted``, on the simplex."""

    V: Array
    dual_coef: Array  # W is X' times this
    intercept: Array
    fitted: Array
    n_iter: int
    converged: bool


def simplex_regression(
    factors: ThinFactors,
    D: Array,
    weights: Array,
    shrink: Callable[[Array, float], Array],
    *,
    ridge: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SimplexFit:
    """Minimise squared errors plus a penalty, with rows of ``Z = X W + b`` on the simplex.

    The objective is ``1/2 sum_ij weights_ij (Z_ij - D_ij)^2 + penalty``. With the thin singular
    value decomposition ``X = Q S R'`` the unknowns are b and ``V = (S^2 + ridge)^(1/2) R' W``: V
    has the singular values of ``[X; ridge^(1/2) I] W``. Of all W with this V the one of least
    length is returned.

    The alternating direction method of multipliers with two proximal terms, which vanish at the
    solution: one gives all degrees the largest weight, so that the step in Z is a projection; one
    makes the step in V a call of ``shrink``.

    Parameters
    ----------
    factors : ThinFactors
        Q and S of features X whose columns have mean 0.
    D : ndarray of shape (n_samples, n_labels)
        NaN where the weight is 0.
    weights : ndarray of shape (n_samples, n_labels)
        Not negative; 0 where the degree is unknown.
    shrink : callable
        Proximal operator of the penalty: ``shrink(A, t)`` minimises ``1/2 |V - A|^2 + t penalty``.
    ridge : float, default=0
    tol : float, default=1e-6
        Stop when the root mean squares of ``X W + b - Z`` and of the change of Z are at most this.
    max_iter : int, default=1000

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.solvers.low_rank import thin_factors
    >>> X, D = np.array([[-1.0], [1.0]]), np.array([[1.0, 0.0], [np.nan, np.nan]])
    >>> weights = np.array([[1.0], [0.0]])  # nothing is known about the second row
    >>> fit = simplex_regression(thin_factors(X), D, weights, lambda A, t: A / (1.0 + 2.0 * t))
    >>> fit.fitted.round(3)
    array([[1., 0.],
           [1., 0.]])
    """
    lengths = np.sqrt(factors.values**2 + ridge)
    basis = factors.basis * (factors.values / lengths)
    D = np.where(weights > 0, D, 0.0)
    step = weights.max()  # of the augmented Lagrangian: the scale of the loss
    Z = np.full(D.shape, 1.0 / D.shape[1])
    U = np.zeros(D.shape)
    V = np.zeros((basis.shape[1], D.shape[1]))
    n_iter = 0
    converged = False
    while not converged and n_iter < max_iter:
        n_iter += 1
        V = shrink(V + basis.T @ (Z - U - basis @ V), 1.0 / step)
        b = (Z - U).mean(axis=0)
        scores = basis @ V + b
        gradient = weights / step * (Z - D)
        before = Z
        Z = project_simplex(0.5 * (Z - gradient + scores + U))
        U += scores - Z
        converged = max(_root_mean_square(scores - Z), _root_mean_square(Z - before)) <= tol
    dual_coef = factors.basis / (factors.values * lengths) @ V
    return SimplexFit(V, dual_coef, b, Z, n_iter, converged)


def _root_mean_square(A: Array) -> float:
    return float(np.sqrt(np.mean(A**2)))
