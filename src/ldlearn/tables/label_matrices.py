"""Label matrices of data sets: distributions, votes or logical labels, checked row by row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.targets import SUM_TOLERANCE, default_label_names, find_row_problems
from ldlearn.exceptions import DatasetError, describe_rows

Rows = Sequence[Any]  # numbers of rows in messages
KINDS = ("auto", "distribution", "votes", "logical")


def infer_kind(matrix: NDArray[Any]) -> str:
    """Logical if all entries are 0 or 1 (or -1 or 1), votes if whole and not negative, else distribution.

    Examples
    --------
    >>> infer_kind(np.array([[0, 1], [1, 1]])), infer_kind(np.array([[3.0, 1.0]])), infer_kind(np.array([[0.5, 0.5]]))
    ('logical', 'votes', 'distribution')
    """
    if _is_logical(matrix):
        return "logical"
    whole = bool(np.isfinite(matrix).all()) and bool((matrix >= 0).all()) and bool((matrix % 1 == 0).all())
    return "votes" if whole else "distribution"


def _is_logical(matrix: NDArray[Any]) -> bool:
    # Some files write -1 where others write 0.
    return any(np.isin(matrix, pair).all() for pair in ((0, 1), (-1, 1)))


def as_fields(
    matrix: NDArray[Any], kind: str, label_names: Sequence[str], where: str, rows: Rows, *, normalise: bool
) -> dict[str, NDArray[Any]]:
    """Fields of a `LabelDataset` (D, Y, counts) that a label matrix of a file gives; messages name its ``rows``.

    ``normalise`` divides distributions by their row sums; a negative or missing degree and a row of zeros stay errors.
    """
    if kind not in KINDS:
        raise DatasetError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    names = label_names or default_label_names(matrix.shape[1])
    # Before the kind is inferred: with NaN among them, 0/1 labels would pass for degrees.
    if kind in ("auto", "logical"):
        _refuse_unknown(matrix, names, where, rows)
    if kind == "auto":
        kind = infer_kind(matrix)
    if kind == "logical":
        if not _is_logical(matrix):
            raise_not_logical(matrix, names, where, rows)
        return {"Y": (matrix > 0).astype(np.int8)}
    if kind == "votes":
        advice = "Votes need at least one per row."
        raise_row_problems(matrix, names, sums=False, where=where, advice=advice, rows=rows)
        return {"counts": matrix, "D": matrix / matrix.sum(axis=1, keepdims=True, dtype=np.float64)}
    D = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)  # float32 stays as it is in the file
    advice = (
        f"Sums may differ from 1 by {SUM_TOLERANCE:g}. If degrees only need to be divided by the row sum, use "
        "normalise=True; if they are votes, kind='votes'."
    )
    advice = "Dividing by the row sum does not repair that." if normalise else advice
    raise_row_problems(D, names, sums=not normalise, where=where, advice=advice, rows=rows)
    if normalise:
        sums = D.sum(axis=1, keepdims=True, dtype=np.float64)
        # Rows that sum to 1 stay what they are to the last bit: dividing by 1 + 1e-16 would change them.
        D = np.where(np.abs(sums - 1) > np.finfo(D.dtype).eps, D / sums, D).astype(D.dtype)
    return {"D": D}


def _refuse_unknown(matrix: NDArray[Any], label_names: Sequence[str], where: str, rows: Rows) -> None:
    """0/1 labels of which some are unknown: a data set has none of these, a table that is preprocessed may."""
    unknown = matrix != matrix  # only NaN differs from itself
    if unknown.any() and not unknown.all() and _is_logical(matrix[~unknown]):
        row, column = np.argwhere(unknown)[0]
        raise DatasetError(
            f"{where}, row {rows[row]}, column {label_names[column]!r}: the label is unknown; write 0 or 1, or, in a "
            "plan, preprocess = true, under which methods that can do without it are compared."
        )


def raise_not_logical(Y: NDArray[Any], label_names: Sequence[str], where: str, rows: Rows) -> None:
    """Raise a `DatasetError` that names the first entry of Y other than 0 and 1, if there is one."""
    for row, column in np.argwhere(~np.isin(Y, (0, 1)))[:1]:
        place = f"{where}, row {rows[row]}, column {label_names[column]!r}"
        raise DatasetError(f"{place}: logical labels must be 0 or 1, got {Y[row, column]!s}.")


def raise_row_problems(
    D: NDArray[Any],
    label_names: Sequence[str],
    *,
    sums: bool = True,
    where: str = "D",
    advice: str = "Correct or drop these rows.",
    rows: Rows,
) -> None:
    """Raise a `DatasetError` that lists the rows of D that are no distributions, if there are any."""
    problems = find_row_problems(D, sums=sums)
    if problems:
        parts = [_describe_problem(kind, mark, D, label_names, rows) for kind, mark in problems.items()]
        message = f"{where}: {'; '.join(parts)} (the first row is row {rows[0]}). {advice}"
        raise DatasetError(message, {kind: np.flatnonzero(mark).tolist() for kind, mark in problems.items()})


def _describe_problem(
    kind: str, mark: NDArray[np.bool_], D: NDArray[Any], label_names: Sequence[str], rows: Rows
) -> str:
    row = D[int(np.argmax(mark))]
    not_finite, lowest = int(np.argmax(~np.isfinite(row))), int(np.argmax(row < 0))
    problem = {
        "not finite": f"NaN or infinite degree, first of label {label_names[not_finite]!r}",
        "negative degree": f"negative degree, first {row[lowest]:.6g} of label {label_names[lowest]!r}",
        "sums to 0": "degrees that sum to 0",
    }.get(kind, f"degrees that do not sum to 1, first {row.sum():.6g}")
    return f"{describe_rows(mark, rows)}: {problem}"
