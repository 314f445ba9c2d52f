"""The catalogue of the field's public data sets, as kept in catalogue.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ldlearn.datasets.checksums import Checksum
from ldlearn.errors import DatasetError, bare_name, nearest_names


@dataclass(frozen=True)
class CatalogueFile:
    """One file that holds a data set: its names on a disk, its address, its content, its arrays."""

    names: tuple[str, ...]
    url: str
    checksum: Checksum
    X: str
    D: str
    Y: str = ""
    normalise: bool = False


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set of the catalogue; several files are alternatives, in order of preference, none is embedded data."""

    name: str
    title: str
    aliases: tuple[str, ...]
    n_samples: int
    n_features: int
    n_labels: int
    label_names: tuple[str, ...]
    terms: str
    terms_note: str
    citation: str
    description: str
    manual: str
    source: str
    files: tuple[CatalogueFile, ...]


def catalogue() -> dict[str, CatalogueEntry]:
    """Every data set that lies in a file elsewhere, by name."""
    return _read_catalogue("dataset")


def embedded_entries() -> dict[str, CatalogueEntry]:
    """Every data set that comes with the package, by name."""
    return _read_catalogue("embedded")


@cache
def _read_catalogue(table: str) -> dict[str, CatalogueEntry]:
    text = files("ldlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    entries = [_entry(record) for record in tomllib.loads(text)[table]]
    return {entry.name: entry for entry in entries}


def _entry(record: dict[str, Any]) -> CatalogueEntry:
    fields: dict[str, Any] = {"aliases": [], "label_names": [], "manual": "", "source": "", "file": []} | record
    parts = fields.pop("file")
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return CatalogueEntry(**fields, files=tuple(_file(part) for part in parts))


def _file(record: dict[str, Any]) -> CatalogueFile:
    url = ""
    if "repository" in record:
        url = "https://raw.githubusercontent.com/{repository}/{commit}/{path}".format_map(record)
    return CatalogueFile(
        names=tuple(record["names"]),
        url=url,
        checksum=Checksum(record.get("sha256", ""), record.get("git", ""), record.get("size")),
        X=record["X"],
        D=record["D"],
        Y=record.get("Y", ""),
        normalise=record.get("normalise", False),
    )


def resolve(name: str, known: dict[str, tuple[str, ...]]) -> str:
    """Find the name meant, among known names with their aliases; an unknown one is an error with suggestions."""
    spellings = {bare_name(spelling): key for key, others in known.items() for spelling in (key, *others)}
    if bare_name(name) in spellings:
        return spellings[bare_name(name)]
    near = dict.fromkeys(spellings[word] for word in nearest_names(bare_name(name), spellings))
    advice = f"Did you mean {', '.join(near)}?" if near else f"Known names: {', '.join(known)}."
    raise DatasetError(f"There is no data set {name!r}. {advice}")
