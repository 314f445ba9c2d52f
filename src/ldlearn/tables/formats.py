"""The formats by ending, and opening a table to read or to write."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.exceptions import FileError, TableError
from ldlearn.tables.columns import check_distinct
from ldlearn.tables.content import Content, from_pieces
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.limits import DEFAULT_MAX_BYTES
from ldlearn.tables.sink import Output, Table, check_dense
from ldlearn.tables.source import PIPE, Input, OnMessage, OnProgress, Source, is_gzip, reading, warn

# Ending of a file: module and name of its `Format`. A new format is one file and one line here, and then works in
# read_dataset, write_dataset and every command. Modules are imported when their format is met.
FORMATS = {
    "csv": "ldlearn.tables.delimited:CSV",
    "tsv": "ldlearn.tables.delimited:TSV",
    "jsonl": "ldlearn.tables.json_tables:JSONL",
    "json": "ldlearn.tables.json_tables:JSON",
    "parquet": "ldlearn.tables.arrow:PARQUET",
    "feather": "ldlearn.tables.arrow:FEATHER",
    "npz": "ldlearn.tables.npz:NPZ",
    "npy": "ldlearn.tables.npz:NPY",
    "mat": "ldlearn.tables.mat:MAT",
    "xlsx": "ldlearn.tables.excel:EXCEL",
    "arff": "ldlearn.tables.arff:ARFF",
    "svm": "ldlearn.tables.libsvm:LIBSVM",
    "libsvm": "ldlearn.tables.libsvm:LIBSVM",
    "svmlight": "ldlearn.tables.libsvm:LIBSVM",
}

_FIRST_COLUMN = "column0"
_PLAIN_TEXTS = (".txt", ".dat", ".data", ".tab", "")
_OTHER_SPREADSHEETS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # nothing can be moved to their place


@dataclass(frozen=True)
class Format:
    """How a kind of file is read and written.

    Attributes
    ----------
    title : str
        What it is called in messages.
    source : callable
        Makes a `Source` of an `Input`.
    write_rows : callable, optional
        Writes tables of the same columns, one after the other, to an `Output`.
    write_content : callable, optional
        Writes a `Content`: for formats that are written as a whole.
    is_text : bool
        Whether it has a `Dialect`.
    is_stream : bool
        Whether it is read from the first byte to the last, so that it may be packed (``.gz``).
    """

    title: str
    source: Callable[[Input], Source]
    write_rows: Callable[[Output, Iterator[Table]], None] | None = None
    write_content: Callable[[Output, Content], None] | None = None
    is_text: bool = False
    is_stream: bool = False


def format_of(name: str, given: str | None = None, default: str = "csv") -> str:
    """The format of a table: that of its ending, or the one given; a pipe has a default."""
    if given is not None and given not in FORMATS:
        raise TableError(f"the format {given!r} is none of {', '.join(FORMATS)}.")
    if name == PIPE:
        return given or default
    suffix = ending_of(name)
    if given is not None:
        # Compared by what they stand for: .svm and .libsvm are one format.
        if suffix[1:] in FORMATS and FORMATS[suffix[1:]] != FORMATS[given]:
            problem = f"its ending says {suffix[1:]}, but {given} was asked for; leave that out, or change the ending."
            raise TableError(problem, where=name)
        return given
    if suffix[1:] not in FORMATS:
        if Path(name).is_dir():
            raise FileError(f"{name}: it is a folder, not a table.")
        known = ", ".join("." + ending for ending in FORMATS)
        problem = f"the suffix {suffix!r} is none of" if suffix else "its name has no ending that shows the format:"
        advice = "; save it as .xlsx or .csv" if suffix in _OTHER_SPREADSHEETS else ""
        advice += "; a text table may be renamed to .csv, or read with --from csv" if suffix in _PLAIN_TEXTS else ""
        raise TableError(f"{problem} {known}{advice}.", where=name)
    return suffix[1:]


def ending_of(name: str) -> str:
    """The ending that shows the format; that of the packed file where it is packed (``.csv.gz``)."""
    ending = Path(name).suffix.lower()
    packed = Path(name[: -len(ending)]).suffix.lower() if is_gzip(name) else ""
    return packed if packed[1:] in FORMATS and find_format(packed[1:]).is_stream else ending


def find_format(name: str) -> Format:
    """The `Format` of an ending."""
    module, _, attribute = FORMATS[name].partition(":")
    found: Format = getattr(import_module(module), attribute)
    return found


@contextmanager
def open_table(
    name: str,
    given: str | None = None,
    on_progress: OnProgress | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    by_name: bool = True,
    dialect: Dialect | None = None,
    on_message: OnMessage | None = None,
) -> Iterator[Source]:
    """A table to read, from a file or, for "-", from standard input.

    Parameters
    ----------
    name : str
        The file, or "-".
    given : str, optional
        The format, if the ending does not show it.
    on_progress : callable, optional
        Called with the number of bytes of every read.
    max_bytes : int
        Largest number of bytes that the arrays of a file may take.
    by_name : bool
        Whether the columns are going to be found by their names, which then must be there and be distinct.
    dialect : Dialect, optional
        Separator, decimal mark and encoding of a text table; by default detected in its first rows.
    on_message : callable, optional
        Called with messages about anything unusual in the file; by default they become warnings.
    """
    format = find_format(format_of(name, given))
    if dialect is not None and any(vars(dialect).values()) and not format.is_text:
        problem = f"a delimiter, a decimal mark and an encoding are for text tables, not for {format.title}."
        raise TableError(problem, where=name)
    source = Input(name, on_progress, max_bytes, format.title, dialect or Dialect(), on_message or warn)
    with source.stack:
        with reading(source):
            table = format.source(source)
            if by_name:
                _check_names(table)
        # What the caller does with the table is not trouble with the file: only its own errors are put in other words.
        with naming(source.where):
            yield table


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Put the name of the file before the message of a `TableError`."""
    try:
        yield
    except TableError as error:
        raise error.within(where) from None


def _check_names(table: Source) -> None:
    """Every column needs a name of its own; programs write row numbers in a first column without one."""
    if table.names and not table.names[0] and _FIRST_COLUMN not in table.names:
        table.names[0] = _FIRST_COLUMN
        table.given.log(f"its first column has no name in the header, and is called {_FIRST_COLUMN}")
    if "" in table.names:
        problem = f"the column at position {table.names.index('')}, counted from 0, has no name in the header"
        raise TableError(f"{problem}; give it one.")
    check_distinct(table.names)


def check_output(name: str, inputs: Sequence[str] = (), *, overwrite: bool = True) -> None:
    """Refuse a place that cannot be written to, before the work that would be lost.

    Parameters
    ----------
    name : str
        The file, or "-".
    inputs : sequence of str
        What the output is made from: never overwritten, under whatever name or link.
    overwrite : bool
        Whether another file that exists is replaced.
    """
    if name == PIPE:
        return
    if name in _STANDARD_OUTPUT:
        raise FileError(f"{name}: standard output is written {PIPE!r} here; its format is csv unless you name another.")
    path = Path(name)
    if path.is_file():
        for other in inputs:
            if _is_input(path, other):
                raise FileError(f"{name}: it is the same file as the input {other}, which would be lost; name another.")
        if not overwrite:
            raise FileError(f"{name}: there is such a file already, and it is not to be replaced; name another.")
    if path.is_dir():
        raise FileError(f"{name}: it is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"{name}: the folder {str(path.parent)!r} does not exist; make it first.")


def _is_input(path: Path, given: str) -> bool:
    if given != PIPE:
        return Path(given).exists() and path.samefile(given)
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (AttributeError, OSError, ValueError):  # standard input is closed, or no file
        return False


def write_table(name: str, tables: Iterable[Any], labels: Sequence[str] = (), given: str | None = None) -> None:
    """Write a table, complete or not at all; to standard output for "-".

    Parameters
    ----------
    name : str
        The file, or "-".
    tables : iterable of data frames or mappings of names to columns
        The rows in pieces, at least one.
    labels : sequence of str
        The columns that hold degrees of labels, for formats that keep them apart.
    given : str, optional
        The format, if the ending does not show it.
    """
    pieces = ({str(name): np.asarray(table[name]) for name in table} for table in tables)
    with _open_output(name, given) as (format, output):
        if format.write_content is not None:
            format.write_content(output, from_pieces(pieces, labels))
        elif format.write_rows is not None:
            format.write_rows(output, pieces)


def write_content(name: str, content: Content) -> None:
    """Write a data set as `write_table` writes a table."""
    with _open_output(name, None, content.meta()) as (format, output):
        if format.write_content is not None:
            format.write_content(output, content)
        elif format.write_rows is not None:
            check_dense(output, content)
            format.write_rows(output, content.pieces())


@contextmanager
def _open_output(name: str, given: str | None, meta: str | None = None) -> Iterator[tuple[Format, Output]]:
    format = find_format(format_of(name, given))
    if format.write_rows is None and format.write_content is None:
        raise TableError(f"{format.title} can only be read; write JSON lines, .jsonl.", where=name)
    output = Output(name, meta)
    with output.stack:
        yield format, output
        # Before the stack is left, which puts the file in its place; an error on the way leaves what was there.
        output.finish()
