"""Column tables: .parquet and .feather, read in blocks into one array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.columns import Columns, choose_columns, find_columns, headings
from ldlearn.datasets.formats.content import KIND_OF_FIELD, META, Content, distinct, matrices, meta_of, parse_meta
from ldlearn.datasets.formats.limits import check_total
from ldlearn.errors import DatasetError

_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")
_BLOCK_ROWS = 1 << 15
_PASSES = 12


def import_pyarrow() -> Any:
    """Import the package pyarrow, or say what to install."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Parquet and Feather need the package pyarrow: pip install "ldlearn[io]".') from error
    return pyarrow


def read_arrow(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of a column table.

    Blocks of rows are copied into arrays that exist from the beginning, so that the memory needed is that
    of the result and of one block.
    """
    pyarrow = import_pyarrow()
    table = _Parquet(pyarrow, path) if path.suffix.lower() == ".parquet" else _Feather(pyarrow, path)
    try:
        return _read(pyarrow, table, path, features, labels, max_bytes)
    finally:
        table.close()


def _read(pyarrow: Any, table: Any, path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    schema = table.schema
    names = [_INDEX_OF_PANDAS.sub("", name) for name in schema.names]
    if features is None and labels is not None:
        features = _without(names, find_columns(names, labels, str(path)))
    choice = choose_columns(names, features, labels, str(path))
    parts = {"X": choice.features, **choice.labels}
    arrays = {
        field: np.empty((table.n_rows, len(positions)), dtype=_common_dtype(pyarrow, schema, positions, path))
        for field, positions in parts.items()
    }
    check_total(sum(array.nbytes for array in arrays.values()), max_bytes, path)
    _fill(arrays, parts, table, path)
    meta = _own_meta(schema, choice.feature_names, choice.label_names)
    return Content(
        X=arrays.pop("X"),
        labels={KIND_OF_FIELD.get(field, "auto"): array for field, array in arrays.items()},
        feature_names=choice.feature_names,
        label_names=choice.label_names,
        texts=meta,
    )


def _without(names: list[str], labels: list[int]) -> Columns:
    """All columns but the labels and what pandas stores of its index."""
    return [i for i, name in enumerate(names) if name and i not in labels]


def _own_meta(schema: Any, feature_names: list[str], label_names: list[str]) -> dict[str, str]:
    """Origin of a set that this library wrote, if all of it was chosen."""
    text = (schema.metadata or {}).get(META.encode())
    if text is None:
        return {}
    meta = parse_meta(text.decode())
    same = meta["feature_names"] == feature_names and meta["label_names"] == label_names
    texts: dict[str, str] = meta["texts"] if same else {}
    return texts


def _common_dtype(pyarrow: Any, schema: Any, positions: list[int], path: Path) -> np.dtype[Any]:
    """float32 if all columns are, else float64; only numbers and booleans will do."""
    kinds = pyarrow.types
    types = [schema.field(i).type for i in positions]
    for i, kind in zip(positions, types, strict=True):
        numeric = kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)
        if not numeric and not kinds.is_null(kind):
            raise DatasetError(
                f"{path}: the column {schema.names[i]!r} holds {kind}, not numbers; leave it out by features=."
            )
    only_single = all(kinds.is_float32(kind) for kind in types)
    return np.dtype(np.float32 if only_single else np.float64)


def _fill(arrays: dict[str, NDArray[Any]], parts: dict[str, list[int]], table: Any, path: Path) -> None:
    """Copy the columns, a few at a time: a reader holds some of every column it is asked for."""
    targets = [(column, field, k) for field, positions in parts.items() for k, column in enumerate(positions)]
    targets.sort()
    width = max(1, len(targets) // _PASSES)
    for first in range(0, len(targets), width):
        group = targets[first : first + width]
        start = 0
        for block in table.blocks([column for column, _, _ in group]):
            stop = start + block.num_rows
            if stop > table.n_rows:
                break
            for place, (_, field, k) in enumerate(group):
                arrays[field][start:stop, k] = block.column(place).to_numpy(zero_copy_only=False)
            start = stop
        if start != table.n_rows:
            raise DatasetError(f"{path} announces {table.n_rows:,} rows and holds another number.")


class _Parquet:
    """A .parquet file as blocks of rows."""

    def __init__(self, pyarrow: Any, path: Path) -> None:
        # no buffering within a column: pages that announce absurd sizes would be given a buffer of that size
        self.file = pyarrow.parquet.ParquetFile(path, memory_map=False, buffer_size=0, pre_buffer=False)
        self.schema = self.file.schema_arrow
        # of the metadata only these counts are read: asking for those of a column can abort the process
        self.n_rows = self.file.metadata.num_rows
        if len(self.schema.names) != self.file.metadata.num_columns:
            raise DatasetError(f"{path} holds nested columns.")

    def blocks(self, columns: list[int]) -> Iterator[Any]:
        # names may occur twice, so columns are asked for by position
        reader = self.file.reader
        for group in range(self.file.metadata.num_row_groups):
            yield from reader.iter_batches(_BLOCK_ROWS, row_groups=[group], column_indices=columns, use_threads=False)

    def close(self) -> None:
        self.file.close()


class _Feather:
    """A .feather file (Arrow IPC) as its record batches."""

    def __init__(self, pyarrow: Any, path: Path) -> None:
        self.source = pyarrow.memory_map(str(path))
        self.pyarrow = pyarrow
        self.file = pyarrow.ipc.open_file(self.source)
        self.schema = self.file.schema
        self.n_rows = sum(self.file.get_batch(i).num_rows for i in range(self.file.num_record_batches))

    def blocks(self, columns: list[int]) -> Iterator[Any]:
        options = self.pyarrow.ipc.IpcReadOptions(included_fields=columns, use_threads=False)
        file = self.pyarrow.ipc.open_file(self.source, options=options)
        for i in range(file.num_record_batches):
            yield file.get_batch(i)

    def close(self) -> None:
        self.source.close()


def write_arrow(data: LabelDataset, path: Path) -> None:
    """Write a data set as a column table, with its origin in the metadata of the schema."""
    pyarrow = import_pyarrow()
    labels = matrices(data)
    names = distinct(headings(data.feature_names, data.label_names, list(labels)))
    columns = [column for matrix in (data.X, *labels.values()) for column in np.asarray(matrix).T]
    table = pyarrow.table([pyarrow.array(column) for column in columns], names=list(names))
    table = table.replace_schema_metadata({META: meta_of(data)})
    if path.suffix.lower() == ".parquet":
        pyarrow.parquet.write_table(table, path)
        return
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=_BLOCK_ROWS)
