"""Records: atomic writing, exact round trip, compression."""

import gzip
import json
import lzma
import resource

import numpy as np
import pytest

from ldlearn.evaluation import (
    Convergence,
    GridPoint,
    Record,
    RunFolderError,
    append_records,
    read_records,
)
from ldlearn.exceptions import FileError
from ldlearn.experiments.engine import lock_folder


def record(cell, method="m", **more):
    return Record(cell=cell, dataset="d", method=method, repeat=0, status="ok", **more)


def test_last_record_of_a_cell_is_used(tmp_path):
    with append_records(tmp_path / "records.jsonl") as append:
        append(record("a", validation={"recovery": 1.0}))
        append(record("b", "n", validation={"recovery": float("nan")}, message="Infinity ü\n"))
        append(record("a", validation={"recovery": 2.0}))
    found = read_records(tmp_path)
    last = record("b", "n", validation={"recovery": None}, message="Infinity ü\n")
    assert found == [record("a", validation={"recovery": 2.0}), last]
    assert len(read_records(tmp_path, history=True)) == 3


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_non_finite_numbers_are_null_for_every_dtype(kind):
    assert json.loads(record("a", validation={"recovery": kind("nan")}).encoded())[
        "validation"
    ] == {"recovery": None}


@pytest.fixture
def file_size_limit():
    """Set the maximum file size of this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_raises_a_clear_error(tmp_path, file_size_limit):
    path = tmp_path / "records.jsonl"
    with append_records(path) as append:
        append(record("a"))
        file_size_limit(path.stat().st_size + 10)
        with pytest.raises(FileError, match=r"records\.jsonl: only 10 of \d+ bytes were written"):
            append(record("b"))
        with pytest.raises(
            FileError, match=r"records\.jsonl: it cannot be written \(file too large\)"
        ):
            append(record("b"))
    file_size_limit(resource.RLIM_INFINITY)
    with append_records(path) as append:
        append(record("c", "n"))
    assert [found.cell for found in read_records(tmp_path)] == ["a", "c"]


def test_records_round_trip_exactly():
    grid = [
        GridPoint({"k": 0.1 + 0.2}, recovery=1 / 3),
        GridPoint({"k": None}, error="ValueError: no"),
    ]
    full = record(
        "a", grid=grid, n_points=2, convergence=Convergence([3.0, 1 / 7]), label_names=["x"]
    )
    assert full.as_stored() == full
    assert "error" not in json.loads(full.encoded())["grid"][0]


@pytest.mark.parametrize("kept", range(0, 40, 3))
def test_truncated_line_is_ignored_and_removed_before_writing(tmp_path, kept):
    path = tmp_path / "records.jsonl"
    with append_records(path) as append:
        append(record("a"))
    path.write_bytes(path.read_bytes() + record("b", "n").encoded()[:kept])
    assert read_records(tmp_path) == [record("a")]
    with append_records(path) as append:
        append(record("c", "n"))
    assert path.read_bytes() == record("a").encoded() + record("c", "n").encoded()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"garbage", "is no record"),
        (b'{"cell": "a"}', "must have 'dataset'"),
        (b"[1]", "is no record"),
    ],
)
def test_invalid_line_is_reported_by_number(tmp_path, line, message):
    path = tmp_path / "records.jsonl"
    path.write_bytes(line + b"\n" + record("a").encoded())
    with pytest.raises(RunFolderError, match="Line 1 of") as caught:
        read_records(tmp_path)
    assert message in str(caught.value)


def test_folder_without_records_raises(tmp_path):
    with pytest.raises(RunFolderError, match="There are no records in"):
        read_records(tmp_path)


def test_locked_folder_error_names_the_other_run(tmp_path):
    folder = tmp_path / "new" / "run"
    with lock_folder(folder):
        before = (folder / "lock").read_bytes()
        with (
            pytest.raises(
                RunFolderError, match=r"Another run writes to .* \(process \d+ on .* since "
            ),
            lock_folder(folder),
        ):
            pass
        assert (folder / "lock").read_bytes() == before
    with lock_folder(folder):  # the lock is released with its holder
        pass


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_are_read(tmp_path, suffix, compress):
    lines = record("a").encoded() + record("b", "n").encoded()
    (tmp_path / f"records.jsonl{suffix}").write_bytes(compress(lines))
    assert (
        read_records(tmp_path)
        == read_records(tmp_path / f"records.jsonl{suffix}")
        == [record("a"), record("b", "n")]
    )


def test_cell_list_selects_and_orders_records(tmp_path):
    lines = [record("a"), record("old", "n"), record("b", "n"), record("gone", "x")]
    (tmp_path / "records.jsonl").write_bytes(b"".join(each.encoded() for each in lines))
    (tmp_path / "cells.json").write_text('["b", "a", "not yet"]')
    assert [each.cell for each in read_records(tmp_path)] == ["b", "a"]
