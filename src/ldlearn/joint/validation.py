"""Validation splits that depend on the features of the rows alone: no order of rows or columns changes a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.scaling import row_blocks
from ldlearn.core.simplex import Array, Mask, SampleWeight
from ldlearn.core.votes import log_likelihood
from ldlearn.solvers.features import Features

Rows = NDArray[np.intp]
VALIDATION_TOL = 1e-4  # accuracy per row of fits that are only compared with each other
_MAX_ROWS = 2000  # that models are compared on
_MIN_ROWS = 10  # fewer (different) rows are no evidence


class Fold(NamedTuple):
    """Training rows and validation rows."""

    train: Rows
    test: Rows


def validation_folds(X: Any, sample_weight: SampleWeight | None = None) -> list[Fold]:
    """Cut rows into five folds, or fewer if there are more than 1,000 rows; at most 2,000 rows are used.

    Rows with the same features stay together, so that no row is validated by its own copy and a row twice is a row of
    weight 2. Only where fewer than ten rows differ, among hundreds, are copies separated. There are no folds of fewer
    than ten rows.
    """
    order, starts = sort_by_features(X, sample_weight)
    if len(starts) < _MIN_ROWS <= len(order) / _MIN_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _MIN_ROWS:
        return []
    groups = np.split(order, starts[1:])
    shuffled = [groups[k] for k in np.random.default_rng(1).permutation(len(groups))]
    n_used = int(np.searchsorted(np.cumsum([len(group) for group in shuffled]), _MAX_ROWS, side="right"))
    used = shuffled[: max(n_used, _MIN_ROWS)]
    n_folds = min(5, max(2, 5000 // len(used)))  # about as much work for any number of rows
    return make_folds([np.concatenate(used[k::n_folds]) for k in range(n_folds)])


def make_folds(parts: list[Rows]) -> list[Fold]:
    """Each part in turn as validation rows, the others as training rows."""
    return [Fold(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), np.sort(part)) for k, part in enumerate(parts)]


def sort_by_features(X: Any, sample_weight: SampleWeight | None = None) -> tuple[Rows, Rows]:
    """Sort rows by a projection of their features; also return where each group of equal rows starts.

    The random coefficients of the projection are assigned to the columns by the rank of a third moment,
    ``sum_i w_i x_ij |x_i|^2``, which depends neither on the order of rows nor on that of columns.
    """
    dense = isinstance(X, np.ndarray)
    # Rows in blocks on a cluster compute their moments themselves.
    moments = X.third_moments() if hasattr(X, "third_moments") else third_moments(X, sample_weight)
    direction = np.empty(X.shape[1], dtype=X.dtype)
    # In single precision, so that rounding errors do not rank columns.
    ranked = np.argsort(moments.astype(np.float32), kind="stable")
    direction[ranked] = np.random.default_rng(0).standard_normal(X.shape[1])
    # Not by BLAS, in which the same row may give another number at another place.
    projected = np.einsum("ij,j->i", X, direction) if dense else X @ direction
    order = np.argsort(projected, kind="stable")
    return order, np.flatnonzero(np.append(True, np.diff(projected[order]) > 0))


def third_moments(X: Any, sample_weight: SampleWeight | None = None) -> Array:
    """``sum_i w_i x_ij |x_i|^2`` of each column j."""
    dense = isinstance(X, np.ndarray)
    squares = np.einsum("ij,ij->i", X, X, dtype=np.float64) if dense else np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares = squares if sample_weight is None else squares * sample_weight
    return np.asarray(np.sum([squares[rows] @ X[rows] for rows in row_blocks(X)], axis=0))


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

    def log_likelihoods(self, theta: Array) -> NDArray[np.float64]:
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
        for train, test in validation_folds(features.original.X, weights)
    ]


def validation_weights(splits: list[Split]) -> SampleWeight:
    """How often each of the validation rows of all splits counts."""
    return np.concatenate([split.weights_test for split in splits])


def paired_z(difference: NDArray[np.float64], weights: SampleWeight) -> float:
    """Weighted mean of paired differences over its standard error; 0 if they do not vary."""
    n = float(weights.sum())
    if len(difference) < 2 or n <= 1.0:
        return 0.0
    mean = float(np.average(difference, weights=weights))
    error = float(np.sqrt(weights @ (difference - mean) ** 2 / (n - 1.0) / n))
    return mean / error if error > 1e-9 else 0.0
