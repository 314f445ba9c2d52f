"""Files of records: one line of JSON for each, appended so that a crash at any moment loses at most the last line."""

import gzip
import json
import lzma
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ldlearn.evaluation.record import Record, latest_records
from ldlearn.exceptions import FileError, InputError
from ldlearn.tables.atomic import naming_system_errors

RECORDS, CELLS = "records.jsonl", "cells.json"
_OPEN: dict[str, Any] = {"": open, ".gz": gzip.open, ".xz": lzma.open}


class RunFolderError(InputError):
    """The folder of a run cannot be used: another run has it, or its records are damaged."""


def read_records(run_dir: str | os.PathLike[str], *, history: bool = False) -> list[Record]:
    """Records of a run.

    Parameters
    ----------
    run_dir : path-like
        Folder of the run, or a file of records, which may be compressed (``.gz``, ``.xz``).
    history : bool, default=False
        Every line in the order of writing. By default only the last record of each data set, method and repeat, and
        of a folder only the cells of its last plan, in the order of the plan.

    Returns
    -------
    list of Record
        A last line that was cut short by a crash is ignored.
    """
    path = find_records(run_dir)
    with _OPEN[path.suffix if path.suffix in _OPEN else ""](path, "rb") as file:
        content: bytes = file.read()
    records = list(_parse(content, path))
    return records if history else latest_records(_filter_last_plan(records, path.parent / CELLS))


def find_records(run_dir: str | os.PathLike[str]) -> Path:
    """The file of records of a folder, or the file given."""
    path = Path(run_dir)
    candidates = [path / f"{RECORDS}{suffix}" for suffix in _OPEN] if path.is_dir() else [path]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise RunFolderError(f"There are no records in {os.fspath(run_dir)}; `ldlearn run PLAN -o DIR` makes them.")


def _filter_last_plan(records: list[Record], cells: Path) -> list[Record]:
    """Records of the cells that the last plan of a folder has, in its order; all where there is no list of cells."""
    if not cells.is_file():
        return records
    place = {key: number for number, key in enumerate(json.loads(cells.read_text(encoding="utf-8")))}
    return sorted((record for record in records if record.cell in place), key=lambda record: place[record.cell])


def _parse(content: bytes, path: Path) -> Iterator[Record]:
    for number, line in enumerate(content[: _end_of_lines(content)].splitlines(), start=1):
        try:
            yield Record.from_dict(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            # JSON that is no object, or an object with fields of other kinds, fails in any of these ways.
            reason = f" ({error})" if isinstance(error, InputError) else ""
            raise RunFolderError(
                f"Line {number} of {path} is not a record{reason}; remove that line and run again."
            ) from None


def _end_of_lines(content: bytes) -> int:
    """Length of the content up to the end of its last complete line."""
    return content.rfind(b"\n") + 1


@contextmanager
def append_records(path: Path) -> Iterator[Callable[[Record], None]]:
    """Open a file of records, and yield a function that appends one; this must be the only process that writes to it.

    Opening the file removes a line that an earlier writer did not finish.

    Parameters
    ----------
    path : Path
    """
    with open(path, "ab", buffering=0) as file:
        content = path.read_bytes()
        if len(content) != _end_of_lines(content):
            # The next record would be appended to a line that a crash left half written.
            file.truncate(_end_of_lines(content))
            os.fsync(file.fileno())

        def append(record: Record) -> None:
            """Write a record and wait until it is on the disk."""
            line = record.encoded()
            with naming_system_errors(path, "written"):
                # One call: a crash leaves the whole line, or a torn one at the very end that the next run removes.
                written = file.write(line)
                if written != len(line):
                    problem = f"only {written} of {len(line)} bytes of a record could be written"
                    raise FileError(f"{path}: {problem}; make room on the disk, and run the same again.")
                os.fsync(file.fileno())

        yield append
