"""A feature matrix for solvers of linear models: centred and scaled without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from ldlearn.core.resources import blas_threads, in_threads, sum_in_threads
from ldlearn.core.scaling import (
    column_moments,
    removable_offsets,
    row_batches,
    row_blocks,
    to_dense,
    without_offsets,
)
from ldlearn.core.simplex import Array, Indices


class Spectrum(NamedTuple):
    """A basis in which the scatter matrix and the penalty are (nearly) diagonal, for columns of any
    scale."""

    scale: Array  # of each column: multiplied by it the columns have unit length
    basis: Array | None  # orthogonal, in the scaled columns; None stands for the identity
    scatter: Array  # diagonal of the scatter matrix in the basis
    identity: Array  # diagonal of what the identity (of the unscaled columns) becomes


class CentredColumns:
    """Statistics of the columns of X, without its rows: mean, spread and eigenvectors of the
    scatter matrix.

    Parameters
    ----------
    n : int
        Rows of X.
    mean, squares : ndarrays of shape (n_features,)
        Mean of each column, and the sum of squared deviations from it.
    offsets : ndarray of shape (n_features,)
        Subtracted from X before products, so that no digits are lost; see `removable_offsets`.
    fit_intercept : bool, default=True
        If not, nothing is subtracted and ``mean`` is 0.
    total : float, default=None
        Sum of the sample weights; n by default.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    spread : ndarray of shape (n_features,)
        Sum of squares of each column of ``X - mean``.
    """

    orthogonal = False  # whether the scatter matrix is diagonal, or nearly
    max_factorised = 2000  # features; beyond this only the diagonal of the scatter matrix is used
    sampled_rows_per_feature = 50  # gives relative errors of a few tenths in the second derivative

    def __init__(
        self,
        n: int,
        mean: Array,
        squares: Array,
        offsets: Array,
        fit_intercept: bool = True,
        total: float | None = None,
    ) -> None:
        self.n = n
        self.m = len(mean)
        self.total = float(n if total is None else total)
        self.fit_intercept = fit_intercept
        self.mean = mean * fit_intercept
        self.spread = squares + self.total * (mean - self.mean) ** 2
        self.offsets = offsets * fit_intercept
        self._scatter: Array | None = None
        self._spectrum: tuple[float, Spectrum] | None = None
        self._sample: Features | None = None

    @property
    def statistics(self) -> tuple[Array, Array, Array, bool]:
        """Mean, spread and offsets of the columns, and whether they are subtracted."""
        return self.mean, self.spread, self.offsets, self.fit_intercept

    @property
    def original(self) -> Any:
        """The features as they were given; differs from these only for those of
        `reduce_to_row_space`."""
        return self

    def scatter_matrix(self) -> Array:
        """``(X - mean)' (X - mean)``."""
        raise NotImplementedError

    def hessian_sample(self) -> Features | None:
        """Rows for an approximate second derivative, in single precision; None if X has not many
        more.

        Drawn at random with a fixed seed, and centred by the statistics of all rows.
        """
        # One row in 16, but at most 2e7 entries: a larger sample is hardly better.
        size = max(self.sampled_rows_per_feature * self.m, min(self.n // 16, 2 * 10**7 // self.m))
        if self._sample is None and 2 * size <= self.n and self.fits_float32():
            rows = np.random.default_rng(0).choice(self.n, size, replace=False, shuffle=False)
            X, sample_weight = self.take_rows(np.sort(rows))
            rest = self.mean - self.offsets
            columns = CentredColumns(
                self.n, rest, self.spread, np.zeros(self.m), self.fit_intercept
            )
            X = without_offsets(X, self.offsets).astype(np.float32)
            self._sample = Features(X, sample_weight=sample_weight, block_of=columns)
        return self._sample

    def take_rows(self, rows: Any) -> tuple[Any, Array | None]:
        """Some rows of X, and their sample weights."""
        raise NotImplementedError

    def subset(self, rows: Any) -> Features:
        """Some rows as features of their own, centred by their own mean."""
        X, sample_weight = self.take_rows(rows)
        return Features(X, self.fit_intercept, sample_weight, orthogonal=self.orthogonal)

    def row_keys(self) -> Array:
        """See the function `row_keys`."""
        raise NotImplementedError

    def sort_rows(self) -> tuple[Indices, Indices]:
        """An order of the rows that depends on their features alone, and where each group of equal
        rows starts in it.

        The order of rows and columns and the offset and (positive) scale of a column do not matter,
        constant columns are ignored. Only different rows with equal keys, as in factorial designs,
        are in the order of their first copies.
        """
        keys, identities = np.round(
            self.row_keys(), 9
        ).T  # rounding errors may depend on the order of columns
        _, first, inverse = np.unique(identities, return_index=True, return_inverse=True)
        first_copy = first[inverse]
        order = np.lexsort((first_copy, keys))
        return order, np.flatnonzero(np.append(True, np.diff(first_copy[order]) != 0))

    def sample_rows(self, max_rows: int) -> Indices:
        """All rows, or a random sample that depends on the features alone; sorted."""
        if self.n <= max_rows:
            return np.arange(self.n)
        order, _ = self.sort_rows()
        return np.sort(np.random.default_rng(0).choice(order, max_rows, replace=False))

    def fits_float32(self) -> bool:
        """Whether the centred columns and their squares can be represented in single precision."""
        deviations = np.sqrt(self.spread[self.spread > 0.0])
        return bool(np.all((deviations < 1e30) & (deviations > 1e-30)))

    def spectrum(self, ridge: float) -> Spectrum:
        """Eigenvectors of ``scatter + ridge I``, its columns and rows first scaled if their spreads
        differ much.

        With a unit diagonal, what is numerically zero is judged relative to its own column and not
        to the largest one. If all columns have similar spreads, one scale suffices for all, and
        then one basis for every ridge. Beyond `max_factorised` features only the diagonal is used.
        """
        ridge = 0.0 if self.has_similar_spreads else ridge
        if self._spectrum is None or self._spectrum[0] != ridge:
            diagonal = (
                np.full(self.m, self.spread.max())
                if self.has_similar_spreads
                else self.spread + ridge
            )
            self._spectrum = ridge, self._scaled_spectrum(diagonal, ridge)
        return self._spectrum[1]

    def ridge_solver(self, values: Array, l2: float) -> Callable[[Array], Array]:
        """A function that solves with ``scatter (x) diag(values) + 2 l2 I``, one column for each
        value."""
        # 1 / c is the curvature of uniform predictions, to compare the scatter matrix with the
        # penalty.
        scale, Q, scatter, identity = self.spectrum(ridge=2.0 * l2 * len(values))
        inverse = reciprocal(
            np.outer(scatter, np.maximum(values, 0.0)) + 2.0 * l2 * identity[:, None]
        )
        column = scale[:, None]

        def solve(G: Array) -> Array:
            G = column * G
            if Q is None:
                return column * (inverse * G)
            return column * (Q @ (inverse * (Q.T @ G)))

        return solve

    @property
    def has_similar_spreads(self) -> bool:
        """Whether the spreads of columns differ so little that rounding errors do no harm to the
        smallest."""
        varying = self.spread[self.spread > 0.0]
        return len(varying) > 0 and bool(varying.max() <= 1e4 * varying.min())

    def _scaled_spectrum(self, diagonal: Array, ridge: float) -> Spectrum:
        scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
        if self.orthogonal or self.m > min(self.max_factorised, 2 * self.n):
            return Spectrum(scale, None, self.spread * scale**2, scale**2)
        if self._scatter is None:
            self._scatter = self.scatter_matrix()
        M = scale[:, None] * self._scatter * scale
        np.fill_diagonal(M, (self.spread + ridge) * scale**2)
        with blas_threads():
            values, basis = np.linalg.eigh(M)
        identity = scale**2 @ basis**2
        return Spectrum(scale, basis, np.maximum(values - ridge * identity, 0.0), identity)


class Features(CentredColumns):
    """X for the solvers: centred and scaled without a copy.

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
    block_of : CentredColumns, default=None
        Statistics of a larger matrix of which X contains some rows; X is centred by them.
    orthogonal : bool, default=False
        Whether the columns are orthogonal, or X contains many rows of a matrix with orthogonal
        columns.

    Attributes
    ----------
    total : float
        Sum of the sample weights; n without any.
    mean : ndarray of shape (n_features,)
    spread : ndarray of shape (n_features,)
        Sum of squares of each column of ``X - mean``.
    """

    def __init__(
        self,
        X: Any,
        fit_intercept: bool = True,
        sample_weight: Array | None = None,
        *,
        block_of: CentredColumns | None = None,
        orthogonal: bool = False,
    ) -> None:
        self.X = X
        self.sample_weight = sample_weight
        self.orthogonal = orthogonal
        n = X.shape[0]
        total = float(n if sample_weight is None else sample_weight.sum())
        if block_of is None:
            mean, squares = column_moments(X, sample_weight)
            offsets = removable_offsets(X, mean, squares * (n / total))
            super().__init__(n, mean, squares, offsets, fit_intercept, total=total)
        else:
            super().__init__(n, *block_of.statistics, total=total)
        self._is_sparse = sparse.issparse(X)
        self._far = bool(self.offsets.any())
        self._rest = (
            self.mean - self.offsets
        )  # what is left of the mean, small compared with the spread
        # Whether products are always in float64: columns far from zero need it.
        self.is_exact = X.dtype == np.float64 or not self.fit_intercept or self._far

    def to_original(self, V: Array, b: Array) -> tuple[Array, Array]:
        """Coefficients and intercept for the `original` features, given those for these
        features."""
        return V, b

    def scatter_matrix(self) -> Array:
        """``(X - mean)' (X - mean)``."""
        return self.weighted_scatter(self.sample_weight)[:-1, :-1]

    def apply_weights(self, R: Array, rows: slice = slice(None)) -> Array:
        """R, which has a row for each of these rows of X, times their sample weights."""
        return R if self.sample_weight is None else R * self.sample_weight[rows, None]

    def row_blocks(self, width: int = 0) -> list[slice]:
        """Slices of rows, so short that a block of X and ``width`` columns beside it stay in
        cache."""
        return list(row_blocks(self.X, width))

    def block(self, rows: slice, exact: bool = False) -> Any:
        """Rows of X without offsets, in float64 if ``exact`` (or `is_exact`), else as they are."""
        block = without_offsets(self.X[rows], self.offsets) if self._far else self.X[rows]
        return block.astype(np.float64, copy=False) if exact or self.is_exact else block

    def row_keys(self) -> Array:
        """See the function `row_keys`."""
        return row_keys(self.X, self)

    def take_rows(self, rows: Any) -> tuple[Any, Array | None]:
        """See `CentredColumns.take_rows`."""
        return self.X[rows], None if self.sample_weight is None else self.sample_weight[rows]

    def block_logits(self, block: Any, W: Array, b: Array, dtype: Any, **place: Any) -> Array:
        """Logits ``(X - mean) W + b`` of a block, in the given precision; ``place`` is an ``order``
        or ``out``."""
        product = block @ W.astype(block.dtype, copy=False)
        shift = (b - self._rest @ W).astype(dtype, copy=False)
        return np.add(
            product, shift, dtype=dtype, **place
        )  # one pass for the sum, the order and the precision

    def block_transpose_times(self, block: Any, R: Array) -> Array:
        """``block' R``, to be summed and centred (`centre_product`)."""
        if not self._is_sparse:
            R = R.astype(block.dtype, copy=False)
        # The same product either way, faster with the longer side last.
        product = block.T @ R if self._is_sparse or R.shape[1] > block.shape[1] else (R.T @ block).T
        return product.astype(np.float64, copy=False)

    def centre_product(self, product: Array, sums: Array) -> tuple[Array, Array]:
        """``(X - mean)' R`` and the column sums of R (0 without an intercept), from ``(X -
        offsets)' R`` and them."""
        return product - self._rest[:, None] * sums, sums * self.fit_intercept

    def times(self, W: Array, b: Array, *, exact: bool = False, dtype: Any = np.float64) -> Array:
        """Logits ``(X - mean) W + b``; with ``exact`` in float64 even if X is float32."""
        Z = np.empty((self.n, W.shape[1]), dtype=dtype, order="F")

        def fill(rows: slice) -> None:
            self.block_logits(self.block(rows, exact), W, b, dtype, out=Z[rows])

        in_threads(fill, self.row_blocks(W.shape[1]))
        return Z

    def transpose_times(self, R: Array, *, exact: bool = False) -> tuple[Array, Array]:
        """The adjoint: ``(X - mean)' R`` and the column sums of R (0 without an intercept)."""

        def block_product(rows: slice) -> list[Array]:
            return [self.block_transpose_times(self.block(rows, exact), R[rows])]

        (product,) = sum_in_threads(block_product, self.row_blocks(R.shape[1]))
        return self.centre_product(product, R.sum(axis=0))

    def weighted_scatter(self, weights: Array | None) -> Array:
        """``Z' diag(weights) Z`` for ``Z = [X - mean, 1]``; None stands for weights of 1."""

        def block_moments(rows: slice) -> tuple[Any, ...]:
            block = self.block(rows, exact=True)
            if weights is None:
                return to_dense(block.T @ block), block.sum(
                    axis=0
                ).ravel()  # BLAS exploits the symmetry
            w = weights[rows]
            weighted = block.multiply(w[:, None]).tocsr() if self._is_sparse else block * w[:, None]
            return to_dense(block.T @ weighted), block.T @ w

        inner, moment = sum_in_threads(block_moments, self.row_blocks())
        total = float(self.n if weights is None else weights.sum())
        cross = moment - total * self._rest
        scatter = np.empty((self.m + 1, self.m + 1))
        scatter[:-1, :-1] = inner - np.outer(moment, self._rest) - np.outer(self._rest, cross)
        scatter[:-1, -1] = scatter[-1, :-1] = cross
        scatter[-1, -1] = total
        return scatter


def row_keys(X: Any, columns: CentredColumns) -> Array:
    """Two numbers for each row, made of an irregular function f of its standardised features z.

    The first, ``sum_j f(z_j)``, does not depend on the order of columns. The second has another
    coefficient for each column: practically, it is equal for equal rows only.
    """
    if not np.isfinite(columns.spread).all():
        raise OverflowError("The squares of the features overflow.")
    varying = columns.spread > 0.0
    scale = np.where(varying, np.sqrt(columns.total / np.where(varying, columns.spread, 1.0)), 0.0)
    coef = np.random.default_rng(0).standard_normal(columns.m)

    def f(z: Array) -> Array:
        # Neither odd nor even: mirrored rows and mirrored columns have different keys.
        divisor = z - 0.7318
        divisor *= divisor
        divisor += 1.0
        return z / divisor

    if sparse.issparse(X):
        # Relative to a row of zeros, so that only stored entries count.
        values = f((X.data - columns.mean[X.indices]) * scale[X.indices])
        values -= f(-columns.mean * scale)[X.indices]
        rows = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
        return np.column_stack([rows.sum(axis=1), rows @ coef])
    keys = np.empty((X.shape[0], 2))
    for block in row_blocks(X):
        values = f((X[block] - columns.mean) * scale)
        keys[block, 0] = values.sum(axis=1)
        # Not by BLAS, in which the same row may give another number at another place.
        keys[block, 1] = np.einsum("ij,j->i", values, coef)
    return keys


def linear_scores(X: Any, W: Array, b: Array) -> Array:
    """``X W + b`` in float64, a block of rows at a time, so that a float32 X is never copied at
    once.

    Examples
    --------
    >>> import numpy as np
    >>> linear_scores(np.array([[1.0, 2.0]], dtype=np.float32), np.eye(2), np.array([0.5, 0.0]))
    array([[1.5, 2. ]])
    """
    scores = np.empty((X.shape[0], W.shape[1]), order="F")
    for rows in row_blocks(X):
        scores[rows] = X[rows] @ W
    scores += b
    return scores


def centred_blocks(X: Any, mean: Array, width: int) -> Iterator[tuple[slice, Array]]:
    """``X - mean``, dense and in float64, for slices of rows; the caller needs ``width`` numbers
    for each row."""
    for rows in row_batches(X.shape[0], width, max_entries=2**21):
        yield rows, to_dense(X[rows]).astype(np.float64, copy=False) - mean


def linear_softmax(X: Any, W: Array, b: Array) -> Array:
    """``softmax(X W + b)`` in the precision of X, a block of rows at a time.

    A large b compensates for columns far from zero, and digits would be lost: then logits are
    computed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> linear_softmax(
    ...     np.zeros((1, 1), dtype=np.float32), np.ones((1, 2)), np.log([0.25, 0.75])
    ... ).round(6)
    array([[0.25, 0.75]], dtype=float32)
    """
    P = np.empty((X.shape[0], W.shape[1]), dtype=X.dtype)
    if np.abs(b - b.mean()).max() <= 64.0:  # costs less than 1e-5 in single precision
        W = W.astype(X.dtype, copy=False)
        b = b.astype(X.dtype, copy=False)
    # Reductions over short rows are slow in C order.
    order: Literal["F", "C"] = "F" if W.shape[1] < 64 else "C"

    def fill(rows: slice) -> None:
        Z = np.asarray(X[rows] @ W, order=order)
        Z += b
        Z -= Z.max(axis=1, keepdims=True)
        np.exp(Z, out=Z)
        np.divide(Z, Z.sum(axis=1, keepdims=True), out=P[rows], casting="same_kind")

    in_threads(fill, list(row_blocks(X, W.shape[1])))
    return P


def reciprocal(values: Array) -> Array:
    """1 / values, and 0 where a value is zero up to rounding, relative to the largest."""
    flat = values <= values.size * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, values))


class RowSpace(Features):
    """The rows of a wide X in an orthonormal basis Q of their span: ``X - mean = R Q'``.

    Coefficients with a penalty ``|W|^2`` lie in that span: any orthogonal part would cost and
    change no score. So ``W = Q V``, and V, with the same penalty, is what the fit on R finds.
    ``(X - mean)(X - mean)' = U L U'`` gives ``R = U L^1/2``, whose columns are orthogonal, and
    ``Q = (X - mean)' U L^-1/2``, which is never formed. With sample weights, rows are first
    multiplied by the square roots of these.

    Parameters
    ----------
    original : Features

    Attributes
    ----------
    keeps_digits : bool
        Whether the differences between rows are accurate. They are not if a row is much longer or
        has a much larger weight than others, or if all rows are far from zero without an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> original = Features(np.random.default_rng(0).normal(size=(3, 8)))
    >>> rows = RowSpace(original)
    >>> V, b = np.ones((2, 1)), np.zeros(1)
    >>> W, intercept = rows.to_original(V, b)
    >>> np.allclose(original.X @ W + intercept, rows.X @ V + b)
    True
    """

    def __init__(self, original: Features) -> None:
        eps = np.finfo(np.float64).eps
        sample_weight = original.sample_weight
        root_weight = (
            np.ones((original.n, 1)) if sample_weight is None else np.sqrt(sample_weight)[:, None]
        )
        products = root_weight * _products_of_rows(original) * root_weight.T
        with blas_threads():
            values, U = np.linalg.eigh(products)
        kept = values > original.n * eps * values[-1]
        roots = np.sqrt(values[kept])
        super().__init__(
            U[:, kept] * roots / root_weight, original.fit_intercept, sample_weight, orthogonal=True
        )
        self._original = original
        self._inverse = root_weight * U[:, kept] / roots
        squares = np.diag(products)
        varying = original.spread > 0.0
        # The squared length of a row that equals the mean, by rounding alone.
        at_mean = (eps * root_weight[:, 0]) ** 2 * np.sum(original.mean[varying] ** 2)
        # Squares may differ by this ratio before rounding errors harm the smaller ones.
        least = min(squares[squares > at_mean].min(), values[-2])
        self.keeps_digits = bool(max(squares.max(), values[-1] / original.n) <= 1e8 * least)

    @property
    def original(self) -> Features:
        """See `CentredColumns.original`."""
        return self._original

    def to_original(self, V: Array, b: Array) -> tuple[Array, Array]:
        """See `Features.to_original`."""
        W, _ = self._original.transpose_times(self._inverse @ V, exact=True)
        return W, b - self._original.mean @ W

    def largest_directions(self, k: int) -> Array:
        """The last k columns of Q: the directions in which the rows differ most."""
        directions, _ = self._original.transpose_times(self._inverse[:, -k:], exact=True)
        return directions


def reduce_to_row_space(features: Features) -> Features:
    """Features for the same fits with fewer columns, if there are many more than rows: `RowSpace`;
    else these.

    Columns must have similar spreads: beside a very large one, the others would be lost in
    rounding. Sparse rows stay as they are, because products with them are fast.
    """
    is_wide = (
        2 <= features.n <= 2000 and 2 * features.n <= features.m and features.has_similar_spreads
    )
    is_positive = features.sample_weight is None or bool((features.sample_weight > 0.0).all())
    if not (
        is_wide
        and is_positive
        and not sparse.issparse(features.X)
        and np.isfinite(features.spread.sum())
    ):
        return features
    rows = RowSpace(features)
    return rows if rows.keeps_digits else features


def _products_of_rows(features: Features) -> Array:
    """``(X - mean)(X - mean)'``."""
    products = np.zeros((features.n, features.n))
    for columns in gen_batches(features.m, 512):
        block = features.X[:, columns] - features.mean[columns]
        products += block @ block.T
    return products
