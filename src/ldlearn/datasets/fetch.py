"""Data sets by name: which exist, which are here, and getting one."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from ldlearn.datasets import embedded
from ldlearn.datasets.catalogue import CatalogueEntry, CatalogueFile, DatasetInfo, catalogue
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.download import Progress, download
from ldlearn.datasets.files import read_dataset
from ldlearn.exceptions import (
    DatasetError,
    MissingDependencyError,
    did_you_mean,
    import_optional,
    nearest_names,
    normalize_name,
)


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
    return [_info(entry) for entry in catalogue().values()]


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
    return _info(catalogue()[dataset_name(name)])


def fetch_dataset(
    name: str,
    *,
    progress: bool | Progress = False,
    timeout: float = 30.0,
    retries: int = 4,
    on_message: Callable[[str], None] | None = None,
    download: bool = True,
) -> LabelDataset:
    """Load a data set by name, downloading its file the first time.

    A file is looked for in the folder that the environment variable ``LDLEARN_DATA`` names (which is only
    read), then in the cache folder of the user; there a download lands, after its checksum has been
    verified. Addresses are pinned to commits, so a file cannot change under its checksum.

    Parameters
    ----------
    name : str
        Of `list_datasets`, in any spelling.
    progress : bool or callable, default=False
        True draws a bar on standard error; a callable gets (bytes so far, bytes in all or None).
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as stalled.
    retries : int, default=4
        Further attempts after the first.
    on_message : callable, optional
        Receives the terms of the data set before its first download; by default they go to standard error.
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
        If there is no such data set, if the server does not deliver it, or if a file is not the one meant.

    Examples
    --------
    >>> fetch_dataset("vader_tweets").n_samples
    4004
    """
    entry = catalogue()[dataset_name(name)]
    if not entry.files:
        return getattr(embedded, f"load_{entry.name}")()  # type: ignore[no-any-return]
    found = _find(entry)
    if found is None and not download:
        how = entry.manual or (
            f"Fetch it once with ldlearn.datasets.fetch_dataset({entry.name!r}), or put its file into the folder that "
            "the environment variable LDLEARN_DATA names."
        )
        raise DatasetNotHereError(f"{entry.title} is not on this machine. {how}")
    if found is None:
        on_message = on_message or partial(print, file=sys.stderr)
        found = _download(entry, on_message, progress=progress, timeout=timeout, retries=retries)
    return _load(entry, *found)


def dataset_name(name: str) -> str:
    """The name of a data set, given in any spelling; an error with a suggestion if there is none of that name."""
    known = catalogue()
    spellings = {
        normalize_name(word): key for key, entry in known.items() for word in (key, entry.title, *entry.aliases)
    }
    if normalize_name(name) in spellings:
        return spellings[normalize_name(name)]
    near = dict.fromkeys(spellings[word] for word in nearest_names(normalize_name(name), spellings))
    advice = did_you_mean(near, f"known are {', '.join(known)}.")
    raise DatasetError(f"There is no data set {name!r}; {advice}")


def _cache_folder() -> Path:
    """The user's cache; pooch knows where that is, and brings what downloads need."""
    purpose = "Without a folder named in LDLEARN_DATA that has the files, downloads"
    return Path(import_optional("pooch", "datasets", purpose).os_cache("ldlearn"))


def _find(entry: CatalogueEntry) -> tuple[CatalogueFile, Path] | None:
    """The right file of an entry, if it is here: in the user's own folder, where a wrong one is an error, or cached."""
    if own := os.environ.get("LDLEARN_DATA", ""):
        here = _present(Path(own).expanduser(), entry)
        if found := _right(here):
            return found
        title = f"is not the {entry.title} of the catalogue"
        # Reversed, so that of several versions with one file name the preferred one is compared.
        if wrong := {path: f"{path} {title}: {file.checksum.problem(path)}" for file, path in reversed(here)}:
            raise DatasetError(f"{'; '.join(wrong.values())}. Replace or remove it, or unset LDLEARN_DATA.")
    with suppress(MissingDependencyError):  # then there is no cache
        return _right(_present(_cache_folder(), entry))
    return None


def _present(folder: Path, entry: CatalogueEntry) -> list[tuple[CatalogueFile, Path]]:
    """Files of the names that the entry knows."""
    return [(file, folder / name) for file in entry.files for name in file.names if (folder / name).is_file()]


def _right(files: list[tuple[CatalogueFile, Path]]) -> tuple[CatalogueFile, Path] | None:
    return next(((file, path) for file, path in files if not file.checksum.problem(path)), None)


def _download(entry: CatalogueEntry, on_message: Callable[[str], None], **options: Any) -> tuple[CatalogueFile, Path]:
    if entry.manual:
        raise DatasetError(f"{entry.title} cannot be downloaded ({entry.terms}: {entry.terms_note}) {entry.manual}")
    folder = _cache_folder()
    # Before the first byte, while one can still think better of it.
    on_message(f"{entry.title}: terms of use: {entry.terms}. {entry.terms_note} Please cite: {entry.citation}")
    failures = []
    for file in entry.files:
        try:
            return file, download(file.url, folder, file.names[0], file.checksum, **options)
        except DatasetError as error:
            failures.append(str(error))
    raise DatasetError(" ".join(failures))


def _load(entry: CatalogueEntry, file: CatalogueFile, path: Path) -> LabelDataset:
    known = str(file.checksum)
    data = read_dataset(path, file.X, file.D, kind="distribution", normalise=file.normalise, checksum=known)
    if data.n_labels != entry.n_labels:
        raise DatasetError(f"{path}: {file.D!r} must have {entry.n_labels} columns, one per label.")
    # The stored labels need not follow from the degrees by any rule, as those of Natural Scene do not.
    Y = read_dataset(path, file.X, file.Y, kind="logical", checksum=known).Y if file.Y else None
    return entry.dataset(X=data.X, D=data.D, Y=Y, source=file.url or str(path), checksum=known)


def _info(entry: CatalogueEntry) -> DatasetInfo:
    known = {field.name: getattr(entry, field.name) for field in fields(DatasetInfo)}
    if entry.files:
        found = None
        with suppress(DatasetError):  # of a wrong file in the user's own folder
            found = _find(entry)
        file, path = found or (entry.files[0], None)
        state = "cached" if found else "not here"
        known |= {"state": state, "address": file.url, "checksum": str(file.checksum), "path": path}
    return DatasetInfo(**known)
