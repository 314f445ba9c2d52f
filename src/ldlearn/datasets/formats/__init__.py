"""File formats: each file of this package reads and writes one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ldlearn.datasets.formats.arff import read_arff
from ldlearn.datasets.formats.arrays import read_array_file
from ldlearn.datasets.formats.arrow import read_arrow
from ldlearn.datasets.formats.columns import Columns
from ldlearn.datasets.formats.content import Content
from ldlearn.datasets.formats.delimited import read_delimited
from ldlearn.datasets.formats.libsvm import read_libsvm
from ldlearn.datasets.formats.pairs import read_npy_file
from ldlearn.errors import DatasetError

Reader = Callable[[Path, Columns, Columns, int], Content]

READERS: dict[str, Reader] = {
    ".mat": read_array_file,
    ".npz": read_array_file,
    ".npy": read_npy_file,
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".parquet": read_arrow,
    ".feather": read_arrow,
    ".arff": read_arff,
    ".svm": read_libsvm,
    ".libsvm": read_libsvm,
    ".svmlight": read_libsvm,
}


def known_suffix(path: Path) -> str:
    """The suffix of a file, in lower case, if its format is known."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise DatasetError(f"{path} has no known format; known are {', '.join(READERS)}.")
    return suffix
