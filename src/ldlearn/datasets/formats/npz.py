"""NumPy files: .npz archives and .npy matrices, read without pickles and without trust in their headers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ldlearn.datasets.formats.limits import check_declared, check_total
from ldlearn.errors import DatasetError

_CHUNK = 1 << 20
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def read_npz(path: Path, max_bytes: int) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz archive."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            _check_member(member, path)
        declared = sum(member.file_size for member in members)
        check_declared(declared, path.stat().st_size, path)
        check_total(declared, max_bytes, path)
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                name = member.filename.removesuffix(".npy")
                arrays[name] = _read_array(file, member.file_size, f"{path}, array {name!r}")
    return arrays


def _check_member(member: zipfile.ZipInfo, path: Path) -> None:
    if not member.filename.endswith(".npy"):
        raise DatasetError(f"{path} holds {member.filename!r}, which is no NumPy array.")
    if member.compress_type not in _PLAIN or member.flag_bits & 1:
        raise DatasetError(f"{path}: {member.filename!r} is packed or encrypted in a way no NumPy archive is.")


def read_npy(path: Path, max_bytes: int) -> NDArray[Any]:
    """The array of an .npy file."""
    size = path.stat().st_size
    check_total(size, max_bytes, path)
    with path.open("rb") as file:
        return _read_array(file, size, str(path))


def _read_array(file: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """Read an array whose header must agree with the number of bytes that follow it."""
    version = npy_format.read_magic(file)
    read_header = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    shape, fortran_order, dtype = read_header(file)
    if dtype.hasobject:
        raise DatasetError(f"{where} holds Python objects (pickles), which are never loaded.")
    if dtype.kind not in "biufU":
        raise DatasetError(f"{where} holds {dtype}, not numbers.")
    expected, present = dtype.itemsize * _product(shape), size - file.tell()
    if expected != present:
        raise DatasetError(f"{where} announces {expected:,} bytes and holds {present:,}.")
    content = np.empty(expected, dtype=np.uint8)
    _fill(content, file, where)
    order: Literal["F", "C"] = "F" if fortran_order else "C"
    return content.view(dtype).reshape(shape, order=order) if expected else np.empty(shape, dtype)


def _fill(content: NDArray[np.uint8], file: IO[bytes], where: str) -> None:
    view, done = content.data, 0
    while done < len(view):
        count = file.readinto(view[done : done + _CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise DatasetError(f"{where} ends after {done:,} of {len(view):,} bytes.")
        done += count
    file.read(1)  # an archive compares its checksum at the end of the member


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        if length < 0:
            raise DatasetError(f"An array has the impossible shape {shape}.")
        product *= length
    return product


def write_npz(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays into a compressed archive."""
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_npy(path: Path, array: Any) -> None:
    """Write one array."""
    with path.open("wb") as file:
        npy_format.write_array(file, np.asarray(array), allow_pickle=False)
