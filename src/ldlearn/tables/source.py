"""What all tables that are read have in common: named columns, and rows that come in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.columns import check_distinct, find_columns, find_marked_labels
from ldlearn.tables.files import NO_LIMIT, STREAMED, Budget, OpenInput, is_gzip
from ldlearn.tables.options import Columns
from ldlearn.tables.values import import_pandas, to_numbers

CHUNK_ROWS = 8192
CHUNK_BYTES = 128 << 20  # of wide rows; pandas spends most of a smaller chunk on its columns
ROW_BYTES = 16  # beside its cells: its number, and its degrees
_TEXT_COLUMN_BYTES = (
    32 << 10
)  # not of memory: each takes about 3 ms of work, so that 4,000 take 12 s

Kind = Literal["text", "any"]  # "any": numbers where all cells are numbers


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
    text_bytes : int
        Length of the texts so far, if several cells refer to one: it is in memory once, but work on
        it is not.
    """

    names: list[str]
    first_row: int = 1
    labels: Mapping[str, list[int]] = {}
    features: list[int] | None = None
    unnamed: frozenset[int] = frozenset()
    decimal: str | None
    texts: Mapping[str, str] = {}
    cell_bytes: ClassVar[int] = 8
    text_bytes: int = 0

    def __init__(self, opened: OpenInput) -> None:
        self.opened = opened
        self.input = opened.input
        self.budget = opened.budget
        self.decimal = self.input.reading.dialect.decimal

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """The rows in one or more data frames with the columns in ``kinds``, named by their
        positions.

        The index has the row numbers of messages, which begin with ``first_row``; empty rows are
        counted and left out. Sparse matrices come as a `SparseTable`.
        """
        raise NotImplementedError

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """Groups of columns as matrices of numbers; features may come sparse."""
        matrices: dict[str, NDArray[Any]] = {}
        n_rows, wanted = 0, [i for positions in groups.values() for i in positions]
        for block in self._read_blocks(dict.fromkeys(wanted, "any")):
            for field, positions in groups.items():
                piece = to_matrix(block[positions], [self.names[i] for i in positions])
                matrix = matrices.setdefault(
                    field, np.empty((0, len(positions)), dtype=piece.dtype)
                )
                matrix.resize(
                    (n_rows + len(piece), len(positions)), refcheck=False
                )  # moves pages, copies nothing
                matrix[n_rows:] = piece
            n_rows += len(block)
        return matrices or {
            field: np.empty((0, len(positions))) for field, positions in groups.items()
        }

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """The columns in ``kinds`` in tables of a limited number of rows: frames, or a
        `SparseTable` each."""
        step = rows_per_chunk(8 * len(kinds))
        for table in self._read_tables(kinds, times=STREAMED):
            for start in range(0, len(table), step):
                yield table.iloc[start : start + step]

    def read(self, kinds: Mapping[str, Kind], *, sparse: bool = False) -> Any:
        """All rows in one frame, or in a `SparseTable` where there is one and ``sparse`` allows it;
        at least one."""
        tables = [table for table in self._read_tables(kinds) if len(table)]
        if not tables:
            raise TableError("the table has no rows.")
        if sparse and all(isinstance(table, SparseTable) for table in tables):
            matrix = scipy.sparse.vstack([table.matrix for table in tables], format="csr")
            frame = import_pandas().concat([table.frame for table in tables])
            return replace(tables[0], frame=frame, matrix=matrix)
        frames = [table.to_frame() if isinstance(table, SparseTable) else table for table in tables]
        return frames[0] if len(frames) == 1 else import_pandas().concat(frames)

    def _read_tables(self, kinds: Mapping[str, Kind], times: int = 1) -> Iterator[Any]:
        # Reversed, so that of two columns of one name the first is taken.
        place = {name: i for i, name in reversed(list(enumerate(self.names)))}
        for block in self._read_blocks({place[name]: kind for name, kind in kinds.items()}, times):
            yield rename_columns(block, self.names)

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """Positions of chosen columns; see `ldlearn.tables.columns`."""
        return find_columns(self.names, choice, option)

    def default_features(self, taken: set[int]) -> list[int]:
        """The features where none were chosen: those marked in the file, or all columns that are
        not something else."""
        known = range(len(self.names)) if self.features is None else self.features
        other = {i for positions in self.labels.values() for i in positions} | taken
        return [i for i in known if i not in other]

    def _read_blocks(self, kinds: Mapping[int, Kind], times: int = 1) -> Iterator[Any]:
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
            self._check_text_columns(texts.shape[1])
            # Other files are as long as their texts, and streams give them back.
            if times == 1 and is_gzip(self.input.table):
                needed += sum(
                    len(cell) for cell in texts.to_numpy().ravel() if isinstance(cell, str)
                )
            self.budget.check(needed + self.text_bytes, times)
            yield block

    def _check_text_columns(self, count: int) -> None:
        """Refuse so many columns of texts, each of which takes work of its own."""
        self.budget.check_columns(count, _TEXT_COLUMN_BYTES)

    def _set_names(self, names: list[str]) -> None:
        """Take the names of a header without spaces around them, and find those that mark
        labels."""
        self.budget.check_columns(len(names))
        self.names = [name.strip() for name in names]
        self.labels = find_marked_labels(self.names)


class RowSource(Source):
    """A table of a format that gives one row after the other; it sets ``_rows`` and implements
    `_column`."""

    _rows: Iterator[Any]
    cell_bytes = 16  # a number, and where it is

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`."""
        first = 1
        while rows := take_rows(self._rows, rows_per_chunk(128 * len(kinds)), self.budget):
            yield make_frame(
                {i: self._column(rows, i, kind, first) for i, kind in kinds.items()}, first
            )
            first += len(rows)

    def _column(self, rows: list[Any], position: int, kind: Kind, first: int) -> NDArray[Any]:
        """A column of some rows; ``first`` is the number of the first of them, for messages."""
        raise NotImplementedError


def take_rows(rows: Iterator[Any], count: int, budget: Budget) -> list[Any]:
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
    return min(CHUNK_ROWS, max(1, CHUNK_BYTES // max(1, row_bytes)))


def as_column(cells: list[Any], kind: Kind) -> NDArray[Any]:
    """Cells of a row-wise format: floats if there are only numbers and nulls; all else stays as it
    is."""
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
    texts = {i: values for i, values in columns.items() if values.dtype.kind in "OU"}
    objects = np.empty((len(texts), len(index)), dtype=object)
    for place, values in zip(objects, texts.values(), strict=True):
        place[:] = values
    parts = [frame, pandas.DataFrame(objects.T, index, list(texts), dtype=object)]
    known = {*numbers, *texts}
    others = {i: pandas.Series(values, index) for i, values in columns.items() if i not in known}
    return pandas.concat([*parts, pandas.DataFrame(others, index)], axis=1)[list(columns)]


def to_matrix(frame: Any, names: Sequence[str]) -> NDArray[Any]:
    """The numbers of a frame whose columns have these names in messages; float32 if all of them
    are."""
    dtypes = list(frame.dtypes)
    if not all(dtype.kind in "biuf" for dtype in dtypes):
        columns = zip(frame.items(), names, strict=True)
        return np.column_stack([to_numbers(values, name) for (_, values), name in columns])
    return np.asarray(frame.to_numpy(dtype=np.result_type(np.float32, *dtypes)))


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
        return float(self.matrix.nnz / max(1, np.prod(self.matrix.shape, dtype=float)))

    @property
    def iloc(self) -> _RowIndexer:
        """Some rows, as ``iloc`` of a frame gives them."""
        return _RowIndexer(self)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Any:
        if name not in self.column_positions:
            return self.frame[name]
        return import_pandas().Series(
            self.matrix[:, [self.column_positions[name]]].toarray()[:, 0], index=self.index
        )

    @cached_property
    def column_positions(self) -> dict[str, int]:
        """Where in the matrix each of its columns is."""
        return {name: j for j, name in enumerate(self.names)}

    def assign(self, **columns: Any) -> SparseTable:
        """With further columns in the frame, as ``assign`` of a frame adds them."""
        return replace(self, frame=self.frame.assign(**columns))

    def take_columns(self, names: list[str]) -> SparseTable:
        """With these columns of the matrix only, in this order; the frame as it is."""
        # Choosing columns of a matrix by rows copies all of it.
        if names == self.names:
            return self
        return replace(
            self,
            matrix=self.matrix[:, [self.column_positions[name] for name in names]],
            names=names,
        )

    def to_frame(self) -> Any:
        """All columns as a frame, zeros included."""
        pandas = import_pandas()
        self.budget.check(8 * len(self) * len(self.names))
        # Names as Python objects: those of Arrow's kind are slow to go through.
        names = pandas.Index(self.names, dtype=object)
        dense = pandas.DataFrame(self.matrix.toarray(), index=self.index, columns=names)
        return pandas.concat([dense, self.frame], axis=1)


class FrameSource(Source):
    """A table in memory, read as a file is."""

    def __init__(self, opened: OpenInput) -> None:
        super().__init__(opened)
        self._frame = as_frame(self.input.table)
        self.names = list(self._frame.columns)

    def _read_tables(self, kinds: Mapping[str, Kind], times: int = 1) -> Iterator[Any]:
        yield self._frame


def as_frame(table: Any) -> Any:
    """A pandas frame with distinct text names; frames of other libraries are converted."""
    if isinstance(table, SparseTable):
        return table
    if not isinstance(table, import_pandas().DataFrame):
        if not hasattr(table, "to_pandas"):
            raise TableError(
                f"A table with named columns is needed (a data frame), got {type(table).__name__}."
            )
        table = table.to_pandas()
    names = [str(name) for name in table.columns]
    check_distinct(names)
    return table.set_axis(names, axis=1) if names != list(table.columns) else table


def rename_columns(table: Any, names: Sequence[str]) -> Any:
    """A frame or `SparseTable` whose columns are positions, with these names instead."""
    if isinstance(table, SparseTable):
        return replace(
            table, frame=rename_columns(table.frame, names), names=[names[i] for i in table.names]
        )
    # Names as Python objects: those of Arrow's kind are slow to go through.
    return table.set_axis(
        import_pandas().Index([names[i] for i in table.columns], dtype=object), axis=1
    )


@dataclass(frozen=True)
class _RowIndexer:
    table: SparseTable

    def __getitem__(self, rows: Any) -> SparseTable:
        return replace(
            self.table, frame=self.table.frame.iloc[rows], matrix=self.table.matrix[rows]
        )
