"""Validation splits that depend on the features of the rows alone: no order of rows or columns changes a result."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.scaling import row_blocks, without_offsets
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight
from ldlearn.core.votes import log_likelihood
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import CentredColumns, Features

Rows = Indices
VALIDATION_TOL = 1e-4  # accuracy per row of fits that are only compared with each other
_MAX_ROWS = 2000  # that models are compared on
_MIN_ROWS = 10  # fewer (different) rows are no evidence


class Fold(NamedTuple):
    """Training rows and validation rows."""

    train: Rows
    test: Rows


def validation_folds(features: Any, max_rows: int = _MAX_ROWS, min_folds: int = 2) -> list[Fold]:
    """Cut rows into five folds, or fewer if there are more than 1,000 rows; at most ``max_rows`` rows are used.

    Rows with the same features stay together, so that no row is validated by its own copy and a row twice is a row of
    weight 2. Only where fewer than ten rows differ, among hundreds, are copies separated. There are no folds of fewer
    than ten rows.
    """
    order, starts = sort_by_features(features)
    if len(starts) < _MIN_ROWS <= len(order) / _MIN_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _MIN_ROWS:
        return []
    groups = np.split(order, starts[1:])
    shuffled = [groups[k] for k in np.random.default_rng(1).permutation(len(groups))]
    n_used = int(np.searchsorted(np.cumsum([len(group) for group in shuffled]), max_rows, side="right"))
    used = shuffled[: max(n_used, _MIN_ROWS)]
    n_folds = min(5, max(min_folds, 5000 // len(used)))  # about as much work for any number of rows
    return make_folds([np.concatenate(used[k::n_folds]) for k in range(n_folds)])


def make_folds(parts: list[Rows]) -> list[Fold]:
    """Each part in turn as validation rows, the others as training rows."""
    return [Fold(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), np.sort(part)) for k, part in enumerate(parts)]


def sort_by_features(features: Any) -> tuple[Rows, Rows]:
    """Sort rows by a projection of their features; also return where each group of equal rows starts.

    The random coefficients of the projection are assigned to the standardised columns by the rank of a third moment,
    ``mean_i w_i z_ij |z_i|^2``: neither the order of rows or columns nor an offset or scale of a column matters.

    Parameters
    ----------
    features : Features
        Or rows in blocks on a cluster, which apply `third_moments` and `project_rows` themselves.
    """
    local = isinstance(features, Features)
    weights = features.sample_weight
    moments = third_moments(features.X, features, weights) if local else features.third_moments()
    direction = np.empty(features.m)
    # Rounded, so that rounding errors do not rank columns.
    ranked = np.argsort(np.round(moments / (features.total * features.m), 9), kind="stable")
    direction[ranked] = np.random.default_rng(0).standard_normal(features.m)
    direction *= _inverse_deviations(features)
    projected = project_rows(features.X, features, direction) if local else features.project_rows(direction)
    order = np.argsort(projected, kind="stable")
    return order, np.flatnonzero(np.append(True, np.diff(projected[order]) > 0))


def third_moments(X: Any, columns: CentredColumns, sample_weight: SampleWeight | None = None) -> Array:
    """``sum_i w_i z_ij |z_i|^2`` of each standardised column j."""
    scale = _inverse_deviations(columns)
    centre = scale * (columns.mean - columns.offsets)
    moments = np.zeros(columns.m)
    for rows in row_blocks(X):
        block = without_offsets(X[rows], columns.offsets)
        scaled = sparse.csr_array(block.multiply(scale)) if sparse.issparse(block) else block * scale
        squares = (scaled * scaled).sum(axis=1) - 2.0 * (scaled @ centre) + centre @ centre
        squares = squares if sample_weight is None else squares * sample_weight[rows]
        moments += squares @ scaled - squares.sum() * centre
    return moments


def project_rows(X: Any, columns: CentredColumns, direction: Array) -> Array:
    """``(X - offsets) direction``: the same number for the same row, wherever it stands."""
    blocks = (without_offsets(X[rows], columns.offsets) for rows in row_blocks(X))
    if sparse.issparse(X):
        return np.concatenate([block @ direction for block in blocks])
    # Not by BLAS, in which the same row may give another number at another place.
    return np.concatenate([np.einsum("ij,j->i", block.astype(np.float64, order="C"), direction) for block in blocks])


def _inverse_deviations(columns: CentredColumns) -> Array:
    """The reciprocal of each column's standard deviation; 0 for a constant column."""
    if not np.isfinite(columns.spread).all():
        raise OverflowError("The squares of the features overflow.")
    varying = columns.spread > 0.0
    return np.where(varying, np.sqrt(columns.total / np.where(varying, columns.spread, 1.0)), 0.0)


@dataclass(frozen=True)
class Split:
    """The rows of a fold in the form in which models use them."""

    features: Features
    Y: Mask
    X_test: Any
    Y_test: Mask
    observed: Mask | None  # None if all labels are observed
    observed_test: Mask | None
    weights_test: SampleWeight

    @cached_property
    def default_gamma(self) -> float:
        """Default penalty of the training rows."""
        return default_gamma(self.features)

    def log_likelihoods(self, theta: Array) -> Array:
        """Log-likelihood of the observed labels of each validation row."""
        return log_likelihood(theta, self.Y_test, n_seen=self.features.total, observed=self.observed_test)


def validation_splits(features: Features, Y: Mask, observed: Mask | None = None) -> list[Split]:
    """Split features and labels by `validation_folds`."""
    X, intercept, weights = features.X, features.fit_intercept, features.sample_weight

    def part(A: Any, rows: Rows) -> Any:
        return None if A is None else A[rows]

    return [
        Split(
            Features(X[train], intercept, part(weights, train), orthogonal=features.orthogonal),
            Y[train],
            X[test],
            Y[test],
            part(observed, train),
            part(observed, test),
            np.ones(len(test)) if weights is None else weights[test],
        )
        for train, test in validation_folds(features.original)
    ]


def validation_weights(splits: list[Split]) -> SampleWeight:
    """How often each of the validation rows of all splits counts."""
    return np.concatenate([split.weights_test for split in splits])


def paired_z(difference: Array, weights: SampleWeight) -> float:
    """Weighted mean of paired differences over its standard error, to which the accuracy of the fits contributes."""
    n = float(weights.sum())
    if len(difference) < 2 or n <= 1.0:
        return 0.0
    mean = float(np.average(difference, weights=weights))
    variance = float(weights @ (difference - mean) ** 2) / (n - 1.0) / n
    return mean / float(np.sqrt(variance + VALIDATION_TOL**2))
