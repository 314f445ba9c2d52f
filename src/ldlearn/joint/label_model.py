"""Validation splits, and the vote model of 0/1 labels whose penalty is selected on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldlearn.core.resources import in_threads
from ldlearn.core.simplex import Array, Indices, SampleWeight
from ldlearn.core.targets import RowTargets, fill_unknown
from ldlearn.core.votes import competing_votes, log_likelihood
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.folds import validation_folds
from ldlearn.solvers.softmax_regression import SoftmaxFit
from ldlearn.solvers.vote_regression import VoteFit, vote_regression

VALIDATION_TOL = 1e-4  # accuracy per row of fits that are only compared with each other


@dataclass(frozen=True)
class Split:
    """Training rows and validation rows in the form in which models use them."""

    features: CentredMatrix  # of the training rows
    labels: RowTargets
    X_test: Any
    labels_test: RowTargets

    @cached_property
    def default_gamma(self) -> float:
        """Default penalty of the training rows."""
        return default_gamma(self.features)

    def validation_scores(self, fit: SoftmaxFit | VoteFit) -> Array:
        """Linear scores of the validation rows."""
        return np.asarray(self.X_test @ fit.coef + fit.intercept, dtype=np.float64)

    def log_likelihoods(self, theta: Array) -> Array:
        """Log-likelihood of the observed labels of each validation row."""
        Y, observed, _ = self.labels_test
        return log_likelihood(theta, Y, n_seen=self.features.total, observed=observed)


def validation_splits(
    features: CentredMatrix, labels: RowTargets, groups: Indices | None = None
) -> list[Split]:
    """Split features and labels by `validation_folds`."""
    splits = []
    for train, test in validation_folds(features.original_matrix, groups):
        X_test, _ = features.take_rows(test)
        splits.append(Split(features.subset(train), labels.take(train), X_test, labels.take(test)))
    return splits


def validation_weights(splits: list[Split]) -> SampleWeight:
    """How often each of the validation rows of all splits counts."""
    return np.concatenate([split.labels_test.row_weights() for split in splits])


def paired_z_score(difference: Array, weights: SampleWeight) -> float:
    """Weighted mean of paired differences over its standard error.

    The accuracy of the fits contributes to the standard error.
    """
    n = weights.sum()
    if len(difference) < 2 or n <= 1.0:
        return 0.0
    mean = np.average(difference, weights=weights)
    variance = weights @ (difference - mean) ** 2 / (n - 1.0) / n
    return mean / np.sqrt(variance + VALIDATION_TOL**2)


# To DLDL's default gamma; first a constant.
_PENALTY_RATIOS = tuple((10.0 ** np.arange(5.5, -1.5, -0.5)).tolist())


@dataclass(frozen=True)
class ValidatedModel:
    """A vote model, fitted and evaluated on each split."""

    penalty_ratio: float  # to DLDL's default gamma
    log_likelihoods: Array  # of the validation rows of all splits
    thetas: tuple[Array, ...]  # of each split: log of the expected votes of the validation rows
    fits: tuple[VoteFit, ...]


def validate_vote_model(splits: list[Split]) -> ValidatedModel:
    """The vote model with the penalty under which held-out labels are likeliest.

    Penalties are tried from large to small, each fit starting from the last, until the held-out
    likelihood falls.
    """
    best = ValidatedModel(1.0, np.empty(0), (), ())
    if not splits:
        return best
    best_mean = -np.inf
    weights = validation_weights(splits)
    starts: Sequence[VoteFit | None] = [None] * len(splits)
    for ratio in _PENALTY_RATIOS:
        tasks = [(split, start, ratio) for split, start in zip(splits, starts, strict=True)]
        validated = in_threads(_fit_and_evaluate, tasks)
        parts, thetas, fits = zip(*validated, strict=True)
        values = np.concatenate(parts)
        mean = np.average(values, weights=weights)
        if mean < best_mean:
            break
        best = ValidatedModel(ratio, values, thetas, fits)
        best_mean = mean
        starts = fits
    return best


def _fit_and_evaluate(task: tuple[Split, VoteFit | None, float]) -> tuple[Array, Array, VoteFit]:
    """Fit the vote model on the training rows of a split, evaluate it on its validation rows."""
    split, start, ratio = task
    Y, observed, _ = split.labels
    l2 = ratio * split.default_gamma
    fit = vote_regression(
        split.features, Y, observed=observed, l2=l2, start=start, tol=VALIDATION_TOL
    )
    theta = competing_votes(split.validation_scores(fit), fit.log_rate)
    return split.log_likelihoods(theta), theta, fit


def has_fixed_cardinality(splits: list[Split]) -> bool:
    """Whether nearly all rows have equally many positive labels.

    These then show only which degrees are the largest. Their number has less than a tenth of the
    variance that independent labels would give it.
    """
    Y = np.vstack([fill_unknown(*split.labels_test) for split in splits])
    weights = validation_weights(splits)
    frequency = np.average(Y, axis=0, weights=weights)
    variance = np.average((Y.sum(axis=1) - frequency.sum()) ** 2, weights=weights)
    return bool(variance <= 0.1 * (frequency * (1.0 - frequency)).sum())
