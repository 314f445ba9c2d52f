"""Writing a data set to a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import scipy.sparse

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats import known_suffix
from ldlearn.datasets.formats.arff import write_arff
from ldlearn.datasets.formats.arrays import write_array_file
from ldlearn.datasets.formats.arrow import write_arrow
from ldlearn.datasets.formats.delimited import write_delimited
from ldlearn.datasets.formats.libsvm import write_libsvm
from ldlearn.datasets.formats.pairs import write_npy_pair
from ldlearn.errors import DatasetError

_HOLD_SPARSE = (".npz", ".mat", ".arff", ".svm", ".libsvm", ".svmlight")
_MAT5_LIMIT = 1 << 31


def write_dataset(data: LabelDataset, path: str | os.PathLike[str], *, mat_version: str | None = None) -> None:
    """Write a data set to a file that `read_dataset` reads back without further arguments.

    An existing file is replaced, once the new one is complete.

    Parameters
    ----------
    data : LabelDataset
    path : str or path-like
        The ending tells the format, as in `read_dataset`. ``.npz``, ``.mat``, ``.parquet`` and ``.feather``
        keep everything; text tables keep numbers and names; ``.arff`` keeps one label matrix with names;
        LIBSVM keeps logical labels; ``name.npy`` becomes a pair ``name_X.npy`` and ``name_D.npy`` of
        numbers only.
    mat_version : {"5", "7.3"}, optional
        Version of a .mat file; by default 5, or 7.3 for arrays that version 5 cannot hold.
    """
    path = Path(path)
    suffix = known_suffix(path)
    if scipy.sparse.issparse(data.X) and suffix not in _HOLD_SPARSE:
        raise DatasetError(f"{suffix} files hold no sparse features; use .npz, .mat, .arff or .svm.")
    if suffix == ".npy":
        write_npy_pair(data, path)
        return
    if mat_version not in (None, "5", "7.3"):
        raise DatasetError(f"mat_version must be '5' or '7.3', got {mat_version!r}.")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as folder:
        complete = Path(folder) / path.name
        _write(data, complete, suffix, mat_version)
        os.replace(complete, path)


def _write(data: LabelDataset, path: Path, suffix: str, mat_version: str | None) -> None:
    if suffix in (".npz", ".mat"):
        write_array_file(data, path, mat_version or ("5" if _nbytes(data) < _MAT5_LIMIT else "7.3"))
    elif suffix in (".csv", ".tsv"):
        write_delimited(data, path)
    elif suffix in (".parquet", ".feather"):
        write_arrow(data, path)
    elif suffix == ".arff":
        write_arff(data, path)
    else:
        write_libsvm(data, path)


def _nbytes(data: LabelDataset) -> int:
    return int(data.X.data.nbytes if scipy.sparse.issparse(data.X) else data.X.nbytes)
