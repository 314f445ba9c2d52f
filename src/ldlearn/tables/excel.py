"""Excel workbooks (.xlsx): the first sheet that holds a table."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from numpy.typing import NDArray

from ldlearn.exceptions import TableError, format_list, import_optional
from ldlearn.tables.atomic import naming_system_errors
from ldlearn.tables.formats import Format
from ldlearn.tables.limits import check_declared, check_total
from ldlearn.tables.sink import Output, Sink, Table, columns_of
from ldlearn.tables.source import Input, Kind, RowSource, as_column

_ROWS_LOOKED_AT = 30
_MERGED = re.compile(rb'mergeCell ref="([A-Z]+)(\d+):[A-Z]+(\d+)"')
_LONGEST_MERGED = 100  # bytes of such a tag, which two pieces may share
_PIECE = 1 << 20
_FULL = 0.8  # of the cells of the fullest row: a header has at least that many, a title above it has fewer


Row = Sequence[Any]


class ExcelSource(RowSource):
    """A sheet; its header is the first row that is about as full as the table is wide."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        openpyxl = _import_openpyxl()
        # A workbook is a zip, whose parts openpyxl would unpack whatever they announce.
        with zipfile.ZipFile(given.path) as archive:
            declared = sum(member.file_size for member in archive.infolist())
        check_declared(declared, given.size)
        check_total(declared, given.max_bytes)
        # a file, not its name: that of a pipe's copy has no ending, which openpyxl goes by
        file = given.stack.enter_context(given.path.open("rb"))
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        given.stack.callback(book.close)
        sheet, header, first, rest = self._find_table(book)
        self._columns = [j for j, cell in enumerate(first[header]) if cell is not None]
        self.names = [str(first[header][j]) for j in self._columns]
        # Rows are counted from 1, so the header is row header + 1. Cells merged within one row are titles over columns.
        merged = {
            merge for merge in _find_merged(sheet) if merge[0] in self._columns and header + 1 < merge[1] < merge[2]
        }
        self._rows = _with_merged(chain(first[header + 1 :], rest), header + 2, merged)
        if max(map(_width, first[header:])) > len(self.names):
            given.log("columns without a name in the header are left out")
        if len(book.worksheets) > 1:
            given.log(f"the table is on the sheet {sheet.title!r}")
        if header:
            given.log(f"the header is row {header + 1} of the sheet")
        if merged:
            names = format_list(
                [self.names[k] for k, j in enumerate(self._columns) if j in {merge[0] for merge in merged}]
            )
            given.log(f"merged cells in {names} count for each of their rows")
        self._name_formulas(openpyxl, sheet.title, first[header + 1 :])
        self._take_names(self.names)

    def _find_table(self, book: Any) -> tuple[Any, int, list[Row], Iterator[Row]]:
        """The first sheet that holds more than a note, position of its header, its first rows and the rest."""
        found = []
        for sheet in book.worksheets:
            rows = sheet.iter_rows(values_only=True)
            first = list(islice(rows, _ROWS_LOOKED_AT))
            widths = [_width(row) for row in first]
            header = next((k for k, n in enumerate(widths) if n and n >= _FULL * max(widths)), None)
            if header is not None:
                found.append((sheet, header, first, rows))
                if widths[header] > 1 and any(widths[header + 1 :]):
                    return found[-1]
        if not found:
            raise TableError("the file is empty; a row with the names of the columns is needed.")
        return found[0]

    def _name_formulas(self, openpyxl: Any, sheet: str, rows: list[Row]) -> None:
        """Say which columns seem empty because nothing has ever computed their formulas."""
        empty = [j for j in self._columns if rows and all(j >= len(row) or row[j] is None for row in rows)]
        if not empty:
            return
        # Opened again, because a workbook gives either values or formulas.
        with self.given.path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True)
            written = list(islice(book[sheet].iter_rows(values_only=True), _ROWS_LOOKED_AT))
            book.close()
        formulas = [j for j in empty if any(j < len(row) and str(row[j]).startswith("=") for row in written)]
        if formulas:
            names = format_list([self.names[self._columns.index(j)] for j in formulas])
            self.given.log(f"formulas in {names} have no values; open and save it in a spreadsheet program")

    def _column(self, rows: list[Row], position: int, kind: Kind, first: int) -> NDArray[Any]:
        j = self._columns[position]
        return as_column([_plain(row[j]) if j < len(row) else None for row in rows], kind)


def _find_merged(sheet: Any) -> Iterator[tuple[int, int, int]]:
    """Column (from 0), first and last row (from 1) of cells that are merged: only the first of them has a value."""
    from openpyxl.utils import column_index_from_string

    before = b""
    with sheet._get_source() as xml:  # a sheet that is read row by row does not tell them
        while piece := xml.read(_PIECE):
            for column, first, last in _MERGED.findall(before + piece):
                yield column_index_from_string(column.decode()) - 1, int(first), int(last)
            before = piece[-_LONGEST_MERGED:]


def _with_merged(rows: Iterator[Row], number: int, merged: set[tuple[int, int, int]]) -> Iterator[Row]:
    """Rows that are not empty, with the value of merged cells in each of them; ``number`` is that of the first."""
    starts = {(first, j): last for j, first, last in merged}
    columns = {j for j, _, _ in merged}
    until: dict[int, tuple[int, Any]] = {}
    for k, row in enumerate(rows, number):
        # Empty rows are passed over but counted, as the ranges of merged cells count them.
        if not any(cell is not None for cell in row):
            continue
        until |= {j: (starts[k, j], row[j]) for j in columns if (k, j) in starts and j < len(row)}
        values = {j: value for j, (last, value) in until.items() if k <= last}
        yield [values.get(j, cell) for j, cell in enumerate(row)] if values else row


def _width(row: Row) -> int:
    return sum(cell is not None for cell in row)


def _plain(cell: Any) -> Any:
    """Dates and times as texts, as a text table would have them."""
    # Excel knows no plain dates: a day is a moment at midnight.
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else cell


class ExcelSink(Sink):
    """Writes one sheet."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._book = _import_openpyxl().Workbook(write_only=True)
        self._sheet = self._book.create_sheet("table")
        self._header_due = True

    def write(self, table: Table) -> None:
        """Append rows."""
        columns = columns_of(table)
        # openpyxl keeps the rows in a file of its own, which may find no room before ours does.
        with naming_system_errors(self.output.name, "written"):
            if self._header_due:
                self._sheet.append(list(columns))
                self._header_due = False
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                # A workbook has no NaN.
                self._sheet.append([None if cell != cell else cell for cell in row])

    def close(self) -> None:
        """Write the workbook."""
        self._book.save(self.output.seekable)


def _import_openpyxl() -> Any:
    return import_optional("openpyxl", "tables", "Excel files")


EXCEL = Format("an Excel workbook", ExcelSource, ExcelSink)
