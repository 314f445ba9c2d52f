"""A table with its labels: read from a file or a frame, checked, and made what an estimator takes."""

from __future__ import annotations

import hashlib
import inspect
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.base.discovery import installed_versions
from ldlearn.core.simplex import normalize_rows
from ldlearn.core.targets import fill_unknown, split_observed, votes_to_degrees
from ldlearn.exceptions import ParameterError, TableError, format_list
from ldlearn.tables.column_types import ColumnTypes, columns_by_type, find_column_types
from ldlearn.tables.columns import Columns, FeatureColumns, TableColumns, check_distinct, choose_columns, find_kept
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.features import SPARSE_BELOW
from ldlearn.tables.formats import open_table
from ldlearn.tables.label_lists import LabelList, expand_label_list, holds_lists
from ldlearn.tables.progress import Progress, silent
from ldlearn.tables.source import PIPE, Kind, OnMessage, Source
from ldlearn.tables.sparse_table import SparseTable
from ldlearn.tables.values import (
    are_logical,
    check_all_known,
    check_degrees,
    check_logical_labels,
    check_some_label,
    check_votes,
    import_pandas,
    to_labels,
)

Matrix = NDArray[np.float64]

_TAKES_DISTRIBUTIONS = "learner"
_KINDS = ("auto", "votes", "mixed")
_READ_AS_TEXT = ("categorical", "date", "text")  # so that codes keep leading zeros and dates their form


@dataclass(frozen=True)
class TableInput:
    """A table to read, what the user says of it, and who is told how far it has been read."""

    name: str
    format: str | None = None
    dialect: Dialect | None = None
    on_message: OnMessage | None = None
    progress: Progress = silent

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.name == PIPE else self.name

    @property
    def decimal(self) -> str | None:
        """The decimal mark, if the user says it."""
        return None if self.dialect is None else self.dialect.decimal

    def log(self, message: str) -> None:
        """Say how it was understood where that is not the usual."""
        (self.on_message or warnings.warn)(f"{self.where}: {message}")

    def identity(self) -> dict[str, str]:
        """Which table it was, and when and by what it was read: for the card of a model."""
        known = {
            "file": Path(self.where).name,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "ldlearn": installed_versions()["ldlearn"],
        }
        if not Path(self.name).is_file():
            return known
        with open(self.name, "rb") as file:
            return known | {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}

    @contextmanager
    def opened(self, task: str) -> Iterator[Source]:
        """The table; how far it has been read is told."""
        size = os.path.getsize(self.name) if self.name != PIPE and Path(self.name).is_file() else None
        with (
            self.progress(task, size, is_bytes=True) as on_progress,
            open_table(self.name, self.format, on_progress, dialect=self.dialect, on_message=self.on_message) as source,
        ):
            yield source


@dataclass(frozen=True)
class LabelledTable:
    """Rows with their labels, before anything is learned from them.

    Attributes
    ----------
    frame : DataFrame or SparseTable
        The table, with a column for each label.
    columns : TableColumns
        What its columns are, as far as the user says.
    labels : TableLabels
    listed : LabelList or None
        The column of lists that the labels came from, if they did.
    decimal : str or None
        The decimal mark, if the user says it.
    """

    frame: Any
    columns: TableColumns
    labels: TableLabels
    listed: LabelList | None = None
    decimal: str | None = None

    def take(self, rows: NDArray[np.intp]) -> LabelledTable:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[rows], labels=self.labels.take(rows))

    def dense(self, *, unless_sparse: bool) -> LabelledTable:
        """The same with a frame, unless that is sparse, which is allowed, and pays."""
        if not isinstance(self.frame, SparseTable) or (unless_sparse and self.frame.density < SPARSE_BELOW):
            return self
        return replace(self, frame=self.frame.to_frame())

    def find_types(self) -> ColumnTypes:
        """What the feature columns are; refuses a table of which none is left."""
        types = find_column_types(self.frame, self.columns.features, **self.columns.kinds, decimal=self.decimal)
        if len(types.left_out) == len(self.columns.features):
            why = "; ".join(
                f"{reason}: {format_list(names)}" for reason, names in columns_by_type(types.left_out).items()
            )
            raise TableError(f"no column is left for the features ({why}).")
        return types


def label_frame(
    table: Any, labels: Columns, wanted: FeatureColumns, kind: str = "auto", separator: str | None = None
) -> LabelledTable:
    """The columns of a data frame that are wanted, and its labels."""
    frame = as_frame(table)
    if not len(frame):
        raise TableError("the table has no rows.")
    return _with_labels(frame, choose_columns(_Frame(frame), labels, **wanted), kind, separator)


def read_labelled(
    table_input: TableInput,
    labels: Columns,
    wanted: FeatureColumns,
    *,
    kind: str = "auto",
    separator: str | None = None,
    keep: Columns = None,
) -> LabelledTable:
    """The columns of a file that are wanted, all rows, and its labels; how a column of lists was read is told."""
    with table_input.opened("reading") as source:
        try:
            columns = choose_columns(source, labels, **wanted)
        except TableError:
            from ldlearn.tables.annotation_formats import refuse_long_table

            # Of a table of answers, which columns are missing is not the advice that helps.
            refuse_long_table(table_input.name, source.names)
            raise
        named = columns.labels if len(columns.labels) > 1 else []  # a column of lists gives its name to no degrees
        columns = replace(columns, kept=find_kept(source, keep, columns.id, named))
        table = _read_columns(source, columns)
        _refuse_lists(table.frame if isinstance(table, SparseTable) else table, set(columns.features))
        label = table[columns.labels[0]]
        # Ticks in one column are a label of items; only names or other numbers can be answers.
        if len(columns.labels) == 1 and (holds_lists(label) or not label.isin((0, 1)).all()):
            from ldlearn.tables.annotation_formats import refuse_long_rows

            refuse_long_rows(table_input.name, table, columns.labels[0], columns.id)
        found = replace(_with_labels(table, columns, kind, separator), decimal=table_input.decimal)
    if found.listed is not None:
        table_input.log(found.listed.describe(found.columns.labels))
    return found


def _with_labels(frame: Any, columns: TableColumns, kind: str, separator: str | None) -> LabelledTable:
    """Only a single label column can hold lists, which become a column for each label."""
    expanded, names, listed = frame, columns.labels, None
    if len(names) == 1 or separator is not None:
        expanded, names, listed = expand_label_list(frame, names, separator)
    # The 0/1 columns have taken its place.
    if listed is not None and listed.column in columns.kept:
        expanded = expanded.assign(**{listed.column: frame[listed.column]})
    read = TableLabels(names, to_labels(expanded, names), frame.index, kind)
    return LabelledTable(expanded, replace(columns, labels=names), read, listed)


def as_frame(table: Any) -> Any:
    """A pandas frame with distinct text names; frames of other libraries are converted."""
    if isinstance(table, SparseTable):
        return table
    if not isinstance(table, import_pandas().DataFrame):
        if not hasattr(table, "to_pandas"):
            raise TableError(f"A table with named columns is needed (a data frame), got {type(table).__name__}.")
        table = table.to_pandas()
    names = [str(name) for name in table.columns]
    check_distinct(names)
    return table.set_axis(names, axis=1) if names != list(table.columns) else table


class _Frame(Source):
    """A table in memory, whose columns are chosen as those of a file."""

    def __init__(self, frame: Any) -> None:
        self.names = list(frame.columns)


def _refuse_lists(table: Any, features: set[str]) -> None:
    """Only labels come as lists, and a column of lists is one from its first cell on."""
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        if kind.kind != "O" or name not in features:
            continue
        row, first = next(((row, cell) for row, cell in table[name].items() if cell is not None), (0, None))
        if isinstance(first, list):
            raise TableError("a list is no feature; leave the column out (ignore).", row=row, column=name)


def _read_columns(source: Source, columns: TableColumns) -> Any:
    """Those columns, all rows, as a data frame."""
    # The last word counts: a kept column that is a feature is read as one, and the id always as text.
    types: dict[str, Kind] = dict.fromkeys(columns.kept, "text")
    types |= dict.fromkeys([*columns.features, *columns.labels], "any")
    types |= {name: "text" for kind in _READ_AS_TEXT for name in columns.kinds.get(kind, ())}
    if columns.id is not None:
        types[columns.id] = "text"
    table = source.read(types, sparse=True)
    if not len(table):
        raise TableError("the table has no rows.")
    return table


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
    messages : list of str
        What the user should know.
    """

    y: Matrix
    row_data: dict[str, Any]
    truth: Matrix
    kind: str
    messages: list[str]


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
    def is_logical(self) -> bool:
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
        messages = [] if voted.all() else [f"{int((~voted).sum())} rows without votes teach nothing."]
        takes = inspect.signature(estimator.fit).parameters
        if estimator.kind == _TAKES_DISTRIBUTIONS:
            # A row without votes has weight 0, so that any distribution will do for it.
            y, told = np.where(voted[:, None], degrees, 1.0 / len(self.names)), {"sample_weight": totals}
        else:
            y = np.where(voted[:, None], self.values > 0, np.nan)
            told = {"sample_weight": totals, "degrees": degrees} if "degrees" in takes else {}
            if "n_raters" in takes:
                # Of a row without votes every label is unknown, so that any number will do.
                told = {"n_raters": np.maximum(totals, 1.0)}
            if not told:
                messages.append(
                    f"{type(estimator).__name__} cannot be told degrees: it sees which labels got any vote."
                )
        if told.keys() - takes.keys():
            messages.append(f"{type(estimator).__name__} takes no weights: a row counts once, however many voted.")
            told = {name: value for name, value in told.items() if name in takes}
        return TrainingTargets(y, told, degrees, "votes", messages)

    def _mixed(self, estimator: Any) -> TrainingTargets:
        if "degrees" not in inspect.signature(estimator.fit).parameters:
            raise ParameterError(f"{type(estimator).__name__} cannot be told the degrees of some rows; DLDL can.")
        # Of a row with a single 1 both readings are the same: all of its degree is there.
        told = ~(np.isin(self.values, (0.0, 1.0)) | np.isnan(self.values)).all(axis=1)
        degrees = np.full(self.values.shape, np.nan)
        degrees[told] = check_degrees(self.values[told], self.names, self.rows[told])
        y = replace(self, values=_to_logical(self.values)).check(estimator)
        if not told.any():
            messages = ["No row has degrees: kind mixed was not needed.", *_unknown_cells(y)]
            return TrainingTargets(y, {}, y, "0/1", messages)
        messages = [f"True degrees of {int(told.sum())} rows, 0/1 labels of {int((~told).sum())}.", *_unknown_cells(y)]
        return TrainingTargets(y, {"degrees": degrees}, y, "0/1", messages)

    def check(self, estimator: Any) -> Matrix:
        """The labels, which must be of the kind that the estimator takes."""
        if estimator.kind == _TAKES_DISTRIBUTIONS:
            return check_degrees(self.values, self.names, self.rows)
        name = type(estimator).__name__
        advice = f"{name} learns from 0/1 labels; for counts say kind='votes' (--kind votes), for degrees of some rows "
        advice += "kind='mixed' (--kind mixed), for degrees of all rows use a learner such as SABFGS."
        check_logical_labels(self.values, self.names, self.rows, advice)
        if not estimator.capabilities().unknown_labels:
            advice = f"write 0 or 1: {name} takes no unknown labels, DLDL does."
            check_all_known(self.values, self.names, self.rows, advice)
        # Of a single label every 0 is an empty row: that sentence would not help.
        if (self.values == 0).any():
            check_two_labels(self.names)
        check_some_label(self.values, self.rows, "drop such rows.")
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
        messages : list of str
        """
        if self.kind == "votes":
            check_votes(self.values, self.names, self.rows)
            degrees, weights = votes_to_degrees(self.values)
            unvoted = int((weights == 0).sum())
            return degrees, weights, False, [f"{unvoted} rows without votes are left out."] if unvoted else []
        if not self.is_logical:
            return check_degrees(self.values, self.names, self.rows), None, False, []
        T = _to_logical(self.values)
        n = int(np.isnan(T).sum())
        return T, None, True, [f"{n} empty label cells of {T.size} are unknown, and count for nothing."] if n else []


def _to_logical(values: Matrix) -> Matrix:
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
        T = fill_unknown(*split_observed(T)) if are_logical(T) else T[~np.isnan(T).any(axis=1)]
    return np.asarray(normalize_rows(np.where(T.any(axis=1, keepdims=True), T, 1.0)).mean(axis=0), dtype=np.float64)
