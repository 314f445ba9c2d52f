"""The catalogue of the field's public data sets, as kept in catalogue.toml."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.tables.checksums import Checksum


@dataclass(frozen=True)
class DatasetInfo:
    """Information on a data set that needs no loading.

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
    address: str = ""
    checksum: str = ""
    path: Path | None = None
    manual: str = ""


@dataclass(frozen=True)
class CatalogueFile:
    """One file that holds a data set: its names on a disk, its content, its arrays, its address."""

    names: Sequence[str]
    checksum: Checksum
    X: str
    D: str
    Y: str = ""
    normalise: bool = False
    url: str = ""


@dataclass(frozen=True)
class CatalogueEntry(DatasetInfo):
    """A data set of the catalogue; several files are alternatives, in order of preference, none is embedded data."""

    aliases: Sequence[str] = ()
    label_names: Sequence[str] = ()
    source: str = ""
    files: Sequence[CatalogueFile] = ()

    def dataset(self, **fields: Any) -> LabelDataset:
        """A `LabelDataset` of these arrays, with names and origin from the catalogue."""
        copied = ("name", "label_names", "source", "citation", "checksum", "description")
        return LabelDataset(**{key: getattr(self, key) for key in copied} | fields, licence=self.terms)


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Every data set available by name: first those that come with the package, then those in files elsewhere."""
    content = tomllib.loads(files("ldlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return {record["name"]: _entry(record) for record in content["embedded"] + content["dataset"]}


def _entry(record: dict[str, Any]) -> CatalogueEntry:
    parts = [part | {"checksum": Checksum(**part.get("checksum", {}))} for part in record.pop("file", ())]
    return CatalogueEntry(**{"state": "not here"} | record, files=[CatalogueFile(**part) for part in parts])
