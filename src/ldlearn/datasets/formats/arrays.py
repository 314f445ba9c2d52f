"""Files of named arrays (.npz, .mat): which of them are the features and which the labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ldlearn.datasets.dataset import LabelDataset
from ldlearn.datasets.formats.columns import Columns, choose_columns
from ldlearn.datasets.formats.content import (
    KIND_OF_FIELD,
    META,
    Content,
    first_present,
    matrices,
    meta_of,
    parse_meta,
)
from ldlearn.datasets.formats.limits import broken_file_is_our_error, check_width
from ldlearn.datasets.formats.mat5 import read_mat5, write_mat5
from ldlearn.datasets.formats.mat73 import is_mat73, read_mat73, write_mat73
from ldlearn.datasets.formats.npz import read_npz, write_npz
from ldlearn.errors import DatasetError

_USUAL_NAMES = {
    "X": ("X", "features", "feature", "data"),
    "D": ("D", "labels", "label_distribution", "label_distributions", "distributions", "distribution"),
    "counts": ("counts", "votes"),
    "Y": ("Y", "logical_label", "logical_labels", "logicalLabel", "target", "targets", "label"),
}
_SPARSE_PARTS = ("X_data", "X_indices", "X_indptr", "X_shape")


def load_arrays(path: Path, max_bytes: int, wanted: list[str] | None = None) -> dict[str, Any]:
    """Arrays of a file by name, all of them or the wanted ones; texts come as str."""
    with broken_file_is_our_error(path):
        if path.suffix.lower() == ".npz":
            arrays: dict[str, Any] = read_npz(path, max_bytes)
        else:
            arrays = (read_mat73 if is_mat73(path) else read_mat5)(path, max_bytes, wanted)
        arrays = _join_sparse(arrays)
    missing = [name for name in wanted or () if name not in arrays]
    if missing:
        raise DatasetError(f"{path} has no numeric array {missing[0]!r}; it has {_listing(arrays)}.")
    return arrays


def _join_sparse(arrays: dict[str, Any]) -> dict[str, Any]:
    if not all(name in arrays for name in _SPARSE_PARTS):
        return arrays
    data, indices, starts, shape = (arrays.pop(name) for name in _SPARSE_PARTS)
    matrix = scipy.sparse.csr_matrix((data, indices, starts), shape=tuple(int(n) for n in shape))
    matrix.check_format(full_check=True)
    return arrays | {"X": matrix}


def read_array_file(path: Path, features: Columns, labels: Columns, max_bytes: int) -> Content:
    """Features and labels of an .npz or .mat file; they are chosen by the names of the arrays.

    Where a file holds a single matrix, its columns are chosen by index instead.
    """
    arrays = load_arrays(path, max_bytes)
    meta = _meta(arrays, path)
    tables = {name: array for name, array in arrays.items() if getattr(array, "ndim", 0) == 2}
    if all(choice is None or isinstance(choice, str) for choice in (features, labels)):
        x_name = _pick(tables, features, "X", path)
        found = _pick_labels(tables, labels, x_name, own=bool(meta), path=path)
        return Content(tables[x_name], found, **meta)
    if len(tables) != 1:
        raise DatasetError(f"{path} holds several matrices; choose by their names: {_listing(tables)}.")
    return split_matrix(next(iter(tables.values())), features, labels, str(path))


def split_matrix(matrix: Any, features: Columns, labels: Columns, where: str) -> Content:
    """Features and labels as columns of one matrix without names."""
    check_width(matrix.shape[1], where)
    names = [f"column{i}" for i in range(matrix.shape[1])]
    choice = choose_columns(names, features, labels, where)
    X = matrix[:, choice.features]
    return Content(X, {"auto": _dense(matrix[:, choice.labels["auto"]])})


def _meta(arrays: dict[str, Any], path: Path) -> dict[str, Any]:
    text = arrays.pop(META, None)
    if text is None:
        return {}
    with broken_file_is_our_error(path):
        return parse_meta(str(text))


def _pick(tables: dict[str, Any], choice: Any, field: str, path: Path) -> str:
    name: str = choice if choice is not None else first_present(_USUAL_NAMES[field], tables)
    if name not in tables:
        what, argument = ("features", "features") if field == "X" else ("labels", "labels")
        raise DatasetError(
            f"{path} has no matrix {choice or _USUAL_NAMES[field][0]!r} for the {what}; name one by {argument}=. It "
            f"has {_listing(tables)}."
        )
    return name


def _pick_labels(tables: dict[str, Any], choice: Any, x_name: str, own: bool, path: Path) -> dict[str, NDArray[Any]]:
    others = {name: array for name, array in tables.items() if name != x_name}
    if choice is not None:
        return {"auto": _dense(others[_pick(others, choice, "D", path)])}
    names = {field: first_present(_USUAL_NAMES[field], others) for field in KIND_OF_FIELD}
    names = {field: name for field, name in names.items() if name}
    if not names:
        _pick(others, None, "D", path)
    kinds = KIND_OF_FIELD if own or len(names) > 1 else dict.fromkeys(names, "auto")
    return {kinds[field]: _dense(others[name]) for field, name in names.items()}


def _dense(matrix: Any) -> NDArray[Any]:
    return np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix)


def _listing(arrays: dict[str, Any]) -> str:
    shapes = [f"{name!r} {getattr(array, 'shape', 'text')}" for name, array in arrays.items()]
    return ", ".join(shapes) if shapes else "none"


def write_array_file(data: LabelDataset, path: Path, mat_version: str) -> None:
    """Write a data set with its names and origin into an .npz or .mat file."""
    arrays: dict[str, Any] = {"X": data.X, **matrices(data), META: meta_of(data)}
    if path.suffix.lower() == ".npz":
        if scipy.sparse.issparse(data.X):
            parts: Sequence[Any] = (data.X.data, data.X.indices, data.X.indptr, data.X.shape)
            arrays |= dict(zip(_SPARSE_PARTS, map(np.asarray, parts), strict=True))
            del arrays["X"]
        write_npz(path, arrays)
    elif mat_version == "7.3":
        write_mat73(path, arrays)
    else:
        write_mat5(path, arrays)
