"""Downloads that resume, retry, and leave only whole and verified files behind."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ldlearn.exceptions import DatasetError, import_optional
from ldlearn.tables.atomic import naming_system_errors, writing
from ldlearn.tables.checksums import Checksum

Progress = Callable[[int, int | None], None]

_MAX_BYTES = 1 << 31  # of a file whose size is unknown
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})  # temporary failures of a server


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server.

    Parameters
    ----------
    timeout : float
        Seconds without a byte after which a connection counts as stalled.
    retries : int
        Further attempts after the first.
    pause : float
        Seconds before the second attempt; doubled before each further one.
    """

    timeout: float = 30.0
    retries: int = 4
    pause: float = 0.5


def download(
    url: str,
    folder: Path,
    file_name: str,
    expected: Checksum,
    *,
    patience: Patience | None = None,
    progress: bool | Progress = False,
) -> Path:
    """Download a file into a folder under a name it gets only once it is whole and verified.

    Parameters
    ----------
    url : str
    folder : Path
        Made if it does not exist. What has arrived of an unfinished download waits in its sub-folder
        ``partial`` and is continued by the next attempt.
    file_name : str
    expected : Checksum
    patience : Patience, optional
    progress : bool or callable, default=False
        True draws a bar on standard error; a callable gets (bytes so far, bytes in all or None).

    Returns
    -------
    path : Path
    """
    patience, reason, target = patience or Patience(), "", folder / file_name
    part = folder / "partial" / f"{file_name}.{str(expected)[-16:]}"  # another version is not continued
    report = partial(_draw_bar, file_name) if progress is True else progress or (lambda done, total: None)
    with naming_system_errors(folder, "written"):
        for attempt in range(patience.retries + 1):
            if attempt:
                # Twice as long each time: repeated requests would slow down an overloaded server further.
                time.sleep(patience.pause * 2 ** (attempt - 1))
            # Another process may have finished it in the meantime.
            if target.is_file() and not expected.problem(target):
                return target
            try:
                _receive(url, part, expected, patience.timeout, report)
                _move_verified(part, target, expected)
                return target
            except _Interrupted as error:
                reason = str(error)
            except FileNotFoundError:
                # Two processes share a partial file, and the one that finishes first removes it.
                reason = "another process has taken the file"
    raise DatasetError(
        f"{url} could not be downloaded in {patience.retries + 1} attempts; the last one failed because {reason}. "
        "Try again later: what has arrived is kept and continued."
    )


class _Interrupted(Exception):
    """The file did not arrive complete and correct; another attempt may help."""


# Own code because what has arrived of a download is kept and continued, which pooch does not do.
def _receive(url: str, part: Path, expected: Checksum, timeout: float, report: Progress) -> None:
    """Request the bytes that are missing, and append them to the partial file."""
    part.parent.mkdir(parents=True, exist_ok=True)
    requests = import_optional("requests", "datasets", "Downloads")
    have = part.stat().st_size if part.exists() else 0
    # Complete already: the process that received it died before it was verified.
    if have == expected.size:
        return
    # Compressed in transit, positions and lengths would count other bytes than those of the file.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=timeout) as response:
            status, content_range = response.status_code, response.headers.get("Content-Range", "")
            if have and status == 416:  # nothing lies beyond what we have; verification decides
                return
            if status == 206 and not content_range.startswith(f"bytes {have}-"):
                raise _Interrupted(f"the server answered with an unexpected range {content_range!r}")
            if status not in (200, 206):
                answer = f"the server answered {status} {response.reason}"
                refused = DatasetError(f"{url} cannot be downloaded: {answer}.")
                raise _Interrupted(answer) if status in _RETRIED else refused
            # A server may ignore that only the rest is wanted, and send everything.
            _save(response, have if status == 206 else 0, part, expected, report)
    except requests.RequestException as error:
        raise _Interrupted(_describe_failure(requests, error)) from error


def _save(response: Any, start: int, part: Path, expected: Checksum, report: Progress) -> None:
    announced = response.headers.get("Content-Length", "")
    total = expected.size or (start + int(announced) if announced.isdecimal() else None)
    done = start
    # Written at a position, not appended: two processes that fetch the same file write the same bytes.
    with part.open("r+b" if part.exists() else "w+b") as file:
        file.seek(start)
        for chunk in response.iter_content(8192):
            done += len(chunk)
            # Checked while it arrives: an endless response would fill the disk.
            if done > (expected.size or _MAX_BYTES):
                part.unlink(missing_ok=True)
                raise _Interrupted("the server sent more bytes than the file has")
            file.write(chunk)
            report(done, total)
        file.truncate(done)  # removes the rest of an older and longer attempt


def _move_verified(part: Path, target: Path, expected: Checksum) -> None:
    """Verify what arrived, in a copy that no other process can write to, and keep that copy."""
    with part.open("rb") as arrived, writing(target) as file:
        shutil.copyfileobj(arrived, file)
        file.flush()
        problem = expected.problem(Path(file.name))
        # A wrong file that is not too short cannot be completed.
        if not problem or file.tell() >= (expected.size or 0):
            part.unlink(missing_ok=True)
        if problem:
            raise _Interrupted(f"what arrived is not the file that was meant ({problem})")


def _describe_failure(requests: Any, error: Exception) -> str:
    # While the body is read, requests reports a timeout as any lost connection.
    if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
        return "the connection stalled"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut"
    return f"there was no connection ({type(error).__name__})"


def _draw_bar(file_name: str, done: int, total: int | None) -> None:
    share = f"{done / total:4.0%} of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
    print(f"\r{file_name}: {share}", end="\n" if done == total else "", file=sys.stderr, flush=True)
