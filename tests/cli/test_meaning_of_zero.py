"""The options for the meaning of 0 and of empty cells, and the comparison with a plain
classifier."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from example_tables import REASONS, make_survey
from scipy.special import expit

from ldlearn.metrics import intersection

LABELS = ("-l", "price:habit", "--id", "id")


@pytest.fixture(autouse=True)
def no_report(monkeypatch):
    """Skip reports: only the printed tables of `compare-methods` are tested here, and figures are
    slow."""
    monkeypatch.setattr("ldlearn.reporting.write_report", lambda folder: folder)


@pytest.fixture(scope="module")
def survey():
    return make_survey()


@pytest.fixture
def files(survey, tmp_path, monkeypatch):
    """The survey in two files; the first includes the two rows without a positive label."""
    monkeypatch.chdir(tmp_path)
    survey[0][:840].to_csv("survey.csv", index=False)
    survey[0][840:].to_csv("new.csv", index=False)
    return survey


def test_zeros_less_is_suggested_and_improves_recovery_but_not_prediction(files, run):
    _, D = files
    refused = run("fit", "survey.csv", *LABELS, "-o", "m.ldl")
    assert refused.code == 2
    assert refused.message.count("--empty-rows") == 1
    needs_all = run("enhance", "survey.csv", *LABELS, "--method", "GLLE", "-o", "d.csv").message
    assert "--empty-rows drop)" in needs_all  # GLLE supports no unknown labels
    plain = run("fit", "survey.csv", *LABELS, "--empty-rows", "drop", "-o", "m.ldl")
    assert "2 rows without a positive label are left out" in plain.message
    assert "use --zeros less" in plain.message
    assert " of 6 labels positive on average" in plain.message
    less = run(
        "fit", "survey.csv", *LABELS, "--empty-rows", "drop", "--zeros", "less", "-o", "less.ldl"
    )
    assert less.code == 0, less.err
    assert "--zeros" not in less.message
    found = {}
    for model in ("m.ldl", "less.ldl"):
        run("enhance", "survey.csv", "-m", model, "--empty-rows", "drop", "-o", "recovered.csv")
        run("predict", "new.csv", "-m", model, "-o", "predicted.csv")
        found[model] = pd.read_csv("recovered.csv")[REASONS], pd.read_csv("predicted.csv")[REASONS]
    rows = np.setdiff1d(np.arange(840), [40, 41])
    none, less = (intersection(D[rows], recovered) for recovered, _ in found.values())
    assert less > none + 0.05
    np.testing.assert_array_equal(found["less.ldl"][1], found["m.ldl"][1])


@pytest.mark.parametrize("method", ["VoteLDL", "FromClassifier", "UniformLE+SABFGS", "LP"])
def test_empty_rows_can_be_dropped_for_every_method(method, files, run):
    small = files[0][:60]
    small.to_csv("small.csv", index=False)
    arguments = ("small.csv", *LABELS, "--method", method, "--holdout", "0", "-o", "m.ldl")
    assert run("fit", *arguments).code == 2
    found = run("fit", *arguments, "--empty-rows", "drop", "--json")
    assert json.loads(found.out)["data"]["rows"] == 58


def test_empty_rows_can_be_unknown_and_are_predicted(files, run):
    files[0][:80].to_csv("small.csv", index=False)
    settings = ("--set", "beta=1", "--set", "gamma=1")
    run(
        "fit",
        "small.csv",
        *LABELS,
        *settings,
        "--empty-rows",
        "unknown",
        "--holdout",
        "0",
        "-o",
        "m.ldl",
    )
    done = run(
        "enhance", "small.csv", "-m", "m.ldl", "--empty-rows", "unknown", "-o", "degrees.csv"
    )
    assert done.code == 0, done.err
    degrees = pd.read_csv("degrees.csv")[REASONS].to_numpy()
    assert len(degrees) == 80
    assert (degrees[40:42] > 0).all()
    assert (
        "must be one of error, drop, unknown"
        in run("fit", "small.csv", *LABELS, "--empty-rows", "no", "-o", "m.ldl").message
    )


@pytest.mark.parametrize("mark", ["1", "x", "X", "✓", "☑", "yes", None])
def test_marks_are_positive_and_blank_cells_may_be_0(mark, files, run):
    table = files[0][:60].drop([40, 41])
    marked = table.copy()
    for number, name in enumerate(REASONS):
        text = mark or (name.upper() if number % 2 else "a text of the option")
        marked[name] = np.where(table[name] == 1, text, "")
    marked.to_csv("marked.csv", index=False)
    found = run(
        "fit",
        "marked.csv",
        *LABELS,
        "--blank",
        "0",
        "--method",
        "UniformLE+SABFGS",
        "-o",
        "m.ldl",
        "--json",
    )
    means = json.loads(found.out)["data"]["label_means"]
    assert list(means.values()) == pytest.approx(table[REASONS].mean().tolist())
    unknown = run(
        "fit", "marked.csv", *LABELS, "--set", "beta=1", "--set", "gamma=1", "-o", "m.ldl"
    )
    assert "--blank 0" in unknown.message
    assert run("fit", "marked.csv", *LABELS, "--blank", "1", "-o", "m.ldl").code == 2


def test_methods_that_assume_another_meaning_of_zero_are_rejected(files, run):
    arguments = ("fit", "survey.csv", *LABELS, "--empty-rows", "drop", "-o", "m.ldl", "--method")
    assert "LP" in run(*arguments, "UniformLE", "--zeros", "less").message
    assert "DLDL" in run(*arguments, "LP", "--zeros", "none").message
    assert "none, less" in run(*arguments, "DLDL", "--zeros", "some").message.replace(
        "'", ""
    ).replace("{less, none}", "none, less")


def test_selected_hyperparameters_are_printed_with_details_if_verbose(files, run):
    files[0][50:130].to_csv("small.csv", index=False)
    brief = run("fit", "small.csv", *LABELS, "-o", "m.ldl").out
    assert "Hyperparameters selected by the 0/1 labels: beta=" in brief
    assert "default" not in brief
    assert "times the default" in run("fit", "small.csv", *LABELS, "--verbose", "-o", "m.ldl").out
    assert "times the default" in run("inspect", "m.ldl").out


def test_import_passes_the_meaning_of_zero_to_fit(workspace, run):
    pd.DataFrame(
        {"item": [1, 1, 2], "rater": ["a", "b", "a"], "label": ["sky", "sea", "sea"]}
    ).to_csv("long.csv", index=False)
    arguments = (
        "import",
        "long.csv",
        "--item",
        "item",
        "--rater",
        "rater",
        "--label",
        "label",
        "--as",
        "labels",
        "-o",
        "t.csv",
    )
    assert "--zeros less -o model.ldl" in run(*arguments, "--zeros", "less").out
    without_option = run(*arguments)
    assert "--zeros" not in without_option.out
    assert "a 0 is interpreted as degree 0" in without_option.message


def presence(seed: int, n: int = 460, c: int = 5) -> pd.DataFrame:
    """Independent labels: each depends on the features separately, as a classifier assumes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    Y = (rng.random((n, c)) < expit(X @ rng.normal(size=(6, c)) * 1.2 - 0.6)).astype(int)
    return labelled(X, Y)


def thresholds() -> pd.DataFrame:
    """Labels that compare one score with five thresholds."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 4))
    score = X[:, 0] + 0.5 * rng.normal(size=500)
    return labelled(X, (score[:, None] > [-1.0, -0.5, 0.0, 0.5, 1.0]).astype(int))


def labelled(X: np.ndarray, Y: np.ndarray) -> pd.DataFrame:
    rows = Y.any(axis=1)
    columns = {f"x{j}": X[rows, j] for j in range(X.shape[1])} | {
        f"y{j}": Y[rows, j] for j in range(Y.shape[1])
    }
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    "make",
    [lambda: presence(0), lambda: presence(5, c=8), thresholds],
    ids=["five", "eight", "steps"],
)
def test_better_classifier_is_stated_without_advice_by_all_commands(
    make, tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    table, labels = make(), ("-l", "y*")
    table.to_csv("all.csv", index=False)
    finding = "A plain classifier predicts 0/1 labels better"
    fitted = run("fit", "all.csv", *labels, "-o", "m.ldl")
    assert finding in fitted.message
    assert "does not show that its degrees are better" in fitted.message
    assert "--method FromClassifier" not in fitted.message
    assert "no better than a baseline" in fitted.out
    run("inspect", "m.ldl", "--html", "card.html")
    card = (tmp_path / "card.html").read_text(encoding="utf-8")
    assert card.count(finding) == 1  # a warning; the conclusion is about the features
    assert "no better</span>" in card
    # On the rows that the model was fitted on, the model and the classifier have the same
    # advantage.
    assert finding in run("evaluate", "all.csv", "-m", "m.ldl").message
    methods = ("--methods", "DLDL,FromClassifier votes", "--repeats", "2", "-o", "run")
    compared = run("compare-methods", "all.csv", *labels, *methods).out
    ranking = next(line for line in compared.splitlines() if line.startswith("Highest"))
    assert ranking.index("FromClassifier votes") < ranking.index("DLDL")
    assert "does not show better degrees" in ranking
    assert "--method FromClassifier" not in compared
    plan = (tmp_path / "run" / "plan.toml").read_text(
        encoding="utf-8"
    )  # its description heads the report
    assert "does not show better degrees" in plan


def test_compare_methods_selects_suitable_methods(files, run, tmp_path):
    files[0][50:170].to_csv("small.csv", index=False)
    out = run(
        "compare-methods", "small.csv", *LABELS, "--zeros", "less", "--repeats", "1", "-o", "run"
    ).out
    for name in ("DLDL", "VoteLDL", "FromClassifier votes", "LP + SABFGS"):
        assert name in out
    assert "UniformLE + SABFGS" not in out
    refused = run("compare-methods", "survey.csv", *LABELS, "-o", "other")
    assert refused.code == 2
    assert refused.err.count("no label is 1") == 1
