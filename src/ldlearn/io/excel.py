"""Excel workbooks (.xlsx): the first sheet that holds a table."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.errors import TableError, import_optional, some
from ldlearn.io.columns import marked_labels, tidy_names
from ldlearn.io.formats import Format
from ldlearn.io.limits import check_declared, check_total
from ldlearn.io.sink import Output, Sink, Table, columns_of
from ldlearn.io.source import CHUNK_ROWS, Input, Kind, Source

_ROWS_LOOKED_AT = 30
_END_BYTES = 1 << 18
_MERGED = re.compile(r'(?<=mergeCell ref=")[A-Z]+(\d+):[A-Z]+(\d+)')
_FULL = 0.8  # of the cells of the fullest row: a header has at least that many, a title above it has fewer


Row = Sequence[Any]


class ExcelSource(Source):
    """A sheet; its header is the first row that is about as full as the table is wide."""

    def __init__(self, given: Input) -> None:
        super().__init__(given)
        openpyxl = _import_openpyxl()
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
        self._rows = chain(first[header + 1 :], rest)
        if max(map(_width, first[header:])) > len(self.names):
            given.announce("columns without a name in the header are left out")
        if len(book.worksheets) > 1:
            given.announce(f"the table is on the sheet {sheet!r}")
        if header:
            given.announce(f"the header is row {header + 1} of the sheet")
        self._name_merged(book.sheetnames.index(sheet), header + 1)
        self._name_formulas(openpyxl, sheet, first[header + 1 :])
        given.announce_names(self.names)
        self.names = tidy_names(self.names)
        self.labels = marked_labels(self.names)

    def _find_table(self, book: Any) -> tuple[str, int, list[Row], Iterator[Row]]:
        """Title, position of the header, first rows and rest of the first sheet that holds more than a note."""
        found = []
        for sheet in book.worksheets:
            rows = sheet.iter_rows(values_only=True)
            first = list(islice(rows, _ROWS_LOOKED_AT))
            widths = [_width(row) for row in first]
            header = next((k for k, n in enumerate(widths) if n and n >= _FULL * max(widths)), None)
            if header is not None:
                found.append((sheet.title, header, first, rows))
                if widths[header] > 1 and any(widths[header + 1 :]):
                    return found[-1]
        if not found:
            raise TableError("the file is empty; a row with the names of the columns is needed.")
        return found[0]

    def _name_merged(self, sheet: int, header: int) -> None:
        """Say that cells below the header are merged: only the first has a value, and the reader does not tell."""
        with zipfile.ZipFile(self.given.path) as archive:
            name = f"xl/worksheets/sheet{sheet + 1}.xml"
            if name not in archive.namelist():
                return
            with archive.open(name) as file:
                file.seek(max(0, archive.getinfo(name).file_size - _END_BYTES))  # merged cells stand below all others
                end = file.read().decode(errors="replace")
        merged = [m[0] for m in _MERGED.finditer(end) if header < int(m[1]) < int(m[2])]
        if merged:
            cells = f"cells are merged over several rows ({some(merged, 3)})"
            self.given.announce(f"{cells}; only the first row of each has the value, the others count as empty")

    def _name_formulas(self, openpyxl: Any, sheet: str, rows: list[Row]) -> None:
        """Say which columns seem empty because nothing has ever computed their formulas."""
        empty = [j for j in self._columns if rows and all(j >= len(row) or row[j] is None for row in rows)]
        if not empty:
            return
        with self.given.path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True)
            written = list(islice(book[sheet].iter_rows(values_only=True), _ROWS_LOOKED_AT))
            book.close()
        formulas = [j for j in empty if any(j < len(row) and str(row[j]).startswith("=") for row in written)]
        if formulas:
            names = some([self.names[self._columns.index(j)] for j in formulas])
            self.given.announce(f"formulas in {names} have no values; open and save it in a spreadsheet program")

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[list[NDArray[Any]]]:
        """See `Source.blocks`."""
        rows = (row for row in self._rows if any(cell is not None for cell in row))
        while piece := list(islice(rows, CHUNK_ROWS)):
            yield [self._column(piece, i, kind) for i, kind in kinds.items()]

    def _column(self, rows: list[Sequence[Any]], position: int, kind: Kind) -> NDArray[Any]:
        j = self._columns[position]
        cells = [_plain(row[j]) if j < len(row) else None for row in rows]
        if kind == "any" and all(cell is None or (type(cell) in (int, float)) for cell in cells):
            return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        values = np.empty(len(cells), dtype=object)
        values[:] = cells
        return values


def _width(row: Row) -> int:
    return sum(cell is not None for cell in row)


def _plain(cell: Any) -> Any:
    """Dates and times as texts, as a text table would have them."""
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
        if self._header_due:
            self._sheet.append(list(columns))
            self._header_due = False
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            self._sheet.append([None if cell != cell else cell for cell in row])

    def close(self) -> None:
        """Write the workbook."""
        self._book.save(self.output.seekable)


def _import_openpyxl() -> Any:
    return import_optional("openpyxl", "io", "Excel files")


EXCEL = Format("an Excel workbook", ExcelSource, ExcelSink)
