"""The folder of a run: its records, its plan, and a lock that keeps other runs out."""

from __future__ import annotations

import os
import platform
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from ldlearn.io.atomic import write_file
from ldlearn.results.files import CELLS, RECORDS, RecordsFile, RunFolderError, cells_text, read_records
from ldlearn.results.record import Record

PLAN, LOCK = "plan.toml", "lock"


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

    def __enter__(self) -> Self:
        self.path.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            held.enter_context(_take_lock(self.path / LOCK))
            self._records = held.enter_context(RecordsFile(self.path / RECORDS))
            self._held = held.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def read(self) -> dict[str, Record]:
        """Last record of each cell, by its key."""
        return {record.cell: record for record in read_records(self.path, history=True)}

    def append(self, record: Record) -> None:
        """Write a record."""
        self._records.append(record)

    def write_plan(self, text: str, keys: list[str]) -> None:
        """Keep the resolved plan and the keys of its cells beside the records."""
        write_file(self.path / PLAN, text)
        write_file(self.path / CELLS, cells_text(keys))


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
