"""CSV and TSV, in and out, in blocks of bytes."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError, format_list, import_optional
from ldlearn.tables.columns import is_number
from ldlearn.tables.formats import Format
from ldlearn.tables.sink import Output, Sink, Table, columns_of
from ldlearn.tables.source import CHUNK_BYTES, CHUNK_ROWS, PIPE, CountedFile, Input, Kind, Source
from ldlearn.tables.text_style import (
    BETWEEN_THOUSANDS,
    COMMA_NUMBER,
    POINT_NUMBER,
    SAMPLE_BYTES,
    are_numbers,
    cells_by_column,
    find_style,
    have_decimal_commas,
    have_decimal_points,
    have_doubtful_points,
)
from ldlearn.tables.values import LOOKS_LIKE_A_POINT, MISSING

_SMALLEST_BLOCK, _USUAL_BLOCK, _LARGEST_BLOCK = 1 << 20, 32 << 20, 64 << 20
_BLOCK_HEADERS = 40  # rows as long as this many header lines still fit into a block
_WIDE_HEADERS = 600  # every column of every block has a price, so that blocks of wide tables are large
_LONGEST_HEADER = 16 << 20
_OTHER_FILES = {
    b"PK\x03\x04": "a zip file, such as an Excel workbook (.xlsx)",
    b"\x1f\x8b": "a packed file (.csv.gz)",
    b"PAR1": "Parquet (.parquet)",
    b"ARROW1": "Feather (.feather)",
}
_FIRST_CELLS = 64
_PADDED = [f"0{digit}" for digit in range(10)]
_PLAIN_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_RAGGED = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: (?:invalid value '(.*)')?", re.DOTALL
)


class _Part(NamedTuple):
    """Some rows as the parser gives them; columns go by their positions in the file."""

    parsed: list[int]  # columns that are numbers already
    numbers: NDArray[np.float64]  # of these
    texts: dict[int, Any]  # the other columns, Arrow's arrays


_Piece = list[_Part]


class _NotANumber(Exception):
    """A column of numbers, as its first rows have it, holds something else further down."""


class DelimitedSource(Source):
    """A text table whose first line names the columns, unless it is a row of numbers; titles above it are passed over.

    Columns whose first rows hold nothing but numbers are parsed as numbers at once, which is twice as fast as reading
    texts and converting them. Where a later cell is none, reading begins again with all columns as texts.
    """

    def __init__(self, given: Input, delimiter: str) -> None:
        super().__init__(given)
        self._arrow = import_optional("pyarrow", "tables", "Tables")
        sample = given.file.peek(SAMPLE_BYTES)
        for beginning, other in _OTHER_FILES.items():
            if sample.startswith(beginning):
                raise TableError(f"it is no text table but {other}; give it the ending that says so.")
        self._style = find_style(sample, given.style, delimiter)
        if self._style.said:
            given.announce(", and ".join(self._style.said))
        self._file = self._below_titles(given.file)
        header = _read_header(self._file)
        names = _parse_header(header, self._style.delimiter)
        self._has_header = not _is_row_of_numbers(names)
        if not self._has_header:
            self._file.give_back(header)
            names = [f"column{i}" for i in range(len(names))]
        self._take_names(names)
        # As many as the parser sees in a line, which stays so when empty ones lose their names.
        self._width = len(names)
        rows = self._style.rows[1:]
        self._drop_empty_end(rows)
        cells = cells_by_column(rows, self._width)
        self._numeric = {i for i, column in enumerate(cells) if are_numbers(column, self._style.decimal)}
        self._with_commas = self._find_commas(cells)
        wanted = max(min(_WIDE_HEADERS * len(header), _USUAL_BLOCK), _BLOCK_HEADERS * len(header))
        self._block = min(max(wanted, _SMALLEST_BLOCK), _LARGEST_BLOCK)

    def _reopened(self) -> CountedFile:
        """The file from its first row on, once more."""
        file = self._below_titles(self.given.reopened())
        if self._has_header:
            _read_header(file)
        return file

    def _below_titles(self, file: CountedFile) -> CountedFile:
        """The file as UTF-8, from its header on."""
        file = _as_utf8(file, self._style.encoding)
        for _ in range(self._style.lines_above):
            file.readline(_LONGEST_HEADER)
        return file

    def _drop_empty_end(self, rows: list[list[str]]) -> None:
        """Lines may end in a separator: that makes no column."""
        if {len(row) for row in rows} == {self._width + 1} and not any(row[-1].strip() for row in rows):
            self._width += 1
        while rows and not self.names[-1] and not any("".join(row[len(self.names) - 1 :]).strip() for row in rows):
            self.names.pop()

    def _find_commas(self, cells: list[list[str]]) -> Collection[int]:
        """The columns whose numbers have decimal commas; where they do not agree with the others, that is said."""
        others = [i for i in range(len(self.names)) if i not in self._numeric]
        found = [i for i in others if have_decimal_commas(cells[i])]
        if self._style.decimal == ",":
            self._announce_other_mark("points, not commas", [i for i in others if have_decimal_points(cells[i])])
            return range(self._width)
        # The user says that it is a point.
        if self.given.style.decimal is not None:
            self._announce_other_mark("commas, not points", found)
            return ()
        if doubtful := [self.names[i] for i in sorted(self._numeric) if have_doubtful_points(cells[i])]:
            meant = "read as decimal points; if they stand between thousands, the decimal mark is a comma (--decimal ,)"
            self.given.announce(f"points in {format_list(doubtful)} are {meant}")
        if found:
            self.given.announce(
                f"decimal commas in {format_list([self.names[i] for i in found])}, not in other columns"
            )
        return set(found)

    def _announce_other_mark(self, marks: str, columns: list[int]) -> None:
        if columns:
            names, advice = (
                format_list([self.names[i] for i in columns]),
                "leave the mark out, and it is found for each column",
            )
            self.given.announce(f"decimal {marks} as was said, in {names}; {advice}")

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[list[NDArray[Any]]]:
        """See `Source.blocks`; columns of kind "any" become numbers if all of their values in the block are."""
        done = 0
        try:
            for piece in self._pieces(self._file, kinds, self._quick(kinds)):
                yield self._columns(piece, kinds)
                done += _count_rows(piece)
        except _NotANumber:
            for piece in self._pieces(self._reopened(), kinds, skip=done):
                yield self._columns(piece, kinds)

    def _read_columns(self, kinds: Mapping[int, Kind]) -> list[NDArray[Any]]:
        """A column of kind "any" becomes numbers if all of its values are."""
        try:
            pieces = list(self._pieces(self._file, kinds, self._quick(kinds)))
        except _NotANumber:
            pieces = list(self._pieces(self._reopened(), kinds))
        return self._columns(list(chain.from_iterable(pieces)), kinds) if pieces else [np.empty(0) for _ in kinds]

    def _quick(self, kinds: Mapping[int, Kind]) -> set[int]:
        """The columns that are parsed as numbers, as far as their first rows tell; a pipe cannot be read again."""
        if self.given.name == PIPE:
            return set()
        return {i for i, kind in kinds.items() if kind == "any" and i in self._numeric}

    def _columns(self, piece: _Piece, kinds: Mapping[int, Kind]) -> list[NDArray[Any]]:
        """The columns of a piece, those of numbers at one stroke: a call for each would take most of the time."""
        found = dict(zip(piece[0].parsed, _by_column([part.numbers for part in piece]), strict=True))
        found |= self._numbers(piece, [i for i, kind in kinds.items() if kind == "any" and i not in found])
        return [found[i] if i in found else self._texts(piece, i) for i in kinds]

    def _numbers(self, piece: _Piece, wanted: list[int]) -> dict[int, NDArray[np.float64]]:
        """Those among the columns of texts that hold nothing but numbers; the first cells of most others tell."""
        if wanted:
            _, likely = self._parse_columns([[piece[0].texts[i].slice(0, _FIRST_CELLS)] for i in wanted])
            wanted = list(compress(wanted, likely))
        if not wanted:
            return {}
        values, known = self._parse_columns([[part.texts[i] for part in piece] for i in wanted])
        return {i: values[row] for row, i in enumerate(wanted) if known[row]}

    def _parse_columns(self, columns: list[list[Any]]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Columns in parts as rows of numbers, and which of them hold nothing else; 01067 may be a code."""
        from pyarrow import compute

        cells = self._arrow.concat_arrays([part for column in columns for part in column])
        values, known = self._parse_numbers(cells)
        codes = compute.is_in(compute.utf8_slice_codeunits(cells, 0, 2), value_set=self._arrow.array(_PADDED))
        known &= ~codes.to_numpy(zero_copy_only=False)
        return values.reshape(len(columns), -1), np.logical_and.reduce(known.reshape(len(columns), -1), axis=1)

    def _parse_numbers(self, cells: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Cells as numbers, NaN where missing, and which of them are either."""
        from pyarrow import compute

        arrow = self._arrow
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

    def _texts(self, piece: _Piece, position: int) -> NDArray[Any]:
        texts: NDArray[Any] = self._arrow.chunked_array([part.texts[position] for part in piece]).to_numpy()
        return texts

    def _pieces(
        self, file: CountedFile, kinds: Mapping[int, Kind], quick: Collection[int] = (), skip: int = 0
    ) -> Iterator[_Piece]:
        """Some thousand rows each, because every column of every piece has a price; some rows may be skipped."""
        parsed = [i for i, kind in kinds.items() if kind == "number" or i in quick]
        held: _Piece = []
        for batch in self._batches(file, list(kinds), {*parsed}, quick):
            here = batch.slice(min(skip, batch.num_rows))
            skip -= batch.num_rows - here.num_rows
            held += [self._part(here, kinds, parsed)] if here.num_rows else []
            if _count_rows(held) >= CHUNK_ROWS or len(held) * self._block >= CHUNK_BYTES:
                yield held
                held = []
        if held:
            yield held

    def _part(self, batch: Any, kinds: Mapping[int, Kind], parsed: list[int]) -> _Part:
        numbers = np.empty((batch.num_rows, 0))
        if parsed:
            columns = batch.select([str(i) for i in parsed])
            numbers = columns.to_tensor(null_to_nan=True, row_major=False).to_numpy()
        texts = {i: batch.column(str(i)) for i in kinds.keys() - parsed}
        commas = [i for i in texts if kinds[i] == "any" and i in self._with_commas]
        return _Part(parsed, numbers, texts | {i: _with_dots(texts[i]) for i in commas})

    def _batches(
        self, file: CountedFile, wanted: list[int], numbers: Collection[int], quick: Collection[int]
    ) -> Iterator[Any]:
        """The rows, block by block.

        Arrow's own reader of streams is not used: its threads read ahead. One that runs Python code, or lets go of a
        Python object, when the interpreter ends brings the process down, or never returns. So Python reads the bytes,
        and Arrow gets a copy of its own.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        options, above = self._parser_options(wanted, numbers), 0
        for rows in _blocks_of_rows(file, self._block, self._style.delimiter):
            copy = pa.allocate_buffer(len(rows))
            memoryview(copy).cast("B")[:] = rows
            try:
                table = arrow_csv.read_csv(pa.BufferReader(copy), *options)
            except pa.ArrowInvalid as error:
                cell = _CELL.search(str(error))
                if cell is not None and int(cell[1]) in quick:
                    raise _NotANumber from None
                raise self._explain(str(error), above) from None
            above += table.num_rows
            yield from (batch for batch in table.to_batches() if batch.num_rows)

    def _parser_options(self, wanted: list[int], numbers: Collection[int]) -> tuple[Any, Any, Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # names may occur twice, so columns go by their position here
        types = {str(i): pa.float64() if i in numbers else pa.string() for i in wanted}
        positions = [str(i) for i in range(self._width)]
        return (
            # One thread: only then do errors carry the number of the row.
            arrow_csv.ReadOptions(column_names=positions, block_size=2 * self._block, use_threads=False),
            arrow_csv.ParseOptions(delimiter=self._style.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=list(MISSING),
                decimal_point=self._style.decimal,
            ),
        )

    def _explain(self, error: str, above: int) -> TableError:
        """Put what the parser says into our words; it counts the rows of its block, which has some above it."""
        ragged = _RAGGED.search(error)
        if ragged is not None:
            counts = f"it has {ragged[3]} values for {ragged[2]} columns"
            advice = "put values that hold the separator in quotes"
            if int(ragged[3]) < int(ragged[2]):
                advice = "if it is cut short, complete it; if it is a note and no row, delete it"
            return TableError(f"{counts}; {advice}.", row=above + int(ragged[1]))
        cell = _CELL.search(error)
        if cell is None:
            return TableError(f"it cannot be read as a text table: {' '.join(error.split())[:160]}")
        row, column = above + int(cell[2]), self.names[int(cell[1])]
        if cell[3] is None:
            return TableError("the text is not UTF-8; save the file so, or tell its encoding.", row=row, column=column)
        value = cell[3] if len(cell[3]) <= 40 else cell[3][:37] + "..."
        advice = "correct it, or leave the cell empty if the value is unknown."
        return TableError(f"{value!r} is not a number; {advice}", row=row, column=column)


def _blocks_of_rows(file: CountedFile, size: int, delimiter: str) -> Iterator[bytes]:
    """The rows of a file in blocks of about so many bytes, none of which ends within a row."""
    rest = b""
    while more := file.read(size):
        block = rest + more
        # A file gives fewer bytes than asked for at its end only.
        end = _end_of_rows(block, delimiter) if len(more) == size else len(block)
        if rest and not end:
            raise TableError(f"a row is longer than {size >> 20} MB; a quote may be left open.")
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest


def _end_of_rows(block: bytes, delimiter: str) -> int:
    """Where the last complete row ends: at a line break, but at none within quotes."""
    if b'"' not in block:
        return max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
    # As for the parser, a quote opens where a value begins, and nowhere else; what follows the closing one belongs to
    # the value. All quantifiers are possessive: a row that is not complete is given up at once.
    ends = rb"\r\n%b" % re.escape(delimiter).encode()
    quoted = rb'(?<![^%b])"[^"]*+(?:""[^"]*+)*+"' % ends
    stray = rb'(?<=[^%b])"' % ends
    complete = re.match(rb'(?:[^"\r\n]*+(?:(?:%b|%b)[^"\r\n]*+)*+[\r\n])*+' % (quoted, stray), block)
    return complete.end() if complete is not None else 0


def _with_dots(column: Any) -> Any:
    """Numbers within a column of texts, written with a decimal point and without marks between thousands.

    A cell with a point that is not between thousands is no number in such a column: it gets a sign that only looks
    like a point, so that no reader takes 0.64 for one beside 0,64.
    """
    from pyarrow import compute

    bare = compute.replace_substring_regex(column, BETWEEN_THOUSANDS, "")
    bare = compute.replace_substring(bare, ",", ".")
    odd = compute.match_substring_regex(column, POINT_NUMBER)
    other = compute.if_else(odd, compute.replace_substring(column, ".", LOOKS_LIKE_A_POINT), column)
    return compute.if_else(compute.match_substring_regex(column, COMMA_NUMBER), bare, other)


def _count_rows(piece: _Piece) -> int:
    return sum(len(part.numbers) for part in piece)


def _by_column(matrices: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Matrices below each other, transposed: a frame has column after column."""
    columns = np.empty((matrices[0].shape[1], sum(map(len, matrices))))  # else numpy would keep the order of the rows
    return np.concatenate([matrix.T for matrix in matrices], axis=1, out=columns)


def _as_utf8(file: CountedFile, encoding: str) -> CountedFile:
    if codecs.lookup(encoding.removesuffix("-sig")).name == "utf-8":
        return file
    return CountedFile(codecs.EncodedFile(file, "utf-8", encoding))  # type: ignore[arg-type]


def _read_header(file: CountedFile) -> bytes:
    line = b""
    # A name in quotes may hold line breaks: an open quote goes on in the next line.
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
    if "\r" in text and '"' not in text:
        raise TableError("its lines end in carriage returns alone; save it with the line ends of this system.")
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

        from ldlearn.tables.arrow import arrow_table

        columns = columns_of(table)
        if self._header_due:
            # Not by Arrow, which puts every name in quotes.
            self.output.file.write((self._delimiter.join(map(self._quoted, columns)) + "\n").encode())
            self._header_due = False
        # a single has fewer digits than the double that it is read back as
        columns = {n: v.astype(np.float64) if v.dtype == np.float32 else v for n, v in columns.items()}
        options = arrow_csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style="needed")
        arrow_csv.write_csv(arrow_table(columns), self.output.file, options)

    def _quoted(self, name: str) -> str:
        # The zero byte, too: outside quotes the reader takes it for a sign that this is no text.
        if any(mark in name for mark in (self._delimiter, '"', "\n", "\r", "\0")):
            return '"' + name.replace('"', '""') + '"'
        return name


def _format(delimiter: str) -> Format:
    source, sink = partial(DelimitedSource, delimiter=delimiter), partial(DelimitedSink, delimiter=delimiter)
    return Format("a text table", source, sink, is_text=True, is_stream=True)


CSV, TSV = _format(","), _format("\t")
