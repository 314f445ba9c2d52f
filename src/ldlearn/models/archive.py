"""The container of a model file: a zip of uncompressed members, JSON and .npy arrays, each with its checksum.

Nothing is compressed, so a file can never ask for more memory than its own size. Our own, because skops, the nearest
library, lets a file name what to call and leaves it to the reader to judge that; here it names one of our estimators.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import IO, Any

from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ldlearn.errors import ModelFileError, TableError
from ldlearn.io.npz import read_array

MAGIC = "ldlearn-model"
VERSION = 1
_CONTENT = "model.json"
_CHECKSUM = "model.json.sha256"
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_LARGEST_JSON = 256 << 20
_END_SIGNATURE, _END_RECORD, _LONGEST_COMMENT = b"PK\x05\x06", 22, 1 << 17
_PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def write_archive(file: IO[bytes], content: dict[str, Any], arrays: list[NDArray[Any]]) -> None:
    """Write JSON values and arrays."""
    digests = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for number, array in enumerate(arrays):
            blob = _npy_bytes(array)
            digests.append(hashlib.sha256(blob).hexdigest())
            archive.writestr(zipfile.ZipInfo(_member(number), _FIXED_DATE), blob)
        head = {"format": MAGIC, "version": VERSION, "arrays": digests}
        text = json.dumps(head | content, allow_nan=False, ensure_ascii=False, indent=1).encode()
        archive.writestr(zipfile.ZipInfo(_CONTENT, _FIXED_DATE), text)
        archive.writestr(zipfile.ZipInfo(_CHECKSUM, _FIXED_DATE), hashlib.sha256(text).hexdigest())


def read_archive(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The JSON values and arrays of a file.

    Raises
    ------
    ModelFileError
        If it is no model file, comes from a newer version, or is not whole.
    """
    with path.open("rb") as file:
        start = file.read(4)
        if start[:2] in _PICKLE_STARTS:
            raise ModelFileError("it is a pickle, which can run code and is never loaded here")
        if start != b"PK\x03\x04":
            raise ModelFileError("it is no ldlearn model file")
        size = file.seek(0, io.SEEK_END)
        _check_end(file, size)
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_members(archive, size)
        except (zipfile.BadZipFile, EOFError) as error:
            raise ModelFileError(f"it is truncated or damaged ({error})") from None


def _check_end(file: IO[bytes], size: int) -> None:
    """Refuse bytes after the last record of the zip, which readers of zips look for from the end and may skip."""
    file.seek(max(0, size - _END_RECORD))
    end = file.read()
    if _END_SIGNATURE not in end:
        file.seek(max(0, size - _LONGEST_COMMENT))
        problem = "has bytes after its end" if _END_SIGNATURE in file.read() else "is truncated or damaged"
        raise ModelFileError(f"it {problem}")
    if not end.startswith(_END_SIGNATURE) or not end.endswith(b"\0\0"):  # the length of a comment, which no model has
        raise ModelFileError("it has bytes after its end")


def _read_members(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    members = archive.infolist()
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ModelFileError(f"its member {member.filename!r:.60} is compressed or encrypted; no model file is")
    if members and members[0].header_offset != 0:
        raise ModelFileError("it has bytes that belong to no part of it")
    if sum(member.file_size for member in members) > size or len({m.filename for m in members}) < len(members):
        raise ModelFileError("its members overlap or announce more bytes than the file has")
    content, text = _read_content(archive)
    if _read(archive, _CHECKSUM, 64) != hashlib.sha256(text).hexdigest().encode():
        raise ModelFileError("its checksum is wrong: it was changed or damaged after it was saved")
    digests = content.get("arrays")
    if not isinstance(digests, list) or len(members) != len(digests) + 2:
        raise ModelFileError("it does not hold the arrays that it lists")
    return content, [_read_array(archive, number, digest) for number, digest in enumerate(digests)]


def _read_content(archive: zipfile.ZipFile) -> tuple[dict[str, Any], bytes]:
    text = _read(archive, _CONTENT, _LARGEST_JSON)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFileError(f"its {_CONTENT} is no JSON") from None
    if not isinstance(content, dict) or content.get("format") != MAGIC:
        raise ModelFileError("it is no ldlearn model file")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its format version is {version!r:.40}, which never existed")
    if version > VERSION:
        raise ModelFileError(
            f"it was written by a newer ldlearn (format {version}, this one reads up to {VERSION}); upgrade ldlearn"
        )
    return content, text


def _read(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        member = archive.getinfo(name)
    except KeyError:
        raise ModelFileError(f"it has no {name}, so it is no ldlearn model file") from None
    if member.file_size > most:
        raise ModelFileError(f"its {name} has {member.file_size:,} bytes, more than any model needs")
    with archive.open(member) as file:
        return file.read(member.file_size)


def _read_array(archive: zipfile.ZipFile, number: int, digest: Any) -> NDArray[Any]:
    blob = _read(archive, _member(number), 1 << 62)
    if hashlib.sha256(blob).hexdigest() != digest:
        raise ModelFileError("its checksum is wrong: an array was changed or damaged after it was saved")
    try:
        return read_array(io.BytesIO(blob), len(blob), kinds="biufcU")
    except (TableError, ValueError) as error:
        raise ModelFileError(f"it holds an array that cannot be read: {str(error).rstrip('.')}") from None


def _npy_bytes(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    npy_format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _member(number: int) -> str:
    return f"arrays/{number}.npy"
