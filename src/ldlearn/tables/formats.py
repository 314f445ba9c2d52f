"""The formats by ending, opening a table to read or to write, and what a data set is to a file."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn._messages import escape_commands, format_list
from ldlearn.exceptions import FileError, TableError
from ldlearn.tables.columns import MARKS, check_distinct, is_number
from ldlearn.tables.files import (
    PIPE,
    Budget,
    Dialect,
    OpenInput,
    TableInput,
    TableOutput,
    is_gzip,
    prefix_errors,
)
from ldlearn.tables.options import WritingOptions
from ldlearn.tables.source import CHUNK_ROWS, FrameSource, Source, frame_to_matrix
from ldlearn.tables.values import import_pandas

# Ending of a file: module and name of its `Format`. A new format is one file and one line here, and
# then works in read_dataset, write_dataset and every command. Modules are imported when their
# format is met.
_FORMAT_BY_ENDING = {
    "csv": "ldlearn.tables.delimited:CSV",
    "tsv": "ldlearn.tables.delimited:TSV",
    "jsonl": "ldlearn.tables.json_tables:JSONL",
    "json": "ldlearn.tables.json_tables:JSON",
    "parquet": "ldlearn.tables.arrow:PARQUET",
    "feather": "ldlearn.tables.arrow:FEATHER",
    "npz": "ldlearn.tables.arrays:NPZ",
    "npy": "ldlearn.tables.arrays:NPY",
    "mat": "ldlearn.tables.mat:MAT",
    "xlsx": "ldlearn.tables.excel:EXCEL",
    "arff": "ldlearn.tables.arff:ARFF",
    **dict.fromkeys(("svm", "libsvm", "svmlight"), "ldlearn.tables.arrays:LIBSVM"),
}
META = "ldlearn_meta"  # where rich formats keep names and origin, as JSON
TEXT_FIELDS = ("name", "source", "licence", "citation", "description")

_PACKABLE = (".csv", ".tsv", ".jsonl", ".json")  # read from the first byte to the last
# Nothing can be moved to their place.
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")

Table = Mapping[str, NDArray[Any]]  # columns by name


@dataclass
class DatasetContent:
    """Features and label matrices, with names and origin.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n, m)
    labels : dict of str to ndarray of shape (n, c)
        By what they hold: "D" (degrees), "Y" (0/1), "counts" (votes).
    feature_names, label_names : sequence of str
    texts : dict of str to str
        Name, source, licence, citation, description; empty for a plain table.
    others : dict of str to ndarray of shape (n,)
        Columns of texts, such as the ids of rows.
    """

    X: Any
    labels: dict[str, NDArray[Any]]
    feature_names: Sequence[str]
    label_names: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def meta(self) -> str:
        """Names, origin and the kinds of labels as plain ASCII text."""
        return json.dumps(
            {
                "feature_names": list(self.feature_names),
                "label_names": list(self.label_names),
                "fields": list(self.labels),
                **self.texts,
            }
        )

    def headings(self) -> list[str]:
        """Names of all columns, features first; marked where they would be confused."""
        plain = [*self.feature_names, *self.label_names]
        # To the reader of a text table a marked heading is a label, and a line of nothing but
        # numbers is a row.
        is_misread = any(map(_needs_mark, plain)) or all(map(is_number, plain))
        if len(self.labels) == 1 and len(set(plain)) == len(plain) and not is_misread:
            return plain
        headings = []
        for name in self.feature_names:
            headings.append(MARKS["X"] + name if _needs_mark(name) else name)
        for kind in self.labels:
            headings += [MARKS[kind] + name for name in self.label_names]
        check_distinct(headings)
        return headings

    def chunks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Some rows at a time as named columns; a set without rows has a chunk, too."""
        self.check_dense()
        names = self.headings()
        for start in range(0, max(self.X.shape[0], 1), CHUNK_ROWS):
            columns: list[Any] = []
            for matrix in (self.X, *self.labels.values()):
                columns.extend(np.asarray(matrix[start : start + CHUNK_ROWS]).T)
            yield dict(zip(names, columns, strict=True))

    def check_dense(self) -> None:
        """Refuse sparse features, for formats that cannot hold them."""
        if scipy.sparse.issparse(self.X):
            raise TableError("this format holds no sparse features; use .npz, .mat, .arff or .svm.")

    def check_numbers_only(self) -> None:
        """Refuse columns of texts, for formats that cannot hold them."""
        for name in self.others:
            problem = "this format holds numbers only; write .csv, .jsonl, .parquet or .npz."
            raise TableError(problem, column=name)


def _needs_mark(name: str) -> bool:
    return not name or name.startswith(tuple(MARKS.values()))


def _content_of_table(chunks: Iterable[Table], labels: Sequence[str]) -> DatasetContent:
    """The content of a table of degrees: its label columns, its numbers as features, its texts."""
    frame = import_pandas().concat(map(import_pandas().DataFrame, chunks))
    degrees = frame[list(labels)]
    others = frame.drop(columns=list(labels))
    numbers = others.select_dtypes(["number", "bool"])
    texts = {}
    for name in others.columns.difference(numbers.columns, sort=False):
        texts[name] = others[name].to_numpy().astype(str)  # NumPy would pickle objects
    matrices = {"D": degrees.to_numpy(np.float64)} if labels else {}
    names = list(numbers)
    return DatasetContent(frame_to_matrix(numbers, names), matrices, names, labels, others=texts)


def parse_meta(text: str, budget: Budget) -> dict[str, Any]:
    """Inverse of `DatasetContent.meta`, on text of unknown origin."""
    meta = budget.parse_json(text)
    if not isinstance(meta, dict):
        raise TableError("its description of itself is no JSON object.")
    found: dict[str, Any] = {}
    for key in ("feature_names", "label_names", "fields"):
        found[key] = list(map(str, meta.get(key, ())))
    found["texts"] = {key: str(meta[key]) for key in TEXT_FIELDS if key in meta}
    return found


@dataclass(frozen=True)
class Format:
    """How a kind of file is read and written.

    Attributes
    ----------
    title : str
        What it is called in messages.
    source : callable
        Makes a `Source` of an `OpenInput`.
    write_rows : callable, optional
        Writes tables of the same columns, one after the other, to an `TableOutput`.
    write_content : callable, optional
        Writes a `DatasetContent`: for formats that are written as a whole.
    is_text : bool
        Whether it has a `Dialect`.
    """

    title: str
    source: Callable[[OpenInput], Source]
    write_rows: Callable[[TableOutput, Iterator[Table]], None] | None = None
    write_content: Callable[[TableOutput, DatasetContent], None] | None = None
    is_text: bool = False


def format_of(name: str, format: str | None = None) -> str:
    """The format of a table: that given, or that of its ending; a pipe is CSV."""
    if format is not None and format not in _FORMAT_BY_ENDING:
        known = ", ".join(_FORMAT_BY_ENDING)
        raise TableError(f"the format {format!r} is not supported; supported are {known}.")
    if name == PIPE:
        return format or "csv"
    suffix = Path(name).suffix.lower()
    packed = Path(name[:-3]).suffix.lower()
    if is_gzip(name) and packed in _PACKABLE:
        suffix = packed
    ending = suffix[1:]
    if format is not None:
        # Compared by what they stand for: .svm and .libsvm are one format.
        if ending in _FORMAT_BY_ENDING and _FORMAT_BY_ENDING[ending] != _FORMAT_BY_ENDING[format]:
            problem = f"its ending is {suffix}, but {format} was asked for"
            raise TableError(f"{problem}; leave that out, or change the ending.", where=name)
        return format
    if ending in _FORMAT_BY_ENDING:
        return ending
    if Path(name).is_dir():
        raise FileError(f"{name}: it is a folder, not a table.")
    problem = "its name has no ending that shows a format"
    if suffix:
        problem = f"the ending {suffix!r} is not supported"
    known = ", .".join(_FORMAT_BY_ENDING)
    advice = "save a spreadsheet as .xlsx; a text table may be read with --from csv."
    raise TableError(f"{problem}; supported are .{known}; {advice}", where=name)


def _find_format(name: str, format: str | None) -> Format:
    return resolve_name(_FORMAT_BY_ENDING[format_of(name, format)])


@contextmanager
def open_table(
    input: TableInput,
    task: str = "rows",
    *,
    by_name: bool = True,
) -> Iterator[Source]:
    """Open a table; reading it reports the progress of the task.

    Parameters
    ----------
    input : TableInput
    task : str
        What progress is reported of.
    by_name : bool
        Whether the columns are going to be found by their names, which then must be there and be
        distinct.
    """
    if not isinstance(input.table, str):
        yield FrameSource(OpenInput(input))
        return
    format = _find_format(input.table, input.reading.format)
    if input.reading.dialect != Dialect() and not format.is_text:
        options = "a delimiter, a decimal mark and an encoding"
        problem = f"{options} are for text tables, not for {format.title}."
        raise TableError(problem, where=input.table)
    path = Path(input.table)
    size = path.stat().st_size if path.is_file() else None
    with input.reading.progress(task, size, is_bytes=True) as on_progress, ExitStack() as stack:
        opened = OpenInput(input, format.title, on_progress, stack)
        with opened.convert_errors():
            source = format.source(opened)
            opened.budget.check_columns(len(source.names))
            if by_name:
                _name_nameless_columns(source)
        # Errors of the caller are not errors of the file: only a `TableError` gets the name of the
        # file.
        with prefix_errors(input.where):
            if input.label_file is not None:
                source.find(input.label_file)
            yield source


def _name_nameless_columns(table: Source) -> None:
    """Every column needs a name of its own; the position names those that have none."""
    made_up = []
    for i, name in enumerate(table.names):
        if not name:
            table.names[i] = f"column{i}"
            made_up.append(table.names[i])
    if made_up:
        problem = "columns without a name in the header are called by their positions"
        table.input.log(f"{problem}: {format_list(made_up)}")
    check_distinct(table.names)


def check_output(
    name: str,
    inputs: Iterable[Any] = (),
    *,
    overwrite: bool = True,
) -> None:
    """Refuse a place that cannot be written to, before the work that would be lost.

    Parameters
    ----------
    name : str
        The file, or "-".
    inputs : iterable
        What the output is made from: files are never overwritten, under whatever name or link.
    overwrite : bool
        Whether another file that exists is replaced.
    """
    if name == PIPE:
        return
    if name in _STANDARD_OUTPUT:
        advice = "its format is csv unless you name another."
        raise FileError(f"{name}: standard output is written {PIPE!r} here; {advice}")
    path = Path(name)
    if path.is_file():
        for other in inputs:
            if isinstance(other, str) and _is_same_file(path, other):
                problem = f"it is the same file as the input {other}, which would be lost"
                raise FileError(f"{name}: {problem}; name another.")
        if not overwrite:
            problem = "there is such a file already, and it is not to be replaced"
            raise FileError(f"{name}: {problem}; name another.")
    if path.is_dir():
        raise FileError(f"{name}: it is a folder; name a file in it.")
    if not path.absolute().parent.is_dir():
        raise FileError(f"{name}: the folder {str(path.parent)!r} does not exist; make it first.")


def _is_same_file(path: Path, given: str) -> bool:
    # There may be no such file, or standard input may be closed.
    with suppress(AttributeError, OSError, ValueError):
        found = os.stat(sys.stdin.fileno() if given == PIPE else given)
        return os.path.samestat(found, path.stat())
    return False


def write_table(
    name: str,
    tables: Iterable[Any],
    labels: Sequence[str] = (),
    writing: WritingOptions = WritingOptions(),
) -> None:
    """Write a table, complete or not at all; to standard output for "-".

    Parameters
    ----------
    name : str
        The file, or "-".
    tables : iterable of data frames or mappings of names to columns
        The rows in chunks, at least one.
    labels : sequence of str
        The columns that hold degrees of labels, for formats that keep them apart.
    writing : WritingOptions, optional
        Of these ``to`` and ``raw``.
    """

    def chunks() -> Iterator[Table]:
        for table in tables:
            columns = {str(name): np.asarray(table[name]) for name in table}
            if name == PIPE and not writing.raw:  # as a terminal may show them
                columns = map_texts(columns, escape_commands)
            yield columns

    _write(TableOutput(name, raw=writing.raw), writing.to, chunks(), labels)


def map_texts(table: Table, convert: Callable[[str], str]) -> dict[str, NDArray[Any]]:
    """The table with converted names and texts."""
    converted = {}
    for name, column in table.items():
        if column.dtype.kind in "OU":
            column = column.astype(object)  # a copy
            for i, cell in enumerate(column):
                if isinstance(cell, str):
                    column[i] = convert(cell)
        converted[convert(name)] = column
    return converted


def write_content(name: str, content: DatasetContent) -> None:
    """Write a data set as `write_table` writes a table."""
    with prefix_errors(name):
        _write(TableOutput(name, content.meta()), None, content.chunks(), content=content)


def _write(
    output: TableOutput,
    format: str | None,
    rows: Iterator[Table],
    labels: Sequence[str] = (),
    content: DatasetContent | None = None,
) -> None:
    """Write rows, or the whole content where the format needs that."""
    found = _find_format(output.name, format)
    with output.stack:
        if found.write_content is not None:
            content = content or _content_of_table(rows, labels)
            with prefix_errors(output.name):
                found.write_content(output, content)
        elif found.write_rows is not None:
            found.write_rows(output, rows)
        else:
            problem = f"{found.title} can only be read; write JSON lines, .jsonl."
            raise TableError(problem, where=output.name)
        if output.name == PIPE:
            sys.stdout.buffer.flush()
