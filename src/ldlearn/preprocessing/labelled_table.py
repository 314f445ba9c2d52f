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

from ldlearn.errors import TableError
from ldlearn.io.columns import Columns, FeatureColumns, TableColumns, choose_columns, find_kept
from ldlearn.io.formats import naming, open_table
from ldlearn.io.label_lists import LabelList, holds_lists
from ldlearn.io.source import PIPE, Kind, Say, Source
from ldlearn.io.sparse_table import SparseTable
from ldlearn.io.text_style import TextStyle
from ldlearn.preprocessing.labels import label_columns
from ldlearn.preprocessing.progress import Progress
from ldlearn.versions import installed_versions

_READ_AS_TEXT = ("categorical", "date", "text")


@dataclass(frozen=True)
class GivenTable:
    """A table to read, and what the user says of it."""

    name: str
    format: str | None = None
    style: TextStyle | None = None
    say: Say | None = None

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
    def opened(self, task: str, progress: Progress) -> Iterator[Source]:
        """The table; how far it has been read is told."""
        size = os.path.getsize(self.name) if self.name != PIPE and Path(self.name).is_file() else None
        with (
            progress(task, size, is_bytes=True) as told,
            open_table(self.name, self.format, told, style=self.style, say=self.say) as source,
        ):
            yield source


def read_labelled(
    given: GivenTable,
    progress: Progress,
    labels: Columns,
    wanted: FeatureColumns,
    separator: str | None = None,
    keep: Columns = None,
) -> tuple[Any, TableColumns, LabelList | None]:
    """As `read_training`; a column that holds lists of labels becomes a column for each label, which is told."""
    table, columns = read_training(given, progress, labels, wanted, keep)
    with naming(given.where):
        expanded, names, listed = label_columns(table, columns.labels, separator)
    if listed is not None:
        given.tell(listed.in_words(names))
        if listed.column in columns.kept:
            expanded = expanded.assign(**{listed.column: table[listed.column]})
    return expanded, replace(columns, labels=names), listed


def read_training(
    given: GivenTable,
    progress: Progress,
    labels: Columns,
    wanted: FeatureColumns,
    keep: Columns = None,
) -> tuple[Any, TableColumns]:
    """The columns that are wanted, all rows, and what they are."""
    with given.opened("reading", progress) as source:
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
        return table, columns


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
