"""The advice of the page "Which method should I use?" matches the leaderboard."""

import importlib.util
import json
from pathlib import Path

import pytest

page = pytest.importorskip(
    "benchmarks.leaderboard.page", reason="benchmarks are not part of this copy of the project"
)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def boards():
    return page.read_boards()


def names(board, *, baselines=True):
    return [method.name for method in board.table.ranked if baselines or not method.is_baseline]


def test_where_zero_means_none_joint_models_and_a_classifier_of_votes_are_first(boards):
    for task in ("prediction", "recovery"):
        board = boards["above", "defaults", task]
        assert names(board)[0] == "StackedLDL"
        assert set(names(board)[:4]) == {"StackedLDL", "VoteLDL", "DLDL", "FromClassifier (votes)"}
    seconds = {name: board.seconds[name].mean for name in ("StackedLDL", "VoteLDL", "DLDL")}
    assert seconds["StackedLDL"] > 3 * max(seconds["VoteLDL"], seconds["DLDL"])


def test_where_zero_means_less_no_method_is_clearly_better(boards):
    for task in ("prediction", "recovery"):
        board = boards["largest", "defaults", task]
        assert set(names(board, baselines=False)[:2]) == {"DLDL", "StackedLDL"}
        assert page.choose(board) in board.table.baselines


def test_best_learners_are_named(boards):
    board = boards["degrees", "defaults", "prediction"]
    assert names(board)[0] == "MLPLDL"
    assert set(names(board)[1:3]) == {"LSELDL", "LDLForest"}
    # Selecting the penalty of the linear model pays.
    assert board.gain(boards["degrees", "truth", "prediction"], "SABFGS") > 0.005


def test_pages_quote_the_study_of_selection():
    path = ROOT / "research" / "selection_without_truth.py"
    spec = importlib.util.spec_from_file_location("selection_without_truth", path)
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    quoting = [ROOT / "docs" / "research" / name for name in ("defaults.md", "without_truth.md")]
    text = "".join(each.read_text(encoding="utf-8") for each in quoting)
    assert [line for line in study.report(stored) if line not in text] == []
