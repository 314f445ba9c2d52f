"""Correlation matrices that are least aligned with given matrices."""

import numpy as np

from ldlearn.core.simplex import Array


def align_unit_rows(Z: Array, C: Array, sweeps: int = 20) -> Array:
    """Decrease ``<Z Z', C>`` over matrices Z with rows of unit length, for a stack of symmetric matrices C.

    ``Z Z'`` runs through the correlation matrices: positive semi-definite with unit diagonal. One row is minimised
    over at a time, in closed form: it opposes the sum of the others, weighted by C. The value never increases.

    Parameters
    ----------
    Z : ndarray of shape (g, c, k)
        Starting point; rows of unit length.
    C : ndarray of shape (g, c, c)
    sweeps : int, default=20
        Passes over the rows.

    References
    ----------
    P.-W. Wang, W.-C. Chang, J. Z. Kolter, "The Mixing Method: Low-Rank Coordinate Descent for Semidefinite Programming
    with Diagonal Constraints", 2017.

    Examples
    --------
    Two positively related labels get the correlation -1:

    >>> import numpy as np
    >>> Z = align_unit_rows(np.eye(2)[None] @ [[0.6, 0.8], [0.0, 1.0]], np.array([[[2.0, 1.0], [1.0, 2.0]]]))
    >>> (Z @ Z.transpose(0, 2, 1)).round(6) + 0.0
    array([[[ 1., -1.],
            [-1.,  1.]]])
    """
    Z = np.array(Z, dtype=np.float64)
    # The diagonal of Z Z' is 1 whatever Z is: that of C changes nothing.
    others = C * (1.0 - np.eye(C.shape[1]))
    for _ in range(sweeps):
        for j in range(Z.shape[1]):
            gradient = np.einsum("gk,gkd->gd", others[:, j], Z)
            length = np.linalg.norm(gradient, axis=1, keepdims=True)
            Z[:, j] = np.where(length > 0, -gradient / np.where(length > 0, length, 1.0), Z[:, j])
    return Z
