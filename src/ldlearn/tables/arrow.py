"""Column tables: .parquet and .feather, in batches of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError, import_optional
from ldlearn.tables.columns import marked_labels
from ldlearn.tables.content import META, Content, parse_meta
from ldlearn.tables.formats import Format
from ldlearn.tables.limits import MOST_NAMES, check_total
from ldlearn.tables.sink import Output, Sink, Table, columns_of
from ldlearn.tables.source import CHUNK_ROWS, Input, Kind, Source, as_column

_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_BLOCK_ROWS = 1 << 15
_PASSES = 12  # through a file, each for some of its columns
_PLAIN_TYPES = (
    "boolean", "integer", "floating", "decimal", "string", "large_string", "string_view", "null", "date", "timestamp",
)  # fmt: skip


class ArrowSource(Source):
    """A column table; only the columns asked for are read. A column of lists of numbers becomes several."""

    def __init__(self, given: Input, reader: type[_Parquet] | type[_Feather]) -> None:
        super().__init__(given)
        self._arrow = import_optional("pyarrow", "tables", "Tables")
        self._file = reader(given.path)
        names = [str(name) for name in self._file.schema.names]
        # what pandas stores of an index without a name is no column
        self._columns: list[int] = []
        self.names = []
        self._elements: dict[int, int] = {}  # which number of its list a column is
        for i, name in enumerate(names):
            if not _INDEX_OF_PANDAS.fullmatch(name):
                self._add_column(i, name)
        self.labels, self.texts = self._own_labels()

    def _add_column(self, i: int, name: str) -> None:
        width = self._list_width(i, name)
        if width is None:
            self._columns.append(i)
            self.names.append(name)
            return
        self._elements |= {len(self.names) + k: k for k in range(width)}
        self._columns += [i] * width
        self.names += [f"{name}_{k}" for k in range(width)]

    def _list_width(self, i: int, name: str) -> int | None:
        """How long the lists of a column are; None if it holds no lists of numbers."""
        types, kind = self._arrow.types, self._file.schema.field(i).type
        if not self._is_list(kind) or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
            return None
        if types.is_fixed_size_list(kind):
            width = kind.list_size
        else:
            first: Any = next((batch.column(0).drop_null() for batch in self._file.blocks([i], CHUNK_ROWS)), [])
            width = len(first[0]) if len(first) else 0
        if not 1 <= width <= MOST_NAMES:
            raise TableError(f"its first list has {width:,} numbers.", column=name)
        return int(width)

    def _is_list(self, kind: Any) -> bool:
        types = self._arrow.types
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def _own_labels(self) -> tuple[dict[str, list[int]], dict[str, str]]:
        """Labels and origin of a set that this library wrote; later versions than 0.1.0 say which columns they are."""
        text = (self._file.schema.metadata or {}).get(META.encode())
        if text is None:
            return marked_labels(self.names), {}
        meta = parse_meta(text.decode())
        m, c = len(meta["feature_names"]), len(meta["label_names"])
        if len(self.names) != m + c * len(meta["fields"]):
            return marked_labels(self.names), meta["texts"]
        return {f: list(range(m + k * c, m + (k + 1) * c)) for k, f in enumerate(meta["fields"])}, meta["texts"]

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[list[NDArray[Any]]]:
        """See `Source.blocks`."""
        for i in kinds:
            self._check_type(i)
        wanted, row = sorted({self._columns[i] for i in kinds}), 1
        lists = {self._columns[i]: i - k for i, k in self._elements.items()}
        for batch in self._file.blocks(wanted, CHUNK_ROWS):
            found = {
                column: self._matrix(values, lists[column], row) if column in lists else self._values(values)
                for column, values in zip(wanted, batch.columns, strict=True)
            }
            yield [found[self._columns[i]][..., self._elements.get(i, slice(None))] for i in kinds]
            row += batch.num_rows
            if self.given.told is not None:
                self.given.told(self.given.size * batch.num_rows // max(self._file.n_rows, 1))

    def _check_type(self, position: int) -> None:
        if position in self._elements:
            return
        kind = self._file.schema.field(self._columns[position]).type
        inner = kind.value_type if self._arrow.types.is_dictionary(kind) or self._is_list(kind) else kind
        # Versions of Arrow differ in the types that they know.
        if not any(getattr(self._arrow.types, f"is_{name}", lambda kind: False)(inner) for name in _PLAIN_TYPES):
            problem = f"its type is {kind}; convert it to numbers or texts, or leave it out."
            raise TableError(problem, column=self.names[position])

    def _values(self, column: Any) -> NDArray[Any]:
        values: NDArray[Any]
        types = self._arrow.types
        if self._is_list(column.type):  # of labels
            return as_column(column.to_pylist(), "text")
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_decimal(column.type):
            column = column.cast(self._arrow.float64())
        if types.is_temporal(column.type):  # as a text table would have it
            column = column.cast(self._arrow.string())
        values = column.to_numpy(zero_copy_only=False)
        return values

    def _matrix(self, lists: Any, first: int, row: int) -> NDArray[np.float64]:
        """The lists of a column as rows, NaN where there is none; ``first`` is the position of their first number."""
        width = sum(column == self._columns[first] for column in self._columns)
        from pyarrow import compute

        lengths = compute.fill_null(compute.list_value_length(lists), width).to_numpy(zero_copy_only=False)
        if (lengths != width).any():
            k, name = int(np.argmax(lengths != width)), self.names[first].removesuffix("_0")
            problem = f"its list has {lengths[k]:,} numbers, the first of the column has {width:,}."
            raise TableError(problem, row=row + k, column=name)
        known = lists.is_valid().to_numpy(zero_copy_only=False)
        rows = np.full((len(lists), width), np.nan)
        rows[known] = lists.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
        return rows

    def matrices(self, parts: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.matrices`.

        Blocks of rows are copied into arrays that exist from the beginning, so that the memory needed is that of the
        result and of one block.
        """
        if any(i in self._elements for positions in parts.values() for i in positions):
            return super().matrices(parts)
        shapes = {field: (self._file.n_rows, len(positions)) for field, positions in parts.items()}
        arrays = {field: np.empty(shape, dtype=self._dtype(parts[field])) for field, shape in shapes.items()}
        check_total(sum(array.nbytes for array in arrays.values()), self.given.max_bytes)
        self._fill(arrays, parts)
        return arrays

    def _dtype(self, positions: list[int]) -> np.dtype[Any]:
        """float32 if all columns are, else float64; only numbers and booleans will do."""
        kinds = self._arrow.types
        types = [self._file.schema.field(self._columns[i]).type for i in positions]
        for i, kind in zip(positions, types, strict=True):
            numeric = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)
            if not numeric and not kinds.is_null(kind):
                raise TableError(f"it holds {kind}, not numbers; leave it out by features=.", column=self.names[i])
        return np.dtype(np.float32 if all(kinds.is_float32(kind) for kind in types) else np.float64)

    def _fill(self, arrays: dict[str, NDArray[Any]], parts: Mapping[str, list[int]]) -> None:
        """Copy the columns, a few at a time: a reader holds some of every column it is asked for."""
        targets = sorted((self._columns[i], field, k) for field, found in parts.items() for k, i in enumerate(found))
        width = max(1, len(targets) // _PASSES)
        for first in range(0, len(targets), width):
            group = targets[first : first + width]
            start = 0
            for block in self._file.blocks([column for column, _, _ in group], _BLOCK_ROWS):
                stop = start + block.num_rows
                # More rows than it announces: they would not fit into the arrays.
                if stop > self._file.n_rows:
                    break
                for place, (_, field, k) in enumerate(group):
                    arrays[field][start:stop, k] = block.column(place).to_numpy(zero_copy_only=False)
                start = stop
            if start != self._file.n_rows:
                raise TableError(f"it announces {self._file.n_rows:,} rows and holds another number.")


class _Parquet:
    """A .parquet file as blocks of rows."""

    def __init__(self, path: Path) -> None:
        # no buffering within a column: pages that announce absurd sizes would be given a buffer of that size
        from pyarrow import parquet

        self.file = parquet.ParquetFile(path, memory_map=False, buffer_size=0, pre_buffer=False)
        self.schema = self.file.schema_arrow
        # of the metadata only these counts are read: asking for those of a column can abort the process
        self.n_rows = self.file.metadata.num_rows
        ends = np.cumsum([0, *(_count_leaves(field.type) for field in self.schema)]).tolist()
        if ends[-1] != self.file.metadata.num_columns:
            raise TableError(f"it announces {self.file.metadata.num_columns:,} columns and holds another number.")
        self.leaves = [range(*pair) for pair in pairwise(ends)]

    def blocks(self, columns: list[int], rows: int) -> Iterator[Any]:
        # names may occur twice, so columns are asked for by position, that of what they are made of
        columns = [leaf for i in columns for leaf in self.leaves[i]]
        for group in range(self.file.metadata.num_row_groups):
            yield from self.file.reader.iter_batches(
                rows, row_groups=[group], column_indices=columns, use_threads=False
            )


def _count_leaves(kind: Any) -> int:
    """How many columns a file has for one of a type, which may be nested."""
    # A dictionary is one column in the file, whatever its values are.
    if not kind.num_fields or getattr(kind, "index_type", None) is not None:
        return 1
    return sum(_count_leaves(kind.field(k).type) for k in range(kind.num_fields))


class _Feather:
    """A .feather file (Arrow IPC) as its record batches."""

    def __init__(self, path: Path) -> None:
        import pyarrow
        from pyarrow import ipc

        self.source, self.ipc = pyarrow.memory_map(str(path)), ipc
        file = ipc.open_file(self.source)
        self.schema = file.schema
        # A file tells the number of its batches only.
        self.n_rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))

    def blocks(self, columns: list[int], rows: int) -> Iterator[Any]:
        options = self.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        file = self.ipc.open_file(self.source, options=options)
        for i in range(file.num_record_batches):
            batch = file.get_batch(i)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def arrow_table(columns: Mapping[str, NDArray[Any]]) -> Any:
    """An Arrow table whose types depend on those of the columns only, so that empty and full pieces agree."""
    pa = import_optional("pyarrow", "tables", "Tables")
    texts = {name: values.dtype.kind in "OU" for name, values in columns.items()}
    arrays = [
        pa.array(values, pa.string(), from_pandas=True) if texts[name] else pa.array(np.ascontiguousarray(values))
        for name, values in columns.items()
    ]
    return pa.table(arrays, names=list(columns))


class ArrowSink(Sink):
    """Writes a column table; a data set keeps its origin in the metadata of the schema."""

    def __init__(self, output: Output, new_file: Callable[[Any, Any], Any]) -> None:
        super().__init__(output)
        self._new_file = new_file
        self._writer: Any = None
        self._metadata: dict[str, str] | None = None

    def write(self, table: Table) -> None:
        """Append rows."""
        piece = arrow_table(columns_of(table)).replace_schema_metadata(self._metadata)
        if self._writer is None:
            self._writer = self._new_file(self.output.file, piece.schema)
        # An empty piece has told the columns, which is all that a table without rows needs.
        if len(piece):
            self._writer.write_table(piece)

    def save(self, content: Content) -> None:
        """See `Sink.save`."""
        self._metadata = {META: content.meta()}
        super().save(content)

    def close(self) -> None:
        """Write the footer, without which there is no file."""
        if self._writer is not None:
            self._writer.close()


def _new_parquet(file: Any, schema: Any) -> Any:
    from pyarrow import parquet

    return parquet.ParquetWriter(file, schema)


def _new_feather(file: Any, schema: Any) -> Any:
    from pyarrow import ipc

    return ipc.new_file(file, schema)


PARQUET = Format("Parquet", partial(ArrowSource, reader=_Parquet), partial(ArrowSink, new_file=_new_parquet))
FEATHER = Format("Feather", partial(ArrowSource, reader=_Feather), partial(ArrowSink, new_file=_new_feather))
