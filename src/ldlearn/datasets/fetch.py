"""Data sets by name: which exist, which are here, and getting one."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from ldlearn._messages import did_you_mean, nearest_names, normalize_name
from ldlearn._optional_imports import import_optional
from ldlearn.datasets import embedded
from ldlearn.datasets.catalogue import CatalogueFile, Checksum, DatasetInfo, catalogue
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.files import read_dataset
from ldlearn.exceptions import DatasetError, MissingDependencyError
from ldlearn.tables.files import OnMessage, atomic_write, convert_os_errors

_OnDownload = Callable[[int, int | None], None]

_LARGEST_DOWNLOAD = 1 << 31  # of a file whose size is unknown
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})  # temporary failures of a server


class DatasetNotHereError(DatasetError):
    """The data set is not on this machine; the message explains how to get it."""


def list_datasets() -> list[DatasetInfo]:
    """Every data set available by name, with its state: embedded, cached or not here.

    Returns
    -------
    infos : list of DatasetInfo

    Examples
    --------
    >>> [info.name for info in list_datasets() if info.state == "embedded"]
    ['vader_tweets', 'uk_budget_shares', 'yeast']
    """
    return [dataset_info(name) for name in catalogue()]


def dataset_info(name: str) -> DatasetInfo:
    """Information on one data set, without fetching it.

    Parameters
    ----------
    name : str
        In any spelling: ``"s_jaffe"``, ``"s-JAFFE"`` and ``"SJAFFE"`` are the same.

    Examples
    --------
    >>> dataset_info("Natural Scene").n_labels
    9
    """
    entry = catalogue()[dataset_name(name)]
    with suppress(DatasetError):  # of a wrong file in the user's own folder
        if found := _find_file(entry):
            return replace(entry, state="cached", path=found[1], checksum=str(found[0].checksum))
    return entry


def fetch_dataset(
    name: str,
    *,
    progress: bool | _OnDownload = False,
    timeout: float = 30.0,
    retries: int = 4,
    on_message: OnMessage | None = None,
    download: bool = True,
) -> LabelDataset:
    """Load a data set by name, downloading its file the first time.

    A file is looked for in the folder that the environment variable ``LDLEARN_DATA`` names (which
    is only read), then in the cache folder of the user; there a download lands, after its checksum
    has been verified. Addresses are pinned to commits, so a file cannot change under its checksum.
    If a mirror fails, the next one is tried.

    Parameters
    ----------
    name : str
        Of `list_datasets`, in any spelling.
    progress : bool or callable, default=False
        True draws a bar on standard error; a callable gets (bytes so far, bytes in all or None).
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as stalled.
    retries : int, default=4
        Further attempts after the first, for each mirror.
    on_message : callable, optional
        Receives the terms of the data set before its first download; by default they go to standard
        error.
    download : bool, default=True
        If False, only what is on this machine is loaded.

    Returns
    -------
    data : LabelDataset

    Raises
    ------
    DatasetNotHereError
        If it is not on this machine and must not be downloaded.
    DatasetError
        If there is no such data set, if no mirror delivers it, or if a file is not the one meant.

    Examples
    --------
    >>> fetch_dataset("vader_tweets").n_samples
    4004
    """
    entry = catalogue()[dataset_name(name)]
    if not entry.files:
        return getattr(embedded, f"load_{entry.name}")()
    found = _find_file(entry)
    if found is None and not download:
        how = entry.manual or (
            f"Fetch it once with ldlearn.datasets.fetch_dataset({entry.name!r}), or put its file "
            "into the folder that the environment variable LDLEARN_DATA names."
        )
        raise DatasetNotHereError(f"{entry.title} is not on this machine. {how}")
    if found is None:
        on_message = on_message or partial(print, file=sys.stderr)
        found = _download_first(
            entry, on_message, progress=progress, timeout=timeout, retries=retries
        )
    return _read_catalogued(entry, *found)


def dataset_name(name: str) -> str:
    """The name of a data set, given in any spelling."""
    known = catalogue()
    given = normalize_name(name)
    spellings = {}
    for key, info in known.items():
        for spelling in (key, info.title, *info.aliases):
            spellings[normalize_name(spelling)] = key
    if given in spellings:
        return spellings[given]
    near = dict.fromkeys(spellings[word] for word in nearest_names(given, spellings))
    advice = did_you_mean(near, f"known are {', '.join(known)}.")
    raise DatasetError(f"There is no data set {name!r}; {advice}")


class MirrorCheck(NamedTuple):
    """Whether a mirror delivers a file of a data set: `problem` is empty if it does."""

    dataset: str
    mirror: str
    problem: str


def check_mirrors(names: Iterable[str] = (), *, timeout: float = 30.0) -> Iterator[MirrorCheck]:
    """Download every file from each of its mirrors and verify its checksum; nothing is kept.

    Parameters
    ----------
    names : iterable of str
        Data sets; all that have mirrors by default.
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as stalled.

    Yields
    ------
    check : MirrorCheck
    """
    for name in list(map(dataset_name, names)) or catalogue():
        for file, mirror in _mirrors(catalogue()[name]):
            problem = ""
            with TemporaryDirectory() as folder:
                try:
                    download(
                        mirror,
                        Path(folder),
                        file.names[0],
                        file.checksum,
                        timeout=timeout,
                        retries=0,
                    )
                except DatasetError as error:
                    problem = str(error)
            yield MirrorCheck(name, mirror, problem)


def download(
    url: str,
    folder: Path,
    file_name: str,
    expected: Checksum,
    *,
    timeout: float = 30.0,
    retries: int = 4,
    pause: float = 0.5,
    progress: bool | _OnDownload = False,
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
    target = folder / file_name
    reason = ""
    report = progress or (lambda done, total: None)
    if report is True:
        report = partial(_print_progress, file_name)
    with convert_os_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        for attempt in range(retries + 1):
            if attempt:
                time.sleep(pause * 2 ** (attempt - 1))
            try:
                with atomic_write(target) as file:
                    _receive(url, file, expected, timeout, report)
                    file.flush()
                    if problem := expected.find_problem(Path(file.name)):
                        raise _FailedAttempt(
                            f"what arrived is not the file that was meant ({problem})"
                        )
                return target
            except _FailedAttempt as error:
                reason = str(error)
    raise DatasetError(
        f"{url} could not be downloaded in {retries + 1} attempts; the last error: {reason}. "
        "Try again later."
    )


class _FailedAttempt(Exception):
    """The file did not arrive complete and correct; another attempt may help."""


def _receive(
    url: str, file: IO[bytes], expected: Checksum, timeout: float, report: _OnDownload
) -> None:
    requests = import_optional("requests", "datasets", "Downloads")
    try:
        with requests.get(url, stream=True, timeout=timeout) as response:
            if response.status_code != requests.codes.ok:
                answer = f"the server answered {response.status_code} {response.reason}"
                if response.status_code in _RETRIED:
                    raise _FailedAttempt(answer)
                raise DatasetError(f"{url} cannot be downloaded: {answer}.")
            for chunk in response.iter_content(1 << 16):
                file.write(chunk)
                # Checked while it arrives: an endless response would fill the disk.
                if file.tell() > (expected.size or _LARGEST_DOWNLOAD):
                    raise _FailedAttempt("the server sent more bytes than the file has")
                report(file.tell(), expected.size)
    except requests.RequestException as error:
        raise _FailedAttempt(f"the connection failed ({type(error).__name__})") from error


def _print_progress(file_name: str, done: int, total: int | None) -> None:
    share = f"{done / 1e6:.1f} MB"
    if total:
        share = f"{done / total:4.0%} of {total / 1e6:.1f} MB"
    end = "\n" if done == total else ""
    print(f"\r{file_name}: {share}", end=end, file=sys.stderr, flush=True)


def _cache_folder() -> Path:
    """The user's cache; pooch knows where that is, and brings what downloads need."""
    purpose = "Without a folder named in LDLEARN_DATA that has the files, downloads"
    return Path(import_optional("pooch", "datasets", purpose).os_cache("ldlearn"))


def _find_file(entry: DatasetInfo) -> tuple[CatalogueFile, Path] | None:
    """The right file of an entry: the user's own, where a wrong one is an error, or cached."""
    own = os.environ.get("LDLEARN_DATA", "")
    if own and (found := _find_file_in(Path(own).expanduser(), entry, strict=True)):
        return found
    with suppress(MissingDependencyError):  # then there is no cache
        return _find_file_in(_cache_folder(), entry)
    return None


def _find_file_in(
    folder: Path, entry: DatasetInfo, *, strict: bool = False
) -> tuple[CatalogueFile, Path] | None:
    wrong: dict[Path, str] = {}
    for file in entry.files:
        for path in map(folder.joinpath, file.names):
            if not path.is_file():
                continue
            problem = file.checksum.find_problem(path)
            if not problem:
                return file, path
            # Of several versions with one file name the preferred one, which is first, is compared.
            wrong.setdefault(path, f"{path} is not the {entry.title} of the catalogue: {problem}")
    if strict and wrong:
        problems = "; ".join(wrong.values())
        raise DatasetError(f"{problems}. Replace or remove it, or unset LDLEARN_DATA.")
    return None


def _mirrors(entry: DatasetInfo) -> list[tuple[CatalogueFile, str]]:
    """Every file of an entry with each of its mirrors."""
    return [(file, mirror) for file in entry.files for mirror in file.mirrors]


def _download_first(
    entry: DatasetInfo, on_message: OnMessage, **options: Any
) -> tuple[CatalogueFile, Path]:
    """Download from the first mirror that delivers."""
    if entry.manual:
        raise DatasetError(
            f"{entry.title} cannot be downloaded ({entry.terms}: {entry.terms_note}) {entry.manual}"
        )
    folder = _cache_folder()
    # Before the first byte, while one can still think better of it.
    on_message(
        f"{entry.title}: terms of use: {entry.terms}. {entry.terms_note} "
        f"Please cite: {entry.citation}"
    )
    failures = []
    for file, mirror in _mirrors(entry):
        try:
            return file, download(mirror, folder, file.names[0], file.checksum, **options)
        except DatasetError as error:
            failures.append(str(error))
    raise DatasetError(" ".join(failures))


def _read_catalogued(entry: DatasetInfo, file: CatalogueFile, path: Path) -> LabelDataset:
    known = str(file.checksum)
    read = partial(read_dataset, path, file.X, checksum=known)
    data = read(file.D, kind="distribution", normalise=file.normalise)
    if data.n_labels != entry.n_labels:
        raise DatasetError(f"{path}: {file.D!r} must have {entry.n_labels} columns, one per label.")
    # The stored labels need not follow from the degrees by any rule, as those of Natural Scene do
    # not.
    Y = None
    if file.Y:
        Y = read(file.Y, kind="logical").Y
    source = file.mirrors[0] if file.mirrors else str(path)
    return entry.dataset(X=data.X, D=data.D, Y=Y, source=source, checksum=known)
