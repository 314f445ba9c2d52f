"""Tables of votes on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from ldlearn.core.simplex import softmax
from ldlearn.metrics.against_baselines import Score
from ldlearn.tables import load_table_model

LABELS = ["sky", "sea", "hill"]


@pytest.fixture
def votes(tmp_path, monkeypatch):
    """The current folder has 60 rows of training votes, and 30 rows of new ones."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    counts = rng.multinomial(4, softmax(2 * X @ rng.normal(size=(2, 3))))
    table = pd.DataFrame(X, columns=["x", "y"]).join(pd.DataFrame(counts, columns=LABELS))
    table.loc[2, LABELS] = 0
    table[:60].to_csv("votes.csv", index=False)
    table[60:].to_csv("new.csv", index=False)
    return table


def test_advice_on_votes(run, votes):
    fit = ["fit", "votes.csv", "-l", "sky:hill", "--kind", "votes", "-o", "m.ldl"]
    assert run(*fit, "--method", "SABFGS").code == 0
    assert "of votes CountLDL" in run("enhance", "new.csv", "-m", "m.ldl", "-o", "e.csv").message
    votes.astype({"sky": object}).replace({"sky": {1: "one"}}).to_csv("votes.csv", index=False)
    assert "'one' is not a finite number; " in run(*fit).message
    assert "a number of votes" in run(*fit).message


def test_fit_evaluate_and_enhance(run, votes):
    fit = ["fit", "votes.csv", "-l", "sky:hill", "--kind", "votes", "-o", "m.ldl"]
    printed = run(*fit, "--intervals", "--verbose")
    assert printed.code == 0
    for term in (
        "CountLDL fitted",
        "4.00 votes per row",
        "rows without votes: 1",
        "selected by the votes: gamma=",
        "weight",
        "44 votes",
        "Cross-entropy ↓",
        "scored by the other half (11 rows, 22 votes):",
        "recovered  prediction  raw shares  Laplace",
        "counts as 0.0033",
    ):
        assert term in printed.out
    shown = run("inspect", "m.ldl")
    assert "4.00 votes per row" in shown.out
    assert "Laplace" in shown.out
    evaluated = run("evaluate", "new.csv", "-m", "m.ldl", "--json")
    found = json.loads(evaluated.out)
    assert (found["truth"], found["votes"], found["recovery"]["votes"]) == ("votes", 120, 60)
    assert [Score(**score).name for score in found["scores"]] == ["cross_entropy", "intersection"]
    text = run("evaluate", "new.csv", "-m", "m.ldl", "--kind", "votes").out
    assert f"{found['scores'][0]['model']:.4f}" in text
    assert f"{found['recovery']['recovered']:.4f}" in text
    enhance = ["enhance", "new.csv", "-m", "m.ldl", "--interval", "0.9"]
    assert run(*enhance, "-o", "out.csv").code == 0
    D = load_table_model("m.ldl").enhance(votes[60:])
    np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], D)
    assert run(*enhance, "--kind", "votes", "-o", "again.csv").code == 0
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), pd.read_csv("out.csv"))
    refused = run(*enhance, "--raters", "4", "-o", "out.csv")
    assert refused.code == 2
    assert "leave out raters" in refused.message


def test_enhance_by_a_method(run, votes):
    enhance = ["enhance", "votes.csv", "-l", "sky:hill", "--kind", "votes", "-o", "out.csv"]
    assert run(*enhance, "--method", "VoteShares", "--set", "smoothing=1").code == 0
    np.testing.assert_allclose(pd.read_csv("out.csv").loc[0], (votes.loc[0, LABELS] + 1) / 7)
    assert run(*enhance, "--set", "gamma=1").code == 0
    assert len(pd.read_csv("out.csv")) == 60
    undeclared = run("enhance", "votes.csv", "-l", "sky:hill", "-o", "out.csv")
    assert undeclared.code == 2
    assert "--kind votes" in undeclared.message
