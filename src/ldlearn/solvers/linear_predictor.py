"""Predictions of linear models on rows in memory, a block of rows at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ldlearn.core.resources import in_threads
from ldlearn.core.scaling import row_batches, row_blocks, to_dense
from ldlearn.core.simplex import Array


def linear_scores(X: Any, W: Array, b: Array) -> Array:
    """``X W + b`` in float64, by blocks, so that a float32 X is never copied at once.

    Examples
    --------
    >>> import numpy as np
    >>> linear_scores(np.array([[1.0, 2.0]], dtype=np.float32), np.eye(2), np.array([0.5, 0.0]))
    array([[1.5, 2. ]])
    """
    shape = (X.shape[0], W.shape[1])
    scores = np.empty(shape, order="F")
    for rows in row_blocks(X):
        scores[rows] = X[rows] @ W
    scores += b
    return scores


def linear_softmax(X: Any, W: Array, b: Array) -> Array:
    """``softmax(X W + b)`` in the precision of X, a block of rows at a time.

    A large b compensates for columns far from zero, and digits would be lost: then logits are
    computed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.zeros((1, 1), dtype=np.float32)
    >>> linear_softmax(X, np.ones((1, 2)), np.log([0.25, 0.75])).round(6)
    array([[0.25, 0.75]], dtype=float32)
    """
    shape = (X.shape[0], W.shape[1])
    P = np.empty(shape, dtype=X.dtype)
    if np.abs(b - b.mean()).max() <= 64.0:  # costs less than 1e-5 in single precision
        W = W.astype(X.dtype, copy=False)
        b = b.astype(X.dtype, copy=False)

    def fill(rows: slice) -> None:
        Z = X[rows] @ W
        if W.shape[1] < 64:  # reductions over short rows are slow in C order
            Z = np.asfortranarray(Z)
        Z += b
        Z -= Z.max(axis=1, keepdims=True)
        np.exp(Z, out=Z)
        totals = Z.sum(axis=1, keepdims=True)
        np.divide(Z, totals, out=P[rows], casting="same_kind")

    in_threads(fill, list(row_blocks(X, W.shape[1])))
    return P


def centred_blocks(X: Any, mean: Array, width: int) -> Iterator[tuple[slice, Array]]:
    """``X - mean``, dense and in float64, by slices of rows that need ``width`` numbers each."""
    for rows in row_batches(X.shape[0], width):
        block = to_dense(X[rows])
        yield rows, np.subtract(block, mean, dtype=np.float64)
