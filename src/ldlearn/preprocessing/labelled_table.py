"""Reading a table file with its labels: which columns, and what the user should have said of them."""

from __future__ import annotations

import hashlib
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

from ldlearn.errors import TableError, some
from ldlearn.io.columns import Columns, FeatureColumns, TableColumns, check_distinct, choose_columns, find_kept
from ldlearn.io.formats import naming, open_table
from ldlearn.io.label_lists import LabelList, expand_label_list, holds_lists
from ldlearn.io.source import PIPE, Kind, Say, Source
from ldlearn.io.sparse_table import SparseTable
from ldlearn.io.text_style import TextStyle
from ldlearn.io.values import import_pandas, to_labels
from ldlearn.preprocessing.column_kinds import ColumnKinds, columns_by_kind, find_kinds
from ldlearn.preprocessing.features import SPARSE_BELOW
from ldlearn.preprocessing.labels import TableLabels
from ldlearn.preprocessing.progress import Progress, silent
from ldlearn.versions import installed_versions

_READ_AS_TEXT = ("categorical", "date", "text")


@dataclass(frozen=True)
class GivenTable:
    """A table to read, what the user says of it, and who is told how far it has been read."""

    name: str
    format: str | None = None
    style: TextStyle | None = None
    say: Say | None = None
    progress: Progress = silent

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.name == PIPE else self.name

    def tell(self, sentence: str) -> None:
        """Say how it was understood where that is not the usual."""
        (self.say or warnings.warn)(f"{self.where}: {sentence}")

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
            self.progress(task, size, is_bytes=True) as told,
            open_table(self.name, self.format, told, style=self.style, say=self.say) as source,
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
    """

    frame: Any
    columns: TableColumns
    labels: TableLabels
    listed: LabelList | None = None

    def take(self, rows: NDArray[np.intp]) -> LabelledTable:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[rows], labels=self.labels.take(rows))

    def dense(self, *, unless_sparse: bool) -> LabelledTable:
        """The same with a frame, unless that is sparse, which is allowed, and pays."""
        if not isinstance(self.frame, SparseTable) or (unless_sparse and self.frame.density < SPARSE_BELOW):
            return self
        return replace(self, frame=self.frame.to_frame())

    def find_kinds(self) -> ColumnKinds:
        """What the feature columns are; refuses a table of which none is left."""
        kinds = find_kinds(self.frame, self.columns.features, **self.columns.kinds)
        if len(kinds.left_out) == len(self.columns.features):
            why = "; ".join(f"{reason}: {some(names)}" for reason, names in columns_by_kind(kinds.left_out).items())
            raise TableError(f"no column is left for the features ({why}).")
        return kinds


def label_frame(
    table: Any, labels: Columns, wanted: FeatureColumns, kind: str = "auto", separator: str | None = None
) -> LabelledTable:
    """The columns of a data frame that are wanted, and its labels."""
    frame = as_frame(table)
    if not len(frame):
        raise TableError("the table has no rows.")
    return _with_labels(frame, choose_columns(_Frame(frame), labels, **wanted), kind, separator)


def read_labelled(
    given: GivenTable,
    labels: Columns,
    wanted: FeatureColumns,
    *,
    kind: str = "auto",
    separator: str | None = None,
    keep: Columns = None,
) -> LabelledTable:
    """The columns of a file that are wanted, all rows, and its labels; how a column of lists was read is told."""
    with given.opened("reading") as source:
        try:
            columns = choose_columns(source, labels, **wanted)
        except TableError:
            _refuse_long_table(given, source.names)
            raise
        named = columns.labels if len(columns.labels) > 1 else []  # a column of lists gives its name to no degrees
        columns = replace(columns, kept=find_kept(source, keep, columns.id, named))
        table = _read_columns(source, columns)
        _refuse_lists(table.frame if isinstance(table, SparseTable) else table, set(columns.features))
        if len(columns.labels) == 1 and not _is_logical(table[columns.labels[0]]):
            _refuse_answers(given, table, columns)
    with naming(given.where):
        found = _with_labels(table, columns, kind, separator)
    if found.listed is not None:
        given.tell(found.listed.in_words(found.columns.labels))
    return found


def _with_labels(frame: Any, columns: TableColumns, kind: str, separator: str | None) -> LabelledTable:
    """Only a single label column can hold lists, which become a column for each label."""
    expanded, names, listed = frame, columns.labels, None
    if len(names) == 1 or separator is not None:
        expanded, names, listed = expand_label_list(frame, names, separator)
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


def _is_logical(label: Any) -> bool:
    return not holds_lists(label) and bool(label.isin((0, 1)).all())


def _refuse_lists(table: Any, features: set[str]) -> None:
    """Only labels come as lists, and a column of lists is one from its first cell on."""
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        if kind.kind != "O" or name not in features:
            continue
        row, first = next(((row, cell) for row, cell in table[name].items() if cell is not None), (0, None))
        if isinstance(first, list):
            raise TableError("a list is no feature; leave the column out (ignore).", row=row, column=name)


def _refuse_long_table(given: GivenTable, names: Sequence[str]) -> None:
    """A table without the columns that were asked for, but with those of answers: say what makes a table of it."""
    from ldlearn.io.answer_columns import import_command, usual_roles

    roles = usual_roles(names)
    if roles is not None:
        raise TableError(f"a row is an answer ({roles.described}); first type: {import_command(given.name, roles)}")


def _refuse_answers(given: GivenTable, table: Any, columns: TableColumns) -> None:
    """A table whose label column is there, but where items come back, one row for each answer."""
    from ldlearn.io.answer_columns import hidden_answers, import_command

    roles = hidden_answers(table, columns.labels[0], columns.id)
    if roles is not None:
        raise TableError(
            f"the values of {roles.item!r} come back with other labels, so that a row is an answer and not an item; "
            f"first type: {import_command(given.name, roles)}"
        )


def _read_columns(source: Source, columns: TableColumns) -> Any:
    """Those columns, all rows, as a data frame."""
    kinds: dict[str, Kind] = dict.fromkeys([*columns.features, *columns.labels], "any")
    kinds |= {name: "text" for kind in _READ_AS_TEXT for name in columns.kinds.get(kind, ())}
    aside: dict[str, Kind] = dict.fromkeys(columns.kept, "text")
    kinds = aside | kinds
    if columns.id is not None:
        kinds[columns.id] = "text"
    table = source.read(kinds, sparse=True)
    if not len(table):
        raise TableError("the table has no rows.")
    return table
