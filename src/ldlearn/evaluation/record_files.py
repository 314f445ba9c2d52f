"""Files of records: one line of JSON for each, appended so that a crash at any moment loses at most the last line."""

from __future__ import annotations

import gzip
import json
import lzma
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from ldlearn.evaluation.record import Record, latest
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
    return records if history else latest(_of_last_plan(records, path.parent / CELLS))


def find_records(run_dir: str | os.PathLike[str]) -> Path:
    """The file of records of a folder, or the file given."""
    path = Path(run_dir)
    candidates = [path / f"{RECORDS}{suffix}" for suffix in _OPEN] if path.is_dir() else [path]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise RunFolderError(f"There are no records in {os.fspath(run_dir)}; `ldlearn run PLAN -o DIR` makes them.")


def _of_last_plan(records: list[Record], cells: Path) -> list[Record]:
    """Without a list of cells, as version 0.1.0 left its folders, all of them."""
    if not cells.is_file():
        return records
    # A folder may have seen several plans: those cells count that the last one has, in its order.
    place = {key: number for number, key in enumerate(json.loads(cells.read_text(encoding="utf-8")))}
    return sorted((record for record in records if record.cell in place), key=lambda record: place[record.cell])


def _parse(content: bytes, path: Path) -> Iterator[Record]:
    for number, line in enumerate(content[: _whole(content)].splitlines(), start=1):
        try:
            yield Record.from_dict(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            # JSON that is no object, or an object with fields of other kinds, fails in any of these ways.
            reason = f" ({error})" if isinstance(error, InputError) else ""
            raise RunFolderError(
                f"Line {number} of {path} is not a record{reason}; remove that line and run again."
            ) from None


def _whole(content: bytes) -> int:
    """Length of the content up to the end of its last whole line."""
    return content.rfind(b"\n") + 1


class RecordsFile:
    """A file that records are appended to; whoever opens it must be the only one to write.

    Opening it cuts off a line that an earlier writer did not finish.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: Any = open(path, "ab", buffering=0)  # noqa: SIM115
        content = path.read_bytes()
        if len(content) != _whole(content):
            # A line that a crash left half written would swallow the next one.
            self._file.truncate(_whole(content))
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, record: Record) -> None:
        """Write a record and wait until it is on the disk."""
        line = record.encoded()
        with naming_system_errors(self.path, "written"):
            # One call: a crash leaves the whole line, or a torn one at the very end that the next run cuts off.
            written = self._file.write(line)
            if written != len(line):
                problem = f"only {written} of {len(line)} bytes of a record could be written"
                raise FileError(f"{self.path}: {problem}; make room on the disk, and run the same again.")
            os.fsync(self._file.fileno())


def cells_text(keys: Sequence[str]) -> str:
    """Content of the file that says which cells the last plan of a folder has, in its order."""
    return json.dumps(list(keys), indent=0) + "\n"
