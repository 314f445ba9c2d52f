"""How well predicted distributions agree with 0/1 labels, where the true degrees are not known."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ldlearn.core.simplex import Array, Mask, log_degrees, positive_or_one
from ldlearn.core.targets import split_observed
from ldlearn.core.votes import label_weights, log_likelihood, profile_log_rate
from ldlearn.metrics.inputs import (
    Convention,
    MetricValue,
    check_labels,
    mean_or_rows,
    round_for_ranking,
)


def average_precision(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Return the share of positive labels among those ranked as high as a positive one.

    For a row:
    ``mean over positives j of |positives ranked as high as j| / |labels ranked as high as j|``.
    Greater is better.

    A row without a positive label scores 1.

    Parameters
    ----------
    D_true : array-like of shape (n_samples, n_labels)
        0/1 labels, NaN where one is unknown.
    D_pred : array-like of shape (n_samples, n_labels)
        Predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        Ignored: labels need no rule for zeros.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import average_precision
    >>> average_precision([[1, 0, 1]], [[0.5, 0.3, 0.2]])  # (1/1 + 2/3) / 2
    0.8333...
    """
    Y, P = check_labels(D_true, D_pred)
    positive, above, positives_above = _ranks(Y, P)
    count = positive.sum(axis=1)
    total = np.where(positive, positives_above / above, 0.0).sum(axis=1)
    # The maximum only keeps 0 / 0 from warning; such rows score 1.
    values = np.where(count > 0, total / np.maximum(count, 1), 1.0)
    return _mean_of_observed(Y, values, per_row)


def ranking_loss(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Return the share of pairs whose negative label ranks as high as the positive one.

    For a row: ``share of pairs (positive j, negative k) with p_k >= p_j``. Smaller is better.

    A row whose labels are all positive, or all negative, scores 0.

    Parameters
    ----------
    D_true : array-like of shape (n_samples, n_labels)
        0/1 labels, NaN where one is unknown.
    D_pred : array-like of shape (n_samples, n_labels)
        Predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        Ignored: labels need no rule for zeros.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 1]], [[0.5, 0.3, 0.2]])
    0.5
    """
    Y, P = check_labels(D_true, D_pred)
    positive, above, positives_above = _ranks(Y, P)
    wrong = np.where(positive, above - positives_above, 0.0).sum(axis=1)
    # Not ~positive: an unknown label is NaN, neither positive nor negative.
    pairs = positive.sum(axis=1) * (Y == 0).sum(axis=1)
    return _mean_of_observed(Y, wrong / np.maximum(pairs, 1), per_row)


def top_label_error(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Whether the predicted top label is a negative one: the one-error of multi-label learning.

    For a row: ``1 - y_(argmax p)``. Smaller is better.

    Parameters
    ----------
    D_true : array-like of shape (n_samples, n_labels)
        0/1 labels, NaN where one is unknown.
    D_pred : array-like of shape (n_samples, n_labels)
        Predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        Ignored: labels need no rule for zeros.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    See Also
    --------
    threshold_error : what the DLDL paper calls one-error.

    Examples
    --------
    >>> from ldlearn.metrics import top_label_error
    >>> top_label_error([[1, 0], [1, 0]], [[0.6, 0.4], [0.2, 0.8]])
    0.5
    """
    Y, P = check_labels(D_true, D_pred)
    # An unknown label must not be the top one, and degrees are never below 0.
    top = np.where(np.isnan(Y), -1.0, round_for_ranking(P)).argmax(axis=1)
    rows = np.arange(len(Y))
    return _mean_of_observed(Y, 1.0 - Y[rows, top], per_row)


def positive_mass(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Predicted mass that lies on positive labels.

    For a row: ``sum_j y_j p_j``. Greater is better.

    Parameters
    ----------
    D_true : array-like of shape (n_samples, n_labels)
        0/1 labels, NaN where one is unknown.
    D_pred : array-like of shape (n_samples, n_labels)
        Predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        Ignored: labels need no rule for zeros.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import positive_mass
    >>> positive_mass([[1, 0, 1]], [[0.5, 0.25, 0.25]])
    0.75
    """
    Y, P = check_labels(D_true, D_pred)
    unknown = np.isnan(Y)
    mass = np.where(Y > 0, P, 0.0).sum(axis=1)
    if unknown.any():
        # Of the mass on labels that are known: what lies elsewhere is neither right nor wrong.
        known_mass = np.where(unknown, 0.0, P).sum(axis=1)
        mass /= positive_or_one(known_mass)
    return _mean_of_observed(Y, mass, per_row)


def vote_likelihood(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Return the log-likelihood of the labels if the prediction gives the shares of the votes.

    For a row: ``sum_j y_j ln(1 - exp(-v p_j)) - (1 - y_j) v p_j, v the likeliest number of votes of
    all rows``. Greater is better.

    The number of votes, one for all rows, is the one under which these labels are likeliest. No
    probability is taken to be nearer to 0 or 1 than so many rows can tell, so that a degree of
    exactly 0 does not decide everything.

    Parameters
    ----------
    D_true : array-like of shape (n_samples, n_labels)
        0/1 labels, NaN where one is unknown.
    D_pred : array-like of shape (n_samples, n_labels)
        Predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        Ignored: labels need no rule for zeros.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import vote_likelihood
    >>> labels = [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> right = vote_likelihood(labels, [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    >>> right > vote_likelihood(labels, [[0.5, 0.5]] * 4)
    True
    """
    Y, P = check_labels(D_true, D_pred)
    positive, observed = split_observed(Y)
    # What a share of 0 may cost is limited by the likelihood below.
    log_shares = log_degrees(P)
    weights = label_weights(None, observed)
    theta = log_shares + profile_log_rate(log_shares, positive, weights=weights)
    n_seen = _observed_rows(Y).sum()
    values = log_likelihood(theta, positive, n_seen=n_seen, observed=observed)
    return _mean_of_observed(Y, values, per_row)


def _mean_of_observed(Y: Array, values: Array, per_row: bool) -> MetricValue:
    """The mean over the rows with an observed label; other rows have the value NaN."""
    return mean_or_rows(np.where(_observed_rows(Y), values, np.nan), per_row)


def _observed_rows(Y: Array) -> Mask:
    return np.any(~np.isnan(Y), axis=1)


def _ranks(Y: Array, P: Array) -> tuple[Mask, Array, Array]:
    """The positive labels; how many labels, and positive labels, rank as high as each of them."""
    positive = Y > 0
    P = round_for_ranking(P)
    # Labels that are unknown rank behind all others, so that they are above none.
    above = rankdata(np.where(np.isnan(Y), np.inf, -P), method="max", axis=1)
    # Negative labels rank behind all positive ones here; their own ranks are not used.
    positives_above = rankdata(np.where(positive, -P, np.inf), method="max", axis=1)
    return positive, above, positives_above
