"""Latent classes of rows: the votes of a row of class k are Dirichlet-multinomial."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln

from ldlearn.core.simplex import Array, SampleWeight, softmax

# Of a class: more votes than that hardly differ from multinomial ones.
_LARGEST_CONCENTRATION = 60.0
_FIRST_CONCENTRATION = 2.0  # intervals from a few steps with larger ones are too narrow
_ALPHA_STEPS = 5


class VoteTable:
    """Counts of votes in a form in which they have likelihoods under many classes at once.

    Only the positive counts are stored. The terms of the likelihood are computed once for each
    different count of a label, and for each different number of votes of a row.

    Parameters
    ----------
    counts : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> table = VoteTable(np.array([[1.0, 0.0], [2.0, 0.0]]))
    >>> np.exp(table.log_likelihood(np.array([[1.0, 1.0]]))).round(6)  # 1/2, and 1/2 * 2/3
    array([[0.5     ],
           [0.333333]])
    """

    def __init__(self, counts: Array) -> None:
        n = len(counts)
        rows, labels = np.nonzero(counts)
        pairs = np.column_stack([labels, counts[rows, labels]])
        different, term = np.unique(pairs, axis=0, return_inverse=True)
        self._labels = different[:, 0].astype(np.intp)
        self._counts = different[:, 1]
        self._terms = _indicator(rows, term.ravel(), (n, len(different)))
        self._totals, total = np.unique(counts.sum(axis=1), return_inverse=True)
        self._rows_by_total = _indicator(np.arange(n), total, (n, len(self._totals)))

    def log_likelihood(self, alpha: Array) -> Array:
        """Log-probability of the votes of each row, in their order, if it is of each class.

        Parameters
        ----------
        alpha : ndarray of shape (n_classes, n_labels)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        of_label = alpha.T[self._labels]
        size = alpha.sum(axis=1)
        by_label = gammaln(self._counts[:, None] + of_label) - gammaln(of_label)
        by_total = gammaln(self._totals[:, None] + size) - gammaln(size)
        return self._terms @ by_label - self._rows_by_total @ by_total

    def update(self, alpha: Array, responsibilities: Array, prior_vote: Array) -> Array:
        """Parameters with a higher expected likelihood, by Minka's fixed point iteration.

        Parameters
        ----------
        alpha : ndarray of shape (n_classes, n_labels)
        responsibilities : ndarray of shape (n_samples, n_classes)
            How often each row counts for each class.
        prior_vote : ndarray of shape (n_labels,)
            A distribution. Each class has one more row, whose single vote is spread like this: a
            Dirichlet prior of the proportions of alpha, which tells nothing about their sum.

        Returns
        -------
        ndarray of shape (n_classes, n_labels)
        """
        frequency = self._terms.T @ responsibilities
        frequency_of_total = self._rows_by_total.T @ responsibilities
        for _ in range(_ALPHA_STEPS):
            of_label = alpha.T[self._labels]
            size = alpha.sum(axis=1)
            by_label = digamma(self._counts[:, None] + of_label) - digamma(of_label)
            by_total = digamma(self._totals[:, None] + size) - digamma(size)
            slope = np.zeros_like(alpha)
            np.add.at(slope.T, self._labels, frequency * by_label)
            slope_of_size = np.sum(frequency_of_total * by_total, axis=0)
            slope_of_size += 1.0 / size
            alpha = (alpha * slope + prior_vote) / slope_of_size[:, None]
            excess = alpha.sum(axis=1, keepdims=True) / _LARGEST_CONCENTRATION
            alpha = alpha / np.maximum(excess, 1.0)
        return alpha


def _indicator(rows: Array, columns: Array, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def fit_classes(
    table: VoteTable,
    mean: Array,
    *,
    weights: SampleWeight,
    n_steps: int,
) -> tuple[Array, Array]:
    """Parameters of as many classes as labels, and class probabilities of the rows, by EM steps.

    Each class begins around a label of its own.

    Parameters
    ----------
    table : VoteTable
    mean : ndarray of shape (n_labels,)
        Positive shares of the labels in all votes: the first shares of the classes, and the
        ``prior_vote`` of each.
    weights : ndarray of shape (n_samples,)
    n_steps : int

    Returns
    -------
    alpha : ndarray of shape (n_labels, n_labels)
    responsibilities : ndarray of shape (n_samples, n_labels)
        Rows sum to one.
    """
    alpha = _FIRST_CONCENTRATION * (0.7 * np.eye(len(mean)) + 0.3 * mean)
    shares = mean
    responsibilities = softmax(np.log(shares) + table.log_likelihood(alpha))
    for _ in range(n_steps):
        alpha = table.update(alpha, weights[:, None] * responsibilities, mean)
        # A class without rows does not lose the one of its prior.
        sizes = weights @ responsibilities + mean
        shares = sizes / sizes.sum()
        responsibilities = softmax(np.log(shares) + table.log_likelihood(alpha))
    return alpha, responsibilities
