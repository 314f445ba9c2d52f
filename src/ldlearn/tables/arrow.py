"""Column tables: .parquet and .feather, in batches of rows."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.exceptions import TableError, import_optional
from ldlearn.tables.columns import check_distinct, find_marked_labels
from ldlearn.tables.files import MOST_NAMES, Input, Output, check_memory_limit
from ldlearn.tables.formats import META, Format, Table, parse_meta
from ldlearn.tables.source import CHUNK_ROWS, Kind, Source, as_column, make_frame

_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")  # an index without a name, which is no column
_TEXTS = ("string", "large_string", "string_view", "null", "bool")


class ArrowSource(Source):
    """A column table; only the columns asked for are read. A column of lists of numbers becomes several."""

    def __init__(self, input: Input, format: str) -> None:
        super().__init__(input)
        self._types = import_optional("pyarrow", "tables", "Tables").types
        from pyarrow import dataset

        # Without buffers: a damaged page would get one of the size that it announces.
        options = dataset.ParquetFileFormat(pre_buffer=False) if format == "parquet" else format
        self._file = dataset.dataset(str(input.path), format=options)
        self._n_rows = self._file.count_rows()
        check_distinct(self._file.schema.names)
        self.names = []
        self._file_columns: list[tuple[str, int | None]] = []  # column of the file, and position in its lists
        self._widths: dict[str, int] = {}  # lengths of lists
        for field in self._file.schema:
            if not _INDEX_OF_PANDAS.fullmatch(field.name):
                self._add_column(field.name, field.type)
        self.labels, self.texts = self._read_meta()

    def _add_column(self, name: str, kind: Any) -> None:
        types = self._types
        if not self._is_list(kind) or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
            self.names.append(name)
            self._file_columns.append((name, None))
            return
        first: Any = next((batch.column(0).drop_null() for batch in self._batches([name])), [])
        width = kind.list_size if types.is_fixed_size_list(kind) else len(first[0]) if len(first) else 0
        if not 1 <= width <= MOST_NAMES:
            raise TableError(f"its first list has {width:,} numbers.", column=name)
        self._widths[name] = width
        self._file_columns += [(name, k) for k in range(width)]
        self.names += [f"{name}_{k}" for k in range(width)]

    def _is_list(self, kind: Any) -> bool:
        types = self._types
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def _read_meta(self) -> tuple[dict[str, list[int]], Mapping[str, str]]:
        """Labels and origin of a data set that this library wrote."""
        text = (self._file.schema.metadata or {}).get(META.encode())
        if text is None:
            return find_marked_labels(self.names), {}
        meta = parse_meta(text.decode())
        m, c = len(meta["feature_names"]), len(meta["label_names"])
        if len(self.names) != m + c * len(meta["fields"]):
            return find_marked_labels(self.names), meta["texts"]
        return {f: list(range(m + k * c, m + (k + 1) * c)) for k, f in enumerate(meta["fields"])}, meta["texts"]

    def blocks(self, kinds: Mapping[int, Kind]) -> Iterator[Any]:
        """See `Source.blocks`."""
        wanted, row = list(dict.fromkeys(self._file_columns[i][0] for i in kinds)), 1
        for batch in self._batches(wanted):
            arrays = {name: self._read_values(batch.column(name), name, row) for name in wanted}
            places = ((i, *self._file_columns[i]) for i in kinds)
            yield make_frame({i: arrays[name] if k is None else arrays[name][:, k] for i, name, k in places}, row)
            row += batch.num_rows
            self.input.on_progress(self.input.size * batch.num_rows // max(self._n_rows, 1))
        if row - 1 != self._n_rows:
            raise TableError(f"it announces {self._n_rows:,} rows and holds another number.")

    def _batches(self, names: list[str]) -> Iterator[Any]:
        options = {"use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
        return iter(self._file.to_batches(columns=names, batch_size=CHUNK_ROWS, **options))

    def read_matrices(self, groups: Mapping[str, list[int]]) -> dict[str, Any]:
        """See `Source.read_matrices`.

        In passes over a twelfth of the columns: Parquet's reader keeps some of every column that it is asked for, and
        one pass over a file of 50,000 x 105 numbers took 6.5 times the memory of the result.
        """
        matrices = {}
        for field, positions in groups.items():
            check_memory_limit(8 * self._n_rows * len(positions), self.input.max_bytes)
            types = {str(self._file.schema.field(self._file_columns[i][0]).type) for i in positions}
            dtype = np.float32 if types == {"float"} else np.float64
            matrices[field] = np.empty((self._n_rows, len(positions)), dtype=dtype)
            for columns in np.array_split(np.arange(len(positions)), min(12, len(positions))):
                some = super().read_matrices({field: [positions[j] for j in columns]})
                matrices[field][:, columns] = some[field]
        return matrices

    def _read_values(self, column: Any, name: str, row: int) -> NDArray[Any]:
        """The values of a column; dates and times as texts, lists of numbers as a matrix."""
        types = self._types
        column = column.dictionary_decode() if types.is_dictionary(column.type) else column
        kind = column.type
        if name in self._widths:
            return self._lists_to_matrix(column, name, row)
        if self._is_list(kind) and not types.is_nested(kind.value_type):  # of labels
            return as_column(column.to_pylist(), "text")
        if types.is_decimal(kind):
            column = column.cast("float64")
        elif types.is_temporal(kind):
            column = column.cast("string")
        elif str(kind) not in _TEXTS and not types.is_integer(kind) and not types.is_floating(kind):
            raise TableError(f"its type is {kind}; convert it to numbers or texts, or leave it out.", column=name)
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values

    def _lists_to_matrix(self, lists: Any, name: str, row: int) -> NDArray[np.float64]:
        """The lists of a column as rows, NaN where there is none."""
        from pyarrow import compute

        width = self._widths[name]
        lengths = compute.fill_null(compute.list_value_length(lists), width).to_numpy(zero_copy_only=False)
        if (lengths != width).any():
            k = int(np.argmax(lengths != width))
            problem = f"its list has {lengths[k]:,} numbers, the first of the column has {width:,}."
            raise TableError(problem, row=row + k, column=name)
        rows = np.full((len(lists), width), np.nan)
        numbers = lists.drop_null().flatten().to_numpy(zero_copy_only=False)
        rows[lists.is_valid().to_numpy(zero_copy_only=False)] = numbers.reshape(-1, width)
        return rows


def to_arrow_table(columns: Mapping[str, NDArray[Any]]) -> Any:
    """An Arrow table whose types depend on those of the columns only, so that empty and full pieces agree."""
    pa = import_optional("pyarrow", "tables", "Tables")
    texts = {name: values.dtype.kind in "OU" for name, values in columns.items()}
    arrays = [
        pa.array(values, pa.string(), from_pandas=True) if texts[name] else pa.array(np.ascontiguousarray(values))
        for name, values in columns.items()
    ]
    return pa.table(arrays, names=list(columns))


def _write_arrow(output: Output, tables: Iterator[Table], format: str) -> None:
    """Write a column table; a data set keeps its origin in the metadata of the schema."""
    from pyarrow import ipc, parquet

    metadata = {META: output.meta} if output.meta else None
    pieces = (to_arrow_table(table).replace_schema_metadata(metadata) for table in tables)
    first = next(pieces)
    with (parquet.ParquetWriter if format == "parquet" else ipc.new_file)(output.file, first.schema) as writer:
        for piece in chain([first], pieces):
            if len(piece):  # the schema is written in any case
                writer.write_table(piece)


PARQUET = Format("Parquet", partial(ArrowSource, format="parquet"), partial(_write_arrow, format="parquet"))
FEATHER = Format("Feather", partial(ArrowSource, format="feather"), partial(_write_arrow, format="feather"))
