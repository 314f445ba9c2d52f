"""Nearest neighbours by Euclidean distance: exact or by a user-supplied transformer, with an optional cache."""

from collections import OrderedDict
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any, Self, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors, sort_graph_by_row_values
from sklearn.pipeline import Pipeline

from ldlearn.core.scaling import column_moments, removable_offsets, without_offsets
from ldlearn.core.simplex import Array, Indices
from ldlearn.exceptions import InputError


def clone_for_arrays(transformer: Any) -> Any:
    """A clone that returns arrays or sparse matrices even if the transformer is configured to return data frames.

    Steps of a pipeline before the last keep their configuration: later steps may select columns by name.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> clone_for_arrays(StandardScaler().set_output(transform="pandas")).fit_transform([[1.0], [3.0]])
    array([[-1.],
           [ 1.]])
    """
    copy = clone(transformer)
    last = copy
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if hasattr(last, "set_output"):
        # FeatureUnion configures itself first, then raises if one of its parts has no such option.
        with suppress(ValueError):
            last.set_output(transform="default")
    return copy


def common_offsets(X: Any) -> Array:
    """Offsets common to all rows of X, which do not affect distances; see `removable_offsets`."""
    return removable_offsets(X, *column_moments(X))


def subtract_offsets(X: Any, offsets: Array) -> Any:
    """``X - offsets`` in the precision of X, since large offsets cause cancellation where ``|x|^2`` is used."""
    return without_offsets(X, offsets).astype(X.dtype, copy=False)


def neighbor_index(X: Any, n_neighbors: int) -> tuple[NearestNeighbors, Array]:
    """An index of the rows of X, and the offsets to subtract from query rows (`subtract_offsets`).

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
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
        Maximum number of neighbours to use per row.
    """

    def __init__(self, transformer: Any, n_neighbors: int) -> None:
        self.transformer, self.n_neighbors = transformer, n_neighbors

    def kneighbors(self, X: Any) -> tuple[Array, Indices]:
        """Distances and indices of the nearest training rows, as returned by `nearest_in_graph`."""
        return nearest_in_graph(self.transformer.transform(X), self.n_neighbors)


def nearest_in_graph(graph: Any, n_neighbors: int, *, exclude_self: bool = False) -> tuple[Array, Indices]:
    """The nearest columns of each row of a sparse graph of distances, nearest first.

    Stored zeros are distances. A row with fewer than ``n_neighbors`` entries is padded with infinite distances.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n_training)
    n_neighbors : int
    exclude_self : bool, default=False
        Ignore the diagonal.

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
    if exclude_self:
        values = np.where(rows == graph.indices, np.inf, values)
    graph = sparse.csr_array((values, graph.indices, graph.indptr), shape=graph.shape)
    graph = sort_graph_by_row_values(graph, copy=True, warn_when_not_sorted=False)
    places = np.arange(len(rows)) - np.repeat(graph.indptr[:-1], counts)
    near = places < n_neighbors
    distances, indices = np.full((n, n_neighbors), np.inf), np.zeros((n, n_neighbors), dtype=np.intp)
    distances[rows[near], places[near]] = graph.data[near]
    indices[rows[near], places[near]] = graph.indices[near]
    return distances, indices


Found: TypeAlias = tuple[Array, Indices]


class SharedNeighbors:
    """Context manager that caches neighbour searches; the cache persists if it is entered again.

    Parameters
    ----------
    max_searches : int, default=4
        Results in the cache; the least recently used one is dropped first.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core import knn_graph
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> with SharedNeighbors() as shared:
    ...     graphs = [knn_graph(X, 5, sigma) for sigma in (1.0, 2.0)]
    >>> shared.n_searches
    1
    """

    def __init__(self, max_searches: int = 4) -> None:
        self.max_searches = max_searches
        self.n_searches = 0
        self._found: OrderedDict[tuple[str, int], Found] = OrderedDict()
        self._tokens: list[Token[SharedNeighbors | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _active.reset(self._tokens.pop())

    def look_up(self, index: NearestNeighbors, X: Any) -> Found:
        """Distances and indices of the neighbours of each row of X, given the index of X."""
        key = joblib.hash(X), int(index.n_neighbors)
        if key not in self._found:
            self.n_searches += 1
            self._found[key] = index.kneighbors()
            for array in self._found[key]:
                array.flags.writeable = False
        self._found.move_to_end(key)
        if len(self._found) > self.max_searches:
            self._found.popitem(last=False)
        return self._found[key]


# A context variable, so that other threads do not share the cache.
_active: ContextVar[SharedNeighbors | None] = ContextVar("shared_neighbors", default=None)


def own_neighbors(index: NearestNeighbors, X: Any) -> Found:
    """Distances and indices of the nearest rows of each row of X, itself excluded.

    Parameters
    ----------
    index : NearestNeighbors
        Index of the rows of X, from `neighbor_index`.
    X : {ndarray, csr_array} of shape (n_samples, n_features)
        Identified by its content within `SharedNeighbors`.
    """
    shared = _active.get()
    return index.kneighbors() if shared is None else shared.look_up(index, X)
