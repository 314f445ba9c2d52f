"""The leaderboard: plans, stored records and generated advice."""

import lzma
from dataclasses import replace

import pytest

from ldlearn.evaluation import Record
from ldlearn.experiments.cells import draw_grid_indices

plans = pytest.importorskip(
    "benchmarks.leaderboard.plans", reason="benchmarks are not part of this copy of the project"
)
page = pytest.importorskip("benchmarks.leaderboard.page")


@pytest.fixture
def few_repeats(monkeypatch):
    for name, setting in plans.SETTINGS.items():
        monkeypatch.setitem(
            plans.SETTINGS, name, replace(setting, repeats=1 if setting.tuned else 2)
        )


def small_plans(*methods):
    return plans.leaderboard_plans(["vader_tweets", "uk_budget_shares"], methods, rows=60)


def test_adding_a_method_runs_only_its_cells(few_repeats, tmp_path):
    kept = tmp_path / "records"
    n_first = plans.run_plans(small_plans("UniformLE", "LP", "MeanLDL"), tmp_path / "work", kept)
    # Two data sets; three cases of UniformLE alone, with both learners, of LP alone and with
    # SABFGS, and MeanLDL.
    assert n_first == 2 * (3 * (5 * 2 + 2 * 3) + 2)
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    # On another machine or after `make clean`, the work folder does not exist.
    n_added = plans.run_plans(
        small_plans("UniformLE", "LP", "MeanLDL", "AAKNN"), tmp_path / "other", kept
    )
    assert n_added == 2 * (2 + 1)
    after = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {
        "degrees-defaults.jsonl.xz",
        "degrees-truth.jsonl.xz",
    }
    old = lzma.decompress(before["degrees-defaults.jsonl.xz"])
    assert lzma.decompress(after["degrees-defaults.jsonl.xz"]).startswith(old)
    assert plans.run_plans(
        small_plans("UniformLE", "LP"), tmp_path / "third", kept, again=["LP"]
    ) == 2 * 3 * (4 + 4)
    first, tables = page.write_pages(kept, tmp_path)
    assert "| AAKNN |" in tables.read_text(encoding="utf-8")
    assert "*UniformLE + MeanLDL*" in tables.read_text(encoding="utf-8")
    text = first.read_text(encoding="utf-8")
    assert text.count("- Recovery (degrees of the labelled rows): ") == 3
    assert text.count("- Prediction (degrees of new rows): ") == 4
    assert "nan" not in text + tables.read_text(encoding="utf-8")


def test_every_tuned_method_has_the_same_number_of_points():
    for (_, setting), plan in plans.leaderboard_plans(["vader_tweets"]).items():
        n_points = {method.name: len(draw_grid_indices(method, None, 0)) for method in plan.methods}
        assert set(n_points.values()) == {plans.POINTS if plans.SETTINGS[setting].tuned else 1}, (
            n_points
        )


def test_methods_of_counts_are_in_no_board():
    """Its labels are 0/1 or degrees."""
    for plan in plans.leaderboard_plans(["vader_tweets"]).values():
        used = {step.__name__ for method in plan.methods for step in method.steps}
        assert not used & {"CountLDL", "VoteShares"}


def test_zeros_less_only_for_labels_of_the_largest_degrees():
    found = {
        case: {
            method.params.get("zeros")
            for method in plan.methods
            if method.estimator in ("DLDL", "VoteLDL")
        }
        for (case, setting), plan in plans.leaderboard_plans(["vader_tweets"]).items()
        if setting == "defaults"
    }
    assert found == {
        "above": {"none"},
        "votes": {"none", "less"},
        "largest": {"less"},
        "degrees": set(),
    }


SIZES = {"n_train": 180, "n_validation": 60, "n_test": 60, "n_features": 3, "n_labels": 3}


def board(**scores):
    """A board of methods with given scores by data set and repeat; one method is "baseline"."""
    records = [
        Record(
            cell=f"{method} {dataset} {repeat}",
            dataset=str(dataset),
            method=method,
            repeat=repeat,
            status="ok",
            kind="joint",
            is_baseline=method == "baseline",
            sizes=SIZES,
            prediction={"intersection": value},
        )
        for method, by_dataset in scores.items()
        for dataset, values in enumerate(by_dataset)
        for repeat, value in enumerate(values)
    ]
    return page.Board.of(records, "prediction")


STEADY = [[0.5, 0.51, 0.52]] * 3
HIGH, LOW = [0.8, 0.81, 0.82], [0.4, 0.41, 0.42]


@pytest.mark.parametrize(
    ("scores", "beginning", "further"),
    [
        (
            [HIGH] * 3,
            "use **A** (average rank 1.0 of 2 methods, 1 to 1 on",
            "3 of 3 data sets, significantly on 3",
        ),
        (
            [[0.52, 0.51, 0.51]] * 3,
            "use **baseline**, a baseline (average rank 2.0 of 2 methods",
            "before it (A) is",
        ),
        ([LOW] * 3, "use **baseline**, a baseline (average rank 1.0", "No method ranks before it."),
        (
            [HIGH, HIGH, LOW],
            "use **A** (average rank 1.3",
            "significantly on 2, and significantly worse on 1",
        ),
    ],
)
def test_advice_follows_from_the_records(scores, beginning, further):
    advice = page.advise(board(A=scores, baseline=STEADY))
    assert advice.startswith(beginning)
    assert further in advice


def test_method_that_is_not_clearly_better_is_not_recommended():
    noisy = [[0.9, 0.5, 0.85]] * 3
    assert page.choose(board(A=noisy, B=[[0.6, 0.61, 0.62]] * 3, baseline=STEADY)) == "B"


def test_advice_without_baseline():
    assert "no baseline to compare" in page.advise(board(A=STEADY, B=[[0.4, 0.4, 0.4]] * 3))


def test_gains_are_differences_on_common_repeats():
    default, tuned = board(A=[[0.5, 0.6, 0.9]]), board(A=[[0.6, 0.62]])
    assert default.gain(tuned, "A") == pytest.approx((0.1 + 0.02) / 2)
    assert default.gain(tuned, "B") is None
    assert default.gain(None, "A") is None


def test_data_sets_with_constant_labels_are_ignored():
    two = Record(
        cell="b",
        dataset="set",
        method="A",
        repeat=0,
        status="ok",
        sizes=SIZES,
        constant_labels=["x"],
    )
    two = replace(two, prediction={"intersection": 0.5})
    one = replace(
        two,
        cell="a",
        dataset="flat",
        constant_labels=["x", "y", "z"],
        prediction={"intersection": 0.9},
    )
    found = page.Board.of([one, two], "prediction")
    assert found.uninformative == ["flat"]
    assert found.table.datasets == ("set",)
    assert found.mean("A") == 0.5


@pytest.mark.parametrize("name", ["README.md", "tables.md"])
def test_pages_match_the_records(name, tmp_path):
    page.write_pages(folder=tmp_path)
    assert (tmp_path / name).read_text(encoding="utf-8") == (page.FOLDER / name).read_text(
        encoding="utf-8"
    )
