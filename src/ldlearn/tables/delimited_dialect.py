"""Dialect of a text table: separator, decimal mark, encoding and position of the header.

The user gives them, or they are found in the first rows; `docs/guide/tables.md` lists the rules.
"""

import codecs
import csv
import re
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from string import ascii_letters
from typing import NamedTuple

from ldlearn.exceptions import ParameterError

_SAMPLE_ROWS = 200
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SEPARATOR_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_POINT_NUMBER = re.compile(r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][+-]?\d+)?")
# These may have a mark between thousands: no evidence of a decimal mark.
_AMBIGUOUS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_AMBIGUOUS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_BESIDE_NUMBERS = " \t%$€£¥()°µ²³/" + ascii_letters


@dataclass(frozen=True)
class Dialect:
    """Dialect of a text table as far as the user gives it; None where it is found in the first rows.

    Attributes
    ----------
    delimiter : str or None
        What separates the columns: a character, or one of the words comma, semicolon, tab, bar, space.
    decimal : {".", ","} or None
        What stands before the fraction of a number.
    encoding : str or None
        Any name that Python knows, such as "utf-8" or "cp1252".
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        delimiter = _SEPARATOR_NAMES.get(self.delimiter or "", self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if delimiter is not None and len(delimiter) != 1:
            names = ", ".join(_SEPARATOR_NAMES)
            raise ParameterError(f"The delimiter must be one character or {names}, got {delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal mark must be '.' or ',', got {self.decimal!r}.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            advice = "usual ones are utf-8, cp1252, utf-16."
            raise ParameterError(f"There is no encoding {self.encoding!r}; {advice}") from None


class DetectedDialect(NamedTuple):
    """Dialect of a text table, and its first rows."""

    encoding: str
    delimiter: str
    decimal: str
    lines_above: int  # of the header: titles, remarks, empty lines
    header_lines: int  # of the header itself: a quoted name may hold line breaks
    rows: list[list[str]]  # the first rows, header included; empty lines are skipped
    messages: list[str]  # what differs from the default


def detect_dialect(sample: bytes, wanted: Dialect, usual: str, *, is_whole: bool = True) -> DetectedDialect:
    """Find the dialect of a table.

    Parameters
    ----------
    sample : bytes
        How the table begins.
    wanted : Dialect
        What the user gives; it has priority.
    usual : str
        The separator that the format usually has.
    is_whole : bool
        Whether the sample is the whole table; otherwise its last row may be incomplete and is left out.
    """
    encoding = wanted.encoding or _find_encoding(sample)
    text = sample.decode(encoding, errors="replace").rstrip("\r\n")
    delimiter = wanted.delimiter or _find_delimiter(text, usual, is_whole)
    lines_above, header_lines, rows = _read_first_rows(text, delimiter, is_whole)
    decimal = wanted.decimal or ("," if _has_decimal_commas(rows[1:]) else ".")
    messages = []
    if not wanted.encoding and not encoding.startswith("utf-8"):
        messages.append(f"its text is {encoding}, not UTF-8")
    if not wanted.delimiter and delimiter != usual:
        messages.append(f"its columns are separated by {_SEPARATORS[delimiter]}")
    if not wanted.decimal and decimal == ",":
        messages.append("its numbers have decimal commas")
    if lines_above:
        messages.append(f"{'a line' if lines_above == 1 else f'{lines_above} lines'} above its header skipped")
    return DetectedDialect(encoding, delimiter, decimal, lines_above, header_lines, rows, messages)


def _find_encoding(sample: bytes) -> str:
    """By the byte order mark; else UTF-8 if the text is valid, else the usual one of Western Windows."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a character
    except UnicodeDecodeError:
        return "utf-8" if b"\0" in sample else "cp1252"  # a zero byte is in no text
    return "utf-8"


def _find_delimiter(text: str, usual: str, is_whole: bool) -> str:
    """The separator that gives every row as many columns as the header; of several, the one with most numbers.

    Only if no separator does so, lines above the header and up to 10 % rows of another length are accepted.
    """
    regular, irregular = dict[str, float](), dict[str, float]()
    for mark in (usual, *(mark for mark in _SEPARATORS if mark != usual)):
        lines_above, _, rows = _read_first_rows(text, mark, is_whole)
        width = len(rows[0]) if rows else 0
        n_other = sum(len(row) != width for row in rows)
        if width > 1 and n_other <= 0.1 * len(rows):
            cells = _first_cells(rows[1:])
            # A number within a table separated by commas has none.
            n_numbers = sum(
                bool(_POINT_NUMBER.fullmatch(cell) or (mark != "," and _COMMA_NUMBER.fullmatch(cell))) for cell in cells
            )
            (irregular if n_other or lines_above else regular)[mark] = n_numbers / max(len(cells), 1)
    found = regular or irregular
    return max(found, key=lambda mark: found[mark], default=usual)  # the first of equals, which is the usual one


def _first_cells(rows: list[list[str]]) -> list[str]:
    return [cell.strip() for cell in islice(chain.from_iterable(rows), 5000)]


def _read_first_rows(text: str, delimiter: str, is_whole: bool) -> tuple[int, int, list[list[str]]]:
    """Lines above the header, lines of the header, and the first rows from the header on.

    A line above the header fills no cell but the first, has fewer than half of the table's cells, or begins with #
    and has another number of cells than the table.
    """
    reader = csv.reader(StringIO(text, newline="\n"), delimiter=delimiter)
    rows, starts = [], [0]  # a row begins at the line after the one before it
    try:
        for row in islice(reader, _SAMPLE_ROWS):
            if row:
                rows.append(row)
                starts.append(reader.line_num)
            else:
                starts[-1] = reader.line_num
        if not is_whole and next(reader, None) is None:
            rows = rows[:-1]
    except csv.Error:  # such as a field too long for Python's parser
        pass
    widths = [len(row) for row in rows if len(row) > 1]
    width = max(widths, key=widths.count, default=0)
    header = next((k for k, row in enumerate(rows) if not _is_title(row, width)), 0)
    return starts[header], starts[min(header + 1, len(rows))] - starts[header], rows[header:]


def _is_title(row: list[str], width: int) -> bool:
    filled = [k for k, cell in enumerate(row) if cell.strip()]
    is_comment = row[0].startswith("#") and len(row) != width
    return width > 1 and (is_comment or filled in ([], [0]) or 2 * len(row) < width)


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    """Whether some number has a comma that cannot separate thousands, and none has such a point."""
    cells = [cell.strip(_BESIDE_NUMBERS) for cell in _first_cells(rows)]
    points = [cell for cell in cells if "." in cell and _POINT_NUMBER.fullmatch(cell)]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    return all(map(_AMBIGUOUS_POINT.fullmatch, points)) and not all(map(_AMBIGUOUS_COMMA.fullmatch, commas))
