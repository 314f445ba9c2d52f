"""Tables of rows and named columns, read in pieces and written atomically; the suffix tells the format."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from ldlearn.cli.tables.delimited import DelimitedSink, DelimitedSource
from ldlearn.cli.tables.jsonl import JsonLinesSink, JsonLinesSource
from ldlearn.cli.tables.npz import NpzSink, NpzSource
from ldlearn.cli.tables.parquet import ParquetSink, ParquetSource
from ldlearn.cli.tables.source import CountedFile, Source, naming
from ldlearn.io.atomic import writing
from ldlearn.io.values import import_pandas
from ldlearn.models import TableError

__all__ = ["FORMATS", "Sink", "Source", "check_output", "format_of", "naming", "open_output", "open_table"]

PIPE = "-"
FORMATS = ("csv", "tsv", "jsonl", "parquet", "npz")


class Sink(Protocol):
    """Something frames are written to."""

    def write(self, frame: Any) -> None:
        """Append the rows of a frame."""

    def close(self) -> None:
        """Write what is due at the end."""


def format_of(name: str, given: str | None, default: str = "csv") -> str:
    """The format of a table: the one given, that of the suffix, or the default for a pipe."""
    if given is not None:
        return given
    if name == PIPE:
        return default
    suffix = Path(name).suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise TableError(f"{name}: the suffix {'.' + suffix!r} is none of {', '.join('.' + f for f in FORMATS)}.")
    return suffix


@contextmanager
def open_table(name: str, given: str | None = None, told: Callable[[int], None] | None = None) -> Iterator[Source]:
    """A table to read, from a file or, for "-", from standard input.

    Parameters
    ----------
    name : str
        The file, or "-".
    given : str, optional
        The format, if the suffix does not tell.
    told : callable, optional
        Is told the number of bytes of every read.
    """
    format, where = format_of(name, given), "standard input" if name == PIPE else name
    _need_pyarrow()
    with ExitStack() as stack:
        file = sys.stdin.buffer if name == PIPE else stack.enter_context(_open(name))
        with naming(where):
            yield _source(file, name, format, told, stack)


def _open(name: str) -> IO[bytes]:
    path = Path(name)
    if path.is_dir():
        raise TableError(f"{name}: it is a folder, not a table.")
    if not path.exists():
        raise TableError(f"{name}: there is no such file.")
    return path.open("rb")


def _source(file: IO[bytes], name: str, format: str, told: Callable[[int], None] | None, stack: ExitStack) -> Source:
    if format in ("csv", "tsv"):
        return DelimitedSource(CountedFile(file, told), "," if format == "csv" else "\t")
    if format == "jsonl":
        return JsonLinesSource(CountedFile(file, told))
    if name == PIPE:
        # these formats are read from their end, which a pipe does not have yet
        spooled = tempfile.NamedTemporaryFile(prefix="ldlearn-", suffix=f".{format}")  # noqa: SIM115
        stack.enter_context(spooled)
        shutil.copyfileobj(file, spooled)
        spooled.seek(0)
        file, name = spooled, spooled.name
    return ParquetSource(file) if format == "parquet" else NpzSource(Path(name))


def check_output(name: str) -> None:
    """Refuse a place that cannot be written to, before the work that would be lost."""
    if name == PIPE:
        return
    path = Path(name)
    if path.is_dir():
        raise TableError(f"{name}: it is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise TableError(f"{name}: the folder {str(path.parent)!r} does not exist; make it first.")


@contextmanager
def open_output(name: str, labels: Sequence[str], given: str | None = None) -> Iterator[Sink]:
    """A table to write, complete or not at all; to standard output for "-"."""
    format = format_of(name, given)
    if name == PIPE:
        sink = _sink(sys.stdout.buffer, format, labels)
        yield sink
        sink.close()
        sys.stdout.buffer.flush()
        return
    with writing(Path(name)) as file:
        sink = _sink(file, format, labels)
        yield sink
        sink.close()


def _sink(file: IO[bytes], format: str, labels: Sequence[str]) -> Sink:
    if format in ("csv", "tsv"):
        return DelimitedSink(file, "," if format == "csv" else "\t")
    if format == "jsonl":
        return JsonLinesSink(file)
    return ParquetSink(file) if format == "parquet" else NpzSink(file, labels)


def _need_pyarrow() -> None:
    import_pandas()
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError('Tables need pandas and pyarrow: pip install "ldlearn[io]".') from None
