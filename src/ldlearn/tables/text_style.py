"""How a text table is written: separator, decimal mark, encoding; told by the user, or found in its first rows."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from string import ascii_letters
from typing import NamedTuple

from ldlearn.exceptions import ParameterError
from ldlearn.tables.values import MISSING, is_placeholder

SAMPLE_BYTES = 1 << 20
_ROWS, _CELLS = 50, 5000  # looked at
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_WORDS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # which begins as UTF-16 does
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DOT = re.compile(r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
# A number where commas are decimal and dots or spaces stand between thousands; a limit before it, a currency, a percent
# sign or a unit beside it.
BETWEEN_THOUSANDS = r"[. '’\x{00a0}\x{202f}]"
_BEFORE = r"^\s*[<>≤≥]?=?\s*[-+−(]?\s*[$€£¥]?\s*[-+−]?"
_AFTER = r"([eE][-+]?\d+)?\s*([$€£¥%]|[A-Za-zµ°Ω²³/]{1,8})?\)?\s*$"
COMMA_NUMBER = rf"{_BEFORE}([1-9]\d{{0,2}}({BETWEEN_THOUSANDS}\d{{3}})+|\d+)(,\d+)?{_AFTER}"
POINT_NUMBER = rf"{_BEFORE}[\d,]*(\d\.|\.\d)\d*{_AFTER}"
_EUROPEAN = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")
_THOUSANDS_DOTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
# Beside columns with decimal points, a comma must be no thousand's and no list's, such as the labels 1,3 of a row.
_SURELY_DECIMAL = re.compile(r"[+-]?(?:0,\d{3,}|\d+,\d{4,})|[+-]\d+,\d{1,2}")
_WHOLE = re.compile(r"[+-]?\d+")
_BELOW_THOUSAND = re.compile(r"[+-]?\d{1,3}")
_PERHAPS_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_BESIDE_NUMBERS = " \t%$€£¥<>≤≥=()°µ²³/" + ascii_letters
_ODD_ROWS = 0.1  # that may be shorter or longer than the header: notes at the end, which the parser will name


@dataclass(frozen=True)
class TextStyle:
    """How a text table is written; None where its first rows are to tell.

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
        delimiter = _WORDS.get(self.delimiter or "", self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise ParameterError(f"The delimiter must be one character or {', '.join(_WORDS)}, got {delimiter!r}.")
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal mark must be '.' or ',', got {self.decimal!r}.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise ParameterError(
                f"There is no encoding {self.encoding!r}; usual ones are utf-8, cp1252, utf-16."
            ) from None


class FoundStyle(NamedTuple):
    """How a text table is written, and how it begins."""

    encoding: str
    delimiter: str
    decimal: str
    lines_above: int  # the header: a title, remarks, nothing
    rows: list[list[str]]  # the first, with the header before them; empty lines are none
    said: list[str]  # what was found that is not the usual, in words


def find_style(sample: bytes, wanted: TextStyle, usual: str) -> FoundStyle:
    """The style of a table that begins with these bytes.

    Parameters
    ----------
    sample : bytes
    wanted : TextStyle
        What the user says; it is not questioned.
    usual : str
        The separator that the format has elsewhere.
    """
    encoding = wanted.encoding or _find_encoding(sample)
    text = sample.decode(encoding, errors="replace")
    delimiter = wanted.delimiter or _find_delimiter(text, usual)
    lines_above, rows = _find_beginning(text, delimiter)
    decimal = wanted.decimal or ("," if _has_decimal_commas(rows[1:]) else ".")
    said = []
    if not wanted.encoding and encoding not in ("utf-8", "utf-8-sig"):
        said.append(f"its text is {encoding}, not UTF-8")
    if not wanted.delimiter and delimiter != usual:
        said.append(f"its columns are separated by {_SEPARATORS[delimiter]}")
    if not wanted.decimal and decimal == ",":
        said.append("its numbers have decimal commas")
    if lines_above:
        said.append(f"{'a line' if lines_above == 1 else f'{lines_above} lines'} above its header passed over")
    return FoundStyle(encoding, delimiter, decimal, lines_above, rows, said)


def _find_encoding(sample: bytes) -> str:
    """By its byte order mark; else UTF-8 if it can be that, else the usual one of Western Windows."""
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            return name
    if sample[1:16:2].strip(b"\0") == b"" and b"\0" not in sample[:16:2] and len(sample) >= 16:
        return "utf-16-le"  # Latin letters, without a mark
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a letter
    except UnicodeDecodeError:
        # a zero byte is in no text: what it is instead is for the parser to say
        return "utf-8" if b"\0" in sample else "cp1252"
    return "utf-8"


def _find_delimiter(text: str, usual: str) -> str:
    """The separator that gives every row as many columns as the header; of several, the one with most numbers.

    Only where none does so from the first line on, lines above the header and a few odd rows are put up with.
    """
    shares: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for mark in (usual, *(mark for mark in _SEPARATORS if mark != usual)):
        above, rows = _find_beginning(text, mark)
        width = len(rows[0]) if rows else 0
        odd = sum(len(row) != width for row in rows)
        if width > 1 and odd <= _ODD_ROWS * len(rows):
            cells = [cell.strip() for cell in islice(chain.from_iterable(rows[1:]), _CELLS)]
            # Where commas separate columns, none can stand within a number.
            numbers = sum(bool(_DOT.fullmatch(cell) or (mark != "," and _COMMA.fullmatch(cell))) for cell in cells)
            shares[not odd and not above][mark] = numbers / max(len(cells), 1)
    found = shares[True] or shares[False]
    # Of equals the first is kept, which is the usual one.
    return max(found, key=lambda mark: found[mark], default=usual)


def _find_beginning(text: str, delimiter: str) -> tuple[int, list[list[str]]]:
    """How many lines stand above the header, and the first rows; one that the sample cuts off is left out.

    Lines above the header are told by the cells that they fill: the first alone, or fewer than half of what the table
    is wide; or by the # that they begin with, unless they have as many cells as the table.
    """
    if len(text) >= SAMPLE_BYTES // 4:  # letters may take four bytes
        text = text[: text.rfind("\n") + 1]
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    rows, starts, line = [], [], 0
    try:
        for row in islice(reader, _ROWS):
            if row:
                rows.append(row)
                starts.append(line)
            line = reader.line_num
    # Such as a field too long for Python's parser: no table by this separator.
    except csv.Error:
        return 0, []
    widths = [len(row) for row in rows if len(row) > 1]
    width = max(widths, key=widths.count, default=0)
    first = next((k for k, row in enumerate(rows) if not _is_remark(row, width)), 0)
    first += _is_heading_of_groups(rows[first : first + 2])
    return starts[first] if rows else 0, rows[first:]


def _is_remark(row: list[str], width: int) -> bool:
    filled = [k for k, cell in enumerate(row) if cell.strip()]
    is_comment = row[0].startswith("#") and len(row) != width
    return width > 1 and (is_comment or filled in ([], [0]) or 2 * len(row) < width)


def _is_heading_of_groups(rows: list[list[str]]) -> bool:
    """Whether the first of two rows stands above groups of columns, and the second names them all, each differently."""
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return False
    above, names = ([cell.strip() for cell in row] for row in rows)
    gaps = [k for k, cell in enumerate(above) if not cell]
    distinct = len(set(names)) == len(names) and all(names)
    return 2 * len(gaps) >= len(above) > 2 and 0 not in gaps and distinct and not any(map(_DOT.fullmatch, names))


def cells_by_column(rows: list[list[str]], width: int) -> list[list[str]]:
    """The cells of each column, without the spaces around them; short rows have none in the last columns."""
    return [[row[j].strip() for row in rows if j < len(row)] for j in range(width)]


def are_numbers(cells: list[str], decimal: str) -> bool:
    """Whether cells hold nothing but plain numbers and nothing; 01067 is a code."""
    form = _DOT.pattern if decimal == "." else _DOT.pattern.replace(r"\.", ",")
    plain = re.compile(rf"(?!0\d+$)(?:{form})").fullmatch
    return bool(cells) and all(not cell or plain(cell) for cell in cells)


def have_decimal_commas(cells: list[str]) -> bool:
    """Whether cells hold numbers with decimal commas."""
    numbers = [cell for cell in cells if cell not in MISSING and not is_placeholder(cell)]
    known = all(_COMMA.fullmatch(cell) or _WHOLE.fullmatch(cell) for cell in numbers)
    return known and any(map(_SURELY_DECIMAL.fullmatch, numbers))


def have_decimal_points(cells: list[str]) -> bool:
    """Whether cells hold numbers with decimal points, and none with a comma."""
    return any(map(_has_point, cells)) and not any(map(_COMMA.fullmatch, cells))


def have_doubtful_points(cells: list[str]) -> bool:
    """Whether cells hold 1.234 beside 950, and no other fraction: thousands, it seems."""
    pointed = set(filter(_THOUSANDS_DOTS.fullmatch, cells))
    rest = {*cells} - {*MISSING} - pointed
    return bool(pointed and rest) and all(map(_BELOW_THOUSAND.fullmatch, rest))


def _has_point(cell: str) -> bool:
    """Whether a number has a decimal point: 1.234 is no evidence of that."""
    return "." in cell and bool(_DOT.fullmatch(cell)) and not _THOUSANDS_DOTS.fullmatch(cell)


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    cells = [cell.strip(_BESIDE_NUMBERS) for cell in islice(chain.from_iterable(rows), _CELLS)]
    commas = [cell for cell in cells if _COMMA.fullmatch(cell) or _EUROPEAN.fullmatch(cell)]
    # 1,234 alone may be a thousand and something
    return not any(map(_has_point, cells)) and any(not _PERHAPS_THOUSANDS.fullmatch(cell) for cell in commas)
