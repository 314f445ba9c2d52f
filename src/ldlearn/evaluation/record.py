"""The record of one cell of an experiment (a data set, method and repeat), and files of records.

A file has one line of JSON for each record, appended so that a crash at any moment loses at most
the last line.
"""

import json
import lzma
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard

import numpy as np

from ldlearn._messages import format_list
from ldlearn.evaluation.json_types import LARGEST, parse_json, read_value
from ldlearn.exceptions import FileError, InputError
from ldlearn.metrics import HEADLINE_METRICS
from ldlearn.tables.files import FilePath, convert_os_errors

__all__ = ["Record", "GridPoint", "SampleRows", "Convergence", "Task", "TASKS"]
__all__ += ["read_records", "append_records", "RunFolderError"]

Task = Literal["recovery", "prediction"]
Status = Literal["ok", "failed", "missing"]
TASKS: tuple[Task, Task] = ("recovery", "prediction")
PHASES = ("select", "fit", "predict")  # what the seconds of a record are spent on
Scores = Mapping[str, float | None]
Params = Mapping[str, Any]
RECORDS = "records.jsonl"
CELLS = "cells.json"
# A packed file may expand by this factor, or to the first size, and never beyond the second;
# records of real runs are packed by a factor of at most 30.
_MAX_PACKING = 50
_ALWAYS_UNPACKED = 16 << 20
_MOST_UNPACKED = 1 << 30
_LONGEST_NAME = 1000
_UNPACK: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(wbits=16 + zlib.MAX_WBITS),
    # A file states how much memory its unpacking takes.
    ".xz": lambda: lzma.LZMADecompressor(memlimit=128 << 20),
}


@dataclass(frozen=True)
class GridPoint:
    """A point of a hyperparameter grid with its validation scores, or the error of its fit."""

    params: Params
    recovery: float | None = None
    prediction: float | None = None
    error: str = ""


@dataclass(frozen=True)
class SampleRows:
    """A few training rows: numbers, true degrees, labels, recovered degrees, texts or features.

    Where votes were held out, the true degrees are their shares; ``votes`` are those that methods
    saw.
    """

    rows: list[int]
    truth: list[list[float]] | None = None
    logical: list[list[int]] | None = None
    recovered: list[list[float]] | None = None
    votes: list[list[float]] | None = None
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Convergence:
    """The objective after every step, and the certified gap of its last value to the minimum."""

    objective: list[float | None]
    gap: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self | None:
        """What a fitted estimator recorded; None if it records no objective."""
        path = getattr(estimator, "objective_path_", None)
        if path is None:
            return None
        gap = getattr(estimator, "gap_", None)
        if gap is not None:
            # DLDL certifies each row: it is the sum that bounds how far the objective is from its
            # minimum.
            gap = float(np.sum(gap))
        return cls(list(map(float, path)), gap)


@dataclass(frozen=True, kw_only=True)
class Record:
    """The result of one cell.

    Attributes
    ----------
    cell : str
        The key of the cell: equal for equal computations.
    dataset, method : str
    repeat : int
    status : {"ok", "failed", "missing"}
    message : str
        Why it failed or is missing.
    kind : {"enhancer", "learner", "joint", "two-step"}
    is_baseline : bool
        Whether it uses no features, or is a plain classifier.
    external : bool
        Whether its predictions were made elsewhere.
    trained_on : {"logical", "votes", "truth"}
        0/1 labels, counts or shares of votes, or true degrees.
    estimator, params, learner, learner_params
        What the method is made of, with its fixed parameters.
    seed : int or None
    sizes : mapping
        n_train, n_validation, n_test, n_features, n_labels.
    votes : mapping of str to float
        If methods saw counts of votes: mean number of votes of a training row that they saw
        (``seen``) and, by task, of those that a row was scored by, if not by true degrees.
    label_names : sequence of str
    constant_labels : sequence of str
        Those that are 0 in all rows, or 1, if the method was trained on 0/1 labels.
    selection : mapping
        How hyperparameters were selected: mode, the names of the metrics for recovery and
        prediction, ``per_metric`` (whether each metric selected for itself), ``budget``, and
        ``recovery_basis`` (the rows used for recovery).
    selected : mapping of str to mapping
        By task, the selected hyperparameters.
    selected_by_metric : mapping of str to mapping
        By task and metric, those that each metric selected for itself; empty where one metric
        selected for all.
    recovery, prediction : mapping of str to float, or None
        Scores on the training and on the test rows, by metric.
    paper_zeros : mapping of str to mapping
        By task, scores of the metrics that divide by degrees, with zeros treated as in the DLDL
        paper.
    degrees : mapping of str to list
        By task, degrees of the first rows where the true degrees are unknown, to compare methods
        with each other.
    validation : mapping of str to float
        By task, the validation score of the selected model.
    n_points : int
        Number of grid points that were tried.
    grid : sequence of GridPoint
        Those points; empty where they were left out to save space.
    samples : SampleRows or None
    convergence : Convergence or None
    warnings : sequence of str
    seconds : mapping
        CPU time of selection (which includes all fits and predictions), one fit, and prediction;
        ``total`` is the elapsed time of the cell, in which what several cells share is divided
        among them.
    peak_memory_mb : float or None
    versions : mapping
    threads : int or None
    started : str or None
        ISO time.
    """

    cell: str
    dataset: str
    method: str
    repeat: int
    status: Status
    message: str = ""
    kind: str = ""
    is_baseline: bool = False
    external: bool = False
    trained_on: Literal["logical", "votes", "truth"] = "logical"
    estimator: str = ""
    params: Params = field(default_factory=dict)
    learner: str | None = None
    learner_params: Params = field(default_factory=dict)
    seed: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    votes: Mapping[str, float] = field(default_factory=dict)
    label_names: list[str] = field(default_factory=list)
    constant_labels: list[str] = field(default_factory=list)
    selection: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    selected: Mapping[str, Params | None] = field(default_factory=dict)
    selected_by_metric: Mapping[str, Mapping[str, Params]] = field(default_factory=dict)
    recovery: Scores | None = None
    prediction: Scores | None = None
    paper_zeros: Mapping[str, Scores | None] = field(default_factory=dict)
    degrees: Mapping[str, list[list[float]]] = field(default_factory=dict)
    validation: Scores = field(default_factory=dict)
    n_points: int = 0
    grid: list[GridPoint] = field(default_factory=list)
    samples: SampleRows | None = None
    convergence: Convergence | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory_mb: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    started: str | None = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a record from a line of a records file; fields that are absent have their defaults.

        Parameters
        ----------
        content : mapping
            A line of the file, as JSON gives it.

        Raises
        ------
        InputError
            If it is no record.
        """
        record = read_value(content, cls)
        record._check_sizes()
        return record

    def _check_sizes(self) -> None:
        """Refuse negative sizes, long names, and matrices that do not fit labels and rows."""
        if min(self.sizes.values(), default=0) < 0:
            raise InputError("sizes: expected no number below 0")
        if max(map(len, (self.dataset, self.method, *self.label_names))) > _LONGEST_NAME:
            raise InputError(
                f"names of data sets, methods and labels have at most {_LONGEST_NAME} characters"
            )
        samples = self.samples or SampleRows([])
        parts = (samples.truth, samples.logical, samples.recovered, samples.votes)
        for part in (*parts, samples.texts or None):
            if part is not None and len(part) != len(samples.rows):
                raise InputError("samples: each part must have one entry for each row")
        for matrix in parts:
            self._check_rows("samples", matrix or [])
        for matrix in self.degrees.values():
            self._check_rows("degrees", matrix)

    def _check_rows(self, name: str, matrix: Sequence[Sequence[float]]) -> None:
        if set(map(len, matrix)) - {max(len(self.label_names), 1)}:
            raise InputError(f"{name}: each row must have one number for each of label_names")

    def to_dict(self) -> dict[str, Any]:
        """The content of a line of a records file; numbers that are not finite become None."""
        content: dict[str, Any] = to_json(self)
        for point in content["grid"]:
            # Nearly all points have none, and grids are long.
            if not point["error"]:
                del point["error"]
        return content

    def encoded(self) -> bytes:
        """One line of JSON."""
        return (json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n").encode()

    def as_stored(self) -> Self:
        """The record as it is read back."""
        return self.from_dict(json.loads(self.encoded()))

    @property
    def without_timing(self) -> Self:
        """The record without what depends on when, where and how fast it was made."""
        return replace(self, seconds={}, peak_memory_mb=None, started=None, threads=None)

    @property
    def is_ok(self) -> bool:
        """Whether the cell was computed."""
        return self.status == "ok"

    @property
    def label_warning(self) -> str:
        """A sentence about constant labels; empty if there are none."""
        if not self.constant_labels:
            return ""
        names = format_list(self.constant_labels)
        return (
            f"{self.dataset}: {len(self.constant_labels)} of {len(self.label_names)} labels are "
            f"0 in all rows or 1 in all rows ({names}); nothing can be learned about them, "
            "so try another threshold."
        )

    @property
    def is_scored_by_votes(self) -> bool:
        """Whether scores compare with shares of votes instead of true degrees."""
        return not self.votes.keys().isdisjoint(TASKS)

    def scores(self, task: Task) -> Scores:
        """Scores of a task by metric; empty if the method has none."""
        return (self.recovery if task == "recovery" else self.prediction) or {}

    def selection_metric(self, task: Task) -> str:
        """Name of the metric that selected hyperparameters for a task."""
        return str(self.selection.get(task, HEADLINE_METRICS[0]))


def latest_records(records: Iterable[Record]) -> list[Record]:
    """The last record of every data set, method and repeat, in the order of first appearance."""
    latest = {}
    for record in records:
        latest[record.dataset, record.method, record.repeat] = record
    return list(latest.values())


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Whether a value of a record is a finite number."""
    # Python counts True and False among the integers.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def to_json(value: Any) -> Any:
    """A copy made of the types of JSON; numbers that are infinite or above 1e150 become None."""
    if isinstance(value, float):
        return float(value) if abs(value) <= LARGEST else None
    if isinstance(value, (list, tuple)):
        return [to_json(entry) for entry in value]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(entry) for key, entry in value.items()}
    if hasattr(value, "item"):  # a number of numpy
        return to_json(value.item())
    return value


class RunFolderError(InputError):
    """The folder of a run cannot be used: another run has it, or its records are damaged."""


def read_records(run_dir: FilePath, *, history: bool = False) -> list[Record]:
    """Records of a run.

    Parameters
    ----------
    run_dir : path-like
        Folder of the run, or a file of records, which may be compressed (``.gz``, ``.xz``).
    history : bool, default=False
        Every line in the order of writing. By default only the last record of each data set, method
        and repeat, and of a folder only the cells of its last plan, in the order of the plan.

    Returns
    -------
    list of Record
        A last line that was cut short by a crash is ignored.
    """
    path = find_records(run_dir)
    content = path.read_bytes()
    if path.suffix in _UNPACK:
        content = _unpack(content, path)
    records = list(_parse_lines(content, path))
    if history:
        return records
    return latest_records(_select_records_of_last_plan(records, path.parent / CELLS))


def find_records(run_dir: FilePath) -> Path:
    """The file of records of a folder, or the file given."""
    path = Path(run_dir)
    if path.is_file():
        return path
    for suffix in ("", *_UNPACK):
        candidate = path / f"{RECORDS}{suffix}"
        if candidate.is_file():
            return candidate
    raise RunFolderError(
        f"There are no records in {os.fspath(run_dir)}; `ldlearn run PLAN -o DIR` makes them."
    )


def path_inside(folder: Path, name: str) -> Path:
    """The path of a file to write in a folder of unknown origin: no link may lead out of it."""
    path = folder / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise FileError(f"{path}: it is a link out of the folder; remove it.")
    return path


def _select_records_of_last_plan(records: list[Record], cells: Path) -> list[Record]:
    """Records of the cells of the last plan, in its order; all if there is no list of cells."""
    if not cells.is_file():
        return records
    try:
        keys = read_value(parse_json(cells.read_bytes()), list[str])
    except InputError as error:
        raise RunFolderError(
            f"{cells} is no list of cells ({error}); remove it and run again."
        ) from None
    by_cell: dict[str, list[Record]] = {key: [] for key in keys}
    for record in records:
        by_cell.get(record.cell, []).append(record)
    return list(chain.from_iterable(by_cell.values()))


def _unpack(content: bytes, path: Path) -> bytes:
    limit = min(max(_ALWAYS_UNPACKED, _MAX_PACKING * len(content)), _MOST_UNPACKED)
    unpacker = _UNPACK[path.suffix]()
    try:
        unpacked = unpacker.decompress(content, limit)
    except (zlib.error, lzma.LZMAError) as error:
        raise RunFolderError(f"{path} cannot be unpacked ({error}); it is damaged.") from None
    if not unpacker.eof:
        problem = "is incomplete"
        if len(unpacked) == limit:
            problem = f"expands to more than {limit:,} bytes"
        raise RunFolderError(f"{path} {problem}; it is refused as damaged or malicious.")
    return unpacked


def _parse_lines(content: bytes, path: Path) -> Iterator[Record]:
    for number, line in enumerate(content[: _end_of_lines(content)].splitlines(), start=1):
        try:
            yield Record.from_dict(parse_json(line))
        except InputError as error:
            raise RunFolderError(
                f"Line {number} of {path} is no record ({error}); remove it and run again."
            ) from None


def _end_of_lines(content: bytes) -> int:
    """Length of the content up to the end of its last complete line."""
    return content.rfind(b"\n") + 1


@contextmanager
def append_records(path: Path) -> Iterator[Callable[[Record], None]]:
    """Open a file of records, and yield a function that appends one.

    This must be the only process that writes to it. Opening the file removes a line that an earlier
    writer did not finish.

    Parameters
    ----------
    path : Path
    """
    with open(path_inside(path.parent, path.name), "ab", buffering=0) as file:
        content = path.read_bytes()
        if len(content) != _end_of_lines(content):
            # The next record would be appended to a line that a crash left half written.
            file.truncate(_end_of_lines(content))
            os.fsync(file.fileno())

        def append(record: Record) -> None:
            """Write a record and wait until it is on the disk."""
            line = record.encoded()
            with convert_os_errors(path, "written"):
                # One call: a crash leaves the whole line, or a torn one at the very end that the
                # next run removes.
                written = file.write(line)
                if written != len(line):
                    problem = f"only {written} of {len(line)} bytes were written"
                    raise FileError(
                        f"{path}: {problem}; make room on the disk, and run the same command again."
                    )
                os.fsync(file.fileno())

        yield append
