"""Validation of what ``fit`` takes beside features and targets: a value for each training row."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ldlearn.base.errors import raise_input_errors
from ldlearn.base.sklearn_private import check_sample_weight
from ldlearn.core.simplex import Array, Indices, Mask, SampleWeight
from ldlearn.core.targets import check_some_degrees
from ldlearn.exceptions import InputError

RowData = dict[str, Any]


def given_row_data(**values: Any) -> RowData:
    """The values that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}


def validate_sample_weight(sample_weight: Any, X: Any) -> SampleWeight:
    """One non-negative number for each row of X, not all of them 0."""
    with raise_input_errors():
        checked = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not checked.any():  # an older scikit-learn lets that pass
        raise InputError("Sample weights must contain at least one non-zero number.")
    return checked


def _validate_groups(groups: Any, X: Any) -> Indices:
    """The number of each row's group; groups are any hashable values, numbered as they appear."""
    values = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(values) != X.shape[0]:
        raise InputError(
            f"groups must hold one value for each of the {X.shape[0]} rows, got {len(values)}."
        )
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values):
        try:
            missing = value is None or bool(value != value)
            numbers.setdefault(value, len(numbers))
        # not hashable, or pandas' NA, which is neither true nor false
        except (TypeError, ValueError):
            missing = True
        if missing:
            wanted = "groups must hold a number, a text or another hashable value"
            raise InputError(f"{wanted}, got {value!r} at row {row}.")
    return np.array([numbers[value] for value in values])


def log_raters(n_raters: Any, n: int) -> Array:
    """The log of each row's number of raters."""
    try:
        counts = np.asarray(n_raters, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"n_raters must hold numbers, got {n_raters!r:.60}.") from None
    if counts.ndim == 0:
        counts = np.full(n, counts)
    if counts.shape != (n,):
        raise InputError(
            f"n_raters must hold one number for each of the {n} rows, got shape {counts.shape}."
        )
    valid = np.isfinite(counts) & (counts > 0)
    if not valid.all():
        row = int(np.argmin(valid))
        raise InputError(f"n_raters must be positive and finite, got {counts[row]:g} at row {row}.")
    return np.log(counts)


def _validate_mask(validation: Any, n: int) -> Mask:
    mask = np.asarray(validation)
    if mask.dtype != bool or mask.shape != (n,):
        raise InputError(f"validation must be a boolean mask of the {n} rows.")
    return mask


# By name: a function of the value, the features and the names of the labels.
ROW_DATA: dict[str, Callable[[Any, Any, Array], Array]] = {
    "sample_weight": lambda value, X, _: validate_sample_weight(value, X),
    "degrees": lambda value, X, names: check_some_degrees(value, names, X.shape[0]),
    "n_raters": lambda value, X, _: log_raters(value, X.shape[0]),
    "groups": lambda value, X, _: _validate_groups(value, X),
    "validation": lambda value, X, _: _validate_mask(value, X.shape[0]),
}
