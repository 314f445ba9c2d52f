"""Which rows to annotate next: expected errors, diversity, suspicious labels."""

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table, make_votes

from ldlearn.exceptions import ParameterError, TableError
from ldlearn.joint import DLDL, CountLDL, VoteShares
from ldlearn.tables import ColumnOptions, TableModel, WritingOptions, ask_table
from ldlearn.tables.ask import (
    _find_suspicious_labels,
    _held_out_probabilities,
    _vote_probabilities,
    choose_rows,
    expected_errors,
)

FAST = {"alpha": 0.0, "beta": 0.1, "gamma": 0.1}


def test_expected_errors_are_those_of_simulated_degrees():
    """The prediction is a Dirichlet prior worth two votes; the posterior adds the votes of the
    row."""
    rng = np.random.default_rng(0)
    predicted = np.array([0.5, 0.3, 0.2])
    votes = np.array([3.0, 0.0, 1.0])
    drawn = rng.dirichlet(2 * predicted + votes, size=200_000)
    degrees = votes / votes.sum()
    simulated = ((drawn - degrees) ** 2).sum(axis=1).mean()
    assert expected_errors(predicted[None], degrees[None], np.array([4.0])) == pytest.approx(
        simulated, rel=0.01
    )
    unlabelled = ((rng.dirichlet(2 * predicted, size=200_000) - predicted) ** 2).sum(axis=1).mean()
    assert expected_errors(predicted[None]) == pytest.approx(unlabelled, rel=0.01)
    assert expected_errors(predicted[None], np.full((1, 3), np.nan)) == pytest.approx(
        unlabelled, rel=0.01
    )


def test_choice_maximises_the_determinant_greedily():
    rng = np.random.default_rng(1)
    X, scores = rng.normal(size=(12, 2)), rng.uniform(0.9, 1.0, size=12)
    directions = X / np.linalg.norm(X, axis=1, keepdims=True)
    kernel = np.outer(scores, scores) * (np.eye(12) + directions @ directions.T) / 2
    chosen = []
    for _ in range(5):
        rest = [k for k in range(12) if k not in chosen]
        chosen.append(
            max(rest, key=lambda k: np.linalg.det(kernel[np.ix_([*chosen, k], [*chosen, k])]))
        )
    assert choose_rows(scores, X, 5).tolist() == chosen
    assert chosen != np.argsort(-scores)[:5].tolist()
    assert sorted(choose_rows(scores, X, 99)) == list(range(12))


def test_confident_learning_by_loops():
    rng = np.random.default_rng(2)
    Y = (rng.random((40, 3)) < 0.4).astype(float)
    Y[5, 1] = np.nan
    P1 = rng.random((40, 3))  # of the value 1
    given = np.where(Y == 1, P1, 1 - P1)
    given[5, 1] = np.nan
    found = _find_suspicious_labels(Y, given)
    for i in range(40):
        for j in range(3):
            if np.isnan(Y[i, j]):
                assert not found[i, j]
                continue
            other = 1 - Y[i, j]
            p_other = P1[i, j] if other == 1 else 1 - P1[i, j]
            usual = np.mean(
                [P1[k, j] if other == 1 else 1 - P1[k, j] for k in range(40) if Y[k, j] == other]
            )
            assert found[i, j] == (p_other > 0.5 and p_other >= usual), (i, j)
    assert found.any()


def test_flipped_labels_are_suspicious():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3))
    Y = (X > 0).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1.0
    far = np.flatnonzero((X[:, 1] > 1.5) & (Y.sum(axis=1) > 1))[:3]
    Y[far, 1] = 0.0
    model = DLDL(**FAST).fit(X, Y)
    probabilities = _held_out_probabilities(model, X, Y, np.arange(len(Y)))
    found = _find_suspicious_labels(Y, probabilities)
    assert found[far, 1].all()
    assert found.mean() < 0.15
    Y[far[0]] = np.nan
    assert np.isnan(_held_out_probabilities(model, X, Y, np.arange(len(Y)))[far[0]]).all()


def test_ask_table_columns_and_order(tmp_path):
    table = make_table(60).astype(dict.fromkeys(LABELS, float))
    table.loc[[7, 9], LABELS] = np.nan
    model = TableModel.fit(
        table.dropna(subset=LABELS), LABELS, estimator=DLDL(**FAST), columns=ColumnOptions(id="key")
    )
    written = ask_table(
        table, model, str(tmp_path / "ask.csv"), n=8, writing=WritingOptions(keep="place")
    )
    found = pd.read_csv(tmp_path / "ask.csv")
    assert written.rows == len(found) <= 16
    assert list(found.columns) == ["key", "place", "rank", "expected_error", "suspicious"]
    assert found["rank"].iloc[:8].tolist() == list(range(1, 9))
    assert found["rank"].iloc[8:].isna().all()
    assert found["suspicious"].iloc[8:].notna().all()
    assert found["key"].is_unique
    notes = found["suspicious"].dropna().str.extract(r"(\w+)=([01]) \((0\.\d+)\)")
    rows = table.set_index("key").loc[found["key"][notes.index]]
    given = [row[label] for (_, row), label in zip(rows.iterrows(), notes[0], strict=True)]
    assert given == notes[1].astype(float).tolist()
    assert (notes[2].astype(float) < 0.5).all()


def test_missing_identifier_is_written_as_empty(tmp_path):
    table = make_table(n=30)
    model = TableModel.fit(
        table, labels=LABELS, estimator=DLDL(**FAST), columns=ColumnOptions(id="key")
    )
    table.loc[3, "key"] = None
    table.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    ask_table(str(tmp_path / "d.jsonl"), model, str(tmp_path / "ask.csv"), n=30)
    asked = pd.read_csv(tmp_path / "ask.csv", keep_default_na=False)
    assert sorted(asked["key"])[0] == ""


def test_array_formats_store_the_table_or_raise(tmp_path):
    model = TableModel.fit(
        make_table(30), LABELS, estimator=DLDL(**FAST), columns=ColumnOptions(id="key")
    )
    ask_table(make_table(30), model, str(tmp_path / "ask.npz"), n=5)
    with np.load(tmp_path / "ask.npz") as arrays:
        assert {"key", "rank", "suspicious"} <= set(arrays)
    for ending in ("npy", "mat", "arff"):
        with pytest.raises(TableError, match="holds numbers only"):
            ask_table(make_table(30), model, str(tmp_path / f"ask.{ending}"), n=5)


def test_rows_without_labels(tmp_path):
    table = make_table(60)
    model = TableModel.fit(table, LABELS, estimator=DLDL(**FAST), columns=ColumnOptions(id="key"))
    ask_table(table.drop(columns=LABELS), model, str(tmp_path / "ask.csv"), n=5)
    found = pd.read_csv(tmp_path / "ask.csv")
    assert len(found) == 5
    assert found["suspicious"].isna().all()
    with pytest.raises(TableError, match="rank"):
        ask_table(
            table.assign(rank=1),
            model,
            str(tmp_path / "ask.csv"),
            writing=WritingOptions(keep="rank"),
        )
    with pytest.raises(ParameterError, match="at least 1"):
        ask_table(table, model, str(tmp_path / "ask.csv"), n=0)


VOTES = ColumnOptions(id="key", kind="votes")


def test_counts_are_ranked_by_the_gain_of_a_vote(tmp_path):
    table = make_votes(60)
    table.loc[0, LABELS] = [0, 0, 30]
    model = TableModel.fit(table, LABELS, estimator=CountLDL(gamma=1.0), columns=VOTES)
    written = ask_table(table, model, str(tmp_path / "ask.csv"), n=60)
    found = pd.read_csv(tmp_path / "ask.csv")
    assert list(found.columns)[-3:] == ["rank", "vote_gain", "suspicious"]
    gains = model.estimator.vote_gain(model.transform(table), table[LABELS])
    expected = np.argsort(-gains, kind="stable")
    assert found["key"].tolist() == table["key"].iloc[expected].tolist()
    assert found["vote_gain"].to_numpy() == pytest.approx(gains[expected])
    assert {"r4", "r7"} <= set(found["key"][:5])  # without votes
    assert found["key"].iloc[-1] == "r0"
    assert written.messages[0].startswith("2 of 60 rows have no votes")
    # Without label columns no row has votes.
    ask_table(table.drop(columns=LABELS), model, str(tmp_path / "ask.csv"), n=5)
    unvoted = pd.read_csv(tmp_path / "ask.csv")
    no_votes = model.estimator.vote_gain(model.transform(table), 0 * table[LABELS])
    assert unvoted["vote_gain"].to_numpy() == pytest.approx(-np.sort(-no_votes)[:5])


def test_probability_of_a_vote_is_the_degree_without_it():
    """Shares with smoothing: one vote of n for a label that has v is ``v / (n - 1 + n_labels)``."""
    counts = np.array([[2.0, 1.0, 0.0], [0.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    estimator = VoteShares(smoothing=1.0).fit(np.zeros((3, 1)), counts)
    found, _ = _vote_probabilities(estimator, np.zeros((3, 1)), counts, np.arange(3))
    expected = counts[:2] / (counts[:2].sum(axis=1, keepdims=True) + 2)
    np.testing.assert_allclose(found[:2], np.where(counts[:2] > 0, expected, np.nan))
    assert np.isnan(found[2]).all()


def test_probability_of_a_single_vote_is_predicted_without_its_row():
    counts = np.eye(3)[np.arange(10) % 3]
    estimator = VoteShares(smoothing=1.0).fit(np.zeros((10, 1)), counts)
    found, _ = _vote_probabilities(estimator, np.zeros((10, 1)), counts, np.arange(10) // 2)
    groups = np.arange(10) // 2
    for row in range(10):
        others = counts[groups != groups[row]].sum(axis=0) + 1
        given = counts[row].argmax()
        assert found[row, given] == pytest.approx(others[given] / others.sum())


def test_improbable_votes_are_suspicious(tmp_path):
    table = make_votes(160)
    wrong = np.flatnonzero(table["place"] == "inland")[:2]
    table.loc[:, "sea"] *= table["place"] != "inland"
    table.loc[wrong, LABELS] = [2, 2, 1]
    model = TableModel.fit(table, LABELS, estimator=CountLDL(gamma=0.1), columns=VOTES)
    written = ask_table(table, model, str(tmp_path / "ask.csv"), n=4)
    found = pd.read_csv(tmp_path / "ask.csv")
    others = found[found["rank"].isna()]
    assert set(table["key"].iloc[wrong]) >= set(others["key"])
    assert len(others) > 0
    notes = others["suspicious"].str.extract(r"=(\d+) \((0\.\d+)\)").astype(float)
    assert (notes[0] >= 1).all()
    assert (notes[1] < 0.05).all()
    assert "improbable" in written.messages[-1]


def test_probability_of_a_weighted_vote_is_the_degree_without_it():
    counts = np.array([[0.25, 2.5, 0.0], [0.0, 4.0, 1.0]])
    estimator = VoteShares(smoothing=1.0).fit(np.zeros((2, 1)), counts)
    found, _ = _vote_probabilities(estimator, np.zeros((2, 1)), counts, np.arange(2))
    np.testing.assert_allclose(found[0], [1.0 / 5.5, 2.5 / 4.75, np.nan])


def test_tail_of_a_vote_is_that_of_labels_no_more_probable():
    counts = np.array([[3.0, 1.0, 1.0], [9.0, 4.0, 0.0]])
    estimator = VoteShares(smoothing=1.0).fit(np.zeros((2, 1)), counts)
    _, tails = _vote_probabilities(estimator, np.zeros((2, 1)), counts, np.arange(2))
    # Without the vote, the smoothed counts of the first row are (3, 2, 2), (4, 1, 2), (4, 2, 1).
    np.testing.assert_allclose(tails[0], [1.0, 1 / 7, 1 / 7])
    np.testing.assert_allclose(tails[1], [1.0, 5 / 15, np.nan])


def test_few_votes_are_improbable_among_many_labels(tmp_path):
    names = [f"label{j}" for j in range(60)]
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(rng.multinomial(2, np.full(60, 1 / 60), size=40), columns=names)
    table = counts.assign(x=rng.normal(size=40))
    columns = ColumnOptions(kind="votes")
    model = TableModel.fit(table, names, estimator=CountLDL(gamma=100.0), columns=columns)
    written = ask_table(table, model, str(tmp_path / "ask.csv"), n=1)
    n_improbable = int(written.messages[-1].split()[0])
    assert n_improbable < 20


def test_checks_of_votes_repeat_no_warning_of_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1e3, 1.0, 1.0, 1.0]
    counts = rng.multinomial(2, [0.5, 0.5], size=30).astype(float)
    with pytest.warns(UserWarning, match="larger scale"):
        estimator = CountLDL().fit(X, counts)
    found, _ = _vote_probabilities(estimator, X, counts, np.arange(30))
    assert np.isfinite(found[counts > 0]).all()


def test_why_votes_of_a_single_row_are_not_checked(tmp_path):
    table = make_votes(30)
    table.loc[1:, LABELS] = 0
    model = TableModel.fit(table, LABELS, estimator=CountLDL(gamma=1.0), columns=VOTES)
    written = ask_table(table, model, str(tmp_path / "ask.csv"), n=5)
    assert not any("one group" in message for message in written.messages)


def test_models_of_counts_that_know_no_gain(tmp_path):
    table = make_votes(60)
    model = TableModel.fit(table, LABELS, estimator=VoteShares(), columns=VOTES)
    written = ask_table(table, model, str(tmp_path / "ask.csv"), n=5)
    found = pd.read_csv(tmp_path / "ask.csv")
    assert np.isfinite(found["expected_error"]).all()
    assert "not checked" in written.messages[-1]
