"""MATLAB files: version 7.3, which is HDF5 with a preface, and the choice between it and version 5 (`mat5`)."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from ldlearn.exceptions import TableError, import_optional
from ldlearn.tables.arrays import ArraySource, arrays_of
from ldlearn.tables.content import Content
from ldlearn.tables.formats import Format
from ldlearn.tables.limits import check_declared, check_total
from ldlearn.tables.mat5 import checked_csr, read_mat5
from ldlearn.tables.sink import Output, check_numbers_only
from ldlearn.tables.source import Input

_PREFACE = 512
_FILTERS = {"gzip", "lzf", None}  # others may be plugins that HDF5 loads, which is foreign code


def _source(given: Input) -> ArraySource:
    return ArraySource(given, (read_mat73 if is_mat73(given.path) else read_mat5)(given.path, given.max_bytes))


def _write(output: Output, content: Content) -> None:
    """Write version 5."""
    check_numbers_only(output, content)
    size = content.X.data.nbytes if scipy.sparse.issparse(content.X) else content.X.nbytes
    if size >= 1 << 31:
        raise TableError("a MATLAB file of version 5 holds no array of 2 GB or more; write .npz.", where=output.name)
    scipy.io.savemat(output.seekable, arrays_of(content), do_compression=True)


def is_mat73(path: Path) -> bool:
    """Whether a file is HDF5, with or without MATLAB's preface."""
    with path.open("rb") as file:
        start = file.read(_PREFACE + 8)
    return start[:8] == b"\x89HDF\r\n\x1a\n" or start[_PREFACE:] == b"\x89HDF\r\n\x1a\n"


def read_mat73(path: Path, max_bytes: int) -> dict[str, Any]:
    """Numeric matrices (and texts, as str) of a file."""
    h5py = import_optional("h5py", "tables", "MATLAB 7.3 files")
    arrays = {}
    with h5py.File(path, "r") as file:
        # MATLAB keeps what cells and objects refer to under names such as #refs#.
        for name in (name for name in file if not name.startswith("#")):
            if (value := _load(h5py, _member(h5py, file, name), path, max_bytes)) is not None:
                arrays[name] = value
    return arrays


def _member(h5py: Any, group: Any, name: str) -> Any:
    """An item of a group, or None; links, which may lead to other files, are refused."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink | None):
        raise TableError(f"{name!r} points at another file, which is not followed.")
    return group.get(name)


def _load(h5py: Any, item: Any, path: Path, max_bytes: int) -> Any:
    if isinstance(item, h5py.Group):
        return _load_sparse(h5py, item, path, max_bytes) if "MATLAB_sparse" in item.attrs else None
    if item.dtype.kind not in "biuf":
        return None
    values = _numbers(item, path, max_bytes)
    matlab_class = item.attrs.get("MATLAB_class", b"")
    if "MATLAB_empty" in item.attrs:
        # Of an empty array MATLAB stores the shape in place of the numbers; a file may lie about being empty.
        shape = tuple(int(length) for length in np.ravel(values)[:2])
        if 0 not in shape:
            raise TableError(f"{item.name!r} is marked as empty, but would be an array of shape {shape}.")
        return np.zeros(shape)
    if matlab_class in (b"char", "char"):
        return "".join(map(chr, np.ravel(values).tolist()))
    return values.T  # MATLAB stores columns first, HDF5 rows first


def _numbers(item: Any, path: Path, max_bytes: int) -> Any:
    """Values of an array, after its declared size and where its bytes come from have been looked at."""
    if item.external or item.is_virtual or item.compression not in _FILTERS:
        raise TableError(f"{item.name!r} lies in another file or is packed in an unusual way.")
    declared = item.size * item.dtype.itemsize if item.shape is not None else 0
    check_declared(declared, path.stat().st_size)
    check_total(declared, max_bytes)
    return np.asarray(item[()])


def _load_sparse(h5py: Any, group: Any, path: Path, max_bytes: int) -> Any:
    n_rows = int(group.attrs["MATLAB_sparse"])
    # Rows without entries take memory, too, once the matrix is stored by rows.
    check_declared(8 * n_rows, path.stat().st_size)
    items = [_member(h5py, group, key) for key in ("data", "ir", "jc")]
    if not isinstance(items[2], h5py.Dataset):
        raise TableError(f"the sparse array {group.name!r} has no columns.")
    starts = np.ravel(_numbers(items[2], path, max_bytes))
    if not all(isinstance(item, h5py.Dataset) for item in items):  # MATLAB leaves them out if all is zero
        return scipy.sparse.csr_matrix((n_rows, len(starts) - 1))
    values, rows = (np.ravel(_numbers(item, path, max_bytes)) for item in items[:2])
    return checked_csr(values, rows, starts, (n_rows, len(starts) - 1))


MAT = Format("a MATLAB file", _source, write_content=_write)
