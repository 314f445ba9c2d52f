"""Column tables: .parquet and .feather, in batches of rows."""

import mmap
import os
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn._optional_imports import import_optional
from ldlearn.exceptions import TableError
from ldlearn.tables.columns import check_distinct, find_marked_labels
from ldlearn.tables.files import STREAMED, OpenInput, TableOutput
from ldlearn.tables.formats import META, Format, Table, parse_meta
from ldlearn.tables.source import (
    ROW_BYTES,
    Kinds,
    Source,
    as_column,
    columns_to_frame,
    rows_per_chunk,
)

_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")  # an index without a name, which is no column
_ALL_COLUMNS = ""
_VIEW_BYTES = 16  # length, first characters, buffer and place
_TEXT_TYPES = ("string", "large_string", "string_view", "null")


class _ArrowSource(Source):
    """A column table; only the wanted columns are read. A column of lists becomes several."""

    def __init__(self, opened: OpenInput, format: str) -> None:
        super().__init__(opened)
        self.expands_texts = True
        self._types = import_optional("pyarrow", "tables", "Tables").types
        from pyarrow import dataset

        # What the file announces: bytes of columns, and columns of texts stored as differences.
        self._column_bytes: Counter[str] = Counter()
        self._differences: set[str] = set()
        options: Any = format
        if format == "parquet":
            # Texts stay in dictionaries: a file names a long one once for any number of rows.
            # Without buffers: a damaged page would get one of the size that it announces.
            read = dataset.ParquetReadOptions(dictionary_columns=self._measure_parquet())
            options = dataset.ParquetFileFormat(read_options=read, pre_buffer=False)
        else:
            self._measure_feather()
        self._file = dataset.dataset(str(opened.path), format=options)
        self._n_rows = self._file.count_rows()
        names = self._file.schema.names
        self.budget.check_columns(len(names))
        check_distinct(names)
        self.names = []
        # The column of the file, and the position in its lists, of each column.
        self._file_columns: list[tuple[str, int | None]] = []
        self._widths: dict[str, int] = {}  # lengths of lists
        for field in self._file.schema:
            if not _INDEX_OF_PANDAS.fullmatch(field.name):
                self._add_column(field.name, field.type)
        self.labels = find_marked_labels(self.names)
        self._read_meta()

    def _add_column(self, name: str, kind: Any) -> None:
        types = self._types
        if not self._is_list(kind) or not (
            types.is_integer(kind.value_type) or types.is_floating(kind.value_type)
        ):
            self.names.append(name)
            self._file_columns.append((name, None))
            return
        width = 0
        if types.is_fixed_size_list(kind):
            width = kind.list_size
        else:
            for batch in islice(self._batches([name]), 1):
                width = max(map(len, batch.column(0).drop_null()[:1]), default=0)
        if not width:
            raise TableError("its first list has no numbers.", column=name)
        self.budget.check_columns(width, len(name))
        self._widths[name] = width
        self._file_columns += [(name, k) for k in range(width)]
        self.names += [f"{name}_{k}" for k in range(width)]

    def _is_list(self, kind: Any) -> bool:
        types = self._types
        return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)

    def _check_type(self, name: str, kind: Any) -> None:
        """Refuse a column that is neither numbers nor texts, by its type alone."""
        inner = kind
        if self._is_list(inner):
            inner = inner.value_type
        if self._types.is_dictionary(inner):
            inner = inner.value_type
        is_number_or_time = self._types.is_primitive(inner) or self._types.is_decimal(inner)
        if not is_number_or_time and str(inner) not in _TEXT_TYPES:
            problem = f"its type is {kind}; convert it to numbers or texts, or leave it out."
            raise TableError(problem, column=name)

    def _read_meta(self) -> None:
        """Labels and origin of a data set that this library wrote."""
        text = (self._file.schema.metadata or {}).get(META.encode())
        if text is None:
            return
        meta = parse_meta(text.decode(), self.budget)
        self.texts = meta["texts"]
        start = len(meta["feature_names"])
        n_labels = len(meta["label_names"])
        if len(self.names) != start + n_labels * len(meta["fields"]):
            return
        self.labels = {}
        for field in meta["fields"]:
            self.labels[field] = list(range(start, start + n_labels))
            start += n_labels

    def blocks(self, kinds: Kinds) -> Iterator[Any]:
        """See `Source.blocks`."""
        self.budget.check(self._n_rows * (ROW_BYTES + 8 * len(kinds)), STREAMED)
        wanted = list(dict.fromkeys(self._file_columns[i][0] for i in kinds))
        row = 1
        for batch in self._batches(wanted):
            arrays = {name: self._read_values(batch.column(name), name, row) for name in wanted}
            columns = {}
            for i in kinds:
                name, k = self._file_columns[i]
                columns[i] = arrays[name] if k is None else arrays[name][:, k]
            yield columns_to_frame(columns, row)
            row += batch.num_rows
            self.opened.on_progress(self.budget.size * batch.num_rows // max(self._n_rows, 1))
        if row - 1 != self._n_rows:
            raise TableError(f"it announces {self._n_rows:,} rows and holds another number.")

    def _batches(self, names: list[str]) -> Iterator[Any]:
        for name in names:
            self._check_type(name, self._file.schema.field(name).type)
            if name in self._differences:
                problem = (
                    "its texts are stored as differences (DELTA), which can unpack to any size; "
                    "write the file with dictionaries, or leave it out."
                )
                raise TableError(problem, column=name)
        needed = sum(self._column_bytes[name] for name in (*names, _ALL_COLUMNS))
        self.budget.check(needed, STREAMED)
        batches = self._file.to_batches(
            columns=names,
            batch_size=rows_per_chunk(needed // max(self._n_rows, 1)),
            use_threads=False,
            batch_readahead=0,
            fragment_readahead=0,
        )
        for batch in batches:
            batch.validate(full=True)
            yield batch

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.read_matrices`.

        In passes over a twelfth of the columns: Parquet's reader keeps some of every column that it
        is asked for, and one pass over a file of 50,000 x 105 numbers took 6.5 times the memory of
        the result.
        """
        matrices = {}
        for field, positions in groups.items():
            self.budget.check(8 * self._n_rows * len(positions))
            names = {self._file_columns[i][0] for i in positions}
            types = {str(self._file.schema.field(name).type) for name in names}
            dtype = np.float32 if types == {"float"} else np.float64
            matrix = np.empty((self._n_rows, len(positions)), dtype=dtype)
            n_passes = min(12, len(positions))
            for columns in np.array_split(np.arange(len(positions)), n_passes):
                group = np.take(positions, columns).tolist()
                matrix[:, columns] = super().read_matrices({field: group})[field]
            matrices[field] = matrix
        return matrices

    def _read_values(self, column: Any, name: str, row: int) -> NDArray[Any]:
        """The values of a column; dates and times as texts, lists of numbers as a matrix."""
        types = self._types
        kind = column.type
        if name in self._widths:
            return self._lists_to_matrix(column, name, row)
        if types.is_dictionary(kind):
            return self._decode(column, name, row)
        if self._is_list(kind):  # of labels
            values = self._read_values(column.flatten(), name, row)
            lists = []
            for length in column.value_lengths().to_pylist():
                lists.append(None if length is None else values[:length].tolist())
                values = values[length or 0 :]
            return as_column(lists, "text")
        if types.is_decimal(kind):
            column = column.cast("float64")
        elif types.is_temporal(kind):
            column = column.cast("string")
        elif str(kind) == "string_view":  # cells may share a text, which is copied for each of them
            lengths = np.frombuffer(column.buffers()[1], "<i4")[:: _VIEW_BYTES // 4]
            used = lengths[column.offset :][: len(column)]
            self.budget.check(int(used.sum(dtype=float)))
        return column.to_numpy(zero_copy_only=False)

    def _decode(self, column: Any, name: str, row: int) -> NDArray[Any]:
        """The values of a dictionary, each of them once in memory."""
        import pyarrow

        codes = column.indices.fill_null(-1).to_numpy()
        codes, places = np.unique(codes, return_inverse=True)
        used = column.dictionary.take(pyarrow.array(codes, mask=codes < 0))
        return self._read_values(used, name, row)[places]

    def _lists_to_matrix(
        self,
        lists: Any,
        name: str,
        row: int,
    ) -> NDArray[np.float64]:
        """The lists of a column as rows, NaN where there is none."""
        width = self._widths[name]
        for k, length in enumerate(lists.value_lengths().to_pylist()):
            if length not in (None, width):
                problem = f"its list has {length:,} numbers, the first of the column has {width:,}."
                raise TableError(problem, row=row + k, column=name)
        rows = np.full((len(lists), width), np.nan)
        numbers = lists.drop_null().flatten().to_numpy(zero_copy_only=False)
        is_valid = lists.is_valid().to_numpy(zero_copy_only=False)
        rows[is_valid] = numbers.reshape(-1, width)
        return rows

    def _measure_parquet(self) -> list[str]:
        """Find the sizes in the footer, and return the columns of texts."""
        from pyarrow import parquet

        path = self.opened.path
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            # Its objects take 40 times the memory (30,000 columns: 6 MB and 250 MB).
            footer_bytes = int.from_bytes(file.read(4), "little")
            self.budget.check(40 * min(footer_bytes, self.budget.size))
        footer = parquet.read_metadata(path)
        names = set(footer.schema.to_arrow_schema().names)
        roots = []
        texts = {}
        for j in range(footer.num_columns):
            leaf = footer.schema.column(j)
            roots.append(_find_root(leaf.path, names))
            if leaf.logical_type.type == "STRING":
                texts[j] = leaf.path
        for k in range(footer.num_row_groups):
            group = footer.row_group(k)
            self.budget.spend_array(())
            for j, root in enumerate(roots):
                column = group.column(j)
                needed = max(8 * column.num_values, column.total_uncompressed_size)
                self.budget.check(needed)
                self._column_bytes[root] += needed
                if j in texts and "DELTA" in "".join(column.encodings):
                    self._differences.add(root)
        return list(texts.values())

    def _measure_feather(self) -> None:
        """Find the sizes in the headers of the batches: of arrays, and of unpacked buffers."""
        with self.opened.path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = len(data) - 10
        footer = end - struct.unpack_from("<i", data, end)[0]
        table = _FlatTable(data, footer)
        for dictionaries_or_batches in (2, 3):
            for start, prefix_and_head, _ in table.vector(dictionaries_or_batches, "<qi4xq"):
                self.budget.spend_array(())
                has_mark = data[start : start + 4] == b"\xff\xff\xff\xff"
                batch = _FlatTable(data, start + 4 + 4 * has_mark).inner(2)
                if dictionaries_or_batches == 2:
                    batch = batch.inner(1)
                needed = _batch_bytes(batch, start + prefix_and_head)
                self.budget.check(needed)
                self._column_bytes[_ALL_COLUMNS] += needed


def _find_root(path: str, names: set[str]) -> str:
    """The column that a path lies in; a name may contain points."""
    while path not in names and "." in path:
        path = path.rpartition(".")[0]
    return path


def _batch_bytes(batch: "_FlatTable", body: int) -> int:
    is_compressed = batch.field(3) > 0
    total = 0
    for length, _ in batch.vector(1, "<qq"):  # arrays
        total += 8 * abs(length)
    for start, length in batch.vector(2, "<qq"):  # buffers
        total += abs(length)
        # A compressed buffer begins with its length, or -1 if it is as it was.
        if is_compressed and length >= 8:
            total += abs(struct.unpack_from("<q", batch.data, body + start)[0])
    return total


class _FlatTable:
    """A table of a FlatBuffers message, which the headers of Arrow files are."""

    def __init__(self, data: Any, root: int) -> None:
        self.data = data
        self._start = root + struct.unpack_from("<I", data, root)[0]

    def field(self, number: int) -> int:
        """Where a field is; 0 if it is absent."""
        fields = self._start - struct.unpack_from("<i", self.data, self._start)[0]
        place = 4 + 2 * number
        if place >= struct.unpack_from("<H", self.data, fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, fields + place)[0]
        return offset and self._start + offset

    def inner(self, number: int) -> "_FlatTable":
        """A field that is a table."""
        return _FlatTable(self.data, self.field(number))

    def vector(self, number: int, layout: str) -> list[tuple[int, ...]]:
        """A field that is a list of structures."""
        if not (place := self.field(number)):
            return []
        start = place + struct.unpack_from("<I", self.data, place)[0]
        length = struct.unpack_from("<I", self.data, start)[0]
        end = start + 4 + length * struct.calcsize(layout)
        return list(struct.iter_unpack(layout, self.data[start + 4 : end]))


def to_arrow_table(columns: Mapping[str, NDArray[Any]]) -> Any:
    """An Arrow table whose types depend on those of the columns only, not on their values."""
    pyarrow = import_optional("pyarrow", "tables", "Tables")
    arrays = {}
    for name, values in columns.items():
        if values.dtype.kind in "OU":
            arrays[name] = pyarrow.array(values, pyarrow.string(), from_pandas=True)
        else:
            arrays[name] = pyarrow.array(np.ascontiguousarray(values))
    return pyarrow.table(arrays)


def _write_arrow(output: TableOutput, tables: Iterator[Table], format: str) -> None:
    """Write a column table; a data set keeps its origin in the metadata of the schema."""
    from pyarrow import ipc, parquet

    metadata = {META: output.meta} if output.meta else None
    pieces = (to_arrow_table(table).replace_schema_metadata(metadata) for table in tables)
    first = next(pieces)
    open_writer = parquet.ParquetWriter if format == "parquet" else ipc.new_file
    with open_writer(output.file, first.schema) as writer:
        for piece in chain([first], pieces):
            if len(piece):  # the schema is written in any case
                writer.write_table(piece)


def _arrow_format(format: str) -> Format:
    source = partial(_ArrowSource, format=format)
    return Format(format.title(), source, partial(_write_arrow, format=format))


PARQUET = _arrow_format("parquet")
FEATHER = _arrow_format("feather")
