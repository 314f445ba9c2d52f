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
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})  # the server's trouble, not a refusal


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
    patience, reason = patience or Patience(), ""
    with naming_system_errors(folder, "written"):
        transfer = _Transfer(
            url=url,
            target=folder / file_name,
            partial=folder / "partial" / f"{file_name}.{str(expected)[-16:]}",  # another version is not continued
            expected=expected,
            timeout=patience.timeout,
            progress=partial(_draw_bar, file_name) if progress is True else progress or (lambda done, total: None),
        )
        for attempt in range(patience.retries + 1):
            if attempt:
                # Twice as long each time: a server in trouble is not helped by being asked at once.
                time.sleep(patience.pause * 2 ** (attempt - 1))
            # Another process may have finished it while we waited.
            if transfer.target.is_file() and not expected.problem(transfer.target):
                return transfer.target
            try:
                transfer.receive()
                return transfer.hand_over()
            except _Interrupted as error:
                reason = str(error)
            except FileNotFoundError:
                # Two processes share a partial file, and whoever hands it over removes it.
                reason = "another process has taken the file"
    raise DatasetError(
        f"{url} could not be downloaded in {patience.retries + 1} attempts; the last one failed because {reason}. "
        "Try again later: what has arrived is kept and continued."
    )


class _Interrupted(Exception):
    """The file did not arrive whole, or not right; another attempt may help."""


@dataclass(frozen=True)
class _Transfer:
    """Fills `partial`, and puts only what has been verified at `target`.

    Own code because what has arrived of a download is kept and continued, which pooch does not do.
    """

    url: str
    target: Path
    partial: Path
    expected: Checksum
    timeout: float
    progress: Progress

    def receive(self) -> None:
        """Ask for what is still missing, and keep it."""
        self.partial.parent.mkdir(parents=True, exist_ok=True)
        requests = import_optional("requests", "datasets", "Downloads")
        have = self.partial.stat().st_size if self.partial.exists() else 0
        # whole already: the process that received it died before handing it over
        if have == self.expected.size:
            return
        # Packed on the way, positions and lengths would count other bytes than those of the file.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        try:
            with requests.get(self.url, headers=headers, stream=True, timeout=self.timeout) as response:
                if not have or response.status_code != 416:  # nothing lies beyond what we have; verification decides
                    self._save(response, self._start_of(response, have))
        except requests.RequestException as error:
            raise _Interrupted(_describe_failure(requests, error)) from error

    def hand_over(self) -> Path:
        """Verify what arrived, in a copy that no other process can write to, and keep that copy."""
        with self.partial.open("rb") as arrived, writing(self.target) as file:
            shutil.copyfileobj(arrived, file)
            file.flush()
            problem = self.expected.problem(Path(file.name))
            # what is wrong and not too short never becomes right
            if not problem or file.tell() >= (self.expected.size or 0):
                self.partial.unlink(missing_ok=True)
            if problem:
                raise _Interrupted(f"what arrived is not the file that was meant ({problem})")
        return self.target

    def _start_of(self, response: Any, have: int) -> int:
        """Position of the first byte of the answer: a server may ignore that we want only the rest."""
        answer = f"the server answered {response.status_code} {response.reason}"
        content_range = response.headers.get("Content-Range", "")
        if response.status_code == 200:
            return 0
        if response.status_code == 206 and content_range.startswith(f"bytes {have}-"):
            return have
        if response.status_code == 206:
            raise _Interrupted(f"the server answered with an unexpected range {content_range!r}")
        if response.status_code in _RETRIED:
            raise _Interrupted(answer)
        raise DatasetError(f"{self.url} cannot be downloaded: {answer}.")

    def _save(self, response: Any, start: int) -> None:
        announced = response.headers.get("Content-Length", "")
        total = self.expected.size or (start + int(announced) if announced.isdecimal() else None)
        done = start
        # writing at a position, not appending: two processes that fetch the same file write the same bytes
        with self.partial.open("r+b" if self.partial.exists() else "w+b") as file:
            file.seek(start)
            for chunk in response.iter_content(8192):
                done += len(chunk)
                # Looked at while it arrives: a server without an end would fill the disk.
                if done > (self.expected.size or _MAX_BYTES):
                    self.partial.unlink(missing_ok=True)
                    raise _Interrupted("the server sent more bytes than the file has")
                file.write(chunk)
                self.progress(done, total)
            # of an older and longer attempt, nothing may be left behind the end
            file.truncate(done)


def _describe_failure(requests: Any, error: Exception) -> str:
    # While the body is read, requests tells of a timeout as of any lost connection.
    if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
        return "the connection stalled"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut"
    return f"there was no connection ({type(error).__name__})"


def _draw_bar(file_name: str, done: int, total: int | None) -> None:
    share = f"{done / total:4.0%} of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
    print(f"\r{file_name}: {share}", end="\n" if done == total else "", file=sys.stderr, flush=True)
