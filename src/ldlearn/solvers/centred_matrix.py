"""A feature matrix for solvers of linear models: centred and scaled without a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.resources import blas_threads, in_threads, sum_in_threads
from ldlearn.core.scaling import (
    column_moments,
    removable_offsets,
    row_blocks,
    to_dense,
    without_offsets,
)
from ldlearn.core.simplex import Array, Indices, positive_or_one, take_rows
from ldlearn.solvers.spd import reciprocal, unit_diagonal_scale


@dataclass(frozen=True)
class ColumnStatistics:
    """Mean and spread of the columns of a matrix, without its rows."""

    mean: Array  # 0 without an intercept, as the offsets
    spread: Array  # sum of squares of each column of ``X - mean``
    offsets: Array  # subtracted before products, so that no digits are lost: `removable_offsets`
    fit_intercept: bool
    total: float  # sum of the sample weights

    @classmethod
    def from_moments(
        cls,
        mean: Array,
        squares: Array,
        offsets: Array,
        fit_intercept: bool,
        total: float,
    ) -> ColumnStatistics:
        """Statistics from means and sums of squared deviations from them."""
        if fit_intercept:
            return cls(mean, squares, offsets, True, total)
        zeros = np.zeros_like(mean)
        return cls(zeros, squares + total * mean**2, zeros, False, total)

    def sampling_keys(self, X: Any) -> Array:
        """Two numbers for each row, made of an irregular function f of its standardised features z.

        The first, ``sum_j f(z_j)``, does not depend on the order of columns. The second has another
        coefficient for each column: practically, it is equal for equal rows only.
        """
        if not np.isfinite(self.spread).all():
            raise OverflowError("The squares of the features overflow.")
        reciprocal_deviation = np.sqrt(self.total / positive_or_one(self.spread))
        scale = np.where(self.spread > 0.0, reciprocal_deviation, 0.0)
        coef = np.random.default_rng(0).standard_normal(len(scale))
        if sparse.issparse(X):
            # Relative to a row of zeros, so that only stored entries count.
            columns = X.indices
            values = _irregular((X.data - self.mean[columns]) * scale[columns])
            values -= _irregular(-self.mean * scale)[columns]
            rows = sparse.csr_array((values, columns, X.indptr), shape=X.shape)
            return np.column_stack([rows.sum(axis=1), rows @ coef])
        keys = np.empty((X.shape[0], 2))
        for block in row_blocks(X):
            values = _irregular((X[block] - self.mean) * scale)
            keys[block, 0] = values.sum(axis=1)
            # Not by BLAS, in which the same row may give another number at another place.
            keys[block, 1] = np.einsum("ij,j->i", values, coef)
        return keys


def _irregular(z: Array) -> Array:
    """``z / (1 + (z - 0.7318)^2)``, neither odd nor even, so that mirrored rows differ in keys."""
    divisor = z - 0.7318
    divisor *= divisor
    divisor += 1.0
    return z / divisor


class _Spectrum(NamedTuple):
    """A basis in which the scatter matrix and the penalty are (nearly) diagonal."""

    scale: Array  # of each column: multiplied by it the columns have unit length
    basis: Array | None  # orthogonal, in the scaled columns; None stands for the identity
    scatter: Array  # diagonal of the scatter matrix in the basis
    identity: Array  # diagonal of what the identity (of the unscaled columns) becomes


class CentredMatrix:
    """``X - mean`` and its products, made of X and the statistics of its columns without a copy.

    Construction costs a pass over X, and a factorisation on first use; every fit on the same X,
    whatever its targets, can share it.

    Columns that lie far from zero, compared with their spread, have their offsets subtracted block
    by block in each product, so that ``X - mean`` has all the digits that X has. Scales are left to
    the preconditioner (`spectrum`).

    Arrays with a row for each row of X are fastest in Fortran order, because their rows are short.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
        float64 or float32.
    fit_intercept : bool, default=True
        If not, nothing is subtracted and ``mean`` is 0.
    sample_weight : ndarray of shape (n_samples,), default=None
        Positive.
    columns : ColumnStatistics, default=None
        Those of a larger matrix of which X contains some rows; X is centred by them.
    orthogonal : bool, default=False
        Whether the columns are orthogonal, or X contains many rows of a matrix with orthogonal
        columns.

    Attributes
    ----------
    n, m : int
        Numbers of rows and columns.
    total : float
        Sum of the sample weights; n without any.
    mean, spread : ndarray of shape (n_features,)
        See `ColumnStatistics`.
    """

    max_factorised = 2000  # features; beyond this only the diagonal of the scatter matrix is used
    always_factorised = 100  # sparse features; that takes a millisecond
    sampled_rows_per_feature = 50  # gives relative errors of a few tenths in the second derivative
    in_memory = True

    def __init__(
        self,
        X: Any,
        fit_intercept: bool = True,
        sample_weight: Array | None = None,
        *,
        columns: ColumnStatistics | None = None,
        orthogonal: bool = False,
    ) -> None:
        self.X = X
        self.sample_weight = sample_weight
        self.orthogonal = orthogonal
        self.n, self.m = X.shape
        self.total = float(self.n if sample_weight is None else sample_weight.sum())
        if columns is None:
            mean, squares = column_moments(X, sample_weight)
            offsets = removable_offsets(X, mean, squares * (self.n / self.total))
            columns = ColumnStatistics.from_moments(
                mean, squares, offsets, fit_intercept, self.total
            )
        self.columns = columns
        self.mean = columns.mean
        self.spread = columns.spread
        self.fit_intercept = columns.fit_intercept
        self._rest = columns.mean - columns.offsets  # small compared with the spread
        # Whether products are always in float64: columns far from zero need it.
        is_far = bool(columns.offsets.any())
        self.is_exact = is_far or X.dtype == np.float64 or not self.fit_intercept
        self._last_spectrum: tuple[float | None, Any] = (None, None)

    # Rows

    @property
    def original_matrix(self) -> Any:
        """The matrix as it was given; differs from this one only for `reduce_to_row_space`."""
        return self

    def to_original(self, V: Array, b: Array) -> tuple[Array, Array]:
        """Coefficients and intercept for the `original_matrix`, given those for this one."""
        return V, b

    def take_rows(self, rows: Any) -> tuple[Any, Array | None]:
        """Some rows of X, and their sample weights."""
        return self.X[rows], take_rows(self.sample_weight, rows)

    def subset(self, rows: Any) -> CentredMatrix:
        """Some rows as a matrix of their own, centred by their own mean."""
        X, sample_weight = self.take_rows(rows)
        return CentredMatrix(X, self.fit_intercept, sample_weight, orthogonal=self.orthogonal)

    def sampling_keys(self) -> Array:
        """See `ColumnStatistics.sampling_keys`."""
        return self.columns.sampling_keys(self.X)

    def sort_rows(self) -> tuple[Indices, Indices]:
        """An order of the rows by their features, and where each group of equal rows starts in it.

        The order of rows and columns and the offset and (positive) scale of a column do not matter,
        constant columns are ignored. Only different rows with equal keys, as in factorial designs,
        are in the order of their first copies.
        """
        # Rounding errors may depend on the order of columns.
        keys, identities = np.round(self.sampling_keys(), 9).T
        _, first, inverse = np.unique(identities, return_index=True, return_inverse=True)
        first_copy = first[inverse]
        order = np.lexsort((first_copy, keys))
        changes = np.diff(first_copy[order], prepend=-1)
        return order, np.flatnonzero(changes)

    def sample_rows(self, max_rows: int) -> Indices:
        """All rows, or a random sample that depends on the features alone; sorted."""
        if self.n <= max_rows:
            return np.arange(self.n)
        order, _ = self.sort_rows()
        chosen = np.random.default_rng(0).choice(order, max_rows, replace=False)
        return np.sort(chosen)

    @cached_property
    def hessian_sample(self) -> CentredMatrix | None:
        """Rows for an approximate second derivative, in single precision; None if X is small.

        Drawn at random with a fixed seed, and centred by the statistics of all rows.
        """
        # One row in 16, but at most 2e7 entries: a larger sample is hardly better.
        size = min(self.n // 16, 2 * 10**7 // self.m)
        size = max(self.sampled_rows_per_feature * self.m, size)
        if 2 * size > self.n or not self.fits_float32():
            return None
        rng = np.random.default_rng(0)
        rows = rng.choice(self.n, size, replace=False, shuffle=False)
        X, sample_weight = self.take_rows(np.sort(rows))
        X = without_offsets(X, self.columns.offsets).astype(np.float32)
        columns = replace(self.columns, mean=self._rest, offsets=np.zeros(self.m))
        return CentredMatrix(X, sample_weight=sample_weight, columns=columns)

    # Products

    def apply_weights(self, R: Array, rows: slice = slice(None)) -> Array:
        """R, which has a row for each of these rows of X, times their sample weights."""
        return R if self.sample_weight is None else R * self.sample_weight[rows, None]

    def row_blocks(self, width: int = 0) -> list[slice]:
        """Slices of rows that stay in cache together with ``width`` columns beside them."""
        return list(row_blocks(self.X, width))

    def block(self, rows: slice, exact: bool = False) -> Any:
        """Rows of X without offsets, in float64 if ``exact`` (or `is_exact`), else as they are."""
        block = without_offsets(self.X[rows], self.columns.offsets)
        return block.astype(np.float64, copy=False) if exact or self.is_exact else block

    def block_linear_predictor(
        self, block: Any, W: Array, b: Array, dtype: Any, **place: Any
    ) -> Array:
        """``(X - mean) W + b`` of a block; ``place`` is an ``order`` or ``out``."""
        product = block @ W.astype(block.dtype, copy=False)
        shift = (b - self._rest @ W).astype(dtype, copy=False)
        # One pass for the sum, the order and the precision.
        return np.add(product, shift, dtype=dtype, **place)

    def block_transpose_product(self, block: Any, R: Array) -> Array:
        """``block' R``, to be summed and centred (`centre_product`)."""
        if sparse.issparse(block):
            return (block.T @ R).astype(np.float64, copy=False)
        R = R.astype(block.dtype, copy=False)
        # The same product, faster with the longer side last.
        if R.shape[1] > block.shape[1]:
            return (block.T @ R).astype(np.float64, copy=False)
        return (R.T @ block).T.astype(np.float64, copy=False)

    def centre_product(self, product: Array, sums: Array) -> tuple[Array, Array]:
        """`transpose_product`, given ``(X - offsets)' R`` and the column sums of R."""
        return product - self._rest[:, None] * sums, sums * self.fit_intercept

    def linear_predictor(
        self,
        W: Array,
        b: Array,
        *,
        exact: bool = False,
        dtype: Any = np.float64,
    ) -> Array:
        """``(X - mean) W + b``; with ``exact`` in float64 even if X is float32."""
        Z = np.empty((self.n, W.shape[1]), dtype=dtype, order="F")

        def fill(rows: slice) -> None:
            self.block_linear_predictor(self.block(rows, exact), W, b, dtype, out=Z[rows])

        in_threads(fill, self.row_blocks(W.shape[1]))
        return Z

    def transpose_product(self, R: Array, *, exact: bool = False) -> tuple[Array, Array]:
        """The adjoint: ``(X - mean)' R`` and the column sums of R (0 without an intercept)."""

        def block_product(rows: slice) -> list[Array]:
            return [self.block_transpose_product(self.block(rows, exact), R[rows])]

        (product,) = sum_in_threads(block_product, self.row_blocks(R.shape[1]))
        return self.centre_product(product, R.sum(axis=0))

    def weighted_scatter(self, weights: Array | None) -> Array:
        """``Z' diag(weights) Z`` for ``Z = [X - mean, 1]``; None stands for weights of 1."""

        def block_moments(rows: slice) -> tuple[Any, ...]:
            block = self.block(rows, exact=True)
            if weights is None:  # BLAS exploits the symmetry
                return to_dense(block.T @ block), block.sum(axis=0).ravel()
            w = weights[rows]
            if sparse.issparse(block):
                weighted = block.multiply(w[:, None]).tocsr()
            else:
                weighted = block * w[:, None]
            return to_dense(block.T @ weighted), block.T @ w

        inner, moment = sum_in_threads(block_moments, self.row_blocks())
        total = float(self.n if weights is None else weights.sum())
        cross = moment - total * self._rest
        inner -= np.outer(moment, self._rest)
        inner -= np.outer(self._rest, cross)
        scatter = np.empty((self.m + 1, self.m + 1))
        scatter[:-1, :-1] = inner
        scatter[:-1, -1] = scatter[-1, :-1] = cross
        scatter[-1, -1] = total
        return scatter

    @cached_property
    def scatter_matrix(self) -> Array:
        """``(X - mean)' (X - mean)``, rows weighted by their sample weights."""
        return self.weighted_scatter(self.sample_weight)[:-1, :-1]

    # Preconditioner

    def fits_float32(self) -> bool:
        """Whether the centred columns and their squares can be represented in single precision."""
        deviations = np.sqrt(self.spread[self.spread > 0.0])
        return bool(np.all((deviations < 1e30) & (deviations > 1e-30)))

    @property
    def has_similar_spreads(self) -> bool:
        """Whether the spreads differ so little that rounding errors do the smallest no harm."""
        varying = self.spread[self.spread > 0.0]
        return 0.0 < varying.max(initial=0.0) <= 1e4 * varying.min(initial=np.inf)

    @property
    def has_cheap_products(self) -> bool:
        """Whether factorising a matrix of all features takes longer than the iterations it saves.

        For 300 features with 48,000 non-zero entries both take the same time.
        """
        if not sparse.issparse(self.X) or self.m <= self.always_factorised:
            return False
        return 4 * self.m**2 > self.X.nnz

    def spectrum(self, ridge: float) -> _Spectrum:
        """Eigenvectors of ``scatter + ridge I``, scaled first if the spreads differ much.

        With a unit diagonal, what is numerically zero is judged relative to its own column and not
        to the largest one. If all columns have similar spreads, one scale suffices for all, and
        then one basis for every ridge. If a factorisation does not pay, only the diagonal is used.
        """
        diagonal = self.spread + ridge
        if self.has_similar_spreads:
            ridge = 0.0
            diagonal = np.full(self.m, self.spread.max())
        last_ridge, spectrum = self._last_spectrum
        if last_ridge == ridge:
            return spectrum
        scale = unit_diagonal_scale(diagonal)
        is_large = self.m > min(self.max_factorised, 2 * self.n)
        if self.orthogonal or is_large or self.has_cheap_products:
            spectrum = _Spectrum(scale, None, self.spread * scale**2, scale**2)
        else:
            M = scale[:, None] * self.scatter_matrix * scale
            np.fill_diagonal(M, (self.spread + ridge) * scale**2)
            with blas_threads():
                values, basis = np.linalg.eigh(M)
            identity = scale**2 @ basis**2
            scatter = np.maximum(values - ridge * identity, 0.0)
            spectrum = _Spectrum(scale, basis, scatter, identity)
        self._last_spectrum = ridge, spectrum
        return spectrum

    def ridge_solver(self, values: Array, l2: float) -> Callable[[Array], Array]:
        """A function that solves with ``scatter (x) diag(values) + 2 l2 I``, a column each."""
        # 1 / c is the curvature of uniform predictions, to compare scatter matrix and penalty.
        scale, Q, scatter, identity = self.spectrum(ridge=2.0 * l2 * len(values))
        diagonal = np.outer(scatter, np.maximum(values, 0.0))
        diagonal += 2.0 * l2 * identity[:, None]
        inverse = reciprocal(diagonal)
        column = scale[:, None]
        if Q is None:
            return lambda G: column * (inverse * (column * G))
        return lambda G: column * (Q @ (inverse * (Q.T @ (column * G))))
