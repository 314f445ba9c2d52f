"""Checks on the two matrices that every metric compares, and what different authors do to zeros
first."""

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ldlearn._messages import check_choice
from ldlearn.core.simplex import Array, Mask
from ldlearn.exceptions import InputError

Convention: TypeAlias = Literal["exact", "pyldl", "dldl", "dldl-recovery"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

EPS = float(np.finfo(np.float64).eps)

# How many EPS the paper's demo adds to (truth, result): recovered matrices are shifted twice there.
_DLDL_SHIFTS = {"dldl": (1, 1), "dldl-recovery": (1, 2)}


def check_pair(
    D_true: ArrayLike, D_pred: ArrayLike, *, unknown: bool = False
) -> tuple[Array, Array]:
    """Validate both matrices and return them as float64.

    Row sums are checked by the metric, which compares with distributions or with 0/1 labels. Some
    of the latter may be unknown (NaN).
    """
    # while they still are frames: arrays have no names
    _check_same_label_order(D_true, D_pred)
    truth = _check_one(D_true, "D_true", unknown)
    prediction = _check_one(D_pred, "D_pred")
    if truth.shape != prediction.shape:
        raise InputError(
            f"D_true and D_pred must have the same shape, got {truth.shape} and {prediction.shape}; "
            "rows are samples, columns are labels."
        )
    return truth, prediction


def round_for_ranking(D: Array) -> Array:
    """Degrees to about twelve digits: no processor should decide the order of labels equal but for
    rounding."""
    # Digits, not decimals: of many labels most degrees are tiny, and their order counts.
    mantissa, exponent = np.frexp(D)
    return np.asarray(np.ldexp(np.round(mantissa, 12), exponent), dtype=np.float64)


def _check_one(D: ArrayLike, name: str, unknown: bool = False) -> Array:
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
        values = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold real numbers: {error}.") from error
    # NaN is an unknown label, infinity is never one.
    refuse_entries(
        np.isinf(values) if unknown else ~np.isfinite(values), values, name, "must be finite"
    )
    refuse_entries(values < 0, values, name, "must not be negative")
    return values


def refuse_entries(wrong: Mask, values: Array, name: str, rule: str) -> None:
    """Raise InputError about the first wrong entry, if there is one."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{name} {rule}, but row {row}, column {column} holds {values[row, column]:g}."
        )


def _check_same_label_order(D_true: ArrayLike, D_pred: ArrayLike) -> None:
    """Refuse two frames whose columns are the same labels in another order: as arrays they do not
    match."""
    names = [list(getattr(D, "columns", [])) for D in (D_true, D_pred)]
    if names[0] != names[1] and set(names[0]) == set(names[1]):
        raise InputError(
            f"D_true and D_pred have the same columns in different orders, {names[0]} and {names[1]}; "
            "reorder one of them."
        )


def apply_convention(
    D_true: Array, D_pred: Array, convention: Convention, *, clipped_by_pyldl: bool
) -> tuple[Array, Array]:
    """Change both matrices as the named convention does; ``"exact"`` leaves them alone."""
    check_choice("convention", convention, CONVENTIONS)
    if convention == "pyldl" and clipped_by_pyldl:
        return np.clip(D_true, EPS, 1), np.clip(D_pred, EPS, 1)  # from above as well, as PyLDL does
    if convention not in _DLDL_SHIFTS:
        return D_true, D_pred
    shift_true, shift_pred = _DLDL_SHIFTS[convention]
    return D_true + shift_true * EPS, D_pred + shift_pred * EPS
