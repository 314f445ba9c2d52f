"""Records: written whole, read back as they were, also compressed and from version 0.1.0."""

import gzip
import json
import lzma
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic_records import make_records

from ldlearn import AAKNN
from ldlearn.evaluation import Convergence, GridPoint, Record, RecordsFile, Results, RunFolderError, read_records
from ldlearn.exceptions import FileError
from ldlearn.experiments import load_plan
from ldlearn.experiments.cells import Cell, plan_cells
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Protocol, Selection
from ldlearn.experiments.run_folder import hold_folder
from ldlearn.experiments.sources import DatasetSpec

OLD = Path(__file__).parent / "data" / "version_0_1_0"


def record(cell, method="m", **more):
    return Record(cell=cell, dataset="d", method=method, repeat=0, status="ok", **more)


def test_records_are_read_back_and_the_last_of_a_cell_counts(tmp_path):
    with RecordsFile(tmp_path / "records.jsonl") as file:
        file.append(record("a", validation={"recovery": 1.0}))
        file.append(record("b", "n", validation={"recovery": float("nan")}, message="Infinity ü\n"))
        file.append(record("a", validation={"recovery": 2.0}))
    found = read_records(tmp_path)
    last = record("b", "n", validation={"recovery": None}, message="Infinity ü\n")
    assert found == [record("a", validation={"recovery": 2.0}), last]
    assert len(read_records(tmp_path, history=True)) == 3


@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_a_number_that_is_not_finite_is_null_in_whatever_precision(kind):
    assert json.loads(record("a", validation={"recovery": kind("nan")}).encoded())["validation"] == {"recovery": None}


@pytest.fixture
def largest_file():
    """Sets how many bytes a file of this process may have."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_no_fault_of_ours(tmp_path, largest_file):
    path = tmp_path / "records.jsonl"
    with RecordsFile(path) as file:
        file.append(record("a"))
        largest_file(path.stat().st_size + 10)
        with pytest.raises(FileError, match=r"records\.jsonl: only 10 of \d+ bytes of a record could be written"):
            file.append(record("b"))
        with pytest.raises(FileError, match=r"records\.jsonl: it cannot be written \(file too large\)"):
            file.append(record("b"))
    largest_file(resource.RLIM_INFINITY)
    with RecordsFile(path) as file:
        file.append(record("c", "n"))
    assert [found.cell for found in read_records(tmp_path)] == ["a", "c"]


def test_a_record_survives_being_written_with_every_digit():
    grid = [GridPoint({"k": 0.1 + 0.2}, recovery=1 / 3), GridPoint({"k": None}, error="ValueError: no")]
    full = record("a", grid=grid, n_points=2, convergence=Convergence([3.0, 1 / 7]), label_names=["x"])
    assert full.as_stored() == full
    assert "error" not in json.loads(full.encoded())["grid"][0]


def test_records_can_still_be_asked_like_dictionaries():
    full = record("a", recovery={"clark": 0.5}, grid=[GridPoint({"k": 1}, recovery=0.5)])
    assert full["recovery"]["clark"] == full["grid"][0]["recovery"] == 0.5
    with pytest.raises(KeyError, match="nonsense"):
        full["nonsense"]


@pytest.mark.parametrize("kept", range(0, 40, 3))
def test_a_line_torn_at_any_byte_is_ignored_and_cut_before_writing(tmp_path, kept):
    path = tmp_path / "records.jsonl"
    with RecordsFile(path) as file:
        file.append(record("a"))
    path.write_bytes(path.read_bytes() + record("b", "n").encoded()[:kept])
    assert read_records(tmp_path) == [record("a")]
    with RecordsFile(path) as file:
        file.append(record("c", "n"))
    assert path.read_bytes() == record("a").encoded() + record("c", "n").encoded()


@pytest.mark.parametrize(
    ("line", "said"),
    [(b"garbage", "is not a record;"), (b'{"cell": "a"}', "must have 'dataset'"), (b'{"schema": 99}', "later version")],
)
def test_a_whole_line_that_is_no_record_is_named(tmp_path, line, said):
    path = tmp_path / "records.jsonl"
    path.write_bytes(line + b"\n" + record("a").encoded())
    with pytest.raises(RunFolderError, match="Line 1 of") as caught:
        read_records(tmp_path)
    assert said in str(caught.value)


def test_a_folder_without_records_is_one_sentence(tmp_path):
    with pytest.raises(RunFolderError, match="There are no records in"):
        read_records(tmp_path)


def test_two_runs_do_not_share_a_folder_and_the_second_is_told_who_has_it(tmp_path):
    folder = tmp_path / "new" / "run"
    with hold_folder(folder):
        before = (folder / "lock").read_bytes()
        with (
            pytest.raises(RunFolderError, match=r"Another run is writing to .* \(process \d+ on .* since "),
            hold_folder(folder),
        ):
            pass
        assert (folder / "lock").read_bytes() == before
    with hold_folder(folder):  # the lock ends with its holder
        pass


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_are_read_like_others(tmp_path, suffix, compress):
    lines = record("a").encoded() + record("b", "n").encoded()
    (tmp_path / f"records.jsonl{suffix}").write_bytes(compress(lines))
    assert (
        read_records(tmp_path) == read_records(tmp_path / f"records.jsonl{suffix}") == [record("a"), record("b", "n")]
    )


def test_a_list_of_cells_says_which_count_and_in_which_order(tmp_path):
    lines = [record("a"), record("old", "n"), record("b", "n"), record("gone", "x")]
    (tmp_path / "records.jsonl").write_bytes(b"".join(each.encoded() for each in lines))
    (tmp_path / "cells.json").write_text('["b", "a", "not yet"]')
    assert [each.cell for each in read_records(tmp_path)] == ["b", "a"]


class TestVersion010:
    """A run of version 0.1.0, kept as it wrote it."""

    def test_its_records_are_read_in_full(self):
        records = read_records(OLD)
        raw = [json.loads(line) for line in (OLD / "records.jsonl").read_text().splitlines()]
        assert len(records) == len(raw) == 28
        for ours, theirs in zip(records, raw, strict=True):
            assert ours.scores("recovery") == (theirs["recovery"] or {})
            assert ours.scores("prediction") == (theirs["prediction"] or {})
            assert [point.prediction for point in ours.grid] == [point["prediction"] for point in theirs["grid"]]
            assert (ours.n_points, ours.seconds) == (len(theirs["grid"]), theirs["seconds"])
            assert ours.deciding_metric("recovery") == "chebyshev"
        assert [each.convergence.objective for each in records if each.convergence] == [
            each["convergence"]["objective"] for each in raw if each["convergence"]
        ]

    def test_its_baselines_are_those_of_today(self):
        methods = Results(read_records(OLD)).methods
        assert {name for name, method in methods.items() if method.is_baseline} == {"UniformLE", "SoftmaxLE"}

    def test_its_parameters_have_their_names_of_today(self, monkeypatch):
        monkeypatch.setattr(AAKNN, "_renamed_params", {"k": "n_neighbors"})
        found = {each.method: each for each in read_records(OLD)}
        assert found["AAKNN on truth"].params == {"n_neighbors": 4}
        pair = found["UniformLE + AAKNN"]
        assert [point.params for point in pair.grid] == [{"learner__n_neighbors": 2}, {"learner__n_neighbors": 5}]
        assert set(pair.selected["prediction"]) == {"learner__n_neighbors"}

    def test_its_plan_gives_the_keys_of_its_records(self):
        cells = plan_cells(load_plan(OLD / "plan.toml"))
        assert {cell.key_of_0_1_0 for cell in cells} == {each.cell for each in read_records(OLD)}

    def test_its_keys_hold_the_path_and_the_former_names(self, monkeypatch):
        monkeypatch.setattr(AAKNN, "_renamed_params", {"k": "n_neighbors"})
        data = DatasetSpec("faces", path="/data/faces.csv", sha256="0" * 64, read={"labels": ["joy"]})
        for method, key in (
            (MethodSpec("UniformLE", "UniformLE"), "2e9466aa54915211"),
            (MethodSpec("AAKNN on truth", "AAKNN", {"n_neighbors": 4}), "282404ff8b64db74"),
        ):
            cell = Cell(data, method, 0, Protocol(), Selection())
            assert cell.key_of_0_1_0 == key != cell.key
            assert replace(cell, dataset=replace(data, path="/elsewhere/faces.csv")).key == cell.key


def test_dictionaries_are_records_too():
    made = make_records(repeats=1)
    assert Results(made).records == [Record.from_dict(each) for each in made]
