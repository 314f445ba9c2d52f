"""Tables with their labels: read from a file or a frame, checked and cleaned, before anything is
learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.row_groups import Groups, join_groups, row_keys
from ldlearn.exceptions import TableError
from ldlearn.tables.column_types import (
    CellReport,
    ColumnTypes,
    check_categories,
    describe_doubtful_numbers,
    describe_types,
    find_column_types,
)
from ldlearn.tables.columns import (
    Columns,
    FeatureOptions,
    TableColumns,
    choose_columns,
    find_columns_to_keep,
)
from ldlearn.tables.features import SPARSE_BELOW, TablePreprocessing, clean_features
from ldlearn.tables.files import Dialect, Input, OnMessage, Progress, prefix_errors, report_nothing
from ldlearn.tables.formats import open_table
from ldlearn.tables.label_lists import LabelList, expand_label_list
from ldlearn.tables.source import Kind, SparseTable
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import read_groups

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
    return [
        {name: options[name] for name in group.__annotations__ if name in options}
        for group in groups
    ]


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
    input : Input
        What it was read from.
    """

    frame: Any
    columns: TableColumns
    labels: TableLabels
    label_list: LabelList | None
    input: Input

    @property
    def named_groups(self) -> Groups | None:
        """The groups that a column names; None if there is no such column."""
        name = self.columns.groups
        return None if name is None else read_groups(self.frame[name])

    def take(self, rows: Rows) -> Self:
        """Some of the rows."""
        return replace(self, frame=self.frame.iloc[rows], labels=self.labels.take(rows))

    def clean(
        self, types: ColumnTypes | None = None, *, sparse: bool = False
    ) -> tuple[Any, ColumnTypes, CellReport]:
        """Clean the feature columns, see `clean_features`; refuses a table of which none is left.

        ``types`` are inferred unless they are given; the result is a frame unless it may be
        ``sparse``, and that pays.
        """
        table, report = self.frame, CellReport(self.input.decimal)
        # Before types are inferred, which differs for sparse columns.
        if isinstance(table, SparseTable) and not (sparse and table.density < SPARSE_BELOW):
            table = table.to_frame()
        if types is None:
            given = self.columns.types
            types = find_column_types(table, self.columns.features, **given, decimal=report.decimal)
            frame = table.frame if isinstance(table, SparseTable) else table
            inferred = [
                name
                for name in types.numeric
                if name in frame and name not in given.get("numeric", ())
            ]
            report.columns |= describe_doubtful_numbers(frame, inferred)
        if len(types.left_out) == len(self.columns.features):
            why = "; ".join(describe_types(types.left_out))
            raise TableError(f"no column is left for the features ({why}).")
        cleaned = clean_features(table, types, report)
        check_categories(cleaned, types.categorical)
        if types.units is None:
            types = replace(
                types, units={name: unit for name, unit in report.units.items() if unit}
            )
        return cleaned, types, report


def read_labelled(
    table: Any, labels: Columns, options: Mapping[str, object], keep: Columns = None
) -> LabelledTable:
    """Read the columns of a file or a data frame that are wanted, and its labels."""
    wanted, cells, reading = split_options(options, FeatureOptions, LabelOptions, ReadingOptions)
    only = labels[0] if isinstance(labels, list | tuple) and len(labels) == 1 else labels
    list_column = only if isinstance(only, str) else None
    with open_table(Input(table, **reading, list_column=list_column), "reading") as source:
        dialect = replace(source.input.dialect or Dialect(), decimal=source.decimal)
        input = replace(source.input, dialect=dialect)
        columns = choose_columns(source, labels, **wanted)
        named = (
            columns.labels if len(columns.labels) > 1 else []
        )  # a column of lists gives its name to no degrees
        columns = replace(columns, kept=find_columns_to_keep(source, keep, columns.id, named))
        # As text: codes keep leading zeros, and dates their form.
        as_text = [
            name
            for kind in ("categorical", "datetime", "text")
            for name in columns.types.get(kind, ())
        ]
        as_text += [name for name in (columns.id, columns.groups) if name is not None]
        # The last one counts: a kept column that is a feature is read as a feature, and id and
        # groups always as text.
        kinds: dict[str, Kind] = dict.fromkeys(columns.kept, "text")
        kinds |= dict.fromkeys([*columns.features, *columns.labels], "any")
        table = source.read(kinds | dict.fromkeys(as_text, "text"), sparse=True)
        found = _read_labels(
            _reread_mixed_columns(table, columns.features, input), columns, input, **cells
        )
    if found.label_list is not None:
        input.log(found.label_list.describe(found.columns.labels))
    if dropped := len(table) - len(found.labels.values):
        input.log(f"{dropped} rows without a positive label are left out")
    return found


def _reread_mixed_columns(table: Any, features: Sequence[str], input: Input) -> Any:
    """Read columns with both numbers and texts again, as texts: 1.50 was read as 1.5, which is
    another category."""
    frame = table.frame if isinstance(table, SparseTable) else table
    of_objects = {
        name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind == "O"
    }
    mixed = [
        name for name in features if name in of_objects and _mixes_numbers_and_texts(frame[name])
    ]
    if not mixed or not (input.has_path and input.path.is_file()):  # a pipe is read only once
        return table
    with open_table(replace(input, on_message=report_nothing), "reading") as source:
        return table.assign(**source.read(dict.fromkeys(mixed, "text")))


def _mixes_numbers_and_texts(series: Any) -> bool:
    """Whether a column holds numbers, and so many texts that they cannot be malformed numbers."""
    texts = series.dropna().map(lambda cell: isinstance(cell, str))
    return bool(0.1 < texts.mean() < 1)


def _read_labels(
    frame: Any,
    columns: TableColumns,
    input: Input,
    kind: str = "auto",
    separator: str | None = None,
    blank: float | None = None,
    empty_rows: str = "error",
) -> LabelledTable:
    """Only a single label column can hold lists, which become a column for each label."""
    expanded, names, listed = frame, columns.labels, None
    if len(names) == 1 or separator is not None:
        expanded, names, listed = expand_label_list(frame, names, separator, input.budget)
    # The 0/1 columns have taken its place.
    if listed is not None and listed.column in columns.kept:
        expanded = expanded.assign(**{listed.column: frame[listed.column]})
    read = TableLabels.from_columns(expanded, names, blank, kind)
    read, rows = read.handle_empty_rows(empty_rows)
    kept = expanded if len(rows) == len(frame) else expanded.iloc[rows]
    return LabelledTable(kept, replace(columns, labels=names), read, listed, input)


def find_groups(X: Any, named: Groups | None = None) -> tuple[Groups, int]:
    """Groups of rows that splits keep together: equal rows, and those that a column names.

    Also returns the number of rows that repeat an earlier row.
    """
    keys = row_keys(X)
    n_repeated = len(keys) - len(np.unique(keys))
    return join_groups(keys, *([] if named is None else [named])), n_repeated


def describe_repeated_rows(n_repeated: int, n_rows: int) -> list[str]:
    """A sentence about rows that repeat an earlier one; none if all differ."""
    repeated = f"{n_repeated:,} of {n_rows:,} rows have the same features as an earlier row"
    return [f"{repeated}; equal rows stay together in splits."] if n_repeated else []


@dataclass(frozen=True)
class PreparedTable:
    """A cleaned table with its labels, not yet numeric features: preprocessing is fitted on
    training rows only.

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
    groups : ndarray of shape (n,) or None
        Rows of a group stay together in splits; None if each row is a group.
    repeated_rows : int
        How many rows have the features of an earlier row.
    """

    name: str
    frame: Any
    types: ColumnTypes
    label_names: list[str]
    Y: NDArray[Any] | None = None
    D: NDArray[Any] | None = None
    counts: NDArray[Any] | None = None
    report: CellReport = field(default_factory=CellReport)
    groups: Groups | None = None
    repeated_rows: int = 0

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def take(self, rows: Rows) -> Self:
        """Some of the rows."""
        of_rows = {name: getattr(self, name) for name in ("Y", "D", "counts", "groups")}
        taken = {name: values[rows] for name, values in of_rows.items() if values is not None}
        return replace(self, frame=self.frame.iloc[rows], **taken)

    def features(self, train: Rows, *others: Rows, sparse: bool = False) -> list[Any]:
        """The features of several sets of rows, by a preprocessing fitted on the first.

        They are arrays; CSR matrices if they may be ``sparse`` and few of the features are not 0.
        """
        frame = (
            self.frame.to_frame()
            if isinstance(self.frame, SparseTable) and not sparse
            else self.frame
        )
        preprocessing, X = TablePreprocessing.fit(frame.iloc[train], self.types, sparse=sparse)
        return [X, *(preprocessing.transform(frame.iloc[rows]) for rows in others)]


class _PrepareOptions(FeatureOptions, ReadingOptions, total=False):
    blank: float | None
    empty_rows: str


def prepare_table(
    data: str,
    labels: Columns,
    *,
    kind: str = "auto",
    name: str = "table",
    **options: Unpack[_PrepareOptions],
) -> PreparedTable:
    """Read a table file as `fit_table` does, up to the point where something would be learned from
    its rows.

    Parameters
    ----------
    data : str
        The table.
    labels, blank, empty_rows, features, numeric, categorical, datetime, text, ignore, id, groups,
    dialect, on_message
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
        groups, n_repeated = find_groups(
            TablePreprocessing.fit(frame, types, sparse=True)[1], table.named_groups
        )
    names = list(table.labels.names)
    return PreparedTable(
        name, frame, types, names, **fields, report=report, groups=groups, repeated_rows=n_repeated
    )
