"""The catalogue of the field's public data sets, as kept in catalogue.toml."""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.tables.files import sha256_of


def _git_blob_id(path: Path) -> str:
    r"""Id under which git stores a file: SHA-1 of ``b"blob <size>\0"`` followed by the content."""
    header = f"blob {path.stat().st_size}\0".encode()
    with path.open("rb") as file:
        # usedforsecurity: systems under FIPS refuse SHA-1 otherwise.
        digest = hashlib.file_digest(file, lambda: hashlib.sha1(header, usedforsecurity=False))
    return digest.hexdigest()


@dataclass(frozen=True)
class Checksum:
    """Expected checksum of a file: its SHA-256 if known, else the id of its git blob.

    A git blob id is a SHA-1: it finds every accident, but a forger with great means could meet it.
    """

    sha256: str = ""
    git: str = ""
    size: int | None = None

    def __str__(self) -> str:
        if self.sha256:
            return f"sha256:{self.sha256}"
        return f"git:{self.git}" if self.git else ""

    def find_problem(self, path: Path) -> str:
        """How a file differs from the expected one; empty if it does not."""
        size = path.stat().st_size
        # The size first: it is cheap, and informative about an incomplete download.
        if self.size not in (None, size):
            return f"it has {size:,} bytes instead of {self.size:,}"
        if self.sha256 and (found := sha256_of(path)) != self.sha256:
            return f"its SHA-256 is {found} instead of {self.sha256}"
        if self.git and not self.sha256 and (found := _git_blob_id(path)) != self.git:
            return f"its git blob id is {found} instead of {self.git}"
        return ""


@dataclass(frozen=True)
class CatalogueFile:
    """One file that holds a data set: its names on a disk, its content, its mirrors, its arrays."""

    names: Sequence[str]
    checksum: Checksum
    mirrors: Sequence[str] = ()
    X: str = "features"
    D: str = "labels"
    Y: str = ""
    normalise: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """Information on a data set that needs no loading.

    Attributes
    ----------
    name, title : str
    n_samples, n_features, n_labels : int
    terms, terms_note : str
        Licence or terms of use in a few words, and in a sentence.
    citation, description : str
        What to cite; what to know before using it, its traps included.
    state : {"embedded", "cached", "not here"}
    path : Path or None
        The file, if it is here.
    checksum : str
        ``"sha256:..."`` or ``"git:..."``; empty if unknown.
    mirrors : sequence of str
        Addresses that it can be fetched from, tried in this order; none if it comes with the
        package or must be placed by hand.
    manual : str
        How to place the file by hand, if it cannot be fetched.
    aliases, label_names : sequence of str
    source : str
        Where an embedded data set comes from.
    files : sequence of CatalogueFile
        Alternatives in order of preference; none for embedded data.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_labels: int
    terms: str
    terms_note: str
    citation: str
    description: str
    state: str = "not here"
    path: Path | None = None
    checksum: str = ""
    mirrors: Sequence[str] = ()
    manual: str = ""
    aliases: Sequence[str] = ()
    label_names: Sequence[str] = ()
    source: str = ""
    files: Sequence[CatalogueFile] = ()

    def dataset(self, **fields: Any) -> LabelDataset:
        """A `LabelDataset` of these arrays, with names and origin from the catalogue."""
        for key in ("name", "label_names", "source", "citation", "checksum", "description"):
            fields.setdefault(key, getattr(self, key))
        return LabelDataset(**fields, licence=self.terms)


@cache
def catalogue() -> dict[str, DatasetInfo]:
    """Every data set available by name; those that come with the package first."""
    text = files("ldlearn.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    found = {record["name"]: DatasetInfo(**record) for record in content["embedded"]}
    for record in content["dataset"]:
        parts = [_parse_file(part, content) for part in record.pop("file")]
        record["files"] = parts
        record["mirrors"] = list(chain.from_iterable(part.mirrors for part in parts))
        record["checksum"] = str(parts[0].checksum)
        found[record["name"]] = DatasetInfo(**record)
    return found


def _parse_file(record: dict[str, Any], content: dict[str, Any]) -> CatalogueFile:
    checksum = Checksum(**record.pop("checksum", {}))
    place = {
        "repository": record.pop("repository", ""),
        "path": record.pop("path", ""),
        "git": checksum.git,
    }
    mirrors = []
    if commit := content["commits"].get(place["repository"]):
        mirrors = [address.format(**place, commit=commit) for address in content["mirrors"]]
    return CatalogueFile(**record, checksum=checksum, mirrors=mirrors)
