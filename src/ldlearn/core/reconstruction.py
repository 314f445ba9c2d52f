"""Local reconstruction: every row as a mean of its neighbours, affine (LLE) or convex."""

from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.core.graph import neighbor_index, neighbors_of_rows
from ldlearn.core.scaling import row_batches, to_dense
from ldlearn.core.simplex import Array, Indices, Mask, positive_or_one


def nonnegative_quadratic(C: Array, B: Array, start: Mask | None = None) -> Array:
    """Minimisers of ``v' C v / 2 - b' v`` over ``v >= 0``, one for each row b of B.

    Block principal pivoting: solve on a guess of the support, exchange the entries with the wrong
    sign, repeat. Exact after a few rounds of small linear systems, which are solved for all rows at
    once.

    Parameters
    ----------
    C : ndarray of shape (k, k) or (n, k, k)
        Symmetric positive definite; one matrix for all rows or one for each.
    B : ndarray of shape (n, k)
    start : boolean ndarray of shape (n, k), default=None
        Warm start: a guess of the supports, for instance those of a similar problem.

    Examples
    --------
    >>> import numpy as np
    >>> C = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> nonnegative_quadratic(C, np.array([[3.0, 3.0], [1.0, -4.0]]))
    array([[1. , 1. ],
           [0.5, 0. ]])
    """
    n, k = B.shape
    C = np.broadcast_to(C, (n, k, k))
    support = np.ones((n, k), dtype=bool) if start is None else start.copy()
    V = np.zeros((n, k))
    fewest = np.full(n, k + 1)  # wrong entries so far
    exchanges = np.zeros(n)  # of many indices without progress
    rows = np.arange(n)  # not yet solved
    for _ in range(20 * k):
        V[rows], wrong = _solve_on_support(C[rows], B[rows], support[rows])
        unsolved = wrong.any(axis=1)
        rows = rows[unsolved]
        wrong = wrong[unsolved]
        if not len(rows):
            break
        count = wrong.sum(axis=1)
        exchanges[rows] = np.where(count < fewest[rows], 0, exchanges[rows] + 1)
        fewest[rows] = np.minimum(count, fewest[rows])
        # After three, exchange the last wrong index only (Murty's rule), which terminates for every
        # positive definite C.
        stuck = exchanges[rows] > 3
        last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
        wrong[stuck] = np.arange(k) == last[stuck, None]
        support[rows] ^= wrong
    return np.maximum(V, 0.0)


def _solve_on_support(C: Array, B: Array, support: Mask) -> tuple[Array, Mask]:
    """v with ``C v = b`` on the support and 0 off it, and where its sign or gradient is wrong."""
    both = support[:, :, None] & support[:, None, :]
    # The identity off the support, so that supports of all sizes form one stack of systems.
    identity = np.eye(C.shape[-1])
    system = np.where(both, C, identity)
    right_side = np.where(support, B, 0.0)
    v = np.linalg.solve(system, right_side[..., None])[..., 0]
    gradient = np.einsum("ijl,il->ij", C, v) - B
    # A negative number this small, relative to the largest one, is rounding.
    tolerance = np.where(support, _largest(v), _largest(B))
    return v, np.where(support, v, gradient) < -1e-7 * tolerance


def _largest(A: Array) -> Array:
    """Largest absolute value of each row."""
    return np.abs(A).max(axis=1, keepdims=True)


def reconstruction_weights(X: Any, n_neighbors: int, reg: float = 1e-3) -> sparse.csr_array:
    r"""Weights of any sign that best reconstruct each row from its nearest neighbours (as in LLE).

    .. math::

        \min_{w_i} |x_i - \sum_{j \in N(i)} w_{ij} x_j|^2
        \quad \text{with} \quad \sum_j w_{ij} = 1

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    n_neighbors : int
        Size of N(i); a row is not its own neighbour.
    reg : float, default=1e-3
        Ridge, times the trace of the local Gram matrix.

    Returns
    -------
    W : csr_array of shape (n_samples, n_samples)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> reconstruction_weights(np.array([[0.0], [1.0], [4.0]]), 2, reg=1e-9).toarray().round(2)
    array([[ 0.  ,  1.33, -0.33],
           [ 0.75,  0.  ,  0.25],
           [-3.  ,  4.  ,  0.  ]])
    """
    indices = nearest_rows(X, n_neighbors)
    weights = np.empty(indices.shape)
    width = n_neighbors * max(X.shape[1], n_neighbors)
    for rows in row_batches(len(indices), width):
        grams = _block_grams(X, indices[rows], rows)
        weights[rows] = affine_weights(grams, reg)
    return weights_to_csr(weights, indices)


def nearest_rows(X: Any, n_neighbors: int) -> Indices:
    """Indices (n, k) of the nearest rows of each row, itself excluded."""
    index, _ = neighbor_index(X, n_neighbors)
    return neighbors_of_rows(index, X)[1]


def reconstruction_laplacian(W: sparse.csr_array) -> sparse.csr_array:
    """``M = (I - W)' (I - W)``, so that ``tr(D' M D) = |D - W D|^2``.

    ``M 1 = 0`` when the rows of W sum to one.
    """
    residual = sparse.eye_array(W.shape[0], format="csr") - W
    return sparse.csr_array(residual.T @ residual)


def weights_to_csr(weights: Array, indices: Indices) -> sparse.csr_array:
    """Weights (n, k) and indices of the neighbours as a sparse (n_samples, n_samples) matrix."""
    n, k = indices.shape
    pointers = np.arange(n + 1) * k
    entries = (weights.ravel(), indices.ravel(), pointers)
    return sparse.csr_array(entries, shape=(n, n))


def local_grams(X: Any, indices: Indices) -> Array:
    """Inner products ``<x_j - x_i, x_l - x_i>`` over the neighbours j, l of each row i.

    The shape is (n, k, k). Gram matrices of several blocks of columns add up:
    ``local_grams(X, N) + local_grams(D, N)`` is that of ``[X, D]``.
    """
    n, k = indices.shape
    grams = np.empty((n, k, k))
    for rows in row_batches(n, k * X.shape[1]):
        grams[rows] = _block_grams(X, indices[rows], rows)
    return grams


def affine_weights(grams: Array, reg: float = 1e-3) -> Array:
    """Minimisers of ``w' C w + reg tr(C) |w|^2`` with sum one, for a stack of Gram matrices C."""
    n, k, _ = grams.shape
    ridge = reg * _traces(grams) * np.eye(k)
    ones = np.ones((n, k, 1))
    w = np.linalg.solve(grams + ridge, ones)[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def simplex_weights(grams: Array, start: Mask | None = None) -> Array:
    """Exact minimisers of ``w' C w`` over the simplex, for a stack of Gram matrices C.

    All are computed at once. Up to a factor w solves ``min v' C v / 2 - 1' v, v >= 0``.

    Parameters
    ----------
    grams : ndarray of shape (n, k, k)
    start : boolean ndarray of shape (n, k), default=None
        Warm start: a guess of the supports, for instance those of a similar problem.
    """
    n, k, _ = grams.shape
    ridge = 1e-9  # relative; makes the minimiser unique
    scale = k / _traces(grams)
    C = grams * scale + k * ridge * np.eye(k)
    V = nonnegative_quadratic(C, np.ones((n, k)), start)
    return V / V.sum(axis=1, keepdims=True)


def _block_grams(X: Any, indices: Indices, rows: slice) -> Array:
    """`local_grams` of some rows, whose neighbours are given."""
    neighbors = to_dense(X[indices.ravel()])
    neighbors = neighbors.reshape(*indices.shape, X.shape[1])
    centres = to_dense(X[rows])[:, None, :]
    differences = np.subtract(neighbors, centres, dtype=np.float64)
    return differences @ differences.transpose(0, 2, 1)


def _traces(grams: Array) -> Array:
    """Traces, of shape (n, 1, 1); 1 for a row whose neighbours are all identical to it."""
    return positive_or_one(np.einsum("ijj->i", grams))[:, None, None]
