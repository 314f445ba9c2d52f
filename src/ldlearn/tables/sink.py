"""Where tables are written to, and what formats refuse."""

import gzip
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

import scipy.sparse
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.atomic import writing
from ldlearn.tables.content import Content
from ldlearn.tables.source import PIPE, is_gzip

Table = Mapping[str, NDArray[Any]]  # columns by name


@dataclass
class Output:
    """Where a table goes: to a file that is written whole or not at all, or to standard output.

    Attributes
    ----------
    name : str
        The file, or "-" for standard output.
    meta : str, optional
        Names and origin of a data set, for formats of rows that can keep them.
    stack : ExitStack
        What was opened.
    """

    name: str
    meta: str | None = None
    stack: ExitStack = field(default_factory=ExitStack)

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


def check_dense(output: Output, content: Content) -> None:
    """Refuse sparse features."""
    if scipy.sparse.issparse(content.X):
        raise TableError("this format holds no sparse features; use .npz, .mat, .arff or .svm.", where=output.name)


def check_numbers_only(output: Output, content: Content) -> None:
    """Refuse columns of texts."""
    for name in content.others:
        problem = "this format holds numbers only; write .csv, .jsonl, .parquet or .npz."
        raise TableError(problem, column=name, where=output.name)
