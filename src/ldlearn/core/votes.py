"""The vote model: a label is positive if it gets at least one vote.

The votes of label j of a row are Poisson distributed with mean ``exp(theta_j)``, so that the label
is positive with probability ``1 - exp(-exp(theta_j))``. This module computes the likelihood of 0/1
labels given expected votes.
"""

import numpy as np
from scipy.special import exprel

from ldlearn.core.simplex import TINY, Array, Mask, log_softmax, row_weights

# Larger numbers of votes change no probability, and the square of exp(50) is still finite.
LARGEST_THETA = 50.0


def competing_votes(Z: Array, log_rate: float | Array) -> Array:
    """Log of the expected votes, theta, if a softmax of Z divides ``exp(log_rate)`` votes."""
    return log_softmax(Z) + np.reshape(log_rate, (-1, 1))


def log_expected_votes(
    logP: Array, fixed_raters: bool
) -> tuple[Array, Array | float, Array | float]:
    """theta for one vote per row, and its first and second derivatives in the log of the degree.

    With a Poisson number of votes theta is ln p; with a fixed number lambda it is ln(-ln(1 - p)),
    because label j gets no vote with probability ``(1 - p)^lambda``.
    """
    if not fixed_raters:
        return logP, 1.0, 0.0
    logP = np.minimum(logP, np.log(1.0 - 1e-9))  # at a degree of 1 theta is infinite
    P = np.maximum(np.exp(logP), TINY)  # the ratio tends to 1 as P underflows
    ratio = -np.log1p(-P) / P
    first_derivative = 1.0 / ((1.0 - P) * ratio)
    second_derivative = first_derivative**2 * (ratio - 1.0)
    return logP + np.log(ratio), first_derivative, second_derivative


def label_weights(sample_weight: Array | None, observed: Mask | None) -> Array | None:
    """Sample weight of each label of a row, 0 where it is unknown; None if all are 1.

    The weights can be broadcast to Y.
    """
    if observed is None:
        return None if sample_weight is None else sample_weight[:, None]
    return observed * row_weights(observed, sample_weight)[:, None]


def log_likelihood(
    theta: Array,
    Y: Mask,
    n_seen: float | None = None,
    observed: Mask | None = None,
) -> Array:
    """Log-probability of the observed labels of each row, given theta.

    Parameters
    ----------
    theta : ndarray of shape (n_samples, n_labels)
    Y : boolean ndarray of shape (n_samples, n_labels)
    n_seen : float, default=None
        Number of training rows of theta. Probabilities are then clipped to at least
        ``0.5 / (n_seen + 1)`` from 0 and 1, so that a single outlier cannot decide a comparison.
    observed : boolean ndarray of shape (n_samples, n_labels), default=None
        Mask of the observed labels; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> theta = np.log([[np.log(2.0), np.log(4.0)]])
    >>> log_likelihood(theta, np.array([[True, False]])).round(6)  # ln(1/2) + ln(1/4)
    array([-2.079442])
    """
    if n_seen is not None:
        smallest = 0.5 / (n_seen + 1)
        lowest = np.log(-np.log1p(-smallest))
        highest = np.log(-np.log(smallest))
        theta = np.clip(theta, lowest, highest)
    losses = vote_losses(theta, Y.astype(np.float64))
    if observed is not None:
        losses *= observed
    return -losses.sum(axis=1)


def expected_votes(theta: Array, Y: Mask, observed: Mask | None = None) -> Array:
    """``E[votes | y]``: ``y exp(theta) / (1 - exp(-exp(theta)))``, at least one vote where y = 1.

    Where y is unknown, the expectation is ``exp(theta)``.
    """
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    expected = Y / exprel(-votes)
    return expected if observed is None else np.where(observed, expected, votes)


def profile_log_rate(logP: Array, Y: Mask, weights: Array | None = None) -> float:
    """Maximum likelihood estimate of ln(lambda) if label j gets ``lambda P_j`` votes on average.

    The loss is convex in ln(lambda); Newton's method with steps of at most 1. If all labels are
    positive the estimate is infinite, and a large value is returned. ``weights`` are those of the
    labels (`label_weights`).
    """
    positive = Y.astype(np.float64)
    weights = np.broadcast_to(1.0 if weights is None else weights, Y.shape)
    size = weights.sum()
    n_positive = (weights * positive).sum()
    # Start from the solution in closed form for equal degrees, at least half a label away from
    # none and from all, where the logarithm is infinite.
    half = 0.5 / max(size, 1.0)
    density = min(2.0 * half * max(n_positive, 0.5), 1.0 - half)
    rate = -np.log1p(-density) * Y.shape[1]
    log_rate = float(np.log(rate))
    for _ in range(100):
        slopes, curvatures = vote_slopes(logP + log_rate, positive)
        slope = (weights * slopes).sum()
        curvature = (weights * curvatures).sum()
        step = float(np.clip(-slope / max(curvature, TINY), -1.0, 1.0))
        decrement = curvature * step * step  # squared
        is_finite = -LARGEST_THETA < log_rate + step < LARGEST_THETA
        if decrement <= 1e-10 * size / Y.shape[1] or not is_finite:
            break
        log_rate += step
    return log_rate


def vote_losses(theta: Array, Y: Array) -> Array:
    """Negative log-probability of each label."""
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    # ln(1 - exp(-v)) as ln v + ln exprel(-v): no cancellation for small v.
    log_positive = theta + np.log(exprel(-votes))
    return (1.0 - Y) * votes - Y * log_positive


def vote_slopes(theta: Array, Y: Array) -> tuple[Array, Array]:
    """First and second (non-negative) derivatives of `vote_losses` with respect to theta."""
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    # For very many votes exp overflows to infinity, and the ratio is 0 as it should be.
    with np.errstate(over="ignore"):
        ratio = 1.0 / exprel(votes)  # votes / (exp(votes) - 1)
    of_negative = (1.0 - Y) * votes
    of_positive = Y * ratio
    # The last factor is below 0 only by rounding.
    curvature = of_positive * np.maximum(votes + ratio - 1.0, 0.0)
    return of_negative - of_positive, of_negative + curvature
