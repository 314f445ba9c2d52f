"""A column of lists of labels, ``sky|sea`` or ``['sky', 'sea']``, made into 0/1 columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ldlearn._messages import format_list
from ldlearn.exceptions import TableError
from ldlearn.tables.annotation_formats import parse_labels, parse_list_text
from ldlearn.tables.columns import sorted_labels
from ldlearn.tables.files import Budget
from ldlearn.tables.source import SparseTable
from ldlearn.tables.values import import_pandas, is_label_word, is_missing, is_numeric

# Rarest within a name first: a label may well hold a comma, hardly a new line.
_LABEL_SEPARATORS = ("\n", "|", ";", ",")  # in this order, the first that occurs


class LabelList(NamedTuple):
    """The column that held lists, and what separates the labels in it, if any text has that."""

    column: str
    separator: str

    def describe(self, names: Sequence[str]) -> str:
        """What was found, for messages."""
        separated = f", separated by {self.separator!r}" if self.separator else ""
        return f"column {self.column!r} holds lists of labels{separated}: {format_list(names)}"


def expand_label_list(
    table: Any,
    labels: Sequence[str],
    separator: str | None,
    budget: Budget,
) -> tuple[Any, list[str], LabelList | None]:
    """The table with 0/1 columns instead of a single label column of lists, if there is one.

    Parameters
    ----------
    table : DataFrame
    labels : sequence of str
        The label columns. A single one whose cells are texts other than yes/no, or lists, holds
        lists.
    separator : str or None
        What stands between labels; by default a new line, a bar, a semicolon or a comma, whichever
        occurs first in this order. Lists as JSON, Python and NumPy write them (``["sky", "sea"]``)
        need none. An empty cell is a row without labels.
    budget : Budget
        What the 0/1 columns may take.

    Returns
    -------
    table : DataFrame
    labels : list of str
        Sorted by name, or by size where all are numbers.
    found : LabelList or None
    """
    if len(labels) != 1 or not _holds_lists(table[labels[0]], separator):
        if separator is not None and labels:
            raise TableError(
                f"separator is for one label column of texts; {format_list(labels)} hold numbers."
            )
        return table, list(labels), None
    column = labels[0]
    found = LabelList(column, separator or _find_separator(table[column]))
    names = sorted_labels(set().union(*_parse_cells(table[column], found)))
    if not names:
        raise TableError("the label column is empty.", column=column)
    if len(names) > max(50, len(table) / 2):
        problem = f"{len(names)} different labels in {len(table)} rows look like texts"
        advice = "name other label columns, or what separates labels."
        raise TableError(f"{problem}; {advice}", column=column)
    budget.check(8 * len(table) * len(names))
    return with_label_columns(table, found, names), names, found


def with_label_columns(table: Any, found: LabelList, names: Sequence[str]) -> Any:
    """The table with a 0/1 column for each of these labels in place of the column of lists."""
    if isinstance(table, SparseTable):
        return replace(table, frame=with_label_columns(table.frame, found, names))
    positions = {name: j for j, name in enumerate(names)}
    Y = np.zeros((len(table), len(names)))
    for i, cell in enumerate(_parse_cells(table[found.column], found)):
        for name in cell:
            if name not in positions:
                problem = f"{name!r} is not one of the labels {format_list(names)}"
                advice = "correct it, or fit again."
                row = table.index[i]
                raise TableError(f"{problem}; {advice}", row=row, column=found.column)
            Y[i, positions[name]] = 1.0
    rest = table.drop(columns=[found.column])
    for name in rest.columns.intersection(names):
        problem = f"the label {name!r} is the name of a column too; rename one."
        raise TableError(problem, column=found.column)
    pandas = import_pandas()
    indicators = pandas.DataFrame(Y, index=table.index, columns=list(names))
    return pandas.concat([rest, indicators], axis=1)


def _holds_lists(series: Any, separator: str | None = None) -> bool:
    """Whether a label column holds texts other than yes/no, or lists."""
    if getattr(series.dtype, "kind", "O") in "biufc":
        return False
    is_word = series.map(is_label_word).to_numpy(dtype=bool)
    others = series[~is_missing(series) & ~is_word]
    if separator is not None:
        texts = others.astype(str)
        if texts.str.contains(separator, regex=False).any():
            return True  # 2,9 may be a number
    return not is_numeric(others)


def _find_separator(series: Any) -> str:
    cells = [parse_list_text(value) for value in series if isinstance(value, str)]
    for mark in _LABEL_SEPARATORS:
        if any(isinstance(cell, str) and mark in cell for cell in cells):
            return mark
    return ""


def _parse_cells(series: Any, found: LabelList) -> list[list[str]]:
    cells = series.astype(object).where(series.notna(), None)
    return [parse_labels(cell, row, found.column, found.separator) for row, cell in cells.items()]
