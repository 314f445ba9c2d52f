"""Gaussian kernels with the mean distance of rows as width; feature maps of linear predictors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances

from ldlearn.core.graph import clone_for_arrays
from ldlearn.core.resources import require_memory
from ldlearn.core.scaling import row_batches
from ldlearn.core.simplex import Array, row_weights


def squared_distances(X: Array, Z: Array) -> Array:
    """Squared distances ``|x - z|^2`` of the rows of X from those of Z, by inner products.

    Centre the rows first to avoid cancellation.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0], [1.0]]), np.array([[3.0]]))
    array([[9.],
           [4.]])
    """
    norms_X = np.einsum("ij,ij->i", X, X)
    norms = norms_X[:, None] + np.einsum("ij,ij->i", Z, Z)
    squares = X @ Z.T
    squares *= -2.0
    squares += norms
    squares[squares <= 1e-14 * norms] = 0.0  # zero up to rounding in this expansion of |x - z|^2
    return squares


def mean_distance(X: Array, weights: Array | None = None) -> float:
    """Mean Euclidean distance over the n (n - 1) / 2 pairs of rows; 0 for a single row.

    Computed in blocks, without an n x n array. A sample weight of 2 is equivalent to repeating the
    row.

    Examples
    --------
    >>> import numpy as np
    >>> round(mean_distance(np.array([[0.0], [1.0], [3.0]])), 12)
    2.0
    """
    n = len(X)
    X = _subtract_mean(X, X)
    weights = row_weights(X, weights)
    copies = weights @ np.maximum(weights - 1.0, 0.0)  # pairs of copies of a row
    pairs = 0.5 * float(weights.sum() ** 2 - weights @ weights + copies)
    total = 0.0
    for rows in row_batches(n, n):
        later = slice(rows.start, n)
        distances = np.sqrt(squared_distances(X[rows], X[later]))
        distances *= weights[rows, None] * weights[later]
        # Pairs within the block occur in both orders.
        twice, once = np.hsplit(distances, [len(distances)])
        total += 0.5 * float(twice.sum()) + float(once.sum())
    return total / pairs if pairs > 0 else 0.0


def rbf_kernel(X: Array, Z: Array | None = None, *, width: float) -> Array:
    """Gaussian kernel ``exp(-|x - z|^2 / (2 width^2))`` of the rows of X with those of Z.

    By default Z is X. The array is dense; if it does not fit into memory, MemoryError is raised
    before it is allocated. Width 0 (the mean distance of identical rows) gives the limit: 1 for
    equal rows, otherwise 0.

    Examples
    --------
    >>> import numpy as np
    >>> rbf_kernel(np.array([[0.0], [1.0]]), width=1.0).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    Z = X if Z is None else Z
    require_memory(
        8.0 * len(X) * len(Z),
        f"The {len(X)} x {len(Z)} kernel",
        "take fewer rows or a method with a sparse graph",
    )
    K = np.empty((len(X), len(Z)))
    for rows, block in rbf_blocks(X, Z, width=width):
        K[rows] = block
    return K


def rbf_blocks(X: Array, Z: Array | None = None, *, width: float) -> Iterator[tuple[slice, Array]]:
    """The rows of `rbf_kernel`, one slice at a time, for sums that do not need the whole kernel.

    Examples
    --------
    >>> import numpy as np
    >>> [block.shape for _, block in rbf_blocks(np.zeros((3, 1)), width=1.0)]
    [(3, 3)]
    """
    Z = X if Z is None else Z
    X = _subtract_mean(X, Z)
    Z = _subtract_mean(Z, Z)
    for rows in row_batches(len(X), len(Z)):
        squares = squared_distances(X[rows], Z)
        if width == 0:
            yield rows, (squares == 0).astype(np.float64)
        else:
            squares *= -0.5 / width**2
            yield rows, np.exp(squares, out=squares)


def _subtract_mean(X: Array, reference: Array) -> Array:
    """X minus the mean of the reference, so that large offsets cause no cancellation.

    Distances stay the same.
    """
    mean = np.mean(reference, axis=0, dtype=np.float64)
    return np.asarray(X, dtype=np.float64) - mean


def make_feature_map(feature_map: Any, X: Any) -> Any:
    """The unfitted transformer that ``feature_map`` asks for; None for the features themselves.

    "rbf" draws rows with a fixed seed: the same rows give the same map.
    """
    if feature_map is None:
        return None
    if not isinstance(feature_map, str):
        return clone_for_arrays(feature_map)
    rng = np.random.RandomState(0)
    n = X.shape[0]
    k = min(n, 1000)
    distances = euclidean_distances(X[np.sort(rng.permutation(n)[:k])])
    # The mean distance between different rows; where all rows are equal any width will do.
    width = float(distances.sum()) / max(k * (k - 1), 1) or 1.0
    return Nystroem(
        gamma=1.0 / width**2,
        n_components=min(500, n),
        random_state=rng.randint(2**31 - 1),
    )
