"""What all tables that are written have in common: rows in pieces, or a whole data set."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.atomic import writing
from ldlearn.tables.content import Content, from_table
from ldlearn.tables.source import CHUNK_ROWS, PIPE, is_gzip

Table = Mapping[str, Any]


class Output:
    """Where a table goes: to a file that is written whole or not at all, or to standard output.

    Parameters
    ----------
    name : str
        The file, or "-" for standard output.
    labels : sequence of str
        Which columns are degrees of labels, for formats that keep them apart.
    mat_version : {"5", "7.3"}, optional
        Version of a .mat file.
    """

    def __init__(self, name: str, labels: Sequence[str] = (), mat_version: str | None = None) -> None:
        self.name, self.labels, self.mat_version = name, list(labels), mat_version
        self.stack = ExitStack()

    @cached_property
    def file(self) -> IO[bytes]:
        """The file, to be written from the first byte to the last."""
        file = sys.stdout.buffer if self.name == PIPE else self.beside(Path(self.name))
        if not is_gzip(self.name):
            return file
        # without a date, so that the same table is the same file
        return cast(IO[bytes], self.stack.enter_context(gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)))

    @cached_property
    def seekable(self) -> IO[bytes]:
        """The same, for formats that go back: what is meant for a pipe is kept aside until `finish`."""
        return self.stack.enter_context(tempfile.TemporaryFile()) if self.name == PIPE else self.file

    def beside(self, path: Path) -> IO[bytes]:
        """A further file of the same table."""
        return self.stack.enter_context(writing(path))

    def finish(self) -> None:
        """Send on what was kept aside."""
        if self.name != PIPE:
            return
        # Asking for the attribute itself would make the file.
        if "seekable" in self.__dict__:
            self.seekable.seek(0)
            shutil.copyfileobj(self.seekable, self.file)
        self.file.flush()


class Sink:
    """A table that is written once. A format implements `write`; `close` and `save` have defaults.

    Parameters
    ----------
    output : Output
    """

    def __init__(self, output: Output) -> None:
        self.output = output

    def write(self, table: Table) -> None:
        """Append rows: a data frame, or any mapping of names to columns."""
        raise NotImplementedError

    def save(self, content: Content) -> None:
        """Write a data set, row by row."""
        self.dense_only(content)
        from sklearn.utils import gen_batches

        # At least one piece, so that a set without rows still has a header.
        for rows in gen_batches(max(content.n_rows, 1), CHUNK_ROWS):
            self.write(content.table(rows))

    def close(self) -> None:
        """Write what is due at the end."""

    def dense_only(self, content: Content) -> None:
        """Refuse sparse features."""
        if scipy.sparse.issparse(content.X):
            raise self.refusal("this format holds no sparse features; use .npz, .mat, .arff or .svm.")

    def refusal(self, problem: str, column: str | None = None) -> TableError:
        """An error about what the format cannot hold."""
        return TableError(problem, column=column, where=self.output.name)


class WholeSink(Sink):
    """A format that is written as a whole: it implements `save`, and rows are kept until the end."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._kept: list[dict[str, NDArray[Any]]] = []

    def write(self, table: Table) -> None:
        """Keep the rows until the end."""
        self._kept.append(columns_of(table))

    def close(self) -> None:
        """Write the rows that were kept."""
        if self._kept:
            joined = {name: np.concatenate([piece[name] for piece in self._kept]) for name in self._kept[0]}
            self.save(from_table(joined, self.output.labels))

    def numbers_only(self, content: Content) -> None:
        """Refuse columns of texts."""
        if content.others:
            problem = "this format holds numbers only; write .csv, .jsonl, .parquet or .npz."
            raise self.refusal(problem, next(iter(content.others)))


def columns_of(table: Table) -> dict[str, NDArray[Any]]:
    """The columns of a frame or mapping as arrays."""
    return {str(name): np.asarray(table[name]) for name in table}
