"""Errors of what is read off a distribution: top label, labels above a threshold, ranking."""

from typing import Literal

import numpy as np
from scipy.stats import rankdata

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import round_for_ranking
from ldlearn.metrics.registry import register


@register("0/1 loss", "[argmax p != argmax d]")
def zero_one_loss(D_true: Array, D_pred: Array) -> Array:
    """Whether the top labels differ; among equal degrees the first label is the top one.

    Examples
    --------
    >>> from ldlearn.metrics import zero_one_loss
    >>> zero_one_loss([[0.7, 0.3], [0.4, 0.6]], [[0.6, 0.4], [0.9, 0.1]])
    0.5
    """
    top_true, top_pred = (round_for_ranking(D).argmax(axis=1) for D in (D_true, D_pred))
    return np.asarray(top_true != top_pred, dtype=np.float64)


@register("Error probability", "1 - d_(argmax p)")
def error_probability(D_true: Array, D_pred: Array) -> Array:
    """Chance that a label drawn from the truth is not the predicted top label.

    Examples
    --------
    >>> from ldlearn.metrics import error_probability
    >>> error_probability([[0.75, 0.25]], [[0.4, 0.6]])
    0.75
    """
    top = round_for_ranking(D_pred).argmax(axis=1)[:, np.newaxis]
    return 1.0 - np.take_along_axis(D_true, top, axis=1)[:, 0]


@register("Threshold error (DLDL's one-error)", "sum_j [(d_j > delta) != (p_j > delta)] / c")
def threshold_error(D_true: Array, D_pred: Array, *, delta: float = 0.01) -> Array:
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
    learning. A predictor with all degrees above ``delta`` scores the share of true degrees at or
    below it.

    Examples
    --------
    >>> from ldlearn.metrics import threshold_error
    >>> threshold_error([[0.99, 0.01, 0.0, 0.0]], [[0.9, 0.05, 0.05, 0.0]])
    0.5
    """
    return _share_of_disagreement(D_true, D_pred, delta)


@register(
    "Threshold agreement", "sum_j [(d_j > delta) == (p_j > delta)] / c", greater_is_better=True
)
def threshold_agreement(D_true: Array, D_pred: Array, *, delta: float = 0.01) -> Array:
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


def _share_of_disagreement(D_true: Array, D_pred: Array, delta: float) -> Array:
    # Strictly above, as `binarize` makes labels.
    return np.asarray(((D_true > delta) != (D_pred > delta)).mean(axis=1))


@register("Spearman", "Pearson correlation of the mid-ranks of d and p", greater_is_better=True)
def spearman(D_true: Array, D_pred: Array) -> Array:
    """Spearman's rank correlation over the labels.

    Notes
    -----
    Every row counts. If only the truth or only the prediction is constant, the row scores 0; if
    both are, 1.

    Examples
    --------
    >>> from ldlearn.metrics import spearman
    >>> spearman([[0.5, 0.3, 0.2]], [[0.2, 0.3, 0.5]])
    -1.0
    """
    ranks_true, ranks_pred = (rankdata(round_for_ranking(D), axis=1) for D in (D_true, D_pred))
    middle = (D_true.shape[1] + 1) / 2
    a, b = ranks_true - middle, ranks_pred - middle
    return _correlation((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))


@register(
    "Kendall",
    "sum_(j<k) sgn(d_j - d_k) sgn(p_j - p_k) / number of pairs (tau-b: untied pairs)",
    greater_is_better=True,
)
def kendall(D_true: Array, D_pred: Array, *, variant: Literal["b", "a"] = "b") -> Array:
    """Kendall's rank correlation over the pairs of labels.

    Other Parameters
    ----------------
    variant : {"b", "a"}
        Divide by the geometric mean of the numbers of pairs not tied in truth and in prediction
        ("b"), or by the number of pairs ("a", the formula of most papers; ties then pull it to 0).

    Notes
    -----
    Every row counts. If only the truth or only the prediction is constant, the row scores 0; if
    both are, 1 by tau-b and 0 by tau-a.

    Examples
    --------
    >>> from ldlearn.metrics import kendall
    >>> kendall([[0.4, 0.3, 0.2, 0.1]], [[0.3, 0.4, 0.2, 0.1]])  # 5 pairs agree, 1 does not
    0.6666...
    """
    if variant not in ("a", "b"):
        raise InputError(f"variant must be 'a' or 'b', got {variant!r}.")
    D_true, D_pred = round_for_ranking(D_true), round_for_ranking(D_pred)
    n_rows, n_labels = D_true.shape
    balance, untied_true, untied_pred = np.zeros((3, n_rows))
    # One label against the later ones at a time: all pairs at once would need c times the memory of
    # the matrices.
    for j in range(n_labels - 1):
        s = np.sign(D_true[:, j + 1 :] - D_true[:, j, np.newaxis])
        t = np.sign(D_pred[:, j + 1 :] - D_pred[:, j, np.newaxis])
        balance += (s * t).sum(axis=1)
        untied_true += np.abs(s).sum(axis=1)
        untied_pred += np.abs(t).sum(axis=1)
    if variant == "a":
        untied_true = untied_pred = np.full(n_rows, n_labels * (n_labels - 1) / 2)
    return _correlation(balance, untied_true, untied_pred)


def _correlation(product: Array, square_true: Array, square_pred: Array) -> Array:
    """Return product / sqrt(square_true * square_pred); 1 if both squares are 0, and 0 if one of
    them is."""
    length = np.sqrt(square_true * square_pred)
    result = np.asarray((square_true == square_pred) & (length == 0), dtype=np.float64)
    np.divide(product, length, out=result, where=length > 0)
    # Rounding can take a perfect correlation beyond its range.
    return np.clip(result, -1.0, 1.0, out=result)
