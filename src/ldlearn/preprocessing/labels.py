"""The labels of a table: checked, made what an estimator takes, and what predictions are compared with."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import normalize_rows
from ldlearn.core.targets import fill_unknown, ticked_and_known, votes_to_degrees
from ldlearn.errors import ParameterError, TableError
from ldlearn.io.values import (
    are_logical,
    check_all_known,
    check_degrees,
    check_logical_labels,
    check_some_label,
    check_votes,
)

Matrix = NDArray[np.float64]

_TAKES_DISTRIBUTIONS = "learner"
_KINDS = ("auto", "votes", "mixed")


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

    y: Matrix
    row_data: dict[str, Any]
    truth: Matrix
    kind: str
    notes: list[str]


@dataclass(frozen=True)
class TableLabels:
    """The label columns of a table as numbers.

    Attributes
    ----------
    names : sequence of str
    values : ndarray of shape (n, c)
        Whatever the columns hold, NaN where they are empty.
    rows : sequence
        What the rows are called in messages.
    kind : {"auto", "votes", "mixed"}
        What the columns are said to hold: counts of votes; 0/1 labels with the true degrees of some rows.
    """

    names: Sequence[str]
    values: Matrix
    rows: Any
    kind: str = "auto"

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ParameterError(f"kind must be one of {', '.join(_KINDS)}, got {self.kind!r}.")

    def take(self, rows: NDArray[np.intp]) -> TableLabels:
        """Those of some rows."""
        return replace(self, values=self.values[rows], rows=self.rows[rows])

    @property
    def teach_ticks(self) -> bool:
        """Whether they are 0/1 labels, with or without degrees of some rows."""
        return self.kind == "mixed" or (self.kind == "auto" and are_logical(self.values))

    def for_estimator(self, estimator: Any) -> TrainingTargets:
        """The labels as an estimator takes them; anything else is refused by row and column.

        Counts of votes become degrees with the number of votes as weight: for a learner, and for a joint model that can
        be told degrees. Any other joint model is given the 0/1 labels that votes are when only some or none are
        counted, and the number of raters if it takes that. Degrees of some rows are for DLDL, which keeps them.
        """
        if self.kind == "votes":
            return self._votes(estimator)
        if self.kind == "mixed":
            return self._mixed(estimator)
        y = self.check(estimator)
        return TrainingTargets(y, {}, y, "0/1" if are_logical(y) else "degrees", _unknown_cells(y))

    def _votes(self, estimator: Any) -> TrainingTargets:
        check_votes(self.values, self.names, self.rows)
        degrees, totals = votes_to_degrees(self.values)
        voted = totals > 0
        if not voted.any():
            raise TableError("nobody voted: every count is 0.")
        notes = [] if voted.all() else [f"{int((~voted).sum())} rows without votes teach nothing."]
        takes = inspect.signature(estimator.fit).parameters
        if estimator.kind == _TAKES_DISTRIBUTIONS:
            # A row without votes has weight 0, so that any distribution will do for it.
            y, told = np.where(voted[:, None], degrees, 1.0 / len(self.names)), {"sample_weight": totals}
        else:
            y = np.where(voted[:, None], self.values > 0, np.nan)
            told = {"sample_weight": totals, "degrees": degrees} if "degrees" in takes else {}
            if "n_raters" in takes:
                told = {"n_raters": np.maximum(totals, 1.0)}
            if not told:
                notes.append(f"{type(estimator).__name__} cannot be told degrees: it sees which labels got any vote.")
        if told.keys() - takes.keys():
            notes.append(f"{type(estimator).__name__} takes no weights: a row counts once, however many voted.")
            told = {name: value for name, value in told.items() if name in takes}
        return TrainingTargets(y, told, degrees, "votes", notes)

    def _mixed(self, estimator: Any) -> TrainingTargets:
        if "degrees" not in inspect.signature(estimator.fit).parameters:
            raise ParameterError(f"{type(estimator).__name__} cannot be told the degrees of some rows; DLDL can.")
        # Of a row with a single 1 both readings are the same: all of its degree is there.
        told = ~(np.isin(self.values, (0.0, 1.0)) | np.isnan(self.values)).all(axis=1)
        degrees = np.full(self.values.shape, np.nan)
        degrees[told] = check_degrees(self.values[told], self.names, self.rows[told])
        y = replace(self, values=_ticks(self.values)).check(estimator)
        if not told.any():
            notes = ["No row has degrees: kind mixed was not needed.", *_unknown_cells(y)]
            return TrainingTargets(y, {}, y, "0/1", notes)
        notes = [f"True degrees of {int(told.sum())} rows, 0/1 labels of {int((~told).sum())}.", *_unknown_cells(y)]
        return TrainingTargets(y, {"degrees": degrees}, y, "0/1", notes)

    def check(self, estimator: Any) -> Matrix:
        """The labels, which must be of the kind that the estimator takes."""
        if estimator.kind == _TAKES_DISTRIBUTIONS:
            return check_degrees(self.values, self.names, self.rows)
        name = type(estimator).__name__
        advice = f"{name} learns from 0/1 labels; for counts say kind='votes' (--kind votes), for degrees of some rows "
        advice += "kind='mixed' (--kind mixed), for degrees of all rows use a learner such as SABFGS."
        check_logical_labels(self.values, self.names, self.rows, advice)
        if not estimator.takes_unknown:
            advice = f"write 0 or 1: {name} takes no unknown labels, DLDL does."
            check_all_known(self.values, self.names, self.rows, advice)
        if getattr(estimator, "empty_rows", None) != "all":
            if (self.values == 0).any():
                check_two_labels(self.names)
            choice = ", or set empty_rows=all" if hasattr(estimator, "empty_rows") else ""
            check_some_label(self.values, self.rows, f"drop such rows{choice}.")
        return self.values

    def truth(self) -> tuple[Matrix, Matrix | None, bool, list[str]]:
        """What predictions of other rows are compared with, and what to say of it.

        Returns
        -------
        truth : ndarray of shape (n, c)
            NaN where nothing can be compared.
        weights : ndarray of shape (n,) or None
            How often each row counts.
        logical : bool
            Whether these are 0/1 labels.
        notes : list of str
        """
        if self.kind == "votes":
            check_votes(self.values, self.names, self.rows)
            degrees, weights = votes_to_degrees(self.values)
            unvoted = int((weights == 0).sum())
            return degrees, weights, False, [f"{unvoted} rows without votes are left out."] if unvoted else []
        if not self.teach_ticks:
            return check_degrees(self.values, self.names, self.rows), None, False, []
        T = _ticks(self.values)
        n = int(np.isnan(T).sum())
        return T, None, True, [f"{n} empty label cells of {T.size} are unknown, and count for nothing."] if n else []


def _ticks(values: Matrix) -> Matrix:
    return np.where(np.isnan(values), np.nan, values > 0)


def _unknown_cells(y: Matrix) -> list[str]:
    unknown = int(np.isnan(y).sum())
    return [f"{unknown} empty label cells of {y.size} are unknown: neither 0 nor 1."] if unknown else []


def check_two_labels(labels: Sequence[str]) -> None:
    """Refuse a single label: there is nothing to share."""
    if len(labels) == 1:
        raise TableError("one label has degree 1 in every row; name at least two.", column=labels[0])


def mean_distribution(T: Matrix) -> Matrix:
    """Mean over the rows of the degrees, or of equal shares of the positive labels; a row without any counts as all.

    Unknown labels count as their share of ticks elsewhere, rows of unknown degrees not at all.
    """
    if np.isnan(T).any():
        T = fill_unknown(*ticked_and_known(T)) if are_logical(T) else T[~np.isnan(T).any(axis=1)]
    return np.asarray(normalize_rows(np.where(T.any(axis=1, keepdims=True), T, 1.0)).mean(axis=0), dtype=np.float64)
