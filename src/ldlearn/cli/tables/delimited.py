"""CSV and TSV, in and out, in blocks of bytes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from ldlearn.cli.tables.arrow import arrow_table
from ldlearn.cli.tables.source import CHUNK_BYTES, CHUNK_ROWS, CountedFile, Kind, Source, broken_as_table_error
from ldlearn.io.values import MISSING, import_pandas
from ldlearn.models import TableError
from ldlearn.models.table_model import check_distinct

# The parser reads up to 32 blocks ahead, so their size decides about the memory.
_SMALLEST_BLOCK, _LARGEST_BLOCK = 1 << 20, 64 << 20
_BLOCK_HEADERS = 40  # rows as long as this many header lines still fit into a block
_LONGEST_HEADER = 16 << 20
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: (?:invalid value '(.*)')?", re.DOTALL
)


class DelimitedSource(Source):
    """A text table with a header line."""

    def __init__(self, file: CountedFile, delimiter: str) -> None:
        self._file, self._delimiter = file, delimiter
        with broken_as_table_error("a text table"):
            header = _read_header(file)
            self.names = _parse_header(header, delimiter)
        self._block = min(max(_BLOCK_HEADERS * len(header), _SMALLEST_BLOCK), _LARGEST_BLOCK)

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """See `Source.chunks`."""
        pandas = import_pandas()
        row = 1
        for table in _gathered(self._batches(kinds)):
            frame = _to_pandas(table)
            frame.index = pandas.RangeIndex(row, row + len(frame))
            row += len(frame)
            yield frame

    def read(self, kinds: Mapping[str, Kind]) -> Any:
        """All rows in one frame; columns of kind "any" become numbers if all of their values are."""
        import pyarrow as pa

        pandas = import_pandas()
        batches = list(self._batches(kinds))
        if not batches:
            return super().read({})
        table = pa.Table.from_batches(batches)
        columns = [_numbers_if_possible(table[n]) if kind == "any" else table[n] for n, kind in kinds.items()]
        frame = _to_pandas(pa.table(columns, names=list(kinds)))
        frame.index = pandas.RangeIndex(1, 1 + len(frame))
        return frame

    def _batches(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = {name: pa.float64() if kind == "number" else pa.string() for name, kind in kinds.items()}
        try:
            # One thread: only then do errors carry the number of the row.
            reader = arrow_csv.open_csv(
                pa.PythonFile(self._file, mode="r"),
                read_options=arrow_csv.ReadOptions(column_names=self.names, block_size=self._block, use_threads=False),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(kinds),
                    null_values=list(MISSING),
                ),
            )
            for batch in reader:
                if batch.num_rows:
                    yield batch
        except pa.ArrowInvalid as error:
            if "Empty CSV file" in str(error):
                return
            raise self._explain(str(error)) from None

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
            return TableError("the text is not UTF-8; save the file as UTF-8.", row=row, column=column)
        value = cell[3] if len(cell[3]) <= 40 else cell[3][:37] + "..."
        advice = "correct it, or leave the cell empty if the value is unknown."
        return TableError(f"{value!r} is not a number; {advice}", row=row, column=column)


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
        raise TableError(f"the header is not UTF-8 text; save the file as UTF-8 {_name(delimiter)}.") from None
    if "\0" in text:
        raise TableError("it is no text table (its header holds a zero byte).")
    names = next(csv.reader([text], delimiter=delimiter), []) if text.strip() else []
    if not names:
        raise TableError("the file is empty; a header line with the names of the columns is needed.")
    _check_names(names, delimiter)
    return names


def _check_names(names: list[str], delimiter: str) -> None:
    other = next((mark for mark in (";", "\t", ",", "|") if mark != delimiter and mark in names[0]), None)
    if len(names) == 1 and other is not None:
        marks = f"{other!r}, not by {delimiter!r}"
        raise TableError(f"the header is separated by {marks}; save the file as {_name(delimiter)}.")
    if "" in names:
        raise TableError(f"column {names.index('') + 1} has no name in the header; give it one.")
    check_distinct(names)


def _name(delimiter: str) -> str:
    return "CSV (commas)" if delimiter == "," else "TSV (tabs)"


def _gathered(batches: Iterator[Any]) -> Iterator[Any]:
    """Tables of some thousand rows, because every column of every table has a price."""
    import pyarrow as pa

    held: list[Any] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _numbers_if_possible(column: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    words = compute.is_in(column, value_set=pa.array(MISSING))
    try:
        known = compute.if_else(words, pa.scalar(None, pa.string()), compute.utf8_trim_whitespace(column))
        return compute.cast(known, pa.float64())
    except pa.ArrowInvalid:
        return column


def _to_pandas(table: Any) -> Any:
    """A frame of floats and Python texts, whatever the version of pandas prefers."""
    pandas = import_pandas()
    columns = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        values = column.to_numpy()
        columns[name] = values if values.dtype.kind == "f" else pandas.Series(values, dtype=object)
    return pandas.DataFrame(columns)


class DelimitedSink:
    """Writes frames as a text table."""

    def __init__(self, file: IO[bytes], delimiter: str) -> None:
        self._file, self._delimiter = file, delimiter
        self._header_due = True

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""
        from pyarrow import csv as arrow_csv

        if self._header_due:
            line = ",".join if self._delimiter == "," else "\t".join
            self._file.write((line(_quoted(str(n), self._delimiter) for n in frame.columns) + "\n").encode())
            self._header_due = False
        options = arrow_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style="needed")
        arrow_csv.write_csv(arrow_table(frame), self._file, options)

    def close(self) -> None:
        """Nothing is left to write."""


def _quoted(name: str, delimiter: str) -> str:
    if any(mark in name for mark in (delimiter, '"', "\n", "\r")):
        return '"' + name.replace('"', '""') + '"'
    return name
