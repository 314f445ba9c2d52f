"""Validation splits, and the vote model of 0/1 labels whose penalty is selected on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ldlearn.core.resources import in_threads
from ldlearn.core.simplex import Array, Indices, SampleWeight
from ldlearn.core.targets import RowTargets, fill_unknown
from ldlearn.core.votes import competing_votes, log_likelihood
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import CentredColumns, Features
from ldlearn.solvers.vote_regression import VoteFit, vote_regression

VALIDATION_TOL = 1e-4  # accuracy per row of fits that are only compared with each other
_MAX_ROWS = 2000  # that models are compared on
_MIN_ROWS = 10  # fewer (different) rows are no evidence


class Fold(NamedTuple):
    """Training rows and validation rows."""

    train: Indices
    test: Indices


def validation_folds(
    features: CentredColumns, groups: Indices | None = None, *, max_rows: int = _MAX_ROWS, min_folds: int = 2
) -> list[Fold]:
    """Cut rows into five folds, or fewer if there are more than 1,000 rows; at most ``max_rows`` rows are used.

    Rows with the same features stay together, so that no row is validated by its own copy and a row twice is a row of
    weight 2. Only where fewer than ten rows differ, among hundreds, are copies separated. If groups are given, the rows
    of a group stay together instead. There are no folds of fewer than ten rows or groups.
    """
    order, starts = features.sort_rows()
    if groups is not None:
        order, starts = _sort_by_groups(groups, order)
    elif len(starts) < _MIN_ROWS <= len(order) / _MIN_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _MIN_ROWS:
        return []
    ends = np.append(starts[1:], len(order))
    shuffled = np.random.default_rng(1).permutation(len(starts))
    n_used = int(np.searchsorted(np.cumsum((ends - starts)[shuffled]), max_rows, side="right"))
    used = [order[starts[k] : ends[k]] for k in shuffled[: max(n_used, _MIN_ROWS)]]
    n_folds = min(5, max(min_folds, 5000 // len(used)))  # about as much work for any number of rows
    parts = [np.concatenate(used[k::n_folds]) for k in range(n_folds)]
    return [Fold(np.sort(np.concatenate(parts[:k] + parts[k + 1 :])), np.sort(part)) for k, part in enumerate(parts)]


def _sort_by_groups(groups: Indices, order: Indices) -> tuple[Indices, Indices]:
    """Sort rows by group, groups by their first row in this order; also return where each group starts."""
    _, first, group = np.unique(groups[order], return_index=True, return_inverse=True)
    by_group = np.argsort(first[group], kind="stable")
    return order[by_group], np.flatnonzero(np.diff(first[group][by_group], prepend=-1))


@dataclass(frozen=True)
class Split:
    """Training rows and validation rows in the form in which models use them."""

    features: Features  # of the training rows
    labels: RowTargets
    X_test: Any
    labels_test: RowTargets

    @cached_property
    def default_gamma(self) -> float:
        """Default penalty of the training rows."""
        return default_gamma(self.features)

    def log_likelihoods(self, theta: Array) -> Array:
        """Log-likelihood of the observed labels of each validation row."""
        Y, observed, _ = self.labels_test
        return log_likelihood(theta, Y, n_seen=self.features.total, observed=observed)


def validation_splits(features: Features, labels: RowTargets, groups: Indices | None = None) -> list[Split]:
    """Split features and labels by `validation_folds`."""
    splits = []
    for train, test in validation_folds(features.original, groups):
        X_test, _ = features.take_rows(test)
        splits.append(Split(features.subset(train), labels.take(train), X_test, labels.take(test)))
    return splits


def validation_weights(splits: list[Split]) -> SampleWeight:
    """How often each of the validation rows of all splits counts."""
    return np.concatenate([split.labels_test.row_weights() for split in splits])


def paired_z_score(difference: Array, weights: SampleWeight) -> float:
    """Weighted mean of paired differences over its standard error, to which the accuracy of the fits contributes."""
    n = float(weights.sum())
    if len(difference) < 2 or n <= 1.0:
        return 0.0
    mean = float(np.average(difference, weights=weights))
    variance = float(weights @ (difference - mean) ** 2) / (n - 1.0) / n
    return mean / float(np.sqrt(variance + VALIDATION_TOL**2))


_PENALTY_RATIOS = tuple((10.0 ** np.arange(5.5, -1.5, -0.5)).tolist())  # to DLDL's default gamma; first a constant


@dataclass(frozen=True)
class ValidatedModel:
    """A vote model, fitted and evaluated on each split."""

    penalty_ratio: float  # to DLDL's default gamma
    log_likelihoods: Array  # of the validation rows of all splits
    thetas: tuple[Array, ...]  # of each split: log of the expected votes of the validation rows
    fits: tuple[VoteFit, ...]


def validate_vote_model(splits: list[Split]) -> ValidatedModel:
    """The vote model with the penalty under which held-out labels are likeliest.

    Penalties are tried from large to small, each fit starting from the last, until the held-out likelihood falls.
    """
    best, best_mean = ValidatedModel(1.0, np.empty(0), (), ()), -np.inf
    fits: Sequence[VoteFit | None] = [None] * len(splits)
    for ratio in _PENALTY_RATIOS if splits else ():
        model = _validate_on_splits(splits, ratio, fits)
        mean = float(np.average(model.log_likelihoods, weights=validation_weights(splits)))
        if mean < best_mean:
            break
        best, best_mean, fits = model, mean, model.fits
    return best


def _validate_on_splits(splits: list[Split], ratio: float, starts: Sequence[VoteFit | None]) -> ValidatedModel:
    """Fit the vote model on the training rows of each split, and evaluate it on the validation rows."""

    def validate(pair: tuple[Split, VoteFit | None]) -> tuple[Array, Array, VoteFit]:
        split, start = pair
        Y, observed, _ = split.labels
        l2 = ratio * split.default_gamma
        fit = vote_regression(split.features, Y, observed=observed, l2=l2, start=start, tol=VALIDATION_TOL)
        Z = np.asarray(split.X_test @ fit.coef + fit.intercept, dtype=np.float64)
        theta = competing_votes(Z, fit.log_rate)
        return split.log_likelihoods(theta), theta, fit

    pairs = list(zip(splits, starts, strict=True))
    parts, thetas, fits = zip(*in_threads(validate, pairs), strict=True)
    return ValidatedModel(ratio, np.concatenate(parts), thetas, fits)


def has_fixed_cardinality(splits: list[Split]) -> bool:
    """Whether nearly all rows have equally many positive labels, which then show only which degrees are the largest.

    Their number has less than a tenth of the variance that independent labels would give it.
    """
    Y = np.vstack([fill_unknown(*split.labels_test) for split in splits])
    weights = validation_weights(splits)
    frequency = np.average(Y, axis=0, weights=weights)
    variance = np.average((Y.sum(axis=1) - frequency.sum()) ** 2, weights=weights)
    return bool(variance <= 0.1 * (frequency * (1.0 - frequency)).sum())
