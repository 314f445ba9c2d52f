"""NumPy files: .npz archives and .npy matrices, read without pickles; their headers are checked."""

import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ldlearn.exceptions import TableError
from ldlearn.tables.arrays import ArraySource, arrays_of
from ldlearn.tables.columns import MARKS, Columns
from ldlearn.tables.content import META, Content
from ldlearn.tables.formats import Format
from ldlearn.tables.limits import MOST_NAMES, check_declared, check_total
from ldlearn.tables.sink import Output, check_dense, check_numbers_only
from ldlearn.tables.source import PIPE, Input, reading

_SPARSE = ("data", "indices", "indptr", "shape", "format")  # how scipy.sparse.save_npz stores a matrix


def read_npz(path: Path, max_bytes: int) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz archive."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            if not member.filename.endswith(".npy"):
                raise TableError(f"it holds {member.filename!r}, which is no NumPy array.")
            # NumPy itself writes no other kinds.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise TableError(f"{member.filename!r} is packed or encrypted in a way no NumPy archive is.")
        declared = sum(member.file_size for member in members)
        check_declared(declared, path.stat().st_size)
        check_total(declared, max_bytes)
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                name = member.filename.removesuffix(".npy")
                arrays[name] = read_array(file, member.file_size, f"the array {name!r}")
    return arrays


def read_npy(path: Path, max_bytes: int) -> NDArray[Any]:
    """The array of an .npy file."""
    size = path.stat().st_size
    check_total(size, max_bytes)
    with path.open("rb") as file:
        return read_array(file, size)


def read_array(file: IO[bytes], size: int, what: str = "the array", kinds: str = "biufUS") -> NDArray[Any]:
    """Read an array of ``size`` bytes whose header must agree with the number of bytes that follow it."""
    start = file.tell()
    version = npy_format.read_magic(file)
    read_header = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise TableError(f"{what} holds Python objects (pickles), which are never loaded.")
    if dtype.kind not in kinds:
        raise TableError(f"{what} holds {dtype}, not numbers.")
    # an empty array costs nothing itself, but what it is multiplied with would
    if min(shape, default=0) < 0 or (0 in shape and max(shape) > MOST_NAMES):
        raise TableError(f"{what} has the impossible shape {shape}.")
    expected, present = dtype.itemsize * math.prod(shape), size - (file.tell() - start)
    if expected != present:
        raise TableError(f"{what} announces {expected:,} bytes and holds {present:,}.")
    file.seek(start)
    array: NDArray[Any] = npy_format.read_array(file, allow_pickle=False)
    file.read(1)  # an archive compares its checksum at the end of the member
    return array


class NpySource(ArraySource):
    """A matrix of an .npy file, or a pair of files.

    ``name.npy`` stands for ``name_X.npy`` with ``name_D.npy`` (or ``_Y``, ``_counts``) where these are. Otherwise the
    file is one matrix; then `find` also takes the path of another .npy file, whose columns join it.
    """

    def __init__(self, given: Input) -> None:
        path = Path(given.name)
        parts = {field: _part(path, field) for field in ("X", *MARKS)} if given.name != PIPE else {}
        found = {field: part for field, part in parts.items() if part.is_file()}
        if "X" in found and len(found) > 1:
            arrays = {field: read_npy(part, given.max_bytes) for field, part in found.items()}
            # The endings of the names show what the labels are, as the description in a file of ours would.
            super().__init__(given, arrays | {META: "{}"})
            return
        matrix = read_npy(given.path, given.max_bytes)
        if matrix.ndim != 2:
            raise TableError(f"it holds no matrix but an array of shape {matrix.shape}.")
        super().__init__(given, {"column": matrix})

    def find(self, choice: Columns, option: str = "labels") -> list[int]:
        """See `ArraySource.find`."""
        if not isinstance(choice, str | os.PathLike) or not os.fspath(choice).endswith(".npy"):
            return super().find(choice, option)
        path = Path(choice) if Path(choice).is_file() else Path(self.given.name).parent / choice
        labels = Input(str(path), max_bytes=self.given.max_bytes, title=self.given.title)
        with reading(labels):
            matrix = read_npy(labels.path, labels.max_bytes)
            if matrix.ndim != 2:
                raise TableError(f"a matrix with a column for each label is needed, not the shape {matrix.shape}.")
        # The columns of both files are named and numbered anew.
        ArraySource.__init__(self, self.given, self._arrays | {"label": matrix})
        return self._groups["label"]


def _part(path: Path, field: str) -> Path:
    return path.with_name(f"{path.stem.removesuffix('_X')}_{field}.npy")


def _read_npz(given: Input) -> ArraySource:
    arrays: dict[str, Any] = read_npz(given.path, given.max_bytes)
    if arrays.keys() >= {*_SPARSE}:
        data, indices, starts, shape, format = (arrays.pop(name) for name in _SPARSE)
        if format.item() != b"csr":
            raise TableError(f"its sparse matrix is stored as {format.item()!r:.20}; save it as CSR.")
        X = scipy.sparse.csr_matrix((data, indices, starts), shape=tuple(int(n) for n in shape))
        # scipy does not check indices, and its compiled loops would go beyond the arrays.
        X.check_format(full_check=True)
        arrays = {"X": X} | arrays
    return ArraySource(given, arrays)


def _write_npz(output: Output, content: Content) -> None:
    """Write an archive: a data set with names and origin; of a table the degrees as ``D`` with ``label_names``."""
    arrays = arrays_of(content)
    if scipy.sparse.issparse(X := content.X):
        del arrays["X"]
        arrays |= zip(_SPARSE, (X.data, X.indices, X.indptr, X.shape, b"csr"), strict=True)
    if not content.texts:  # a plain table has its names in arrays that others can read
        del arrays[META]
        arrays |= {"feature_names": np.array(content.feature_names)} if len(content.feature_names) else {}
        arrays |= {**content.others, "label_names": np.array(content.label_names)}
    np.savez_compressed(output.file, **arrays)


def _write_npy(output: Output, content: Content) -> None:
    """Write ``name_X.npy`` and ``name_D.npy`` (or ``_Y``, ``_counts``), without names; degrees alone as one file."""
    check_numbers_only(output, content)
    check_dense(output, content)
    if not content.X.shape[1]:
        write_npy(output.file, next(iter(content.labels.values())))
        return
    if output.name == PIPE:
        raise TableError("features and labels are two .npy files, no pipe can hold them; use .npz.", where=output.name)
    # all files are complete before the first takes its place
    for field, matrix in {"X": content.X, **content.labels}.items():
        write_npy(output.beside(_part(Path(output.name), field)), matrix)


def write_npy(file: IO[bytes], array: Any) -> None:
    """Write one array."""
    npy_format.write_array(file, np.asarray(array), allow_pickle=False)


NPZ = Format(
    "NPZ",
    _read_npz,
    write_content=_write_npz,
)
NPY = Format("a NumPy array", NpySource, write_content=_write_npy)
