"""What all tables that are read have in common: named columns, and rows that come in blocks."""

from __future__ import annotations

import dataclasses
import gzip
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import FileError, LDLearnError, TableError, format_list
from ldlearn.tables.atomic import naming_system_errors
from ldlearn.tables.columns import Columns, find_columns, marked_labels
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.limits import DEFAULT_MAX_BYTES, check_declared, check_total
from ldlearn.tables.sparse_table import SparseTable, rename_columns
from ldlearn.tables.values import import_pandas, to_numbers

PIPE = "-"
CHUNK_ROWS = 8192
CHUNK_BYTES = 128 << 20  # of wide rows; pandas spends most of a smaller chunk on its columns

Kind = Literal["text", "any"]  # "any": numbers where all cells are numbers
OnProgress = Callable[[int], None]
OnMessage = Callable[[str], None]


class Source:
    """A table that is read once, from the first row to the last.

    A format sets ``names`` and implements `blocks`; the rest follows. What only some formats know has defaults.

    Attributes
    ----------
    names : list of str
        The columns.
    labels : dict of str to list of int
        The columns that the file itself marks as labels, by what they hold: "D" (degrees), "Y" (0/1), "counts"
        (votes), or "auto" where the values decide.
    features : list of int or None
        The columns that the file itself marks as features.
    made_up : collection of int
        Columns that have no name in the file.
    texts : dict of str to str
        Name, source, licence, citation and description of a data set.
    first_row : int
        Number of the first row in messages. A spreadsheet shows the header as row 1, so the first row below it is row
        2; rows of formats without a header, such as arrays, count from 1.
    """

    names: list[str]
    first_row: int = 1
    labels: Mapping[str, list[int]] = {}
    features: list[int] | None = None
    made_up: frozenset[int] = frozenset()
    texts: Mapping[str, str] = {}

    def __init__(self, given: Input) -> None:
        self.given = given

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """The rows in one or more data frames with the columns in ``kinds``, named by their positions.

        The index has the row numbers of messages, which begin with ``first_row``; empty rows are counted and left out.
        Sparse matrices come as a `SparseTable`.
        """
        raise NotImplementedError

    def matrices(self, parts: Mapping[str, list[int]]) -> dict[str, Any]:
        """Groups of columns as matrices of numbers; features may come sparse."""
        matrices: dict[str, NDArray[Any]] = {}
        n_rows, wanted = 0, [i for positions in parts.values() for i in positions]
        for block in self._guarded(dict.fromkeys(wanted, "any")):
            check_total((n_rows + len(block)) * len(wanted) * 8, self.given.max_bytes)
            for field, positions in parts.items():
                piece = to_matrix(block[positions], [self.names[i] for i in positions])
                matrix = matrices.setdefault(field, np.empty((0, len(positions)), dtype=piece.dtype))
                matrix.resize((n_rows + len(piece), len(positions)), refcheck=False)  # moves pages, copies nothing
                matrix[n_rows:] = piece
            n_rows += len(block)
        return matrices or {field: np.empty((0, len(positions))) for field, positions in parts.items()}

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """The columns in ``kinds`` in tables of a limited number of rows: frames, or a `SparseTable` each."""
        for table in self._tables(kinds):
            for start in range(0, len(table), CHUNK_ROWS):
                yield table.iloc[start : start + CHUNK_ROWS]

    def read(self, kinds: Mapping[str, Kind], *, sparse: bool = False) -> Any:
        """All rows in one frame, or in a `SparseTable` where there is one and ``sparse`` allows it."""
        tables = list(self._tables(kinds))
        if len(tables) == 1:
            return tables[0].to_frame() if isinstance(tables[0], SparseTable) and not sparse else tables[0]
        pandas = import_pandas()
        return pandas.concat(tables) if tables else pandas.DataFrame(columns=list(kinds))

    def _tables(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        # Reversed, so that of two columns of one name the first is taken.
        place = {name: i for i, name in reversed(list(enumerate(self.names)))}
        for block in self._guarded({place[name]: kind for name, kind in kinds.items()}):
            yield rename_columns(block, self.names)

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; see `ldlearn.tables.columns`."""
        return find_columns(self.names, choice, option)

    def rest(self, taken: set[int]) -> list[int]:
        """The features where none were chosen: those marked in the file, or all columns that are not something else."""
        known = range(len(self.names)) if self.features is None else self.features
        other = {i for positions in self.labels.values() for i in positions} | taken
        return [i for i in known if i not in other]

    def _guarded(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """The blocks; only errors while a block is read are errors of the file."""
        blocks = self.blocks(kinds)
        while True:
            with reading(self.given):
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def _take_names(self, names: list[str]) -> None:
        """Take the names of a header, stripped where they stay distinct, and find those that mark labels."""
        stripped = [name.strip() for name in names]
        self.names = stripped if len(set(stripped)) == len(set(names)) else names
        if spaced := [name for name, taken in zip(names, self.names, strict=True) if name != taken]:
            self.given.log(f"spaces around the names of columns are left out: {format_list(spaced)}")
        self.labels = marked_labels(self.names)


class RowSource(Source):
    """A table of a format that gives one row after the other; it sets ``_rows`` and implements `_column`."""

    _rows: Iterator[Any]

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`."""
        first = 1
        while rows := list(islice(self._rows, CHUNK_ROWS)):
            yield make_frame({i: self._column(rows, i, kind, first) for i, kind in kinds.items()}, first)
            first += len(rows)

    def _column(self, rows: list[Any], position: int, kind: Kind, first: int) -> NDArray[Any]:
        """A column of some rows; ``first`` is the number of the first of them, for messages."""
        raise NotImplementedError


def as_column(cells: list[Any], kind: Kind) -> NDArray[Any]:
    """Cells of a row-wise format: floats if there are only numbers and nulls; all else stays as it is."""
    values = np.fromiter(cells, dtype=object, count=len(cells))
    if kind != "any" or not {type(cell) for cell in cells} <= {int, float, type(None)}:
        return values
    with suppress(OverflowError):  # an integer no float can hold
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return values


def make_frame(columns: Mapping[int, NDArray[Any]], first_row: int) -> Any:
    """A frame of numbers and Python objects, whatever the version of pandas prefers."""
    pandas = import_pandas()
    index = pandas.RangeIndex(first_row, first_row + len(next(iter(columns.values()), ())))
    numbers = [i for i, values in columns.items() if values.dtype == np.float64]
    # As one block: a frame of thousands of arrays is slow to make and slow to use.
    block = np.stack([columns[i] for i in numbers]).T if numbers else None
    frame = pandas.DataFrame(block, index=index, columns=numbers)
    if len(numbers) == len(columns):
        return frame
    types = {i: object if values.dtype.kind in "OU" else values.dtype for i, values in columns.items()}
    others = {i: pandas.Series(columns[i], index, types[i]) for i in columns if i not in frame.columns}
    return pandas.concat([frame, pandas.DataFrame(others)], axis=1)[list(columns)]


def to_matrix(frame: Any, names: Sequence[str]) -> NDArray[Any]:
    """The numbers of a frame whose columns have these names in messages; float32 if all of them are."""
    dtypes = list(frame.dtypes)
    if not all(dtype.kind in "biuf" for dtype in dtypes):
        columns = zip(frame.items(), names, strict=True)
        return np.column_stack([to_numbers(values, name) for (_, values), name in columns])
    return np.asarray(frame.to_numpy(dtype=np.result_type(np.float32, *dtypes)))


def warn(sentence: str) -> None:
    """Report a message as a warning."""
    warnings.warn(sentence, UserWarning, stacklevel=2)


@dataclass
class Input:
    """Where a table comes from: a file, or a pipe.

    Attributes
    ----------
    name : str
        The file, or "-" for standard input.
    on_progress : callable, optional
        Called with the number of bytes of every read.
    max_bytes : int
        The largest number of bytes that arrays may take.
    title : str
        What the format is called in messages.
    dialect : Dialect
        Dialect of a text table, as far as the user gives it.
    on_message : callable
        Called with messages about anything unusual in the file; by default they become warnings.
    stack : ExitStack
        What was opened.
    """

    name: str
    on_progress: OnProgress | None = None
    max_bytes: int = DEFAULT_MAX_BYTES
    title: str = "a table"
    dialect: Dialect = dataclasses.field(default_factory=Dialect)
    on_message: OnMessage = warn
    stack: ExitStack = dataclasses.field(default_factory=ExitStack)

    @property
    def where(self) -> str:
        """The name of the table in messages."""
        return "standard input" if self.name == PIPE else self.name

    @cached_property
    def file(self) -> CountedFile:
        """The bytes, from the first to the last."""
        if self.name == PIPE:
            return CountedFile(sys.stdin.buffer, self.on_progress)
        file = CountedFile(self.stack.enter_context(self.path.open("rb")), self.on_progress)
        return _unpacked(file, self.size) if is_gzip(self.name) else file

    @cached_property
    def path(self) -> Path:
        """A file that can be read from its end, which a pipe does not have: that is copied first."""
        if self.name != PIPE:
            path = Path(self.name)
            if path.is_dir() or not path.exists():
                problem = "it is a folder, not a table" if path.is_dir() else "there is no such file"
                raise FileError(f"{path}: {problem}.")
            return path
        spooled = self.stack.enter_context(tempfile.NamedTemporaryFile(prefix="ldlearn-"))  # noqa: SIM115
        shutil.copyfileobj(self.file, spooled)
        spooled.flush()
        return Path(spooled.name)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def log(self, message: str) -> None:
        """Report what differs from the default."""
        self.on_message(f"{self.where}: {message}.")


class CountedFile:
    """A binary file that counts what has been read; all that the readers need of a file, pipes included."""

    def __init__(self, file: IO[bytes], on_progress: OnProgress | None = None) -> None:
        self._file, self._on_progress = file, on_progress
        self._returned = b""

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, fewer only at the end; what is decoded comes in other amounts than asked for."""
        data = self._returned
        while (size < 0 or len(data) < size) and (more := self._file.read(size - len(data) if size >= 0 else -1)):
            data += self._count(more)
        end = len(data) if size < 0 else size
        self._returned = data[end:]
        return data[:end]

    def peek(self, size: int) -> bytes:
        """What the next reads will give, up to ``size`` bytes."""
        data = self.read(size)
        self._returned = data + self._returned
        return data

    def readline(self, size: int = -1) -> bytes:
        """Read a line of up to ``size`` bytes."""
        if self._returned:
            # What was given back comes first, and may hold less than a line.
            end = self._returned.find(b"\n") + 1
            line = self.read(end or len(self._returned))
            return line if end else line + self.readline(size)
        return self._count(self._file.readline(size))

    def _count(self, data: bytes) -> bytes:
        if self._on_progress is not None and data:
            self._on_progress(len(data))
        return data


def _unpacked(file: CountedFile, stored: int) -> CountedFile:
    """The content of a gzip file, as long as it does not grow beyond all measure."""
    seen = 0

    def count(amount: int) -> None:
        nonlocal seen
        seen += amount
        check_declared(seen, stored)

    return CountedFile(gzip.GzipFile(fileobj=file), count)  # type: ignore[call-overload]


def is_gzip(name: str) -> bool:
    """Whether a file is packed, by its name."""
    return name.lower().endswith(".gz")


@contextmanager
def reading(given: Input) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one sentence that names the file.

    Parsers of foreign formats raise many kinds of exceptions on broken files; the caller needs one.
    """
    try:
        with naming_system_errors(given.where, "read"):
            yield
    except TableError as error:
        raise error.within(given.where) from None
    # These contain their remedy; a missing package is no fault of the file.
    except (LDLearnError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, UnicodeError):
            problem = f"its text is not {given.dialect.encoding or 'UTF-8'}; name its encoding (encoding=, --encoding)."
            raise TableError(problem, where=given.where) from None
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise TableError(f"it cannot be read as {given.title}: {reason}", where=given.where) from error
