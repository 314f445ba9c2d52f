"""Pairs of .npy files, one for the features and one for the labels; or one matrix that holds both."""

from __future__ import annotations

from pathlib import Path

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.arrays import split_matrix
from ldlearn.datasets.formats.columns import Columns
from ldlearn.datasets.formats.content import KIND_OF_FIELD, Content, matrices
from ldlearn.datasets.formats.npz import read_npy, write_npy
from ldlearn.errors import DatasetError


def read_npy_file(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of .npy files.

    ``name.npy`` stands for ``name_X.npy`` with ``name_D.npy`` (or ``_Y``, ``_counts``). Otherwise the file
    holds the features and `labels` is the path of another .npy file, or it holds both and their columns are
    chosen.
    """
    if path.is_file() and isinstance(labels, str) and labels.endswith(".npy"):
        companion = Path(labels)
        beside = path.parent / labels
        return Content(
            read_npy(path, max_bytes),
            {"auto": read_npy(companion if companion.is_file() else beside, max_bytes)},
        )
    if path.is_file() and (features is not None or labels is not None):
        matrix = read_npy(path, max_bytes)
        if matrix.ndim != 2:
            raise DatasetError(f"{path} holds no matrix but an array of shape {matrix.shape}.")
        return split_matrix(matrix, features, labels, str(path))
    stem = path.stem.removesuffix("_X")
    found = {field: _part(path, stem, field) for field in KIND_OF_FIELD if _part(path, stem, field).is_file()}
    x_path = _part(path, stem, "X")
    if not found or not x_path.is_file():
        raise DatasetError(
            f"{path}: there is no pair {stem}_X.npy and {stem}_D.npy; give the file of the labels by labels=, or "
            "choose columns of this one."
        )
    labels_by_kind = {KIND_OF_FIELD[field]: read_npy(part, max_bytes) for field, part in found.items()}
    return Content(read_npy(x_path, max_bytes), labels_by_kind)


def _part(path: Path, stem: str, field: str) -> Path:
    return path.with_name(f"{stem}_{field}.npy")


def write_npy_pair(data: LabelDataset, path: Path) -> None:
    """Write ``name_X.npy`` and ``name_D.npy`` (or ``_Y``, ``_counts``) for ``name.npy``; names are not kept."""
    stem = path.stem.removesuffix("_X")
    write_npy(_part(path, stem, "X"), data.X)
    for field, matrix in matrices(data).items():
        write_npy(_part(path, stem, field), matrix)
