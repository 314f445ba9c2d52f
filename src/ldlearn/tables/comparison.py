"""Two tables of distributions compared: rows matched by id, labels by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlearn._messages import check_choice, format_list
from ldlearn.exceptions import TableError
from ldlearn.metrics import CONVENTIONS, METRICS, score_all
from ldlearn.metrics.against_baselines import wants_all
from ldlearn.tables.columns import check_columns
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.formats import open_table
from ldlearn.tables.options import Columns
from ldlearn.tables.source import frame_to_matrix
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import describe_repeated, import_pandas, to_texts


@dataclass(frozen=True)
class TableComparison:
    """Metrics between two tables of distributions.

    Attributes
    ----------
    rows : int
    labels : list of str
    id : str or None
        The column by which rows were matched; None if they were matched by their order.
    scores : dict of str to float
        Mean over the rows of each metric.
    """

    rows: int
    labels: list[str]
    id: str | None
    scores: dict[str, float]


def compare_tables(
    truth: str,
    other: str,
    *,
    labels: Columns = None,
    id: str | None = None,
    metrics: Sequence[str] | str | None = None,
    convention: str = "exact",
    reading: ReadingOptions = ReadingOptions(),
) -> TableComparison:
    """Compare two files of distributions, row by row.

    Parameters
    ----------
    truth, other : str
        The true distributions, and what is compared with them.
    labels : str or sequence, optional
        The label columns; by default all that are not the id. They are matched by name.
    id : str, optional
        The identifier column, by which rows are matched; by default they are matched by their
        order.
    metrics : sequence of str or "all", optional
        Names of `ldlearn.metrics`; by default all that need no order of the labels.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}, default="exact"
        What happens to zeros.
    reading : ReadingOptions, optional
    """
    check_choice("convention", convention, CONVENTIONS)
    D = _read_degrees(TableInput(truth, reading), labels, id)
    P = _read_degrees(TableInput(other, reading), labels, id)
    for label in D.columns.symmetric_difference(P.columns):
        owner = truth if label in D.columns else other
        raise TableError(
            f"{truth} and {other} must have the same label columns, but {label!r} is only "
            f"in {owner}; choose the labels, or name the id."
        )
    if id is None and len(D) != len(P):
        raise TableError(
            f"{truth} has {len(D)} rows but {other} has {len(P)} rows; match them by an id."
        )
    _check_rows_present(other, D.index.difference(P.index))
    _check_rows_present(truth, P.index.difference(D.index))
    P = P.loc[D.index, D.columns]
    if wants_all(metrics):
        metrics = list(METRICS)
    known: Any = convention  # a name of `CONVENTIONS`, as checked above
    scores = score_all(D.to_numpy(), P.to_numpy(), metrics, convention=known)
    return TableComparison(len(D), list(D.columns), id, scores)


def _check_rows_present(file: str, missing: Any) -> None:
    if len(missing):
        raise TableError(
            f"{file} lacks rows that the other table has: {format_list(list(missing))}."
        )


def _read_degrees(input: TableInput, labels: Columns, id: str | None) -> Any:
    """The label columns of a file as a frame of degrees; its index are ids or positions."""
    with open_table(input) as source:
        names = list(source.names)
        if labels is not None:
            names = [names[i] for i in source.find(labels, "labels")]
        index = None  # positions, because row numbers depend on the format
        if id is not None:
            check_columns(source.names, [id], "id")
            names = [name for name in names if name != id]
        frame = source.read(dict.fromkeys(filter(None, [*names, id]), "any"))
        try:
            found = TableLabels(names, frame_to_matrix(frame[names], names), frame.index)
            D = found.check_degrees(advice="degrees of a row sum to 1.")
        except TableError as error:
            advice = "if other columns stand beside the labels, choose the labels, or name the id."
            problem = f"{error.problem.rstrip('.')}; {advice}"
            raise TableError(problem, row=error.row, column=error.column) from None
        if id is not None:
            index = _read_identifiers(frame[id], id)
        return import_pandas().DataFrame(D, index=index, columns=names)


def _read_identifiers(column: Any, id: str) -> Any:
    """The ids of the rows, none of which may be missing or repeated."""
    ids = import_pandas().Index(to_texts(column, id))
    if ids.hasnans:
        row = column.index[int(np.argmax(ids.isna()))]
        raise TableError("the id is missing.", row=row, column=id)
    for problem in describe_repeated(column):
        raise TableError(problem)
    return ids
