"""CSV and TSV, in and out, in blocks of bytes."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.errors import TableError, import_optional
from ldlearn.io.columns import is_number, marked_labels, tidy_names
from ldlearn.io.formats import Format
from ldlearn.io.sink import Output, Sink, Table, columns_of
from ldlearn.io.source import CHUNK_BYTES, CHUNK_ROWS, CountedFile, Input, Kind, Source
from ldlearn.io.text_style import COMMA_NUMBER, SAMPLE_BYTES, find_style
from ldlearn.io.values import MISSING

# The parser reads up to 32 blocks ahead, so their size decides about the memory.
_SMALLEST_BLOCK, _USUAL_BLOCK, _LARGEST_BLOCK = 1 << 20, 16 << 20, 64 << 20
_BLOCK_HEADERS = 40  # rows as long as this many header lines still fit into a block
_WIDE_HEADERS = 300  # every column of every block has a price, so that blocks of wide tables are large
_LONGEST_HEADER = 16 << 20
_PLAIN_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: (?:invalid value '(.*)')?", re.DOTALL
)

_Cells = list[list[Any]]  # of every column its parts, arrays of texts


class DelimitedSource(Source):
    """A text table whose first line names the columns, unless it is a row of numbers."""

    def __init__(self, given: Input, delimiter: str) -> None:
        super().__init__(given)
        self._arrow = import_optional("pyarrow", "io", "Tables")
        sample = given.file.peek(SAMPLE_BYTES)
        self._style, said = find_style(sample, given.style, delimiter)
        if said:
            given.announce(f"{', and '.join(said)}")
        self._file = _as_utf8(given.file, self._style.encoding or "utf-8")
        header = _read_header(self._file)
        self.names = _parse_header(header, self._style.delimiter or delimiter)
        if _is_row_of_numbers(self.names):
            self._file.give_back(header)
            self.names = [f"column{i}" for i in range(len(self.names))]
        given.announce_names(self.names)
        self.names = tidy_names(self.names)
        self.labels = marked_labels(self.names)
        wanted = max(min(_WIDE_HEADERS * len(header), _USUAL_BLOCK), _BLOCK_HEADERS * len(header))
        self._block = min(max(wanted, _SMALLEST_BLOCK), _LARGEST_BLOCK)

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[list[NDArray[Any]]]:
        """See `Source.blocks`; columns of kind "any" become numbers if all of their values in the block are."""
        for cells in self._gathered(self._batches(kinds)):
            numbers = self._numbers(cells, kinds)
            yield [
                self._texts(column, kind) if found is None else found
                for column, kind, found in zip(cells, kinds.values(), numbers, strict=True)
            ]

    def _read_columns(self, kinds: Mapping[int, Kind]) -> list[NDArray[Any]]:
        """A column of kind "any" becomes numbers if all of its values are."""
        pieces = [(cells, self._numbers(cells, kinds)) for cells in self._gathered(self._batches(kinds))]
        if not pieces:
            return [np.empty(0) for _ in kinds]
        found: list[NDArray[Any]] = []
        for k, kind in enumerate(kinds.values()):
            numbers = [column for _, columns in pieces if (column := columns[k]) is not None]
            texts = len(numbers) < len(pieces)  # in one piece at least
            found.append(np.concatenate([self._texts(cells[k], kind) for cells, _ in pieces] if texts else numbers))
        return found

    def _numbers(self, cells: _Cells, kinds: Mapping[int, Kind]) -> list[NDArray[np.float64] | None]:
        """The columns of kind "any" that hold nothing but numbers, None for the others.

        All columns are converted at one stroke, because a call for every column would take most of the time of wide
        tables.
        """
        wanted = [k for k, kind in enumerate(kinds.values()) if kind == "any"]
        found: list[NDArray[np.float64] | None] = [None] * len(kinds)
        if not wanted:
            return found
        values, known = self._parse_numbers(self._arrow.concat_arrays([part for k in wanted for part in cells[k]]))
        are_known = np.logical_and.reduce(known.reshape(len(wanted), -1), axis=1).tolist()
        for k, numbers, all_known in zip(wanted, values.reshape(len(wanted), -1), are_known, strict=True):
            found[k] = numbers if all_known else None
        return found

    def _parse_numbers(self, cells: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Cells as numbers, NaN where missing, and which of them are either."""
        from pyarrow import compute

        arrow = self._arrow
        if self._style.decimal == ",":
            cells = self._with_dots(cells)
        try:
            values = compute.cast(cells, arrow.float64()).to_numpy(
                zero_copy_only=False
            )  # the usual case, and the fast one
            return values, np.ones(len(values), dtype=bool)
        except arrow.ArrowInvalid:
            pass
        cells = compute.utf8_trim_whitespace(cells)
        missing = compute.is_in(cells, value_set=arrow.array(MISSING))
        plain = compute.match_substring_regex(cells, _PLAIN_NUMBER)
        texts = compute.if_else(plain, cells, arrow.scalar(None, arrow.string()))
        values = compute.cast(texts, arrow.float64()).to_numpy(zero_copy_only=False)
        return values, compute.or_(missing, plain).to_numpy(zero_copy_only=False)

    def _texts(self, parts: list[Any], kind: Kind) -> NDArray[Any]:
        column = self._arrow.chunked_array(parts)
        commas = kind == "any" and self._style.decimal == ","
        texts: NDArray[Any] = (self._with_dots(column) if commas else column).to_numpy()
        return texts

    def _with_dots(self, column: Any) -> Any:
        """Numbers within a column of texts, written with a decimal point and without marks between thousands."""
        from pyarrow import compute

        bare = compute.replace_substring(compute.replace_substring(column, ".", ""), ",", ".")
        return compute.if_else(compute.match_substring_regex(column, COMMA_NUMBER), bare, column)

    def _batches(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # names may occur twice, so columns go by their position here
        types = {str(i): pa.float64() if kind == "number" else pa.string() for i, kind in kinds.items()}
        positions = [str(i) for i in range(len(self.names))]
        try:
            # One thread: only then do errors carry the number of the row.
            reader = arrow_csv.open_csv(
                pa.PythonFile(self._file, mode="r"),
                read_options=arrow_csv.ReadOptions(column_names=positions, block_size=self._block, use_threads=False),
                parse_options=arrow_csv.ParseOptions(delimiter=self._style.delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=list(MISSING),
                    decimal_point=self._style.decimal,
                ),
            )
            yield from (batch for batch in reader if batch.num_rows)
        except pa.ArrowInvalid as error:
            if "Empty CSV file" not in str(error):
                raise self._explain(str(error)) from None

    def _gathered(self, batches: Iterator[Any]) -> Iterator[_Cells]:
        """The columns of some thousand rows, because every column of every block has a price."""
        held: list[list[Any]] = []
        rows = 0
        for batch in batches:
            held.append(batch.columns)
            rows += batch.num_rows
            if rows >= CHUNK_ROWS or len(held) * self._block >= CHUNK_BYTES:
                yield [list(parts) for parts in zip(*held, strict=True)]
                held, rows = [], 0
        if held:
            yield [list(parts) for parts in zip(*held, strict=True)]

    def _explain(self, error: str) -> TableError:
        """Put what the parser says into our words."""
        ragged = _RAGGED.search(error)
        if ragged is not None:
            counts = f"it has {ragged[3]} values for {ragged[2]} columns"
            return TableError(f"{counts}; put values that hold the separator in quotes.", row=int(ragged[1]))
        cell = _CELL.search(error)
        if cell is None:
            if "straddl" in error:
                return TableError(f"a row is longer than {self._block >> 20} MB; a quote may be left open.")
            return TableError(f"it cannot be read as a text table: {' '.join(error.split())[:160]}")
        row, column = int(cell[2]), self.names[int(cell[1])]
        if cell[3] is None:
            return TableError("the text is not UTF-8; save the file so, or tell its encoding.", row=row, column=column)
        value = cell[3] if len(cell[3]) <= 40 else cell[3][:37] + "..."
        advice = "correct it, or leave the cell empty if the value is unknown."
        return TableError(f"{value!r} is not a number; {advice}", row=row, column=column)


def _as_utf8(file: CountedFile, encoding: str) -> CountedFile:
    if codecs.lookup(encoding.removesuffix("-sig")).name == "utf-8":
        return file
    return CountedFile(codecs.EncodedFile(file, "utf-8", encoding))  # type: ignore[arg-type]


def _read_header(file: CountedFile) -> bytes:
    line = b""
    while not line or line.count(b'"') % 2:
        more = file.readline(_LONGEST_HEADER)
        line += more
        if not more or len(line) > _LONGEST_HEADER:
            break
    return line


def _parse_header(line: bytes, delimiter: str) -> list[str]:
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise TableError("the header is not UTF-8 text; save the file as UTF-8, or tell its encoding.") from None
    if "\0" in text and '"' not in text:
        raise TableError("it is no text table (its header holds a zero byte).")
    names = next(csv.reader([text], delimiter=delimiter), []) if text.strip() else []
    if not names:
        raise TableError("the file is empty; a header line with the names of the columns is needed.")
    return names


def _is_row_of_numbers(names: list[str]) -> bool:
    """Whether the first line is data; 0, 1, 2, ... are the names that other programs give to nameless columns."""
    if not all(is_number(name) for name in names):
        return False
    numbers = [float(name) for name in names]
    return numbers != [numbers[0] + i for i in range(len(numbers))]


class DelimitedSink(Sink):
    """Writes a text table, with enough digits to read the same numbers back."""

    def __init__(self, output: Output, delimiter: str) -> None:
        super().__init__(output)
        self._delimiter = delimiter
        self._header_due = True

    def write(self, table: Table) -> None:
        """Append rows."""
        from pyarrow import csv as arrow_csv

        from ldlearn.io.arrow import arrow_table

        columns = columns_of(table)
        if self._header_due:
            self.output.file.write((self._delimiter.join(map(self._quoted, columns)) + "\n").encode())
            self._header_due = False
        # a single has fewer digits than the double that it is read back as
        columns = {n: v.astype(np.float64) if v.dtype == np.float32 else v for n, v in columns.items()}
        options = arrow_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style="needed")
        arrow_csv.write_csv(arrow_table(columns), self.output.file, options)

    def _quoted(self, name: str) -> str:
        if any(mark in name for mark in (self._delimiter, '"', "\n", "\r", "\0")):
            return '"' + name.replace('"', '""') + '"'
        return name


def _format(delimiter: str) -> Format:
    source, sink = partial(DelimitedSource, delimiter=delimiter), partial(DelimitedSink, delimiter=delimiter)
    return Format("a text table", source, sink, is_text=True, is_stream=True)


CSV, TSV = _format(","), _format("\t")
