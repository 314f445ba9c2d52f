"""Label matrices of files: are they distributions, votes or logical labels, and are they sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.datasets.rows import raise_row_problems, sum_tolerance
from ldlearn.errors import DatasetError

KINDS = ("auto", "distribution", "votes", "logical")


def guess_kind(matrix: NDArray[Any]) -> str:
    """Logical if all entries are 0 or 1 (or -1 or 1), votes if whole and not negative, else distribution.

    Examples
    --------
    >>> guess_kind(np.array([[0, 1], [1, 1]])), guess_kind(np.array([[3.0, 1.0]])), guess_kind(np.array([[0.5, 0.5]]))
    ('logical', 'votes', 'distribution')
    """
    if _is_logical(matrix):
        return "logical"
    whole = bool(np.isfinite(matrix).all()) and bool((matrix >= 0).all()) and bool((matrix % 1 == 0).all())
    return "votes" if whole else "distribution"


def _is_logical(matrix: NDArray[Any]) -> bool:
    return bool(np.isin(matrix, (0, 1)).all()) or bool(np.isin(matrix, (-1, 1)).all())


def as_fields(
    matrix: NDArray[Any], kind: str, label_names: Sequence[str], where: str, normalise: bool
) -> dict[str, NDArray[Any]]:
    """Fields of a `LabelDataset` (D, Y, counts) that a label matrix of a kind gives."""
    if kind not in KINDS:
        raise DatasetError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    if kind == "auto":
        kind = guess_kind(matrix)
    if kind == "logical":
        return {"Y": _as_logical(matrix, where)}
    if kind == "votes":
        return _from_votes(matrix, label_names, where)
    return {"D": as_distributions(matrix, label_names, where, normalise)}


def _as_logical(matrix: NDArray[Any], where: str) -> NDArray[np.int8]:
    if not _is_logical(matrix):
        row, column = np.argwhere(~np.isin(matrix, (0, 1)))[0]
        raise DatasetError(
            f"{where}: logical labels must be 0 or 1, got {matrix[row, column]!s} at row {row}, column {column} "
            "(counted from 0)."
        )
    return np.asarray((matrix > 0).astype(np.int8))


def _from_votes(matrix: NDArray[Any], label_names: Sequence[str], where: str) -> dict[str, NDArray[Any]]:
    names = label_names or _numbers(matrix)
    raise_row_problems(matrix, names, sums=False, where=where, advice="Votes need at least one per row.")
    return {"counts": matrix, "D": matrix / matrix.sum(axis=1, keepdims=True, dtype=np.float64)}


def as_distributions(
    matrix: NDArray[Any], label_names: Sequence[str], where: str, normalise: bool = False
) -> NDArray[Any]:
    """Label distributions: checked row by row, and divided by the row sums if asked.

    ``normalise=True`` repairs rows that are finite, not negative and sum to something else than 1, and
    nothing else: a negative or missing degree and a row of zeros stay errors.
    """
    D = matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)
    names = label_names or _numbers(matrix)
    if normalise:
        raise_row_problems(D, names, sums=False, where=where, advice="Dividing by the row sum does not repair that.")
        sums = D.sum(axis=1, keepdims=True, dtype=np.float64)
        off = np.abs(sums - 1) > np.finfo(D.dtype).eps
        return np.where(off, D / np.where(off, sums, 1.0), D).astype(D.dtype)
    advice = (
        f"Sums may differ from 1 by {sum_tolerance(D):.1g}. If degrees only need to be divided by the row sum, use "
        "normalise=True; if they are votes, kind='votes'."
    )
    raise_row_problems(D, names, where=where, advice=advice)
    return D


def _numbers(matrix: NDArray[Any]) -> list[str]:
    return [f"label{j}" for j in range(matrix.shape[1])]
