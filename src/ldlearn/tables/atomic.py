"""Writing a file so that it is either complete or not there: the one writer of the whole library."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ldlearn.exceptions import FileError, LDLearnError


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` when the block ends, and vanishes if the block fails.

    The draft lies in the same folder, because only a rename within one file system is atomic. What is no file, such as
    a named pipe or /dev/null, is written to directly and never replaced.

    Parameters
    ----------
    path : str or path-like

    Raises
    ------
    FileError
        If the system does not let the file be written: no space, no permission, no such folder.
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing where it points
    with naming_system_errors(path, "written"):
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        draft = target.with_name(f".{target.name[:40]}-{secrets.token_hex(8)}.part")
        try:  # around the making of it too: Ctrl-C may come at once
            with open(draft, "xb", opener=_closed_to_others) as file:
                yield file
                # On disk before the rename: a crash after it must not find an empty file under the name.
                file.flush()
                os.fsync(file.fileno())
            # Only now: an incomplete file stays private.
            os.chmod(draft, _permissions(target))
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise


def write_file(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a whole file, or leave what was there; a text is written as UTF-8."""
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def naming_system_errors(path: str | os.PathLike[str], done: str) -> Iterator[None]:
    """Turn an error of the system into a `FileError` that names the file; ``done`` is "read" or "written".

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
        raise FileError(f"{os.fspath(path)}: it cannot be {done} ({reason}).") from error


def _closed_to_others(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _permissions(target: Path) -> int:
    """Those of the file that is replaced, or those of any new file; temporary files are closed to others."""
    if target.exists():
        return target.stat().st_mode & 0o777
    # There is no portable way to ask for it but to set it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
