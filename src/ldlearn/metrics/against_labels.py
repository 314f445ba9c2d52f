"""How well predicted distributions agree with 0/1 labels, where the true degrees are not known."""

import numpy as np
from scipy.stats import rankdata

from ldlearn.core.simplex import Array, Mask, log_degrees
from ldlearn.core.targets import split_observed
from ldlearn.core.votes import label_weights, log_likelihood, profile_log_rate
from ldlearn.metrics.inputs import round_for_ranking
from ldlearn.metrics.registry import register


@register(
    "Average precision",
    "mean over positives j of |positives ranked as high as j| / |labels ranked as high as j|",
    greater_is_better=True,
    against_labels=True,
)
def average_precision(D_true: Array, D_pred: Array) -> Array:
    """Of the labels ranked at least as high as a positive one, the share that is positive: mean
    over the positives.

    A row without a positive label scores 1.

    Examples
    --------
    >>> from ldlearn.metrics import average_precision
    >>> average_precision([[1, 0, 1]], [[0.5, 0.3, 0.2]])  # (1/1 + 2/3) / 2
    0.8333...
    """
    positive, above, positives_above = _ranks(D_true, D_pred)
    count = positive.sum(axis=1)
    total = np.where(positive, positives_above / above, 0.0).sum(axis=1)
    # The maximum only keeps 0 / 0 from warning; such rows score 1.
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


@register(
    "Ranking loss", "share of pairs (positive j, negative k) with p_k >= p_j", against_labels=True
)
def ranking_loss(D_true: Array, D_pred: Array) -> Array:
    """Share of the pairs of a positive and a negative label in which the negative one ranks at
    least as high.

    A row whose labels are all positive, or all negative, scores 0.

    Examples
    --------
    >>> from ldlearn.metrics import ranking_loss
    >>> ranking_loss([[1, 0, 1]], [[0.5, 0.3, 0.2]])
    0.5
    """
    positive, above, positives_above = _ranks(D_true, D_pred)
    wrong = np.where(positive, above - positives_above, 0.0).sum(axis=1)
    # Not ~positive: an unknown label is NaN, neither positive nor negative.
    pairs = positive.sum(axis=1) * (D_true == 0).sum(axis=1)
    return wrong / np.maximum(pairs, 1)


@register("Top label is not positive", "1 - y_(argmax p)", against_labels=True)
def top_label_error(D_true: Array, D_pred: Array) -> Array:
    """Whether the predicted top label is a negative one: the one-error of multi-label learning.

    See Also
    --------
    threshold_error : what the DLDL paper calls one-error.

    Examples
    --------
    >>> from ldlearn.metrics import top_label_error
    >>> top_label_error([[1, 0], [1, 0]], [[0.6, 0.4], [0.2, 0.8]])
    0.5
    """
    # An unknown label must not be the top one, and degrees are never below 0.
    top = np.where(np.isnan(D_true), -1.0, round_for_ranking(D_pred)).argmax(axis=1)[:, np.newaxis]
    return 1.0 - np.take_along_axis(D_true, top, axis=1)[:, 0]


@register(
    "Mass on the positive labels", "sum_j y_j p_j", greater_is_better=True, against_labels=True
)
def positive_mass(D_true: Array, D_pred: Array) -> Array:
    """Predicted mass that lies on positive labels.

    Examples
    --------
    >>> from ldlearn.metrics import positive_mass
    >>> positive_mass([[1, 0, 1]], [[0.5, 0.25, 0.25]])
    0.75
    """
    unknown = np.isnan(D_true)
    mass = np.where(D_true > 0, D_pred, 0.0).sum(axis=1)
    if not unknown.any():
        return mass
    # Of the mass on labels that are known: what lies elsewhere is neither right nor wrong.
    known_mass = np.where(unknown, 0.0, D_pred).sum(axis=1)
    return mass / np.where(known_mass > 0, known_mass, 1.0)


@register(
    "Vote log-likelihood",
    "sum_j y_j ln(1 - exp(-v p_j)) - (1 - y_j) v p_j, v the likeliest number of votes of all rows",
    greater_is_better=True,
    against_labels=True,
)
def vote_likelihood(D_true: Array, D_pred: Array) -> Array:
    """Log-likelihood of the 0/1 labels under the vote model, in which the prediction gives the
    shares of the votes.

    The number of votes, one for all rows, is the one under which these labels are likeliest. No
    probability is taken to be nearer to 0 or 1 than so many rows can tell, so that a degree of
    exactly 0 does not decide everything.

    Examples
    --------
    >>> from ldlearn.metrics import vote_likelihood
    >>> labels = [[1, 0], [1, 0], [0, 1], [1, 1]]
    >>> right = vote_likelihood(labels, [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    >>> right > vote_likelihood(labels, [[0.5, 0.5]] * 4)
    True
    """
    positive, observed = split_observed(D_true)
    log_shares = log_degrees(
        D_pred
    )  # what a share of 0 may cost is limited by the likelihood below
    theta = log_shares + profile_log_rate(
        log_shares, positive, weights=label_weights(None, observed)
    )
    # Only rows with an observed label count.
    n_seen = len(positive) if observed is None else int(observed.any(axis=1).sum())
    return log_likelihood(theta, positive, n_seen=n_seen, observed=observed)


def _ranks(Y: Array, P: Array) -> tuple[Mask, Array, Array]:
    """Which labels are positive; how many labels, and how many positive ones, rank at least as high
    as each."""
    positive = Y > 0
    P = round_for_ranking(P)
    # Labels that are unknown rank behind all others, so that they are above none.
    above = rankdata(np.where(np.isnan(Y), np.inf, -P), method="max", axis=1)
    # Negative labels rank behind all positive ones here; their own ranks are not used.
    positives_above = rankdata(np.where(positive, -P, np.inf), method="max", axis=1)
    return positive, above, positives_above
