"""MATLAB files: version 7.3, which is HDF5 with a preface, and version 5.

Own code reads version 5 because scipy.io.loadmat crashed (SIGSEGV) on damaged files in 12 of 12
fuzzing runs. It compares every size with the bytes present before memory is taken, and skips cells,
structures and objects.
"""

import math
import struct
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from numpy.typing import NDArray

from ldlearn._optional_imports import import_optional
from ldlearn.exceptions import TableError
from ldlearn.tables.arrays import open_arrays, to_arrays
from ldlearn.tables.files import Budget, TableOutput
from ldlearn.tables.formats import DatasetContent, Format

_HDF5 = b"\x89HDF\r\n\x1a\n"
_PREFACE = 512
_FILTERS = {"gzip", None}  # others may be plugins that HDF5 loads, which is foreign code
_MATRIX = 14
_COMPRESSED = 15
_CHAR_CLASS = 4
_SPARSE_CLASS = 5
_DTYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_CLASSES = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}


class _ElementReader:
    """The sub-elements of one matrix, one after the other."""

    def __init__(self, content: bytes | memoryview, endian: str) -> None:
        self.content = memoryview(content)
        self.endian = endian
        self.position = 0

    def next(self) -> tuple[int, memoryview]:
        """Type and bytes of the next sub-element."""
        if self.position + 8 > len(self.content):
            raise TableError("a matrix ends too early")
        kind, length = struct.unpack_from(f"{self.endian}II", self.content, self.position)
        # A small element keeps up to four bytes inside its own tag.
        small = kind >> 16
        start = self.position + (4 if small else 8)
        end = start + (small or length)
        if small > 4 or end > len(self.content):
            raise TableError("a matrix announces more bytes than it has")
        self.position = end + -end % 8  # elements begin at multiples of 8 bytes
        return kind & 0xFFFF if small else kind, self.content[start:end]

    def numbers(self) -> NDArray[Any]:
        """The next sub-element as numbers."""
        kind, content = self.next()
        if kind not in _DTYPES:
            raise TableError(f"a matrix stores its numbers as the unknown type {kind}")
        dtype = np.dtype(self.endian + _DTYPES[kind])
        if len(content) % dtype.itemsize:
            raise TableError("a matrix ends within a number")
        return np.frombuffer(content, dtype=dtype)


def _read_mat5(path: Path, budget: Budget) -> dict[str, Any]:
    """Numeric matrices (and texts, as str) of a file of version 5."""
    arrays: dict[str, Any] = {}
    with path.open("rb") as file:
        endian = {b"IM": "<", b"MI": ">"}.get(file.read(128)[126:])
        if endian is None:
            raise TableError("this is no MATLAB file of version 5")
        while tag := file.read(8):
            kind, length = _read_tag(tag, endian)
            if file.tell() + length > budget.size:
                raise TableError("the file is cut off")
            content = file.read(length)
            if kind == _COMPRESSED:
                # Decompressed to at most the size that the tag of the matrix announces.
                kind, length = _read_tag(zlib.decompressobj().decompress(content, 8), endian)
                budget.check(length)
                content = zlib.decompressobj().decompress(content, 8 + length)[8:]
            if kind != _MATRIX:
                raise TableError("the file is not made of matrices")
            if content:
                arrays |= _read_matrix(_ElementReader(content, endian), budget)
    return arrays


def _read_tag(tag: bytes, endian: str) -> tuple[int, int]:
    """Type and length of an element."""
    if len(tag) < 8:
        raise TableError("the file ends too early")
    return struct.unpack(f"{endian}II", tag)


def _read_matrix(parts: _ElementReader, budget: Budget) -> dict[str, Any]:
    """The values of a matrix by its name; nothing for cells, structures and objects."""
    flags = parts.numbers()
    if len(flags) != 2:
        raise TableError("a matrix has an impossible heading")
    array_class = int(flags[0]) & 0xFF
    if array_class not in (*_CLASSES, _CHAR_CLASS, _SPARSE_CLASS):
        return {}
    shape = tuple(map(int, parts.numbers()))
    # In Latin-1 any byte is a letter, so that no name can fail here.
    name = bytes(parts.next()[1]).decode("latin-1")
    if len(shape) < 2 or min(shape) < 0:
        raise TableError("a matrix has an impossible heading")
    if int(flags[0]) & 0x0800:
        raise TableError(f"the array {name!r}: complex numbers are no data.")
    if array_class == _CHAR_CLASS:
        kind, content = parts.next()
        budget.spend_array((len(content),))
        if kind in _DTYPES:
            codes = np.frombuffer(content, parts.endian + _DTYPES[kind])
            return {name: _decode_characters(codes)}
        return {name: bytes(content).decode("utf-8", "replace")}
    if array_class == _SPARSE_CLASS:
        # Rows without entries take memory, too, once the matrix is stored by rows.
        budget.spend_array(shape[:1])
        rows = parts.numbers()
        starts = parts.numbers()
        values = parts.numbers()
        budget.spend(32 * len(values))
        n_stored = int(starts[-1])  # there may be more room than entries (MATLAB's nzmax)
        values = values[:n_stored].astype(np.float64)
        return {name: _checked_csr(values, rows[:n_stored], starts, shape)}
    values = parts.numbers()
    budget.spend_array(values.shape)
    if len(values) != math.prod(shape):
        raise TableError(f"the array {name!r} of shape {shape} holds {len(values)} numbers.")
    return {name: values.astype(_CLASSES[array_class]).reshape(shape, order="F")}


def _decode_characters(codes: NDArray[Any]) -> str:
    """The characters of these numbers."""
    return np.ravel(codes).astype("<u4").tobytes().decode("utf-32-le", "replace")


def _checked_csr(
    values: Any,
    rows: Any,
    starts: Any,
    shape: tuple[int, ...],
) -> Any:
    """The matrix whose columns begin at ``starts``."""
    parts = (values, rows.astype(np.int64), starts.astype(np.int64))
    matrix = scipy.sparse.csc_matrix(parts, shape=shape)
    # Every index is checked, which scipy does not do by itself.
    matrix.check_format(full_check=True)
    return matrix.tocsr()


def read_mat(path: Path, budget: Budget) -> dict[str, Any]:
    """Numeric matrices (and texts, as str) of a file of either version."""
    with path.open("rb") as file:
        start = file.read(_PREFACE + len(_HDF5))
    # HDF5, with or without MATLAB's preface
    if start.startswith(_HDF5) or start.endswith(_HDF5):
        return _read_mat73(path, budget)
    return _read_mat5(path, budget)


def _write_mat(output: TableOutput, content: DatasetContent) -> None:
    """Write version 5."""
    content.check_numbers_only()
    if content.X.data.nbytes >= 1 << 31:
        raise TableError("a MATLAB file of version 5 holds no array of 2 GB or more; write .npz.")
    arrays = to_arrays(content)
    output.save(lambda file: scipy.io.savemat(file, arrays, do_compression=True))


def _read_mat73(path: Path, budget: Budget) -> dict[str, Any]:
    h5py = import_optional("h5py", "tables", "MATLAB 7.3 files")
    arrays = {}
    with h5py.File(path, "r") as file:
        for name in file:
            # MATLAB keeps what cells and objects refer to under names such as #refs#.
            if name.startswith("#"):
                continue
            array = _load_item(h5py, _get_item(h5py, file, name), budget)
            if array is not None:
                arrays[name] = array
    return arrays


def _get_item(h5py: Any, group: Any, name: str) -> Any:
    """An item of a group, or None; links, which may lead to other files, are refused."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink | None):
        raise TableError(f"{name!r} points at another file, which is not followed.")
    return group.get(name)


def _load_item(h5py: Any, item: Any, budget: Budget) -> Any:
    if isinstance(item, h5py.Group):
        return _load_sparse(h5py, item, budget) if "MATLAB_sparse" in item.attrs else None
    if item.dtype.kind not in "biuf":
        return None
    values = _load_numbers(item, budget)
    if "MATLAB_empty" in item.attrs:
        # Of an empty array MATLAB stores the shape in place of the numbers; a file may lie about
        # being empty.
        shape = tuple(map(int, np.ravel(values)[:2]))
        if 0 not in shape:
            problem = f"is marked as empty, but would be an array of shape {shape}."
            raise TableError(f"{item.name!r} {problem}")
        return np.zeros(shape)
    if item.attrs.get("MATLAB_class") in (b"char", "char"):
        return _decode_characters(values)
    return values.T  # MATLAB stores columns first, HDF5 rows first


def _load_numbers(item: Any, budget: Budget) -> Any:
    """Values of an array, after its size and the place of its bytes have been checked."""
    if item.external or item.is_virtual or item.compression not in _FILTERS:
        raise TableError(f"{item.name!r} lies in another file or is packed in an unusual way.")
    budget.spend_array(item.shape or ())
    if item.compression is not None:
        _check_chunks(item, budget)
    return item[()]


def _check_chunks(item: Any, budget: Budget) -> None:
    """Refuse chunks of more numbers than they announce: HDF5 unpacks whatever they hold."""
    chunk_bytes = math.prod(item.chunks) * item.dtype.itemsize
    budget.check(chunk_bytes)  # may be larger than the array
    for k in range(item.id.get_num_chunks()):
        _, packed = item.id.read_direct_chunk(item.id.get_chunk_info(k).chunk_offset)
        unpacked = zlib.decompressobj().decompress(packed, chunk_bytes + 1)
        if len(unpacked) != chunk_bytes:
            raise TableError(f"{item.name!r} has a chunk of another size than it announces.")


def _load_sparse(h5py: Any, group: Any, budget: Budget) -> Any:
    n_rows = int(group.attrs["MATLAB_sparse"])
    # Rows without entries take memory, too, once the matrix is stored by rows.
    budget.spend_array((n_rows,))
    parts = {}
    for key in ("jc", "data", "ir"):
        item = _get_item(h5py, group, key)
        if isinstance(item, h5py.Dataset):
            parts[key] = np.ravel(_load_numbers(item, budget))
    if "jc" not in parts:
        raise TableError(f"the sparse array {group.name!r} has no columns.")
    shape = (n_rows, len(parts["jc"]) - 1)
    if len(parts) < 3:  # MATLAB leaves them out if all is zero
        return scipy.sparse.csr_matrix(shape)
    return _checked_csr(parts["data"], parts["ir"], parts["jc"], shape)


MAT = Format("a MATLAB file", partial(open_arrays, read=read_mat), write_content=_write_mat)
