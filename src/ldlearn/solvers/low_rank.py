"""Steps of low-rank solvers: singular value thresholding, column shrinkage, smoothing."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from ldlearn.core.simplex import Array, positive_or_one
from ldlearn.solvers.spd import solve_operator


class ThinFactors(NamedTuple):
    """Thin factors of a matrix, truncated at its numerical rank.

    The matrix is ``X = basis diag(values) U'`` with orthonormal U.
    """

    basis: Array  # (n, r), orthonormal columns
    values: Array  # (r,), positive

    @property
    def coordinates(self) -> Array:
        """The rows of X as columns of r coordinates: same inner products, shape (r, n)."""
        return self.values[:, None] * self.basis.T


def thin_factors(X: Array) -> ThinFactors:
    """Left singular vectors and singular values of X (n_samples, n_features), up to its rank."""
    X = X.astype(np.float64)
    V, s, _ = linalg.svd(X, full_matrices=False, check_finite=False)
    rounding = max(X.shape) * np.finfo(X.dtype).eps * s.max(initial=0.0)
    rank = np.count_nonzero(s > rounding)
    basis = np.ascontiguousarray(V[:, :rank])
    return ThinFactors(basis, s[:rank])


def singular_value_threshold(A: Array, tau: float) -> Array:
    """Reduce every singular value by tau, at least to zero.

    This is the proximal operator of tau times the nuclear norm. It works on the Gram matrix of the
    shorter side, which is several times faster than a decomposition of A and exact to about 1e-8 of
    the largest singular value.

    Examples
    --------
    >>> import numpy as np
    >>> singular_value_threshold(np.diag([3.0, 1.0]), 2.0).round(6) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    if A.shape[0] > A.shape[1]:
        return singular_value_threshold(A.T, tau).T
    if np.linalg.norm(A) <= tau:  # a bound on every singular value
        return np.zeros(A.shape)
    squares, U = np.linalg.eigh(A @ A.T)
    kept = squares > tau**2
    # With A = U S V' the result U (S - tau) V' is U (1 - tau / S) U' A: V is never needed.
    U = U[:, kept]
    factors = 1.0 - tau / np.sqrt(squares[kept])
    return np.linalg.multi_dot([U * factors, U.T, A])


def nuclear_norm(A: Array) -> float:
    """Sum of the singular values."""
    if not A.size:
        return 0.0
    return np.linalg.svd(A, compute_uv=False).sum()


def shrinkage(norms: Array, tau: float | Array) -> Array:
    """Factors ``max(1 - tau / norm, 0)`` that shorten vectors of these norms by tau."""
    return np.maximum(norms - tau, 0.0) / positive_or_one(norms)


def smooth_by_representation(Y: Array, C: Any, weight: float) -> Array:
    """The minimiser of ``|D - Y|^2 + weight |D - C D|^2``.

    Parameters
    ----------
    Y : ndarray of shape (n, c)
    C : ndarray of shape (n, n) or LowRankProduct
    weight : float

    Examples
    --------
    >>> import numpy as np
    >>> Y, C = np.array([[1.0], [0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> smooth_by_representation(Y, C, 1.0).round(3)
    array([[0.6],
           [0.4]])
    """

    def system_times(V: Array) -> Array:
        R = V - C @ V
        return V + weight * (R - C.T @ R)

    return solve_operator(system_times, 1.0, Y)
