"""Sparse similarity graphs of nearest neighbours and their Laplacians."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.neighbors import (
    TransformedNeighbors,
    clone_for_arrays,
    nearest_in_graph,
    neighbor_index,
    own_neighbors,
    subtract_offsets,
)
from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError

Bandwidth = float | str


def bandwidth(distances: Array, sigma: Bandwidth) -> float:
    """Resolve ``sigma``: a number, or the "median" / "mean" of the distances to the nearest neighbours.

    If the statistic is 0 (many neighbours are duplicates), that of the positive distances is used, so that the width
    always has the unit of X.
    """
    if isinstance(sigma, str):
        if sigma not in ("median", "mean"):
            raise InputError(f"sigma must be a positive number, 'median' or 'mean', got {sigma!r}.")
        statistic = np.median if sigma == "median" else np.mean
        width = float(statistic(distances))
        if width == 0 and distances.any():
            width = float(statistic(distances[distances > 0]))
        return width or 1.0  # only duplicates: every similarity is 1 for any width
    if not sigma > 0:
        raise InputError(f"sigma must be positive, got {sigma}.")
    return float(sigma)


def similarity(distances: Array, sigma: float) -> Array:
    """Gaussian similarity ``exp(-distance^2 / (2 sigma^2))``."""
    return np.asarray(np.exp(-0.5 * (distances / sigma) ** 2))


def knn_graph(X: Any, n_neighbors: int = 20, sigma: Bandwidth = "median") -> sparse.csr_array:
    """Symmetric similarity graph of the k nearest neighbours.

    ``A_ij = exp(-|x_i - x_j|^2 / (2 sigma^2))`` if j is among the k nearest rows of i or i among those of j,
    otherwise 0. A row is not its own neighbour. Without the union over both directions ``diag(A 1) - A`` is
    not positive semi-definite.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_neighbors : int, default=20
    sigma : float, "median" or "mean", default="median"
        Width of the Gaussian; the strings are statistics of the distances to the k nearest neighbours.

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


def neighbor_graph(X: Any, n_neighbors: int, sigma: Bandwidth, neighbors: Any = None) -> NeighborGraph:
    """The graph of `knn_graph`, its bandwidth, and the index to find the neighbours of new rows.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    n_neighbors : int
    sigma : float, "median" or "mean"
    neighbors : None, transformer or sparse matrix of shape (n_samples, n_samples), default=None
        How neighbours are found: exactly, by a transformer that yields a graph of distances, or in the given graph.
    """
    index, offsets = neighbor_index(X, n_neighbors)
    if neighbors is None:
        distances, indices = own_neighbors(index, X)
    elif sparse.issparse(neighbors):
        distances, indices = nearest_in_graph(_check_graph(neighbors, X.shape[0]), n_neighbors, exclude_self=True)
    else:
        transformer, graph = _fit_transformer(neighbors, subtract_offsets(X, offsets))
        distances, indices = nearest_in_graph(_check_graph(graph, X.shape[0]), n_neighbors, exclude_self=True)
        index = TransformedNeighbors(transformer, n_neighbors)
    found = np.isfinite(distances)
    if not found.any():
        raise InputError("The graph in neighbors joins no row with another; look for neighbours farther away.")
    width = bandwidth(distances[found], sigma)
    weights = similarity(distances[found].astype(np.float64, copy=False), width)
    pointers = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    # The graph has up to twice as many entries.
    kind = np.int32 if 2 * len(weights) < np.iinfo(np.int32).max else np.int64
    A = sparse.csr_array((weights, indices[found].astype(kind), pointers.astype(kind)), shape=(X.shape[0],) * 2)
    return NeighborGraph(sparse.csr_array(A.maximum(A.T)), width, index, offsets)


def _fit_transformer(neighbors: Any, X: Any) -> tuple[Any, Any]:
    """A fitted clone of the transformer and the graph it yields; raises InputError if that fails."""
    try:
        transformer = clone_for_arrays(neighbors)
    except TypeError as error:
        kind = neighbors.__name__ if isinstance(neighbors, type) else type(neighbors).__name__
        raise InputError(
            f"neighbors must be a transformer that scikit-learn can clone, such as KNeighborsTransformer(), got {kind}."
        ) from error
    try:
        return transformer, transformer.fit_transform(X)
    except ValueError as error:
        raise InputError(f"The transformer in neighbors cannot work on these rows: {error}") from error


def _check_graph(graph: Any, n: int) -> sparse.csr_array:
    """Validate a sparse graph of distances between the n training rows."""
    if not sparse.issparse(graph):
        raise InputError(
            f"The transformer in neighbors must yield a sparse graph of distances, got {type(graph).__name__}; use one "
            "such as KNeighborsTransformer(mode='distance')."
        )
    if graph.shape != (n, n):
        raise InputError(
            f"The graph in neighbors has shape {graph.shape}, but X has {n} weighted rows; build it from these."
        )
    graph = sparse.csr_array(graph)  # whatever its format
    if not graph.nnz:
        raise InputError("The graph in neighbors has no entry; it must contain the distances to the nearest rows.")
    if not (np.isfinite(graph.data) & (graph.data >= 0)).all():
        raise InputError("The graph in neighbors must contain distances: finite and not negative.")
    return graph


def laplacian(A: sparse.csr_array) -> sparse.csr_array:
    """Laplacian ``G = diag(A 1) - A`` of a symmetric similarity graph.

    Then ``tr(D' G D)`` is half of ``sum_ij A_ij |d_i - d_j|^2``: every edge counted once.
    """
    degrees = np.asarray(A.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees, format="csr") - A)
