"""Errors of the labels one would read off a distribution: the top one, or those above a threshold."""

import numpy as np

from ldlearn.metrics.inputs import FloatArray, with_ties
from ldlearn.metrics.registry import register


@register(title="0/1 loss", formula="[argmax p != argmax d]", bounds=lambda c: (0.0, 1.0))
def zero_one_loss(D_true: FloatArray, D_pred: FloatArray) -> FloatArray:
    """Whether the top labels differ; among equal degrees the first label is the top one.

    Examples
    --------
    >>> from ldlearn.metrics import zero_one_loss
    >>> zero_one_loss([[0.7, 0.3], [0.4, 0.6]], [[0.6, 0.4], [0.9, 0.1]])
    0.5
    """
    return np.asarray(with_ties(D_true).argmax(axis=1) != with_ties(D_pred).argmax(axis=1), dtype=np.float64)


@register(title="Error probability", formula="1 - d_(argmax p)", bounds=lambda c: (0.0, 1.0))
def error_probability(D_true: FloatArray, D_pred: FloatArray) -> FloatArray:
    """Chance that a label drawn from the truth is not the predicted top label.

    Examples
    --------
    >>> from ldlearn.metrics import error_probability
    >>> error_probability([[0.75, 0.25]], [[0.4, 0.6]])
    0.75
    """
    top = with_ties(D_pred).argmax(axis=1)[:, np.newaxis]
    return 1.0 - np.take_along_axis(D_true, top, axis=1)[:, 0]


@register(
    title="Threshold error (DLDL's one-error)",
    formula="sum_j [(d_j > delta) != (p_j > delta)] / c",
    bounds=lambda c: (0.0, 1.0),
)
def threshold_error(D_true: FloatArray, D_pred: FloatArray, *, delta: float = 0.01) -> FloatArray:
    """Share of the labels on which the two rows, cut at a threshold, disagree.

    Other Parameters
    ----------------
    delta : float
        A label counts as present if its degree is strictly greater.

    See Also
    --------
    threshold_agreement : one minus this.

    Notes
    -----
    The DLDL paper calls it one-error. Its formula and code count agreements, its tables print
    disagreements. It is the Hamming loss of the binarised rows and not the one-error of multi-label
    learning. A predictor with all degrees above ``delta`` scores the share of true degrees at or below it.

    Examples
    --------
    >>> from ldlearn.metrics import threshold_error
    >>> threshold_error([[0.99, 0.01, 0.0, 0.0]], [[0.9, 0.05, 0.05, 0.0]])
    0.5
    """
    return _share_of_disagreement(D_true, D_pred, delta)


@register(
    title="Threshold agreement",
    formula="sum_j [(d_j > delta) == (p_j > delta)] / c",
    bounds=lambda c: (0.0, 1.0),
    greater_is_better=True,
)
def threshold_agreement(D_true: FloatArray, D_pred: FloatArray, *, delta: float = 0.01) -> FloatArray:
    """Share of the labels on which the two rows, cut at a threshold, agree.

    Other Parameters
    ----------------
    delta : float
        A label counts as present if its degree is strictly greater.

    See Also
    --------
    threshold_error : one minus this.
    """
    return 1.0 - _share_of_disagreement(D_true, D_pred, delta)


def _share_of_disagreement(D_true: FloatArray, D_pred: FloatArray, delta: float) -> FloatArray:
    # Strictly above, as `binarize` makes labels.
    share: FloatArray = ((D_true > delta) != (D_pred > delta)).mean(axis=1)
    return share
