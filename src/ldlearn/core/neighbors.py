"""Nearest rows by Euclidean distance, wherever the data lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ldlearn.core.offsets import column_moments, removable_offsets, without_offsets
from ldlearn.exceptions import InputError


def common_offsets(X: Any) -> NDArray[np.float64]:
    """What the rows of X have in common and no distance depends on; see `removable_offsets`."""
    return removable_offsets(X, *column_moments(X))


def subtract_offsets(X: Any, offsets: NDArray[np.float64]) -> Any:
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
    >>> index.kneighbors(subtract_offsets(np.array([[1e9 + 2.9]]), offsets), return_distance=False)
    array([[2]])
    """
    n = X.shape[0]
    if not 1 <= n_neighbors < n:
        raise InputError(
            f"n_neighbors must be at least 1 and less than the number of rows, got n_neighbors={n_neighbors} and "
            f"n_samples={n}; lower it or add rows."
        )
    offsets = common_offsets(X)
    return NearestNeighbors(n_neighbors=n_neighbors).fit(subtract_offsets(X, offsets)), offsets


class TransformedNeighbors:
    """Neighbours by a transformer that yields a sparse graph of distances, scikit-learn's convention.

    Parameters
    ----------
    transformer : fitted transformer
        ``KNeighborsTransformer``, or one of PyNNDescent or sklearn-ann.
    n_neighbors : int
        How many are taken at most of those that it finds.
    """

    def __init__(self, transformer: Any, n_neighbors: int) -> None:
        self.transformer, self.n_neighbors = transformer, n_neighbors

    def kneighbors(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Distances and numbers of the nearest training rows, as `nearest_in_graph` gives them."""
        return nearest_in_graph(self.transformer.transform(X), self.n_neighbors)


def nearest_in_graph(
    graph: Any, n_neighbors: int, *, but_itself: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The nearest columns of each row of a sparse graph of distances, nearest first.

    Stored zeros are distances. A row with fewer than ``n_neighbors`` entries is filled up with infinite distances.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n_training)
    n_neighbors : int
    but_itself : bool, default=False
        Leave out the diagonal.

    Examples
    --------
    >>> from scipy import sparse
    >>> graph = sparse.csr_array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 3.0, 0.0]])
    >>> nearest_in_graph(graph, 2)
    (array([[ 1.,  2.],
           [ 2., inf],
           [ 1.,  3.]]), array([[2, 1],
           [0, 0],
           [0, 1]]))
    """
    graph = sparse.csr_array(graph)
    n, counts = graph.shape[0], np.diff(graph.indptr)
    rows = np.repeat(np.arange(n), counts)
    values = np.asarray(graph.data, dtype=np.float64)
    if but_itself:
        values = np.where(rows == graph.indices, np.inf, values)
    if (counts == counts[0]).all():  # as transformers yield them: many short sorts are quicker than a long one
        order = np.argsort(values.reshape(n, -1), axis=1, kind="stable").ravel() + np.repeat(graph.indptr[:-1], counts)
    else:
        order = np.lexsort((values, rows))
    places = np.arange(len(rows)) - np.repeat(graph.indptr[:-1], counts)
    near = places < n_neighbors
    distances, indices = np.full((n, n_neighbors), np.inf), np.zeros((n, n_neighbors), dtype=np.intp)
    distances[rows[near], places[near]] = values[order[near]]
    indices[rows[near], places[near]] = graph.indices[order[near]]
    return distances, indices
