"""CSV and TSV: read by the C parser of pandas in chunks, written by Arrow."""

import codecs
import io
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import is_number
from ldlearn.tables.delimited_dialect import detect_dialect
from ldlearn.tables.files import BUFFER_BYTES, MOST_NAMES, Input, Output
from ldlearn.tables.formats import Format, Table
from ldlearn.tables.source import CHUNK_BYTES, CHUNK_ROWS, Kind, Source, make_frame
from ldlearn.tables.values import MISSING, import_pandas, is_padded, with_decimal_point

_LONGEST_ROW = 16 << 20
_QUOTE, _NEWLINE = b'"\n'


class DelimitedSource(Source):
    """A text table. Its first row names the columns, unless it holds only numbers; titles above it are skipped."""

    def __init__(self, given: Input, delimiter: str) -> None:
        super().__init__(given)
        import_pandas()  # or a message how to install it
        start = given.file.peek(BUFFER_BYTES)
        line = start.partition(b"\n")[0]
        if len(line) == BUFFER_BYTES or max(map(line.count, b",;\t|")) >= MOST_NAMES:
            raise TableError(f"its first line is longer than 4 MB or has more than {MOST_NAMES:,} columns.")
        sample = start[: max(1 << 20, 2 * len(line))]
        self._is_whole = len(sample) == len(start) < BUFFER_BYTES
        self._dialect = detect_dialect(sample, given.dialect, delimiter, is_whole=self._is_whole)
        if self._dialect.messages:
            given.log(", and ".join(self._dialect.messages))
        header, *self._first_rows = self._dialect.rows or [[]]
        _check_header(header, sample, self._dialect.encoding)
        self._file = given.file
        if codecs.lookup(self._dialect.encoding.removesuffix("-sig")).name != "utf-8":
            self._file = io.BufferedReader(_AsUtf8(given.file, self._dialect.encoding), BUFFER_BYTES)
        has_header = not _is_row_of_numbers(header)
        # A spreadsheet shows a name that has line breaks in one row; other lines between header and table are empty.
        header_rows = self._dialect.header_lines - sum(name.count("\n") for name in header)
        self.first_row = 1 + self._dialect.lines_above + has_header * header_rows
        for _ in range(self._dialect.lines_above + has_header * self._dialect.header_lines):
            self._file.readline()
        if not has_header:
            self._first_rows = self._dialect.rows
        self._take_names(header if has_header else [f"column{i}" for i in range(len(header))])
        self._width = len(header)  # of a row; names of empty columns at the end are dropped
        self._drop_empty_end()
        row_bytes = len(sample) // (sample.count(b"\n") + 1)
        self._chunk_rows = min(CHUNK_ROWS, max(1, CHUNK_BYTES // max(row_bytes, 1)))

    def _drop_empty_end(self) -> None:
        """A separator at the end of the lines makes no column."""
        rows = self._first_rows
        if {len(row) for row in rows} == {self._width + 1} and not any(row[-1].strip() for row in rows):
            self._width += 1
        while rows and not self.names[-1] and not any("".join(row[len(self.names) - 1 :]).strip() for row in rows):
            self.names.pop()

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`; a column of kind "any" becomes numbers if all of its values in the block are.

        Columns whose first rows hold codes with leading zeros (01067) stay texts.
        """
        if self._is_whole and not self._file.peek().strip():
            return
        codes = {i for row in self._first_rows for i, cell in enumerate(row) if is_padded(cell)}
        texts = {i: object for i, kind in kinds.items() if kind == "text" or i in codes}
        pandas = import_pandas()
        options: dict[str, Any] = {}
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"  # the default of later versions
        all_columns = len(kinds) == self._width
        file = _RowLengthCheck(
            self._file, self._width, self._dialect.delimiter, self.first_row, finds_long_rows=all_columns
        )
        try:
            reader = pandas.read_csv(
                file,
                sep=self._dialect.delimiter,
                decimal=self._dialect.decimal,
                header=None,
                names=range(self._width),
                usecols=None if all_columns else sorted(kinds),
                index_col=False,
                dtype=texts or None,  # with a dict, even an empty one, pandas works on every column by itself
                keep_default_na=False,
                na_values=list(MISSING),
                chunksize=self._chunk_rows,
                low_memory=False,
                engine="c",
                **options,
            )
            with reader:
                yield from (self._block(frame, kinds, file.empty_rows) for frame in reader if len(frame))
        except pandas.errors.ParserError as error:
            if "Calling read(" in str(error):  # pandas passes on errors of the file, but replaces Ctrl-C
                raise KeyboardInterrupt from None
            raise

    def _block(self, frame: Any, kinds: Mapping[int, Kind], empty_rows: list[int]) -> Any:
        numeric = [i for i, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind in "iuf"]
        # Converted at once: a call for each of 10,000 columns is slow.
        matrix = (frame if len(numeric) == frame.shape[1] else frame[numeric]).to_numpy(np.float64)
        columns = dict(zip(numeric, matrix.T, strict=True))
        columns |= {i: self._texts(frame[i], kinds[i]) for i in frame.columns.difference(numeric)}
        block = make_frame({i: columns[i] for i in kinds}, int(frame.index[0]) + self.first_row)
        if empty_rows:  # which pandas does not count
            block.index += np.searchsorted(empty_rows, frame.index, side="right")
        return block

    def _texts(self, column: Any, kind: Kind) -> NDArray[Any]:
        if column.dtype == bool:
            return np.asarray(column)
        cells: NDArray[Any] = column.to_numpy(dtype=object)
        if kind == "text" or self._dialect.decimal == ".":
            return cells
        texts = [with_decimal_point(cell) if isinstance(cell, str) else cell for cell in cells]
        try:
            return np.array(texts, dtype=np.float64)
        except (TypeError, ValueError):
            return np.array(texts, dtype=object)


class _RowLengthCheck:
    """The file that pandas reads. It refuses rows of another length, because pandas fills short rows up.

    Rows are no longer counted after a quote within a cell that does not begin with one, which is a mere character. If
    pandas finds long rows itself, which it does when it reads all columns, totals suffice to find short ones.

    ``empty_rows`` has the number of filled rows before every empty one.
    """

    def __init__(
        self, file: io.BufferedReader, width: int, delimiter: str, first_row: int, *, finds_long_rows: bool
    ) -> None:
        self._file, self._width, self._delimiter = file, width, delimiter.encode()
        self._finds_long_rows = finds_long_rows
        self._is_checked = width > 1 and len(self._delimiter) == 1
        self._rest, self._row = b"", first_row
        self._first_row, self.empty_rows = first_row, list[int]()

    def __iter__(self) -> Iterator[bytes]:  # pandas asks whether there is such a method
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        """Read and check some bytes."""
        block = self._file.read(size)
        if self._is_checked:
            self._check(self._rest + (block or b"\n"))
        return block

    def _check(self, text: bytes) -> None:
        """Check the complete rows at the beginning, and keep the rest."""
        values, delimiter = np.frombuffer(text, dtype=np.uint8), self._delimiter[0]
        is_end, is_delimiter = values == _NEWLINE, values == delimiter
        if b'"' in text:
            is_quote = values == _QUOTE
            is_quoted = np.bitwise_xor.accumulate(is_quote)
            openings = np.flatnonzero(is_quote & is_quoted)
            before = values[openings[openings > 0] - 1]
            self._is_checked = bool(np.isin(before, (delimiter, _NEWLINE, _QUOTE)).all()) and len(text) < _LONGEST_ROW
            if not self._is_checked:
                return
            is_end, is_delimiter = is_end & ~is_quoted, is_delimiter & ~is_quoted
        n_complete = len(text) - int(np.argmax(is_end[::-1])) if is_end.any() else 0
        is_end, is_delimiter, self._rest = is_end[:n_complete], is_delimiter[:n_complete], text[n_complete:]
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
                advice = "if it is cut short, complete it; if it is a remark and no row, delete it"
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
        raise TableError("its lines end in carriage returns alone; save it with the line ends of this system.")
    if not any(name.strip() for name in names):
        raise TableError("the file is empty; a header line with the names of the columns is needed.")
    if any("\0" in name for name in names) and b'"' not in sample:
        raise TableError("it is no text table (its header holds a zero byte); give the file the ending of its format.")
    if any("\ufffd" in name for name in names) and "\ufffd".encode(encoding) not in sample:
        raise TableError(f"the header is not {encoding} text; name its encoding (encoding=, --encoding).")


def _is_row_of_numbers(names: list[str]) -> bool:
    """Whether the first line is data; 0, 1, 2, ... are the names that other programs give to nameless columns."""
    if not all(is_number(name) for name in names):
        return False
    numbers = [float(name) for name in names]
    return numbers != [numbers[0] + i for i in range(len(numbers))]


def write_delimited(output: Output, tables: Iterator[Table], delimiter: str) -> None:
    """Write a text table, with enough digits to read the same numbers back."""
    from pyarrow import csv as arrow_csv

    from ldlearn.tables.arrow import arrow_table

    special = re.compile(f'["\\n\\r\\0{delimiter}]')
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="needed")
    for k, table in enumerate(tables):
        if k == 0:  # not by Arrow, which puts every name in quotes
            quoted = ['"' + name.replace('"', '""') + '"' if special.search(name) else name for name in table]
            output.file.write((delimiter.join(quoted) + "\n").encode())
        # A float32 has fewer digits than the float64 that it is read back as.
        columns = {n: v.astype(np.float64) if v.dtype == np.float32 else v for n, v in table.items()}
        arrow_csv.write_csv(arrow_table(columns), output.file, options)


def _format(delimiter: str) -> Format:
    source, write = partial(DelimitedSource, delimiter=delimiter), partial(write_delimited, delimiter=delimiter)
    return Format("a text table", source, write, is_text=True)


CSV, TSV = _format(","), _format("\t")
