"""Numerically stable centring and scaling of features: moments, offsets, standardisation."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.simplex import (
    Array,
    Indices,
    SampleWeight,
    positive_or_one,
    row_weights,
    take_rows,
)

# Numbers in a block of rows. A block of X: 2 MB in single precision. Temporary arrays that are
# used once: 16 MB. Temporary arrays that are used several times, and should stay in cache: 1 MB.
_BLOCK_ENTRIES = 2**19
_BATCH_ENTRIES = 2**21
CACHED_ENTRIES = 2**17


def row_blocks(X: Any, width: int = 0) -> Iterator[slice]:
    """Slices of rows that fit into the cache together with ``width`` further columns.

    They have equal sizes and, if there are several, an even number, which balances threads.
    """
    n = X.shape[0]
    stored = X.nnz if sparse.issparse(X) else X.size
    count = max(1, math.ceil((stored + n * width) / _BLOCK_ENTRIES))
    if count > 1:
        count += count % 2
    return _slices(n, math.ceil(n / count))


def to_dense(A: Any) -> Array:
    """A sparse or dense matrix as an array; not a copy if it is one."""
    return np.asarray(A.toarray() if sparse.issparse(A) else A)


def row_batches(n: int, width: int, max_entries: int | None = None) -> Iterator[slice]:
    """Slices of n rows whose temporary arrays, of ``width`` numbers a row, take at most 16 MB.

    A slice has at least one row. ``max_entries`` is another limit, such as `CACHED_ENTRIES`.
    """
    max_rows = (max_entries or _BATCH_ENTRIES) // max(width, 1)
    return _slices(n, max_rows)


def _slices(n: int, size: int) -> Iterator[slice]:
    # scikit-learn's `gen_batches` checks its arguments for 50 microseconds.
    size = max(size, 1)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def random_rows(n: int, max_rows: int) -> Indices:
    """All of n rows, or a random sample of them, always the same; sorted."""
    if n <= max_rows:
        return np.arange(n)
    chosen = np.random.default_rng(0).choice(n, max_rows, replace=False)
    return np.sort(chosen)


def column_moments(X: Any, weights: Array | None = None) -> tuple[Array, Array]:
    """Mean of each column and the sum of squared deviations from it, in float64 and in two passes.

    A column that varies by no more than the rounding errors of its mean has a sum of exactly 0.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), default=None
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> mean, squares = column_moments(np.array([[1e8, 0.3], [1e8 + 2.0, 0.3]]))
    >>> float(mean[0] - 1e8), squares
    (1.0, array([2., 0.]))
    """
    n, sums = column_sums(X, weights)
    mean = sums / n
    away, squares = deviation_sums(X, mean, weights)
    return refine_moments(n, mean, away, squares, X.dtype)


def column_sums(X: Any, weights: Array | None = None) -> tuple[float, Array]:
    """Sum of the sample weights, and the weighted sum of each column in float64.

    By default every row has weight 1.
    """
    if weights is None:
        sums = X.sum(axis=0, dtype=np.float64)
        return float(X.shape[0]), np.asarray(sums).ravel()
    parts = [weights[rows] @ X[rows] for rows in row_blocks(X)]
    return float(weights.sum()), np.sum(parts, axis=0)


def deviation_sums(X: Any, mean: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Sums of ``x - mean`` and of its square over the rows."""
    parts = []
    for rows in row_blocks(X):
        weights_of_rows = take_rows(weights, rows)
        parts.append(_block_deviation_sums(X[rows], mean, weights_of_rows))
    sums, squares = np.sum(parts, axis=0)
    return sums, squares


def refine_moments(
    n: float,
    mean: Array,
    sums: Array,
    squares: Array,
    dtype: Any,
) -> tuple[Array, Array]:
    """Mean and sum of squared deviations, given an approximate mean and the deviations from it."""
    # Deviations from the true mean sum to 0; their mean is the error of the approximate mean.
    correction = sums / n
    mean = mean + correction
    squares = np.maximum(squares - n * correction**2, 0.0)
    # A column that varies by less than four rounding errors of the mean is constant.
    rounding = 4.0 * np.finfo(dtype).eps * np.abs(mean)
    squares[squares <= n * rounding**2] = 0.0
    return mean, squares


def _block_deviation_sums(block: Any, mean: Array, weights: Array | None) -> tuple[Array, Array]:
    """`deviation_sums` of a block of rows."""
    if not sparse.issparse(block):
        away = block - mean
        counted = away if weights is None else away * weights[:, None]
        squares = np.einsum("ij,ij->j", counted, away)
        return counted.sum(axis=0), squares
    away = block.data - mean[block.indices]
    count = row_weights(block, weights)
    each = np.repeat(count, np.diff(block.indptr))

    def column_totals(values: Array) -> Array:
        return np.bincount(block.indices, values, minlength=len(mean))

    # Entries that are not stored are 0 and deviate by -mean.
    implicit = count.sum() - column_totals(each)
    sums = column_totals(each * away) - implicit * mean
    squares = column_totals(each * away**2) + implicit * mean**2
    return sums, squares


def removable_offsets(X: Any, mean: Array, squares: Array) -> Array:
    """Offset of each column that moves it near zero, compared with its spread.

    Offsets are multiples of a power of two near the mean: differences of rows stay exact, and a
    column near zero has offset 0. In sparse matrices only columns without zeros have an offset: for
    any other the spread is at least ``|mean| / sqrt(n)``, and subtracting would make the matrix
    dense.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    mean, squares : ndarrays of shape (n_features,)
        From `column_moments`.
    """
    n, m = X.shape
    offsets = dense_offsets(n, mean, squares)
    if sparse.issparse(X):
        offsets[np.bincount(X.indices, minlength=m) < n] = 0.0
    return offsets


def dense_offsets(n: int, mean: Array, squares: Array) -> Array:
    """The offsets of `removable_offsets` for n dense rows, from their moments alone."""
    deviation = np.sqrt(squares / n)
    # Within 16 standard deviations of zero, cancellation is negligible.
    exponent = np.ceil(np.log2(16.0 * positive_or_one(deviation)))
    unit = np.exp2(exponent)
    return unit * np.rint(mean / unit)


def without_offsets(X: Any, offsets: Array) -> Any:
    """``X - offsets`` in float64, sparse if X is; X itself if there is nothing to subtract.

    Examples
    --------
    >>> import numpy as np
    >>> without_offsets(np.array([[1024.5, 3.0]], dtype=np.float32), np.array([1024.0, 0.0]))
    array([[0.5, 3. ]])
    """
    columns = np.flatnonzero(offsets)
    if not len(columns):
        return X
    if not sparse.issparse(X):
        return np.subtract(X, offsets, dtype=np.float64)
    n = X.shape[0]
    values = np.tile(offsets[columns], n)
    indices = np.tile(columns, n)
    pointers = np.arange(n + 1) * len(columns)
    subtracted = sparse.csr_array((values, indices, pointers), shape=X.shape)
    return sparse.csr_array(X.astype(np.float64) - subtracted)


class Scaling(NamedTuple):
    """Centre and scale of each feature.

    A solver works on ``apply(X)``, the user gets ``undo(W, b)``. For a model without a penalty this
    is only a change of coordinates, which affects the speed of the solver but not the solution.
    """

    mean: Array
    scale: Array

    def apply(self, X: Any) -> Array:
        """``(X - mean) / scale`` as a dense array.

        A column that is constant (or zero, without centring) becomes exactly zero.
        """
        scaled = (to_dense(X) - self.mean) / self.scale
        return scaled.astype(np.float64, copy=False)

    def undo(self, W: Array, b: Array) -> tuple[Array, Array]:
        """Coefficients and intercept with ``X @ coef + intercept = apply(X) @ W + b``."""
        coef = W / self.scale[:, None]
        return coef, b - self.mean @ coef


def feature_scaling(X: Any, center: bool = True, weights: SampleWeight | None = None) -> Scaling:
    """Means and standard deviations of the columns.

    If ``center`` is False, they are zeros and root mean squares. Rows are weighted by ``weights``.
    A constant column gets an infinite scale, so that its coefficients are 0.

    Examples
    --------
    >>> import numpy as np
    >>> feature_scaling(np.array([[1.0, 7.0], [3.0, 7.0]]))
    Scaling(mean=array([2., 7.]), scale=array([ 1., inf]))
    """
    total = float(X.shape[0] if weights is None else weights.sum())
    mean, squares = column_moments(X, weights)
    if not center:
        squares = squares + total * mean**2
        mean = np.zeros_like(mean)
    # The spread of a constant column is 0; divided by infinity it becomes 0.
    deviation = np.sqrt(squares / total)
    return Scaling(mean, np.where(squares > 0.0, deviation, np.inf))
