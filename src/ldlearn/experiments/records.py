"""Records of cells: append-only JSON lines that survive a crash at any moment, and the folder they live in."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ldlearn.errors import InputError
from ldlearn.io.atomic import write_file

SCHEMA = 1
RECORDS, PLAN, LOCK = "records.jsonl", "plan.toml", "lock"
# What may differ between two runs of the same cell.
VOLATILE = ("seconds", "peak_memory_mb", "started", "threads")

Record = dict[str, Any]


class RunFolderError(InputError):
    """The folder of a run cannot be used: another run has it, or its records are damaged."""


def read_records(run_dir: str | os.PathLike[str], *, history: bool = False) -> list[Record]:
    """Records of a run.

    Parameters
    ----------
    run_dir : path-like
        Folder of the run, or the file of records itself.
    history : bool, default=False
        Every line in the order of writing. By default only the last record of each cell, without cells that the
        plan of the folder no longer has, ordered as the plan is.

    Returns
    -------
    list of dict
        A last line that was cut short by a crash is ignored.
    """
    path = Path(run_dir)
    path = path / RECORDS if path.is_dir() else path
    if not path.is_file():
        raise RunFolderError(f"There are no records in {os.fspath(run_dir)}; `ldlearn run PLAN -o DIR` makes them.")
    records = list(_parse(path.read_bytes(), path))
    return records if history else _in_plan(latest(records), path.parent)


def latest(records: Iterable[Record]) -> list[Record]:
    """The last record of each cell, in the order of first appearance."""
    return list({record["cell"]: record for record in records}.values())


def comparable(record: Mapping[str, Any]) -> Record:
    """The part of a record that does not depend on when, where and how fast it was made."""
    return {key: value for key, value in record.items() if key not in VOLATILE}


def _in_plan(records: list[Record], folder: Path) -> list[Record]:
    """Those of the plan, in its order; all of them if this version no longer understands the plan or its cells."""
    from ldlearn.experiments.cells import plan_cells
    from ldlearn.experiments.plan import load_plan
    from ldlearn.experiments.tables import PlanError

    if not (folder / PLAN).is_file():
        return records
    try:
        order = {cell.key: place for place, cell in enumerate(plan_cells(load_plan(folder / PLAN)))}
    except PlanError:
        return records
    ours = [record for record in records if record["cell"] in order]
    return sorted(ours, key=lambda record: order[record["cell"]]) or records


def _parse(content: bytes, path: Path) -> Iterable[Record]:
    for number, line in enumerate(content[: _whole(content)].splitlines(), start=1):
        try:
            record = json.loads(line)
            record["cell"], record["status"]
        except (ValueError, KeyError, TypeError):
            raise RunFolderError(f"Line {number} of {path} is not a record; remove that line and run again.") from None
        yield record


def _whole(content: bytes) -> int:
    """Length of the content up to the end of its last whole line."""
    return content.rfind(b"\n") + 1


def encode(record: Mapping[str, Any]) -> bytes:
    """One line of JSON; numbers that are not finite become null, as JSON has none."""
    return (json.dumps(_finite(record), ensure_ascii=False, allow_nan=False) + "\n").encode()


def as_stored(record: Mapping[str, Any]) -> Record:
    """The record as it is read back."""
    stored: Record = json.loads(encode(record))
    return stored


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value.item() if hasattr(value, "item") else value


class RunFolder:
    """The folder of a run, held by one process at a time.

    Use as a context manager: entering takes the lock (which the system releases if the process dies, however it
    dies) and cuts off a line that an earlier run did not finish.

    Parameters
    ----------
    path : path-like
        Made if it does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: Any = None
        self._file: Any = None

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(self.path / LOCK)
        try:
            self._file = open(self.path / RECORDS, "ab", buffering=0)
            self._cut_torn_line()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in (self._file, self._lock):
            if handle is not None:
                handle.close()

    def _cut_torn_line(self) -> None:
        content = (self.path / RECORDS).read_bytes()
        if len(content) != _whole(content):
            self._file.truncate(_whole(content))
            os.fsync(self._file.fileno())

    def read(self) -> dict[str, Record]:
        """Last record of each cell, by cell."""
        return {record["cell"]: record for record in _parse((self.path / RECORDS).read_bytes(), self.path / RECORDS)}

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record, so that it is on the disk when this returns."""
        line = encode(record)
        # One call: a crash leaves the whole line, or a torn one at the very end that the next run cuts off.
        written = self._file.write(line)
        if written != len(line):
            raise OSError(f"Only {written} of {len(line)} bytes of a record could be written to {self.path / RECORDS}.")
        os.fsync(self._file.fileno())

    def write_plan(self, text: str) -> None:
        """Keep the resolved plan beside the records; the file is whole at any moment."""
        write_file(self.path / PLAN, text)


def _take_lock(path: Path) -> Any:
    file = open(path, "a+", encoding="utf-8")  # noqa: SIM115
    try:
        _lock_or_raise(file)
    except OSError:
        file.seek(0)
        holder = " ".join(file.read().split()) or "unknown"
        file.close()
        raise RunFolderError(
            f"Another run is writing to {path.parent} ({holder}); wait for it, or choose another folder."
        ) from None
    file.seek(0)
    file.truncate()
    file.write(f"process {os.getpid()} on {platform.node()} since {datetime.now().isoformat(timespec='seconds')}\n")
    file.flush()
    return file


def _lock_or_raise(file: Any) -> None:
    """An advisory lock that ends with the process."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
