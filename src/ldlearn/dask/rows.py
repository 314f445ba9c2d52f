"""The objective of the W-step on rows in blocks on a cluster: each evaluation is one round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ldlearn.core.scaling import column_sums, dense_offsets, deviation_sums, refine_moments
from ldlearn.core.simplex import Array, Indices
from ldlearn.dask.training import LazyRows, TrainingBlocks
from ldlearn.solvers.centred_matrix import CentredMatrix, ColumnStatistics
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.softmax_objective import LocalObjective, ObjectiveAt, SoftmaxObjective

_MAX_LOCAL_ROWS = 10_000  # fetched at once


class BlockMatrix(CentredMatrix):
    """A centred matrix whose rows lie in blocks on a cluster."""

    in_memory = False

    def __init__(
        self,
        training: TrainingBlocks,
        X: Sequence[Any],
        sums: Any,
        fit_intercept: bool,
        weighted: bool = True,
    ) -> None:
        """``sums`` are the unweighted column sums; moments use the sample weights if weighted."""
        self.training = training
        self.blocks = X
        n = training.n
        total = float(n)
        weighted = weighted and training.has_weights
        if weighted:
            total = training.total
            (sums,) = self.sum_blocks(lambda X, rows: [column_sums(X, rows.sample_weight)[1]])

        def deviations(X: Array, rows: Any, mean: Array) -> Sequence[Array]:
            return deviation_sums(X, mean, rows.sample_weight if weighted else None)

        away, squares = self.sum_blocks(deviations, sums / total)
        mean, squares = refine_moments(total, sums / total, away, squares, training.dtype)
        # Offsets need the squares of n rows; these are weighted.
        offsets = dense_offsets(n, mean, squares * (n / total))
        columns = ColumnStatistics.from_moments(mean, squares, offsets, fit_intercept, total)
        super().__init__(LazyRows(training, X, len(mean)), columns=columns)
        self.total = total

    def sum_blocks(self, function: Any, common: Any = None) -> list[Any]:
        """The sums over blocks of ``function(X, targets, common)``, in one round."""
        runner = self.training.runner
        return runner.map_sum(function, self.blocks, self.training.targets, common=common)

    @cached_property
    def scatter_matrix(self) -> Array:
        """See `CentredMatrix.scatter_matrix`."""
        return self.sum_blocks(_block_scatter, self.columns)[0]

    def selection_rows(self, needed: bool) -> tuple[Any, Any]:
        """Features and labels for model selection; many rows are fetched when they are taken."""
        if not needed or self.n > _MAX_LOCAL_ROWS:
            return self, self.training
        X, targets = self.training.fetch_rows(np.arange(self.n), self.blocks)
        features = CentredMatrix(X, self.fit_intercept, targets.sample_weight)
        return reduce_to_row_space(features), targets

    def take_rows(self, rows: Indices) -> tuple[Any, Array | None]:
        """See `CentredMatrix.take_rows`."""
        X, targets = self.training.fetch_rows(rows, self.blocks)
        return X, targets.sample_weight

    def sampling_keys(self) -> Array:
        """See `ColumnStatistics.sampling_keys`."""
        keys = self.training.runner.map_compute(
            lambda X, columns: columns.sampling_keys(X), self.blocks, common=self.columns
        )
        return np.concatenate(keys)


class Coefficients(NamedTuple):
    """The message to the blocks in a round of the W-step."""

    columns: ColumnStatistics
    W: Array
    b: Array
    exact: bool = True  # compute in float64 even if the features are float32


class BlockObjective(SoftmaxObjective):
    """The objective of softmax regression on rows in blocks.

    Predictions are not stored but recomputed from the coefficients. That costs one more product
    with a block that has to be read anyway, and leaves no state that could be lost with a worker.
    """

    def __init__(self, features: BlockMatrix, degrees: Sequence[Any]) -> None:
        super().__init__(features)
        self.features: BlockMatrix = features
        self.degrees = degrees

    def sum_blocks(self, function: Any, common: Any = None) -> list[Any]:
        """The sums over blocks of ``function(X, degrees, common)``, in one round."""
        runner = self.features.training.runner
        return runner.map_sum(function, self.features.blocks, self.degrees, common=common)

    @property
    def degree_sums(self) -> Array:  # type: ignore[override]
        """Column sums of D, in one round."""
        (sums,) = self.sum_blocks(lambda X, D: [column_sums(D.values, D.sample_weight)[1]])
        return sums

    def at(
        self, W: Array, b: Array, *, logits: Any = None, exact: bool = False
    ) -> _BlockObjectiveAt:
        """The objective at coefficients, in one round; ``logits`` are not needed."""
        exact = exact or self.features.X.dtype == np.float64
        return _BlockObjectiveAt(self, Coefficients(self.features.columns, W, b, exact))


class _BlockObjectiveAt(ObjectiveAt):
    """Loss, gradient and curvature at given coefficients, from one round; see `ObjectiveAt`."""

    logits = None

    def __init__(self, objective: BlockObjective, coefficients: Coefficients) -> None:
        self.objective = objective
        self.coefficients = coefficients
        self.exact = coefficients.exact
        self.loss, gW, gb, self._excess, self._curvature = self._sum_blocks(_softmax_derivatives)
        self._gradient = gW, gb

    def prediction_excess(self) -> Array:
        return self._excess

    def gradient(self) -> tuple[Array, Array]:
        return self._gradient

    def mean_curvature(self) -> Array:
        return self._curvature / self.objective.n

    def hessian_product(self, W: Array, b: Array) -> tuple[Array, Array]:
        hW, hb = self._sum_blocks(lambda at: at.hessian_product(W, b))
        return hW, hb

    def label_scatters(self) -> Iterable[Array]:
        return self._sum_blocks(lambda at: list(at.label_scatters()))

    def _sum_blocks(self, function: Any) -> list[Any]:
        """The sums over blocks of ``function(objective of a block at these coefficients)``."""
        return self.objective.sum_blocks(_evaluate_softmax, (self.coefficients, function))

    def along(self, W: Array | None, b: Array) -> Callable[[float], ObjectiveAt]:
        _, at_W, at_b, exact = self.coefficients
        change = 0.0 if W is None else W
        return lambda t: self.objective.at(at_W + t * change, at_b + t * b, exact=exact)


# Functions of a block. ``degrees`` has the attributes ``values`` and ``sample_weight``.


def _block_scatter(X: Array, rows: Any, columns: ColumnStatistics) -> list[Array]:
    return [CentredMatrix(X, sample_weight=rows.sample_weight, columns=columns).scatter_matrix]


def _evaluate_softmax(X: Array, degrees: Any, common: tuple[Coefficients, Any]) -> list[Any]:
    (columns, W, b, exact), function = common
    features = CentredMatrix(X, sample_weight=degrees.sample_weight, columns=columns)
    return list(function(LocalObjective(features, degrees.values).at(W, b, exact=exact)))


def _softmax_derivatives(at: Any) -> list[Any]:
    # Back from a mean to a sum: means of blocks of different lengths do not add up.
    return [at.loss, *at.gradient(), at.prediction_excess(), at.objective.n * at.mean_curvature()]
