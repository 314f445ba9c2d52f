"""What all tables that are read have in common: named columns, and rows that come in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import check_distinct, find_columns, find_marked_labels
from ldlearn.tables.files import NO_LIMIT, STREAMED, Budget, OpenInput, is_gzip
from ldlearn.tables.options import Columns
from ldlearn.tables.values import import_pandas, to_numbers

CHUNK_ROWS = 8192
_CHUNK_BYTES = 128 << 20  # of wide rows; pandas spends most of a smaller chunk on its columns
ROW_BYTES = 16  # beside its cells: its number, and its degrees
# Not of memory: each takes about 3 ms of work, so that 4,000 take 12 s.
TEXT_COLUMN_BYTES = 32 << 10

# How columns are read, by their positions or names: "text" or "any", which is as numbers where all
# cells are numbers.
Kinds = Mapping[Any, str]


class Source:
    """A table that is read once, from the first row to the last.

    A format sets ``names`` and implements `blocks`; the rest follows. What only some formats know
    has defaults.

    Attributes
    ----------
    names : list of str
        The columns.
    labels : dict of str to list of int
        The columns that the file itself marks as labels, by what they hold: "D" (degrees), "Y"
        (0/1), "counts" (votes), or "auto" where the values decide.
    features : list of int or None
        The columns that the file itself marks as features.
    unnamed : collection of int
        Columns that have no name in the file.
    decimal : str or None
        The decimal mark of cells that are texts, if it is known: the user gives it, or it is a
        comma in a text table.
    texts : dict of str to str
        Name, source, licence, citation and description of a data set.
    first_row : int
        Number of the first row in messages. A spreadsheet shows the header as row 1, so the first
        row below it is row 2; rows of formats without a header, such as arrays, count from 1.
    cell_bytes : int
        What a cell of a frame takes, with the object that it may refer to.
    expands_texts : bool
        Whether the texts of all cells may be longer than the file. A text that several cells refer
        to is in memory once, but work on it is not.
    """

    names: list[str]
    first_row: int = 1
    labels: Mapping[str, list[int]] = {}
    features: list[int] | None = None
    unnamed: frozenset[int] = frozenset()
    decimal: str | None
    texts: Mapping[str, str] = {}
    cell_bytes: ClassVar[int] = 8

    def __init__(self, opened: OpenInput) -> None:
        self.opened = opened
        self.input = opened.input
        self.budget = opened.budget
        self.decimal = self.input.reading.dialect.decimal
        self.expands_texts = is_gzip(self.input.where)

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """The rows in one or more data frames, with the columns in ``kinds`` named by position.

        The index has the row numbers of messages, which begin with ``first_row``; empty rows are
        counted and left out. Sparse matrices come as a `SparseTable`.
        """
        raise NotImplementedError

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """Groups of columns as matrices of numbers; features may come sparse."""
        matrices = {field: np.empty((0, len(group))) for field, group in groups.items()}
        n_rows = 0
        kinds = dict.fromkeys(chain(*groups.values()), "any")
        for block in self._read_blocks(kinds):
            for field, group in groups.items():
                piece = frame_to_matrix(block[group], [self.names[i] for i in group])
                if not n_rows:
                    matrices[field] = np.empty((0, len(group)), dtype=piece.dtype)
                # Moves pages, copies nothing.
                matrices[field].resize((n_rows + len(piece), len(group)), refcheck=False)
                matrices[field][n_rows:] = piece
            n_rows += len(block)
        return matrices

    def chunks(self, kinds: Kinds) -> Iterator[Any]:
        """The columns in ``kinds``, some rows at a time: frames, or a `SparseTable` each."""
        step = rows_per_chunk(8 * len(kinds))
        for table in self._read_tables(kinds, times=STREAMED):
            for start in range(0, len(table), step):
                yield table.take(np.arange(start, min(start + step, len(table))))

    def read(self, kinds: Kinds, *, sparse: bool = False) -> Any:
        """All rows, at least one, in one frame; in a `SparseTable` if ``sparse`` allows it."""
        tables = list(filter(len, self._read_tables(kinds)))
        if not tables:
            raise TableError("the table has no rows.")
        if len(tables) > 1:
            return import_pandas().concat(tables)
        table = tables[0]  # a file of sparse columns is one block
        if isinstance(table, SparseTable) and not sparse:
            table = table.to_frame()
        return table

    def _read_tables(self, kinds: Kinds, times: int = 1) -> Iterator[Any]:
        positions: dict[str, int] = {}
        for i, name in enumerate(self.names):
            positions.setdefault(name, i)  # of two columns of one name the first is taken
        wanted = {positions[name]: kind for name, kind in kinds.items()}
        for block in self._read_blocks(wanted, times):
            yield _rename_columns(block, self.names)

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; see `ldlearn.tables.columns`."""
        return find_columns(self.names, choice, option)

    def default_features(self, taken: set[int]) -> list[int]:
        """The features where none were chosen: those marked in the file, or all other columns."""
        features = self.features
        if features is None:
            features = list(range(len(self.names)))
        other = taken.union(*self.labels.values())
        return [i for i in features if i not in other]

    def _read_blocks(self, kinds: Kinds, times: int = 1) -> Iterator[Any]:
        """The blocks; only errors while a block is read are errors of the file.

        All of them together may take some ``times`` the limit: more if they are not kept.
        """
        blocks = self.blocks(kinds)
        needed = 0
        while True:
            with self.opened.convert_errors():
                block = next(blocks, None)
            if block is None:
                return
            dense = block.frame if isinstance(block, SparseTable) else block
            # Rows that are not kept take time: a million of them about a second.
            needed += ROW_BYTES * times * len(dense) + self.cell_bytes * dense.size
            texts = dense.select_dtypes(object)
            self.budget.check_columns(texts.shape[1], TEXT_COLUMN_BYTES)
            if self.expands_texts:
                needed += sum(map(_text_length, texts.to_numpy().ravel()))
            self.budget.check(needed, times)
            yield block

    def _set_names(self, names: list[str]) -> None:
        """Take the names of a header without spaces around them, and find marked labels."""
        self.budget.check_columns(len(names))
        self.names = list(map(str.strip, names))
        self.labels = find_marked_labels(self.names)


class RowSource(Source):
    """A table that gives one row after the other; it sets ``_rows`` and implements `_cells`."""

    _rows: Iterator[Any]
    cell_bytes = 16  # a number, and where it is

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """See `Source.blocks`."""
        first = 1
        step = rows_per_chunk(128 * len(kinds))
        while rows := take_rows_within_budget(self._rows, step, self.budget):
            columns = {}
            for i, kind in kinds.items():
                columns[i] = as_column(self._cells(rows, i, first), kind)
            yield columns_to_frame(columns, first)
            first += len(rows)

    def _cells(self, rows: list[Any], position: int, first: int) -> list[Any]:
        """A column of some rows; ``first`` is the number of the first of them, for messages."""
        raise NotImplementedError


def take_rows_within_budget(
    rows: Iterator[Any],
    count: int,
    budget: Budget,
) -> list[Any]:
    """The next rows; fewer than ``count`` if these spend more than half of the budget."""
    budget.spent = 0
    taken = []
    for row in islice(rows, count):
        taken.append(row)
        if 2 * budget.spent > budget.limit:
            break
    return taken


def rows_per_chunk(row_bytes: int) -> int:
    """How many rows of so many bytes are read at a time."""
    return min(CHUNK_ROWS, max(1, _CHUNK_BYTES // max(1, row_bytes)))


def as_column(cells: list[Any], kind: str) -> NDArray[Any]:
    """Cells of a row-wise format: floats if all are numbers and nulls; else as they are."""
    values = np.fromiter(cells, dtype=object, count=len(cells))
    if kind == "any" and set(map(type, cells)) <= {int, float, type(None)}:
        with suppress(OverflowError):  # an integer no float can hold
            values = values.astype(np.float64)
    return values


def _text_length(cell: object) -> int:
    if isinstance(cell, list):
        return sum(map(_text_length, cell))
    return len(cell) if isinstance(cell, str) else 0


def columns_to_frame(columns: Mapping[int, NDArray[Any]], first_row: int) -> Any:
    """A frame of numbers and Python objects, whatever the version of pandas prefers."""
    pandas = import_pandas()
    n_rows = len(next(iter(columns.values()), ()))
    index = pandas.RangeIndex(first_row, first_row + n_rows)
    numbers = [i for i, values in columns.items() if values.dtype == np.float64]
    # As one block: a frame of thousands of arrays is slow to make and slow to use.
    block = np.stack([columns[i] for i in numbers]).T if numbers else None
    frame = pandas.DataFrame(block, index=index, columns=numbers)
    if len(numbers) == len(columns):
        return frame
    others = {}
    for i in columns.keys() - numbers:
        dtype = object if columns[i].dtype.kind == "U" else columns[i].dtype
        others[i] = pandas.Series(columns[i], index, dtype=dtype)
    table = pandas.concat([frame, pandas.DataFrame(others, index)], axis=1)
    return table[list(columns)]


def frame_to_matrix(frame: Any, names: Sequence[str]) -> NDArray[Any]:
    """The numbers of a frame whose columns have these names in messages; or all are float32."""
    dtypes = list(frame.dtypes)
    if all(dtype.kind in "biuf" for dtype in dtypes):
        return frame.to_numpy(dtype=np.result_type(np.float32, *dtypes))
    return np.column_stack([to_numbers(frame.iloc[:, j], name) for j, name in enumerate(names)])


@dataclass(frozen=True)
class SparseTable:
    """What the table path needs of a frame, without making the zeros.

    Attributes
    ----------
    frame : DataFrame
        The other columns; its index counts the rows.
    matrix : csr_array of shape (n, k)
    names : list of str
        The columns of the matrix.
    budget : Budget
        What all columns as a frame may take.
    """

    frame: Any
    matrix: Any
    names: list[Any]
    budget: Budget = NO_LIMIT

    @property
    def columns(self) -> list[str]:
        """All names, those of the matrix first."""
        return [*self.names, *self.frame.columns]

    @property
    def index(self) -> Any:
        """Names of the rows."""
        return self.frame.index

    @property
    def density(self) -> float:
        """Share of the numbers that are not 0."""
        # As floats: the product of both lengths may exceed every integer type.
        return self.matrix.nnz / max(1, np.prod(self.matrix.shape, dtype=float))

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Any:
        if name not in self.column_positions:
            return self.frame[name]
        self.budget.spend(8 * len(self))
        column = self.matrix[:, [self.column_positions[name]]].toarray()[:, 0]
        return import_pandas().Series(column, index=self.index)

    @cached_property
    def column_positions(self) -> dict[str, int]:
        """Where in the matrix each of its columns is."""
        return {name: j for j, name in enumerate(self.names)}

    def take(self, rows: NDArray[np.intp]) -> SparseTable:
        """Some rows, as ``take`` of a frame gives them."""
        return replace(self, frame=self.frame.take(rows), matrix=self.matrix[rows])

    def assign(self, **columns: Any) -> SparseTable:
        """With further columns in the frame, as ``assign`` of a frame adds them."""
        return replace(self, frame=self.frame.assign(**columns))

    def take_columns(self, names: list[str]) -> SparseTable:
        """With these columns of the matrix only, in this order; the frame as it is."""
        # Choosing columns of a matrix by rows copies all of it.
        if names == self.names:
            return self
        columns = list(map(self.column_positions.__getitem__, names))
        return replace(self, matrix=self.matrix[:, columns], names=names)

    def to_frame(self) -> Any:
        """All columns as a frame, zeros included."""
        pandas = import_pandas()
        self.budget.check(8 * len(self) * len(self.names))
        dense = pandas.DataFrame(self.matrix.toarray(), self.index, _as_index(self.names))
        return pandas.concat([dense, self.frame], axis=1)


class FrameSource(Source):
    """A table in memory, read as a file is."""

    def __init__(self, opened: OpenInput) -> None:
        super().__init__(opened)
        self._frame = as_frame(self.input.table)
        self.names = list(self._frame.columns)

    def _read_tables(self, kinds: Kinds, times: int = 1) -> Iterator[Any]:
        yield self._frame


def as_frame(table: Any) -> Any:
    """A pandas frame with distinct text names; frames of other libraries are converted."""
    if isinstance(table, SparseTable):
        return table
    if not isinstance(table, import_pandas().DataFrame):
        if not hasattr(table, "to_pandas"):
            needed = "A table with named columns is needed (a data frame)"
            raise TableError(f"{needed}, got {type(table).__name__}.")
        table = table.to_pandas()
    names = list(map(str, table.columns))
    check_distinct(names)
    if names == list(table.columns):
        return table
    return table.set_axis(names, axis=1)


def _rename_columns(table: Any, names: Sequence[str]) -> Any:
    """A frame or `SparseTable` whose columns are positions, with these names instead."""
    if isinstance(table, SparseTable):
        frame = _rename_columns(table.frame, names)
        return replace(table, frame=frame, names=[names[i] for i in table.names])
    return table.set_axis(_as_index([names[i] for i in table.columns]), axis=1)


def _as_index(names: Sequence[str]) -> Any:
    """Names as Python objects: those of Arrow's kind are slow to go through."""
    return import_pandas().Index(names, dtype=object)
