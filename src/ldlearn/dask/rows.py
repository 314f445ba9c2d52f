"""The objective of the W-step on rows in blocks on a cluster: each evaluation is one round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ldlearn.core.scaling import column_sums, dense_offsets, deviation_sums, refine_moments
from ldlearn.core.simplex import Array, Indices
from ldlearn.dask.training import BlockTargets, LazyRows, TrainingBlocks
from ldlearn.joint.label_model import project_rows, third_moments
from ldlearn.solvers.features import CentredColumns, Features, reduce_to_row_space
from ldlearn.solvers.softmax_objective import LocalObjective
from ldlearn.solvers.softmax_regression import ObjectiveAt

_MAX_LOCAL_ROWS = 10_000  # fetched at once


class BlockColumns(CentredColumns):
    """Statistics of the columns of features in blocks."""

    X: Any  # only some rows are ever fetched, of features and of sample weights
    sample_weight: Any = None

    def __init__(
        self, training: TrainingBlocks, X: Sequence[Any], sums: Any, fit_intercept: bool, weighted: bool = True
    ) -> None:
        """``sums`` are the unweighted column sums; with ``weighted``, the moments use the sample weights."""
        self.training, self.blocks, self._runner = training, X, training.runner
        n, total, weighted = training.n, float(training.n), weighted and training.has_weights
        if weighted:
            total, (sums,) = training.total, self._runner.map_sum(_weighted_sums, X, training.targets)
        away, squares = self._runner.map_sum(_deviations, X, training.targets, common=(sums / total, weighted))
        mean, squares = refine_moments(total, sums / total, away, squares, training.dtype)
        # Offsets need the squares of n rows; these are weighted.
        super().__init__(n, mean, squares, dense_offsets(n, mean, squares * (n / total)), fit_intercept, total=total)

    def scatter_matrix(self) -> Array:
        """``(X - mean)' (X - mean)``."""
        (scatter,) = self._runner.map_sum(_scatter, self.blocks, self.training.targets, common=self.message())
        return np.asarray(scatter)

    def selection_rows(self) -> tuple[Any, Any, Any]:
        """Features, labels and mask of observed labels for model selection; fetched lazily if rows are many."""
        if self.n <= _MAX_LOCAL_ROWS:
            X, targets = self.training.fetch_rows(np.arange(self.n), self.blocks)
            return reduce_to_row_space(Features(X, self.fit_intercept, targets.weights)), targets.T, targets.observed
        training, n_labels = self.training, self.training.n_labels
        self.X = LazyRows(training, self.blocks, self.m)
        self.sample_weight = LazyRows(training, self.blocks, 1, "weights") if training.has_weights else None
        observed = LazyRows(training, self.blocks, n_labels, "observed") if training.has_unknown else None
        return self, LazyRows(training, self.blocks, n_labels, "T"), observed

    def take_rows(self, rows: Indices) -> tuple[Any, Array | None]:
        """See `CentredColumns.take_rows`."""
        X, targets = self.training.fetch_rows(rows, self.blocks)
        return X, targets.weights

    def third_moments(self) -> Array:
        """As `validation.third_moments`."""
        targets, common = self.training.targets, self.message()
        (moments,) = self._runner.map_sum(_third_moments, self.blocks, targets, common=common)
        return np.asarray(moments)

    def project_rows(self, direction: Array) -> Array:
        """As `validation.project_rows`."""
        return np.concatenate(self._runner.map_compute(_project, self.blocks, common=(self.message(), direction)))

    def message(self) -> CentredColumns:
        """The statistics that are sent to the blocks."""
        columns = self.mean, self.spread, self.offsets, self.fit_intercept
        return CentredColumns(self.n, *columns, total=self.total)


class Coefficients(NamedTuple):
    """The message to the blocks in a round of the W-step."""

    columns: CentredColumns
    W: Array
    b: Array
    exact: bool = True  # compute in float64 even if the features are float32


class BlockObjective:
    """The objective of softmax regression on rows in blocks; see `Objective`.

    Predictions are not stored but recomputed from the coefficients. That costs one more product with a block that has
    to be read anyway, and leaves no state that could be lost with a worker.
    """

    def __init__(self, columns: BlockColumns, degrees: Sequence[Any]) -> None:
        self.runner, self.X = columns.training.runner, columns.blocks
        self.features, self.degrees = columns, degrees
        self.n = columns.total
        self.n_products = 0  # two for each round

    def mean_degrees(self) -> Array:
        """Column means of D."""
        (sums,) = self.runner.map_sum(_column_sums, self.degrees)
        return np.asarray(sums / self.n)

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> BlockObjectiveAt:
        """The objective at coefficients; the latest one is cached."""
        exact = exact or self.features.training.dtype == np.float64
        return BlockObjectiveAt(self, Coefficients(self.features.message(), W, b, exact))


class BlockObjectiveAt:
    """Loss, gradient and curvature at given coefficients, from one round; see `ObjectiveAt`."""

    logits = None

    def __init__(self, rows: BlockObjective, coefficients: Coefficients) -> None:
        self.rows, self.coefficients, self.exact = rows, coefficients, coefficients.exact
        found = rows.runner.map_sum(_sums_at, rows.X, rows.degrees, common=coefficients)
        self.loss, self._gW, self._gb, self._excess, self._curvature = found

    def excess(self) -> Array:
        """Column sums of ``P - D``."""
        return np.asarray(self._excess)

    def gradient(self) -> tuple[Array, Array]:
        """Gradient of the loss in W and b."""
        return self._gW, self._gb

    def mean_curvature(self) -> Array:
        """The mean over rows of ``diag(p) - p p'``."""
        return np.asarray(self._curvature / self.rows.n)

    def hessian_times(self, W: Array, b: Array) -> tuple[Array, Array]:
        """The second derivative of the loss times a direction."""
        hW, hb = self.rows.runner.map_sum(
            _hessian_times, self.rows.X, self.rows.degrees, common=(self.coefficients, W, b)
        )
        return hW, hb

    def scatters(self) -> Iterable[Array]:
        """``Z' diag(p_j (1 - p_j)) Z`` for each label j."""
        return self.rows.runner.map_sum(_scatters, self.rows.X, self.rows.degrees, common=self.coefficients)

    def along(self, W: Array | None, b: Array) -> Callable[[float], ObjectiveAt]:
        """The objective along a direction."""
        at = self.coefficients
        return lambda t: self.rows.at(at.W if W is None else at.W + t * W, at.b + t * b, exact=at.exact)


# Functions of a block. ``degrees`` has the attributes T (degrees) and weights (sample weights or None).


def _weighted_sums(X: Array, targets: BlockTargets) -> Sequence[Any]:
    return [column_sums(X, targets.weights)[1]]


def _deviations(X: Array, targets: BlockTargets, common: tuple[Array, bool]) -> Sequence[Any]:
    mean, weighted = common
    return deviation_sums(X, mean, targets.weights if weighted else None)


def _scatter(X: Array, targets: BlockTargets, columns: CentredColumns) -> Sequence[Any]:
    return [Features(X, sample_weight=targets.weights, block_of=columns).scatter_matrix()]


def _third_moments(X: Array, targets: BlockTargets, columns: CentredColumns) -> Sequence[Any]:
    return [third_moments(X, columns, targets.weights)]


def _project(X: Array, common: tuple[CentredColumns, Array]) -> Array:
    return project_rows(X, *common)


def _column_sums(degrees: Any) -> Sequence[Any]:
    return [column_sums(degrees.T, degrees.weights)[1]]


def _sums_at(X: Array, degrees: Any, coefficients: Coefficients) -> Sequence[Any]:
    at = _at(X, degrees, coefficients)
    # Back from a mean to a sum: means of blocks of different lengths do not add up.
    return [at.loss, *at.gradient(), at.excess(), at.objective.n * at.mean_curvature()]


def _hessian_times(X: Array, degrees: Any, common: tuple[Coefficients, Array, Array]) -> Sequence[Any]:
    coefficients, W, b = common
    return list(_at(X, degrees, coefficients).hessian_times(W, b))


def _scatters(X: Array, degrees: Any, coefficients: Coefficients) -> Sequence[Any]:
    return list(_at(X, degrees, coefficients).scatters())


def _at(X: Array, degrees: Any, coefficients: Coefficients) -> Any:
    rows = LocalObjective(Features(X, sample_weight=degrees.weights, block_of=coefficients.columns), degrees.T)
    return rows.at(coefficients.W, coefficients.b, exact=coefficients.exact)
