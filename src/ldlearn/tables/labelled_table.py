"""Tables with their labels: read from a file or a frame, checked and cleaned, before anything is learned."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ldlearn.base.discovery import installed_versions
from ldlearn.exceptions import TableError, format_list
from ldlearn.tables.column_types import CellReport, ColumnTypes, check_categories, columns_by_type, find_column_types
from ldlearn.tables.columns import Columns, FeatureOptions, TableColumns, check_distinct, choose_columns, find_kept
from ldlearn.tables.features import SPARSE_BELOW, TablePreprocessing, clean_features
from ldlearn.tables.files import PIPE, Dialect, OnMessage, Progress, prefix_errors, sha256_of, silent, warn
from ldlearn.tables.formats import open_table
from ldlearn.tables.label_lists import LabelList, expand_label_list
from ldlearn.tables.source import Kind, Source, SparseTable
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import import_pandas, to_labels

Rows = NDArray[np.intp]


class ReadingOptions(TypedDict, total=False):
    """How a table is read, and where messages and progress are reported: see `fit_table`."""

    format: str | None
    dialect: Dialect | None
    on_message: OnMessage | None
    progress: Progress


class LabelOptions(TypedDict, total=False):
    """How the cells of label columns are read: see `fit_table`."""

    kind: str
    separator: str | None
    blank: float | None
    empty_rows: str


class FitOptions(FeatureOptions, LabelOptions, ReadingOptions, total=False):
    """Everything about the table that a method is fitted on: see `fit_table`."""


def split_options(options: Mapping[str, object], *groups: Any) -> list[dict[str, Any]]:
    """The options of each group, a TypedDict; one that belongs to none is refused."""
    if unknown := options.keys() - {name for group in groups for name in group.__annotations__}:
        raise TypeError(f"there is no option {min(unknown)!r}.")
    return [{name: options[name] for name in group.__annotations__ if name in options} for group in groups]


@dataclass(frozen=True)
class TableInput:
    """A table to read, a file or a data frame, and `ReadingOptions`."""

    table: Any
    format: str | None = None
    dialect: Dialect | None = None
    on_message: OnMessage | None = None
    progress: Progress = silent
    label_file: str | None = None  # joined to the columns of a NumPy array
    likely_decimal: str = "."  # of a text table whose numbers do not show it

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        if not isinstance(self.table, str):
            return "table"
        return "standard input" if self.table == PIPE else self.table

    def new_report(self) -> CellReport:
        """An empty report of cells of the table."""
        return CellReport(decimal=None if self.dialect is None else self.dialect.decimal)

    def log(self, message: str) -> None:
        """Report something unusual about a file."""
        if isinstance(self.table, str):
            (self.on_message or warn)(f"{self.name}: {message}")

    def identity(self) -> dict[str, str]:
        """Name and checksum of the file, date and version of ldlearn: for the card of a model."""
        path, today, version = Path(self.name), f"{datetime.now(UTC):%Y-%m-%d}", installed_versions()["ldlearn"]
        checksum = {"sha256": sha256_of(path)} if path.is_file() else {}
        return {"file": path.name, "date": today, "ldlearn": version} | checksum

    @contextmanager
    def opened(self, task: str) -> Iterator[Source]:
        """Open the table; reading it reports its progress."""
        if not isinstance(self.table, str):
            yield FrameSource(self.table)
            return
        size = path.stat().st_size if (path := Path(self.table)).is_file() else None
        dialect = replace(self.dialect or Dialect(), likely_decimal=self.likely_decimal)
        with (
            self.progress(task, size, is_bytes=True) as advance,
            open_table(self.table, self.format, advance, dialect=dialect, on_message=self.on_message) as source,
        ):
            if self.label_file is not None:
                source.find(self.label_file)
            yield source


class FrameSource(Source):
    """A table in memory, read as a file is."""

    def __init__(self, table: Any) -> None:
        self._frame = as_frame(table)
        self.names = list(self._frame.columns)

    def _tables(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        yield self._frame


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


@dataclass(frozen=True)
class LabelledTable:
    """Rows with their labels, before anything is learned from them.

    Attributes
    ----------
    frame : DataFrame or SparseTable
        The table, with a column for each label.
    columns : TableColumns
        The roles of its columns, and the types that the user gives.
    labels : TableLabels
    label_list : LabelList or None
        The column of lists that the labels came from, if they did.
    source : TableInput
        What it was read from.
    """

    frame: Any
    columns: TableColumns
    labels: TableLabels
    label_list: LabelList | None
    source: TableInput

    def take(self, rows: Rows) -> Self:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[rows], labels=self.labels.take(rows))

    def clean(self, types: ColumnTypes | None = None, *, sparse: bool = False) -> tuple[Any, ColumnTypes, CellReport]:
        """Clean the feature columns, see `clean_features`; refuses a table of which none is left.

        ``types`` are inferred unless they are given; the result is a frame unless it may be ``sparse``, and that pays.
        """
        table, report = self.frame, self.source.new_report()
        # Before types are inferred, which differs for sparse columns.
        if isinstance(table, SparseTable) and not (sparse and table.density < SPARSE_BELOW):
            table = table.to_frame()
        if types is None:
            types = find_column_types(table, self.columns.features, **self.columns.types, decimal=report.decimal)
        if len(types.left_out) == len(self.columns.features):
            reasons = columns_by_type(types.left_out).items()
            why = "; ".join(f"{reason}: {format_list(names)}" for reason, names in reasons)
            raise TableError(f"no column is left for the features ({why}).")
        cleaned = clean_features(table, types, report)
        check_categories(cleaned, types.categorical)
        if types.units is None:
            types = replace(types, units={name: unit for name, unit in report.units.items() if unit})
        return cleaned, types, report


def read_labelled(table: Any, labels: Columns, options: Mapping[str, object], keep: Columns = None) -> LabelledTable:
    """Read the columns of a file or a data frame that are wanted, and its labels."""
    wanted, cells, reading = split_options(options, FeatureOptions, LabelOptions, ReadingOptions)
    source = TableInput(table, **reading)
    with source.opened("reading") as opened:
        source = replace(source, likely_decimal=opened.decimal)
        columns = choose_columns(opened, labels, **wanted)
        named = columns.labels if len(columns.labels) > 1 else []  # a column of lists gives its name to no degrees
        columns = replace(columns, kept=find_kept(opened, keep, columns.id, named))
        # As text: codes keep leading zeros, and dates their form.
        as_text = [name for kind in ("categorical", "date", "text") for name in columns.types.get(kind, ())]
        as_text += [] if columns.id is None else [columns.id]
        # The last one counts: a kept column that is a feature is read as a feature, and the id always as text.
        kinds: dict[str, Kind] = dict.fromkeys(columns.kept, "text")
        kinds |= dict.fromkeys([*columns.features, *columns.labels], "any")
        table = opened.read(kinds | dict.fromkeys(as_text, "text"), sparse=True)
        found = _read_labels(_reread_mixed_columns(table, columns.features, source), columns, source, **cells)
    if found.label_list is not None:
        source.log(found.label_list.describe(found.columns.labels))
    if dropped := len(table) - len(found.labels.values):
        source.log(f"{dropped} rows without a positive label are left out.")
    return found


def _reread_mixed_columns(table: Any, features: Sequence[str], source: TableInput) -> Any:
    """Read columns with both numbers and texts again, as texts: 1.50 was read as 1.5, which is another category."""
    frame = table.frame if isinstance(table, SparseTable) else table
    of_objects = {name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind == "O"}
    mixed = [name for name in features if name in of_objects and _mixes_numbers_and_texts(frame[name])]
    if not mixed or not isinstance(source.table, str) or source.table == PIPE:
        return table
    with replace(source, on_message=ignore_message).opened("reading") as opened:
        return table.assign(**opened.read(dict.fromkeys(mixed, "text")))


def _mixes_numbers_and_texts(series: Any) -> bool:
    """Whether a column holds numbers, and so many texts that they cannot be malformed numbers."""
    texts = series.dropna().map(lambda cell: isinstance(cell, str))
    return bool(0.1 < texts.mean() < 1)


def ignore_message(message: str) -> None:
    """Report nothing."""


def _read_labels(
    frame: Any,
    columns: TableColumns,
    source: TableInput,
    kind: str = "auto",
    separator: str | None = None,
    blank: float | None = None,
    empty_rows: str = "error",
) -> LabelledTable:
    """Only a single label column can hold lists, which become a column for each label."""
    expanded, names, listed = frame, columns.labels, None
    if len(names) == 1 or separator is not None:
        expanded, names, listed = expand_label_list(frame, names, separator)
    # The 0/1 columns have taken its place.
    if listed is not None and listed.column in columns.kept:
        expanded = expanded.assign(**{listed.column: frame[listed.column]})
    read = TableLabels(names, to_labels(expanded, names, blank), frame.index, kind)
    read, rows = read.handle_empty_rows(empty_rows)
    kept = expanded if len(rows) == len(frame) else expanded.iloc[rows]
    return LabelledTable(kept, replace(columns, labels=names), read, listed, source)


@dataclass(frozen=True)
class PreparedTable:
    """A cleaned table with its labels, not yet numeric features: preprocessing is fitted on training rows only.

    Attributes
    ----------
    name : str
    frame : DataFrame or SparseTable
        The feature columns, cleaned.
    types : ColumnTypes
        What each of them was taken for.
    label_names : list of str
    Y, D, counts : ndarray of shape (n, c) or None
        0/1 labels, NaN where unknown; or degrees, and the votes that they are shares of.
    report : CellReport
        Cells that count as missing.
    """

    name: str
    frame: Any
    types: ColumnTypes
    label_names: list[str]
    Y: NDArray[Any] | None = None
    D: NDArray[Any] | None = None
    counts: NDArray[Any] | None = None
    report: CellReport = field(default_factory=CellReport)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def take(self, rows: Rows) -> Self:
        """Some of the rows."""
        Y, D, counts = (None if values is None else values[rows] for values in (self.Y, self.D, self.counts))
        return replace(self, frame=self.frame.iloc[rows], Y=Y, D=D, counts=counts)

    def features(self, train: Rows, *others: Rows, sparse: bool = False) -> list[Any]:
        """The features of several sets of rows, by a preprocessing fitted on the first.

        They are arrays; CSR matrices if they may be ``sparse`` and few of the features are not 0.
        """
        frame = self.frame.to_frame() if isinstance(self.frame, SparseTable) and not sparse else self.frame
        preprocessing, X = TablePreprocessing.fit(frame.iloc[train], self.types, sparse=sparse)
        return [X, *(preprocessing.transform(frame.iloc[rows]) for rows in others)]


class _PrepareOptions(FeatureOptions, ReadingOptions, total=False):
    blank: float | None
    empty_rows: str


def prepare_table(
    data: str, labels: Columns, *, kind: str = "auto", name: str = "table", **options: Unpack[_PrepareOptions]
) -> PreparedTable:
    """Read a table file as `fit_table` does, up to the point where something would be learned from its rows.

    Parameters
    ----------
    data : str
        The table.
    labels, blank, empty_rows, features, numeric, categorical, date, text, ignore, id, dialect, on_message
        As for `fit_table`.
    kind : {"auto", "distribution", "votes", "logical"}, default="auto"
        What the labels are; see `ldlearn.datasets.read_dataset`.
    name : str
        What the table is called in results.

    Returns
    -------
    PreparedTable
    """
    table = read_labelled(data, labels, options)
    with prefix_errors(data):
        frame, types, report = table.clean(sparse=True)
        fields = table.labels.to_fields(kind)
    return PreparedTable(name, frame, types, list(table.labels.names), **fields, report=report)
