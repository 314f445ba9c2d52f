"""Training rows of a softmax regression with many labels, few of them positive: predictions are made block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.resources import sum_in_threads
from ldlearn.core.simplex import Array
from ldlearn.solvers.features import Features, reciprocal

_BALANCED = 0.01  # largest excess of a label's predictions that is left, compared with what a row may lack
_MAX_SWEEPS = 30
_MOST_FACTOR = 1e6  # by which one call may change the predictions of a label; the next goes on from there
_LEAST_SUM = 1e-290  # in place of that of a label whose predictions are all 0; what is divided by it stays finite
_BLOCK_ENTRIES = 2**20  # of predictions: so many that adding up the gradients of blocks costs little beside
_MOST_KEPT = 2**30  # bytes of predictions that are kept while a Newton system is solved: half of what the result takes


class LabelCurvatures(NamedTuple):
    """Second derivatives of each label alone, as far as they are linear in predictions: of many each has little."""

    shares: Array  # (c,): means of the predictions
    means: Array  # (m, c): of the centred features where the label is predicted; 0 without an intercept


class SparseObjective:
    """Features, and degrees that are stored for positive labels only.

    Predictions are made from the weights, block by block, in single precision until a result is to be certified:
    products with X take most of the time, and those of single precision half as much of it.

    Parameters
    ----------
    features : Features
    D : csr_array of shape (n, c)
        Rows sum to one; they count as often as the weights of the features say. Every positive label is stored.
    """

    def __init__(self, features: Features, D: sparse.csr_array) -> None:
        self.features = features
        weights = features.sample_weight
        self.D = D if weights is None else sparse.csr_array(D.multiply(weights[:, None]))
        self.degrees = np.asarray(self.D.sum(axis=0), dtype=np.float64).ravel()
        self.n = features.total
        self.n_products = 0
        self.sampled = False  # of a rare label a sample knows nothing
        # Centred columns can do with single precision, columns far from zero or of extreme scales cannot.
        single = features.fit_intercept and features.fit_single_precision()
        self.precision: Any = np.float32 if single else np.float64
        rows = max(1, _BLOCK_ENTRIES // D.shape[1])
        self.blocks = [slice(k, min(k + rows, D.shape[0])) for k in range(0, D.shape[0], rows)]
        self.keeps_predictions = np.dtype(self.precision).itemsize * D.shape[0] * D.shape[1] <= _MOST_KEPT
        self._known: _SparseObjectiveAt | None = None

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

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> _SparseObjectiveAt:
        """The rows at weights; ``exact`` asks for float64 throughout."""
        exact = exact or self.precision == np.float64
        known = self._known
        if known is not None and not (np.array_equal(known.W, W) and np.array_equal(known.b, b)):
            known = None
        if known is None or exact > known.exact:
            kept = {} if known is None else known.kept
            known = self._known = _SparseObjectiveAt(self, W, b, exact, kept)
        return known


class _SparseObjectiveAt:
    """Loss and gradient from one pass over the rows."""

    def __init__(self, rows: SparseObjective, W: Array, b: Array, exact: bool, kept: dict[int, Array]) -> None:
        self.rows, self.W, self.b, self.exact = rows, W, b, exact
        self.kept = kept  # predictions of blocks in the precision of the rows, by their first row
        D, features = rows.D, rows.features
        log_predictions = np.empty(D.nnz)

        def part(some: slice) -> tuple[Any, ...]:
            X = self._block(some, exact)
            Z = self._logits(X, exact)
            entries = slice(D.indptr[some.start], D.indptr[some.stop])
            places = np.repeat(np.arange(len(Z)), np.diff(D.indptr[some.start : some.stop + 1])), D.indices[entries]
            chosen = Z[places]
            log_predictions[entries] = chosen - np.log(_softmax(Z))[places[0]]
            if rows.keeps_predictions and Z.dtype == rows.precision:
                self.kept[some.start] = Z
            P = features.weigh(Z, some)
            return features.block_transpose_times(X, P), P.sum(axis=0).astype(np.float64)

        self._product, self.sums = sum_in_threads(part, rows.blocks)
        # At the stored labels; that is all the loss needs, and all the D-step.
        self.logits = sparse.csr_array((log_predictions, D.indices, D.indptr), shape=D.shape)
        self.loss = -float(D.data @ log_predictions)
        rows.n_products += 2

    def _block(self, some: slice, exact: bool) -> Any:
        return self.rows.features.block(some).astype(np.float64 if exact else self.rows.precision, copy=False)

    def _logits(self, X: Any, exact: bool) -> Array:
        """Of a block of X, the largest of each row being 0."""
        dtype = np.float64 if exact else self.rows.precision
        Z = self.rows.features.multiplier(self.W, self.b, exact=True, order="C", dtype=dtype)(X)
        Z -= Z.max(axis=1, keepdims=True)
        return Z

    def excess(self) -> Array:
        return np.asarray(self.sums - self.rows.degrees)

    def gradient(self) -> tuple[Array, Array]:
        predicted, _ = self.rows.features.centred(self._product, self.sums)
        excess = self.excess()
        return predicted - self.rows.pull, excess if self.rows.features.fit_intercept else np.zeros_like(excess)

    def hessian_times(self, W: Array, b: Array) -> tuple[Array, Array]:
        features = self.rows.features
        multiply = features.multiplier(W, b, exact=True, order="C", dtype=self.rows.precision)

        def part(some: slice) -> tuple[Any, ...]:
            X = self._block(some, exact=False)
            P, U = self._predictions(some, X), multiply(X)
            U -= np.einsum("ij,ij->i", P, U)[:, None]
            U *= P
            U = features.weigh(U, some)
            return features.block_transpose_times(X, U), U.sum(axis=0).astype(np.float64)

        product, sums = sum_in_threads(part, self.rows.blocks)
        self.rows.n_products += 2
        return features.centred(product, sums)

    def _predictions(self, some: slice, X: Any = None) -> Array:
        """Of a block; kept for the next time if those of all rows take little memory."""
        P = self.kept.get(some.start)
        if P is None:
            P = self._logits(self._block(some, exact=False) if X is None else X, exact=False)
            _softmax(P)
            if self.rows.keeps_predictions:
                self.kept[some.start] = P
        return P

    def mean_curvature(self) -> LabelCurvatures:
        predicted, _ = self.rows.features.centred(self._product, self.sums)
        means = predicted * reciprocal(self.sums) * self.rows.features.fit_intercept
        return LabelCurvatures(self.sums / self.rows.n, means)

    def scatters(self) -> Iterable[Array]:
        raise NotImplementedError("one block for each of many labels is too much")

    def along(self, W: Array, b: Array) -> Callable[[float], _SparseObjectiveAt]:
        self.kept.clear()  # rarely needed once a direction is found, and as large as what is made next
        return lambda t: self.rows.at(self.W + t * W, self.b + t * b, exact=self.exact)

    def shifted(self, b: Array) -> _SparseObjectiveAt:
        return self.rows.at(self.W, self.b + b, exact=self.exact)

    def balancing_shift(self, accuracy: float) -> Array:
        """What to add to b so that predictions get the column sums of D.

        Sinkhorn's method: each sweep multiplies the predictions of a label by the factor that its sum lacks. That takes
        no exponentials and no product with X; single precision does, since it is the change of the sums that is
        computed in it.
        """
        present = self.rows.degrees > 0
        factors = np.ones_like(self.sums)
        for _ in range(_MAX_SWEEPS):
            before, sums = factors, self.sums - self._lost_to_others(factors)
            lacking = self.rows.degrees / np.maximum(sums, _LEAST_SUM)
            # Single precision cannot write the factor of a label that is hardly predicted; the next call does the rest.
            factors = np.where(present, np.clip(lacking, 1.0 / _MOST_FACTOR, _MOST_FACTOR), 1.0)
            if np.abs(factors / before - 1.0).max() <= accuracy:
                break
        return np.asarray(np.log(factors))

    def _lost_to_others(self, factors: Array) -> Array:
        """What the sums of a label lose, before its own factor, once rows are normalised again."""
        weights, change = self.rows.features.sample_weight, (factors - 1.0).astype(self.rows.precision)

        def part(some: slice) -> tuple[Any, ...]:
            P = self._predictions(some)
            added = P @ change
            lost = added / (1.0 + added)
            if weights is not None:
                lost *= weights[some].astype(P.dtype)
            return ((lost @ P).astype(np.float64),)

        (sums,) = sum_in_threads(part, self.rows.blocks)
        return np.asarray(sums)


def _softmax(Z: Array) -> Array:
    """Make rows of logits, none of them positive, predictions; returns what they were divided by."""
    np.exp(Z, out=Z)
    totals = Z.sum(axis=1)
    Z /= totals[:, None]
    return np.asarray(totals)


def balanced(rows: _SparseObjectiveAt, n: float, l2: float, goal: float) -> tuple[_SparseObjectiveAt, Array, float]:
    """Rows whose predictions have nearly the column sums of D, what was added to b, and what "nearly" costs the bound.

    What excess is left, at most a part e of a label's predictions, is mixed away: ``Q = (1 - e) P + e E``, E being the
    same distribution in every row, has the column sums of D and, X being centred, ``X'Q = (1 - e) X'P``. Its entropy is
    at least ``(1 - e)`` that of P.
    """
    shift = np.zeros_like(rows.b)
    present = rows.rows.degrees > 0
    for _ in range(_MAX_SWEEPS):
        part = float(np.max(rows.excess()[present] / np.maximum(rows.sums[present], _LEAST_SUM)))
        if part <= _BALANCED * goal / n:
            break
        step = rows.balancing_shift(0.1 * _BALANCED * goal / n)
        rows, shift = rows.shifted(step), shift + step
    part = min(max(part, 0.0), 1.0)
    gW, gb = rows.gradient()
    entropy = rows.loss - float(np.vdot(gW, rows.W)) - float(gb @ rows.b)
    mixed = (1.0 - part) * gW - part * rows.rows.pull
    change = float(np.vdot(mixed, mixed)) - float(np.vdot(gW, gW))
    # The gap has a term <gb, b>, which is 0 only in balance; gb sums to 0, so that the mean of b takes no digits away.
    return rows, shift, part * entropy + change / (4.0 * l2) + float(gb @ (rows.b - rows.b.mean()))
