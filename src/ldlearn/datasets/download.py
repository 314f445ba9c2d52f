"""Downloads that retry, and leave only whole and verified files behind."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from ldlearn.exceptions import DatasetError, import_optional
from ldlearn.tables.atomic import naming_system_errors, writing
from ldlearn.tables.checksums import Checksum

Progress = Callable[[int, int | None], None]

_MAX_BYTES = 1 << 31  # of a file whose size is unknown
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})  # temporary failures of a server


def download(
    url: str,
    folder: Path,
    file_name: str,
    expected: Checksum,
    *,
    timeout: float = 30.0,
    retries: int = 4,
    pause: float = 0.5,
    progress: bool | Progress = False,
) -> Path:
    """Download a file into a folder, under a name that it gets only once it is whole and verified.

    Own code because pooch knows no git blob ids, and has no limit for what a server sends.

    Parameters
    ----------
    url : str
    folder : Path
        Made if it does not exist.
    file_name : str
    expected : Checksum
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as stalled.
    retries : int, default=4
        Further attempts after the first.
    pause : float, default=0.5
        Seconds before the second attempt; doubled before each further one.
    progress : bool or callable, default=False
        True draws a bar on standard error; a callable gets (bytes so far, bytes in all or None).

    Returns
    -------
    path : Path
    """
    target, reason = folder / file_name, ""
    report = partial(_draw_bar, file_name) if progress is True else progress or (lambda done, total: None)
    with naming_system_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        for attempt in range(retries + 1):
            if attempt:
                time.sleep(pause * 2 ** (attempt - 1))
            try:
                with writing(target) as file:
                    _receive(url, file, expected, timeout, report)
                    file.flush()
                    if problem := expected.problem(Path(file.name)):
                        raise _FailedAttempt(f"what arrived is not the file that was meant ({problem})")
                return target
            except _FailedAttempt as error:
                reason = str(error)
    problem = f"{url} could not be downloaded in {retries + 1} attempts"
    raise DatasetError(f"{problem}; the last one failed because {reason}. Try again later.")


class _FailedAttempt(Exception):
    """The file did not arrive complete and correct; another attempt may help."""


def _receive(url: str, file: IO[bytes], expected: Checksum, timeout: float, report: Progress) -> None:
    requests = import_optional("requests", "datasets", "Downloads")
    try:
        with requests.get(url, stream=True, timeout=timeout) as response:
            if response.status_code != requests.codes.ok:
                answer = f"the server answered {response.status_code} {response.reason}"
                refused = DatasetError(f"{url} cannot be downloaded: {answer}.")
                raise _FailedAttempt(answer) if response.status_code in _RETRIED else refused
            for chunk in response.iter_content(1 << 16):
                file.write(chunk)
                # Checked while it arrives: an endless response would fill the disk.
                if file.tell() > (expected.size or _MAX_BYTES):
                    raise _FailedAttempt("the server sent more bytes than the file has")
                report(file.tell(), expected.size)
    except requests.RequestException as error:
        raise _FailedAttempt(f"the connection failed ({type(error).__name__})") from error


def _draw_bar(file_name: str, done: int, total: int | None) -> None:
    share = f"{done / total:4.0%} of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
    print(f"\r{file_name}: {share}", end="\n" if done == total else "", file=sys.stderr, flush=True)
