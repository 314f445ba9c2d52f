"""Each rater beside the others: agreement with their votes, and what chance would give."""

from math import comb
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import gammaincc, stdtrit
from scipy.stats import false_discovery_control

from ldlearn.core.agreement import LEVEL, RaterVotes
from ldlearn.core.simplex import Array, Indices, Mask

_FALSE_DISCOVERY_RATE = 0.05
_FEWEST_ANNOTATIONS = 10  # below, intervals are unreliable
_SMOOTHING = (0.1, 1000.0)
_LEAST_SKEWNESS = 0.01  # practically a normal distribution
_BLOCK_CELLS = 1 << 22  # raters times labels, at a time


class RaterAgreement(NamedTuple):
    """How each rater agrees with the others; NaN where that is unknown.

    Attributes
    ----------
    annotations : ndarray of int of shape (n_raters,)
        Annotations with a label, of items that another rater gave a label.
    agreement : ndarray of shape (n_raters,)
        Mean probability, given the votes of the others, of the labels that the rater gave.
    chance : ndarray of shape (n_raters,)
        The same if these labels are exchanged among the rater's items.
    low, high : ndarray of shape (n_raters,)
        95 % interval of the agreement, given these labels.
    above_chance : boolean ndarray of shape (n_raters,)
        The whole interval is above chance.
    no_better_than_chance : boolean ndarray of shape (n_raters,)
        It is not, and a rater like the others would agree better.
    """

    annotations: Indices
    agreement: Array
    chance: Array
    low: Array
    high: Array
    above_chance: Mask
    no_better_than_chance: Mask


def compare_raters(votes: RaterVotes) -> RaterAgreement:
    """Compare each rater with the other raters of the same items.

    Notes
    -----
    Let c_l be the votes for label l among the n votes of the *other* raters of an item, and q_l the
    share of the label in all votes. Given these votes, label l has the probability

        s_l = (c_l + a q_l) / (n + a),

    the posterior mean under a Dirichlet prior. ``a`` is such that the mean gain of probability over
    the overall shares, s_l - q_l of the labels given, is the one that s promises, sum_l s_l (s_l -
    q_l). So the prior is as strong as the disagreement of the raters demands, and one vote is no
    certainty.

    *Chance* is the mean of s over the other items of the rater for the labels that the rater gave:
    labels that do not depend on the item. The interval is that of the mean difference from it, over
    items.

    A rater *like the others* draws labels from s. Then the sum of the gains has a known mean,
    variance and skewness, and its lower tail is that of the gamma distribution with these. The
    raters whose agreement is too low are found by the procedure of Benjamini and Hochberg:
    of those who are found, at most 5 % are expected to be like the others. Of these, only raters
    whose agreement is not clearly above chance are called no better than chance; a rater who is
    merely worse than the others is not.
    """
    compared = _Comparison(votes)
    rater = compared.rater
    smoothing = compared.find_smoothing()
    scores = compared.scores(smoothing)
    n = compared.sum_by_rater()
    with np.errstate(divide="ignore", invalid="ignore"):
        agreement = compared.sum_by_rater(scores) / n
        differences = scores - compared.chance(smoothing, scores)
        mean = np.where(n > 1, compared.sum_by_rater(differences) / n, np.nan)
        squares = compared.sum_by_rater((differences - mean[rater]) ** 2)
        error = stdtrit(n - 1.0, (1.0 + LEVEL) / 2.0) * np.sqrt(squares / (n - 1.0) / n)
    enough = n >= _FEWEST_ANNOTATIONS
    error[~enough] = np.nan
    unlike_others = np.zeros(len(n), dtype=bool)
    if enough.any():
        p_values = _like_the_others(compared, smoothing)[enough]
        unlike_others[enough] = false_discovery_control(p_values) <= _FALSE_DISCOVERY_RATE
    return RaterAgreement(
        annotations=n.astype(np.int64),
        agreement=agreement,
        chance=agreement - mean,
        low=agreement - error,
        high=agreement + error,
        above_chance=mean > error,
        no_better_than_chance=(mean <= error) & unlike_others,
    )


def _like_the_others(compared: "_Comparison", smoothing: float) -> Array:
    """For each rater, the probability that one like the others agrees so little."""
    mean = compared.moment(1, smoothing)
    second = compared.moment(2, smoothing)
    third = compared.moment(3, smoothing) - 3.0 * mean * second + 2.0 * mean**3
    shortfall = compared.sum_by_rater(mean - compared.gains(smoothing))
    variance = compared.sum_by_rater(second - mean**2)
    varies = variance > 1e-9 * compared.sum_by_rater()
    deviation = np.sqrt(np.where(varies, variance, 1.0))
    skewness = np.maximum(-compared.sum_by_rater(third) / deviation**3, _LEAST_SKEWNESS)
    shape = 4.0 / skewness**2
    quantile = np.maximum(shape + 2.0 * shortfall / deviation / skewness, 0.0)
    return np.where(varies, gammaincc(shape, quantile), 1.0)


class _Comparison:
    """Annotations that can be compared, and their votes.

    Attributes
    ----------
    rater : ndarray of int of shape (n_annotations,)
        Sorted.
    """

    def __init__(self, votes: RaterVotes) -> None:
        votes = votes.take(votes.label >= 0)
        item, _, _ = votes.annotations
        n_raters = np.bincount(item, minlength=votes.n_items)
        votes = votes.take(n_raters[votes.item] > 1)
        self._votes = votes
        self._item, self.rater, self._annotation = votes.annotations
        # A cell is a label of an item that has votes.
        keys = votes.item.astype(np.int64) * votes.n_labels + votes.label
        cells, self._cell, counts = np.unique(keys, return_inverse=True, return_counts=True)
        self._cell_item, self._cell_label = np.divmod(cells, votes.n_labels)
        self._counts = counts.astype(np.float64)
        self._n_given = np.bincount(self._annotation).astype(np.float64)
        n_votes = np.bincount(votes.item, minlength=votes.n_items)
        self._n_others = n_votes[self._item] - self._n_given
        label_votes = np.bincount(votes.label, minlength=votes.n_labels)
        self._shares = label_votes / max(len(votes.label), 1)

    def sum_by_rater(self, values: Array | None = None) -> Array:
        """Sums over the annotations of each rater; their numbers by default."""
        return np.bincount(self.rater, values, self._votes.n_raters).astype(np.float64)

    def find_smoothing(self) -> float:
        """The smoothing with which the gains are, on average, what they are expected to be."""

        def surplus(log_smoothing: float) -> float:
            smoothing = np.exp(log_smoothing)
            return float((self.gains(smoothing) - self.moment(1, smoothing)).sum())

        least, most = np.log(_SMOOTHING)
        if surplus(least) >= 0:
            return _SMOOTHING[0]
        if surplus(most) <= 0:
            return _SMOOTHING[1]
        return float(np.exp(brentq(surplus, least, most, xtol=1e-3)))

    def scores(self, smoothing: float) -> Array:
        """Mean probability of the labels of each annotation, given the votes of the others."""
        others = self._counts[self._cell] - 1.0
        votes = self._mean_over_labels(others + smoothing * self._shares[self._votes.label])
        return votes / (self._n_others + smoothing)

    def gains(self, smoothing: float) -> Array:
        """How much larger these probabilities are than the overall shares."""
        return self.scores(smoothing) - self._mean_over_labels(self._shares[self._votes.label])

    def moment(self, power: int, smoothing: float) -> Array:
        """The expected power of the gain of a label that is drawn given the votes of the others."""
        total = np.zeros(len(self.rater))
        for k in range(power + 1):
            sums = self._sum_over_labels(power + 1 - k, k, smoothing)
            total += (-1) ** k * comb(power, k) * sums
        return total

    def chance(self, smoothing: float, scores: Array) -> Array:
        """The mean score of the labels of each annotation on the other items of its rater."""
        weight = 1.0 / (self._n_others + smoothing)
        prior = smoothing * self._shares[self._votes.label]
        votes = self._votes_over_items(weight)
        votes += prior * self.sum_by_rater(weight)[self._votes.rater]
        n = self.sum_by_rater()[self.rater]
        return (self._mean_over_labels(votes) - scores) / (n - 1.0)

    def _mean_over_labels(self, values: Array) -> Array:
        """For each annotation the mean over its votes."""
        return np.bincount(self._annotation, values) / self._n_given

    def _sum_over_labels(self, power: int, share_power: int, smoothing: float) -> Array:
        """For each annotation the sum of s^power q^share_power over all labels."""
        prior = smoothing * self._shares
        weight = self._shares**share_power
        cell_prior = prior[self._cell_label]
        cell_weight = weight[self._cell_label]
        with_own = cell_weight * (self._counts + cell_prior) ** power
        without_own = cell_weight * (self._counts - 1.0 + cell_prior) ** power
        more = with_own - cell_weight * cell_prior**power
        by_item = np.bincount(self._cell_item, more, self._votes.n_items)
        own = np.bincount(self._annotation, (with_own - without_own)[self._cell])
        total = weight @ prior**power + by_item[self._item] - own
        return total / (self._n_others + smoothing) ** power

    def _votes_over_items(self, weight: Array) -> Array:
        """For each vote the weighted number of others for its label, over the rater's items."""
        votes = self._votes
        n_raters = votes.n_raters
        weights = sparse.csr_array(
            (weight, (self.rater, self._item)), shape=(n_raters, votes.n_items)
        )
        own = sparse.csr_array(
            (weight[self._annotation], (votes.rater, votes.label)),
            shape=(n_raters, votes.n_labels),
        )
        counts = votes.counts
        order = np.argsort(votes.rater, kind="stable")
        sorted_raters = votes.rater[order]
        found = np.empty(len(order))
        step = max(1, _BLOCK_CELLS // votes.n_labels)
        for start in range(0, n_raters, step):
            rows = slice(start, start + step)
            block = (weights[rows] @ counts - own[rows]).toarray()
            first, last = np.searchsorted(sorted_raters, [start, start + step])
            chosen = order[first:last]
            found[chosen] = block[votes.rater[chosen] - start, votes.label[chosen]]
        return found
