"""Two tables of distributions compared: rows matched by id, labels by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import ParameterError, TableError, format_list
from ldlearn.metrics import CONVENTIONS, METRICS, score_all
from ldlearn.metrics.against_baselines import wants_all
from ldlearn.tables.columns import Columns, check_columns
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.formats import naming, open_table
from ldlearn.tables.source import OnMessage
from ldlearn.tables.values import check_degrees, is_numeric, read_numbers, to_numbers, to_texts

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
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
    labels: Columns | None = None,
    id: str | None = None,
    metrics: Sequence[str] | str | None = None,
    convention: str = "exact",
    format: str | None = None,
    dialect: Dialect | None = None,
    on_message: OnMessage | None = None,
) -> Comparison:
    """Compare two files of distributions, row by row.

    Parameters
    ----------
    truth, other : str
        The true distributions, and what is compared with them.
    labels : str or sequence, optional
        The label columns; by default all that are not the id. They are matched by name.
    id : str, optional
        A column of identifiers, by which rows are then matched. By default the one column of texts that both files
        have, or a first column of distinct whole numbers; if there is none, rows are matched by their order.
    metrics : sequence of str or "all", optional
        Names of `ldlearn.metrics`; by default all that need no order of the labels.
    convention : {"exact", "pyldl", "dldl", "dldl-recovery"}, default="exact"
        What happens to zeros.
    format : str, optional
        Format of the tables if their names do not tell.
    dialect, on_message
        As for `fit_table`.
    """
    if convention not in CONVENTIONS:
        raise ParameterError(f"convention must be one of {', '.join(CONVENTIONS)}, got {convention!r}.")
    tables = [_read(file, labels, format, dialect, on_message) for file in (truth, other)]
    id = _find_id([table.frame for table in tables]) if id is None else id
    names = _label_names(tables[0], tables[1], id)
    if id is not None:
        for table in tables:
            table.index_by(id)
        _check_same_rows(*tables)
        tables[1].frame = tables[1].frame.loc[tables[0].frame.index]
    elif len(tables[0].frame) != len(tables[1].frame):
        counts = " but ".join(f"{table.file} has {len(table.frame)} rows" for table in tables)
        raise TableError(f"{counts}; they must match, or be matched by an id.")
    D, P = (table.degrees(names) for table in tables)
    chosen = list(METRICS) if wants_all(metrics) else metrics
    return Comparison(len(D), names, id, score_all(D, P, chosen, convention=convention))  # type: ignore[arg-type]


@dataclass
class _Table:
    """A table of degrees and its file; ``labels`` are the columns chosen as such, or all."""

    file: str
    frame: Any
    labels: list[str]

    def index_by(self, id: str) -> None:
        """Make the ids the index of the frame."""
        with naming(self.file):
            check_columns(list(self.frame.columns), [id], "id")
            ids = to_texts(self.frame[id], id)
            missing = np.array([not isinstance(name, str) for name in ids])
            if missing.any():
                raise TableError("the id is missing.", row=self.frame.index[int(np.argmax(missing))], column=id)
            self.frame = self.frame.set_axis(ids)
            if not self.frame.index.is_unique:
                twice = self.frame.index[self.frame.index.duplicated()]
                raise TableError(f"the id {twice[0]!r} names more than one row ({len(twice)} such row(s)).", column=id)

    def degrees(self, names: Sequence[str]) -> Matrix:
        """The label columns, checked; what is wrong may lie in columns that are no labels."""
        columns = [to_numbers(self.frame[name], name) for name in names]
        try:
            return check_degrees(np.column_stack(columns), names, self.frame.index, may_be_other=False)
        except TableError as error:
            advice = "if other columns stand beside the labels, choose the labels, or name the id."
            problem = error.problem.rstrip(".")
            raise TableError(f"{problem}; {advice}", row=error.row, column=error.column, where=self.file) from None


def _read(
    file: str, labels: Columns | None, format: str | None, dialect: Dialect | None, on_message: OnMessage | None
) -> _Table:
    with open_table(file, format, dialect=dialect, on_message=on_message) as source:
        chosen = range(len(source.names)) if labels is None else source.find(labels, "labels")
        frame = source.read(dict.fromkeys(source.names, "any"))
        if not len(frame):
            raise TableError("the table has no rows.")
        return _Table(file, frame, [source.names[i] for i in chosen])


def _find_id(frames: Sequence[Any]) -> str | None:
    """The one column of texts that both tables have, or a first column of distinct whole numbers."""
    common = [name for name in frames[0].columns if name in frames[1].columns]
    texts = [name for name in common if not any(is_numeric(frame[name]) for frame in frames)]
    if len(texts) == 1:
        return str(texts[0])
    first = [name for frame in frames for name in frame.columns[:1] if name in common]
    return next((name for name in first if all(_counts_rows(frame[name]) for frame in frames)), None)


def _counts_rows(column: Any) -> bool:
    """Whether these are distinct whole numbers; some are above 1, as no degrees are."""
    numbers, _ = read_numbers(column)  # 0017 is a text, and a number too
    return bool(column.is_unique and (numbers % 1 == 0).all() and (numbers > 1).any())


def _label_names(first: _Table, second: _Table, id: str | None) -> list[str]:
    names, others = ([name for name in table.labels if name != id] for table in (first, second))
    if unmatched := sorted(set(names) ^ set(others)):
        raise TableError(
            f"{first.file} and {second.file} must have the same label columns, but {unmatched[0]!r} is only in "
            f"{(first if unmatched[0] in names else second).file}; choose the labels."
        )
    return names


def _check_same_rows(first: _Table, second: _Table) -> None:
    for one, other in ((first, second), (second, first)):
        missing = one.frame.index.difference(other.frame.index)
        if len(missing):
            raise TableError(f"{other.file} lacks rows that {one.file} has: {format_list(list(missing))}.")
