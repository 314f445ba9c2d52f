"""The objective of a softmax regression on rows in memory: computed by blocks that stay in cache, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ldlearn.core.resources import sum_in_threads
from ldlearn.core.simplex import Array
from ldlearn.solvers.features import Features


class LocalObjective:
    """The divergence of degrees from predictions, as a function of coefficients.

    Parameters
    ----------
    features : Features
    D : ndarray of shape (n_samples, n_labels)
        Rows sum to one; they are weighted by the sample weights of the features.
    """

    def __init__(self, features: Features, D: Array) -> None:
        self.features = features
        self.D = np.asfortranarray(features.weigh(D))  # a row with weight w sums to w
        self.degrees = np.asarray(self.D.sum(axis=0, dtype=np.float64))
        self.n = features.total
        self.n_products = 0
        self.blocks = features.row_blocks(D.shape[1])
        self.sample = features.sample()
        self.sampled = self.sample is not None  # second derivatives are taken from it
        self._latest: _LocalObjectiveAt | None = None

    def mean_degrees(self) -> Array:
        """Column means of D."""
        return self.degrees / self.n

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> _LocalObjectiveAt:
        """The objective at coefficients, whose logits may be given; ``exact`` demands float64 throughout."""
        exact = exact or self.features.is_exact
        latest = self._latest
        if latest is not None and latest.exact >= exact and np.array_equal(latest.W, W) and np.array_equal(latest.b, b):
            return latest
        if logits is None and not W.any():
            logits = np.tile(b, (len(self.D), 1))
        if logits is None:
            logits = self.times(W, b, exact)
        return self.evaluate(W, b, np.asarray(logits, dtype=_precision(exact), order="F"), exact)

    def evaluate(
        self, W: Array, b: Array, Z: Array, exact: bool, step: tuple[float, Array] | None = None
    ) -> _LocalObjectiveAt:
        """The objective at coefficients with logits Z, or Z plus a multiple of a change."""
        logits, P = (np.empty_like(Z) if step else Z), np.empty_like(Z)
        features, D = self.features, self.D

        def part(rows: slice) -> tuple[Any, ...]:
            if step is not None:
                np.multiply(step[1][rows], step[0], out=logits[rows])
                np.add(logits[rows], Z[rows], out=logits[rows])
            totals, linear = _softmax(logits[rows], D[rows], P[rows])
            return _total(features, np.log(totals), rows) - linear, _column_sums(features, P[rows], rows)

        loss, sums = sum_in_threads(part, self.blocks)
        self._latest = _LocalObjectiveAt(self, W, b, logits, P, loss, sums, exact)
        return self._latest

    def times(self, W: Array, b: Array, exact: bool) -> Array:
        """Logits ``(X - mean) W + b``."""
        Z = np.empty(self.D.shape, dtype=_precision(exact), order="F")
        features = self.features
        multiply = features.multiplier(W, b, exact=exact, dtype=Z.dtype)

        def part(rows: slice) -> tuple[Any, ...]:
            multiply(features.block(rows, exact), out=Z[rows])
            return ()

        sum_in_threads(part, self.blocks)
        self.n_products += 1
        return Z


class _LocalObjectiveAt:
    """See `ObjectiveAt`."""

    def __init__(
        self, objective: LocalObjective, W: Array, b: Array, Z: Array, P: Array, loss: float, sums: Array, exact: bool
    ) -> None:
        self.objective, self.W, self.b, self.Z, self.P, self.loss = objective, W, b, Z, P, loss
        self.sums = sums  # of the predictions
        self.exact = exact
        self._sampled: Array | None = None  # predictions of the sample

    @property
    def logits(self) -> Array:
        return np.asarray(self.Z, dtype=np.float64)

    def excess(self) -> Array:
        return np.asarray(self.sums - self.objective.degrees)

    def gradient(self) -> tuple[Array, Array]:
        features, D = self.objective.features, self.objective.D

        def part(rows: slice) -> tuple[Any, ...]:
            R = features.weigh(self.P[rows], rows) - D[rows]
            return (features.block_transpose_times(features.block(rows, self.exact), R),)

        (product,) = sum_in_threads(part, self.objective.blocks)
        self.objective.n_products += 1
        return features.centred(product, self.excess())

    def hessian_times(self, W: Array, b: Array) -> tuple[Array, Array]:
        sample, features, P = self.objective.sample, self.objective.features, self.P
        blocks = self.objective.blocks
        if self.objective.sampled and sample is not None:
            features = sample.features
            blocks = features.row_blocks(P.shape[1])
            if self._sampled is None:
                self._sampled = np.asfortranarray(P[sample.rows], dtype=np.float32)
            P = self._sampled
        multiply = features.multiplier(W, b, dtype=P.dtype)

        def part(rows: slice) -> tuple[Any, ...]:
            X, p = features.block(rows), P[rows]
            U = multiply(X)
            U *= p
            U -= p * U.sum(axis=1, keepdims=True)  # (diag(p) - p p') z
            U = features.weigh(U, rows)
            return features.block_transpose_times(X, U), U.sum(axis=0).astype(np.float64)

        product, sums = sum_in_threads(part, blocks)
        self.objective.n_products += 2 * (not self.objective.sampled)
        factor = self.objective.n / features.total
        return features.centred(factor * product, factor * sums)

    def mean_curvature(self) -> Array:
        outer = self.P.T @ self.objective.features.weigh(self.P)
        return np.asarray((np.diag(self.sums) - outer) / self.objective.n)

    def scatters(self) -> Iterable[Array]:
        weigh, scatter = self.objective.features.weigh, self.objective.features.weighted_scatter
        # Weights rounded to single precision, summed in two ways, would make a nearly singular matrix indefinite.
        P = self.P.astype(np.float64, copy=False)
        return (scatter(w) for w in weigh(P * (1.0 - P)).T)

    def along(self, W: Array, b: Array) -> Callable[[float], _LocalObjectiveAt]:
        dZ = self.objective.times(W, b, self.exact)
        return lambda t: self.objective.evaluate(self.W + t * W, self.b + t * b, self.Z, self.exact, (t, dZ))

    def shifted(self, b: Array) -> _LocalObjectiveAt:
        return self.objective.evaluate(self.W, self.b + b, self.Z + b.astype(self.Z.dtype), self.exact)


def _precision(exact: bool) -> Any:
    return np.float64 if exact else np.float32


def _softmax(Z: Array, D: Array, P: Array) -> tuple[Array, float]:
    """Fill P with ``softmax(Z)``; returns the normalisers and ``<D, Z>``, for rows minus their maximum."""
    np.subtract(Z, Z.max(axis=1, keepdims=True), out=P)
    linear = float(np.einsum("ij,ij->i", D, P).sum(dtype=np.float64))
    np.exp(P, out=P)
    totals = P.sum(axis=1)
    P /= totals[:, None]
    return totals, linear


# Weighted sums over the rows of a block are in float64 whatever the precision of the block.


def _total(features: Features, values: Array, rows: slice) -> float:
    weight = features.sample_weight
    return float(values.sum(dtype=np.float64) if weight is None else weight[rows] @ values)


def _column_sums(features: Features, A: Array, rows: slice) -> Array:
    return np.asarray(features.weigh(A, rows).sum(axis=0), dtype=np.float64)
