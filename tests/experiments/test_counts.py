"""Plans in which methods see counts of votes: ``rule = "counts"``."""

import numpy as np
import pytest
from tiny_plans import tiny_plan

from ldlearn import DLDL, SABFGS, CountLDL
from ldlearn.core import votes_to_degrees
from ldlearn.datasets import LabelDataset, make_label_distributions
from ldlearn.evaluation import Results, read_records
from ldlearn.exceptions import InputError
from ldlearn.experiments import (
    Plan,
    export_splits,
    import_predictions,
    load_plan,
    run_plan,
    shipped_plans,
)
from ldlearn.experiments.cells import plan_cells
from ldlearn.experiments.plan import Protocol
from ldlearn.experiments.sources import DatasetSpec
from ldlearn.experiments.splits import SplitPart, make_split
from ldlearn.metrics import cross_entropy, intersection
from ldlearn.reporting.report import Report

SPEC = DatasetSpec("made")
COUNTS = Protocol(rule="counts")
DLDL_PARAMS = {"beta": 0.1, "gamma": 1.0, "zeros": "less"}
METHODS = {
    "CountLDL": {"params": {"gamma": 1.0}},
    "VoteShares": {},
    "SABFGS": {},
    "AAKNN": {},
    "DLDL": {"params": DLDL_PARAMS},
}


def make_votes(n_samples=80, seed=0, fewest=1, most=7):
    """Rows with one to six votes, and their true degrees."""
    made = make_label_distributions(
        n_samples=n_samples, n_features=3, n_labels=3, random_state=seed
    )
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(rng.integers(fewest, most, n_samples), made.D).astype(float)
    return LabelDataset(X=made.X, D=votes_to_degrees(counts)[0], counts=counts), made.D


@pytest.fixture(scope="module")
def data():
    return make_votes()[0]


@pytest.fixture
def plan(data, monkeypatch):
    monkeypatch.setattr(DatasetSpec, "_load", lambda self: data)
    return tiny_plan(
        methods=METHODS,
        protocol={"repeats": 1, "rule": "counts"},
        metrics=["cross_entropy", "intersection", "kl_divergence"],
    )


@pytest.mark.parametrize("k", [None, 3])
def test_votes_are_split_in_training_and_validation_rows(data, k):
    split = make_split(data, SPEC, Protocol(rule="counts", k=k), 0)
    for part in (split.train, split.validation):
        counts = data.counts[part.rows]
        totals = counts.sum(axis=1)
        expected = np.ceil(totals / 2) if k is None else np.minimum(totals, k)
        np.testing.assert_array_equal(part.votes.sum(axis=1), expected)
        np.testing.assert_array_equal(part.n_scoring, totals - expected)
        np.testing.assert_array_equal(part.Y, part.votes > 0)
        scored = part.n_scoring > 0
        held_out = part.D * part.n_scoring[:, None]
        np.testing.assert_allclose((part.votes + held_out)[scored], counts[scored])
        assert not scored.all()
    assert split.train.n_scoring[split.train.shown].all()
    assert len(split.texts) == len(split.train.shown) == 12


def test_test_rows_are_scored_by_all_votes(data):
    test = make_split(data, SPEC, COUNTS, 0).test
    np.testing.assert_array_equal(test.n_scoring, data.counts[test.rows].sum(axis=1))
    np.testing.assert_allclose(test.D, data.D[test.rows])
    np.testing.assert_array_equal(test.Y, data.counts[test.rows] > 0)


def test_votes_are_split_anew_for_each_repeat(data):
    seen = []
    for repeat in (0, 0, 1):
        part = make_split(data, SPEC, COUNTS, repeat).train
        votes = np.zeros(data.counts.shape)
        votes[part.rows] = part.votes
        seen.append(votes)
    np.testing.assert_array_equal(seen[0], seen[1])
    both = (seen[0].sum(axis=1) > 0) & (seen[2].sum(axis=1) > 0)
    assert (seen[0][both] != seen[2][both]).any()


def test_rows_count_as_often_as_they_have_votes():
    part = SplitPart(
        rows=np.arange(3),
        X=np.zeros((3, 1)),
        Y=np.ones((3, 2)),
        D=np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]),
        n_scoring=np.array([3.0, 2.0, 0.0]),
    )
    P = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    scores = part.score(P, ["cross_entropy", "intersection"])
    votes = [0.5, 0.5, 0.5, 0.25, 0.75]  # their probabilities
    assert scores["cross_entropy"] == pytest.approx(-np.mean(np.log(votes)))
    assert scores["intersection"] == pytest.approx((3 * 0.5 + 2 * 0.75) / 5)


def test_true_degrees_score_better_than_the_votes_that_are_seen():
    data, D = make_votes(400, fewest=4)
    train = make_split(data, SPEC, COUNTS, 0).train
    scores = {
        "true": train.score(D[train.rows], ["cross_entropy"])["cross_entropy"],
        "mean": train.score(np.full(D[train.rows].shape, 1 / 3), ["cross_entropy"])[
            "cross_entropy"
        ],
        "seen": train.score(votes_to_degrees(train.votes)[0], ["cross_entropy"])["cross_entropy"],
    }
    assert scores["true"] < scores["mean"] < scores["seen"]


def test_each_method_sees_the_votes_as_it_takes_them(plan, data, tmp_path):
    records = {record.method: record for record in run_plan(plan, tmp_path).records}
    assert {record.status for record in records.values()} == {"ok"}
    split = make_split(data, plan.datasets[0], plan.protocol, 0)
    train, test = split.train, split.test
    shares, n_votes = votes_to_degrees(train.votes)
    models = {
        "CountLDL": CountLDL(gamma=1.0).fit(train.X, train.votes),
        "SABFGS": SABFGS().fit(train.X, shares, sample_weight=n_votes),
        "DLDL": DLDL(**DLDL_PARAMS).fit(train.X, train.Y),
    }
    for name, model in models.items():
        P = model.predict(test.X)
        values = cross_entropy(test.D, P, per_row=True)
        expected = np.average(values, weights=test.n_scoring)
        assert records[name].prediction["cross_entropy"] == pytest.approx(expected)
    scored = train.n_scoring > 0
    recovered = models["CountLDL"].label_distributions_[scored]
    values = intersection(train.D[scored], recovered, per_row=True)
    expected = np.average(values, weights=train.n_scoring[scored])
    assert records["CountLDL"].recovery["intersection"] == pytest.approx(expected)
    assert {name: record.trained_on for name, record in records.items()} == {
        "CountLDL": "votes",
        "VoteShares": "votes",
        "SABFGS": "votes",
        "AAKNN": "votes",
        "DLDL": "logical",
    }
    assert records["SABFGS"].warnings == []
    assert "AAKNN takes no sample weights" in records["AAKNN"].warnings[0]
    assert records["DLDL"].samples.votes == train.votes[train.shown].tolist()
    assert records["DLDL"].votes == {
        "seen": pytest.approx(n_votes.mean()),
        "recovery": pytest.approx(train.n_scoring[scored].mean()),
        "prediction": pytest.approx(test.n_scoring.mean()),
    }


def test_learners_of_votes_compete(plan, tmp_path):
    results = Results(run_plan(plan, tmp_path).records, plan.metrics)
    assert not any(method.is_reference for method in results.methods.values())
    assert [name for name, method in results.methods.items() if method.is_limited] == ["DLDL"]
    assert results.subject == "CountLDL"


def test_hyperparameters_are_selected_by_held_out_votes(plan, data, tmp_path):
    content = plan.to_dict() | {
        "methods": {"CountLDL": {"grid": {"gamma": [0.1, 1e6]}}, "VoteShares": {}},
        "selection": {"recovery": "cross_entropy", "prediction": "cross_entropy"},
    }
    run = run_plan(Plan.from_dict(content), tmp_path)
    split = make_split(data, plan.datasets[0], plan.protocol, 0)
    validation = split.validation
    for point in run.records[0].grid:
        model = CountLDL(**point.params)
        model.fit(split.train.X, split.train.votes)
        recovered = model.enhance(validation.X, validation.votes)
        scores = validation.score(recovered, ["cross_entropy"])
        assert point.recovery == pytest.approx(scores["cross_entropy"])
    report = Report(run.records).markdown()
    assert "Hyperparameters were selected by votes that methods have not seen" in report


def test_single_votes_leave_nothing_to_score_recovery_by(plan, monkeypatch, tmp_path):
    data, _ = make_votes(most=2)
    monkeypatch.setattr(DatasetSpec, "_load", lambda self: data)
    run = run_plan(plan, tmp_path)
    assert run.count("ok") == len(METHODS)
    record = read_records(tmp_path)[0]
    assert record.recovery["cross_entropy"] is None
    assert np.isfinite(record.prediction["cross_entropy"])
    assert record.votes.keys() == {"seen", "prediction"}
    assert record.samples.rows == []
    assert "No record holds a recovery score." in Report(run.records).html()


def test_votes_are_drawn_from_degrees_where_there_are_no_counts():
    made = make_label_distributions(n_samples=4000, n_features=2, n_labels=3, random_state=0)
    split = make_split(made, SPEC, Protocol(rule="counts", k=4), 0)
    train = split.train
    np.testing.assert_allclose(train.votes.mean(axis=0), 4 * train.D.mean(axis=0), atol=0.1)
    assert (train.votes.sum(axis=1) == 4).all()
    np.testing.assert_allclose(train.D, made.D[train.rows])
    assert train.n_scoring is None
    assert split.votes_per_row == {"seen": 4.0}
    labels = make_split(made, SPEC, Protocol(rule="votes", k=4), 0)
    np.testing.assert_array_equal(train.Y, labels.train.Y)
    with pytest.raises(InputError, match="'made' has degrees and no counts of votes; write k"):
        make_split(made, SPEC, COUNTS, 0)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"Y": np.eye(2), "counts": np.array([[1, 2], [0, 0]])}, "row 2: there is no vote"),
        ({"Y": np.eye(2), "counts": np.array([[1.5, 2], [0, 1]])}, "row 1: .* not whole numbers"),
        ({"Y": np.eye(2), "counts": np.array([[1e9, 0], [0, 1]])}, r"row 1: .* 1e\+09 votes"),
        ({"Y": np.eye(2)}, "'made' has 0/1 labels, and no counts"),
    ],
)
def test_data_without_votes_to_split_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        make_split(LabelDataset(X=np.zeros((2, 1)), **labels), SPEC, COUNTS, 0)


def test_other_rules_show_no_counts(data):
    """Under ``rule = "votes"`` all methods see 0/1 labels, and learners the truth."""
    changes = {"methods": METHODS, "protocol": {"rule": "votes", "k": 3}}
    trained_on = {cell.method.name: cell.trained_on for cell in plan_cells(tiny_plan(**changes))}
    assert trained_on["CountLDL"] == "logical"
    assert trained_on["SABFGS"] == "truth"
    assert make_split(data, SPEC, Protocol(rule="votes", k=3), 0).train.votes is None


def test_report_of_votes_drawn_from_degrees_and_of_other_votes(data, monkeypatch, tmp_path):
    load = DatasetSpec._load
    monkeypatch.setattr(DatasetSpec, "_load", lambda self: data if self.path else load(self))
    table = tmp_path / "my_votes.csv"
    table.touch()
    datasets = {"made": tiny_plan().datasets[0].to_dict(), "my_votes": {"path": str(table)}}
    plan = tiny_plan(
        datasets=datasets,
        methods={"VoteShares": {}, "SABFGS": {}},
        protocol={"repeats": 1, "rule": "counts", "k": 2},
    )
    report = Report(run_plan(plan, tmp_path / "run").records).markdown()
    assert "2 votes per training row of made, drawn from its true degrees" in report
    assert r" per row of my\_votes; a row counts as often" in report


def test_rule_of_a_data_set_decides_what_its_cells_see():
    datasets = {
        "made": {"generator": "label_distributions"},
        "other": {"generator": "label_distributions", "rule": "counts", "k": 3},
    }
    cells = plan_cells(tiny_plan(datasets=datasets, methods={"SABFGS": {}}))
    trained_on = {cell.dataset.name: cell.trained_on for cell in cells}
    assert trained_on == {"made": "truth", "other": "votes"}


def test_held_out_votes_are_not_exported(plan, data, tmp_path):
    path = export_splits(plan, tmp_path / "splits")[0]
    arrays = np.load(path)
    split = make_split(data, plan.datasets[0], plan.protocol, 0)
    for part in ("train", "validation"):
        np.testing.assert_array_equal(arrays[f"{part}Votes"], getattr(split, part).votes)
        assert f"{part}Distribution" not in arrays
    run_plan(plan, tmp_path / "run")
    place = tmp_path / "predictions" / "made"
    place.mkdir(parents=True)
    np.savez(place / "0.npz", recovery=np.full((48, 3), 1 / 3), prediction=np.full((16, 3), 1 / 3))
    (record,) = import_predictions(
        tmp_path / "run", "Mine", tmp_path / "predictions", trained_on="votes"
    )
    assert record.prediction["cross_entropy"] == pytest.approx(np.log(3))
    assert record.votes == split.votes_per_row
    assert "Mine (external)" in Results(read_records(tmp_path / "run")).methods


def test_report_states_what_is_compared(plan, tmp_path):
    report = Report(run_plan(plan, tmp_path).records, plan.to_toml())
    assert report.results.headline_metrics[0].name == "cross_entropy"
    page = report.html()
    for text in (
        "CountLDL has cross-entropy",
        "Held-out votes",
        "recovery is scored by the other votes of these rows",
        "DLDL was fitted to 0/1 labels",
        "Compared with the shares of held-out votes of training rows, on average",
    ):
        assert text in page
    assert "the true degrees of the training rows" not in page
    table = report.text_files()["tables/recovery-cross_entropy.tex"]
    assert "Compared with the shares of held-out votes" in table
    assert r"DLDL (0/1 labels)" in table


@pytest.mark.parametrize("name", shipped_plans())
def test_methods_of_counts_are_not_compared_on_0_1_labels(name):
    plan = load_plan(name)
    for cell in plan_cells(plan):
        rule = plan.protocol.for_dataset(cell.dataset).rule
        assert rule == "counts" or not cell.method.takes_counts
