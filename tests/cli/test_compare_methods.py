"""`ldlearn compare-methods`: plan, run and report for one table."""

import hashlib

import joblib
import numpy as np
import pandas as pd
import pytest

from ldlearn.evaluation import read_records
from ldlearn.experiments import load_plan, plan_for_table, run_plan
from ldlearn.reporting import write_report
from ldlearn.tables import ColumnOptions, PreparedTable, TableModel, prepare_table
from ldlearn.tables.columns import ColumnType

QUICK = "VoteLDL,PriorLE,UniformLE+MeanLDL"
LABELS = ["sky", "sea", "sun"]


@pytest.fixture(scope="module")
def table():
    """Photos with an identifier, numbers with missing values, a category, text, and votes of five
    raters."""
    rng = np.random.default_rng(0)
    n = 60
    height = rng.normal(size=n)
    shares = np.exp(np.column_stack([height, -height, np.zeros(n)]))
    votes = np.array([rng.multinomial(5, row / row.sum()) for row in shares])
    frame = pd.DataFrame({"photo": [f"p{i:03d}" for i in range(n)], "height": height})
    frame.loc[3, "height"] = np.nan
    frame["camera"] = rng.choice(["phone", "slr"], n)
    frame["caption"] = [
        f"a {'high' if h > 0 else 'low'} view of place number {i}" for i, h in enumerate(height)
    ]
    frame[LABELS] = votes
    return frame


@pytest.fixture
def files(table, tmp_path, monkeypatch):
    """Files of the table with 0/1 labels, votes and degrees; reports are written without figure
    files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(write_report.__kwdefaults__, "formats", ())
    logical, degrees, unknown = table.copy(), table.copy(), table.copy()
    logical[LABELS] = (table[LABELS] > 0).astype(int)
    degrees[LABELS] = table[LABELS].div(table[LABELS].sum(axis=1), axis=0)
    unknown[LABELS] = (
        logical[LABELS].astype(object).mask(np.random.default_rng(1).random((60, 3)) < 0.2)
    )
    for name, frame in {
        "logical": logical,
        "votes": table,
        "degrees": degrees,
        "unknown": unknown,
    }.items():
        frame.to_csv(f"{name}.csv", index=False)
    return tmp_path


@pytest.fixture
def no_rendering(monkeypatch):
    """Figures are created but not rendered, which halves the time."""
    monkeypatch.setattr(
        "ldlearn.reporting.report.inline_svg", lambda display, name: f"<svg id='{name}'></svg>"
    )


def test_compare_methods_on_logical_labels(run, files, monkeypatch):
    monkeypatch.setitem(write_report.__kwdefaults__, "formats", ("svg",))
    found = run(
        "compare-methods",
        "logical.csv",
        "-l",
        "sky:sun",
        "--id",
        "photo",
        "--methods",
        QUICK,
        "--repeats",
        2,
        "--log",
    )
    assert found.code == 0, found.err
    assert "note: categorical: 'camera'" in found.err
    assert "note: text: 'caption'" in found.err
    assert "logical has no true degrees" in found.out
    assert "Vote log-likelihood" in found.out
    assert "logical: agreement" in found.out
    page = (files / "logical-methods" / "report.html").read_text()
    assert "logical has 0/1 labels only" in page
    assert "does not show better degrees" in page
    assert list((files / "logical-methods" / "figures").glob("*.svg"))
    records = read_records("logical-methods")
    assert [record.status for record in records] == ["ok"] * 6
    assert {record.method for record in records} == {
        "VoteLDL",
        "PriorLE + SABFGS",
        "UniformLE + MeanLDL",
    }
    again = run("run", "logical-methods/plan.toml", "-o", "logical-methods", "--log")
    assert "0 computed now" in again.out


def test_methods_without_support_for_unknown_labels_are_left_out(run, files, no_rendering):
    arguments = [
        "compare-methods",
        "unknown.csv",
        "-l",
        "sky:sun",
        "--id",
        "photo",
        "--repeats",
        1,
        "--log",
    ]
    found = run(*arguments, "--methods", f"{QUICK},GLLE,LP+MeanLDL")
    assert found.code == 0, found.err
    left_out = "left out: GLLE + SABFGS, LP + MeanLDL."
    assert left_out in found.err
    records = read_records("unknown-methods")
    assert [record.status for record in records] == ["ok"] * 3
    assert all(np.isfinite(record.prediction["vote_likelihood"]) for record in records)
    assert (
        "0/1 labels, scored by the likelihood"
        in (files / "unknown-methods" / "plan.toml").read_text()
    )
    found = run(*arguments, "--methods", "GLLE")
    assert found.code == 2
    assert "GLLE + SABFGS cannot be fitted without them; DLDL can" in found.message


@pytest.mark.parametrize(("kind", "threshold"), [("votes", 0.0), ("degrees", 0.01)])
def test_votes_and_degrees_are_used_as_truth(run, files, no_rendering, kind, threshold):
    found = run(
        "compare-methods",
        f"{kind}.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "photo",
        "--methods",
        QUICK,
        "--repeats",
        1,
        "-q",
        "-o",
        "out",
    )
    assert (found.code, found.out) == (0, ""), found.err
    plan = load_plan("out/plan.toml")
    assert plan.protocol.threshold == threshold
    assert all(
        "intersection" in (record.prediction or record.recovery) for record in read_records("out")
    )
    recovered = {record.method for record in read_records("out") if record.recovery}
    assert recovered == {
        "VoteLDL",
        "PriorLE",
        "UniformLE",
    }  # recovery is compared with baselines, too
    assert "0/1 labels only" not in (files / "out" / "report.html").read_text()


def test_preprocessing_is_fitted_on_training_rows(files):
    table = prepare_table("logical.csv", "sky:sun", columns=ColumnOptions(id="photo"))
    assert isinstance(table, PreparedTable)
    assert table.types.select(ColumnType.TEXT) == ("caption",)
    train, rest = np.arange(20), np.arange(20, 60)
    ours, others = table.features(train, rest)
    height = table.frame["height"].to_numpy()[:20]
    filled = np.where(np.isnan(height), np.nanmedian(height), height)
    np.testing.assert_allclose(ours[:, 0], (filled - filled.mean()) / filled.std())
    assert abs(others[:, 0].mean()) > 1e-3
    moved = PreparedTable(
        **vars(table)
        | {
            "frame": table.frame.assign(
                height=table.frame["height"].where(table.frame.index <= 21, 1e6)
            )
        }
    )
    np.testing.assert_array_equal(moved.features(train, rest)[0], ours)


def test_column_options_are_those_of_fit(files):
    table = prepare_table("logical.csv", "sky:sun", columns=ColumnOptions(id="photo"))
    model = TableModel.fit(pd.read_csv("logical.csv"), LABELS, columns=ColumnOptions(id="photo"))
    every = np.arange(60)
    expected = model.transform(pd.read_csv("logical.csv"))
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    np.testing.assert_allclose(table.features(every)[0], expected)
    assert joblib.hash(table) == joblib.hash(
        prepare_table("logical.csv", "sky:sun", columns=ColumnOptions(id="photo"))
    )


def test_compare_methods_from_python(files, monkeypatch):
    summed, original = [], hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *given: summed.append(1) or original(*given))
    plan, table = plan_for_table(
        "logical.csv", "sky:sun", methods=["UniformLE+MeanLDL"], repeats=1, columns={"id": "photo"}
    )
    found = run_plan(plan, "run", loaded={"logical": table})
    assert found.records[0].is_ok
    assert found.records[0].sizes["n_labels"] == 3
    assert len(summed) == 1  # the file is read once for its checksum


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-", "-l", "sky"], "name a file"),
        (["logical.csv", "-l", "sky:sun"], "name the column as id"),
        (
            ["logical.csv", "-l", "sky:sun", "--id", "photo", "--methods", "SABFGS"],
            "learns from no 0/1 labels",
        ),
        (
            ["logical.csv", "-l", "sky:sun", "--id", "photo", "--methods", "GLL"],
            "did you mean GLLE",
        ),
        (["logical.csv", "-l", "skies", "--id", "photo"], "there is no column 'skies'"),
        (
            ["logical.csv", "-l", "sky:sun", "--id", "photo", "-o", "votes.csv"],
            "is a file; name a folder",
        ),
        (["none.csv", "-l", "a"], "there is no such file"),
        (
            ["logical.csv", "-l", "sky", "--id", "photo"],
            "'sky': one label has degree 1 in every row; name at least two",
        ),
    ],
)
def test_invalid_options_are_rejected(run, files, arguments, message):
    found = run("compare-methods", *arguments)
    assert found.code == 2
    assert message in found.message


def test_plan_sets_column_options(run, files):
    (files / "plan.toml").write_text(
        '[methods.PriorLE]\n[datasets.mine]\npath = "logical.csv"\npreprocess = true\n'
    )
    found = run("run", "plan.toml", "-o", "out")
    assert found.code == 2
    assert "datasets.mine.preprocess: only a file with named labels" in found.message


def test_default_metrics_of_a_plan_with_logical_labels(run, files):
    (files / "plan.toml").write_text(
        '[methods.VoteLDL]\n[protocol]\nrepeats = 1\n[selection]\nmode = "logical"\n'
        '[datasets.mine]\npath = "logical.csv"\nlabels = "sky:sun"\n'
        'id = "photo"\npreprocess = true\n'
    )
    found = run("run", "plan.toml", "-o", "out", "--log")
    assert found.code == 0, found.err
    assert "Vote log-likelihood" in found.out
    assert "Chebyshev" not in found.out
    assert "agreement\n" not in found.out  # of one method


def test_meaning_of_empty_cells_is_kept_in_the_plan(run, files, no_rendering, table):
    boxes = table[["photo", "height", *LABELS]].copy()
    boxes[LABELS] = boxes[LABELS].gt(0).astype(object).where(boxes[LABELS] > 0, "")
    boxes.to_csv("boxes.csv", index=False)
    options = [
        "boxes.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "photo",
        "--methods",
        "PriorLE",
        "--repeats",
        1,
        "-o",
        "tried",
    ]
    refused = run("compare-methods", *options)
    assert (refused.code, "all known labels are positive" in refused.message) == (2, True)
    done = run("compare-methods", *options, "--blank", "0")
    assert done.code == 0, done.err
    assert "blank = 0\n" in (files / "tried/plan.toml").read_text()
    assert "neither 0 nor nan" in run("compare-methods", *options, "--blank", "1").message


def test_interpretation_of_label_lists_is_reported(run, files, no_rendering, table):
    tags = ["|".join(name for name in LABELS if row[name]) for _, row in table.iterrows()]
    table[["photo", "height"]].assign(tags=tags).to_csv("tags.csv", index=False)
    options = ["tags.csv", "-l", "tags", "--id", "photo"]
    for arguments in (
        ["compare-methods", *options, "--methods", "PriorLE", "--repeats", 1],
        ["enhance", *options],
    ):
        found = run(
            *arguments,
            *(
                ["--method", "PriorLE", "-o", "out.csv"]
                if arguments[0] == "enhance"
                else ["-o", "tried"]
            ),
        )
        assert found.code == 0, found.err
        assert "holds lists of labels, separated by '|': 'sea', 'sky', 'sun'" in found.message
