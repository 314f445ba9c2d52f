"""Excel workbooks (.xlsx): read by python-calamine, written by openpyxl."""

import datetime
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn._optional_imports import import_optional
from ldlearn.exceptions import TableError
from ldlearn.tables.files import STREAMED, Budget, OpenInput, TableOutput, convert_os_errors
from ldlearn.tables.formats import Format, Table
from ldlearn.tables.source import Kinds, RowSource
from ldlearn.tables.values import repr_cell

Row = Sequence[Any]

_MOST_CHARACTERS = 32_767  # of a cell, by Excel's specification
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_DOCTYPE = re.compile(rb"<!DOCTYPE", re.IGNORECASE)
_ROW = re.compile(rb"<(?:[\w.-]+:)?row(?=[\s/>])")
_CELL = re.compile(rb"<(?:[\w.-]+:)?c(?=[\s/>])")
_SHARED_TEXT = re.compile(rb"<(?:[\w.-]+:)?si(?=[\s/>])")
_SHEET = re.compile(rb"<(?:[\w.-]+:)?sheet(?=[\s/>])")
_CELL_REFERENCE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{0,3})(\d{1,18})""")
_PIECE_BYTES = 1 << 20
_CALAMINE_CELL_BYTES = 32
# Perhaps: it may also be a number.
_SHARED_NUMBER = re.compile(rb"<(?:[\w.-]+:)?v(?:\s[^<>]*)?>\s*\+?0*(\d{1,9})\s*(?:<|\Z)")


class _ExcelSource(RowSource):
    """The first sheet that holds a table; its header is the first row that is nearly full."""

    def __init__(self, opened: OpenInput) -> None:
        super().__init__(opened)
        calamine = import_optional("python_calamine", "tables", "Excel files")
        _check_workbook_size(opened.path, self.budget)
        try:
            book = calamine.CalamineWorkbook.from_path(opened.path)
            sheet, header, rows = self._find_table(book)
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # of Rust, which is no Exception
                raise TableError(f"it cannot be read as an Excel workbook: {error}") from None
            raise
        names = rows[header]
        self._columns = [j for j, name in enumerate(names) if name != ""]
        widths = list(map(_count_filled, rows[header:]))
        self._filled = header + np.flatnonzero(widths)[1:]
        self._rows = map(rows.__getitem__, self._filled)
        self.first_row = header + 2
        if max(widths) > len(self._columns):
            self.input.log("columns without a name in the header are left out")
        if len(book.sheet_names) > 1:
            self.input.log(f"the table is on the sheet {sheet!r}")
        if header:
            self.input.log(f"the header is row {header + 1} of the sheet")
        self._set_names([str(_to_plain_value(names[j])) for j in self._columns])

    def _find_table(self, book: Any) -> tuple[str, int, list[Row]]:
        """Name of the sheet, position of its header, and its rows."""
        found = []
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
            widths = np.array(list(map(_count_filled, rows)), dtype=int)
            if not widths.any():
                continue
            # A header fills at least 80 % of the cells of the fullest of the first rows, a title
            # above it fewer.
            header = int(np.argmax(widths >= max(1, 0.8 * widths[:30].max())))
            found.append((name, header, rows))
            if widths[header] > 1 and widths[header + 1 :].any():
                return found[-1]
        if not found:
            raise TableError("the file is empty; a row with the names of the columns is needed.")
        return found[0]

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """See `Source.blocks`."""
        for block in super().blocks(kinds):
            block.index = self._filled[block.index - 1] + 1
            yield block

    def _cells(self, rows: list[Row], position: int, first: int) -> list[Any]:
        j = self._columns[position]
        return [_to_plain_value(row[j]) for row in rows]


def _check_workbook_size(path: Path, budget: Budget) -> None:
    """Refuse a workbook that would take too much memory, by whatever name it calls its parts.

    Calamine makes a matrix that reaches to the last row and column of a sheet, in which every cell
    has its own copy of a shared text, and ends the process if that does not fit: a file with two
    cells could ask for 500 GB.
    """
    used: Counter[int] = Counter()  # shared texts by their numbers
    largest: list[int] = []  # sizes of shared texts of each number, in any part
    n_sheets = 0
    with zipfile.ZipFile(path) as archive:
        part_sizes = [part.file_size for part in archive.infolist()]
        budget.check(sum(part_sizes), 2)
        for part in archive.infolist():
            n_rows = n_row_tags = n_columns = n_cells = 0
            sizes = [0]  # of what stands before the first text, and of each text
            for xml in _read_pieces(archive, part):
                # Cells may have no reference; the first part continues a row.
                counts = [len(_CELL.findall(row)) for row in _ROW.split(xml)]
                counts[0] += n_cells
                n_cells = counts[-1]
                n_row_tags += len(counts) - 1
                n_rows = max(n_rows, n_row_tags)
                n_columns = max(n_columns, *counts)
                for letters, number in set(_CELL_REFERENCE.findall(xml)):
                    n_rows = max(n_rows, int(number))
                    n_columns = max(n_columns, _column_number(letters))
                budget.check(_CALAMINE_CELL_BYTES * n_rows * n_columns)
                used.update(map(int, _SHARED_NUMBER.findall(xml)))
                n_sheets += len(_SHEET.findall(xml))
                rest, *others = map(len, _SHARED_TEXT.split(xml))
                sizes[-1] += rest
                sizes += others
                budget.spend(64 * len(others))
            largest = list(map(max, zip_longest(largest, sizes[1:], fillvalue=0)))
    # Each may be read, and several may be one part.
    budget.check(n_sheets * max(part_sizes, default=0), STREAMED)
    budget.check(sum(used[k] * size for k, size in enumerate(largest)))


def _read_pieces(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part of a workbook in pieces that end before a tag."""
    rest = b""
    with archive.open(part) as file:
        while piece := file.read(_PIECE_BYTES):
            xml = rest + piece
            end = len(xml)
            if len(piece) == _PIECE_BYTES and b"<" in xml[1:]:  # the last tag may be incomplete
                end = xml.rfind(b"<")
            rest = xml[end:]
            xml = xml[:end]
            if b"<!" in xml and _DOCTYPE.search(xml):
                raise TableError(
                    "it has a document type declaration, which no workbook needs; it is refused."
                )
            yield xml


def _invalid_cell_error(cell: str, where: str | None = None) -> TableError:
    problem = f"the cell {repr_cell(cell)} has what no workbook can hold"
    limit = f"control characters and more than {_MOST_CHARACTERS:,} characters"
    return TableError(f"{problem}: {limit}; use .csv.", where=where)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number


def _count_filled(row: Row) -> int:
    return len(row) - row.count("")


def _to_plain_value(cell: Any) -> Any:
    """A cell as a text table would have it; nothing as None."""
    if isinstance(cell, str):
        if len(cell) > _MOST_CHARACTERS:
            raise _invalid_cell_error(cell)
        return cell or None
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return str(cell)
    return cell


def _write_workbook(output: TableOutput, tables: Iterator[Table]) -> None:
    """Write one sheet."""
    openpyxl = import_optional("openpyxl", "tables", "Excel files")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def make_cell(value: Any) -> Any:
        if not isinstance(value, str):
            return None if value != value else value  # a workbook has no NaN
        if len(value) > _MOST_CHARACTERS or _CONTROL.search(value):
            raise _invalid_cell_error(value, output.name)
        if not value.startswith(("=", "#")):
            return value
        cell = openpyxl.cell.WriteOnlyCell(sheet, value)
        cell.data_type = "s"  # neither a formula nor an error
        return cell

    with closing(sheet):
        for k, table in enumerate(tables):
            # openpyxl keeps the rows in a file of its own, which may find no room before ours does.
            with convert_os_errors(output.name, "written"):
                if k == 0:
                    sheet.append(list(map(make_cell, table)))
                columns = [column.tolist() for column in table.values()]
                for row in zip(*columns, strict=True):
                    sheet.append(list(map(make_cell, row)))
    output.save(book.save)


EXCEL = Format("an Excel workbook", _ExcelSource, _write_workbook)
