"""A feature matrix as solvers of linear models need it: centred and equilibrated, copied for quick work at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ldlearn.core.resources import blas_threads, in_threads, sum_in_threads
from ldlearn.core.scaling import column_moments, removable_offsets, row_blocks, without_offsets
from ldlearn.core.simplex import Array

_LARGE_FACTORISATION = 500  # features from which threads of BLAS are worth their waiting for each other
_LARGEST_FACTORISATION = 2000  # features; beyond this only the diagonal of the scatter matrix is used
_SAMPLED_ROWS = 50  # a feature: relative errors of a second derivative from so many are a few tenths
_SAMPLED_PART = 16  # of many rows: one in so many
_BLOCK_VALUES = 2**21  # numbers in the largest array of a block of rows
_MANY_LABELS = 64
_SMALL_SHIFT = 64.0  # of logits: in single precision it costs less than 1e-5
_SAMPLED_ENTRIES = 2 * 10**7  # of the sample: more rows would not make it better by much
_WORTH_A_COPY = 2**19  # entries of a dense X from which products of single precision make up for a copy
_SAFE = 1e30  # numbers between this and its reciprocal can be squared and still be written in single precision
_EPS = float(np.finfo(np.float64).eps)
_ALIKE = 1e4  # ratio of the largest spread to the smallest up to which rounding errors do no harm to the smallest


class Spectrum(NamedTuple):
    """A basis in which the scatter matrix and the penalty are (nearly) diagonal, for columns of any scale."""

    scale: NDArray[np.float64]  # of each column: multiplied by it the columns have unit length
    basis: NDArray[np.float64] | None  # orthogonal, in the scaled columns; None stands for the identity
    scatter: NDArray[np.float64]  # diagonal of the scatter matrix in the basis
    identity: NDArray[np.float64]  # diagonal of what the identity (of the unscaled columns) becomes


class CentredColumns:
    """What is known of the columns of X without its rows: where they lie, how they spread, in which basis.

    Parameters
    ----------
    n : int
        Rows of X.
    mean, squares : ndarrays of shape (m,)
        Mean of each column, and the sum of squared deviations from it.
    offsets : ndarray of shape (m,)
        What is subtracted before digits are lost; see `removable_offsets`.
    fit_intercept : bool, default=True
        If not, nothing is subtracted and ``mean`` is 0.
    scatter : ndarray of shape (m, m), default=None
        ``(X - mean)' (X - mean)``, where somebody knows it already.
    total : float, default=None
        The number of rows, each counted as often as its weight says; n by default.

    Attributes
    ----------
    mean : ndarray of shape (m,)
    spread : ndarray of shape (m,)
        Sum of squares of each column of ``X - mean``.
    """

    orthogonal = False  # whether the scatter matrix is diagonal, or nearly

    def __init__(
        self,
        n: int,
        mean: NDArray[np.float64],
        squares: NDArray[np.float64],
        offsets: NDArray[np.float64],
        fit_intercept: bool = True,
        scatter: NDArray[np.float64] | None = None,
        total: float | None = None,
    ) -> None:
        self.n, self.m = n, len(mean)
        self.total = float(n if total is None else total)
        self.fit_intercept = fit_intercept
        self.mean = mean if fit_intercept else np.zeros(self.m)
        self.spread = squares if fit_intercept else squares + self.total * mean**2
        self.offsets = offsets if fit_intercept else np.zeros(self.m)
        self._scatter = scatter
        self._spectrum: tuple[float, Spectrum] | None = None

    @property
    def whole(self) -> Any:
        """The features as they were given: these, but for those of `reduce_to_row_space`."""
        return self

    def scatter_matrix(self) -> NDArray[np.float64]:
        """``(X - mean)' (X - mean)``."""
        raise NotImplementedError

    def sampled_rows(self) -> NDArray[np.intp] | None:
        """Which rows are enough for a rough second derivative; None if X has not many more."""
        most = min(self.n // _SAMPLED_PART, _SAMPLED_ENTRIES // self.m)
        size = max(_SAMPLED_ROWS * self.m, most)
        if 2 * size > self.n or not self.fit_single_precision():
            return None
        return np.sort(np.random.default_rng(0).choice(self.n, size, replace=False, shuffle=False))

    def fit_single_precision(self) -> bool:
        """Whether the centred columns and their squares can be written in single precision."""
        deviations = np.sqrt(self.spread[self.spread > 0.0])
        return bool(np.all((deviations < _SAFE) & (deviations > 1.0 / _SAFE)))

    def sample_of(self, X: Any, weights: NDArray[np.float64] | None = None) -> Features:
        """Some rows of the whole, in single precision and centred as the whole is."""
        X = without_offsets(X, self.offsets).astype(np.float32)
        return Features(X, weights=weights, block_of=self._near_zero())

    def _near_zero(self) -> CentredColumns:
        """The columns without their offsets."""
        rest = self.mean - self.offsets
        return CentredColumns(self.n, rest, self.spread, np.zeros(self.m), self.fit_intercept)

    def spectrum(self, ridge: float) -> Spectrum:
        """Eigenvectors of ``scatter + ridge I``, its columns and rows first scaled if their spreads differ much.

        Scaled to a unit diagonal, what is numerically zero is zero compared with its own column and not with the
        largest one. Where that is no danger one scale does for all columns, and then one basis for every ridge. Beyond
        some size only the diagonal is used.
        """
        ridge = 0.0 if self.are_alike else ridge
        if self._spectrum is None or self._spectrum[0] != ridge:
            diagonal = np.full(self.m, self.spread.max()) if self.are_alike else self.spread + ridge
            self._spectrum = ridge, self._scaled_spectrum(diagonal, ridge)
        return self._spectrum[1]

    @property
    def are_alike(self) -> bool:
        """Whether the spreads of columns differ so little that rounding errors do no harm to the smallest."""
        varying = self.spread[self.spread > 0.0]
        return len(varying) > 0 and bool(varying.max() <= _ALIKE * varying.min())

    def _scaled_spectrum(self, diagonal: NDArray[np.float64], ridge: float) -> Spectrum:
        scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
        if self.orthogonal or self.m > min(_LARGEST_FACTORISATION, 2 * self.n):
            return Spectrum(scale, None, self.spread * scale**2, scale**2)
        if self._scatter is None:
            self._scatter = self.scatter_matrix()
        M = scale[:, None] * self._scatter * scale
        np.fill_diagonal(M, (self.spread + ridge) * scale**2)
        with blas_threads() if self.m > _LARGE_FACTORISATION else nullcontext():
            values, basis = np.linalg.eigh(M)
        identity = scale**2 @ basis**2
        return Spectrum(scale, basis, np.maximum(values - ridge * identity, 0.0), identity)


class Features(CentredColumns):
    """X as the solver needs it: centred and equilibrated without being copied, unless for quick work (`as_float32`).

    Making one costs a pass over X, and a factorisation when it is first asked for; every fit on the same X, whatever
    its targets, can share it.

    Columns that lie far from zero, compared with their spread, have their offsets subtracted block by block in each
    product, so that ``X - mean`` has all the digits that X has. Scales are left to the preconditioner (`spectrum`).

    Arrays with a row for each row of X are quickest in Fortran order: their rows are short, and what is done to each of
    them is done along the columns.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n, m)
        float64 or float32.
    fit_intercept : bool, default=True
        If not, nothing is subtracted and ``mean`` is 0.
    weights : ndarray of shape (n,), default=None
        How often each row counts; positive.
    block_of : CentredColumns, default=None
        Of a larger matrix, some rows of which X holds: it is centred as the whole is.
    orthogonal : bool, default=False
        Whether the columns are orthogonal, or those of a matrix of which X holds many rows.

    Attributes
    ----------
    total : float
        Sum of the weights; n without any.
    mean : ndarray of shape (m,)
    spread : ndarray of shape (m,)
        Sum of squares of each column of ``X - mean``.
    """

    def __init__(
        self,
        X: Any,
        fit_intercept: bool = True,
        weights: NDArray[np.float64] | None = None,
        *,
        block_of: CentredColumns | None = None,
        orthogonal: bool = False,
    ) -> None:
        self.X, self.weights, self.orthogonal = X, weights, orthogonal
        n = X.shape[0]
        total = float(n if weights is None else weights.sum())
        if block_of is None:
            mean, squares = column_moments(X, weights)
            offsets = removable_offsets(X, mean, squares * (n / total))
            super().__init__(n, mean, squares, offsets, fit_intercept, total=total)
        else:
            whole = block_of.mean, block_of.spread, block_of.offsets, block_of.fit_intercept
            super().__init__(n, *whole, total=total)
        self._is_block = block_of is not None  # a sample of the whole is somebody else's business
        self._is_sparse = sparse.issparse(X)
        self._blocks: dict[int, list[slice]] = {}  # by the width of what is beside them
        self._sample: Sample | None = None
        self._narrow: Features | None = None
        self._far = bool(self.offsets.any())
        self._rest = self.mean - self.offsets  # what is left of the mean, small compared with the spread
        # Whether products are in float64 even if nobody asks for it: columns far from zero need it.
        self.is_exact = X.dtype == np.float64 or not self.fit_intercept or self._far

    def in_columns(self, V: Array, b: Array) -> tuple[Array, Array]:
        """Weights and intercept of the features as they were given, from those of these."""
        return V, b

    def scatter_matrix(self) -> NDArray[np.float64]:
        """``(X - mean)' (X - mean)``."""
        return self.weighted_scatter(self.weights)[:-1, :-1]

    def weigh(self, R: Array, rows: slice = slice(None)) -> Array:
        """Rows of R, which belong to these rows of X, times their weights."""
        return R if self.weights is None else R * self.weights[rows, None]

    def row_blocks(self, width: int = 0) -> list[slice]:
        """Slices of rows, so short that a block of X and ``width`` columns beside it stay in cache."""
        if width not in self._blocks:
            self._blocks[width] = list(row_blocks(self.X, width))
        return self._blocks[width]

    def block(self, rows: slice, exact: bool = False) -> Any:
        """Rows of X without offsets, in float64 if ``exact`` (or `is_exact`), else as they are."""
        block = without_offsets(self.X[rows], self.offsets) if self._far else self.X[rows]
        return block.astype(np.float64, copy=False) if exact or self.is_exact else block

    def as_float32(self) -> Features:
        """X for rough work: a copy in single precision without offsets if X is large and dense; else these features.

        Products of single precision take a half to a third of the time. What comes of them has to be made good in
        float64.
        """
        if self._narrow is None:
            self._narrow = self._narrow_copy() if self._is_worth_a_copy() else self
        return self._narrow

    def _is_worth_a_copy(self) -> bool:
        if not self.is_exact or self._is_sparse or not self.fit_intercept or self._is_block:
            return False
        return self.X.size >= _WORTH_A_COPY and self.fit_single_precision()

    def _narrow_copy(self) -> Features:
        X = np.empty(self.X.shape, dtype=np.float32)

        def fill(rows: slice) -> None:
            X[rows] = self.block(rows)

        in_threads(fill, self.row_blocks())
        return Features(X, weights=self.weights, block_of=self._near_zero())

    def sample(self) -> Sample | None:
        """Enough rows for a rough second derivative, in single precision; None if X has not many more.

        Drawn at random, always the same: rows may come in any order.
        """
        rows = None if self._is_block or self._sample else self.sampled_rows()
        if rows is not None:
            weights = None if self.weights is None else self.weights[rows]
            self._sample = Sample(rows, self.sample_of(self.X[rows], weights))
        return self._sample

    def multiplier(
        self, W: Array, b: Array, *, exact: bool = False, order: Literal["F", "C"] = "F", dtype: Any = np.float64
    ) -> Callable[..., Array]:
        """The function that makes logits ``(X - mean) W + b`` of a block, in the order and precision asked for.

        It fills ``out`` if it is given that.
        """
        shift = (b - self._rest @ W).astype(dtype, copy=False)
        own = W if dtype == np.float64 and (exact or self.is_exact) else W.astype(np.float32)

        def multiply(block: Any, out: Array | None = None) -> Array:
            product = np.asarray(block @ own)
            Z = np.empty(product.shape, dtype=dtype, order=order) if out is None else out
            np.add(product, shift, out=Z)  # one pass for the sum, the order and the precision
            return Z

        return multiply

    def block_transpose_times(self, block: Any, R: Array) -> Array:
        """``block' R``, to be summed and `centred`."""
        if self._is_sparse:
            return np.asarray(block.T @ R, dtype=np.float64)
        R = R.astype(block.dtype, copy=False)
        # The same product either way, quicker with the longer side last.
        product = block.T @ R if R.shape[1] > block.shape[1] else (R.T @ block).T
        return np.asarray(product, dtype=np.float64)

    def centred(self, product: Array, sums: Array) -> tuple[Array, Array]:
        """``(X - mean)' R`` and the column sums of R (0 without an intercept), from ``(X - offsets)' R`` and them."""
        return product - self._rest[:, None] * sums, sums if self.fit_intercept else np.zeros_like(sums)

    def times(self, W: Array, b: Array, *, exact: bool = False) -> Array:
        """Logits ``(X - mean) W + b``; with ``exact`` in float64 even if X is float32."""
        product = np.empty((self.n, W.shape[1]), order="F")
        multiply = self.multiplier(W, b, exact=exact)
        for rows in self.row_blocks(W.shape[1]):
            multiply(self.block(rows, exact), out=product[rows])
        return product

    def transpose_times(self, R: Array, *, exact: bool = False) -> tuple[Array, Array]:
        """The adjoint: ``(X - mean)' R`` and the column sums of R (0 without an intercept)."""
        product = np.zeros((self.m, R.shape[1]))
        for rows in self.row_blocks(R.shape[1]):
            product += self.block_transpose_times(self.block(rows, exact), R[rows])
        return self.centred(product, R.sum(axis=0))

    def weighted_scatter(self, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """``Z' diag(weights) Z`` for ``Z = [X - mean, 1]``; None stands for weights of 1."""

        def part(rows: slice) -> tuple[Any, ...]:
            block = self.block(rows, exact=True)
            if weights is None:
                return _dense(block.T @ block), np.asarray(block.sum(axis=0)).ravel()  # BLAS knows that it is symmetric
            w = weights[rows]
            counted = block.multiply(w[:, None]).tocsr() if self._is_sparse else block * w[:, None]
            return _dense(block.T @ counted), block.T @ w

        inner, moment = sum_in_threads(part, self.row_blocks())
        total = float(self.n if weights is None else weights.sum())
        cross = moment - total * self._rest
        scatter = np.empty((self.m + 1, self.m + 1))
        scatter[:-1, :-1] = inner - np.outer(moment, self._rest) - np.outer(self._rest, cross)
        scatter[:-1, -1] = scatter[-1, :-1] = cross
        scatter[-1, -1] = total
        return scatter


class Sample(NamedTuple):
    """Some rows of a feature matrix."""

    rows: NDArray[np.intp]
    features: Features  # centred as the whole is


def _dense(A: Any) -> Array:
    return np.asarray(A.toarray() if sparse.issparse(A) else A)


def linear_scores(X: Any, W: Array, b: Array) -> NDArray[np.float64]:
    """``X W + b`` in float64, a block of rows at a time: a float32 X is not copied as a whole.

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


def centred_blocks(X: Any, mean: NDArray[np.float64], width: int) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """``X - mean``, dense and in float64, a slice of rows at a time; ``width`` numbers are needed for each row."""
    step = max(1, _BLOCK_VALUES // max(width, 1))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        yield rows, np.asarray(block, dtype=np.float64) - mean


def linear_softmax(X: Any, W: Array, b: Array) -> Array:
    """``softmax(X W + b)`` in the precision of X, a block of rows at a time.

    Where b is large it makes up for columns far from zero, and digits would be lost: then logits are in float64.

    Examples
    --------
    >>> import numpy as np
    >>> linear_softmax(np.zeros((1, 1), dtype=np.float32), np.ones((1, 2)), np.log([0.25, 0.75])).round(6)
    array([[0.25, 0.75]], dtype=float32)
    """
    P = np.empty((X.shape[0], W.shape[1]), dtype=X.dtype)
    if np.abs(b - b.mean()).max() <= _SMALL_SHIFT:
        W, b = W.astype(X.dtype, copy=False), b.astype(X.dtype, copy=False)
    # Maxima and sums over short rows are slow: few labels are worked on one after the other, for all rows of a block.
    order: Literal["F", "C"] = "F" if W.shape[1] < _MANY_LABELS else "C"

    def fill(rows: slice) -> None:
        Z = np.asarray(X[rows] @ W, order=order)
        Z += b
        Z -= Z.max(axis=1, keepdims=True)
        np.exp(Z, out=Z)
        np.divide(Z, Z.sum(axis=1, keepdims=True), out=P[rows], casting="same_kind")

    in_threads(fill, list(row_blocks(X, W.shape[1])))
    return P


def reciprocal(values: Array) -> NDArray[np.float64]:
    """1 / values, and 0 where rounding cannot tell a value from zero, compared with the largest."""
    cut = values.size * _EPS * float(values.max(initial=0.0))
    flat = values <= cut
    return np.asarray(np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, values)))
