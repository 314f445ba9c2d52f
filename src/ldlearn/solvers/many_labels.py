"""Training rows of a softmax regression with many labels, few of them positive: nothing of size n x c is ever held."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.core.simplex import Array
from ldlearn.core.threads import sum_in_threads
from ldlearn.solvers.features import Features

_BALANCED = 0.01  # largest excess of a label's predictions that is left, compared with what a row may lack
_MAX_SWEEPS = 30
_BLOCK_ENTRIES = 2**20  # of predictions: so many that adding up the gradients of blocks costs little beside
_MOST_KEPT = 2**30  # bytes of predictions that are kept while a Newton system is solved: half of what the result takes


class SparseRows:
    """Features, and degrees that are stored for positive labels only.

    Predictions are made from the weights, block by block, whenever they are needed: one more product with X, which
    costs less than keeping them.

    Parameters
    ----------
    features : Features
    D : csr_array of shape (n, c)
        Rows sum to one; they count as often as the weights of the features say. Every positive label is stored.
    """

    def __init__(self, features: Features, D: sparse.csr_array) -> None:
        self.features = features
        weights = features.weights
        self.D = D if weights is None else sparse.csr_array(D.multiply(weights[:, None]))
        self.degrees = np.asarray(self.D.sum(axis=0), dtype=np.float64).ravel()
        self.n = features.total
        self.n_products = 0
        self.sampled = False  # of a rare label a sample knows nothing
        # Of second derivatives: centred columns can do with single precision, columns far from zero cannot.
        self.precision: Any = np.float32 if features.fit_intercept else np.float64
        rows = max(1, _BLOCK_ENTRIES // D.shape[1])
        self.blocks = [slice(k, min(k + rows, D.shape[0])) for k in range(0, D.shape[0], rows)]
        self._known: _SparseRowsAt | None = None

    @cached_property
    def pull(self) -> Array:
        """``(X - mean)' D``."""
        features = self.features

        def part(rows: slice) -> tuple[Any, ...]:
            product = self.D[rows].T @ features.block(rows, exact=True)
            return ((product.toarray() if sparse.issparse(product) else np.asarray(product)).T,)

        (product,) = sum_in_threads(part, self.blocks)
        return features.centred(product, self.degrees)[0]

    def mean_degrees(self) -> Array:
        """Column means of D."""
        return self.degrees / self.n

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> _SparseRowsAt:
        """The rows at weights, always in float64."""
        known = self._known
        if known is None or not (np.array_equal(known.W, W) and np.array_equal(known.b, b)):
            known = self._known = _SparseRowsAt(self, W, b)
        return known


class _SparseRowsAt:
    """Loss and gradient from one pass over the rows."""

    def __init__(self, rows: SparseRows, W: Array, b: Array) -> None:
        self.rows, self.W, self.b = rows, W, b
        self._kept: dict[int, Array] = {}
        features, weights = rows.features, rows.features.weights
        multiply = features.multiplier(W, b, exact=True, order="C")

        def part(some: slice) -> tuple[Any, ...]:
            X, D = features.block(some, exact=True), rows.D[some]
            Z = multiply(X)
            Z -= Z.max(axis=1, keepdims=True)
            where = _places(D)
            linear = float(D.data @ Z[where])
            totals = _softmax(Z)
            logs = np.log(totals)
            loss = float(logs.sum() if weights is None else weights[some] @ logs) - linear
            P = features.weigh(Z, some)
            sums = P.sum(axis=0)
            P[where] -= D.data
            return loss, features.block_transpose_times(X, P), sums

        self.loss, self._product, self.sums = sum_in_threads(part, rows.blocks)
        rows.n_products += 2

    @property
    def logits(self) -> sparse.csr_array:
        """Log-predictions at the stored labels, which are logits up to what the labels of a row share."""
        features, D = self.rows.features, self.rows.D
        values = np.empty(D.nnz)
        multiply = features.multiplier(self.W, self.b, exact=True, order="C")

        def part(some: slice) -> tuple[Any, ...]:
            Z = multiply(features.block(some, exact=True))
            Z -= Z.max(axis=1, keepdims=True)
            where = _places(D[some])
            chosen = Z[where]
            values[D.indptr[some.start] : D.indptr[some.stop]] = chosen - np.log(_softmax(Z))[where[0]]
            return ()

        sum_in_threads(part, self.rows.blocks)
        self.rows.n_products += 1
        return sparse.csr_array((values, D.indices, D.indptr), shape=D.shape)

    def excess(self) -> Array:
        return np.asarray(self.sums - self.rows.degrees)

    def gradient(self) -> tuple[Array, Array]:
        return self.rows.features.centred(self._product, self.excess())

    def hessian_times(self, W: Array, b: Array) -> tuple[Array, Array]:
        features, precision = self.rows.features, self.rows.precision
        multiply = features.multiplier(W, b, exact=True, order="C", dtype=precision)

        def part(some: slice) -> tuple[Any, ...]:
            X = features.block(some).astype(precision, copy=False)
            P, U = self._predictions(some, X), multiply(X)
            U -= np.einsum("ij,ij->i", P, U)[:, None]
            U *= P
            U = features.weigh(U, some)
            return features.block_transpose_times(X, U), U.sum(axis=0, dtype=np.float64)

        product, sums = sum_in_threads(part, self.rows.blocks)
        self.rows.n_products += 2
        return features.centred(product, sums)

    def _predictions(self, some: slice, X: Any) -> Array:
        """Of a block; kept for the next direction if those of all rows take little memory."""
        P = self._kept.get(some.start)
        if P is None:
            features, precision = self.rows.features, self.rows.precision
            P = features.multiplier(self.W, self.b, exact=True, order="C", dtype=precision)(X)
            P -= P.max(axis=1, keepdims=True)
            _softmax(P)
            if P.itemsize * self.rows.D.shape[0] * P.shape[1] <= _MOST_KEPT:
                self._kept[some.start] = P
        return P

    def mean_curvature(self) -> Array:
        """Its diagonal alone, and of that what is linear in the predictions: of many labels each has little."""
        return np.asarray(self.sums / self.rows.n)

    def scatters(self) -> Iterable[Array]:
        raise NotImplementedError("one block for each of many labels is too much")

    def along(self, W: Array, b: Array) -> Callable[[float], _SparseRowsAt]:
        return lambda t: self.rows.at(self.W + t * W, self.b + t * b)

    def shifted(self, b: Array) -> _SparseRowsAt:
        return self.rows.at(self.W, self.b + b)


def _places(D: sparse.csr_array) -> tuple[Any, Any]:
    """Rows and columns of the entries of D."""
    return np.repeat(np.arange(D.shape[0]), np.diff(D.indptr)), D.indices


def _softmax(Z: Array) -> Array:
    """Make rows of logits, none of them positive, predictions; returns what they were divided by."""
    np.exp(Z, out=Z)
    totals = Z.sum(axis=1, dtype=np.float64)
    Z /= totals[:, None].astype(Z.dtype, copy=False)
    return np.asarray(totals)


def balanced(rows: _SparseRowsAt, n: float, l2: float, goal: float) -> tuple[_SparseRowsAt, Array, float]:
    """Rows whose predictions have nearly the column sums of D, what was added to b, and what "nearly" costs the bound.

    Each sweep multiplies the predictions of a label by the factor that its sum lacks. What excess is left, at most a
    part e of a label's predictions, is mixed away: ``Q = (1 - e) P + e E``, E being the same distribution in every row,
    has the column sums of D and, X being centred, ``X'Q = (1 - e) X'P``. Its entropy is at least ``(1 - e)`` that of P.
    """
    shift = np.zeros_like(rows.b)
    present = rows.rows.degrees > 0
    for _ in range(_MAX_SWEEPS):
        part = float(np.max(rows.excess()[present] / rows.sums[present]))
        if part <= _BALANCED * goal / n:
            break
        step = np.zeros_like(shift)
        step[present] = np.log(rows.rows.degrees[present] / rows.sums[present])
        rows, shift = rows.shifted(step), shift + step
    part = min(max(part, 0.0), 1.0)
    gW, gb = rows.gradient()
    entropy = rows.loss - float(np.vdot(gW, rows.W)) - float(gb @ rows.b)
    mixed = (1.0 - part) * gW - part * rows.rows.pull
    change = float(np.vdot(mixed, mixed)) - float(np.vdot(gW, gW))
    return rows, shift, max(part * entropy + change / (4.0 * l2), 0.0)
