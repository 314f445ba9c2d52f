"""Nearest rows by Euclidean distance, wherever the data lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from ldlearn.core.offsets import column_moments, removable_offsets, without_offsets
from ldlearn.errors import InputError


def common_offsets(X: Any) -> NDArray[np.float64]:
    """What the rows of X have in common and no distance depends on; see `removable_offsets`."""
    return removable_offsets(X, *column_moments(X))


def moved(X: Any, offsets: NDArray[np.float64]) -> Any:
    """``X - offsets`` in the precision of X: a search works with ``|x|^2``, where a large offset swamps distances."""
    return without_offsets(X, offsets).astype(X.dtype, copy=False)


def neighbor_index(X: Any, n_neighbors: int) -> tuple[NearestNeighbors, NDArray[np.float64]]:
    """An index of the rows of X, and the offsets to take from rows that it is asked about (`moved`).

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n, m)
    n_neighbors : int
        Less than n: a row is not its own neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> index, offsets = neighbor_index(np.array([[1e9], [1e9 + 1.0], [1e9 + 3.0]]), 1)
    >>> index.kneighbors(moved(np.array([[1e9 + 2.9]]), offsets), return_distance=False)
    array([[2]])
    """
    n = X.shape[0]
    if not 1 <= n_neighbors < n:
        raise InputError(
            f"n_neighbors must be at least 1 and less than the number of rows, got n_neighbors={n_neighbors} and "
            f"n_samples={n}; lower it or add rows."
        )
    offsets = common_offsets(X)
    return NearestNeighbors(n_neighbors=n_neighbors).fit(moved(X, offsets)), offsets
