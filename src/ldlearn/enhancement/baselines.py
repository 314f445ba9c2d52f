"""The baselines of recovery: what 0/1 labels alone give, without looking at a feature."""

from typing import Any

import numpy as np

from ldlearn.base import Capabilities, Enhancer
from ldlearn.core.simplex import (
    TINY,
    Mask,
    SampleWeight,
    normalize_rows,
    project_simplex,
    row_weights,
    softmax,
)
from ldlearn.core.targets import fill_unknown, possible_labels


class _Baseline(Enhancer):
    is_baseline = True

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.keeps_zeros = True
        return tags


class UniformLE(_Baseline):
    r"""Equal shares for the positive labels: ``d_i = y_i / |y_i|``.

    A baseline: no feature is looked at. It beats several published methods, so it belongs in every
    table. A label that is unknown counts as its fraction of positives in the rows where it is
    observed.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> UniformLE().fit_enhance([[0.0], [1.0]], [[1, 1, 0], [0, 0, 1]])
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
    ) -> None:
        self.label_distributions_ = normalize_rows(fill_unknown(Y, observed, sample_weight))


class PriorLE(_Baseline):
    r"""The class prior on the positive labels: ``d_i`` proportional to ``y_i * prior``.

    The prior is the column mean of ``Y / |Y|``, in which an unknown label counts as its fraction of
    positives elsewhere; a row's unknown labels count as possible. A baseline: no feature is looked
    at. DLDL with an intercept, beta = 0 and gamma to infinity gives this after one iteration.

    Attributes
    ----------
    prior_ : ndarray of shape (n_labels,)
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> PriorLE().fit_enhance([[0.0], [1.0], [2.0]], [[1, 1], [1, 0], [1, 0]]).round(3)
    array([[0.833, 0.167],
           [1.   , 0.   ],
           [1.   , 0.   ]])
    """

    learned = {"prior_": "float (n_labels)"}

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
    ) -> None:
        shares = normalize_rows(fill_unknown(Y, observed, sample_weight))
        self.prior_ = np.average(shares, axis=0, weights=sample_weight)
        self.label_distributions_ = normalize_rows(possible_labels(Y, observed) * self.prior_)


class ProjectedPriorLE(_Baseline):
    r"""Label frequencies projected onto the simplex of each row's positive labels.

    ``d_i = argmin |d - frequencies|`` over distributions on the support of ``y_i``. A baseline: no
    feature is looked at. It is what the released code of the DLDL paper computes to within its own
    noise. An unknown label counts as possible in its row.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_labels,)
        Column means of Y, over the rows where the label is observed.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: None (not a published method).

    Examples
    --------
    >>> ProjectedPriorLE().fit_enhance([[0.0], [1.0]], [[1, 1], [1, 0]])
    array([[0.75, 0.25],
           [1.  , 0.  ]])
    """

    learned = {"frequencies_": "float (n_labels)"}

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
    ) -> None:
        counts = row_weights(Y, sample_weight)
        seen = np.ones(Y.shape) if observed is None else observed
        self.frequencies_ = (counts @ Y) / np.maximum(counts @ seen, TINY)
        frequencies = np.broadcast_to(self.frequencies_, Y.shape)
        self.label_distributions_ = project_simplex(frequencies, possible_labels(Y, observed))


class SoftmaxLE(Enhancer):
    r"""Softmax of the logical labels: ``d_i = softmax(y_i)``.

    A baseline: no feature is looked at. It is what a method with a softmax at its end gives when it
    learns nothing, for instance `GLLE` with a small ``lam``: a positive label gets e times the
    degree of a negative one, whatever the data. On distributions that are nearly uniform it scores
    well, and much of the literature reports no more than it. Where a 0 means a degree near 0 **it
    loses to equal shares** (`UniformLE`).

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

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
    ) -> None:  # rows do not see each other
        self.label_distributions_ = softmax(Y.astype(float))
