"""Checksums of files: SHA-256 and git blob ids."""

import hashlib
from dataclasses import dataclass
from pathlib import Path


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_blob_id(path: Path) -> str:
    r"""Id under which git stores a file: SHA-1 of ``b"blob <size>\0"`` followed by the content."""
    header = f"blob {path.stat().st_size}\0".encode()
    with path.open("rb") as file:
        # usedforsecurity: systems under FIPS refuse SHA-1 otherwise.
        return hashlib.file_digest(file, lambda: hashlib.sha1(header, usedforsecurity=False)).hexdigest()


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

    def problem(self, path: Path) -> str:
        """How a file differs from the expected one; empty if it does not."""
        size = path.stat().st_size
        # The size first: it is cheap, and informative about an incomplete download.
        if self.size not in (None, size):
            return f"it has {size:,} bytes instead of {self.size:,}"
        kind, expected, digest = "git blob id", self.git, git_blob_id
        if self.sha256:
            kind, expected, digest = "SHA-256", self.sha256, sha256_of
        found = digest(path) if expected else ""
        return "" if found == expected else f"its {kind} is {found} instead of {expected}"
