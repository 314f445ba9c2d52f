"""Agreement of several raters: Krippendorff's alpha for labels of which a rater gives several."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import stdtrit

from ldlearn.core.simplex import Array, Indices, Mask

LEVEL = 0.95  # of intervals
_FEWEST_ITEMS = 10  # with a label, and without; intervals from fewer miss the truth too often


@dataclass(frozen=True, eq=False)
class RaterVotes:
    """Which rater gave which label to which item, as numbers.

    Attributes
    ----------
    item, rater, label : ndarray of int of shape (n_votes,)
        The label is -1 where a rater annotated an item and gave no label.
    n_items, n_raters, n_labels : int
    """

    item: Indices
    rater: Indices
    label: Indices
    n_items: int
    n_raters: int
    n_labels: int

    @cached_property
    def annotations(self) -> tuple[Indices, Indices, Indices]:
        """Item and rater of each annotation, sorted by rater, and the annotation of each vote."""
        pairs = self.rater.astype(np.int64) * self.n_items + self.item
        distinct, annotation = np.unique(pairs, return_inverse=True)
        return distinct % self.n_items, distinct // self.n_items, annotation

    @property
    def counts(self) -> Any:
        """How many raters gave a label to an item, as a sparse matrix (n_items, n_labels)."""
        given = self.label >= 0
        entries = (self.item[given], self.label[given])
        shape = (self.n_items, self.n_labels)
        return sparse.csr_array((np.ones(given.sum()), entries), shape=shape)

    def distinct(self) -> Self:
        """Each vote once."""
        pairs = self.rater.astype(np.int64) * self.n_items + self.item
        keys = pairs * (self.n_labels + 1) + self.label
        _, first = np.unique(keys, return_index=True)
        return self.take(first)

    def take(self, votes: Mask | Indices) -> Self:
        """Some of the votes."""
        sizes = (self.n_items, self.n_raters, self.n_labels)
        return type(self)(self.item[votes], self.rater[votes], self.label[votes], *sizes)


class Alpha(NamedTuple):
    """Krippendorff's alpha, overall and for each label, with 95 % intervals over the items.

    Attributes
    ----------
    overall, low, high : float
        NaN where it is undefined: no item has two annotations, or all of them are equal. There is
        no interval of a label that fewer than ten items have, or lack, in some annotation.
    by_label, low_by_label, high_by_label : ndarray of shape (n_labels,)
    """

    overall: float
    low: float
    high: float
    by_label: Array
    low_by_label: Array
    high_by_label: Array


def krippendorff_alpha(votes: RaterVotes) -> Alpha:
    r"""Krippendorff's alpha where a rater gives any number of labels to an item.

    Of label l, let c_il be the number of raters who gave it to item i, of the m_i who annotated
    that item, and p_l its share of all n annotations. Items with a single annotation are left out.

        observed_l = sum_i 2 c_il (m_i - c_il) / (m_i - 1) / n
        expected_l = 2 p_l (1 - p_l) n / (n - 1)
        alpha_l    = 1 - observed_l / expected_l
        alpha      = 1 - sum_l observed_l / sum_l expected_l

    alpha_l is the nominal alpha of "gave the label or not". The overall alpha has the number of
    labels in the symmetric difference of two label sets as distance; it is the nominal alpha if
    every rater gives one label.

    The standard error is that of a ratio of sums over independent items, linearised.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability.
    """
    item, _, _ = votes.annotations
    n_raters = np.bincount(item, minlength=votes.n_items)
    compared = n_raters > 1
    m = n_raters[compared].astype(np.float64)
    counts = votes.counts[compared]
    n = m.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        disagreement = counts * (2.0 * m / (m - 1.0))[:, None]
        disagreement = disagreement - counts * counts * (2.0 / (m - 1.0))[:, None]
        p = counts.sum(axis=0) / n
        expected = 2.0 * p * (1.0 - p) * n / (n - 1.0)
        expected = np.append(expected, expected.sum())
        disagreement = _append_row_sums(disagreement)
        ratio = disagreement.sum(axis=0) / n / expected
        # The change of the expected disagreement with each count.
        slopes = _append_row_sums(counts * (2.0 - 4.0 * p))
        change = disagreement - slopes * ratio
        mean_change = change.sum(axis=0) / n
        squares = (change * change).sum(axis=0)
        squares += mean_change * (mean_change * (m @ m) - 2.0 * (m @ change))
        n_items = len(m)
        variance = np.maximum(squares, 0.0) / (n * expected) ** 2 * n_items / (n_items - 1.0)
        error = stdtrit(n_items - 1.0, (1.0 + LEVEL) / 2.0) * np.sqrt(variance)
    error[_effective_items(counts, m) < _FEWEST_ITEMS] = np.nan
    alpha = np.where(expected > 0, 1.0 - ratio, np.nan)
    low = alpha - error
    high = np.minimum(alpha + error, 1.0)
    return Alpha(
        overall=float(alpha[-1]),
        low=float(low[-1]),
        high=float(high[-1]),
        by_label=alpha[:-1],
        low_by_label=low[:-1],
        high_by_label=high[:-1],
    )


def _effective_items(counts: Any, n_raters: Array) -> Indices:
    """How many items have each label or lack it, whichever is less; the largest of all at last."""
    entries = counts.tocoo()
    by_all = entries.data == n_raters[entries.row]
    n_labels = counts.shape[1]
    n_with = np.bincount(entries.col, minlength=n_labels)
    n_without = counts.shape[0] - np.bincount(entries.col[by_all], minlength=n_labels)
    fewer = np.minimum(n_with, n_without)
    return np.append(fewer, fewer.max())


def _append_row_sums(matrix: Any) -> Any:
    return sparse.hstack([matrix, matrix.sum(axis=1)[:, None]], format="csr")
