"""Writes MATLAB files of version 7.3, which the library only reads."""

import numpy as np
import pytest
import scipy.sparse

from ldlearn.datasets.files import _as_content
from ldlearn.tables.arrays import to_arrays

PREFACE = 512
CLASS_OF_DTYPE = {
    "f8": "double",
    "f4": "single",
    "i1": "int8",
    "u1": "uint8",
    "i8": "int64",
    "b1": "logical",
}


def write_mat73(path, data):
    """Write a data set the way MATLAB does."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=PREFACE) as content:
        for name, value in to_arrays(_as_content(data)).items():
            _store(content, name, value)
    # Header as in version 5: 116 bytes of text, 8 of an offset, the version, the byte order.
    preface = b"MATLAB 7.3 MAT-file, written by ldlearn".ljust(116) + bytes(8) + b"\x00\x02IM"
    # HDF5 allows a user block before its content.
    with path.open("r+b") as file:
        file.write(preface.ljust(PREFACE, b"\x00"))


def _store(file, name, value):
    if isinstance(value, str):
        codes = np.frombuffer(value.encode("utf-16-le"), dtype="<u2").reshape(-1, 1)
        item = file.create_dataset(name, data=codes)
        item.attrs["MATLAB_class"], item.attrs["MATLAB_int_decode"] = (
            np.bytes_(b"char"),
            np.int32(2),
        )
    elif scipy.sparse.issparse(value):
        _store_sparse(file.create_group(name), value.tocsc())
    else:
        packing = {"compression": "gzip", "chunks": True} if value.size else {}
        item = file.create_dataset(name, data=np.ascontiguousarray(value.T), **packing)
        matlab_class = CLASS_OF_DTYPE.get(value.dtype.str[1:], value.dtype.name)
        item.attrs["MATLAB_class"] = np.bytes_(matlab_class.encode())


def _store_sparse(group, matrix):
    group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
    group.attrs["MATLAB_class"] = np.bytes_(b"double")
    group.create_dataset("jc", data=matrix.indptr.astype(np.uint64))
    if matrix.nnz:
        group.create_dataset("data", data=matrix.data.astype(np.float64))
        group.create_dataset("ir", data=matrix.indices.astype(np.uint64))
