"""Experiments without true degrees: scores by held-out labels and agreement between methods."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tiny_plans import tiny_dict

from ldlearn import VoteLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.evaluation import Results, agreement, read_records
from ldlearn.exceptions import InputError
from ldlearn.experiments import Plan, run_plan
from ldlearn.experiments.sources import DatasetSpec
from ldlearn.experiments.splits import make_split
from ldlearn.metrics import LABEL_METRICS, intersection, vote_likelihood
from ldlearn.reporting import write_report
from ldlearn.reporting.report import Report

FAST = {"alpha": 0.0, "beta": 0.1, "gamma": 1.0, "max_iter": 2}
METHODS = {
    "DLDL": {"params": FAST},
    "VoteLDL": {"params": {"gamma": 1.0}},
    "PriorLE + SABFGS": {"estimator": "PriorLE", "learner": "SABFGS"},
    "UniformLE + MeanLDL": {"estimator": "UniformLE", "learner": "MeanLDL"},
    "SABFGS on truth": {"estimator": "SABFGS"},
    "PriorLE": {},
}
METRICS = ["vote_likelihood", "average_precision"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = make_label_distributions(
        n_samples=80, n_features=3, n_labels=3, labels="votes", random_state=0
    )
    frame = pd.DataFrame(
        np.hstack([data.X, data.Y]), columns=["x", "y", "z", "joy", "calm", "fear"]
    )
    path = tmp_path_factory.mktemp("logical") / "mine.csv"
    frame.to_csv(path, index=False)
    return path


def plan_of(path, **changes):
    content = {
        "datasets": {"mine": {"path": str(path), "labels": "joy:fear"}},
        "methods": METHODS,
        "metrics": METRICS,
        "selection": {"mode": "logical"},
    }
    return Plan.from_dict(tiny_dict(**content | changes))


@pytest.fixture(scope="module")
def partial(table, tmp_path_factory):
    """The same with one label in five unknown and one row without any known label."""
    frame = pd.read_csv(table).astype(object)
    hidden = np.random.default_rng(1).random((80, 3)) < 0.2
    hidden[:2], hidden[5] = False, True
    frame.iloc[:, 3:] = frame.iloc[:, 3:].mask(hidden)
    path = tmp_path_factory.mktemp("partial") / "mine.csv"
    frame.to_csv(path, index=False)
    return path


def preprocessed(path):
    return {"mine": {"path": str(path), "labels": "joy:fear", "preprocess": True}}


def test_unknown_labels_are_ignored_in_selection_and_scores(partial, tmp_path):
    methods = {
        "VoteLDL": {"grid": {"gamma": [0.1, 10.0]}},
        "UniformLE + MeanLDL": METHODS["UniformLE + MeanLDL"],
        "GLLE": {"params": {"n_neighbors": 3}},
        "PriorLE": {},
    }
    plan = plan_of(
        partial, methods=methods, datasets=preprocessed(partial), protocol={"repeats": 1}
    )
    records = {record.method: record for record in run_plan(plan, tmp_path / "run").records}
    assert "GLLE needs every label to be 0 or 1" in records.pop("GLLE").message
    assert {record.status for record in records.values()} == {"ok"}
    split = make_split(plan.datasets[0].load(needs_truth=False), plan.datasets[0], plan.protocol, 0)
    models = [VoteLDL(gamma=gamma).fit(split.train.X, split.train.Y) for gamma in (0.1, 10.0)]
    chosen = [
        vote_likelihood(split.validation.Y, model.predict(split.validation.X)) for model in models
    ]
    found = records["VoteLDL"]
    assert [point.prediction for point in found.grid] == pytest.approx(chosen)
    P = models[int(np.argmax(chosen))].predict(split.test.X)
    assert found.prediction["vote_likelihood"] == pytest.approx(vote_likelihood(split.test.Y, P))
    assert found.samples.logical is None  # a figure would draw an unknown label as negative
    write_report(tmp_path / "run", tmp_path / "report", formats=())


def test_baseline_with_unknown_labels_selects_nothing(partial, tmp_path):
    methods = {
        "tuned": {"estimator": "DLDL", "grid": {"beta": [0.1, 1.0]}},
        "DLDL": {"params": FAST},
    }
    selection = {"mode": "logical", "prediction": "kl_divergence"}
    plan = plan_of(partial, methods=methods, datasets=preprocessed(partial), selection=selection)
    tuned, untuned, *_ = run_plan(plan, tmp_path).records
    assert 'write prediction = "vote_likelihood"' in tuned.message
    assert untuned.status == "ok"  # no hyperparameters


def test_unknown_labels_require_preprocessing(partial, tmp_path):
    message = run_plan(plan_of(partial), tmp_path).records[0].message
    assert ": the label is missing; write 0 or 1, or use preprocess = true in a plan" in message
    assert "row 5, column 'joy'" in message


@pytest.fixture(scope="module")
def run(table, tmp_path_factory):
    return run_plan(plan_of(table), tmp_path_factory.mktemp("run"))


def test_predictions_are_scored_by_held_out_labels(run):
    by_method = {record.method: record for record in run.records}
    record = by_method["VoteLDL"]
    assert set(record.prediction) == set(LABEL_METRICS)
    assert record.recovery == {}
    assert len(record.degrees["prediction"]) == 16  # the test rows
    assert len(record.degrees["recovery"]) == 48  # the training rows
    assert by_method["PriorLE"].degrees.keys() == {"recovery"}
    failed = by_method["SABFGS on truth"]
    assert failed.status == "failed"
    assert "no true degrees to learn from" in failed.message
    best = max(
        (r for r in run.records if r.is_ok and r.prediction),
        key=lambda r: r.prediction["vote_likelihood"],
    )
    assert best.method in ("DLDL", "VoteLDL")


def test_records_without_truth_round_trip(run):
    records = read_records(run.path)
    assert [record.degrees for record in records] == [record.degrees for record in run.records]
    line = (run.path / "records.jsonl").read_text().splitlines()[0]
    assert "degrees" in json.loads(line)


def test_agreement_is_the_mean_intersection_of_the_same_rows(run):
    results = Results(run.records)
    assert not results.present_datasets[0].has_truth
    found = agreement(results, "mine", "prediction")
    names = [method.name for method in found.methods]
    assert names == ["DLDL", "VoteLDL", "PriorLE + SABFGS", "UniformLE + MeanLDL"]
    degrees = {
        (r.method, r.repeat): r.degrees["prediction"]
        for r in run.records
        if r.degrees.get("prediction")
    }
    pair = np.mean([intersection(degrees["DLDL", k], degrees["VoteLDL", k]) for k in (0, 1)])
    assert found.matrix[0, 1] == found.matrix[1, 0] == pytest.approx(pair)
    np.testing.assert_allclose(np.diag(found.matrix), 1.0, atol=1e-3)  # recorded with four digits
    assert found.means["UniformLE + MeanLDL"] == pytest.approx(found.matrix[3, :3].mean())
    assert found.means["DLDL"] == pytest.approx(found.matrix[0, 1:3].mean())  # without baselines
    assert agreement(results, "none", "prediction") is None


def test_report_states_that_there_are_no_true_degrees(run, tmp_path):
    write_report(run.path, tmp_path, formats=())
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    for report in (page, text):
        assert "mine has 0/1 labels only" in report
        assert "agreement with each other" in report
    assert 'id="agreement"' in page
    assert "There are no true degrees to compare with." in page
    assert "the true degrees of the test rows" not in page
    assert "their 0/1 labels" in page
    assert (tmp_path / "tables" / "agreement-prediction-mine.md").is_file()
    assert [metric.name for metric in Report(run.records).results.headline_metrics] == [
        "average_precision"
    ]


def test_report_of_a_run_with_truth_has_no_such_statement(tmp_path):
    run = run_plan(Plan.from_dict(tiny_dict(methods={"UniformLE": {}, "PriorLE": {}})), tmp_path)
    assert all(record.degrees == {} for record in run.records)
    report = Report(run.records)
    assert report.agreements == []
    assert "0/1 labels only" not in report.markdown()


def test_selection_by_truth_without_truth_is_rejected(table, tmp_path):
    run = run_plan(plan_of(table, selection={"mode": "oracle"}), tmp_path)
    assert {record.status for record in run.records} == {"failed"}
    assert 'write mode = "logical" under [selection]' in run.records[0].message


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (slice("joy", "fear"), 0, "'mine', row 3: no label is 1"),
        ("y", np.nan, "'mine', row 3, column 'y': the value is missing"),
        ("y", 1e200, "'mine', row 3, column 'y': the value is too large"),
    ],
)
def test_row_numbers_start_at_1(table, tmp_path, column, value, message):
    frame = pd.read_csv(table)
    frame.loc[2, column] = value
    frame.to_csv(tmp_path / "bad.csv", index=False)
    methods = {"PriorLE": {}}
    run = run_plan(
        plan_of(tmp_path / "bad.csv", methods=methods, protocol={"repeats": 1}), tmp_path / "run"
    )
    assert message in run.records[0].message


def test_errors_of_sparse_data_name_the_feature(monkeypatch):
    data = make_label_distributions(n_samples=20, n_features=3, n_labels=3, random_state=0)
    X = data.X.copy()
    X[[7, 4], [0, 2]] = np.nan, np.inf
    monkeypatch.setattr(
        DatasetSpec, "_load", lambda self: replace(data, name="made", X=csr_array(X))
    )
    with pytest.raises(
        InputError,
        match=rf"'made', row 5, column '{data.feature_names[2]}': the value is too large",
    ):
        DatasetSpec("made").load()


@pytest.mark.parametrize("seed", range(3))
def test_vote_likelihood_maximises_over_the_number_of_votes(seed):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(4), size=30)
    Y = (rng.poisson(3 * P) > 0).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1

    def likelihood(votes):
        positive = -np.expm1(-votes * P)
        limit = 0.5 / 31  # probabilities are clipped for 30 rows
        positive = np.clip(positive, limit, 1 - limit)
        return (Y * np.log(positive) + (1 - Y) * np.log1p(-positive)).sum(axis=1).mean()

    best = max(likelihood(votes) for votes in np.linspace(0.5, 12, 2000))
    assert vote_likelihood(Y, P) == pytest.approx(
        best, abs=0.02
    )  # the rate is estimated before clipping
    assert vote_likelihood(Y, P) <= best + 1e-12
    assert vote_likelihood(Y, P) > vote_likelihood(Y, P[::-1])


def test_vote_likelihood_is_finite_for_certain_predictions():
    Y = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert np.isfinite(vote_likelihood(Y, [[1.0, 0.0], [1.0, 0.0]]))
    assert np.isfinite(vote_likelihood(np.ones((2, 2)), [[1.0, 0.0], [0.5, 0.5]]))
    with pytest.raises(InputError, match="0/1 labels"):
        vote_likelihood([[0.5, 0.5]], [[0.5, 0.5]])
