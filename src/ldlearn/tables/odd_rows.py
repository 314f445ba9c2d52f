"""Rows of a table that are no data: units below the header, totals, nothing at the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ldlearn.exceptions import describe_rows, format_list
from ldlearn.tables.values import TOTALS, import_pandas, is_missing, is_placeholder, is_total, read_numbers, repr_cell

_MOST_TOTALS = 3  # rows at the end
_LONGEST_UNIT = 15
_ROUNDING = 1e-3  # of the sum of a column, whose printed cells are rounded
_FEWEST_ROWS = 5  # of fewer a sum, or a text above numbers, may be chance


def without_units(frame: Any) -> tuple[Any, str]:
    """The frame without a first row of units, and a sentence on it.

    Such a row holds no number, but a short text in columns that are numbers in every other row.
    """
    if len(frame) < _FEWEST_ROWS:
        return frame, ""
    units = []
    for name in frame.columns:
        numbers, junk = read_numbers(frame[name])
        # One number in it, and the row is data.
        if not np.isnan(numbers[0]):
            return frame, ""
        if _is_unit(frame[name].iloc[0]) and not junk[1:].any() and not np.isnan(numbers).all():
            units.append(str(frame[name].iloc[0]))
    if not units:
        return frame, ""
    return frame.iloc[1:], f"its first row holds no numbers but units ({format_list(units)}), and is passed over"


def without_totals(frame: Any) -> tuple[Any, str]:
    """The frame without the totals at its end, and a sentence on them.

    Such a row says so in a word that its column has nowhere else, and holds sums or hardly anything: a customer may be
    called so. Without the word, it holds nothing but sums.
    """
    end = len(frame)
    while len(frame) - end < _MOST_TOTALS and end > _FEWEST_ROWS and _is_total(frame, end - 1):
        end -= 1
    if end == len(frame):
        return frame, ""
    word = next((f"({repr_cell(cell)}) " for cell in frame.iloc[end] if is_total(cell)), "of the rows above ")
    rows = "its last row is a total" if end == len(frame) - 1 else f"its last {len(frame) - end} rows are totals"
    return frame.iloc[:end], f"{rows} {word}and passed over"


def condensed(frame: Any) -> Any:
    """A few rows that are to a total below them what these are: the same sums, of as many numbers as matter, and words.

    Columns without numbers and words are left out.
    """
    rows = np.arange(min(len(frame), _FEWEST_ROWS))
    columns: dict[str, Any] = {}
    for name, series in frame.items():
        if series.dtype.kind in "iuf":
            n = min(int((series.fillna(0) != 0).sum()), len(rows))
            columns[name] = np.where(rows < n, series.sum() / max(n, 1), 0.0)
            continue
        with suppress(TypeError):  # lists of labels, which are no words
            words = series[series.isin(TOTALS)].unique()[: len(rows)].tolist()
            if words:
                columns[name] = words + [None] * (len(rows) - len(words))
    return import_pandas().DataFrame(columns, index=rows)


def name_totals(frame: Any, texts: list[str]) -> str:
    """A sentence on totals between the rows, which say so in a word: nobody but the user may drop them.

    Most of their numbers are sums of the rows since the one before them, or they hold hardly anything.
    """
    called = np.flatnonzero(np.logical_or.reduce([[is_total(cell) for cell in frame[name]] for name in texts])).tolist()
    starts = [0, *(row + 1 for row in called)]
    found = [row for start, row in zip(starts, called, strict=False) if _is_total_since(frame, start, row)]
    if not found:
        return ""
    word = next(repr_cell(cell) for cell in frame.iloc[found[0]] if is_total(cell))
    rows = describe_rows(np.isin(np.arange(len(frame)), found), frame.index)
    look, stay = ("looks like a total", "stays") if len(found) == 1 else ("look like totals", "stay")
    return f"{rows} {look} ({word}) of those above, but may be data, and {stay}; delete what is none"


def without_empty_end(frame: Any) -> tuple[Any, str]:
    """The frame without the rows at its end in which every cell is empty, and a sentence on them."""
    end = len(frame)
    while end and all(is_missing(frame[name].iloc[end - 1 : end])[0] for name in frame.columns):
        end -= 1
    rows = "its last row is empty" if end == len(frame) - 1 else f"its last {len(frame) - end} rows are empty"
    return frame.iloc[:end], f"{rows} and passed over" if end < len(frame) else ""


def _is_unit(cell: Any) -> bool:
    return isinstance(cell, str) and 0 < len(cell.strip()) <= _LONGEST_UNIT and not is_placeholder(cell)


def _is_total(frame: Any, row: int) -> bool:
    named = [name for name, cell in frame.iloc[row].items() if is_total(cell)]
    if any((frame[name].iloc[:row] == frame[name].iloc[row]).any() for name in named):
        return False  # the word is one of the values of its column
    return _sums_up(frame, row) if named else _is_nothing_but_sums(frame, row)


def _sums_up(frame: Any, row: int) -> bool:
    """Whether most cells beside the word are empty or sums of those above, or one is the sum of many."""
    rest = frame.iloc[row][[not is_total(cell) for cell in frame.iloc[row]]]
    summands = [_count_summands(frame[name], row) for name in rest.index]
    likely = is_missing(rest) | (np.array(summands) > 1)
    return bool(2 * likely.sum() > len(rest)) or max(summands, default=0) >= _FEWEST_ROWS


def _is_nothing_but_sums(frame: Any, row: int) -> bool:
    """Whether every cell of a row is empty or the sum of many, and at least two are sums."""
    filled = frame.columns[~is_missing(frame.iloc[row])]
    many = (_count_summands(frame[name], row) >= _FEWEST_ROWS for name in filled)
    # Where the word is missing its cell is empty; a row that fills every column may be data.
    return 1 < len(filled) < frame.shape[1] and all(many)


def _is_total_since(frame: Any, start: int, row: int) -> bool:
    """Whether most numbers of a row sum up others since some row, or at least half of it is empty."""
    cells = [frame[name].iloc[start : row + 1] for name in frame.columns]
    if 2 * sum(bool(is_missing(cell[-1:])[0]) for cell in cells) >= len(cells):
        return True
    numbers = [cell for cell in cells if not np.isnan(read_numbers(cell)[0][-1])]
    return 2 * sum(_count_summands(cell, row - start) > 1 for cell in numbers) > len(numbers)


def _count_summands(series: Any, row: int) -> int:
    """How many numbers above a cell, zeros aside, it is the sum of; 0 if it is none."""
    numbers, _ = read_numbers(series.iloc[: row + 1])
    total = np.nansum(numbers[:row])
    # A column of zeros is its own sum.
    is_sum = total != 0 and abs(numbers[row] - total) <= _ROUNDING * abs(total)
    # A number that stands alone among zeros is their sum, too, and tells nothing.
    return int(np.count_nonzero(np.nan_to_num(numbers[:row]))) if is_sum else 0
