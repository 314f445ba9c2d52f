"""Distances and similarities between whole distributions."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kl_div, rel_entr, xlogy

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import (
    EPS,
    Convention,
    MetricValue,
    check_distribution_pair,
    mean_or_rows,
)


def chebyshev(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Largest difference between two degrees of the same label.

    For a row: ``max_j |d_j - p_j|``. Smaller is better.

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
    >>> from ldlearn.metrics import chebyshev
    >>> chebyshev([[0.6, 0.4, 0.0]], [[0.3, 0.3, 0.4]])
    0.4
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(np.abs(D - P).max(axis=1), per_row)


def clark(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Euclidean length of the relative differences.

    For a row: ``sqrt(sum_j (d_j - p_j)^2 / (d_j + p_j)^2)``. Smaller is better.

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
    A label whose true degree is exactly 0 and whose predicted degree is not adds 1 under the root,
    however small the prediction. With ``convention="dldl-recovery"`` a label that is 0 in both
    matrices adds 1/9: the paper's demo shifts the two matrices unequally.

    Examples
    --------
    >>> from ldlearn.metrics import clark
    >>> clark([[0.6, 0.4, 0.0]], [[0.3, 0.4, 0.3]])  # sqrt(1/9 + 0 + 1)
    1.0540...
    >>> clark([[1.0, 0.0]], [[1.0, 0.0]], convention="dldl-recovery")  # sqrt(0 + 1/9)
    0.3333...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(np.sqrt(_sum_rows(_relative_differences(D, P) ** 2)), per_row)


def canberra(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Sum of the relative differences.

    For a row: ``sum_j |d_j - p_j| / (d_j + p_j)``. Smaller is better.

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
    >>> from ldlearn.metrics import canberra
    >>> canberra([[0.75, 0.25, 0.0]], [[0.25, 0.75, 0.0]])
    1.0
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(_sum_rows(_relative_differences(D, P)), per_row)


def kl_divergence(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    eps: float = EPS,
    per_row: bool = False,
) -> MetricValue:
    """Kullback-Leibler divergence of the prediction from the truth, in nats.

    For a row: ``sum_j d_j ln(d_j / p_j)``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    eps : float
        Predictions below it are raised to it, so that a label predicted as 0 costs much but not
        infinitely much; ``eps=0`` gives infinity there. Default: machine epsilon.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import kl_divergence
    >>> kl_divergence([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])  # ln 2
    0.6931...
    >>> kl_divergence([[0.5, 0.5]], [[1.0, 0.0]], eps=0)
    inf
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    _check_eps(eps)
    # rel_entr uses 0 ln 0 = 0, so that only the prediction needs a lower limit.
    return mean_or_rows(_sum_rows(rel_entr(D, np.maximum(P, eps))), per_row)


def cross_entropy(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    eps: float = EPS,
    per_row: bool = False,
) -> MetricValue:
    """Cross-entropy: mean negative log-probability of a vote drawn from the truth, in nats.

    For a row: ``-sum_j d_j ln(p_j)``, the Kullback-Leibler divergence plus the entropy of d.
    Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    eps : float
        Predictions below it are raised to it; see `kl_divergence`.
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import cross_entropy
    >>> cross_entropy([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])  # ln 4
    1.3862...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    _check_eps(eps)
    # xlogy uses 0 ln 0 = 0; adding 0 turns -0.0 into 0.0.
    return mean_or_rows(0.0 - _sum_rows(xlogy(D, np.maximum(P, eps))), per_row)


def _check_eps(eps: float) -> None:
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be a finite number >= 0, got {eps!r}.")


def cosine(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Cosine of the angle between the two rows; 0 if one of them is all zeros.

    For a row: ``sum_j d_j p_j / (|d|_2 |p|_2)``. Greater is better.

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
    >>> from ldlearn.metrics import cosine
    >>> cosine([[1.0, 0.0]], [[0.5, 0.5]])
    0.7071...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    # The angle does not depend on scale, but squares of tiny unnormalised rows underflow.
    d = _ratio(D, D.max(axis=1, keepdims=True))
    p = _ratio(P, P.max(axis=1, keepdims=True))
    lengths = np.linalg.norm(d, axis=1) * np.linalg.norm(p, axis=1)
    # Parallel rows can exceed 1 by rounding.
    return mean_or_rows(np.minimum(_ratio(_sum_rows(d * p), lengths), 1.0), per_row)


def intersection(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Mass that the two rows share.

    For a row: ``sum_j min(d_j, p_j)``. Greater is better.

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
    >>> from ldlearn.metrics import intersection
    >>> intersection([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    0.5
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_sum_rows(np.minimum(D, P)), per_row)


def euclidean(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Euclidean distance.

    For a row: ``|d - p|_2``. Smaller is better.

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
    >>> from ldlearn.metrics import euclidean
    >>> euclidean([[1.0, 0.0]], [[0.0, 1.0]])
    1.4142...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(np.sqrt(_sum_rows((D - P) ** 2)), per_row)


def sorensen(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Share of the total mass that differs; one minus the intersection for distributions.

    For a row: ``sum_j |d_j - p_j| / sum_j (d_j + p_j)``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(_ratio(_sum_rows(np.abs(D - P)), _sum_rows(D + P)), per_row)


def squared_chi2(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Symmetric squared chi-square distance.

    For a row: ``sum_j (d_j - p_j)^2 / (d_j + p_j)``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(_sum_rows(np.abs(D - P) * _relative_differences(D, P)), per_row)


def fidelity(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Bhattacharyya coefficient.

    For a row: ``sum_j sqrt(d_j p_j)``. Greater is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_sum_rows(np.sqrt(D) * np.sqrt(P)), per_row)


def squared_chord(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Squared distance of the square roots; 2 - 2 fidelity for distributions.

    For a row: ``sum_j (sqrt(d_j) - sqrt(p_j))^2``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_sum_rows((np.sqrt(D) - np.sqrt(P)) ** 2), per_row)


def wave_hedges(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Sum of the differences relative to the larger degree.

    For a row: ``sum_j |d_j - p_j| / max(d_j, p_j)``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(_sum_rows(_ratio(np.abs(D - P), np.maximum(D, P))), per_row)


def jensen_shannon(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Jensen-Shannon divergence in nats (not its square root).

    For a row: ``(KL(d, m) + KL(p, m)) / 2, m = (d + p) / 2``. Smaller is better.

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
    >>> from ldlearn.metrics import jensen_shannon
    >>> jensen_shannon([[1.0, 0.0]], [[0.0, 1.0]])  # ln 2
    0.6931...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention, clipped_by_pyldl=True)
    return mean_or_rows(jensen_shannon_rows(D, P), per_row)


def po_jsd(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """One minus the Jensen-Shannon divergence in bits.

    For a row: ``1 - JS(d, p) / ln 2``. Greater is better.

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
    From Kurniawan et al., "Training and Evaluating with Human Label Variation", 2025 (arXiv
    2502.01891).

    Examples
    --------
    >>> from ldlearn.metrics import po_jsd
    >>> po_jsd([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])  # (0 + 1) / 2
    0.5
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(1.0 - jensen_shannon_rows(D, P) / math.log(2), per_row)


def soft_micro_f1(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """F1 score of fuzzy sets; for distributions the intersection.

    For a row: ``2 sum_j min(d_j, p_j) / sum_j (d_j + p_j)``. Greater is better.

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
    From Kurniawan et al., "Training and Evaluating with Human Label Variation", 2025 (arXiv
    2502.01891), which adds up numerator and denominator over all rows: for distributions the same,
    since every denominator is 2.

    Examples
    --------
    >>> from ldlearn.metrics import soft_micro_f1
    >>> soft_micro_f1([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    0.5
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(2.0 * _ratio(_sum_rows(np.minimum(D, P)), _sum_rows(D + P)), per_row)


def manhattan(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Sum of the absolute differences; for distributions twice one minus the intersection.

    For a row: ``sum_j |d_j - p_j|``. Smaller is better.

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
    The metric of unordered labels in LeWiDi 2025.

    Examples
    --------
    >>> from ldlearn.metrics import manhattan
    >>> manhattan([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    1.0
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_sum_rows(np.abs(D - P)), per_row)


def mean_squared_error(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Squared difference, averaged over the labels.

    For a row: ``sum_j (d_j - p_j)^2 / c``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(((D - P) ** 2).mean(axis=1), per_row)


def mean_absolute_error(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Absolute difference, averaged over the labels.

    For a row: ``sum_j |d_j - p_j| / c``. Smaller is better.

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
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(np.abs(D - P).mean(axis=1), per_row)


def jensen_shannon_rows(D: Array, P: Array) -> Array:
    """Jensen-Shannon divergence of each row; rows of the two matrices need not sum to one."""
    # kl_div adds what cancels in the sum and makes each term >= 0; halving the smallest floats
    # would give 0.
    twice_middle = D + P
    return _sum_rows(kl_div(2 * D, twice_middle) + kl_div(2 * P, twice_middle)) / 4


def _sum_rows(terms: Array) -> Array:
    return terms.sum(axis=1)


def _relative_differences(D: Array, P: Array) -> Array:
    return _ratio(np.abs(D - P), D + P)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide non-negative numbers with 0/0 = 0."""
    result = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=result, where=denominator > 0)
