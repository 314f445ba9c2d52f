"""Broken and malicious files raise DatasetError without code execution or excessive memory."""

import io
import os
import pickle
import re
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from mat73_files import write_mat73

from ldlearn.datasets import (
    DatasetError,
    LabelDataset,
    make_label_distributions,
    read_dataset,
    write_dataset,
)
from ldlearn.exceptions import FileError

SUFFIXES = [
    ".npz",
    ".mat",
    "-7.3.mat",
    ".npy",
    ".csv",
    ".tsv",
    ".parquet",
    ".feather",
    ".arff",
    ".svm",
]
MEGABYTE = 1 << 20
BOMB_MEGABYTES = 200


def status_kilobytes(field):
    return int(re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


@pytest.fixture
def memory_limit():
    """Fail a test with a memory peak above 50 MB, where the system reports it."""
    if not Path("/proc/self/clear_refs").exists():
        yield
        return
    Path("/proc/self/clear_refs").write_text("5")
    before = status_kilobytes("VmRSS")
    yield
    assert status_kilobytes("VmHWM") - before < 50 * 1024


def check_rejected(path, message=None, **options):
    with pytest.raises(DatasetError, match=message) as caught:
        read_dataset(path, **options)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def valid_file(folder, suffix):
    data = make_label_distributions(30, 3, 3)
    if suffix == ".svm":
        data = LabelDataset(X=data.X, Y=data.logical(delta=0.3))
    path = folder / f"data{suffix}"
    (write_mat73 if suffix.startswith("-") else lambda path, data: write_dataset(data, path))(
        path, data
    )
    return path.with_name("data_X.npy") if suffix == ".npy" else path


def text_labels(suffix):
    """Text tables do not store which columns are labels."""
    return "label_*" if suffix in (".csv", ".tsv") else None


class Bomb:
    """Creates a file if unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (os.mkdir, (str(self.marker),))


@pytest.mark.parametrize(
    "name", ["x.npz", "x.npy", "x.mat", "x.csv", "x.parquet", "x.feather", "x.arff", "x.svm"]
)
def test_pickles_are_never_loaded(tmp_path, name):
    marker = tmp_path / "executed"
    path = tmp_path / name
    bomb = np.array([Bomb(marker)], dtype=object)
    if name == "x.npz":
        np.savez(path, X=bomb, D=np.ones((1, 1)))
    elif name == "x.npy":
        np.save(path, bomb, allow_pickle=True)
    else:
        path.write_bytes(pickle.dumps(Bomb(marker)))
    message = check_rejected(path, labels=[0])
    assert name not in ("x.npz", "x.npy") or "pickles" in message
    assert not marker.exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated_files_raise_or_are_shorter_tables(tmp_path, suffix):
    path = valid_file(tmp_path, suffix)
    content = path.read_bytes()
    for length in {0, 1, 10, 127, 128, 140, len(content) // 2, len(content) - 9, len(content) - 1}:
        path.write_bytes(content[:length])
        try:
            data = read_dataset(path, labels=text_labels(suffix))
        except DatasetError:
            continue
        assert suffix in (".csv", ".tsv", ".arff", ".svm")
        assert data.n_samples <= 30


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes_and_folders_are_rejected(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    check_rejected(path, labels=[0])
    path.unlink()
    path.mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        read_dataset(path, labels=[0])


def npy_header(shape, dtype="<f8"):
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def test_npy_header_of_ten_gigabytes_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header((1_250_000, 1000)) + bytes(800))
    check_rejected(path, "announces 10,000,000,000 bytes and holds 800", labels=[0])
    path.write_bytes(npy_header((-1, -100)) + bytes(800))
    check_rejected(path, "impossible shape", labels=[0])
    path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")
    check_rejected(path, labels=[0])
    path.write_bytes(npy_header((0, 10**12)))
    check_rejected(path, labels=[0])


def test_npz_header_of_ten_gigabytes_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header((1_250_000, 1000)) + bytes(800))
    check_rejected(path, "announces 10,000,000,000 bytes and holds 800")


def npz_bomb(path):
    """Write an archive of zeros that is 1,000 times smaller than its content; return the
    uncompressed size."""
    header = npy_header((BOMB_MEGABYTES, MEGABYTE // 8))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w") as member,
    ):
        member.write(header)
        for _ in range(BOMB_MEGABYTES):
            member.write(bytes(MEGABYTE))
    assert path.stat().st_size < MEGABYTE // 4
    return len(header) + BOMB_MEGABYTES * MEGABYTE


def test_npz_bomb_is_rejected(tmp_path, memory_limit):
    npz_bomb(tmp_path / "x.npz")
    check_rejected(tmp_path / "x.npz", "more than the limit")


def test_npz_with_a_wrong_size_in_its_directory_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.npz"
    size = npz_bomb(path)
    content = path.read_bytes()
    assert struct.pack("<I", size) in content
    path.write_bytes(content.replace(struct.pack("<I", size), struct.pack("<I", 1000)))
    check_rejected(path, "CRC")


def test_npz_with_other_members_is_rejected(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../evil.py", "print('hello')")
    check_rejected(path, "no NumPy array")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("X.npy", npy_header((1, 1)) + bytes(8))
    check_rejected(path, "packed or encrypted")


def mat5_element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def mat5_matrix(name, shape, content, declared_size=None):
    flags = mat5_element(6, struct.pack("<II", 6, 0))
    dimensions = mat5_element(5, struct.pack(f"<{len(shape)}i", *shape))
    body = (
        flags
        + dimensions
        + mat5_element(1, name)
        + struct.pack("<II", 9, declared_size or len(content))
        + content
    )
    return struct.pack("<II", 14, len(body)) + body


def mat5_file(path, *elements):
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements))
    return path


def test_forged_matlab_files_are_otherwise_valid(tmp_path):
    values = np.arange(6.0)
    path = mat5_file(tmp_path / "x.mat", mat5_matrix(b"X", (3, 2), values.tobytes()))
    np.testing.assert_array_equal(scipy.io.loadmat(path)["X"], values.reshape(3, 2, order="F"))


def test_mat_header_of_ten_gigabytes_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.mat"
    check_rejected(
        mat5_file(path, mat5_matrix(b"X", (1_250_000, 1000), bytes(800))), "holds 100 numbers"
    )
    check_rejected(
        mat5_file(path, mat5_matrix(b"X", (10, 10), bytes(800), 0xFFFFFFF0)),
        "more bytes than it has",
    )
    check_rejected(mat5_file(path, struct.pack("<II", 14, 0xFFFFFFF0) + bytes(100)), "cut off")
    check_rejected(mat5_file(path, mat5_matrix(b"X", (-5, -20), bytes(800))), "impossible")


@pytest.mark.parametrize("declared_size", [None, 1000])
def test_mat_bomb_is_rejected(tmp_path, memory_limit, declared_size):
    packer = zlib.compressobj()
    size = BOMB_MEGABYTES * MEGABYTE
    head = mat5_matrix(b"X", (BOMB_MEGABYTES, MEGABYTE // 8), b"", declared_size=size)[8:]
    total = len(head) + size if declared_size is None else declared_size
    packed = packer.compress(struct.pack("<II", 14, total) + head)
    for _ in range(BOMB_MEGABYTES):
        packed += packer.compress(bytes(MEGABYTE))
    packed += packer.flush()
    path = mat5_file(tmp_path / "x.mat", struct.pack("<II", 15, len(packed)) + packed)
    assert path.stat().st_size < MEGABYTE // 4
    check_rejected(path)


def test_mat_sparse_matrix_with_huge_shape_is_rejected(tmp_path, memory_limit):
    flags = mat5_element(6, struct.pack("<II", 5, 1))
    body = flags + mat5_element(5, struct.pack("<2i", 2**31 - 1, 1)) + mat5_element(1, b"X")
    body += mat5_element(5, struct.pack("<i", 0)) + mat5_element(5, struct.pack("<2i", 0, 1))
    body += mat5_element(9, struct.pack("<d", 1.0))
    check_rejected(
        mat5_file(tmp_path / "x.mat", struct.pack("<II", 14, len(body)) + body),
        "more than the limit",
    )


def test_hdf5_shape_of_ten_gigabytes_is_rejected(tmp_path, memory_limit):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", shape=(1_250_000, 1000), chunks=(1000, 1000), dtype="f8")
        file["D"] = np.ones((1, 1))
    check_rejected(path, "would take 10,000,0.* bytes")


def test_hdf5_external_links_are_rejected(tmp_path):
    h5py = pytest.importorskip("h5py")
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(64)))
    path = tmp_path / "x.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", shape=(8, 1), dtype="f8", external=[(str(secret), 0, 64)])
    check_rejected(path, "another file")
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = h5py.ExternalLink(str(secret), "/x")
    check_rejected(path, "another file")
    with h5py.File(tmp_path / "other.mat", "w") as file:
        file["values"] = np.ones(2)
    for linked in ("data", "ir", "jc"):
        write_mat73(path, LabelDataset(X=scipy.sparse.csr_matrix(np.eye(2)), D=np.eye(2)))
        with h5py.File(path, "r+") as file:
            del file["X"][linked]
            file["X"][linked] = h5py.ExternalLink("other.mat", "/values")
        check_rejected(path, f"'{linked}' points at another file")


def test_hdf5_empty_array_with_content_is_rejected(tmp_path, memory_limit):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = np.array([1_250_000, 1000], dtype="u8")
        file["X"].attrs["MATLAB_empty"] = 1
    check_rejected(path, "marked as empty")


def test_too_large_tables_are_rejected(tmp_path):
    data = make_label_distributions(1000, 5, 3)
    for suffix in (".csv", ".parquet", ".feather", ".npz", ".mat", ".arff"):
        path = tmp_path / f"x{suffix}"
        write_dataset(data, path)
        labels = "label_*" if suffix == ".csv" else None
        check_rejected(path, "raise max_bytes", labels=labels, max_bytes=10_000)
        assert read_dataset(path, labels=labels, max_bytes=10_000_000).n_samples == 1000


def test_parquet_with_wrong_row_count_is_rejected(tmp_path, memory_limit):
    pyarrow = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    pq.write_table(pyarrow.table({"x": [1.0] * 77, "p": [1.0] * 77}), path)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # numbers are written as varints of twice the value; 77 rows become 8191
    forged = content[:footer] + content[footer:].replace(b"\x9a\x01", b"\xfe\x7f")
    assert forged != content
    path.write_bytes(forged)
    check_rejected(path, labels=["p"])


def write_sparse_arff(path, n_labels, n_rows):
    names = "".join(f"@attribute a{i} numeric\n" for i in range(20_000))
    path.write_text(f"@relation 'x: -C {n_labels}'\n{names}@data\n" + "{0 1}\n" * n_rows)


def test_sparse_arff_with_huge_dense_size_is_read(tmp_path):
    path = tmp_path / "x.arff"
    write_sparse_arff(path, 1, 20_000)
    assert read_dataset(path).X.shape == (20_000, 19_999)


def test_sparse_arff_with_huge_dense_labels_is_rejected(tmp_path):
    """Its labels would take 16 GB. What is resident depends on the tests before, so memory is
    counted where it is allocated."""
    path = tmp_path / "x.arff"
    write_sparse_arff(path, 19_999, 100_000)
    tracemalloc.start()
    try:
        check_rejected(path, "more than the limit")
        assert tracemalloc.get_traced_memory()[1] < 50 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_arff_with_xml_bomb_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.arff"
    path.write_text("@relation x\n@attribute a numeric\n@attribute b {0,1}\n@data\n1,1\n")
    entities = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    (tmp_path / "x.xml").write_text(
        f'<!DOCTYPE x [<!ENTITY l0 "lol">{entities}]><label name="&l9;"/>'
    )
    check_rejected(path, "no column")


def test_libsvm_with_huge_index_is_rejected(tmp_path, memory_limit):
    path = tmp_path / "x.svm"
    for index in (10**9, 10**18, 10**40):
        path.write_text(f"1 {index}:1\n")
        check_rejected(path, "columns|too large")
    path.write_text("nan 1:1\n")
    check_rejected(path, "no finite number")


def mutations(content, rng, count):
    """Copies of a file with a few bytes flipped, overwritten, cut out or repeated."""
    extremes = [b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"]
    for _ in range(count):
        mutated = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            near_the_start = rng.random() < 0.5
            i = int(rng.integers(0, min(len(mutated), 600) if near_the_start else len(mutated)))
            action = rng.integers(0, 5)
            if action == 0:
                mutated[i] ^= 1 << int(rng.integers(0, 8))
            elif action == 1:
                mutated[i : i + 4] = extremes[rng.integers(0, 4)]
            elif action == 2:
                mutated[i : i + 8] = rng.bytes(8)
            elif action == 3:
                del mutated[i : i + int(rng.integers(1, 64))]
            else:
                mutated[i:i] = mutated[: int(rng.integers(1, 64))]
        yield bytes(mutated)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mutated_files_are_read_or_rejected(tmp_path, suffix, memory_limit):
    path = valid_file(tmp_path, suffix)
    content, refusals = path.read_bytes(), 0
    for mutated in mutations(content, np.random.default_rng(len(suffix)), 150):
        path.write_bytes(mutated)
        try:
            assert isinstance(read_dataset(path, labels=text_labels(suffix)), LabelDataset)
        except DatasetError:
            refusals += 1
    assert refusals > 30
