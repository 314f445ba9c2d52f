"""CSV and TSV: read by the C parser of pandas in chunks, written by Arrow.

Separator, decimal mark, encoding and the position of the header are found in the first rows, unless
they are given; `docs/guide/tables.md` lists the rules.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import is_number
from ldlearn.tables.files import BUFFER_BYTES, Input, OpenInput, Output
from ldlearn.tables.formats import Format, Table
from ldlearn.tables.formulas import guard, unguard, unguard_cells
from ldlearn.tables.source import Kind, Source, make_frame, rows_per_chunk
from ldlearn.tables.values import MISSING, has_leading_zero, import_pandas, with_decimal_point

_LONGEST_ROW = 16 << 20
_QUOTE, _NEWLINE = b'"\n'
_SAMPLE_ROWS = 200
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_POINT_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][+-]?\d+)?")
# These may have a mark between thousands: no evidence of a decimal mark.
_AMBIGUOUS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_AMBIGUOUS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_NUMBERS = re.compile(r"\d+(?:,\d+){2,}")  # a number has one decimal comma at most
_BESIDE_NUMBERS = " \t%$€£¥()°µ²³/" + ascii_letters


class DelimitedSource(Source):
    """A text table. Its first row names the columns, unless it holds only numbers; titles above it
    are skipped."""

    def __init__(self, opened: OpenInput, delimiter: str) -> None:
        super().__init__(opened)
        import_pandas()  # or a message how to install it
        start = opened.file.peek(BUFFER_BYTES)
        line = start.partition(b"\n")[0]
        if len(line) == BUFFER_BYTES:
            raise TableError(f"its first line is longer than {BUFFER_BYTES >> 20} MB.")
        self.budget.check_columns(max(map(line.count, b",;\t|")))
        sample = start[: max(1 << 20, 2 * len(line))]
        self._is_whole = len(sample) == len(start) < BUFFER_BYTES
        self._dialect = detect_dialect(sample, self.input, delimiter, is_whole=self._is_whole)
        if self._dialect.messages:
            self.input.log(", and ".join(self._dialect.messages))
        if self._dialect.decimal == ",":
            self.decimal = ","
        header, *self._first_rows = self._dialect.rows or [[]]
        _check_header(header, sample, self._dialect.encoding)
        self._file = opened.file
        if codecs.lookup(self._dialect.encoding.removesuffix("-sig")).name != "utf-8":
            self._file = io.BufferedReader(
                _AsUtf8(opened.file, self._dialect.encoding), BUFFER_BYTES
            )
        has_header = not _is_row_of_numbers(header)
        # A spreadsheet shows a name that has line breaks in one row; other lines between header and
        # table are empty.
        header_rows = self._dialect.header_lines - sum(name.count("\n") for name in header)
        self.first_row = 1 + self._dialect.lines_above + has_header * header_rows
        for _ in range(self._dialect.lines_above + has_header * self._dialect.header_lines):
            self._file.readline()
        if not has_header:
            self._first_rows = self._dialect.rows
        self._set_names(
            [unguard(name) if has_header else f"column{i}" for i, name in enumerate(header)]
        )
        self._width = len(header)  # of a row; names of empty columns at the end are dropped
        self._drop_empty_end()
        # Rows may be shorter than the first ones and take as many numbers.
        row_bytes = len(sample) // (sample.count(b"\n") + 1)
        self._chunk_rows = rows_per_chunk(max(row_bytes, 8 * self._width))

    def _drop_empty_end(self) -> None:
        """A separator at the end of the lines makes no column."""
        rows = self._first_rows
        if {len(row) for row in rows} == {self._width + 1} and not any(
            row[-1].strip() for row in rows
        ):
            self._width += 1
        if rows:
            filled = (
                i for row in (self.names, *rows) for i, cell in enumerate(row) if cell.strip()
            )
            del self.names[max(filled, default=0) + 1 :]

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`; a column of kind "any" becomes numbers if all of its values in the
        block are.

        Columns whose first rows hold codes with leading zeros (01067) stay texts.
        """
        if self._is_whole and not self._file.peek().strip():
            return
        lists = [i for i in kinds if self.names[i] == self.input.list_column]
        kinds = {**kinds, **dict.fromkeys(lists, "text")}
        codes = {
            i for row in self._first_rows for i, cell in enumerate(row) if has_leading_zero(cell)
        }
        texts = {i: object for i, kind in kinds.items() if kind == "text" or i in codes}
        pandas = import_pandas()
        options: dict[str, Any] = {}
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # the default of later versions
        all_columns = len(kinds) == self._width
        file = _RowLengthCheck(self, self._file, finds_long_rows=all_columns)
        try:
            reader = pandas.read_csv(
                file,
                sep=self._dialect.delimiter,
                decimal=self._dialect.decimal,
                header=None,
                names=range(self._width),
                usecols=None if all_columns else sorted(kinds),
                index_col=False,
                dtype=texts
                or None,  # with a dict, even an empty one, pandas works on every column by itself
                keep_default_na=False,
                na_values=list(MISSING),
                chunksize=self._chunk_rows,
                low_memory=False,
                engine="c",
                **options,
            )
            with reader:
                for frame in reader:
                    self.budget.spent = 0
                    if len(frame):
                        yield self._to_block(frame, kinds, file.empty_rows)
        except pandas.errors.ParserError as error:
            if "Calling read(" in str(
                error
            ):  # pandas passes on errors of the file, but replaces Ctrl-C
                raise KeyboardInterrupt from None
            raise

    def _to_block(self, frame: Any, kinds: Mapping[int, Kind], empty_rows: list[int]) -> Any:
        numeric = [
            i for i, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind in "iuf"
        ]
        # Converted at once: a call for each of 10,000 columns is slow.
        matrix = (frame if len(numeric) == frame.shape[1] else frame[numeric]).to_numpy(np.float64)
        columns = dict(zip(numeric, matrix.T, strict=True))
        self._check_text_columns(frame.shape[1] - len(numeric))
        columns |= {
            i: self._convert_texts(frame[i], kinds[i]) for i in frame.columns.difference(numeric)
        }
        block = make_frame({i: columns[i] for i in kinds}, int(frame.index[0]) + self.first_row)
        if empty_rows:  # which pandas does not count
            block.index += np.searchsorted(empty_rows, frame.index, side="right")
        return block

    def _convert_texts(self, column: Any, kind: Kind) -> NDArray[Any]:
        if column.dtype == bool:
            return np.asarray(column)
        cells = unguard_cells(column.to_numpy(dtype=object, copy=True))
        if kind == "text" or self._dialect.decimal == ".":
            return cells
        with suppress(TypeError, ValueError):
            return np.array(
                [with_decimal_point(cell) if isinstance(cell, str) else cell for cell in cells],
                np.float64,
            )
        return cells


class _RowLengthCheck:
    """The file that pandas reads. It refuses rows of another length, because pandas fills short
    rows up.

    Rows are no longer counted after a quote within a cell that does not begin with one, which is a
    mere character. If pandas finds long rows itself, which it does when it reads all columns,
    totals suffice to find short ones.

    ``empty_rows`` has the number of filled rows before every empty one.
    """

    def __init__(
        self, table: DelimitedSource, file: io.BufferedReader, *, finds_long_rows: bool
    ) -> None:
        self._file, self._width, self._delimiter = (
            file,
            table._width,
            table._dialect.delimiter.encode(),
        )
        self._finds_long_rows = finds_long_rows
        self._is_checked = self._width > 1 and len(self._delimiter) == 1
        self._rest, self._row = b"", table.first_row
        self._first_row, self.empty_rows = table.first_row, list[int]()
        self._budget = table.budget

    def __iter__(self) -> Iterator[bytes]:  # pandas asks whether there is such a method
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        """Read and check some bytes."""
        block = self._file.read(size)
        self._budget.spend(len(block))  # until pandas gives rows away
        if self._is_checked:
            self._check(self._rest + (block or b"\n"))
            self._is_checked &= len(self._rest) < _LONGEST_ROW
        return block

    def _check(self, text: bytes) -> None:
        """Check the complete rows at the beginning, and keep the rest."""
        values, delimiter = np.frombuffer(text, dtype=np.uint8), self._delimiter[0]
        is_end, is_delimiter, n_complete = (
            values == _NEWLINE,
            values == delimiter,
            text.rfind(b"\n") + 1,
        )
        if b'"' in text:
            is_quote = values == _QUOTE
            is_quoted = np.bitwise_xor.accumulate(is_quote)
            openings = np.flatnonzero(is_quote & is_quoted)
            before = values[openings[openings > 0] - 1]
            self._is_checked = bool(np.isin(before, (delimiter, _NEWLINE, _QUOTE)).all())
            if not self._is_checked:
                return
            is_end, is_delimiter = is_end & ~is_quoted, is_delimiter & ~is_quoted
            n_complete = len(text) - int(np.argmax(is_end[::-1])) if is_end.any() else 0
        is_end, is_delimiter, self._rest = (
            is_end[:n_complete],
            is_delimiter[:n_complete],
            text[n_complete:],
        )
        n_rows = int(np.count_nonzero(is_end))
        if self._finds_long_rows and np.count_nonzero(is_delimiter) == n_rows * (self._width - 1):
            self._row += n_rows
            return
        ends, delimiters = np.flatnonzero(is_end), np.flatnonzero(is_delimiter)
        widths = np.diff(np.searchsorted(delimiters, ends), prepend=0) + 1
        starts = np.append(0, ends + 1)
        for k in np.flatnonzero(widths != self._width):
            if not text[starts[k] : ends[k]].strip():
                self.empty_rows.append(self._row + int(k) - self._first_row - len(self.empty_rows))
                continue
            advice = "put values that hold the separator in quotes"
            if widths[k] < self._width:
                advice = "if it is truncated, complete it; if it is a comment, delete it"
            problem = f"it has {widths[k]} values for {self._width} columns; {advice}."
            raise TableError(problem, row=self._row + int(k))
        self._row += n_rows


class _AsUtf8(io.RawIOBase):
    """The text of a file in UTF-8."""

    def __init__(self, file: io.BufferedReader, encoding: str) -> None:
        self._text = io.TextIOWrapper(file, encoding, newline="")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        text = self._text.read(len(buffer) // 4).encode()  # a character takes up to four bytes
        buffer[: len(text)] = text
        return len(text)


def _check_header(names: list[str], sample: bytes, encoding: str) -> None:
    if b"\r" in sample and b"\n" not in sample:
        raise TableError(
            "its lines end in carriage returns alone; save it with the line ends of this system."
        )
    if not any(name.strip() for name in names):
        raise TableError(
            "the file is empty; a header line with the names of the columns is needed."
        )
    if any("\0" in name for name in names) and b'"' not in sample:
        raise TableError(
            "it is not a text table (zero byte in the header); give the file the ending of its format, or name its "
            "encoding (encoding=, --encoding)."
        )
    if any("\ufffd" in name for name in names) and "\ufffd".encode(encoding) not in sample:
        raise TableError(
            f"the header is not {encoding} text; name its encoding (encoding=, --encoding)."
        )


def _is_row_of_numbers(names: list[str]) -> bool:
    """Whether the first line is data; 0, 1, 2, ... are the names that other programs give to
    nameless columns."""
    if not all(is_number(name) for name in names):
        return False
    numbers = [float(name) for name in names]
    return numbers != [numbers[0] + i for i in range(len(numbers))]


class DetectedDialect(NamedTuple):
    """Dialect of a text table, and its first rows."""

    encoding: str
    delimiter: str
    decimal: str
    lines_above: int  # of the header: titles, remarks, empty lines
    header_lines: int  # of the header itself: a quoted name may hold line breaks
    rows: list[list[str]]  # the first rows, header included; empty lines are skipped
    messages: list[str]  # what differs from the default


def detect_dialect(
    sample: bytes, input: Input, usual: str, *, is_whole: bool = True
) -> DetectedDialect:
    """Find the dialect of a table.

    Parameters
    ----------
    sample : bytes
        How the table begins.
    input : Input
        Has the dialect that the user gives, which has priority.
    usual : str
        The separator that the format usually has.
    is_whole : bool
        Whether the sample is the whole table; otherwise its last row may be incomplete and is left
        out.
    """
    wanted = input.reading.dialect
    encoding = wanted.encoding or _find_encoding(sample)
    text = sample.decode(encoding, errors="replace").rstrip("\r\n")
    delimiter = wanted.delimiter or _find_delimiter(text, usual, is_whole)
    lines_above, header_lines, rows = _read_first_rows(text, delimiter, is_whole)
    likely = "." if delimiter == "," else input.likely_decimal
    decimal = wanted.decimal or _find_decimal_mark(rows, likely, input.list_column)
    messages = []
    if not wanted.encoding and not encoding.startswith("utf-8"):
        messages.append(f"its text is {encoding}, not UTF-8")
    if not wanted.delimiter and delimiter != usual:
        messages.append(f"its columns are separated by {_SEPARATORS[delimiter]}")
    if not wanted.decimal and decimal == ",":
        messages.append("its numbers have decimal commas")
    if lines_above:
        messages.append(
            f"{'a line' if lines_above == 1 else f'{lines_above} lines'} above its header skipped"
        )
    return DetectedDialect(encoding, delimiter, decimal, lines_above, header_lines, rows, messages)


def _find_encoding(sample: bytes) -> str:
    """By the byte order mark; else UTF-8 if the text is valid, else the usual one of Western
    Windows."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a character
    except UnicodeDecodeError:
        return "utf-8" if b"\0" in sample else "cp1252"  # a zero byte is in no text
    return "utf-8"


def _find_delimiter(text: str, usual: str, is_whole: bool) -> str:
    """The separator that gives every row as many columns as the header; of several, the one with
    most numbers.

    Only if no separator does so, lines above the header and up to 10 % rows of another length are
    accepted.
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
                bool(
                    _POINT_NUMBER.fullmatch(cell) or (mark != "," and _COMMA_NUMBER.fullmatch(cell))
                )
                for cell in cells
            )
            (irregular if n_other or lines_above else regular)[mark] = n_numbers / max(
                len(cells), 1
            )
    found = regular or irregular
    return max(
        found, key=lambda mark: found[mark], default=usual
    )  # the first of equals, which is the usual one


def _first_cells(rows: list[list[str]]) -> list[str]:
    return [cell.strip() for cell in islice(chain.from_iterable(rows), 5000)]


def _read_first_rows(text: str, delimiter: str, is_whole: bool) -> tuple[int, int, list[list[str]]]:
    """Lines above the header, lines of the header, and the first rows from the header on.

    A line above the header fills no cell but the first, has fewer than half of the table's cells,
    or begins with # and has another number of cells than the table.
    """
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
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


def _find_decimal_mark(rows: list[list[str]], likely: str, list_column: str | None) -> str:
    """The point or else the comma that cannot separate thousands; the likely mark if there is none.

    Columns that hold lists of numbers do not count.
    """
    in_columns = (
        (j, cell.strip(_BESIDE_NUMBERS)) for row in rows[1:] for j, cell in enumerate(row)
    )
    first = list(islice(in_columns, 5000))
    lists = {j for j, cell in first if _NUMBERS.fullmatch(cell)}
    lists |= {j for j, name in enumerate(rows[0] if rows else []) if name.strip() == list_column}
    cells = [cell for j, cell in first if j not in lists]
    points = [cell for cell in cells if "." in cell and _POINT_NUMBER.fullmatch(cell)]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    if not all(map(_AMBIGUOUS_POINT.fullmatch, points)):
        return "."
    return likely if all(map(_AMBIGUOUS_COMMA.fullmatch, commas)) else ","


def write_delimited(output: Output, tables: Iterator[Table], delimiter: str) -> None:
    """Write a text table, with enough digits to read the same numbers back."""
    from pyarrow import csv as arrow_csv

    from ldlearn.tables.arrow import to_arrow_table

    special = re.compile(f'["\\n\\r\\0{delimiter}]')
    options = arrow_csv.WriteOptions(
        include_header=False, delimiter=delimiter, quoting_style="needed"
    )
    for k, table in enumerate(tables):
        if not output.raw:
            table = {guard(name): _guard_cells(column) for name, column in table.items()}
        if k == 0:  # not by Arrow, which puts every name in quotes
            quoted = [
                '"' + name.replace('"', '""') + '"' if special.search(name) else name
                for name in table
            ]
            output.file.write((delimiter.join(quoted) + "\n").encode())
        # A float32 has fewer digits than the float64 that it is read back as.
        columns = {
            n: v.astype(np.float64) if v.dtype == np.float32 else v for n, v in table.items()
        }
        arrow_csv.write_csv(to_arrow_table(columns), output.file, options)


def _guard_cells(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind not in "OU":
        return column
    return np.array(
        [guard(cell) if isinstance(cell, str) else cell for cell in column.tolist()], dtype=object
    )


def _delimited_format(delimiter: str) -> Format:
    source, write = (
        partial(DelimitedSource, delimiter=delimiter),
        partial(write_delimited, delimiter=delimiter),
    )
    return Format("a text table", source, write, is_text=True)


CSV, TSV = _delimited_format(","), _delimited_format("\t")
