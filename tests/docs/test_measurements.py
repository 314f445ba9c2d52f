"""What the page "Which method should I use?" advises must be what its stored measurements say."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from statistics import mean

import pytest

import ldlearn

FILE = Path(__file__).resolve().parents[2] / "docs" / "measurements" / "which_method.json"
if not FILE.is_file():
    pytest.skip("the documents are not part of this copy of the project", allow_module_level=True)
STORED = json.loads(FILE.read_text(encoding="utf-8"))
NONE = ("tweets, every vote", "budgets, every share")
LESS = ("tweets, main labels", "budgets, main labels", "artificial, main labels")
CLOSE = 0.01


def scores(task: str, cases: tuple[str, ...], *, on_truth: bool = False) -> dict[str, float]:
    """Mean intersection over the cases, by method."""
    found: dict[str, dict[str, float]] = {}
    for row in STORED["scores"]:
        if row["task"] == task and row["on_truth"] == on_truth and row["dataset"] in cases:
            found.setdefault(row["method"], {})[row["dataset"]] = row["mean"]["intersection"]
    return {method: mean(values.values()) for method, values in found.items() if len(values) == len(cases)}


@pytest.mark.parametrize("task", ["recovery", "prediction"])
def test_dldl_is_best_where_zero_means_none_but_for_votes_on_the_budgets(task):
    tweets, budgets = (scores(task, (case,)) for case in NONE)
    assert tweets["DLDL"] == max(tweets.values())
    assert {name for name in budgets if budgets[name] > budgets["DLDL"]} == {"VoteLDL", "FromClassifier (votes)"}
    assert max(budgets.values()) - budgets["DLDL"] < 0.02


def test_it_is_measured_with_the_methods_of_this_version():
    assert STORED["version"] == ldlearn.__version__
    assert {"VoteLDL", "FromClassifier"} < set(scores("recovery", NONE))


def test_lp_has_the_best_mean_where_zero_means_less():
    recovery = scores("recovery", LESS)
    assert max(recovery, key=recovery.__getitem__) == "LP"
    assert recovery["LP"] > recovery["DLDL"]


def test_on_single_sets_others_are_better_than_lp():
    assert all(scores("recovery", (case,))["LP"] < max(scores("recovery", (case,)).values()) for case in LESS)


def test_softmax_regression_is_near_the_best_learner():
    found = scores("prediction", NONE, on_truth=True)
    assert found["SABFGS on truth"] >= max(found.values()) - CLOSE


def test_curves_pay_on_the_artificial_set():
    found = scores("prediction", LESS[2:], on_truth=True)
    assert min(found[f"{name} on truth"] for name in ("LDLForest", "AABP", "AAKNN")) > found["SABFGS on truth"]


def test_nothing_failed():
    assert STORED["failed"] == []


def test_the_pages_quote_the_study_of_selection():
    path = FILE.parents[2] / "research" / "selection_without_truth.py"
    spec = importlib.util.spec_from_file_location("selection_without_truth", path)
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    stored = json.loads(FILE.with_name("selection_without_truth.json").read_text(encoding="utf-8"))
    pages = "".join(
        (FILE.parents[1] / page).read_text(encoding="utf-8")
        for page in ("research/defaults.md", "research/without_truth.md")
    )
    assert [line for line in study.report(stored) if line not in pages] == []
