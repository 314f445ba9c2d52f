"""VoteShares: the baseline of counts of votes, which uses no feature."""

from typing import Any

import numpy as np

from ldlearn.base import Capabilities, JointModel, NonNegative, VoteCountMixin, estimator_dataclass
from ldlearn.core.simplex import Array, SampleWeight, row_weights


@estimator_dataclass
class VoteShares(VoteCountMixin, JointModel):
    r"""Shares of the votes of each row: a baseline that uses no feature.

    The degrees of a row with votes v and L labels are :math:`(v_j + a) / (\sum_k v_k + a L)`. The
    prediction for a row without votes is the share of each label in the votes of all training rows.

    Parameters
    ----------
    smoothing : float, default=0
        a, the votes that are added to each label of a row: 0 gives the raw shares, 1 Laplace's rule
        of succession.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    mean_distribution_ : ndarray of shape (n_labels,)
        The shares of all votes, with the same smoothing.
    votes_per_row_ : float
        Mean number of votes of the rows that have any.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> VoteShares(smoothing=1).fit([[0.0], [1.0]], [[3, 0], [1, 2]]).label_distributions_
    array([[0.8, 0.2],
           [0.4, 0.6]])
    """

    learned = {"mean_distribution_": "float (n_labels)"}

    is_baseline = True
    _test_params = ({}, {"smoothing": 1.0})

    smoothing: NonNegative = 0.0

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.keeps_zeros = self.smoothing == 0
        return tags

    def _fit(self, X: Any, V: Array, sample_weight: SampleWeight | None = None) -> None:
        self._count_votes(V, sample_weight)
        totals = row_weights(V, sample_weight) @ V
        self.mean_distribution_ = self._smooth(totals[None])[0]
        self.label_distributions_ = self._enhance(X, V)

    def _predict(self, X: Any) -> Array:
        return np.tile(self.mean_distribution_, (X.shape[0], 1))

    def _enhance(self, X: Any, V: Array) -> Array:
        voted = V.any(axis=1)
        D = self._predict(X)
        D[voted] = self._smooth(V[voted])
        return D

    def _smooth(self, votes: Array) -> Array:
        smoothed = votes + self.smoothing
        return smoothed / smoothed.sum(axis=1, keepdims=True)
