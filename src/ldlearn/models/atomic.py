"""Writing a file so that it is either complete or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends, and vanishes if the block fails.

    The temporary file lies in the same folder, because only a rename within one file system is atomic. What is no
    file, such as a named pipe or /dev/null, is written to directly and never replaced.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing where it points
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, or those of any new file; temporary files are closed to others."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
