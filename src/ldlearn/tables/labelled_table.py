"""Tables with their labels: read, checked and cleaned, before anything is learned."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.row_groups import Groups, hash_rows, join_groups
from ldlearn.core.simplex import Indices
from ldlearn.exceptions import TableError
from ldlearn.tables.column_types import (
    CellReport,
    ColumnTypes,
    check_categories,
    describe_types,
    find_column_types,
)
from ldlearn.tables.columns import ColumnType, TableColumns, choose_columns, find_columns_to_keep
from ldlearn.tables.features import SPARSE_BELOW, TablePreprocessing, clean_features
from ldlearn.tables.files import (
    ReadingOptions,
    TableInput,
    find_label_file,
    prefix_errors,
    report_nothing,
)
from ldlearn.tables.formats import open_table
from ldlearn.tables.label_lists import LabelList, expand_label_list
from ldlearn.tables.options import ColumnOptions, Columns
from ldlearn.tables.source import Source, SparseTable
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import read_groups


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
    input : TableInput
        What it was read from.
    decimal : str or None
        The decimal mark of cells that are texts, if it is known.
    """

    frame: Any
    columns: TableColumns
    labels: TableLabels
    label_list: LabelList | None
    input: TableInput
    decimal: str | None

    @property
    def named_groups(self) -> Groups | None:
        """The groups that a column names; None if there is no such column."""
        name = self.columns.groups
        return None if name is None else read_groups(self.frame[name])

    def take(self, rows: Indices) -> Self:
        """Some of the rows."""
        return replace(self, frame=self.frame.take(rows), labels=self.labels.take(rows))

    def clean(
        self, types: ColumnTypes | None = None, *, sparse: bool = False
    ) -> tuple[Any, ColumnTypes, CellReport]:
        """Clean the feature columns, see `clean_features`; refuses a table of which none is left.

        ``types`` are inferred unless they are given; the result is a frame unless it may be
        ``sparse``, and that pays.
        """
        table = self.frame
        report = CellReport(self.decimal)
        # Before types are inferred, which differs for sparse columns.
        if isinstance(table, SparseTable) and not (sparse and table.density < SPARSE_BELOW):
            table = table.to_frame()
        if types is None:
            columns = self.columns
            types = find_column_types(
                table, columns.features, columns.types, report, columns.formats
            )
        if len(types.left_out) == len(self.columns.features):
            why = "; ".join(describe_types(types.left_out))
            raise TableError(f"no column is left for the features ({why}).")
        cleaned = clean_features(table, types, report)
        check_categories(cleaned, types.select(ColumnType.CATEGORICAL))
        if types.units is None:
            types = replace(types, units=report.units)
        return cleaned, types, report


def read_labelled(
    table: Any,
    labels: Columns,
    options: ColumnOptions,
    reading: ReadingOptions,
    keep: Columns = None,
) -> LabelledTable:
    """Read the columns of a file or a data frame that are wanted, and its labels."""
    only = labels
    if isinstance(labels, list | tuple) and len(labels) == 1:
        only = labels[0]
    list_column = only if isinstance(only, str) else None
    label_file = find_label_file(labels)
    input = TableInput(table, reading, label_file=label_file, list_column=list_column)
    with open_table(input, "reading") as source:
        columns = choose_columns(source, label_file or labels, options)
        # A column of lists gives its name to no degrees.
        named = columns.labels if len(columns.labels) > 1 else []
        kept = find_columns_to_keep(source, keep, columns.id, named)
        columns = replace(columns, kept=kept)
        # The last kind counts: a kept column that is a feature is read as a feature.
        kinds = dict.fromkeys(kept, "text")
        kinds |= dict.fromkeys([*columns.features, *columns.labels], "any")
        # As text: codes keep leading zeros, and dates their form.
        for name, type_ in columns.types.items():
            if type_ != ColumnType.NUMERIC:
                kinds[name] = "text"
        kinds |= dict.fromkeys(filter(None, [columns.id, columns.groups]), "text")
        table = source.read(kinds, sparse=True)
        table = _reread_mixed_columns(table, columns.features, input)
        found = _read_labels(table, columns, source, options)
    if found.label_list is not None:
        input.log(found.label_list.describe(found.columns.labels))
    if dropped := len(table) - len(found.labels.values):
        input.log(f"{dropped} rows without a positive label are left out")
    return found


def _reread_mixed_columns(table: Any, features: Sequence[str], input: TableInput) -> Any:
    """Read columns with both numbers and texts again, as texts: 1.50 was read as 1.5."""
    frame = table.frame if isinstance(table, SparseTable) else table
    mixed = []
    for name in frame.columns[frame.dtypes.eq(object)].intersection(features):
        # So many texts cannot be malformed numbers.
        if 0.1 < frame[name].dropna().map(type).eq(str).mean() < 1:
            mixed.append(name)
    # A pipe is read only once.
    if not mixed or not (input.has_path and os.path.isfile(input.table)):
        return table
    silent = replace(input.reading, on_message=report_nothing)
    with open_table(replace(input, reading=silent), "reading") as source:
        return table.assign(**source.read(dict.fromkeys(mixed, "text")))


def _read_labels(
    frame: Any, columns: TableColumns, source: Source, options: ColumnOptions
) -> LabelledTable:
    """Only a single label column can hold lists, which become a column for each label."""
    expanded = frame
    names = columns.labels
    listed = None
    if len(names) == 1 or options.separator is not None:
        expanded, names, listed = expand_label_list(frame, names, options.separator, source.budget)
    # The 0/1 columns have taken its place.
    if listed is not None and listed.column in columns.kept:
        expanded = expanded.assign(**{listed.column: frame[listed.column]})
    labels = TableLabels.from_columns(expanded, names, options.blank, options.kind)
    labels, rows = labels.handle_empty_rows(options.empty_rows)
    if len(rows) < len(frame):
        expanded = expanded.take(rows)
    columns = replace(columns, labels=names)
    return LabelledTable(expanded, columns, labels, listed, source.input, source.decimal)


def find_groups(X: Any, named: Groups | None = None) -> tuple[Groups, int]:
    """Groups of rows that splits keep together: equal rows, and those that a column names.

    Also returns the number of rows that repeat an earlier row.
    """
    keys = hash_rows(X)
    groups = join_groups(keys, keys if named is None else named)
    return groups, len(keys) - len(np.unique(keys))


def describe_repeated_rows(n_repeated: int, n_rows: int) -> list[str]:
    """A sentence about rows that repeat an earlier one; none if all differ."""
    if not n_repeated:
        return []
    repeated = f"{n_repeated:,} of {n_rows:,} rows have the same features as an earlier row"
    return [f"{repeated}; equal rows stay together in splits."]


@dataclass(frozen=True)
class PreparedTable:
    """A cleaned table with its labels, not yet numeric features.

    Preprocessing is fitted on training rows only.

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

    def take(self, rows: Indices) -> Self:
        """Some of the rows."""
        taken = {}
        for name in ("Y", "D", "counts", "groups"):
            values = getattr(self, name)
            if values is not None:
                taken[name] = values[rows]
        return replace(self, frame=self.frame.take(rows), **taken)

    def features(self, train: Indices, *others: Indices, sparse: bool = False) -> list[Any]:
        """The features of several sets of rows, by a preprocessing fitted on the first.

        They are arrays; CSR matrices if they may be ``sparse`` and few of the features are not 0.
        """
        frame = self.frame
        if isinstance(frame, SparseTable) and not sparse:
            frame = frame.to_frame()
        preprocessing, X = TablePreprocessing.fit(frame.take(train), self.types, sparse=sparse)
        parts = [X]
        for rows in others:
            parts.append(preprocessing.transform(frame.take(rows), CellReport()))
        return parts


def prepare_table(
    data: str,
    labels: Columns,
    *,
    kind: str = "auto",
    name: str = "table",
    columns: ColumnOptions = ColumnOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> PreparedTable:
    """Read a table file as `fit_table` does, before anything is learned from its rows.

    Parameters
    ----------
    data : str
        The table.
    labels : str or sequence
        The label columns.
    kind : {"auto", "distribution", "votes", "logical"}, default="auto"
        What the labels are; see `ldlearn.datasets.read_dataset`.
    name : str
        What the table is called in results.
    columns : ColumnOptions, optional
    reading : ReadingOptions, optional

    Returns
    -------
    PreparedTable
    """
    table = read_labelled(data, labels, columns, reading)
    with prefix_errors(data):
        frame, types, report = table.clean(sparse=True)
        fields = table.labels.to_prepared_fields(kind)
        _, X = TablePreprocessing.fit(frame, types, sparse=True)
        groups, n_repeated = find_groups(X, table.named_groups)
    return PreparedTable(
        name,
        frame,
        types,
        list(table.labels.names),
        **fields,
        report=report,
        groups=groups,
        repeated_rows=n_repeated,
    )
