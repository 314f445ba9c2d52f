"""Softmax of the logical labels: a baseline that published tables contain without saying so."""

from typing import Any

from ldlearn.base import Capabilities, Enhancer, SampleWeightMixin
from ldlearn.core.simplex import Mask, SampleWeight, softmax


class SoftmaxLE(SampleWeightMixin, Enhancer):
    r"""Softmax of the logical labels: ``d_i = softmax(y_i)``.

    A baseline: no feature is looked at. It is what a method with a softmax at its end gives when it learns nothing, for
    instance `GLLE` with a small ``lam``: a positive label gets e times the degree of a negative one, whatever the
    data. On distributions that are nearly uniform it scores well, and much of the literature reports no more than it.
    Where a 0 means a degree near 0 **it loses to equal shares** (`UniformLE`).

    .. math:: d_{ij} = e^{y_{ij}} / \sum_k e^{y_{ik}}

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> from ldlearn.enhancement import SoftmaxLE
    >>> SoftmaxLE().fit_enhance([[0.0], [1.0]], [[1, 1, 0], [0, 0, 1]]).round(3)
    array([[0.422, 0.422, 0.155],
           [0.212, 0.212, 0.576]])
    """

    is_baseline = True

    def capabilities(self) -> Capabilities:
        """What the estimator accepts and promises."""
        return super().capabilities()._replace(sparse=True)

    def _fit(self, X: Any, Y: Mask, sample_weight: SampleWeight | None = None) -> None:  # rows do not see each other
        self.label_distributions_ = softmax(Y.astype(float))
