"""External predictions: exported splits, imported degrees, ranked with the other methods."""

import json
import sys

import numpy as np
import pytest
import scipy.io
import tomli_w
from tiny_plans import tiny_dict

from ldlearn import MeanLDL, UniformLE
from ldlearn.cli.main import main
from ldlearn.evaluation import Results, read_records
from ldlearn.exceptions import FileError, InputError
from ldlearn.experiments import Plan, export_splits, import_predictions, run_plan
from ldlearn.metrics import intersection

METHODS = {"UniformLE": {}, "UniformLE + MeanLDL": {"estimator": "UniformLE", "learner": "MeanLDL"}}
NAME = "Numpy (external)"


@pytest.fixture
def plan():
    return Plan.from_dict(tiny_dict(methods=METHODS))


@pytest.fixture
def run(plan, tmp_path):
    run_plan(plan, tmp_path / "run")
    export_splits(plan, tmp_path / "splits")
    return tmp_path


def run_command(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    return exit_info.value.code


def predict_externally(split):
    """Equal degrees of the positive labels, and their mean for new rows, in NumPy only."""
    D = split["trainLogical"] / split["trainLogical"].sum(axis=1, keepdims=True)
    return D, np.tile(D.mean(axis=0), (len(split["testFeature"]), 1))


def write_predictions(folder, suffix="npz"):
    for file in sorted((folder / "splits" / "made").glob("*.npz")):
        with np.load(file, allow_pickle=False) as split:
            D, P = predict_externally(split)
            names = [str(name) for name in split["label_names"]]
        target = folder / "theirs" / "made" / file.with_suffix(f".{suffix}").name
        target.parent.mkdir(parents=True, exist_ok=True)
        if suffix == "npz":
            np.savez(target, recovery=D, prediction=P)
        elif suffix == "mat":
            scipy.io.savemat(target, {"recovery": D, "prediction": P})
        elif suffix == "npy":
            np.save(target, P)
        else:  # columns in another order than the labels
            table = ",".join(names[::-1]) + "\n"
            target.write_text(
                table + "\n".join(",".join(map(repr, row[::-1].tolist())) for row in P) + "\n"
            )


def test_exported_splits_are_those_of_the_run(run, plan):
    with np.load(run / "splits" / "made" / "1.npz", allow_pickle=False) as split:
        arrays = dict(split)
    matlab = scipy.io.loadmat(run / "splits" / "made" / "1.mat")
    rows = np.concatenate([arrays[f"{part}Index"] for part in ("train", "validation", "test")])
    np.testing.assert_array_equal(np.sort(rows), np.arange(60))
    np.testing.assert_array_equal(matlab["trainIndex"].ravel(), arrays["trainIndex"] + 1)
    np.testing.assert_allclose(matlab["testFeature"], arrays["testFeature"])
    assert arrays["trainFeature"].mean() == pytest.approx(
        0.0, abs=1e-12
    )  # scaled with the training rows
    records = read_records(run / "run")
    recorded = next(r for r in records if r.method == "UniformLE" and r.repeat == 1)
    recovered = UniformLE().fit_enhance(arrays["trainFeature"], arrays["trainLogical"])
    assert recorded.recovery["intersection"] == pytest.approx(
        intersection(arrays["trainDistribution"], recovered)
    )


@pytest.mark.parametrize("suffix", ["npz", "mat", "npy", "csv"])
def test_equal_predictions_get_equal_scores(run, suffix):
    write_predictions(run, suffix)
    assert (
        run_command(
            "import-predictions",
            str(run / "run"),
            "--method",
            "Numpy",
            "--from",
            str(run / "theirs"),
        )
        == 0
    )
    records = read_records(run / "run")
    ours = {r.repeat: r.prediction for r in records if r.method == "UniformLE + MeanLDL"}
    theirs = {r.repeat: r for r in records if r.method == NAME}
    assert theirs.keys() == ours.keys() == {0, 1}
    for repeat, record in theirs.items():
        assert record.external
        assert record.prediction == pytest.approx(ours[repeat], nan_ok=True)
        assert (record.recovery is not None) == (suffix in ("npz", "mat"))


def test_external_methods_are_ranked_and_reported(run):
    write_predictions(run)
    import_predictions(run / "run", "Numpy", run / "theirs")
    assert NAME in {record.method for record in Results(read_records(run / "run")).records}
    assert run_command("report", str(run / "run")) == 0
    page = next((run / "run").rglob("*.html")).read_text(encoding="utf-8")
    assert NAME in page


def test_external_records_survive_a_resumed_run_but_not_changed_splits(run, plan):
    write_predictions(run)
    import_predictions(run / "run", "Numpy", run / "theirs")
    assert run_plan(plan, run / "run").computed == 0
    assert NAME in {record.method for record in read_records(run / "run")}
    other = Plan.from_dict(tiny_dict(methods=METHODS, protocol={"repeats": 2, "seed": 5}))
    run_plan(other, run / "run")
    assert NAME not in {record.method for record in read_records(run / "run")}


def change_predictions(folder, change):
    path = folder / "theirs" / "made" / "1.npz"
    with np.load(path) as arrays:
        np.savez(path, **change(dict(arrays)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a | {"prediction": a["prediction"][1:]}, "shape"),
        (lambda a: a | {"prediction": a["prediction"][:, :2]}, "shape"),
        (lambda a: a | {"prediction": 2 * a["prediction"]}, "sum to 1"),
        (lambda a: a | {"recovery": -a["recovery"]}, "negative"),
        (lambda a: {"other": a["prediction"]}, "neither 'prediction' nor 'recovery'"),
    ],
)
def test_invalid_files_add_no_record(run, change, message):
    write_predictions(run)
    change_predictions(run, change)
    before = (run / "run" / "records.jsonl").read_bytes()
    with pytest.raises(InputError, match=rf"1\.npz.*{message}"):
        import_predictions(run / "run", "Numpy", run / "theirs")
    assert (run / "run" / "records.jsonl").read_bytes() == before


def test_missing_file_is_named(run, capsys):
    write_predictions(run)
    (run / "theirs" / "made" / "1.npz").unlink()
    with pytest.raises(FileError, match=r"made/1: there is no file"):
        import_predictions(run / "run", "Numpy", run / "theirs")
    assert (
        run_command(
            "import-predictions",
            str(run / "run"),
            "--method",
            "Numpy",
            "--from",
            str(run / "theirs"),
        )
        == 2
    )


def test_external_learners_fitted_on_true_degrees(run):
    write_predictions(run, "npy")
    records = import_predictions(run / "run", "Numpy", run / "theirs", trained_on="truth")
    assert {record.kind for record in records} == {"learner"}
    with pytest.raises(InputError, match="trained_on"):
        import_predictions(run / "run", "Numpy", run / "theirs", trained_on="nothing")


def test_export_command(tmp_path, plan):
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    assert (
        run_command("run", str(tmp_path / "plan.toml"), "--export-splits", str(tmp_path / "out"))
        == 0
    )
    assert sorted(path.name for path in (tmp_path / "out" / "made").iterdir()) == [
        "0.mat",
        "0.npz",
        "1.mat",
        "1.npz",
    ]
    assert not (tmp_path / "records.jsonl").exists()
    assert run_command("run", str(tmp_path / "plan.toml")) == 2


def test_constant_predictions_are_the_baseline(run):
    """The example predicts as `UniformLE + MeanLDL`."""
    with np.load(run / "splits" / "made" / "0.npz") as split:
        D, P = predict_externally(split)
        expected = MeanLDL().fit(split["trainFeature"], D).predict(split["testFeature"])
    np.testing.assert_allclose(P, expected)
    assert json.loads((run / "run" / "cells.json").read_text())


@pytest.mark.parametrize(
    "method",
    [
        {"evil:Model": {}},
        {"GLLE": {"estimator": "evil:Model"}},
        {"GLLE": {"learner": "evil:Model"}},
    ],
    ids=["name", "estimator", "learner"],
)
def test_code_that_the_plan_of_a_run_names_is_not_imported(method, run, monkeypatch, capsys):
    """Not even from the current folder, which is where a run that was downloaded may lie."""
    (run / "evil.py").write_text("open('imported', 'w').close()\n")
    monkeypatch.chdir(run)
    write_predictions(run)
    changed = tiny_dict(methods=METHODS) | {"methods": METHODS | method}
    plan = json.loads(json.dumps(changed))
    (run / "run" / "plan.toml").write_text(tomli_w.dumps(plan))
    arguments = ("import-predictions", "run", "--method", "Numpy", "--from", "theirs")
    assert run_command(*arguments) == 2
    assert "--trust-plan" in capsys.readouterr().err
    assert not (run / "imported").exists()
    assert run_command(*arguments, "--trust-plan") == 2  # it is imported, and is no method
    assert (run / "imported").exists()
    sys.modules.pop("evil")


@pytest.mark.parametrize("name", ["lock", "cells.json", "records.jsonl"])
def test_nothing_is_written_through_links_out_of_the_run(name, run):
    write_predictions(run)
    outside = run / "outside"
    outside.write_bytes((run / "run" / name).read_bytes())
    before = outside.read_bytes()
    (run / "run" / name).unlink()
    (run / "run" / name).symlink_to(outside)
    with pytest.raises(FileError, match="link"):
        import_predictions(run / "run", "Numpy", run / "theirs")
    assert outside.read_bytes() == before
