"""The folder of a run: a lock that keeps other runs out, and the names of what lies in it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ldlearn.evaluation import RunFolderError

PLAN, LOCK = "plan.toml", "lock"


@contextmanager
def hold_folder(path: Path) -> Iterator[None]:
    """Hold the folder of a run, which one process can at a time; the system lets go if that dies, however it dies.

    Parameters
    ----------
    path : Path
        Made if it does not exist.
    """
    path.mkdir(parents=True, exist_ok=True)
    # "a+", since "w" would wipe out who holds the folder before it is known to be free. The file stays behind: were it
    # removed, one process could hold the old file, opened before, and another one a new file of the same name.
    with open(path / LOCK, "a+", encoding="utf-8") as file:
        try:
            _lock_or_raise(file)
        except OSError:
            file.seek(0)
            holder = " ".join(file.read().split()) or "unknown"
            raise RunFolderError(
                f"Another run is writing to {path} ({holder}); wait for it, or choose another folder."
            ) from None
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {platform.node()} since {datetime.now().isoformat(timespec='seconds')}\n")
        # whoever is refused reads it while the run goes on
        file.flush()
        yield


def _lock_or_raise(file: Any) -> None:
    """An advisory lock that ends with the process."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
