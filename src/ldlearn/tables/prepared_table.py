"""A table that is read and cleaned, but not yet numbers: preprocessing must see the training rows only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ldlearn.tables.column_types import CellReport, ColumnTypes
from ldlearn.tables.columns import Columns, FeatureColumns
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.features import TablePreprocessing, clean_features
from ldlearn.tables.formats import naming
from ldlearn.tables.label_matrices import as_fields
from ldlearn.tables.labelled_table import TableInput, check_two_labels, read_labelled
from ldlearn.tables.source import OnMessage
from ldlearn.tables.sparse_table import SparseTable
from ldlearn.tables.values import are_logical, check_all_known, without_rounding

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class PreparedTable:
    """Rows of a table with their labels, whatever kind these are.

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

    def take(self, rows: Rows) -> PreparedTable:
        """Some of the rows."""
        Y, D, counts = (None if values is None else values[rows] for values in (self.Y, self.D, self.counts))
        return replace(self, frame=self.frame.iloc[rows], Y=Y, D=D, counts=counts)

    def numbers(self, train: Rows, *others: Rows, sparse: bool = False) -> list[Any]:
        """The features of several parts as `fit` would make them of the first, which alone is learned from.

        They are arrays; CSR matrices if they may be ``sparse`` and few of the numbers are not 0.
        """
        frame = self.frame.to_frame() if isinstance(self.frame, SparseTable) and not sparse else self.frame
        preprocessing, X = TablePreprocessing.fit(frame.iloc[train], self.types, sparse=sparse)
        return [X, *(preprocessing.transform(frame.iloc[rows]) for rows in others)]


def prepare_table(
    data: str,
    labels: Columns,
    *,
    kind: str = "auto",
    name: str = "table",
    dialect: Dialect | None = None,
    on_message: OnMessage | None = None,
    **columns: Unpack[FeatureColumns],
) -> PreparedTable:
    """Read a table file as `fit_table` does, up to the point where something would be learned from its rows.

    Parameters
    ----------
    data : str
        The table.
    labels, features, numeric, categorical, date, text, ignore, id, dialect, on_message
        As for `fit_table`.
    kind : {"auto", "distribution", "votes", "logical"}, default="auto"
        What the labels are; see `ldlearn.datasets.read_dataset`.
    name : str
        What the table is called in results.

    Returns
    -------
    PreparedTable
    """
    table = read_labelled(TableInput(data, dialect=dialect, on_message=on_message), labels, columns).dense(
        unless_sparse=True
    )
    names, targets, report = table.labels.names, table.labels.values, CellReport(decimal=table.decimal)
    with naming(data):
        types = table.find_types()
        frame = clean_features(table.frame, types, report)
        check_two_labels(names)
        unknown = bool(np.isnan(targets).any())
        if unknown and not (are_logical(targets) and kind in ("auto", "logical")):
            check_all_known(targets, names, table.labels.rows, "only of 0/1 labels some may be unknown.")
    fields = {"Y": targets} if unknown else as_fields(without_rounding(targets), kind, names, data, normalise=False)
    return PreparedTable(name, frame, types, list(names), **fields, report=report)
