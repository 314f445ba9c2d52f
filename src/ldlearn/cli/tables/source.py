"""What all kinds of tables have in common: names of columns, and rows that come in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Literal

from ldlearn.io.values import import_pandas
from ldlearn.models import TableError

Kind = Literal["number", "text", "any"]
CHUNK_ROWS = 8192
CHUNK_BYTES = 16 << 20


class CountedFile:
    """A binary file that counts what has been read; all that the readers need of a file, pipes included."""

    def __init__(self, file: IO[bytes], told: Callable[[int], None] | None = None) -> None:
        self._file, self._told = file, told
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes."""
        return self._count(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        """Read a line of up to ``size`` bytes."""
        return self._count(self._file.readline(size))

    def _count(self, data: bytes) -> bytes:
        if self._told is not None and data:
            self._told(len(data))
        return data

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def seekable(self) -> bool:
        """Whether one can go back: never."""
        return False

    def close(self) -> None:
        """Leave closing to whoever opened the file."""


class Source:
    """A table that is read once, from the first row to the last.

    Attributes
    ----------
    names : list of str
        The columns.
    """

    names: list[str]

    def chunks(self, kinds: Mapping[str, Kind]) -> Iterator[Any]:
        """Data frames with the columns in ``kinds``; their index counts rows from 1 (a header is no row).

        Numbers come as floats; texts and "any" as whatever the file holds.
        """
        raise NotImplementedError

    def read(self, kinds: Mapping[str, Kind]) -> Any:
        """All rows in one frame."""
        pandas = import_pandas()
        parts = list(self.chunks(kinds))
        if not parts:
            return pandas.DataFrame({name: [] for name in kinds})
        return pandas.concat(parts)


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Put the name of the file before the message of a `TableError`."""
    try:
        yield
    except TableError as error:
        raise error.within(where) from None


@contextmanager
def broken_as_table_error(what: str) -> Iterator[None]:
    """Turn whatever a parser raises on a broken file into a `TableError`."""
    try:
        yield
    except (TableError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the content
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        raise TableError(f"it cannot be read as {what}: {reason}") from None
