"""What all metrics share: checks of the two matrices, rules for zeros, the mean over rows."""

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldlearn._messages import check_choice
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import InputError

Convention: TypeAlias = Literal["exact", "pyldl", "dldl", "dldl-recovery"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

# The mean over the rows, a float, or with ``per_row=True`` an array with a value for every row.
MetricValue: TypeAlias = Any

EPS = float(np.finfo(np.float64).eps)

# How many EPS the paper's demo adds to (truth, result): recovered matrices are shifted twice there.
_DLDL_SHIFTS = {"dldl": (1, 1), "dldl-recovery": (1, 2)}
_ROUNDED_SHARES = 0.05  # how far a row of shares may be from 1: ten printed per cents, each rounded


def check_distribution_pair(
    D_true: ArrayLike, D_pred: ArrayLike, convention: Convention, *, clipped_by_pyldl: bool = False
) -> tuple[Array, Array]:
    """Validate two matrices of distributions; treat their zeros as the convention says.

    Parameters
    ----------
    D_true, D_pred : array-like of shape (n_samples, n_labels)
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}
    clipped_by_pyldl : bool
        Whether PyLDL clips the arguments of the metric.

    Returns
    -------
    D, P : float64 arrays of the same shape
    """
    D, P = _check_pair(D_true, D_pred)
    check_choice("convention", convention, CONVENTIONS)
    _check_row_sums(D, "truth")
    if convention == "exact":
        _check_row_sums(P, "prediction")
    # The other conventions measure whatever they are given, as their authors do.
    if convention == "pyldl" and clipped_by_pyldl:
        return np.clip(D, EPS, 1), np.clip(P, EPS, 1)  # from above as well, as PyLDL does
    if convention not in _DLDL_SHIFTS:
        return D, P
    shift_true, shift_pred = _DLDL_SHIFTS[convention]
    return D + shift_true * EPS, P + shift_pred * EPS


def check_labels(D_true: ArrayLike, D_pred: ArrayLike) -> tuple[Array, Array]:
    """Validate 0/1 labels, NaN where one is unknown, and predicted distributions."""
    Y, P = _check_pair(D_true, D_pred, unknown=True)
    wrong = (Y != 0) & (Y != 1) & ~np.isnan(Y)
    _refuse_entries(wrong, Y, "The truth", "must hold 0/1 labels")
    return Y, P


def mean_or_rows(values: Array, per_row: bool) -> MetricValue:
    """Return the mean of the rows' values, or the values themselves."""
    return values if per_row else mean_of_defined(values)


def mean_of_defined(values: Array, weights: Array | None = None) -> float:
    """Return the (weighted) mean of the values that are not NaN; NaN if there are none."""
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan
    if weights is not None:
        weights = weights[defined]
    return float(np.average(values[defined], weights=weights))


def round_for_ranking(D: Array) -> Array:
    """Round to about twelve digits, so that rounding errors do not order equal degrees."""
    # Digits, not decimals: of many labels most degrees are tiny, and their order counts.
    mantissa, exponent = np.frexp(D)
    return np.ldexp(np.round(mantissa, 12), exponent)


def _check_pair(
    D_true: ArrayLike, D_pred: ArrayLike, *, unknown: bool = False
) -> tuple[Array, Array]:
    """Return both matrices as float64; unknown labels of the truth may be NaN."""
    # While they still are frames: arrays have no names.
    _check_same_label_order(D_true, D_pred)
    truth = _check_matrix(D_true, "D_true", unknown)
    prediction = _check_matrix(D_pred, "D_pred")
    if truth.shape != prediction.shape:
        raise InputError(
            f"D_true and D_pred must have the same shape, got {truth.shape} and "
            f"{prediction.shape}; rows are samples, columns are labels."
        )
    return truth, prediction


def _check_same_label_order(D_true: ArrayLike, D_pred: ArrayLike) -> None:
    """Refuse two frames with the same labels in another order: as arrays they do not match."""
    true_names = list(getattr(D_true, "columns", []))
    names = list(getattr(D_pred, "columns", []))
    if true_names != names and set(true_names) == set(names):
        raise InputError(
            f"D_true and D_pred have the same columns in different orders, {true_names} and "
            f"{names}; reorder one of them."
        )


def _check_matrix(D: ArrayLike, name: str, unknown: bool = False) -> Array:
    raw = np.asarray(D)
    if raw.ndim != 2:
        raise InputError(
            f"{name} must be 2-D (rows are samples, columns are labels), got shape {raw.shape}."
        )
    if raw.size == 0:
        raise InputError(f"{name} has nothing to compare: its shape is {raw.shape}.")
    # Frames whose columns differ in type become arrays of objects, which may still contain numbers.
    if raw.dtype.kind not in "biufO":
        raise InputError(f"{name} must hold real numbers, got dtype {raw.dtype}.")
    try:
        values = raw.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold real numbers: {error}.") from error
    # NaN is an unknown label, infinity is never one.
    not_finite = np.isinf(values) if unknown else ~np.isfinite(values)
    _refuse_entries(not_finite, values, name, "must be finite")
    _refuse_entries(values < 0, values, name, "must not be negative")
    return values


def _refuse_entries(wrong: Mask, values: Array, name: str, rule: str) -> None:
    """Raise InputError about the first wrong entry, if there is one."""
    for row, column in np.argwhere(wrong)[:1]:
        raise InputError(
            f"{name} {rule}, but row {row}, column {column} holds {values[row, column]:g}."
        )


def _check_row_sums(D: Array, name: str) -> None:
    """Refuse rows that do not sum to one, such as 0/1 labels, votes or percentages."""
    sums = D.sum(axis=1)
    for row in np.flatnonzero(np.abs(sums - 1.0) > _ROUNDED_SHARES)[:1]:
        raise InputError(
            f"The {name} must hold distributions, but row {row} sums to {sums[row]:g} instead of "
            "1; divide each row by its sum, or for 0/1 labels use a metric against labels such as "
            "average_precision."
        )
