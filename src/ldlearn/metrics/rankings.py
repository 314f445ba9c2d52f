"""How well a prediction orders the labels of a row."""

from typing import Literal

import numpy as np
from scipy.stats import rankdata

from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import FloatArray, with_ties
from ldlearn.metrics.registry import register


@register(
    title="Spearman",
    formula="Pearson correlation of the mid-ranks of d and p",
    bounds=lambda c: (-1.0, 1.0),
    greater_is_better=True,
)
def spearman(D_true: FloatArray, D_pred: FloatArray) -> FloatArray:
    """Spearman's rank correlation over the labels.

    Notes
    -----
    It is undefined (NaN) for a row in which truth or prediction is constant; the mean is taken over the
    other rows, and is NaN if there are none.

    Examples
    --------
    >>> from ldlearn.metrics import spearman
    >>> spearman([[0.5, 0.3, 0.2]], [[0.2, 0.3, 0.5]])
    -1.0
    """
    ranks_true, ranks_pred = (rankdata(with_ties(D), axis=1) for D in (D_true, D_pred))
    middle = (D_true.shape[1] + 1) / 2
    a, b = ranks_true - middle, ranks_pred - middle
    return _correlation((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))


@register(
    title="Kendall",
    formula="sum_(j<k) sgn(d_j - d_k) sgn(p_j - p_k) / number of pairs (tau-b: untied pairs)",
    bounds=lambda c: (-1.0, 1.0),
    greater_is_better=True,
)
def kendall(D_true: FloatArray, D_pred: FloatArray, *, variant: Literal["b", "a"] = "b") -> FloatArray:
    """Kendall's rank correlation over the pairs of labels.

    Other Parameters
    ----------------
    variant : {"b", "a"}
        Divide by the geometric mean of the numbers of pairs not tied in truth and in prediction ("b"), or
        by the number of pairs ("a", the formula of most papers; ties then pull it to 0).

    Notes
    -----
    Tau-b is undefined (NaN) for a row in which truth or prediction is constant, both are for a single
    label; the mean is taken over the other rows, and is NaN if there are none.

    Examples
    --------
    >>> from ldlearn.metrics import kendall
    >>> kendall([[0.4, 0.3, 0.2, 0.1]], [[0.3, 0.4, 0.2, 0.1]])  # 5 pairs agree, 1 does not
    0.6666...
    """
    if variant not in ("a", "b"):
        raise InputError(f"variant must be 'a' or 'b', got {variant!r}.")
    D_true, D_pred = with_ties(D_true), with_ties(D_pred)
    n_rows, n_labels = D_true.shape
    balance, untied_true, untied_pred = np.zeros((3, n_rows))
    # One label against the later ones at a time: all pairs at once would need c times the memory of the matrices.
    for j in range(n_labels - 1):
        s = np.sign(D_true[:, j + 1 :] - D_true[:, j, np.newaxis])
        t = np.sign(D_pred[:, j + 1 :] - D_pred[:, j, np.newaxis])
        balance += (s * t).sum(axis=1)
        untied_true += np.abs(s).sum(axis=1)
        untied_pred += np.abs(t).sum(axis=1)
    if variant == "a":
        untied_true = untied_pred = np.full(n_rows, n_labels * (n_labels - 1) / 2)
    return _correlation(balance, untied_true, untied_pred)


def _correlation(product: FloatArray, square_true: FloatArray, square_pred: FloatArray) -> FloatArray:
    """Return product / sqrt(square_true * square_pred), NaN where a square is 0."""
    length = np.sqrt(square_true * square_pred)
    result = np.full(length.shape, np.nan)
    np.divide(product, length, out=result, where=length > 0)
    # rounding can take a perfect correlation beyond its range; NaN stays NaN
    return np.clip(result, -1.0, 1.0, out=result)
