"""Parquet, in batches of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from ldlearn.cli.tables.arrow import arrow_table
from ldlearn.cli.tables.source import CHUNK_ROWS, Kind, Source, broken_as_table_error
from ldlearn.io.values import import_pandas
from ldlearn.models import TableError
from ldlearn.models.table_model import check_distinct


class ParquetSource(Source):
    """A Parquet file; only the columns asked for are read."""

    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        with broken_as_table_error("Parquet"):
            self._file = pq.ParquetFile(file)
            self.names = [str(name) for name in self._file.schema_arrow.names]
            check_distinct(self.names)

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """See `Source.chunks`."""
        pandas = import_pandas()
        row = 1
        with broken_as_table_error("Parquet"):
            self._check_types(list(kinds))
            for batch in self._file.iter_batches(CHUNK_ROWS, columns=list(kinds)):
                frame = _plain_numbers(batch).to_pandas(ignore_metadata=True)[list(kinds)]
                frame.index = pandas.RangeIndex(row, row + len(frame))
                row += len(frame)
                yield frame

    def _check_types(self, names: list[str]) -> None:
        import pyarrow as pa

        for name in names:
            kind = self._file.schema_arrow.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            if not _is_plain(kind):
                raise TableError(f"its type is {kind}; convert it to numbers or texts, or leave it out.", column=name)


def _plain_numbers(batch: Any) -> Any:
    """Decimals as floats; other columns as they are."""
    import pyarrow as pa

    columns = [c.cast(pa.float64()) if pa.types.is_decimal(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_plain(kind: Any) -> bool:
    from pyarrow import types

    names = ("boolean", "integer", "floating", "decimal", "string", "large_string", "string_view", "null")
    return any(getattr(types, f"is_{name}", lambda kind: False)(kind) for name in names)


class ParquetSink:
    """Writes frames as a Parquet file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: Any = None

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""
        import pyarrow.parquet as pq

        table = arrow_table(frame)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, table.schema)
        if len(frame):
            self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer, without which there is no file."""
        if self._writer is not None:
            self._writer.close()
