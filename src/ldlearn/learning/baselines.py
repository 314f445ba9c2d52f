"""The baseline of prediction: a constant."""

from typing import Any

import numpy as np

from ldlearn.base import Capabilities, Learner
from ldlearn.core.simplex import Array, SampleWeight


class MeanLDL(Learner):
    """The mean of the training distributions, for every row.

    A baseline: a predictor that does worse has learned nothing.

    Attributes
    ----------
    mean_distribution_ : ndarray of shape (n_labels,)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> MeanLDL().fit([[0.0], [1.0]], [[1.0, 0.0], [0.5, 0.5]]).predict([[7.0]])
    array([[0.75, 0.25]])
    """

    learned = {"mean_distribution_": "float (n_labels)"}

    is_baseline = True

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        self.mean_distribution_ = np.average(D, axis=0, weights=sample_weight)

    def _predict(self, X: Any) -> Array:
        return np.tile(self.mean_distribution_, (X.shape[0], 1))
