import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace

import fork_server
import numpy as np
import pytest
from tiny_plans import DATA, tiny_plan

from ldlearn import datasets
from ldlearn.cli.main import main
from ldlearn.experiments import RunFolderError, RunProgress, executors, read_records, run_plan
from ldlearn.experiments.cells import plan_cells
from ldlearn.experiments.engine import lock_folder
from ldlearn.experiments.sources import _check_features
from ldlearn.experiments.splits import DataSplit, SplitPart
from ldlearn.reporting import Report


class Messages(RunProgress):
    def __init__(self, stop_after=None):
        self.cells, self.messages, self.begun, self.ended, self.stop_after = (
            [],
            [],
            None,
            False,
            stop_after,
        )

    def begin(self, n_cells, n_recorded):
        self.begun = n_cells, n_recorded

    def message(self, text):
        self.messages.append(text)

    def finish_cell(self, cell, record):
        self.cells.append((cell.method.name, cell.repeat, record.status))
        if len(self.cells) == self.stop_after:
            raise KeyboardInterrupt

    def end(self):
        self.ended = True


def scores(records):
    return [record.without_timing for record in records]


@pytest.fixture
def finished_folder(complete_run, tmp_path):
    """A copy of the folder of the finished run."""
    return shutil.copytree(complete_run.path, tmp_path / "finished")


def test_interrupted_run_is_resumed(complete_run, tmp_path):
    progress = Messages(stop_after=3)
    with pytest.raises(KeyboardInterrupt):
        run_plan(tiny_plan(), tmp_path, progress=progress)
    assert progress.ended
    assert len(read_records(tmp_path)) == 3
    progress = Messages()
    run = run_plan(tiny_plan(), tmp_path, progress=progress)
    assert progress.begun == (10, 3)
    assert run.computed == len(progress.cells) == 7
    assert scores(run.records) == scores(complete_run.records)
    assert scores(read_records(tmp_path)) == scores(complete_run.records)
    again = run_plan(tiny_plan(), tmp_path)
    assert (again.computed, scores(again.records)) == (0, scores(complete_run.records))
    assert len(read_records(tmp_path, history=True)) == 10


def test_truncated_record_is_computed_again(complete_run, finished_folder):
    path = finished_folder / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    run = run_plan(tiny_plan(), finished_folder)
    assert run.computed == 1
    assert scores(read_records(finished_folder)) == scores(complete_run.records)


def test_two_processes_give_the_same_records(complete_run, tmp_path):
    run = run_plan(tiny_plan(), tmp_path, jobs=2)
    assert scores(run.records) == scores(complete_run.records)


def test_extended_plan_computes_only_new_cells(complete_run, finished_folder):
    run = run_plan(tiny_plan(protocol={"repeats": 3}), finished_folder)
    assert (len(run.records), run.computed) == (15, 5)
    assert scores(run.records[:10]) == scores(complete_run.records)


def test_reduced_plan_returns_only_its_own_records(finished_folder):
    run = run_plan(tiny_plan(methods={"PriorLE": {}}), finished_folder)
    assert run.computed == 0
    assert [record.method for record in read_records(finished_folder)] == ["PriorLE", "PriorLE"]
    assert len(read_records(finished_folder, history=True)) == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": {"repeats": 2, "seed": 1}},
        {"protocol": {"repeats": 2, "threshold": 0.05}},
        {"protocol": {"repeats": 2, "scaling": "none"}},
        {"selection": {"prediction": "clark"}},
        {"datasets": {"made": DATA | {"params": DATA["params"] | {"random_state": 1}}}},
        {"datasets": {"made": DATA | {"rows": 50}}},
    ],
)
def test_every_setting_of_a_cell_changes_its_key(complete_run, changes):
    from ldlearn.experiments.cells import plan_cells

    before = {record.cell for record in complete_run.records}
    assert before.isdisjoint(cell.key for cell in plan_cells(tiny_plan(**changes)))
    assert before == {
        cell.key for cell in plan_cells(tiny_plan(metrics=["clark"]))
    }  # records contain all metrics


FACES_DATA = """
[datasets.faces]
path = "faces.csv"
labels = ["joy", "fear"]
[protocol]
repeats = 1
[methods.UniformLE]
"""


def file_plan(folder):
    folder.mkdir()
    (folder / "faces.csv").write_text("w,joy,fear\n" + "1.5,0.75,0.25\n2.5,0.5,0.5\n" * 20)
    (folder / "mine.toml").write_text(FACES_DATA)
    return folder / "mine.toml"


def test_cell_keys_do_not_depend_on_the_folder(tmp_path):
    here, there = file_plan(tmp_path / "here"), file_plan(tmp_path / "there")
    first = run_plan(here, tmp_path / "here" / "run")
    shutil.copytree(tmp_path / "here" / "run", tmp_path / "there" / "run")
    again = run_plan(there, tmp_path / "there" / "run")
    assert (first.computed, again.computed) == (1, 0)
    assert again.records == first.records
    (tmp_path / "there" / "faces.csv").write_text("w,joy,fear\n" + "1.5,0.25,0.75\n" * 40)
    assert run_plan(there, tmp_path / "there" / "run").computed == 1  # other content, other cells


def count_calls(monkeypatch, where, name):
    """Replace a function by one that counts its calls."""
    calls, original = [], getattr(where, name)
    monkeypatch.setattr(
        where, name, lambda *args, **options: calls.append(args) or original(*args, **options)
    )
    return calls


def test_run_loads_each_data_set_once(tmp_path, monkeypatch):
    plan = file_plan(tmp_path / "here")
    plan.write_text(FACES_DATA + "[methods.DLDL]\n[datasets.vader_tweets]\nrows = 60\n")
    parsed, summed = (
        count_calls(monkeypatch, datasets, "read_dataset"),
        count_calls(monkeypatch, hashlib, "file_digest"),
    )
    embedded = count_calls(monkeypatch, datasets.embedded, "load_vader_tweets")
    with pytest.raises(SystemExit) as exit_info:
        main(["run", str(plan), "-o", str(tmp_path / "run"), "--quiet"])
    assert exit_info.value.code in (0, None)
    assert (len(parsed), len(summed), len(embedded)) == (1, 1, 1)
    with pytest.raises(SystemExit):
        main(["run", str(plan), "-o", str(tmp_path / "run"), "--quiet"])
    assert (len(parsed), len(embedded)) == (1, 1)  # all cells are done, so that nothing is loaded


def test_missing_data_set_is_reported_recorded_and_retried(tmp_path, monkeypatch):
    monkeypatch.setenv("LDLEARN_DATA", str(tmp_path / "nothing"))
    plan = tiny_plan(datasets={"made": DATA, "ren_cecps": {}}, methods={"UniformLE": {}})
    progress = Messages()
    run = run_plan(plan, tmp_path / "run", progress=progress)
    assert [record.status for record in run.records] == ["ok", "ok", "missing", "missing"]
    assert "Ren-CECps is not on this machine" in run.records[-1].message
    assert len(progress.messages) == 1
    assert "ren_cecps is skipped" in progress.messages[0]
    run = run_plan(plan, tmp_path / "run", progress=Messages())
    assert run.count("missing") == 2
    assert (
        len(read_records(tmp_path / "run", history=True)) == 4
    )  # missing data sets are recorded once
    monkeypatch.setattr(type(plan.datasets[1]), "_load", lambda self: _made())
    run = run_plan(plan, tmp_path / "run")
    assert [record.status for record in run.records] == ["ok"] * 4


def _made():
    from ldlearn.datasets import make_label_distributions

    return make_label_distributions(**DATA["params"])


def test_unusable_data_are_recorded_as_failed(tmp_path):
    plan = tiny_plan(
        datasets={"yeast": {}, "made": DATA | {"threshold": 0.9}}, methods={"UniformLE": {}}
    )
    run = run_plan(plan, tmp_path)
    assert [record.status for record in run.records] == ["failed"] * 4
    assert "no degrees to select by" in run.records[0].message
    assert "no positive label" in run.records[-1].message


def test_constant_labels_are_reported_once_by_the_run_and_in_the_report(tmp_path):
    always = DATA | {"params": DATA["params"] | {"sparsity": 0.0}, "threshold": 0.0}
    methods = {"UniformLE": {}, "PriorLE": {}, "SABFGS": {}}
    plan = tiny_plan(datasets={"always": always, "made": DATA}, methods=methods)
    progress = Messages()
    run = run_plan(plan, tmp_path, progress=progress)
    (message,) = progress.messages
    assert message.startswith("always: 3 of 3 labels")
    assert Report(run.records).markdown().count("always: 3 of 3 labels") == 1
    # learners do not use 0/1 labels
    assert {(r.dataset, r.method) for r in run.records if r.constant_labels} == {
        ("always", "UniformLE"), ("always", "PriorLE")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "constant"),
    [([0, 0, 0], True), ([1, 1, 1], True), ([1, 0, 1], False), ([1, np.nan, 1], True)],
)
def test_constant_labels_are_those_of_one_observed_value_in_all_parts(column, constant):
    parts = [
        SplitPart(rows=np.arange(1), X=np.zeros((1, 1)), Y=np.array([[value, 0.0], [1.0, 1.0]]))
        for value in column
    ]
    parts = [replace(part, Y=part.Y[:1]) for part in parts]
    assert DataSplit(*parts).constant_labels.tolist() == [constant, True]


def test_float32_features_are_checked_without_a_warning():
    X = np.array([[1.0, 3e38], [0.5, 0.0]], dtype=np.float32)
    data = datasets.LabelDataset(X, np.array([[0.5, 0.5], [1.0, 0.0]]))
    _check_features(data)
    X[1, 0] = np.inf
    with pytest.raises(datasets.DatasetError, match="row 2"):
        _check_features(datasets.LabelDataset(X, data.D))


def test_time_of_a_shared_fit_is_split_between_cells(monkeypatch):
    plan = tiny_plan(protocol={"repeats": 1})
    cells = [cell for cell in plan_cells(plan) if cell.method.estimator == "PriorLE"]
    clock = iter([100.0, 108.0])
    monkeypatch.setattr(executors, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert [record.seconds["total"] for record in executors.compute_cells(cells, _made())] == [
        4.0,
        4.0,
    ]


def test_records_do_not_depend_on_the_plan_format(tmp_path):
    run = run_plan(tiny_plan(methods={"PriorLE": {}}), tmp_path)
    plan = (tmp_path / "plan.toml").read_text()
    (tmp_path / "plan.toml").write_text(plan.replace("PriorLE", "GoneLE"))
    assert read_records(tmp_path) == run.records
    (tmp_path / "plan.toml").write_text(plan.replace("seed = 0", "seed = 5"))
    assert read_records(tmp_path) == run.records


def test_folds(tmp_path):
    protocol = {"split": "k-fold", "folds": 3, "validation": 0.25}
    run = run_plan(
        tiny_plan(methods={"SABFGS on truth": {"estimator": "SABFGS"}}, protocol=protocol), tmp_path
    )
    assert [record.repeat for record in run.records] == [0, 1, 2]
    assert {record.sizes["n_test"] for record in run.records} == {20}
    assert {record.sizes["n_validation"] for record in run.records} == {10}
    wider = run_plan(
        tiny_plan(
            methods={"SABFGS on truth": {"estimator": "SABFGS"}}, protocol=protocol | {"repeats": 2}
        ),
        tmp_path,
    )
    assert wider.computed == 3


def test_concurrent_run_is_rejected_and_interrupted_run_resumed(tmp_path):
    (tmp_path / "long.toml").write_text(
        tiny_plan(protocol={"repeats": 400}).to_toml(), encoding="utf-8"
    )
    command = [*fork_server.command(), "run", "long.toml", "-o", ".", "--log"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "records.jsonl").is_file() or not read_records(
            tmp_path, history=True
        ):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(RunFolderError, match=r"process \d+ ") as refused:
            run_plan(tiny_plan(), tmp_path)
        holder = int(re.search(r"process (\d+) ", str(refused.value))[1])
        os.kill(holder, 0)  # it is running
        assert first.poll() is None
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert first.returncode != 0
    with pytest.raises(ProcessLookupError):
        os.kill(holder, 0)
    content = (tmp_path / "records.jsonl").read_bytes()
    assert content.endswith(b"\n")
    assert len(read_records(tmp_path)) == content.count(b"\n") < 2000
    assert run_plan(tiny_plan(), tmp_path).count("ok") == 10


def test_rejected_run_does_not_change_the_records(tmp_path):
    """An incomplete line of the other run is not removed."""
    with lock_folder(tmp_path):
        (tmp_path / "records.jsonl").write_bytes(b'{"half')
        with pytest.raises(RunFolderError, match="Another run"):
            run_plan(tiny_plan(), tmp_path)
        assert (tmp_path / "records.jsonl").read_bytes() == b'{"half'
        assert not (tmp_path / "plan.toml").exists()
