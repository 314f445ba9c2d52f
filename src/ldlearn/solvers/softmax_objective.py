"""The objective of a softmax regression on rows in memory: computed by blocks that stay in cache, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ldlearn.core.resources import in_threads, sum_in_threads
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

    def mean_degrees(self) -> Array:
        """Column means of D."""
        return self.degrees / self.n

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> _LocalObjectiveAt:
        """The objective at coefficients; ``exact`` demands float64 throughout."""
        exact = exact or self.features.is_exact
        Z = self.logits(W, b, exact) if logits is None else np.asarray(logits, dtype=_precision(exact), order="F")
        return _LocalObjectiveAt(self, Z, exact)

    def logits(self, W: Array, b: Array, exact: bool) -> Array:
        """Logits of all rows."""
        Z = np.empty(self.D.shape, dtype=_precision(exact), order="F")
        multiply = self.features.multiplier(W, b, exact=exact, dtype=Z.dtype)
        in_threads(lambda rows: multiply(self.features.block(rows, exact), out=Z[rows]), self.blocks)
        self.n_products += 1
        return Z


class _LocalObjectiveAt:
    """See `ObjectiveAt`."""

    def __init__(self, objective: LocalObjective, Z: Array, exact: bool) -> None:
        self.objective, self.Z, self.exact = objective, Z, exact
        self.P = np.empty_like(Z)
        self.loss, self.sums = sum_in_threads(self._predict, objective.blocks)  # sums of the predictions

    def _predict(self, rows: slice) -> tuple[float, Array]:
        """Fill some rows of P; returns their loss and the sums of their predictions, in float64."""
        Z, P, features = self.Z[rows], self.P[rows], self.objective.features
        np.subtract(Z, Z.max(axis=1, keepdims=True), out=P)
        linear = float(np.einsum("ij,ij->i", self.objective.D[rows], P).sum(dtype=np.float64))
        np.exp(P, out=P)
        totals = P.sum(axis=1)
        P /= totals[:, None]
        normalisers = features.weigh(np.log(totals)[:, None], rows).sum(dtype=np.float64)
        return float(normalisers) - linear, np.asarray(features.weigh(P, rows).sum(axis=0), dtype=np.float64)

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
        features, P = self.objective.features, self.P
        multiply = features.multiplier(W, b, dtype=P.dtype)

        def part(rows: slice) -> tuple[Any, ...]:
            X, p = features.block(rows), P[rows]
            U = multiply(X)
            U *= p
            U -= p * U.sum(axis=1, keepdims=True)  # (diag(p) - p p') z
            U = features.weigh(U, rows)
            return features.block_transpose_times(X, U), U.sum(axis=0).astype(np.float64)

        product, sums = sum_in_threads(part, self.objective.blocks)
        self.objective.n_products += 2
        return features.centred(product, sums)

    def mean_curvature(self) -> Array:
        outer = self.P.T @ self.objective.features.weigh(self.P)
        return np.asarray((np.diag(self.sums) - outer) / self.objective.n)

    def scatters(self) -> Iterable[Array]:
        weigh, scatter = self.objective.features.weigh, self.objective.features.weighted_scatter
        # Weights rounded to single precision, summed in two ways, would make a nearly singular matrix indefinite.
        P = self.P.astype(np.float64, copy=False)
        return (scatter(w) for w in weigh(P * (1.0 - P)).T)

    def along(self, W: Array | None, b: Array) -> Callable[[float], _LocalObjectiveAt]:
        dZ = np.broadcast_to(b, self.Z.shape) if W is None else self.objective.logits(W, b, self.exact)

        def at(t: float) -> _LocalObjectiveAt:
            Z = np.empty_like(self.Z)

            def fill(rows: slice) -> None:
                np.multiply(dZ[rows], t, out=Z[rows], casting="same_kind")
                Z[rows] += self.Z[rows]

            in_threads(fill, self.objective.blocks)
            return _LocalObjectiveAt(self.objective, Z, self.exact)

        return at


def _precision(exact: bool) -> Any:
    return np.float64 if exact else np.float32
