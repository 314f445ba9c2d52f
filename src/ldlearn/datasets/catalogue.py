"""The catalogue of the field's public data sets, as kept in catalogue.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ldlearn.datasets.checksums import Checksum
from ldlearn.datasets.dataset import LabelDataset


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
    n_samples: int
    n_features: int
    n_labels: int
    terms: str
    terms_note: str
    citation: str
    description: str
    aliases: tuple[str, ...] = ()
    label_names: tuple[str, ...] = ()
    manual: str = ""
    source: str = ""
    files: tuple[CatalogueFile, ...] = ()

    def dataset(self, **fields: Any) -> LabelDataset:
        """A `LabelDataset` of these arrays, with the names and the origin that the catalogue tells."""
        told = {key: getattr(self, key) for key in ("name", "label_names", "source", "citation", "description")}
        return LabelDataset(**told | fields, licence=self.terms)


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Every data set that can be had by name: first those that come with the package, then those in files elsewhere."""
    text = files("ldlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    return {record["name"]: _entry(record) for record in content["embedded"] + content["dataset"]}


def _entry(record: dict[str, Any]) -> CatalogueEntry:
    parts = tuple(_file(part) for part in record.pop("file", ()))
    return CatalogueEntry(**{key: _frozen(value) for key, value in record.items()}, files=parts)


def _file(record: dict[str, Any]) -> CatalogueFile:
    known = {key: _frozen(record[key]) for key in ("names", "X", "D", "Y", "normalise") if key in record}
    url = ""
    if "repository" in record:
        url = "https://raw.githubusercontent.com/{repository}/{commit}/{path}".format_map(record)
    return CatalogueFile(
        **known, url=url, checksum=Checksum(record.get("sha256", ""), record.get("git", ""), record.get("size"))
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
