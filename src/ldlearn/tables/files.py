"""Files in and out: opening what is read, with limits, and writing a file whole or not at all."""

import codecs
import errno
import gzip
import hashlib
import io
import json
import math
import os
import secrets
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from ldlearn.exceptions import FileError, LDLearnError, ParameterError, TableError
from ldlearn.tables.options import cli_option

PIPE = "-"
BUFFER_BYTES = 4 << 20  # of a file that is read: what can be looked at before it is parsed

_LIMIT_VARIABLE = "LDLEARN_MAX_BYTES"
_LARGEST_LIMIT = 16 << 30
_SMALL_FILE = 10 << 20
# Twice this and the 240 MB of the process itself are 500 MB. The largest of the usual data sets,
# Movie, takes 116 MB.
_SMALL_TABLE = 128 << 20
# Deflate reaches 1,032 to 1; real data of mostly zeros stay below 200 (the Movie set has 170).
_EXPANSION_LIMIT = 250
# Measured: a name in all places where it is kept, and 75 microseconds of work.
_COLUMN_BYTES = 1 << 10
_ARRAY_BYTES = 16 << 10  # not of memory: opening each takes up to 0.3 ms
_JSON_VALUE_BYTES = 90  # an empty object in a list
STREAMED = 4  # times the limit: what is read in pieces that are not kept, or overestimated
_SEPARATOR_NAMES = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "space": " ",
}

FilePath = str | os.PathLike[str]
_OnAmount = Callable[[int], None]
OnMessage = Callable[[str], None]
# Begins a task, as `no_progress` does; what it yields is called with every amount of work done.
_Progress = Callable[..., AbstractContextManager[_OnAmount]]


def report_nothing(_: object) -> None:
    """Ignore an amount of work, or a message."""


@contextmanager
def no_progress(
    task: str,
    total: int | None,
    *,
    is_bytes: bool = False,
) -> Iterator[_OnAmount]:
    """Report nothing about a task of this size; None if that is unknown."""
    yield report_nothing


def issue_warning(sentence: str) -> None:
    """Report a message as a warning."""
    warnings.warn(sentence, UserWarning, stacklevel=2)


@dataclass(eq=False)
class Budget:
    """The memory that a table may take, which follows from the size of its file.

    A file of up to 10 MB may become a table of 128 MB, and every further byte 250 bytes. Whoever
    reads a file asks here *before* memory is allocated.

    Attributes
    ----------
    size : int
        Bytes of the file, as far as they are known.
    max_bytes : int or None
        The limit that the user gives, instead of the one that follows from the size.
    spent : int
        Bytes of what has been read and is kept.
    """

    size: int = 0
    max_bytes: int | None = None
    spent: int = 0

    @property
    def limit(self) -> int:
        """Bytes."""
        if self.max_bytes is not None:
            return self.max_bytes
        if given := os.environ.get(_LIMIT_VARIABLE):
            if not given.isdecimal():
                raise ParameterError(f"{_LIMIT_VARIABLE} must be a number of bytes, got {given!r}.")
            return int(given)
        further = max(0, self.size - _SMALL_FILE)
        return min(_LARGEST_LIMIT, _SMALL_TABLE + _EXPANSION_LIMIT * further)

    def check(self, needed: int, times: int = 1) -> None:
        """Refuse to take so many bytes, if they are more than some times the limit."""
        limit = times * self.limit
        if needed <= limit:
            return
        problem = f"it would take {needed:,} bytes of memory, more than the limit {limit:,}"
        remedy = f"raise max_bytes (in a shell: {_LIMIT_VARIABLE}={needed}) if that is intended"
        raise TableError(f"{problem} of a file of {self.size:,} bytes; {remedy}.")

    def spend(self, needed: int) -> None:
        """Refuse to take so many bytes beside those that were spent before."""
        self.spent += needed
        self.check(self.spent)

    def spend_array(self, shape: Sequence[int], item_bytes: int = 8) -> None:
        """Refuse an array of this shape beside what was spent before."""
        # An empty array costs nothing itself, but what is made of it would; numbers become floats.
        cells = math.prod(max(1, length) for length in shape)
        self.spend(_ARRAY_BYTES + max(8, item_bytes) * cells)

    def check_columns(self, count: int, more_bytes: int = 0) -> None:
        """Refuse so many columns; ``more_bytes`` if they cost more than others."""
        try:
            self.check(count * (_COLUMN_BYTES + more_bytes))
        except TableError as error:
            raise TableError(f"it has {count:,} columns; {error}") from None

    def check_table(self, n_rows: int, n_columns: int) -> None:
        """Refuse a table of Python objects of this size."""
        self.check_columns(n_columns)
        self.check(16 * n_rows * n_columns)

    def parse_json(self, text: str | bytes) -> Any:
        """What a JSON text holds, after its values and characters have been counted."""
        if isinstance(text, str):
            text = text.encode(errors="surrogatepass")
        n_values = text.count(b",") + text.count(b"[") + text.count(b"{")
        self.spent += len(text) + _JSON_VALUE_BYTES * n_values
        self.check(self.spent, STREAMED)

        def parse_integer(digits: str) -> float:
            # Longer ones become infinite, which later checks refuse; pandas cannot hold them.
            return int(digits) if len(digits) < 300 else float(digits)

        return json.loads(text, parse_int=parse_integer)


def find_label_file(labels: object) -> str | None:
    """The NumPy file of labels that a choice of label columns names instead; None if none."""
    if isinstance(labels, str | os.PathLike) and os.fspath(labels).endswith(".npy"):
        return os.fspath(labels)
    return None


NO_LIMIT = Budget(max_bytes=1 << 62)


@dataclass(frozen=True)
class Dialect:
    """Dialect of a text table as far as it is given; None where it is found in the first rows.

    Attributes
    ----------
    delimiter : str or None
        What separates the columns: a character, or one of the words comma, semicolon, tab, bar,
        space.
    decimal : {".", ","} or None
        What stands before the fraction of a number.
    encoding : str or None
        Any name that Python knows, such as "utf-8" or "cp1252".
    """

    delimiter: str | None = cli_option("CHAR", "Column separator; default: detected.")
    decimal: str | None = cli_option("CHAR", "Decimal mark, . or ,; default: detected.")
    encoding: str | None = cli_option("NAME", "Text encoding; default: detected.")

    def __post_init__(self) -> None:
        delimiter = _SEPARATOR_NAMES.get(self.delimiter or "", self.delimiter)
        object.__setattr__(self, "delimiter", delimiter)
        if delimiter is not None and len(delimiter) != 1:
            names = ", ".join(_SEPARATOR_NAMES)
            raise ParameterError(
                f"The delimiter must be one character or {names}, got {delimiter!r}."
            )
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"The decimal mark must be '.' or ',', got {self.decimal!r}.")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            advice = "usual ones are utf-8, cp1252, utf-16."
            raise ParameterError(f"There is no encoding {self.encoding!r}; {advice}") from None


@dataclass(frozen=True)
class ReadingOptions:
    """How a table is read, and where messages and progress are reported.

    Attributes
    ----------
    format : str, optional
        Format of the file, if it cannot be inferred from its name.
    dialect : Dialect
        Separator, decimal mark and encoding of a text table; they are detected if not given.
    on_message : callable, optional
        Called with messages about anything unusual in the file; by default they become warnings.
    progress : callable
        Reports the progress of reading; see `ldlearn.tables.files.no_progress`.
    max_bytes : int, optional
        The largest number of bytes that the table may take; by default it follows from the size of
        the file.
    """

    format: str | None = cli_option("FMT", "Format of standard input; default csv.", None, "--from")
    dialect: Dialect = Dialect()
    on_message: OnMessage | None = None
    progress: _Progress = no_progress
    max_bytes: int | None = None


@dataclass(frozen=True)
class TableInput:
    """A table to read: a file, standard input, or a data frame.

    It is opened by `ldlearn.tables.formats.open_table`.

    Attributes
    ----------
    table : str or DataFrame
        The file, "-" for standard input, or the table itself.
    reading : ReadingOptions
    likely_decimal : {".", ","}
        The decimal mark of a text table, if it cannot be inferred from the numbers.
    label_file : str, optional
        A file of labels, which are joined to the columns of a NumPy array.
    list_column : str, optional
        The only label column, which may hold lists: 2,9 is no number there.
    """

    table: Any
    reading: ReadingOptions = ReadingOptions()
    likely_decimal: str = "."
    label_file: str | None = None
    list_column: str | None = None

    @property
    def where(self) -> str:
        """The name of the table in messages."""
        if not isinstance(self.table, str):
            return "table"
        return "standard input" if self.table == PIPE else self.table

    @property
    def has_path(self) -> bool:
        """Whether it is a file or a named pipe."""
        return isinstance(self.table, str) and self.table != PIPE

    def log(self, message: str) -> None:
        """Report something unusual about a file."""
        if isinstance(self.table, str):
            (self.reading.on_message or issue_warning)(f"{self.where}: {message}.")


@dataclass(frozen=True)
class OpenInput:
    """An open table: its bytes, and the memory that it may take.

    Attributes
    ----------
    input : TableInput
    title : str
        What the format is called in messages.
    on_progress : callable
        Called with the number of bytes of every read.
    stack : ExitStack
        What was opened.
    """

    input: TableInput
    title: str = "a table"
    on_progress: _OnAmount = report_nothing
    stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def file(self) -> io.BufferedReader:
        """The bytes, from the first to the last; those of a packed file are unpacked."""
        raw: Any
        if self.input.has_path:
            raw = self.stack.enter_context(self.path.open("rb", buffering=0))
        elif sys.stdin is None:
            raise FileError("standard input: it is closed; name a file.")
        else:
            raw = sys.stdin.buffer

        def count_bytes(amount: int, total: int) -> None:
            self.budget.size = max(self.budget.size, total)  # which is not known of a pipe
            self.on_progress(amount)

        def check_unpacked(_: int, total: int) -> None:
            self.budget.check(total, STREAMED)

        file: Any = io.BufferedReader(_CountedReads(raw, count_bytes), BUFFER_BYTES)
        if is_gzip(self.input.table):
            unpacked = _CountedReads(gzip.GzipFile(fileobj=file), check_unpacked)
            file = io.BufferedReader(unpacked, BUFFER_BYTES)
        return file

    @cached_property
    def budget(self) -> Budget:
        """What the table may take; there is no limit for one that is in memory."""
        if not isinstance(self.input.table, str):
            return NO_LIMIT
        is_known = self.input.has_path and os.path.isfile(self.input.table)
        size = os.path.getsize(self.input.table) if is_known else 0
        return Budget(size, self.input.reading.max_bytes)

    @cached_property
    def path(self) -> Path:
        """A file that can be read from its end; a pipe, which has none, is copied first."""
        if self.input.has_path:
            path = Path(self.input.table)
            if path.is_dir():
                raise FileError(f"{path}: it is a folder, not a table.")
            if not path.exists():
                raise FileError(f"{path}: there is no such file.")
            return path
        spooled = tempfile.NamedTemporaryFile(prefix="ldlearn-")  # noqa: SIM115
        self.stack.enter_context(spooled)
        shutil.copyfileobj(self.file, spooled)
        spooled.flush()
        return Path(spooled.name)

    @contextmanager
    def convert_errors(self) -> Iterator[None]:
        """Turn whatever goes wrong while the file is read into one sentence that names the file.

        Parsers of foreign formats raise many kinds of exceptions on broken files; the caller needs
        one.
        """
        where = self.input.where
        try:
            with prefix_errors(where), convert_os_errors(where, "read"):
                yield
        # These contain their remedy; a missing package is no fault of the file.
        except (LDLearnError, ImportError):
            raise
        except UnicodeError:
            encoding = self.input.reading.dialect.encoding or "UTF-8"
            problem = f"its text is not {encoding}; name its encoding (encoding=, --encoding)."
            raise TableError(problem, where=where) from None
        except Exception as error:
            reason = " ".join(str(error).split())[:160] or type(error).__name__
            problem = f"it cannot be read as {self.title}: {reason}"
            raise TableError(problem, where=where) from error


class _CountedReads(io.RawIOBase):
    """The bytes of another file; every read reports their number, and that of all so far."""

    def __init__(self, file: Any, on_read: Callable[[int, int], None]) -> None:
        self._file = file
        self._on_read = on_read
        self._total = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._total += count
        self._on_read(count, self._total)
        return count


def is_gzip(name: str) -> bool:
    """Whether a file is packed, by its name."""
    return name.lower().endswith(".gz")


@contextmanager
def prefix_errors(where: str) -> Iterator[None]:
    """Put the name of the file before the message of a `TableError`."""
    try:
        yield
    except TableError as error:
        raise error.with_file(where) from None


@contextmanager
def convert_os_errors(path: FilePath, action: str) -> Iterator[None]:
    """Turn an error of the system into a `FileError`; ``action`` is "read" or "written".

    A broken pipe stays what it is: that the reader has left is no fault of the file.
    """
    try:
        yield
    except (LDLearnError, BrokenPipeError):
        raise
    except OSError as error:
        if error.errno in (None, errno.EINVAL):  # not of the system: parsers of broken files end so
            raise
        reason = (error.strerror or type(error).__name__).lower()
        raise FileError(f"{os.fspath(path)}: it cannot be {action} ({reason}).") from error


@dataclass
class TableOutput:
    """Where a table goes: to a file that is written whole or not at all, or to standard output.

    Attributes
    ----------
    name : str
        The file, or "-" for standard output.
    meta : str, optional
        Names and origin of a data set, for formats of rows that can keep them.
    raw : bool
        Whether names and texts are written unchanged, formulas too.
    stack : ExitStack
        What was opened.
    """

    name: str
    meta: str | None = None
    raw: bool = False
    stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def file(self) -> IO[bytes]:
        """The file, to be written from the first byte to the last."""
        file = sys.stdout.buffer if self.name == PIPE else self.open_sibling(Path(self.name))
        if not is_gzip(self.name):
            return file
        # without a date, so that the same table is the same file
        packed: Any = gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0)
        return self.stack.enter_context(packed)

    def open_sibling(self, path: Path) -> IO[bytes]:
        """A further file of the same table."""
        return self.stack.enter_context(atomic_write(path))

    def save(self, write: Callable[[IO[bytes]], object]) -> None:
        """Write by a function that also goes back in the file, which a pipe cannot do."""
        with tempfile.TemporaryFile() as draft:
            write(draft)
            draft.seek(0)
            shutil.copyfileobj(draft, self.file)


@contextmanager
def atomic_write(path: FilePath) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends without an error.

    The draft lies in the same folder, because only a rename within one file system is atomic. What
    is no file, such as a named pipe or /dev/null, is written to directly and never replaced.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    FileError
        If the system does not let the file be written: no space, no permission, no such folder.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing where it points
    with convert_os_errors(path, "written"):
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        draft = target.with_name(f".{target.name[:40]}-{secrets.token_hex(8)}.part")
        try:  # around the making of it too: Ctrl-C may come at once
            # An incomplete file is closed to others.
            with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                yield file
                # On disk before the rename: a crash after it must not find an empty file under the
                # name.
                file.flush()
                os.fsync(file.fileno())
            os.chmod(draft, _permissions(target))
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise


def write_file(path: FilePath, content: str | bytes) -> Path:
    """Write a whole file, or leave what was there; a text is written as UTF-8."""
    if isinstance(content, str):
        # Names of files that are no UTF-8 hold halves of characters.
        content = content.encode(errors="backslashreplace")
    with atomic_write(path) as file:
        file.write(content)
    return Path(path)


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, or those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    # There is no portable way to ask for it but to set it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
