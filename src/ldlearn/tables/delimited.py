"""CSV and TSV: read by the C parser of pandas in chunks, written by Arrow.

Separator, decimal mark, encoding and the position of the header are found in the first rows, unless
they are given; `docs/guide/tables.md` lists the rules.

Arrow does not read them, because that would not remove code: its handler of invalid rows does not
see empty lines, which become rows of missing values like those of separators only, so that our
scan of the bytes would remain for row numbers. It also refuses rows longer than its blocks, and
infers types from the first block only: columns read as texts and converted here took 1.4 times the
CPU time of pandas (1,000 x 5,000 numbers) and 100 MB more memory (100,000 x 20).
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice, zip_longest
from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import is_number
from ldlearn.tables.files import BUFFER_BYTES, OpenInput, TableInput, TableOutput
from ldlearn.tables.formats import Format, Table, map_texts
from ldlearn.tables.formulas import escape_formula, unescape_formula, unescape_formulas
from ldlearn.tables.source import TEXT_COLUMN_BYTES, Kinds, Source, columns_to_frame, rows_per_chunk
from ldlearn.tables.values import MISSING, has_leading_zero, import_pandas, with_decimal_point

_LONGEST_LINE_BYTES = 16 << 20
_QUOTE = ord('"')
_NEWLINE = ord("\n")
_FIRST_ROWS = 200
_FIRST_CELLS = 5000
_DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_POINT_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_COMMA_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+(?:[eE][+-]?\d+)?")
_ANY_NUMBER = re.compile(f"{_POINT_NUMBER.pattern}|{_COMMA_NUMBER.pattern}")
# These may have a mark between thousands, or have none: no evidence of a decimal mark.
_AMBIGUOUS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_AMBIGUOUS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+|[^.]*")
_NUMBER_LIST = re.compile(r"\d+(?:,\d+){2,}")  # a number has one decimal comma at most
_BESIDE_NUMBERS = " \t%$€£¥()°µ²³/" + ascii_letters


class _DelimitedSource(Source):
    """A text table; its first row names the columns, unless it holds only numbers."""

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
        self._dialect = dialect = _detect_dialect(sample, self.input, delimiter, self._is_whole)
        if dialect.messages:
            self.input.log(", and ".join(dialect.messages))
        if dialect.decimal == ",":
            self.decimal = ","
        header, *self._first_rows = dialect.rows or [[]]
        _check_header(header, sample, dialect.encoding)
        self._file = opened.file
        if codecs.lookup(dialect.encoding.removesuffix("-sig")).name != "utf-8":
            self._file = io.BufferedReader(_AsUtf8(opened.file, dialect.encoding), BUFFER_BYTES)
        names = list(map(unescape_formula, header))
        n_lines = dialect.lines_above + dialect.header_lines
        if _is_row_of_numbers(header):
            names = [f"column{i}" for i in range(len(header))]
            n_lines = dialect.lines_above
            self._first_rows = dialect.rows
        for _ in range(n_lines):
            self._file.readline()
        # A spreadsheet shows a name that has line breaks in one row; other lines between header and
        # table are empty.
        self.first_row = 1 + n_lines - "".join(names).count("\n")
        self._set_names(names)
        self.width = len(header)  # of a row; names of empty columns at the end are dropped
        self._drop_empty_end()
        # Rows may be shorter than the first ones and take as many numbers.
        row_bytes = len(sample) // (sample.count(b"\n") + 1)
        self._chunk_rows = rows_per_chunk(max(row_bytes, 8 * self.width))

    def _drop_empty_end(self) -> None:
        """A separator at the end of the lines makes no column."""
        rows = self._first_rows
        if not rows:
            return
        is_longer = set(map(len, rows)) == {self.width + 1}
        if is_longer and not any(row[-1].strip() for row in rows):
            self.width += 1
        columns = list(zip_longest(self.names, *rows, fillvalue=""))
        while len(columns) > 1 and not "".join(columns[-1]).strip():
            columns.pop()
        del self.names[len(columns) :]

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """See `Source.blocks`; a column of kind "any" becomes numbers if all of its values are.

        Columns whose first rows hold codes with leading zeros (01067) stay texts.
        """
        if self._is_whole and not self._file.peek().strip():
            return
        kinds = dict(kinds)
        for i in kinds:
            has_codes = any(has_leading_zero(row[i]) for row in self._first_rows if i < len(row))
            if has_codes or self.names[i] == self.input.list_column:
                kinds[i] = "text"
        texts = [i for i, kind in kinds.items() if kind == "text"]
        pandas = import_pandas()
        options = {}
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # the default of later versions
        file = _RowLengthCheck(self, self._file)
        try:
            reader = pandas.read_csv(
                file,
                sep=self._dialect.delimiter,
                decimal=self._dialect.decimal,
                header=None,
                names=range(self.width),
                index_col=False,
                usecols=sorted(kinds),
                # With a dict, even an empty one, pandas works on every column by itself.
                dtype=dict.fromkeys(texts, object) or None,
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
                    block = self._chunk_to_frame(frame, kinds)
                    # pandas does not count empty rows
                    block.index += np.searchsorted(file.empty_rows, frame.index, side="right")
                    yield block
        except pandas.errors.ParserError as error:
            # pandas passes on errors of the file, but replaces Ctrl-C.
            if "Calling read(" in str(error):
                raise KeyboardInterrupt from None
            raise

    def _chunk_to_frame(self, frame: Any, kinds: Kinds) -> Any:
        numeric = frame.select_dtypes("number")
        # Converted at once: a call for each of 10,000 columns is slow.
        columns = dict(zip(numeric.columns, numeric.to_numpy(np.float64).T, strict=True))
        others = frame.columns.difference(numeric.columns)
        self.budget.check_columns(len(others), TEXT_COLUMN_BYTES)
        for i in others:
            columns[i] = cells = frame[i].to_numpy(copy=True)
            if cells.dtype == bool:
                continue
            unescape_formulas(cells)
            if kinds[i] == "any" and self._dialect.decimal == ",":
                with suppress(TypeError, ValueError):
                    columns[i] = np.array(list(map(with_decimal_point, cells)), np.float64)
        first_row = self.first_row + frame.index.start
        return columns_to_frame({i: columns[i] for i in kinds}, first_row)


class _RowLengthCheck:
    """The file that pandas reads; it refuses rows of another length, which pandas would fill up.

    Rows are no longer counted after a quote within a cell that does not begin with one, which is a
    mere character. ``empty_rows`` has the number of filled rows before every empty one.
    """

    def __init__(self, table: _DelimitedSource, file: io.BufferedReader) -> None:
        self.empty_rows: list[int] = []
        self._table = table
        self._file = file
        delimiter = table._dialect.delimiter.encode()
        self._delimiter = delimiter[0]
        self._is_checked = table.width > 1 and len(delimiter) == 1
        self._rest = b""
        self._row = table.first_row

    def __iter__(self) -> Iterator[bytes]:  # pandas asks whether there is such a method
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        """Read and check some bytes."""
        block = self._file.read(size)
        self._table.budget.spend(len(block))  # until pandas gives rows away
        if self._is_checked:
            self._check(self._rest + (block or b"\n"))
        return block

    def _check(self, text: bytes) -> None:
        """Check the complete rows at the beginning, and keep the rest."""
        values = np.frombuffer(text, dtype=np.uint8)
        is_end = values == _NEWLINE
        is_delimiter = values == self._delimiter
        if b'"' in text:
            is_quote = values == _QUOTE
            is_quoted = np.bitwise_xor.accumulate(is_quote)
            openings = np.flatnonzero(is_quote & is_quoted)
            before = values[openings[openings > 0] - 1]
            if not np.isin(before, (self._delimiter, _NEWLINE, _QUOTE)).all():
                self._is_checked = False
                return
            is_end &= ~is_quoted
            is_delimiter &= ~is_quoted
        ends = np.flatnonzero(is_end)
        starts = np.append(0, ends + 1)
        self._rest = text[starts[-1] :]
        self._is_checked = len(self._rest) < _LONGEST_LINE_BYTES
        width = self._table.width
        n_before = np.searchsorted(np.flatnonzero(is_delimiter), ends)
        widths = np.diff(n_before, prepend=0) + 1
        for k in np.flatnonzero(widths != width).tolist():
            row = self._row + k
            if not text[starts[k] : ends[k]].strip():
                self.empty_rows.append(row - self._table.first_row - len(self.empty_rows))
                continue
            advice = "put values that hold the separator in quotes"
            if widths[k] < width:
                advice = "if it is truncated, complete it; if it is a comment, delete it"
            raise TableError(f"it has {widths[k]} values for {width} columns; {advice}.", row=row)
        self._row += len(ends)


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
    header = "".join(names)
    if b"\r" in sample and b"\n" not in sample:
        raise TableError(
            "its lines end in carriage returns alone; save it with the line ends of this system."
        )
    if not header.strip():
        raise TableError(
            "the file is empty; a header line with the names of the columns is needed."
        )
    if "\0" in header and b'"' not in sample:
        raise TableError(
            "it is not a text table (zero byte in the header); give the file the ending of its "
            "format, or name its encoding (encoding=, --encoding)."
        )
    if "\ufffd" in header and "\ufffd".encode(encoding) not in sample:
        raise TableError(
            f"the header is not {encoding} text; name its encoding (encoding=, --encoding)."
        )


def _is_row_of_numbers(names: list[str]) -> bool:
    """Whether the first line is data; other programs call nameless columns 0, 1, 2, ..."""
    if not all(map(is_number, names)):
        return False
    numbers = np.array(names, dtype=np.float64)
    return not np.array_equal(numbers, numbers[0] + np.arange(len(names)))


class _DetectedDialect(NamedTuple):
    encoding: str
    delimiter: str
    decimal: str
    lines_above: int  # of the header: titles, remarks, empty lines
    header_lines: int  # of the header itself: a quoted name may hold line breaks
    rows: list[list[str]]  # the first rows, header included; empty lines are skipped
    messages: list[str]  # what differs from the default


def _detect_dialect(
    sample: bytes,
    input: TableInput,
    usual: str,
    is_whole: bool = True,
) -> _DetectedDialect:
    """Find the dialect of a table.

    Parameters
    ----------
    sample : bytes
        How the table begins.
    input : TableInput
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
    decimal = wanted.decimal or _detect_decimal(rows, likely, input.list_column)
    messages = []
    if not wanted.encoding and not encoding.startswith("utf-8"):
        messages.append(f"its text is {encoding}, not UTF-8")
    if not wanted.delimiter and delimiter != usual:
        messages.append(f"its columns are separated by {_DELIMITER_NAMES[delimiter]}")
    if not wanted.decimal and decimal == ",":
        messages.append("its numbers have decimal commas")
    if lines_above:
        lines = "a line" if lines_above == 1 else f"{lines_above} lines"
        messages.append(f"{lines} above its header skipped")
    return _DetectedDialect(encoding, delimiter, decimal, lines_above, header_lines, rows, messages)


def _find_encoding(sample: bytes) -> str:
    """By the byte order mark; else UTF-8 if the text is valid, else that of Western Windows."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # which may end within a character
    except UnicodeDecodeError:
        if b"\0" not in sample:  # a zero byte is in no text
            return "cp1252"
    return "utf-8"


def _find_delimiter(text: str, usual: str, is_whole: bool) -> str:
    """The separator that gives all rows as many columns; of several, the one with most numbers.

    Only if no separator does so, lines above the header and up to 10 % rows of another length are
    accepted.
    """
    scores = {}
    for mark in dict.fromkeys((usual, *_DELIMITER_NAMES)):
        lines_above, _, rows = _read_first_rows(text, mark, is_whole)
        widths = list(map(len, rows)) or [0]
        n_other = len(widths) - widths.count(widths[0])
        if widths[0] < 2 or n_other > 0.1 * len(widths):
            continue
        first = islice(chain.from_iterable(rows[1:]), _FIRST_CELLS)
        cells = list(map(str.strip, first))
        # A number within a table separated by commas has none.
        number = _POINT_NUMBER if mark == "," else _ANY_NUMBER
        n_numbers = len(list(filter(number.fullmatch, cells)))
        is_regular = not (n_other or lines_above)
        scores[mark] = (is_regular, n_numbers / max(len(cells), 1))
    # The first of equals, which is the usual one.
    return max(scores, key=scores.__getitem__, default=usual)


def _read_first_rows(
    text: str,
    delimiter: str,
    is_whole: bool,
) -> tuple[int, int, list[list[str]]]:
    """Lines above the header, lines of the header, and the first rows from the header on.

    A line above the header fills no cell but the first, has fewer than half of the table's cells,
    or begins with # and has another number of cells than the table.
    """
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    rows = []
    starts = [0]  # a row begins at the line after the one before it
    with suppress(csv.Error):  # such as a field too long for Python's parser
        for row in islice(reader, _FIRST_ROWS):
            if row:
                rows.append(row)
                starts.append(0)
            starts[-1] = reader.line_num
        if not is_whole and next(reader, None) is None:
            rows = rows[:-1]
    widths = [len(row) for row in rows if len(row) > 1]
    width = max(widths, key=widths.count, default=0)
    header = next((k for k, row in enumerate(rows) if not _is_title(row, width)), 0)
    lines_above = starts[header]
    header_lines = starts[min(header + 1, len(rows))] - lines_above
    return lines_above, header_lines, rows[header:]


def _is_title(row: list[str], width: int) -> bool:
    is_comment = row[0].startswith("#") and len(row) != width
    is_short = 2 * len(row) < width or not any(map(str.strip, row[1:]))
    return width > 1 and (is_comment or is_short)


def _detect_decimal(
    rows: list[list[str]],
    likely: str,
    list_column: str | None,
) -> str:
    """The point or else the comma that cannot separate thousands; the likely mark if there is none.

    Columns that hold lists of numbers do not count.
    """
    header, *others = rows or [[]]
    lists = {j for j, name in enumerate(header) if name.strip() == list_column}
    cells = []
    for j, cell in islice(chain.from_iterable(map(enumerate, others)), _FIRST_CELLS):
        text = cell.strip(_BESIDE_NUMBERS)
        cells.append((j, text))
        if _NUMBER_LIST.fullmatch(text):
            lists.add(j)
    texts = [text for j, text in cells if j not in lists]
    if not all(map(_AMBIGUOUS_POINT.fullmatch, filter(_POINT_NUMBER.fullmatch, texts))):
        return "."
    if not all(map(_AMBIGUOUS_COMMA.fullmatch, filter(_COMMA_NUMBER.fullmatch, texts))):
        return ","
    return likely


def _write_delimited(
    output: TableOutput,
    tables: Iterator[Table],
    delimiter: str,
) -> None:
    """Write a text table, with enough digits to read the same numbers back."""
    from pyarrow import csv as arrow_csv

    from ldlearn.tables.arrow import to_arrow_table

    special = re.compile(f'["\\n\\r\\0{delimiter}]')
    options = arrow_csv.WriteOptions(
        include_header=False,
        delimiter=delimiter,
        quoting_style="needed",
    )
    for k, table in enumerate(tables):
        columns = dict(table) if output.raw else map_texts(table, escape_formula)
        if k == 0:  # not by Arrow, which puts every name in quotes
            names = list(columns)
            for j, name in enumerate(names):
                if special.search(name):
                    names[j] = '"' + name.replace('"', '""') + '"'
            output.file.write((delimiter.join(names) + "\n").encode())
        for name, column in columns.items():
            # A float32 has fewer digits than the float64 that it is read back as.
            if column.dtype == np.float32:
                columns[name] = column.astype(np.float64)
        arrow_csv.write_csv(to_arrow_table(columns), output.file, options)


def _delimited_format(delimiter: str) -> Format:
    source = partial(_DelimitedSource, delimiter=delimiter)
    write = partial(_write_delimited, delimiter=delimiter)
    return Format("a text table", source, write, is_text=True)


CSV = _delimited_format(",")
TSV = _delimited_format("\t")
