"""Joint models that learn from counts of votes instead of 0/1 labels."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ldlearn.base.errors import raise_input_errors
from ldlearn.base.estimator import Capabilities
from ldlearn.base.kinds import weighted_mean
from ldlearn.base.row_data import RowData, validate_sample_weight
from ldlearn.core.simplex import Array, SampleWeight, log_degrees, positive_or_one, row_weights
from ldlearn.core.targets import check_counts
from ldlearn.exceptions import InputError


class VoteCountMixin:
    """For a `JointModel` whose y are counts of votes; they may be weighted: non-negative numbers.

    A method calls ``_count_votes`` in ``_fit``. Its ``votes_per_row_`` is the mean number of votes
    of the rows that have any. A method without ``enhance`` may take counts in some settings only:
    it sets the tag to False in the others, and is then an ordinary joint model.
    """

    learned: ClassVar[Mapping[str, str]] = {"_smallest": "float"}

    _validate_features: Callable[..., Any]
    _match_labels: Callable[..., Array]
    _predict: Callable[..., Array]

    def __sklearn_tags__(self) -> Capabilities:
        tags: Capabilities = super().__sklearn_tags__()  # type: ignore[misc]
        tags.counts = True
        return tags

    def _check_targets(self, y: Any) -> Array:
        if not self.__sklearn_tags__().counts:
            return super()._check_targets(y)  # type: ignore[misc]
        name = type(self).__name__
        return check_counts(y, f"{name} needs every label counted; write 0 where it got no votes.")

    def _count_votes(self, V: Array, sample_weight: SampleWeight | None) -> None:
        n_votes = V.sum(axis=1)
        weights = row_weights(V, sample_weight)
        voted = (n_votes > 0) & (weights > 0)
        if not voted.any():
            raise InputError("There are no votes: every count of y is 0.")
        total = float(weights[voted] @ n_votes[voted])
        self.votes_per_row_ = total / float(weights[voted].sum())
        # No degree is taken to be nearer to 0 than so many votes can show.
        self._smallest = 0.5 / (total + 1.0)

    def _validate_new_rows(self, X: Any, y: Any) -> tuple[Any, Array, RowData]:
        check_is_fitted(self)
        features = self._validate_features(X)
        V = self._match_labels(y, self._check_targets)
        with raise_input_errors():
            check_consistent_length(features, V)
        return features, V, {}

    def _keep_vote_sample(self, *labels: Any) -> None:
        """Keep nothing of counted votes: `votes_per_row_` need not be estimated."""
        if not self.__sklearn_tags__().counts:
            super()._keep_vote_sample(*labels)  # type: ignore[misc]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log-probability of a vote under ``predict(X)``: greater is better, at most 0.

        It is the negative cross-entropy of the shares of the votes and the predictions; a row
        counts as often as it has votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like or data frame of shape (n_samples, n_labels)
            Counts of votes; the columns of a data frame are matched by name.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each vote of a row counts in the mean.
        """
        if not self.__sklearn_tags__().counts:
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        features, V, _ = self._validate_new_rows(X, y)
        predicted = self._predict(features)
        n_votes = V.sum(axis=1)
        if not n_votes.any():
            raise InputError("There are no votes to score: every count of y is 0.")
        weights = n_votes
        if sample_weight is not None:
            weights = n_votes * validate_sample_weight(sample_weight, V)
        shares = V / positive_or_one(n_votes)[:, None]
        smallest = np.log(self._smallest)
        log_degrees_of_votes = np.maximum(log_degrees(predicted), smallest)
        return weighted_mean(np.sum(shares * log_degrees_of_votes, axis=1), weights)
