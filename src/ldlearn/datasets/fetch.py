"""Data sets by name: which exist, which are here, and getting one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from ldlearn.datasets import embedded
from ldlearn.datasets.catalogue import CatalogueEntry, CatalogueFile, catalogue
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.download import Patience, Progress, download, import_pooch
from ldlearn.datasets.labels import as_distributions
from ldlearn.errors import DatasetError, TableError, bare_name, nearest_names
from ldlearn.io.formats import open_table
from ldlearn.io.source import reading

Loader = Callable[[], LabelDataset]


class DatasetNotHereError(DatasetError):
    """The data set is not on this machine; the message says how to get it."""


EMBEDDED: dict[str, Loader] = {
    "vader_tweets": embedded.load_vader_tweets,
    "uk_budget_shares": embedded.load_uk_budget_shares,
    "yeast": embedded.load_yeast,
}


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name, title : str
    state : {"embedded", "cached", "not here"}
    n_samples, n_features, n_labels : int
    terms, terms_note : str
        Terms of use in a few words, and in a sentence.
    citation, description : str
        What to cite; what to know before using it, its traps included.
    address : str
        Where it is fetched from; empty if it comes with the package or must be placed by hand.
    checksum : str
        ``"sha256:..."`` or ``"git:..."``; empty if unknown.
    path : Path or None
        The file, if it is here.
    manual : str
        How to place the file by hand, if it cannot be fetched.
    """

    name: str
    title: str
    state: str
    n_samples: int
    n_features: int
    n_labels: int
    terms: str
    terms_note: str
    citation: str
    description: str
    address: str
    checksum: str
    path: Path | None
    manual: str


def list_datasets() -> list[DatasetInfo]:
    """Every data set that can be had by name, with its state: embedded, cached or not here.

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
    """What is known of one data set, without fetching it.

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
    patience: Patience | None = None,
    announce: Callable[[str], None] | None = None,
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
        True draws a bar on standard error; a callable is told (bytes so far, bytes in all or None).
    patience : Patience, optional
        Timeout and retries.
    announce : callable, optional
        Is told the terms of the data set before its first download; by default they go to standard error.
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
    name = dataset_name(name)
    if name in EMBEDDED:
        return EMBEDDED[name]()
    entry = catalogue()[name]
    found = _find(entry)
    if found is None and not download:
        how = entry.manual or (
            f"Fetch it once with ldlearn.datasets.fetch_dataset({name!r}), or put its file into the folder that the "
            "environment variable LDLEARN_DATA names."
        )
        raise DatasetNotHereError(f"{entry.title} is not on this machine. {how}")
    file, path = found or _download(entry, progress, patience, announce or _to_stderr)
    return _load(entry, file, path)


def dataset_name(name: str) -> str:
    """The name of a data set, given in any spelling; an error with a hint if there is none of the name."""
    known = catalogue()
    spellings = {bare_name(word): key for key, entry in known.items() for word in (key, entry.title, *entry.aliases)}
    if bare_name(name) in spellings:
        return spellings[bare_name(name)]
    near = dict.fromkeys(spellings[word] for word in nearest_names(bare_name(name), spellings))
    advice = f"Did you mean {', '.join(near)}?" if near else f"Known names: {', '.join(known)}."
    raise DatasetError(f"There is no data set {name!r}. {advice}")


def _cache_folder() -> Path | None:
    """The user's cache, or None where pooch, which knows where that is, is not installed."""
    try:
        return Path(import_pooch().os_cache("ldlearn"))
    except ImportError:
        return None


def _find(entry: CatalogueEntry) -> tuple[CatalogueFile, Path] | None:
    """The right file of an entry, if it is here: in the user's own folder, where a wrong one is an error, or cached."""
    if own := os.environ.get("LDLEARN_DATA", ""):
        here = _present(Path(own).expanduser(), entry)
        if found := _right(here):
            return found
        title = f"is not the {entry.title} of the catalogue"
        if wrong := {path: f"{path} {title}: {file.checksum.problem(path)}" for file, path in reversed(here)}:
            raise DatasetError(f"{'; '.join(wrong.values())}. Replace or remove it, or unset LDLEARN_DATA.")
    cached = _cache_folder()
    return None if cached is None else _right(_present(cached, entry))


def _present(folder: Path, entry: CatalogueEntry) -> list[tuple[CatalogueFile, Path]]:
    """Files of the names that the entry knows."""
    return [(file, folder / name) for file in entry.files for name in file.names if (folder / name).is_file()]


def _right(files: list[tuple[CatalogueFile, Path]]) -> tuple[CatalogueFile, Path] | None:
    return next(((file, path) for file, path in files if not file.checksum.problem(path)), None)


def _download(
    entry: CatalogueEntry,
    progress: bool | Progress,
    patience: Patience | None,
    announce: Callable[[str], None],
) -> tuple[CatalogueFile, Path]:
    if entry.manual:
        raise DatasetError(f"{entry.title} cannot be downloaded ({entry.terms}: {entry.terms_note}) {entry.manual}")
    import_pooch()
    folder = _cache_folder()
    assert folder is not None
    announce(f"{entry.title}: terms of use: {entry.terms}. {entry.terms_note} Please cite: {entry.citation}")
    failures = []
    for file in entry.files:
        target = folder / file.names[0]
        target.unlink(missing_ok=True)  # it is there only if it is wrong
        try:
            path = download(file.url, folder, target.name, file.checksum, patience=patience, progress=progress)
            return file, path
        except DatasetError as error:
            failures.append(str(error))
    raise DatasetError(" ".join(failures))


def _load(entry: CatalogueEntry, file: CatalogueFile, path: Path) -> LabelDataset:
    wanted = {field: name for field, name in (("X", file.X), ("D", file.D), ("Y", file.Y)) if name}
    try:
        with open_table(str(path), by_name=False) as source, reading(source.given):
            arrays = source.matrices({field: source.find(name, entry.title) for field, name in wanted.items()})
    except TableError as error:
        raise DatasetError(str(error)) from error
    if arrays["D"].shape[1] != entry.n_labels:
        raise DatasetError(f"{path}: {file.D!r} must have {entry.n_labels} columns, one per label.")
    return entry.dataset(
        X=arrays["X"],
        D=as_distributions(arrays["D"], entry.label_names, where=str(path), normalise=file.normalise),
        Y=arrays["Y"].astype("int8") if file.Y else None,
        source=file.url or str(path),
        checksum=str(file.checksum),
    )


def _info(entry: CatalogueEntry) -> DatasetInfo:
    known = {field.name: getattr(entry, field.name) for field in fields(DatasetInfo) if hasattr(entry, field.name)}
    if not entry.files:
        checksum = embedded.embedded_checksum(entry.name)
        return DatasetInfo(**known, state="embedded", address="", checksum=checksum, path=None)
    try:
        found = _find(entry)
    except DatasetError:
        found = None
    file, path = found or (entry.files[0], None)
    state = "cached" if found else "not here"
    return DatasetInfo(**known, state=state, address=file.url, checksum=str(file.checksum), path=path)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr)
