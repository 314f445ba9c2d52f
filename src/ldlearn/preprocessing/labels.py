"""The labels of a table: read, checked, and made what an estimator takes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import normalize_rows
from ldlearn.core.targets import fill_unknown, ticked_and_known, votes_to_degrees
from ldlearn.errors import ParameterError, TableError
from ldlearn.io.columns import check_columns
from ldlearn.io.label_lists import LabelList, expand_label_list
from ldlearn.io.values import (
    are_logical,
    check_all_known,
    check_degrees,
    check_logical_labels,
    check_some_label,
    check_votes,
    to_labels,
)

_TAKES_DISTRIBUTIONS = "learner"
LABEL_KINDS = ("auto", "votes", "mixed")


def label_columns(
    table: Any, labels: Sequence[str], separator: str | None = None
) -> tuple[Any, list[str], LabelList | None]:
    """The table with a column for each label: only a single label column can hold lists; see `expand_label_list`."""
    if len(labels) != 1 and separator is None:
        return table, list(labels), None
    return expand_label_list(table, labels, separator)


def read_labels(table: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """The label columns as numbers, whatever kind of targets they are."""
    if not labels:
        raise TableError("no label column was named.")
    check_columns(list(table.columns), labels, "label")
    return to_labels(table, labels)


@dataclass(frozen=True)
class TrainingTargets:
    """Labels of a table as an estimator takes them.

    Attributes
    ----------
    y : ndarray of shape (n, c)
        What ``fit`` gets.
    row_data : dict
        What else it gets: weights, degrees, numbers of raters.
    truth : ndarray of shape (n, c)
        What predictions are compared with: 0/1 labels or degrees, NaN where unknown.
    kind : {"0/1", "degrees", "votes"}
    notes : list of str
        What the user should know.
    """

    y: NDArray[np.float64]
    row_data: dict[str, Any]
    truth: NDArray[np.float64]
    kind: str
    notes: list[str]


def training_targets(
    targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any, kind: str = "auto"
) -> TrainingTargets:
    """Label columns as the estimator takes them; anything else is refused by row and column.

    Counts of votes (``kind="votes"``) become degrees with the number of votes as weight: for a learner, and for a joint
    model that can be told degrees. Any other joint model is given the 0/1 labels that votes are when only some or none
    are counted, and the number of raters if it takes that. ``kind="mixed"`` is for 0/1 labels with the true degrees of
    some rows, which DLDL keeps.
    """
    if kind not in LABEL_KINDS:
        raise ParameterError(f"kind must be one of {', '.join(LABEL_KINDS)}, got {kind!r}.")
    if kind == "votes":
        return _votes(targets, labels, rows, estimator)
    if kind == "mixed":
        return _mixed(targets, labels, rows, estimator)
    y = check_targets(targets, labels, rows, estimator)
    return TrainingTargets(y, {}, y, "0/1" if are_logical(y) else "degrees", _unknown_cells(y))


def _unknown_cells(y: NDArray[np.float64]) -> list[str]:
    unknown = int(np.isnan(y).sum())
    return [f"{unknown} empty label cells of {y.size} are unknown: neither 0 nor 1."] if unknown else []


def _votes(counts: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any) -> TrainingTargets:
    check_votes(counts, labels, rows)
    degrees, totals = votes_to_degrees(counts)
    voted = totals > 0
    if not voted.any():
        raise TableError("nobody voted: every count is 0.")
    notes = [] if voted.all() else [f"{int((~voted).sum())} rows without votes teach nothing."]
    takes = inspect.signature(estimator.fit).parameters
    if estimator.kind == _TAKES_DISTRIBUTIONS:
        # A row without votes has weight 0, so that any distribution will do for it.
        y, told = np.where(voted[:, None], degrees, 1.0 / len(labels)), {"sample_weight": totals}
    else:
        y = np.where(voted[:, None], counts > 0, np.nan)
        told = {"sample_weight": totals, "degrees": degrees} if "degrees" in takes else {}
        if "n_raters" in takes:
            told = {"n_raters": np.maximum(totals, 1.0)}
        if not told:
            notes.append(f"{type(estimator).__name__} cannot be told degrees: it sees which labels got any vote.")
    unused = [name for name in told if name not in takes]
    if unused:
        notes.append(f"{type(estimator).__name__} takes no weights: a row counts once, however many voted.")
        told = {name: value for name, value in told.items() if name not in unused}
    return TrainingTargets(y, told, degrees, "votes", notes)


def _mixed(targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any) -> TrainingTargets:
    if "degrees" not in inspect.signature(estimator.fit).parameters:
        raise ParameterError(f"{type(estimator).__name__} cannot be told the degrees of some rows; DLDL can.")
    # Of a row with a single 1 both readings are the same: all of its degree is there.
    told = ~(np.isin(targets, (0.0, 1.0)) | np.isnan(targets)).all(axis=1)
    degrees = np.full(targets.shape, np.nan)
    degrees[told] = check_degrees(targets[told], labels, rows[told])
    y, logical = comparable_labels(targets, "mixed")
    check_targets(y, labels, rows, estimator)
    if not told.any():
        return TrainingTargets(y, {}, y, "0/1", ["No row has degrees: kind mixed was not needed.", *_unknown_cells(y)])
    notes = [f"True degrees of {int(told.sum())} rows, 0/1 labels of {int((~told).sum())}.", *_unknown_cells(y)]
    return TrainingTargets(y, {"degrees": degrees}, y, "0/1" if logical else "degrees", notes)


def comparable_labels(targets: NDArray[np.float64], kind: str) -> tuple[NDArray[np.float64], bool]:
    """What predictions are compared with, and whether that is 0/1 labels: shares of votes, which degrees are not 0."""
    if kind == "votes":
        return votes_to_degrees(targets)[0], False
    if kind == "mixed":
        targets = np.where(np.isnan(targets), np.nan, targets > 0)
    return targets, are_logical(targets)


def check_targets(
    targets: NDArray[np.float64], labels: Sequence[str], rows: Any, estimator: Any
) -> NDArray[np.float64]:
    """Labels as the kind of targets that the estimator takes; anything else is refused by row and column."""
    if estimator.kind == _TAKES_DISTRIBUTIONS:
        return check_degrees(targets, labels, rows)
    name = type(estimator).__name__
    advice = f"{name} learns from 0/1 labels; for counts say kind='votes' (--kind votes), for degrees of some rows "
    advice += "kind='mixed' (--kind mixed), for degrees of all rows use a learner such as SABFGS."
    check_logical_labels(targets, labels, rows, advice)
    if not estimator.takes_unknown:
        check_all_known(targets, labels, rows, f"write 0 or 1: {name} takes no unknown labels, DLDL does.")
    if getattr(estimator, "empty_rows", None) != "all":
        if (targets == 0).any():
            check_two_labels(labels)
        choice = ", or set empty_rows=all" if hasattr(estimator, "empty_rows") else ""
        check_some_label(targets, rows, f"drop such rows{choice}.")
    return targets


def check_two_labels(labels: Sequence[str]) -> None:
    """Refuse a single label: there is nothing to share."""
    if len(labels) == 1:
        raise TableError("one label has degree 1 in every row; name at least two.", column=labels[0])


def mean_distribution(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the rows of the degrees, or of equal shares of the positive labels; a row without any counts as all.

    Unknown labels count as their share of ticks elsewhere, rows of unknown degrees not at all.
    """
    if np.isnan(T).any():
        T = fill_unknown(*ticked_and_known(T)) if are_logical(T) else T[~np.isnan(T).any(axis=1)]
    return np.asarray(normalize_rows(np.where(T.any(axis=1, keepdims=True), T, 1.0)).mean(axis=0), dtype=np.float64)
