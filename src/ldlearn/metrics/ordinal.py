"""Errors that respect the order of the labels: expected label and cumulative distribution."""

import numpy as np
from numpy.typing import ArrayLike

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError
from ldlearn.metrics.distributions import jensen_shannon_rows
from ldlearn.metrics.inputs import (
    Convention,
    MetricValue,
    check_distribution_pair,
    mean_or_rows,
)


def expected_label_absolute_error(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    positions: ArrayLike | None = None,
    per_row: bool = False,
) -> MetricValue:
    """Absolute difference of the expected labels.

    For a row: ``|sum_j x_j d_j - sum_j x_j p_j|``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above; 1, 2, ..., c by default (the range assumes these).
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

    Examples
    --------
    >>> from ldlearn.metrics import expected_label_absolute_error
    >>> expected_label_absolute_error([[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]])
    1.0
    >>> expected_label_absolute_error([[1, 0, 0]], [[0, 0, 1]], positions=[0, 10, 30])
    30.0
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(np.abs(_expected_difference(D, P, positions)), per_row)


def expected_label_squared_error(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    positions: ArrayLike | None = None,
    per_row: bool = False,
) -> MetricValue:
    """Squared difference of the expected labels.

    For a row: ``(sum_j x_j d_j - sum_j x_j p_j)^2``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above; 1, 2, ..., c by default (the range assumes these).
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(_expected_difference(D, P, positions) ** 2, per_row)


def _expected_difference(D: Array, P: Array, positions: ArrayLike | None) -> Array:
    return (D - P) @ _check_positions(positions, D.shape[1])


def _check_positions(positions: ArrayLike | None, n_labels: int) -> Array:
    if positions is None:
        positions = np.arange(1, n_labels + 1)
    x = np.asarray(positions, dtype=np.float64)
    if x.shape != (n_labels,) or not np.isfinite(x).all():
        raise InputError(
            f"positions must hold {n_labels} finite numbers, one per label, got {positions!r}."
        )
    return x


def wasserstein(
    D_true: ArrayLike,
    D_pred: ArrayLike,
    *,
    convention: Convention = "exact",
    positions: ArrayLike | None = None,
    per_row: bool = False,
) -> MetricValue:
    """Least work that moves the mass of one row to the other: mass times distance between labels.

    For a row: ``sum_j (x_(j+1) - x_j) |D_j - P_j|, D and P cumulative``. Smaller is better.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
        True and predicted distributions.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
        How zeros are treated, see `ldlearn.metrics`.
    positions : array-like of shape (n_labels,), optional
        Where the labels stand, x above, in any order; 1, 2, ..., c by default (the range assumes
        these).
    per_row : bool, default=False
        Return the value of every row instead of their mean.

    Returns
    -------
    float
        Mean over the rows; with ``per_row=True`` an array of shape (n_samples,).

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
    D, P = check_distribution_pair(D_true, D_pred, convention)
    x = _check_positions(positions, D.shape[1])
    order = np.argsort(x)
    moved = np.cumsum((D - P)[:, order], axis=1)[:, :-1]
    return mean_or_rows(np.abs(moved) @ np.diff(x[order]), per_row)


def cad(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Sum of the differences of the cumulative distributions.

    For a row: ``sum_j |D_j - P_j|, D and P cumulative``. Smaller is better.

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
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023, as in their released code.
    PyLDL's loss of this name averages over shortened distributions instead.

    Examples
    --------
    >>> from ldlearn.metrics import cad
    >>> cad([[0.5, 0.25, 0.25]], [[0.25, 0.25, 0.5]])  # 1/4 + 1/4 + 0
    0.5
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(np.abs(np.cumsum(D - P, axis=1)).sum(axis=1), per_row)


def qfd2(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Squared quadratic form distance, in which near labels are similar.

    For a row: ``sum_jk (1 - |j - k| / c) (d_j - p_j) (d_k - p_k)``. Smaller is better.

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
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023. For distributions it equals
    ``2/c sum_j (D_j - P_j)^2`` with D and P cumulative. The similarities are those of the released
    code, which takes absolute differences in training; PyLDL divides by c - 1 instead of c.

    Examples
    --------
    >>> from ldlearn.metrics import qfd2
    >>> qfd2([[1.0, 0.0]], [[0.0, 1.0]])  # 1 + 1 - 2 / 2
    1.0
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    difference = D - P
    labels = np.arange(D.shape[1])
    similarity = 1.0 - np.abs(labels[:, None] - labels) / len(labels)
    return mean_or_rows(np.einsum("ij,ij->i", difference @ similarity, difference), per_row)


def cjs(
    D_true: ArrayLike, D_pred: ArrayLike, *, convention: Convention = "exact", per_row: bool = False
) -> MetricValue:
    """Jensen-Shannon divergence in nats of the cumulative distributions D and P, whose mean is M.

    For a row: ``sum_j (D_j ln(D_j / M_j) + P_j ln(P_j / M_j)) / 2``. Smaller is better.

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
    From Wen et al., "Ordinal Label Distribution Learning", ICCV 2023, as in their released code.

    Examples
    --------
    >>> from ldlearn.metrics import cjs
    >>> cjs([[1.0, 0.0]], [[0.0, 1.0]])  # 1 ln(1 / 0.5) / 2
    0.3465...
    """
    D, P = check_distribution_pair(D_true, D_pred, convention)
    values = jensen_shannon_rows(np.cumsum(D, axis=1), np.cumsum(P, axis=1))
    return mean_or_rows(values, per_row)
