"""Counts of votes in tables: fit, enhance, evaluate, and the recovery of votes not given."""

import numpy as np
import pandas as pd
import pytest

from ldlearn import DLDL, SABFGS, CountLDL, VoteShares
from ldlearn.core.simplex import softmax
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.metrics import cross_entropy
from ldlearn.metrics.against_baselines import mean_and_error, score_with_baselines
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    TableModel,
    WritingOptions,
    describe_model,
    enhance_table,
    evaluate_table,
    fit_enhance_table,
    fit_table,
    load_table_model,
    predict_table,
    save_model,
    write_card,
)
from ldlearn.tables.table_fit import describe_signal
from ldlearn.tables.vote_recovery import score_recovery

NAMES = ["sky", "sea", "hill", "wood"]
VOTES = ColumnOptions(kind="votes")
FAST = {"params": {"gamma": 3.0}, "columns": VOTES}
COUNT_LDL = CountLDL(gamma=3.0)


def make_votes(n_votes=3, n=90, seed=0, slope=1.5):
    """Features, and counts of votes that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    D = softmax(slope * X @ rng.normal(size=(3, 4)))
    counts = rng.multinomial(n_votes, D)
    return pd.DataFrame(X, columns=list("abc")).join(pd.DataFrame(counts, columns=NAMES))


@pytest.fixture(scope="module")
def table():
    """Rows 4 and 7 have no votes, row 8 twice as many as the others."""
    made = make_votes()
    made.loc[[4, 7], NAMES] = 0
    made.loc[8, NAMES] *= 2
    return made


@pytest.fixture(scope="module")
def model(table):
    return fit_table(table, NAMES, **FAST)


def test_votes_are_fitted_by_count_ldl_on_raw_counts(table, model):
    assert type(model.estimator) is CountLDL
    X = model.transform(table)
    direct = CountLDL(gamma=3.0).fit(X, table[NAMES])
    np.testing.assert_allclose(model.predict(table), direct.predict(X), atol=1e-12)
    recovered = model.estimator.label_distributions_
    np.testing.assert_allclose(recovered, direct.label_distributions_, atol=1e-12)
    assert len(recovered) == len(table)
    default = TableModel.fit(table[:12], NAMES, columns=VOTES).estimator
    assert repr(default) == "CountLDL()"
    facts = model.facts
    assert facts["label_kind"] == "votes"
    assert facts["votes"] == {"total": 267.0, "voted_rows": 88, "single_vote_rows": 0}
    shares = table[NAMES].sum() / 267
    np.testing.assert_allclose(facts["mean_distribution"], shares)
    assert facts["label_means"] == pytest.approx(shares.to_dict())
    assert any("2 rows without votes" in text for text in facts["warnings"])


def test_held_out_votes_are_scored_by_their_log_probability(model):
    held = model.facts["holdout"]
    assert [score["name"] for score in held["scores"]] == ["cross_entropy", "intersection"]
    loss = held["scores"][0]
    assert held["advantage"] == pytest.approx(loss["mean"] - loss["model"])
    assert held["better_than_baselines"]
    recovery = held["recovery"]
    assert recovery["rows"] == held["rows"]
    assert recovery["recovered"] < recovery["raw_shares"]


def test_noise_is_not_informative():
    noise = make_votes(seed=3)
    noise[list("abc")] = np.random.default_rng(9).normal(size=(len(noise), 3))
    facts = fit_table(noise, NAMES, **FAST).facts
    assert not facts["holdout"]["better_than_baselines"]
    assert any("likelier under the predictions" in text for text in facts["warnings"])


def test_rounding_errors_are_no_advantage():
    shares = np.eye(4)[np.random.default_rng(0).integers(0, 4, size=50)]
    mean = np.full(4, 0.25)
    P = np.tile(np.nextafter(mean, 1.0), (50, 1))
    found = score_with_baselines(shares, P, mean, None, False, n_votes=np.ones(50))
    assert (found["advantage"], found["standard_error"]) == (0.0, 0.0)
    assert not found["better_than_baselines"]
    assert "the same for every row" in describe_signal(found)


def test_scores_of_votes_count_each_vote_once():
    """Rows with their votes in one row, and each vote in a row of its own, in the row's group."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, size=(12, 3))
    counts[:, 0] += 1
    P = rng.dirichlet(np.ones(3), size=12)
    mean = np.array([0.5, 0.3, 0.2])
    totals = counts.sum(axis=1)
    shares = counts / totals[:, None]
    found = score_with_baselines(shares, P, mean, P[::-1], False, n_votes=totals.astype(float))
    rows, labels = np.nonzero(counts)
    rows = np.repeat(rows, counts[rows, labels])
    single = np.eye(3)[np.repeat(labels, counts[np.nonzero(counts)])]
    same = score_with_baselines(
        single, P[rows], mean, P[::-1][rows], False, n_votes=np.ones(len(rows)), groups=rows
    )
    for name in ("votes", "groups", "advantage", "standard_error", "classifier_gain"):
        assert found[name] == pytest.approx(same[name])
    for score, other in zip(found["scores"][:1], same["scores"][:1], strict=True):
        assert score.as_dict() == pytest.approx(other.as_dict())
    expected = np.average(cross_entropy(shares, P, eps=0.01 / 3, per_row=True), weights=totals)
    assert found["scores"][0].model == pytest.approx(expected)


def test_a_vote_for_a_label_of_degree_zero_has_a_finite_cost():
    found = score_with_baselines(
        np.eye(2), np.eye(2)[::-1], np.array([0.5, 0.5]), None, False, n_votes=np.ones(2)
    )
    assert found["scores"][0].model == pytest.approx(np.log(200))


def test_weighted_error_is_that_of_repeated_rows_in_a_group():
    gain = np.random.default_rng(0).normal(size=8)
    weights = np.arange(1, 9)
    repeated = np.repeat(np.arange(8), weights)
    expected = mean_and_error(gain[repeated], repeated)
    assert mean_and_error(gain, None, weights.astype(float)) == pytest.approx(expected)


class Oracle:
    """Recovers the degrees it is told, whatever the votes."""

    def __init__(self, D):
        self.D = D

    def __sklearn_tags__(self):
        return CountLDL().__sklearn_tags__()

    def predict(self, X):
        return np.full((len(X), self.D.shape[1]), 1 / self.D.shape[1])

    def enhance(self, X, counts):
        self.given = counts
        return self.D[X[:, 0].astype(int)]


def test_recovery_is_scored_by_votes_that_were_not_given():
    D = np.random.default_rng(1).dirichlet(np.full(4, 0.3), size=200)
    counts = np.random.default_rng(0).multinomial(4, D).astype(float)
    counts[0] = [1, 0, 0, 0]  # nothing can be left out
    counts[50:] *= 2
    X = np.arange(200.0)[:, None]
    oracle = Oracle(D)
    found, warning = score_recovery(oracle, X, counts, np.arange(200))
    assert warning == ""
    assert (found.rows, found.votes) == (199, 698.0)
    others = counts[1:] - oracle.given
    assert (others >= 0).all()
    assert (others.sum(axis=1) == oracle.given.sum(axis=1)).all()
    expected = -np.sum(others * np.log(np.maximum(D[1:], 0.0025))) / 698
    assert found.recovered == pytest.approx(expected)
    totals = oracle.given.sum(axis=1, keepdims=True)
    raw = np.maximum(oracle.given / totals, 0.0025)
    assert found.raw_shares == pytest.approx(-np.sum(others * np.log(raw)) / 698)
    smoothed = (oracle.given + 1) / (totals + 4)
    assert found.smoothed_shares == pytest.approx(-np.sum(others * np.log(smoothed)) / 698)
    assert found.prediction == pytest.approx(np.log(4))
    best = min(found.prediction, found.raw_shares, found.smoothed_shares)
    assert found.advantage == pytest.approx(best - found.recovered)
    assert found.better_than_baselines
    assert "likelier under the recovered" in found.describe()
    worse, warning = score_recovery(Oracle(D[::-1]), X, counts, np.arange(200))
    assert not worse.better_than_baselines
    assert "less likely under the recovered" in warning
    assert "chance" not in warning


def test_recovery_needs_whole_votes_and_two_in_some_rows(model):
    X = np.zeros((40, 3))
    counts = np.tile([1.0, 0.0, 0.0, 0.0], (40, 1))
    groups = np.arange(40)
    assert "two votes" in score_recovery(model.estimator, X, counts, groups)[1]
    assert "two votes" in score_recovery(model.estimator, X, 2 * counts, groups * 0)[1]
    assert "weighted votes" in score_recovery(model.estimator, X, 2.5 * counts, groups)[1]
    assert "too many" in score_recovery(model.estimator, X, 1e9 * counts, groups)[1]
    assert score_recovery(DLDL(), X, counts, groups) == (None, "")


def test_one_vote_per_row_is_reported():
    facts = fit_table(make_votes(1), NAMES, **FAST).facts
    assert any(text.startswith("No row has more than one vote") for text in facts["warnings"])
    assert any("Recovery was not scored" in text for text in facts["warnings"])
    assert facts["holdout"]["recovery"] is None
    assert facts["votes"]["single_vote_rows"] == 90
    shares = TableModel.fit(make_votes(1), NAMES, estimator=VoteShares(), columns=VOTES)
    assert shares.facts["warnings"] == []


def test_few_rows_and_labels_with_few_votes():
    table = make_votes(n=12).assign(lake=0, moor=[1, *[0] * 11], heath=[5, *[0] * 11])
    facts = fit_table(table, [*NAMES, "lake", "moor", "heath"], **FAST).facts
    assert facts["holdout"] is None
    assert any("without votes" in text and "'lake'" in text for text in facts["warnings"])
    (rare,) = [text for text in facts["warnings"] if "fewer than 5 votes" in text]
    assert "'moor'" in rare
    assert "'heath'" not in rare
    with pytest.raises(TableError, match="no votes"):
        fit_table(table.assign(**dict.fromkeys(NAMES, 0)), NAMES, columns=VOTES)
    with pytest.raises(TableError, match="at least two"):
        fit_table(table, "sky", columns=VOTES)


def test_weighted_votes_are_for_methods_that_take_counts(table):
    weighted = table.assign(**{name: 0.5 * table[name] for name in NAMES})
    facts = fit_table(weighted, NAMES, **FAST).facts
    assert any("weighted votes" in text for text in facts["warnings"])
    assert any("weighted votes cannot be split" in text for text in facts["warnings"])
    with pytest.raises(TableError, match=r"0\.5 is no count of votes; .*CountLDL"):
        fit_table(weighted, NAMES, method="SABFGS", columns=VOTES)
    weighted.loc[3, "sea"] = 1e300
    with pytest.raises(TableError, match=r"row 3, column 'sea': .* too many"):
        fit_table(weighted, NAMES, columns=VOTES)
    weighted.loc[3, "sea"] = -0.5
    with pytest.raises(TableError, match=r"row 3, column 'sea': -0\.5 is no count of votes"):
        fit_table(weighted, NAMES, columns=VOTES)


def test_undeclared_labels_are_counts_for_a_method_that_takes_them(table, model):
    undeclared = TableModel.fit(table, NAMES, estimator=COUNT_LDL)
    np.testing.assert_array_equal(undeclared.predict(table), model.predict(table))
    logical = table.assign(**{name: (table[name] > 0).astype(int) for name in NAMES})
    warnings = TableModel.fit(logical, NAMES, estimator=COUNT_LDL).facts["warnings"]
    assert any("each positive label as one vote" in text for text in warnings)
    declared = TableModel.fit(logical, NAMES, estimator=COUNT_LDL, columns=VOTES)
    assert not any("each positive label" in text for text in declared.facts["warnings"])
    single = TableModel.fit(make_votes(1), NAMES, estimator=COUNT_LDL).facts["warnings"]
    assert not any("each positive label" in text for text in single)


@pytest.mark.parametrize("kind", ["auto", "votes"])
def test_degrees_are_no_counts(table, kind):
    totals = table[NAMES].sum(axis=1).clip(lower=1)
    degrees = table.assign(**{name: table[name] / totals for name in NAMES})
    columns = ColumnOptions(kind=kind)
    with pytest.raises(TableError, match="sum to 1, as degrees do"):
        TableModel.fit(degrees, NAMES, estimator=COUNT_LDL, columns=columns)


def test_zeros_have_no_meaning_for_votes(table):
    with pytest.raises(ParameterError, match="zeros is for 0/1 labels"):
        fit_table(table, NAMES, columns=ColumnOptions(kind="votes", zeros="less"))


def test_rows_without_votes_can_be_dropped(table):
    for empty_rows, rows in {"drop": 88, "unknown": 90}.items():
        columns = ColumnOptions(kind="votes", empty_rows=empty_rows)
        found = TableModel.fit(table, NAMES, estimator=VoteShares(), columns=columns)
        assert found.facts["rows"] == rows


def test_enhance_reads_counts_of_new_rows(table, model):
    new = make_votes(2, seed=5).iloc[:20]
    new.loc[3, NAMES] = 0
    D = model.enhance(new)
    expected = model.estimator.enhance(model.transform(new), new[NAMES])
    np.testing.assert_array_equal(D, expected)
    np.testing.assert_allclose(D.loc[3], model.predict(new).loc[3])
    pd.testing.assert_frame_equal(model.enhance(new, kind="votes"), D)
    assert len(model.enhance(new, empty_rows="drop")) == 19
    blank = new.astype({"sea": float})
    blank.loc[blank["sea"] == 0, "sea"] = np.nan
    pd.testing.assert_frame_equal(model.enhance(blank, blank=0), D)
    with pytest.raises(TableError, match=r"column 'sea': the label is missing; .*--blank 0"):
        model.enhance(blank)
    degrees = new.assign(**{name: D[name] for name in NAMES})
    with pytest.raises(TableError, match=r"sum to 1, as degrees do; .*--kind votes"):
        model.enhance(degrees)
    weighted = model.enhance(degrees, kind="votes")
    np.testing.assert_allclose(weighted.sum(axis=1), 1.0)


def test_kinds_that_do_not_suit_a_model_are_rejected(table, model):
    logical = table.assign(**dict.fromkeys(NAMES, 1))
    joint = TableModel.fit(logical, NAMES, estimator=DLDL(beta=1.0, gamma=1.0))
    with pytest.raises(ParameterError, match="DLDL enhances 0/1 labels, which kind='votes'"):
        joint.enhance(table, kind="votes")
    with pytest.raises(TableError, match="for counts of votes use a model of CountLDL"):
        joint.enhance(table)
    with pytest.raises(ParameterError, match="CountLDL enhances counts of votes"):
        model.enhance(table, kind="mixed")


def within_bounds(written):
    return all(
        (written[f"{name}_low"] <= written[name]).all()
        and (written[name] <= written[f"{name}_high"]).all()
        for name in NAMES
    )


def test_intervals_in_files(table, model, tmp_path):
    data, out = str(tmp_path / "votes.csv"), str(tmp_path / "out.csv")
    table.to_csv(data, index=False)
    writing = WritingOptions(interval=0.9)
    for write in (
        lambda: enhance_table(data, model, out, writing=writing),
        lambda: predict_table(data, model, out, writing=writing),
        lambda: fit_enhance_table(data, NAMES, out, writing=writing, **FAST),
    ):
        write()
        written = pd.read_csv(out)
        assert len(written) == 90
        assert within_bounds(written)
        assert (written["sky_high"] - written["sky_low"]).max() > 0.1
    np.testing.assert_allclose(written[NAMES], model.estimator.label_distributions_)
    fit_enhance_table(data, NAMES, out, method="VoteShares", params={"smoothing": 1}, columns=VOTES)
    np.testing.assert_allclose(pd.read_csv(out).loc[0], (table.loc[0, NAMES] + 1) / 7)
    for writing, message in (
        (WritingOptions(interval=0.9, raters=3), "leave out raters"),
        (WritingOptions(flag_far=True), "CountLDL flags no rows"),
    ):
        with pytest.raises(ParameterError, match=message):
            predict_table(data, model, out, writing=writing)
    writing = WritingOptions(interval=0.9)
    with pytest.raises(ParameterError, match="VoteShares gives no intervals"):
        fit_enhance_table(data, NAMES, out, method="VoteShares", columns=VOTES, writing=writing)


def test_intervals_contain_the_written_degrees(table, tmp_path, monkeypatch):
    data, out = str(tmp_path / "votes.csv"), str(tmp_path / "out.csv")
    table.to_csv(data, index=False)

    def narrow(self, X, y, coverage):
        return np.full(y.shape, 0.25), np.full(y.shape, 0.25)

    monkeypatch.setattr(CountLDL, "enhance_interval", narrow)
    fit_enhance_table(data, NAMES, out, writing=WritingOptions(interval=0.9), **FAST)
    assert within_bounds(pd.read_csv(out))


def test_evaluation_against_votes(table, model, tmp_path):
    path = str(tmp_path / "new.csv")
    new = make_votes(4, seed=0)
    new.to_csv(path, index=False)
    found = evaluate_table(path, model)
    assert (found.truth, found.rows, found.votes) == ("votes", 90, 360.0)
    counts = new[NAMES].to_numpy()
    P = model.predict(new).to_numpy()
    assert found.scores[0].model == pytest.approx(-np.sum(counts * np.log(P)) / 360)
    assert found.recovery.votes == 180
    assert found.as_dict()["recovery"]["votes"] == 180
    assert any("counts as 0.0025" in text for text in found.messages)
    assert evaluate_table(path, model, columns=VOTES).scores == found.scores
    learner = TableModel.fit(table, NAMES, estimator=SABFGS(l2=1.0), columns=VOTES)
    plain = evaluate_table(path, learner, columns=VOTES)
    assert plain.recovery is None
    assert [score.name for score in plain.scores] == ["cross_entropy", "intersection"]
    new.assign(**dict(zip(NAMES, P.T, strict=True))).to_csv(path, index=False)
    assert evaluate_table(path, model).truth == "true degrees"
    weighted = new.assign(**{name: 0.7 * new[name] for name in NAMES})
    weighted.to_csv(path, index=False)
    halves = evaluate_table(path, model)
    assert halves.scores[0].model == pytest.approx(found.scores[0].model)
    assert halves.recovery is None
    assert any("weighted votes cannot be split" in text for text in halves.warnings)
    new.assign(**dict.fromkeys(NAMES, 0)).to_csv(path, index=False)
    with pytest.raises(TableError, match="no row has votes"):
        evaluate_table(path, model)


def test_model_files_and_cards_keep_the_scores_of_votes(model, tmp_path):
    path = tmp_path / "m.ldl"
    save_model(model, path, intervals=True)
    loaded = load_table_model(path)
    assert loaded.facts["holdout"] == model.facts["holdout"]
    assert loaded.facts["votes"] == model.facts["votes"]
    known = describe_model(loaded)
    assert "weight" in known["selection_summary"]
    write_card({"model": "m.ldl", "sha256": "0"} | known, tmp_path / "card.html")
    card = (tmp_path / "card.html").read_text()
    for text in (
        "scored by the other half",
        "Raw shares",
        "rows without votes: 2",
        "Share of votes",
        "selected by the votes",
        "counts as 0.0025",
    ):
        assert text in card


def test_whole_numbers_lead_to_the_kind_of_votes(table):
    reading = ReadingOptions(on_message=lambda message: None)
    for method in ("DLDL", "SABFGS", "GLLE"):
        with pytest.raises(TableError, match="kind='votes'"):
            fit_table(table.drop([4, 7]), NAMES, method=method, reading=reading)
