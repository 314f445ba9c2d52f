"""Errors that respect the order of the labels: of the expected label, and of the cumulative
distribution."""

import numpy as np
from numpy.typing import ArrayLike

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.distributions import jensen_shannon_rows
from ldlearn.metrics.registry import register


@register("Expected-label absolute error", "|sum_j x_j d_j - sum_j x_j p_j|", ordinal_only=True)
def expected_label_absolute_error(
    D_true: Array, D_pred: Array, *, positions: ArrayLike | None = None
) -> Array:
    """Absolute difference of the expected labels.

    Other Parameters
    ----------------
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above; 1, 2, ..., c by default (the range assumes these).

    Examples
    --------
    >>> from ldlearn.metrics import expected_label_absolute_error
    >>> expected_label_absolute_error([[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]])
    1.0
    >>> expected_label_absolute_error([[1, 0, 0]], [[0, 0, 1]], positions=[0, 10, 30])
    30.0
    """
    return np.abs(_expected_difference(D_true, D_pred, positions))


@register("Expected-label squared error", "(sum_j x_j d_j - sum_j x_j p_j)^2", ordinal_only=True)
def expected_label_squared_error(
    D_true: Array, D_pred: Array, *, positions: ArrayLike | None = None
) -> Array:
    """Squared difference of the expected labels.

    Other Parameters
    ----------------
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above; 1, 2, ..., c by default (the range assumes these).
    """
    return _expected_difference(D_true, D_pred, positions) ** 2


def _expected_difference(D_true: Array, D_pred: Array, positions: ArrayLike | None) -> Array:
    return (D_true - D_pred) @ _check_positions(positions, D_true.shape[1])


def _check_positions(positions: ArrayLike | None, n_labels: int) -> Array:
    if positions is None:
        positions = np.arange(1, n_labels + 1)
    x = np.asarray(positions, dtype=np.float64)
    if x.shape != (n_labels,) or not np.isfinite(x).all():
        raise InputError(
            f"positions must hold {n_labels} finite numbers, one per label, got {positions!r}."
        )
    return x


@register("Wasserstein", "sum_j (x_(j+1) - x_j) |D_j - P_j|, D and P cumulative", ordinal_only=True)
def wasserstein(D_true: Array, D_pred: Array, *, positions: ArrayLike | None = None) -> Array:
    """Least work that moves the mass of one row to the other: mass times distance between labels.

    Other Parameters
    ----------------
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above, in any order; 1, 2, ..., c by default (the range assumes
        these).

    Notes
    -----
    The metric of ordinal labels in LeWiDi 2025; with the default positions the same as `cad`.

    Examples
    --------
    >>> from ldlearn.metrics import wasserstein
    >>> wasserstein([[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]])  # one half moves by two labels
    1.0
    >>> wasserstein([[1, 0, 0]], [[0, 0, 1]], positions=[0, 10, 30])
    30.0
    """
    x = _check_positions(positions, D_true.shape[1])
    order = np.argsort(x)
    moved = np.cumsum((D_true - D_pred)[:, order], axis=1)[:, :-1]
    return np.abs(moved) @ np.diff(x[order])


@register(
    "Cumulative absolute distance (CAD)", "sum_j |D_j - P_j|, D and P cumulative", ordinal_only=True
)
def cad(D_true: Array, D_pred: Array) -> Array:
    """Sum of the differences of the cumulative distributions.

    Notes
    -----
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023, as in their released code.
    PyLDL's loss of this name averages over shortened distributions instead.

    Examples
    --------
    >>> from ldlearn.metrics import cad
    >>> cad([[0.5, 0.25, 0.25]], [[0.25, 0.25, 0.5]])  # 1/4 + 1/4 + 0
    0.5
    """
    return np.abs(np.cumsum(D_true - D_pred, axis=1)).sum(axis=1)


@register(
    "Quadratic form distance (QFD²)",
    "sum_jk (1 - |j - k| / c) (d_j - p_j) (d_k - p_k)",
    ordinal_only=True,
)
def qfd2(D_true: Array, D_pred: Array) -> Array:
    """Squared quadratic form distance, in which near labels are similar.

    Notes
    -----
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023. For distributions it equals
    ``2/c sum_j (D_j - P_j)^2`` with D and P cumulative. The similarities are those of the released
    code, which takes absolute differences in training; PyLDL divides by c - 1 instead of c.

    Examples
    --------
    >>> from ldlearn.metrics import qfd2
    >>> qfd2([[1.0, 0.0]], [[0.0, 1.0]])  # 1 + 1 - 2 / 2
    1.0
    """
    difference = D_true - D_pred
    labels = np.arange(D_true.shape[1])
    similarity = 1.0 - np.abs(labels[:, None] - labels) / len(labels)
    return np.einsum("ij,ij->i", difference @ similarity, difference)


@register(
    "Cumulative Jensen-Shannon (CJS)",
    "sum_j (D_j ln(D_j / M_j) + P_j ln(P_j / M_j)) / 2",
    ordinal_only=True,
)
def cjs(D_true: Array, D_pred: Array) -> Array:
    """Jensen-Shannon divergence in nats of the cumulative distributions D and P, whose mean is M.

    Notes
    -----
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023, as in their released code.

    Examples
    --------
    >>> from ldlearn.metrics import cjs
    >>> cjs([[1.0, 0.0]], [[0.0, 1.0]])  # 1 ln(1 / 0.5) / 2
    0.3465...
    """
    return jensen_shannon_rows(np.cumsum(D_true, axis=1), np.cumsum(D_pred, axis=1))
