"""Reading a data set from a file of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.datasets.checksums import sha256_of
from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats import READERS, known_suffix
from ldlearn.datasets.formats.columns import Columns
from ldlearn.datasets.formats.content import Content
from ldlearn.datasets.formats.limits import broken_file_is_our_error, check_width
from ldlearn.datasets.labels import as_fields
from ldlearn.errors import DatasetError

DEFAULT_MAX_BYTES = 16 << 30


def read_dataset(
    path: str | os.PathLike[str],
    features: Columns = None,
    labels: Columns = None,
    *,
    kind: str = "auto",
    normalise: bool = False,
    name: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> LabelDataset:
    """Read a data set from a file.

    The format is told by the ending: ``.mat`` (version 5 and 7.3), ``.npz``, ``.npy`` (a pair of files, or
    one matrix), ``.csv``, ``.tsv``, ``.parquet``, ``.feather``, multi-label ``.arff`` (Mulan, MEKA) and
    ``.svm``, ``.libsvm``, ``.svmlight`` (LIBSVM, multi-label). What `write_dataset` wrote is read back
    without further arguments.

    Parameters
    ----------
    path : str or path-like
    features, labels : str, int, slice or list of str and int, optional
        Which columns are the features, and which the labels: names, prefixes (``"emotion_*"``), or indices.
        Without `features`, all columns that are no labels. In .mat and .npz files, names of arrays; without
        them, usual names such as ``features`` and ``labels`` are looked for. For .npy, `labels` may be the
        path of the second file.
    kind : {"auto", "distribution", "votes", "logical"}, default="auto"
        What the label columns hold. ``"auto"``: logical labels if all entries are 0 or 1 (or -1 or 1),
        votes if they are whole numbers, else distributions. Votes are divided by their row sums and kept as
        `counts`.
    normalise : bool, default=False
        Divide rows of distributions by their sums, where they are finite, not negative and not all zero.
        Nothing else is repaired: negative or missing degrees and rows of zeros stay errors.
    name : str, optional
        Name of the data set; by default that of the file.
    max_bytes : int, default=16 GiB
        Largest number of bytes that the arrays of a file may take.

    Returns
    -------
    data : LabelDataset

    Raises
    ------
    DatasetError
        If the file is missing, broken or not safe to read, if columns cannot be found, or if rows are no
        label distributions; then the error lists their numbers (attribute ``rows``).

    Notes
    -----
    Files are not trusted: pickled objects are never loaded, announced sizes are compared with the size of the
    file before memory is taken, and compressed files that expand more than 250 times are refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "faces.csv"
    >>> _ = path.write_text("width,joy,fear\\n1.5,3,1\\n2.5,0,4\\n")
    >>> data = read_dataset(path, labels=["joy", "fear"])
    >>> data.D
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    path = Path(path)
    read = READERS[known_suffix(path)]
    if isinstance(labels, os.PathLike):
        labels = os.fspath(labels)
    if not path.is_file() and path.suffix.lower() != ".npy":
        raise DatasetError(f"There is no file {path}.")
    with broken_file_is_our_error(path):
        content = read(path, features, labels, max_bytes)
        return _as_dataset(content, path, kind, normalise, name)


def read_arrays(path: Path, wanted: list[str]) -> dict[str, NDArray[Any]]:
    """Named arrays of a verified .mat or .npz file."""
    from ldlearn.datasets.formats.arrays import load_arrays

    return load_arrays(path, DEFAULT_MAX_BYTES, wanted)


def _as_dataset(content: Content, path: Path, kind: str, normalise: bool, name: str | None) -> LabelDataset:
    X = _as_features(content.X, path)
    fields: dict[str, Any] = {}
    for known_kind, matrix in content.labels.items():
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise DatasetError(f"{path}: the labels are no matrix of numbers.")
        check_width(max(X.shape[1], matrix.shape[1]), path)
        chosen = kind if known_kind == "auto" or kind != "auto" else known_kind
        fields |= as_fields(matrix, chosen, content.label_names, str(path), normalise)
    texts = {"source": str(path)} | {key: text for key, text in content.texts.items() if text}
    texts["name"] = name or content.texts.get("name") or path.stem
    return LabelDataset(
        X=X,
        **fields,
        feature_names=content.feature_names,
        label_names=content.label_names,
        checksum=f"sha256:{sha256_of(path)}" if path.is_file() else "",
        **texts,
    )


def _as_features(X: Any, path: Path) -> Any:
    if getattr(X, "ndim", 0) != 2 or X.dtype.kind not in "biuf":
        raise DatasetError(f"{path}: the features are no matrix of numbers.")
    if scipy.sparse.issparse(X):
        return X.tocsr()
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
