"""Nearest neighbours, their sparse similarity graphs, and Laplacians."""

from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any, NamedTuple, Self, TypeAlias

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
    """A clone that returns arrays or sparse matrices, even if configured to return data frames.

    Steps of a pipeline before the last keep their configuration: later steps may select columns by
    name.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().set_output(transform="pandas")
    >>> clone_for_arrays(scaler).fit_transform([[1.0], [3.0]])
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
    """``X - offsets`` in the precision of X.

    Large offsets cause cancellation where ``|x|^2`` is used.
    """
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
            "n_neighbors must be at least 1 and less than the number of rows, got "
            f"n_neighbors={n_neighbors} and n_samples={n}; lower it or add rows."
        )
    offsets = common_offsets(X)
    return NearestNeighbors(n_neighbors=n_neighbors).fit(subtract_offsets(X, offsets)), offsets


class _NeighborsByTransformer(NamedTuple):
    """Neighbours by a transformer that yields scikit-learn's sparse graph of distances.

    Parameters
    ----------
    transformer : fitted transformer
        ``KNeighborsTransformer``, or one of PyNNDescent or sklearn-ann.
    n_neighbors : int
        Maximum number of neighbours to use per row.
    """

    transformer: Any
    n_neighbors: int

    def kneighbors(self, X: Any) -> tuple[Array, Indices]:
        """Distances and indices of the nearest training rows, as returned by `nearest_in_graph`."""
        return nearest_in_graph(self.transformer.transform(X), self.n_neighbors)


def nearest_in_graph(
    graph: Any, n_neighbors: int, *, exclude_self: bool = False
) -> tuple[Array, Indices]:
    """The nearest columns of each row of a sparse graph of distances, nearest first.

    Stored zeros are distances. A row with fewer than ``n_neighbors`` entries is padded with
    infinite distances.

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
    graph = sparse.csr_array(graph, dtype=np.float64, copy=True)
    n = graph.shape[0]
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    if exclude_self:
        graph.data[rows == graph.indices] = np.inf
    graph = sort_graph_by_row_values(graph, warn_when_not_sorted=False)
    places = np.arange(len(rows)) - graph.indptr[rows]
    near = places < n_neighbors
    distances = np.full((n, n_neighbors), np.inf)
    indices = np.zeros((n, n_neighbors), dtype=np.intp)
    distances[rows[near], places[near]] = graph.data[near]
    indices[rows[near], places[near]] = graph.indices[near]
    return distances, indices


_DistancesAndIndices: TypeAlias = tuple[Array, Indices]


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
        # The least recently used one first.
        self._found: dict[tuple[str, int], _DistancesAndIndices] = {}
        self._tokens: list[Token[Any]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_active.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _active.reset(self._tokens.pop())

    def look_up(self, index: NearestNeighbors, X: Any) -> _DistancesAndIndices:
        """Distances and indices of the neighbours of each row of X, given the index of X."""
        key = (joblib.hash(X), index.n_neighbors)
        found = self._found.pop(key, None)
        if found is None:
            self.n_searches += 1
            found = index.kneighbors()
            for array in found:
                array.flags.writeable = False
        self._found[key] = found
        if len(self._found) > self.max_searches:
            del self._found[next(iter(self._found))]
        return found


# A context variable, so that other threads do not share the cache.
_active: ContextVar[SharedNeighbors | None] = ContextVar("shared_neighbors", default=None)


def neighbors_of_rows(index: NearestNeighbors, X: Any) -> _DistancesAndIndices:
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


def bandwidth(distances: Array, sigma: float | str) -> float:
    """Resolve ``sigma``: a number, or the "median" or "mean" distance to the nearest neighbours.

    If the statistic is 0 (many neighbours are duplicates), that of the positive distances is used,
    so that the width always has the unit of X.
    """
    if sigma in ("median", "mean"):
        statistic = getattr(np, str(sigma))
        width = statistic(distances)
        if width == 0 and distances.any():
            width = statistic(distances[distances > 0])
        return float(width) or 1.0  # only duplicates: every similarity is 1 for any width
    if isinstance(sigma, str) or not sigma > 0:
        raise InputError(f"sigma must be a positive number, 'median' or 'mean', got {sigma!r}.")
    return float(sigma)


def similarity(distances: Array, sigma: float) -> Array:
    """Gaussian similarity ``exp(-distance^2 / (2 sigma^2))``."""
    return np.exp(-0.5 * (distances / sigma) ** 2)


def knn_graph(X: Any, n_neighbors: int = 20, sigma: float | str = "median") -> sparse.csr_array:
    """Symmetric similarity graph of the k nearest neighbours.

    ``A_ij = exp(-|x_i - x_j|^2 / (2 sigma^2))`` if j is among the k nearest rows of i or i among
    those of j, otherwise 0. A row is not its own neighbour. Without the union over both directions
    ``diag(A 1) - A`` is not positive semi-definite.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_neighbors : int, default=20
    sigma : float, "median" or "mean", default="median"
        Width of the Gaussian; the strings are statistics of the distances to the k nearest
        neighbours.

    Returns
    -------
    A : csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> knn_graph(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1, sigma=1.0).toarray().round(3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.135],
           [0.   , 0.135, 0.   ]])
    """
    return neighbor_graph(X, n_neighbors, sigma).A


class NeighborGraph(NamedTuple):
    """The graph of `knn_graph`, and the index to find the neighbours of new rows."""

    A: sparse.csr_array
    sigma: float
    index: Any  # has `kneighbors`
    offsets: Array  # to subtract from new rows


def neighbor_graph(
    X: Any,
    n_neighbors: int,
    sigma: float | str,
    neighbors: Any = None,
) -> NeighborGraph:
    """The graph of `knn_graph`, its bandwidth, and the index to find the neighbours of new rows.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    n_neighbors : int
    sigma : float, "median" or "mean"
    neighbors : None, transformer or sparse matrix of shape (n_samples, n_samples), default=None
        How neighbours are found: exactly, by a transformer that yields a graph of distances, or in
        the given graph.
    """
    n = X.shape[0]
    index, offsets = neighbor_index(X, n_neighbors)
    if neighbors is None:
        distances, indices = neighbors_of_rows(index, X)
    else:
        if not sparse.issparse(neighbors):
            transformer, neighbors = _fit_transformer(neighbors, subtract_offsets(X, offsets))
            index = _NeighborsByTransformer(transformer, n_neighbors)
        graph = _check_graph(neighbors, n)
        distances, indices = nearest_in_graph(graph, n_neighbors, exclude_self=True)
    found = np.isfinite(distances)
    if not found.any():
        raise InputError(
            "The graph in neighbors joins no row with another; look for neighbours farther away."
        )
    distances = distances[found]
    width = bandwidth(distances, sigma)
    weights = similarity(distances.astype(np.float64, copy=False), width)
    counts = found.sum(axis=1)
    pointers = np.append(0, np.cumsum(counts))
    A = sparse.csr_array((weights, indices[found], pointers), shape=(n, n))
    return NeighborGraph(sparse.csr_array(A.maximum(A.T)), width, index, offsets)


def _fit_transformer(neighbors: Any, X: Any) -> tuple[Any, Any]:
    """Fit a clone of the transformer; return it and its graph, or raise InputError."""
    try:
        transformer = clone_for_arrays(neighbors)
    except TypeError as error:
        kind = neighbors if isinstance(neighbors, type) else type(neighbors)
        raise InputError(
            "neighbors must be a transformer that scikit-learn can clone, such as "
            f"KNeighborsTransformer(), got {kind.__name__}."
        ) from error
    try:
        return transformer, transformer.fit_transform(X)
    except ValueError as error:
        raise InputError(
            f"The transformer in neighbors cannot work on these rows: {error}"
        ) from error


def _check_graph(graph: Any, n: int) -> sparse.csr_array:
    """Validate a sparse graph of distances between the n training rows."""
    if not sparse.issparse(graph):
        raise InputError(
            "The transformer in neighbors must yield a sparse graph of distances, got "
            f"{type(graph).__name__}; use one such as KNeighborsTransformer(mode='distance')."
        )
    if graph.shape != (n, n):
        raise InputError(
            f"The graph in neighbors has shape {graph.shape}, but X has {n} weighted rows; "
            "build it from these."
        )
    graph = sparse.csr_array(graph)  # whatever its format
    if not graph.nnz:
        raise InputError(
            "The graph in neighbors has no entry; it must contain the distances to the nearest "
            "rows."
        )
    if not (np.isfinite(graph.data) & (graph.data >= 0)).all():
        raise InputError("The graph in neighbors must contain distances: finite and not negative.")
    return graph


def laplacian(A: sparse.csr_array) -> sparse.csr_array:
    """Laplacian ``G = diag(A 1) - A`` of a symmetric similarity graph.

    Then ``tr(D' G D)`` is half of ``sum_ij A_ij |d_i - d_j|^2``: every edge counted once.
    """
    degrees = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees, format="csr") - A)
