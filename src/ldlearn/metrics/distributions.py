"""Distances and similarities between whole distributions."""

import math

import numpy as np
from scipy.special import kl_div, rel_entr

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import EPS
from ldlearn.metrics.registry import register


@register("Chebyshev", "max_j |d_j - p_j|")
def chebyshev(D_true: Array, D_pred: Array) -> Array:
    """Largest difference between two degrees of the same label.

    Examples
    --------
    >>> from ldlearn.metrics import chebyshev
    >>> chebyshev([[0.6, 0.4, 0.0]], [[0.3, 0.3, 0.4]])
    0.4
    """
    return np.asarray(np.abs(D_true - D_pred).max(axis=1))


@register("Clark", "sqrt(sum_j (d_j - p_j)^2 / (d_j + p_j)^2)", clipped_by_pyldl=True)
def clark(D_true: Array, D_pred: Array) -> Array:
    """Euclidean length of the relative differences.

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
    return np.sqrt(_sum_rows(_relative_differences(D_true, D_pred) ** 2))


@register("Canberra", "sum_j |d_j - p_j| / (d_j + p_j)", clipped_by_pyldl=True)
def canberra(D_true: Array, D_pred: Array) -> Array:
    """Sum of the relative differences.

    Examples
    --------
    >>> from ldlearn.metrics import canberra
    >>> canberra([[0.75, 0.25, 0.0]], [[0.25, 0.75, 0.0]])
    1.0
    """
    return _sum_rows(_relative_differences(D_true, D_pred))


@register("Kullback-Leibler", "sum_j d_j ln(d_j / p_j)", clipped_by_pyldl=True)
def kl_divergence(D_true: Array, D_pred: Array, *, eps: float = EPS) -> Array:
    """Kullback-Leibler divergence of the prediction from the truth, in nats.

    Other Parameters
    ----------------
    eps : float
        Predictions below it are raised to it, so that a label predicted as 0 costs much but not
        infinitely much; ``eps=0`` gives infinity there. Default: machine epsilon.

    Examples
    --------
    >>> from ldlearn.metrics import kl_divergence
    >>> kl_divergence([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])  # ln 2
    0.6931...
    >>> kl_divergence([[0.5, 0.5]], [[1.0, 0.0]], eps=0)
    inf
    """
    if not 0 <= eps < math.inf:
        raise InputError(f"eps must be a finite number >= 0, got {eps!r}.")
    # rel_entr uses 0 ln 0 = 0, so that only the prediction needs a lower limit.
    return _sum_rows(rel_entr(D_true, np.maximum(D_pred, eps)))


@register("Cosine", "sum_j d_j p_j / (|d|_2 |p|_2)", greater_is_better=True)
def cosine(D_true: Array, D_pred: Array) -> Array:
    """Cosine of the angle between the two rows; 0 if one of them is all zeros.

    Examples
    --------
    >>> from ldlearn.metrics import cosine
    >>> cosine([[1.0, 0.0]], [[0.5, 0.5]])
    0.7071...
    """
    # The angle does not depend on scale, but squares of tiny unnormalised rows underflow.
    d, p = (_ratio(D, D.max(axis=1, keepdims=True)) for D in (D_true, D_pred))
    lengths = np.linalg.norm(d, axis=1) * np.linalg.norm(p, axis=1)
    # parallel rows can exceed 1 by rounding
    return np.minimum(_ratio(_sum_rows(d * p), lengths), 1.0)


@register("Intersection", "sum_j min(d_j, p_j)", greater_is_better=True)
def intersection(D_true: Array, D_pred: Array) -> Array:
    """Mass that the two rows share.

    Examples
    --------
    >>> from ldlearn.metrics import intersection
    >>> intersection([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    0.5
    """
    return _sum_rows(np.minimum(D_true, D_pred))


@register("Euclidean", "|d - p|_2")
def euclidean(D_true: Array, D_pred: Array) -> Array:
    """Euclidean distance.

    Examples
    --------
    >>> from ldlearn.metrics import euclidean
    >>> euclidean([[1.0, 0.0]], [[0.0, 1.0]])
    1.4142...
    """
    return np.sqrt(_sum_rows((D_true - D_pred) ** 2))


@register("Sørensen", "sum_j |d_j - p_j| / sum_j (d_j + p_j)", clipped_by_pyldl=True)
def sorensen(D_true: Array, D_pred: Array) -> Array:
    """Share of the total mass that differs; one minus the intersection for distributions."""
    return _ratio(_sum_rows(np.abs(D_true - D_pred)), _sum_rows(D_true + D_pred))


@register("Squared χ²", "sum_j (d_j - p_j)^2 / (d_j + p_j)", clipped_by_pyldl=True)
def squared_chi2(D_true: Array, D_pred: Array) -> Array:
    """Symmetric squared chi-square distance."""
    return _sum_rows(np.abs(D_true - D_pred) * _relative_differences(D_true, D_pred))


@register("Fidelity", "sum_j sqrt(d_j p_j)", greater_is_better=True)
def fidelity(D_true: Array, D_pred: Array) -> Array:
    """Bhattacharyya coefficient."""
    return _sum_rows(np.sqrt(D_true) * np.sqrt(D_pred))


@register("Squared chord", "sum_j (sqrt(d_j) - sqrt(p_j))^2")
def squared_chord(D_true: Array, D_pred: Array) -> Array:
    """Squared distance of the square roots; 2 - 2 fidelity for distributions."""
    return _sum_rows((np.sqrt(D_true) - np.sqrt(D_pred)) ** 2)


@register("Wave-Hedges", "sum_j |d_j - p_j| / max(d_j, p_j)", clipped_by_pyldl=True)
def wave_hedges(D_true: Array, D_pred: Array) -> Array:
    """Sum of the differences relative to the larger degree."""
    return _sum_rows(_ratio(np.abs(D_true - D_pred), np.maximum(D_true, D_pred)))


@register("Jensen-Shannon", "(KL(d, m) + KL(p, m)) / 2, m = (d + p) / 2", clipped_by_pyldl=True)
def jensen_shannon(D_true: Array, D_pred: Array) -> Array:
    """Jensen-Shannon divergence in nats (not its square root).

    Examples
    --------
    >>> from ldlearn.metrics import jensen_shannon
    >>> jensen_shannon([[1.0, 0.0]], [[0.0, 1.0]])  # ln 2
    0.6931...
    """
    return jensen_shannon_rows(D_true, D_pred)


@register("PO-JSD", "1 - JS(d, p) / ln 2", greater_is_better=True)
def po_jsd(D_true: Array, D_pred: Array) -> Array:
    """One minus the Jensen-Shannon divergence in bits.

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
    return 1.0 - jensen_shannon_rows(D_true, D_pred) / math.log(2)


@register("Soft micro-F1", "2 sum_j min(d_j, p_j) / sum_j (d_j + p_j)", greater_is_better=True)
def soft_micro_f1(D_true: Array, D_pred: Array) -> Array:
    """F1 score of fuzzy sets; for distributions the intersection.

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
    return 2.0 * _ratio(_sum_rows(np.minimum(D_true, D_pred)), _sum_rows(D_true + D_pred))


@register("Manhattan", "sum_j |d_j - p_j|")
def manhattan(D_true: Array, D_pred: Array) -> Array:
    """Sum of the absolute differences; for distributions twice one minus the intersection.

    Notes
    -----
    The metric of unordered labels in LeWiDi 2025.

    Examples
    --------
    >>> from ldlearn.metrics import manhattan
    >>> manhattan([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    1.0
    """
    return _sum_rows(np.abs(D_true - D_pred))


@register("Mean squared error", "sum_j (d_j - p_j)^2 / c")
def mean_squared_error(D_true: Array, D_pred: Array) -> Array:
    """Squared difference, averaged over the labels."""
    return np.asarray(((D_true - D_pred) ** 2).mean(axis=1))


@register("Mean absolute error", "sum_j |d_j - p_j| / c")
def mean_absolute_error(D_true: Array, D_pred: Array) -> Array:
    """Absolute difference, averaged over the labels."""
    return np.asarray(np.abs(D_true - D_pred).mean(axis=1))


def jensen_shannon_rows(D: Array, P: Array) -> Array:
    """Jensen-Shannon divergence of each row; rows of the two matrices need not sum to one."""
    # kl_div adds what cancels in the sum and makes each term >= 0; halving the smallest floats
    # would give 0.
    twice_middle = D + P
    return _sum_rows(kl_div(2 * D, twice_middle) + kl_div(2 * P, twice_middle)) / 4


def _sum_rows(terms: Array) -> Array:
    return np.asarray(terms.sum(axis=1))


def _relative_differences(D_true: Array, D_pred: Array) -> Array:
    return _ratio(np.abs(D_true - D_pred), D_true + D_pred)


def _ratio(numerator: Array, denominator: Array) -> Array:
    """Divide non-negative numbers with 0/0 = 0."""
    result = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=result, where=denominator > 0)
