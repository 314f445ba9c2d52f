"""Many small quadratic programmes over non-negative numbers, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array, Mask

_INFEASIBLE = 1e-7  # relative size of a wrong sign that is not rounding
_FULL_EXCHANGES = 3  # without progress before one index at a time, which cannot cycle


def nonnegative_quadratic(C: Array, B: Array, start: Mask | None = None) -> NDArray[np.float64]:
    """Minimisers of ``v' C v / 2 - b' v`` over ``v >= 0``, one for each row b of B.

    Block principal pivoting: solve on a guess of the support, exchange the entries with the wrong sign, repeat.
    Exact after a few rounds of small linear systems, which all rows share.

    Parameters
    ----------
    C : ndarray of shape (k, k) or (n, k, k)
        Symmetric positive definite; one matrix for all rows or one for each.
    B : ndarray of shape (n, k)
    start : boolean ndarray of shape (n, k), default=None
        Guess of the supports, for instance those of a nearby problem.

    Examples
    --------
    >>> import numpy as np
    >>> nonnegative_quadratic(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[3.0, 3.0], [1.0, -4.0]]))
    array([[1. , 1. ],
           [0.5, 0. ]])
    """
    n, k = B.shape
    C = np.broadcast_to(C, (n, k, k))
    support = np.ones((n, k), dtype=bool) if start is None else start.copy()
    V = np.zeros((n, k))
    fewest = np.full(n, k + 1)  # wrong entries so far
    patience = np.full(n, _FULL_EXCHANGES)
    rows = np.arange(n)  # not yet solved
    for _ in range(20 * k):
        V[rows], wrong = _solve_on_support(C[rows], B[rows], support[rows])
        unsolved = wrong.any(axis=1)
        rows, wrong = rows[unsolved], wrong[unsolved]
        if not len(rows):
            break
        count = wrong.sum(axis=1)
        better = count < fewest[rows]
        fewest[rows] = np.where(better, count, fewest[rows])
        patience[rows] = np.where(better, _FULL_EXCHANGES, patience[rows] - 1)
        stuck = patience[rows] < 0
        # One wrong index, and always the last (Murty's rule), ends for every positive definite C.
        last = k - 1 - np.argmax(wrong[:, ::-1], axis=1)
        wrong[stuck] = np.arange(k) == last[stuck, None]
        support[rows] ^= wrong
    return np.maximum(V, 0.0)


def _solve_on_support(C: Array, B: Array, support: Mask) -> tuple[NDArray[np.float64], Mask]:
    """v with ``C v = b`` on the support and 0 off it, and the entries whose sign or gradient is wrong."""
    both = support[:, :, None] & support[:, None, :]
    # Off the support the identity, so that supports of all sizes are one stack of systems.
    system = np.where(both, C, np.eye(C.shape[-1]))
    v = np.linalg.solve(system, np.where(support, B, 0.0)[..., None])[..., 0]
    gradient = np.einsum("ijl,il->ij", C, v) - B
    smallest = -_INFEASIBLE * np.abs(v).max(axis=1, keepdims=True)
    flattest = -_INFEASIBLE * np.abs(B).max(axis=1, keepdims=True)
    return v, np.where(support, v < smallest, gradient < flattest)
