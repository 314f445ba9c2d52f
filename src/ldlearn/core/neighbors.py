"""Nearest rows by Euclidean distance: exact, or by a transformer of the user, and shared within a block of code."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from ldlearn.core.exact_neighbors import exact_neighbors
from ldlearn.core.scaling import column_moments, removable_offsets, without_offsets
from ldlearn.exceptions import InputError


def clone_for_arrays(transformer: Any) -> Any:
    """A copy that gives arrays or sparse matrices, though the transformer may have been told to give data frames.

    The steps of a pipeline before the last keep what they were told: a later one may choose columns by name.

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
        # A union of transformers sets itself first, and then refuses if one of its parts cannot be set.
        with suppress(ValueError):
            last.set_output(transform="default")
    return copy


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


Found: TypeAlias = tuple[NDArray[np.floating], NDArray[np.integer]]


class SharedNeighbors:
    """Remembers the neighbours that are looked up while it is entered; can be entered again, and then still knows them.

    Parameters
    ----------
    most_bytes : int, default=2**28
        What is remembered at most; what was not asked for the longest is forgotten first.

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

    def __init__(self, most_bytes: int = 2**28) -> None:
        self.most_bytes = most_bytes
        self.n_searches = 0
        self._found: OrderedDict[tuple[str, int], Found] = OrderedDict()
        self._tokens: list[Token[SharedNeighbors | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _active.reset(self._tokens.pop())

    def look_up(self, index: NearestNeighbors, X: Any) -> Found:
        """Distances and numbers of the neighbours of each row of X, whose index this is."""
        key = _digest(X), int(index.n_neighbors)
        if key not in self._found:
            self.n_searches += 1
            self._found[key] = _protected(_search(index, X))
        self._found.move_to_end(key)
        # What was just found stays, however large.
        while len(self._found) > 1 and sum(map(_size, self._found.values())) > self.most_bytes:
            self._found.popitem(last=False)
        return self._found[key]


# A variable of the context, not of the module: threads that entered nothing share nothing.
_active: ContextVar[SharedNeighbors | None] = ContextVar("shared_neighbors", default=None)


def own_neighbors(index: NearestNeighbors, X: Any) -> Found:
    """Distances and numbers of the nearest rows of each row of X, itself excluded.

    Parameters
    ----------
    index : NearestNeighbors
        Of the rows of X, as `neighbor_index` makes it.
    X : {ndarray, csr_array} of shape (n, m)
        What is known within `SharedNeighbors` by its content.
    """
    shared = _active.get()
    return _search(index, X) if shared is None else shared.look_up(index, X)


def _search(index: NearestNeighbors, X: Any) -> Found:
    # Up to 15 features scikit-learn builds a tree, which need not compare all rows.
    by_products = not sparse.issparse(X) and X.shape[1] > 15
    found = exact_neighbors(X, index.n_neighbors) if by_products else None
    return index.kneighbors() if found is None else found


def _digest(X: Any) -> str:
    """A name of the content: arrays that are equal in every bit have the same."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(repr((X.shape, [str(part.dtype) for part in parts])).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _protected(found: Found) -> Found:
    """Nobody may write into what others read."""
    for array in found:
        array.flags.writeable = False
    return found


def _size(found: Found) -> int:
    return sum(array.nbytes for array in found)
