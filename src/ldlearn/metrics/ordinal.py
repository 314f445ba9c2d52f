"""Errors of the expected label, for labels that stand in an order."""

import numpy as np
from numpy.typing import ArrayLike

from ldlearn.exceptions import InputError
from ldlearn.metrics.inputs import FloatArray
from ldlearn.metrics.registry import register


@register(
    title="Expected-label absolute error",
    formula="|sum_j x_j d_j - sum_j x_j p_j|",
    bounds=lambda c: (0.0, c - 1.0),
    ordinal_only=True,
)
def expected_label_absolute_error(
    D_true: FloatArray, D_pred: FloatArray, *, positions: ArrayLike | None = None
) -> FloatArray:
    """Absolute difference of the expected labels.

    Other Parameters
    ----------------
    positions : array-like of shape (c,), optional
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


@register(
    title="Expected-label squared error",
    formula="(sum_j x_j d_j - sum_j x_j p_j)^2",
    bounds=lambda c: (0.0, (c - 1.0) ** 2),
    ordinal_only=True,
)
def expected_label_squared_error(
    D_true: FloatArray, D_pred: FloatArray, *, positions: ArrayLike | None = None
) -> FloatArray:
    """Squared difference of the expected labels.

    Other Parameters
    ----------------
    positions : array-like of shape (c,), optional
        Where the labels stand, x above; 1, 2, ..., c by default (the range assumes these).
    """
    return _expected_difference(D_true, D_pred, positions) ** 2


def _expected_difference(D_true: FloatArray, D_pred: FloatArray, positions: ArrayLike | None) -> FloatArray:
    n_labels = D_true.shape[1]
    if positions is None:
        positions = np.arange(1, n_labels + 1)
    x = np.asarray(positions, dtype=np.float64)
    if x.shape != (n_labels,) or not np.isfinite(x).all():
        raise InputError(f"positions must hold {n_labels} finite numbers, one per label, got {positions!r}.")
    return np.asarray((D_true - D_pred) @ x)
