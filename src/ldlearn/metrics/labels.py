"""Errors of what is read off a distribution: top label, labels above a threshold, ranking."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import (
    Convention,
    MetricValue,
    check_distribution_pair,
    mean_or_rows,
    round_for_ranking,
)


def zero_one_loss(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Whether the top labels differ; among equal degrees the first label is the top one.

    For a row: ``[argmax p != argmax d]``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import zero_one_loss
    >>> zero_one_loss([[0.7, 0.3], [0.4, 0.6]], [[0.6, 0.4], [0.9, 0.1]])
    0.5
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    differs = _top_labels(D) != _top_labels(P)
    return mean_or_rows(differs.astype(np.float64), per_row)


def error_probability(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Chance that a label drawn from the truth is not the predicted top label.

    For a row: ``1 - d_(argmax p)``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import error_probability
    >>> error_probability([[0.75, 0.25]], [[0.4, 0.6]])
    0.75
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    rows = np.arange(len(D))
    return mean_or_rows(1.0 - D[rows, _top_labels(P)], per_row)


def threshold_error(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    delta: float = 0.01,
    per_row: bool = False,
) -> MetricValue:
    """Share of the labels on which the two rows, cut at a threshold, disagree.

    For a row: ``sum_j [(d_j > delta) != (p_j > delta)] / c``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    delta : float
        A label counts as present if its degree is strictly greater.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

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
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_share_of_disagreement(D, P, delta), per_row)


def threshold_agreement(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    delta: float = 0.01,
    per_row: bool = False,
) -> MetricValue:
    """Share of the labels on which the two rows, cut at a threshold, agree.

    For a row: ``sum_j [(d_j > delta) == (p_j > delta)] / c``. Greater is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    delta : float
        A label counts as present if its degree is strictly greater.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    See Also
    --------
    threshold_error : one minus this.
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(1.0 - _share_of_disagreement(D, P, delta), per_row)


def _top_labels(D: Array) -> Array:
    return round_for_ranking(D).argmax(axis=1)


def _share_of_disagreement(D: Array, P: Array, delta: float) -> Array:
    # Strictly above, as `binarize` makes labels.
    return (np.greater(D, delta) != np.greater(P, delta)).mean(axis=1)


def spearman(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Spearman's rank correlation over the labels.

    For a row: ``Pearson correlation of the mid-ranks of d and p``. Greater is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

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
    D, P = check_distribution_pair(D_true, D_pred, convention)
    middle = (D.shape[1] + 1) / 2
    a = rankdata(round_for_ranking(D), axis=1) - middle
    b = rankdata(round_for_ranking(P), axis=1) - middle
    values = _correlation((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))
    return mean_or_rows(values, per_row)


def kendall(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    variant: Literal["b", "a"] = "b",
    per_row: bool = False,
) -> MetricValue:
    """Kendall's rank correlation over the pairs of labels.

    For a row: ``sum_(j<k) sgn(d_j - d_k) sgn(p_j - p_k) / number of pairs (tau-b: untied pairs)``.
    Greater is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    variant : {"b", "a"}
        Divide by the geometric mean of the numbers of pairs not tied in truth and in prediction
        ("b"), or by the number of pairs ("a", the formula of most papers; ties then pull it to 0).
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

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
    D, P = check_distribution_pair(D_true, D_pred, convention)
    if variant not in ("a", "b"):
        raise InputError(f"variant must be 'a' or 'b', got {variant!r}.")
    D = round_for_ranking(D)
    P = round_for_ranking(P)
    n_rows, n_labels = D.shape
    balance, untied_true, untied_pred = np.zeros((3, n_rows))
    # One label against the later ones at a time: all pairs at once would need c times the memory of
    # the matrices.
    for j in range(n_labels - 1):
        s = np.sign(D[:, j + 1 :] - D[:, j, np.newaxis])
        t = np.sign(P[:, j + 1 :] - P[:, j, np.newaxis])
        balance += (s * t).sum(axis=1)
        untied_true += np.abs(s).sum(axis=1)
        untied_pred += np.abs(t).sum(axis=1)
    if variant == "a":
        untied_true = untied_pred = np.full(n_rows, n_labels * (n_labels - 1) / 2)
    return mean_or_rows(_correlation(balance, untied_true, untied_pred), per_row)


def _correlation(product: Array, square_true: Array, square_pred: Array) -> Array:
    """Return product / sqrt(square_true * square_pred).

    It is 1 if both squares are 0, and 0 if one of them is.
    """
    length = np.sqrt(square_true * square_pred)
    both_constant = (square_true == square_pred) & (length == 0)
    result = np.divide(product, length, out=both_constant.astype(np.float64), where=length > 0)
    # Rounding can take a perfect correlation beyond its range.
    return np.clip(result, -1.0, 1.0)
