"""What can be wrong with the rows of a label matrix, found and put into words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.errors import DatasetError

SUM_TOLERANCE = 1e-5
_SHOWN = 8


def sum_tolerance(D: NDArray[Any]) -> float:
    """Distance from 1 that a row sum may have: rounding of the dtype, or of files written with few digits."""
    if D.dtype.kind != "f":
        return SUM_TOLERANCE
    return float(max(SUM_TOLERANCE, 4 * D.shape[1] * np.finfo(D.dtype).eps))


def find_row_problems(D: NDArray[Any], *, sums: bool = True) -> dict[str, list[int]]:
    """Rows (counted from 0) that are no label distribution, by kind of problem; empty if all are sound.

    The kinds are ``"not finite"``, ``"negative degree"``, ``"sums to 0"`` and ``"does not sum to 1"``; a row
    is listed under the first that applies. ``sums=False`` leaves the last kind out (votes).
    """
    total = D.sum(axis=1, dtype=np.float64)
    broken = ~np.isfinite(total)
    if broken.any():
        broken = ~np.isfinite(D).all(axis=1) | broken
    negative = ~broken & (D < 0).any(axis=1)
    left = ~broken & ~negative
    masks = {"not finite": broken, "negative degree": negative, "sums to 0": left & (total == 0)}
    if sums:
        masks["does not sum to 1"] = left & (total != 0) & (np.abs(total - 1) > sum_tolerance(D))
    return {kind: np.flatnonzero(mask).tolist() for kind, mask in masks.items() if mask.any()}


def raise_row_problems(
    D: NDArray[Any],
    label_names: Sequence[str],
    *,
    sums: bool = True,
    where: str = "D",
    advice: str = "Correct or drop these rows.",
) -> None:
    """Raise a `DatasetError` that lists the rows of D that are no distributions, if there are any."""
    problems = find_row_problems(D, sums=sums)
    if problems:
        parts = [_in_words(kind, rows, D, label_names) for kind, rows in problems.items()]
        message = f"{where}: {'; '.join(parts)} (rows counted from 0). {advice}"
        raise DatasetError(message, problems)


def _in_words(kind: str, rows: list[int], D: NDArray[Any], label_names: Sequence[str]) -> str:
    first = rows[0]
    if kind == "not finite":
        label = label_names[int(np.argmax(~np.isfinite(D[first])))]
        example = f"NaN or infinite degree, first at row {first}, label {label!r}"
    elif kind == "negative degree":
        column = int(np.argmax(D[first] < 0))
        example = f"negative degree, first {D[first, column]:.6g} at row {first}, label {label_names[column]!r}"
    elif kind == "sums to 0":
        example = "degrees that sum to 0"
    else:
        example = f"degrees that do not sum to 1, first {D[first].sum():.6g} at row {first}"
    return f"{list_rows(rows)}: {example}"


def list_rows(rows: Sequence[int]) -> str:
    """Name the first few rows and count the others.

    Examples
    --------
    >>> list_rows([4])
    'row 4'
    >>> list_rows(range(100))
    'rows 0, 1, 2, 3, 4, 5, 6, 7 and 92 more'
    """
    shown = ", ".join(str(row) for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more}"
