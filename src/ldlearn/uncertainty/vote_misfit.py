"""Tests of the assumptions of intervals: linear scores, equal raters, independent rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.core.kernels import squared_distances
from ldlearn.core.simplex import (
    Array,
    Indices,
    SampleWeight,
    log_softmax,
    positive_or_one,
    row_weights,
    take_rows,
)
from ldlearn.core.votes import log_expected_votes, vote_slopes
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.folds import validation_folds
from ldlearn.solvers.linear_predictor import centred_blocks
from ldlearn.solvers.spd import unit_diagonal_scale
from ldlearn.solvers.vote_regression import VoteFit, vote_regression

VoteRows = dict[str, Any]  # Y, observed and offset of rows, by the names of `vote_regression`
_MAX_ROWS = 2000  # for the test of linear scores
_CRITICAL_Z = 2.33  # benchmarks/intervals.py has the rates of false alarms and of detection


@dataclass(frozen=True)
class Misfit:
    """Evidence against the vote model, as z-scores.

    They are about standard normal, or smaller, if the assumption holds.
    """

    learned = {
        "nonlinear": "float",
        "varying_raters": "float",
        "dependent_rows": "float",
    }

    nonlinear: float  # the features determine held-out labels in a way that the linear scores lack
    varying_raters: float  # labels of a row are positive together
    dependent_rows: float  # rows that follow each other, or are equal, have similar labels

    def reasons(self) -> list[str]:
        """A clause for each assumption that is significantly wrong."""
        clauses = []
        if self.nonlinear > _CRITICAL_Z:
            clauses.append(
                "the labels depend on the features in another way than the linear model says "
                f"(z = {self.nonlinear:.1f}), so add features, or use ConformalIntervals if some "
                "true degrees are known"
            )
        if self.varying_raters > _CRITICAL_Z:
            clauses.append(
                "the number of positive labels of a row varies more than the model says "
                f"(z = {self.varying_raters:.1f}), so give n_raters to VoteLDL.fit if it differs "
                "between rows"
            )
        if self.dependent_rows > _CRITICAL_Z:
            clauses.append(
                "labels of rows that follow each other, or are equal, are more alike than the "
                f"model says (z = {self.dependent_rows:.1f}), so give groups to fit if such rows "
                "belong together"
            )
        return clauses


def measure_misfit(
    features: CentredMatrix,
    fit: VoteFit,
    labels: VoteRows,
    *,
    l2: float,
    fixed_raters: bool,
    groups: Indices | None,
    unmapped: CentredMatrix,
) -> Misfit:
    """Test the assumptions of a vote regression.

    Parameters
    ----------
    features : CentredMatrix
    fit : VoteFit
        The fit on all rows.
    labels : dict
        Y, observed and offset of all rows, as for `vote_regression`.
    l2, fixed_raters
        Penalty and link of the fit.
    groups : ndarray of int or None
        Which rows belong together; None tests whether any do.
    unmapped : CentredMatrix
        The features before any feature map.
    """
    slopes, excess = vote_residuals(fit.scores, fit.log_rate, labels, fixed_raters)
    together = excess.sum(axis=1) ** 2 - (excess**2).sum(axis=1)
    dependence = 0.0
    if groups is None:
        order, starts = unmapped.sort_rows()
        equal = np.ones(features.n, dtype=bool)
        equal[starts] = False
        after = np.append(np.arange(1, features.n), order[equal])
        before = np.append(np.arange(features.n - 1), order[np.flatnonzero(equal) - 1])
        dependence = _z_score((slopes[after] * slopes[before]).sum(axis=1))
    return Misfit(
        nonlinear=_test_linearity(features, fit, labels, l2, fixed_raters, groups, unmapped),
        varying_raters=_z_score(together, features.sample_weight),
        dependent_rows=dependence,
    )


def vote_residuals(
    Z: Array, log_rate: float, labels: VoteRows, fixed_raters: bool
) -> tuple[Array, Array]:
    """Gradients of row log-likelihoods in the scores Z, and labels minus probabilities."""
    logP = log_softmax(Z)
    theta, dtheta, _ = log_expected_votes(logP, fixed_raters)
    theta = theta + np.reshape(log_rate + labels["offset"], (-1, 1))
    known = 1.0 if labels["observed"] is None else labels["observed"]
    first, _ = vote_slopes(theta, labels["Y"].astype(np.float64))
    slopes = -first * dtheta * known
    excess = known * (labels["Y"] + np.expm1(-np.exp(theta)))
    return slopes - np.exp(logP) * slopes.sum(axis=1, keepdims=True), excess


def take_labels(labels: VoteRows, rows: Any) -> VoteRows:
    """The labels of some rows."""
    offset = labels["offset"]
    return {
        "Y": labels["Y"][rows],
        "observed": take_rows(labels["observed"], rows),
        "offset": offset[rows] if np.ndim(offset) else offset,
    }


def _test_linearity(
    features: CentredMatrix,
    fit: VoteFit,
    labels: VoteRows,
    l2: float,
    fixed_raters: bool,
    groups: Indices | None,
    unmapped: CentredMatrix,
) -> float:
    """Whether residuals of held-out rows resemble those of similar training rows.

    Similarity is that of a kernel. Up to a factor this is the derivative of the held-out
    likelihood, at 0, in the non-linear part that a gradient step from the training rows adds to the
    scores. The kernel is orthogonal to the features, so that shrunken coefficients are not taken
    for a lack of fit.
    """
    rows = unmapped.sample_rows(_MAX_ROWS)
    sample = features.subset(rows)
    original = unmapped.subset(rows)
    labels = take_labels(labels, rows)
    groups = take_rows(groups, rows)
    if 2 * original.m >= original.n:
        return 0.0
    products = np.zeros((sample.n, sample.n))
    for train, test in validation_folds(original, groups):
        part = vote_regression(
            sample.subset(train),
            **take_labels(labels, train),
            l2=l2,
            fixed_raters=fixed_raters,
            weak_prior=True,
            start=fit,
            tol=1e-4,
        )
        Z = np.asarray(sample.X @ part.coef + part.intercept, dtype=np.float64)
        slopes, _ = vote_residuals(Z, part.log_rate, labels, fixed_raters)
        products[np.ix_(test, train)] = slopes[test] @ slopes[train].T
    pairs = _nonlinear_kernel(original) * (products + products.T)
    weights = row_weights(pairs, sample.sample_weight)
    if groups is not None:
        in_group = sparse.csr_array((weights, (groups, np.arange(sample.n))))
        pairs = in_group @ pairs @ in_group.T
        weights = np.ones(len(pairs))
    variance = 2.0 * (weights @ pairs**2 @ weights)  # every pair is there twice
    return float(weights @ pairs @ weights / np.sqrt(variance)) if variance > 0.0 else 0.0


def _nonlinear_kernel(features: CentredMatrix) -> Array:
    """Similarity of pairs of rows by three kernels without their linear parts.

    It is their sum, after each kernel is scaled to the same size. The kernels are sensitive to
    functions of several features, to odd ones among them, and to curves of single features.
    """
    scale = unit_diagonal_scale(features.spread / features.total)
    blocks = centred_blocks(features.X, features.mean, features.m)
    X = np.concatenate([centred * scale for _, centred in blocks])
    distances = squared_distances(X, X)
    lengths = np.sqrt((X**2).sum(axis=1, keepdims=True))
    directions = X / positive_or_one(lengths)
    curves = np.column_stack([np.abs(X), np.tanh(2.0 * X)])
    kernels = (
        np.exp(distances * (-4.0 / (distances.mean() or 1.0))),
        (directions @ directions.T) ** 3,
        curves @ curves.T,
    )
    linear, _ = np.linalg.qr(np.column_stack([X, np.ones(len(X))]))
    total = np.zeros_like(distances)
    for kernel in kernels:
        half = kernel - linear @ (linear.T @ kernel)
        residual = half - (half @ linear) @ linear.T
        np.fill_diagonal(residual, 0.0)
        total += residual / max(np.linalg.norm(residual), np.finfo(float).tiny)
    return total


def _z_score(values: Array, weights: SampleWeight | None = None) -> float:
    """The sum of independent numbers of mean 0 over its standard deviation."""
    weights = row_weights(values, weights)
    deviation = np.sqrt(weights @ values**2)
    return float(weights @ values / deviation) if deviation > 0.0 else 0.0
