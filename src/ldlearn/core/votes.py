"""Labels that are ticked when they get any vote: how likely 0/1 labels are, given the expected votes.

Label j of a row gets ``exp(theta_j)`` votes on average, and is ticked with the probability that it gets any,
``1 - exp(-exp(theta_j))``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

from ldlearn.core.simplex import Array, Mask, log_softmax

Vector = NDArray[np.float64]
LARGEST_THETA = 50.0  # exp(50) votes are as good as any larger number, and their square is still finite


def competing_votes(Z: Array, log_rate: float | Vector) -> Array:
    """theta, the log of the expected votes, of labels that share ``exp(log_rate)`` votes by a softmax of Z."""
    return np.asarray(log_softmax(Z) + np.reshape(log_rate, (-1, 1)))


def votes_of_shares(logP: Array, fixed_raters: bool) -> tuple[Array, Array | float, Array | float]:
    """theta for one vote a row, and its first and second derivative in the log of the share.

    With a random number of votes theta is ln p; with a fixed one ln(-ln(1 - p)), since nobody of so many raters takes
    label j with probability ``(1 - p)^lambda``.
    """
    if not fixed_raters:
        return logP, 1.0, 0.0
    logP = np.minimum(logP, np.log(1.0 - 1e-9))  # a share of 1 needs infinitely many votes
    # of a share that is 0 in floating point, too, the ratio is 1
    P = np.maximum(np.exp(logP), np.finfo(np.float64).tiny)
    ratio = -np.log1p(-P) / P
    rise = 1.0 / ((1.0 - P) * ratio)
    return logP + np.log(ratio), rise, rise**2 * (ratio - 1.0)


def label_counts(weights: Vector | None, observed: Mask | None) -> Array | None:
    """How often each label of a row counts, to multiply an (n, c) array by; 0 where it is unknown, None if all once."""
    if observed is None:
        return None if weights is None else weights[:, None]
    return observed.astype(np.float64) if weights is None else observed * weights[:, None]


def log_likelihood(theta: Array, Y: Mask, n_seen: float | None = None, observed: Mask | None = None) -> Vector:
    """Log-probability of the observed labels of each row, given theta.

    Parameters
    ----------
    theta : ndarray of shape (n, c)
    Y : boolean ndarray of shape (n, c)
    n_seen : float, default=None
        Number of rows that theta was learned from. No probability is then taken to be nearer to 0 or 1 than so many
        rows can tell, half a row in ``n_seen + 1``: one row far from the others cannot decide a comparison.
    observed : boolean ndarray of shape (n, c), default=None
        Where Y says anything; by default everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> log_likelihood(np.log([[np.log(2.0), np.log(4.0)]]), np.array([[True, False]])).round(6)  # ln(1/2) + ln(1/4)
    array([-2.079442])
    """
    if n_seen is not None:
        surest = 0.5 / (n_seen + 1)
        theta = np.clip(theta, np.log(-np.log1p(-surest)), np.log(-np.log(surest)))
    found = losses(theta, Y.astype(np.float64))
    return np.asarray(-(found if observed is None else found * observed).sum(axis=1))


def expected_votes(theta: Array, Y: Mask, observed: Mask | None = None) -> Array:
    """``E[votes | ticked or not]``: ``y exp(theta) / (1 - exp(-exp(theta)))``, at least one vote where y = 1.

    Where it is not known whether a label was ticked the answer is ``exp(theta)``.
    """
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    ticked = Y / exprel(-votes)
    return np.asarray(ticked if observed is None else np.where(observed, ticked, votes))


def profile_log_rate(
    logP: Array, Y: Mask, offset: float | Vector = 0.0, tol: float = 1e-10, counts: Array | None = None
) -> float:
    """The ln(lambda) under which the labels are likeliest when label j gets ``lambda exp(offset) P_j`` votes.

    The loss is convex in it; Newton's method, with steps of at most 1. Labels that are all ticked want infinitely many
    votes: then the answer is merely large. ``counts`` says how often each label of a row counts (`label_counts`).
    """
    base, ticked = logP + np.reshape(offset, (-1, 1)), Y.astype(np.float64)
    count = np.ones((1, 1)) if counts is None else counts
    # Where every label has the same share the answer is closed.
    size = float(np.broadcast_to(count, Y.shape).sum())
    ticks = float((count * ticked).sum())
    # Half a tick away from none and from all, where the logarithm is not finite.
    density = min(max(ticks, 0.5) / max(size, 1.0), 1.0 - 0.5 / max(size, 1.0))
    log_rate = float(np.log(-np.log1p(-density) * Y.shape[1]) - np.mean(offset))
    for _ in range(100):
        slope, curvature = slopes(base + log_rate, ticked)
        total = float((count * curvature).sum())
        step = float(np.clip(-(count * slope).sum() / max(total, np.finfo(float).tiny), -1.0, 1.0))
        # Newton's decrement, for each row.
        if total * step * step <= tol * size / Y.shape[1] or not -LARGEST_THETA < log_rate + step < LARGEST_THETA:
            break
        log_rate += step
    return log_rate


def losses(theta: Array, Y: Array) -> Array:
    """Minus the log-probability of each label."""
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    # ln(1 - exp(-v)) as ln v + ln exprel(-v): nothing cancels where votes are few.
    return np.asarray((1.0 - Y) * votes - Y * (theta + np.log(exprel(-votes))))


def slopes(theta: Array, Y: Array) -> tuple[Array, Array]:
    """First and second derivatives of `losses` in theta; the second are never negative."""
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    # Of very many votes exp is infinite, and the ratio 0, as it should be.
    with np.errstate(over="ignore"):
        ratio = 1.0 / exprel(votes)  # votes / (exp(votes) - 1)
    unticked = (1.0 - Y) * votes
    # The last factor is below 0 only by rounding.
    return unticked - Y * ratio, unticked + Y * ratio * np.maximum(votes + ratio - 1.0, 0.0)
