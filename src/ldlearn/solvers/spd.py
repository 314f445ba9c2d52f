"""Symmetric linear systems with several right-hand sides, definite or semi-definite."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgWarning, eigh

from ldlearn.core.simplex import Array


def reciprocal(values: Array) -> Array:
    """1 / values, and 0 where a value is zero up to rounding, relative to the largest."""
    rounding = values.size * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.divide(1.0, values, out=np.zeros(values.shape), where=values > rounding)


def squared_norm(A: Array) -> float:
    """Sum of the squares of the entries."""
    return float(np.vdot(A, A))


def unit_diagonal_scale(diagonal: Array) -> Array:
    """Factors of the rows and columns of a matrix that make its diagonal 1, or leave it 0."""
    roots = np.sqrt(np.maximum(diagonal, 0.0))
    return np.divide(1.0, roots, out=np.zeros(roots.shape), where=roots > 0)


def solve_spd(A: Any, B: Array) -> Array:
    """Solve ``A X = B`` for a symmetric positive definite matrix A, dense or sparse.

    Nothing is factorised, so a sparse A causes no fill-in.

    Parameters
    ----------
    A : {ndarray, sparse array} of shape (n, n)
    B : ndarray of shape (n, c)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> A = sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> solve_spd(A, np.array([[1.0, 3.0], [1.0, 0.0]])).round(6)
    array([[1., 2.],
           [1., 1.]])
    """
    return solve_operator(lambda S: A @ S, A.diagonal()[:, None], B)


def solve_operator(
    product: Callable[[Array], Array],
    diagonal: Array | float,
    B: Array,
    tol: float = 1e-10,
) -> Array:
    """Solve ``A X = B`` for a definite A given as ``product(X)``, all columns of B at once.

    Conjugate gradients, with the diagonal of A as preconditioner. Warns if the residual of a column
    is not ``tol`` times as small as that column of B, or as its largest column if it is zero.
    """
    norms = np.linalg.norm(B, axis=0)
    goal = tol * np.where(norms > 0.0, norms, norms.max())

    def is_solved(R: Array) -> Any:
        return (np.linalg.norm(R, axis=0) <= goal).all()

    X, R, _ = conjugate_gradients(
        product,
        lambda R: R / diagonal,
        B,
        rtol=0.0,
        max_steps=10 * B.size + 100,
        is_solved=is_solved,
    )
    if not is_solved(R):
        message = f"A linear system was not solved to tol={tol:g}; it is too ill-conditioned."
        warnings.warn(message, LinAlgWarning, stacklevel=2)
    return X


def conjugate_gradients(
    product: Callable[[Any], Any],
    precondition: Callable[[Any], Any],
    residual: Any,
    *,
    rtol: float,
    max_steps: int,
    dot: Callable[[Any, Any], Any] = np.vdot,
    is_solved: Callable[[Any], bool] = lambda residual: False,
) -> tuple[Any, Any, int]:
    """Solve ``A x = residual`` from ``x = 0``; returns x, the remaining residual, and the steps.

    Ends when the residual is small in the norm of the preconditioner, relative to the first, or
    ``is_solved``; or where the curvature of A is not positive: then x is the last one before, or
    that direction if it is the first.
    """
    x = np.zeros_like(residual)
    r = residual
    n_steps = 0
    s = z = precondition(r)
    rho = first = dot(r, z)
    while rho > rtol**2 * first and n_steps < max_steps and not is_solved(r):
        image = product(s)
        n_steps += 1
        curvature = dot(s, image)
        if curvature <= 0.0:
            return x if n_steps > 1 else s, r, n_steps
        t = rho / curvature
        x = x + t * s
        r = r - t * image
        z = precondition(r)
        previous = rho
        rho = dot(r, z)
        s = z + (rho / previous) * s
    return x, r, n_steps


def solve_semidefinite(A: Array, B: Array) -> Array:
    """Solve ``A X = B`` for a small semi-definite A whose rows and columns have any scale.

    A is first scaled to a unit diagonal, so that rounding errors are judged relative to their own
    column and not to the largest one. Directions in the numerical null space of the scaled A are
    left out of X.

    Parameters
    ----------
    A : ndarray of shape (m, m)
        Symmetric.
    B : ndarray of shape (m,) or (m, c)

    Examples
    --------
    Two features in very different units, and one that is always zero:

    >>> import numpy as np
    >>> solve_semidefinite(np.diag([1e-16, 1e16, 0.0]), np.array([1e-8, 1e8, 0.0]))
    array([1.e+08, 1.e-08, 0.e+00])
    """
    scale = unit_diagonal_scale(np.diagonal(A))
    values, vectors = eigh(scale[:, None] * A * scale, check_finite=False)
    vectors *= scale[:, None]  # back in the units of A
    return (vectors * reciprocal(values)) @ (vectors.T @ B)
