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


def test_degrees_are_used_as_truth(run, files, no_rendering):
    found = run(
        "compare-methods",
        "degrees.csv",
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
    assert load_plan("out/plan.toml").protocol.rule == "threshold"
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


VOTES = ("compare-methods", "votes.csv", "-l", "sky:sun", "--id", "photo", "--kind", "votes")


def test_methods_of_counts_are_compared_by_votes_that_they_have_not_seen(run, files, no_rendering):
    found = run(*VOTES, "--repeats", 2, "--log")
    assert found.code == 0, found.err
    records = read_records("votes-methods")
    assert [record.status for record in records] == ["ok"] * 14
    methods = ["CountLDL", "VoteShares", "VoteShares Laplace", "SABFGS", "MLPLDL", "MeanLDL"]
    assert [record.method for record in records[:7]] == [*methods, "DLDL"]
    assert records[2].params == {"smoothing": 1.0}
    assert records[6].params == {"zeros": "less"}
    # Of five votes, methods see three.
    assert records[0].votes == {"seen": 3.0, "recovery": 2.0, "prediction": 5.0}
    columns = ("Cross-entropy ↓", "Intersection ↑", "Kullback-Leibler ↓")
    places = list(map(found.out.index, columns))
    assert places == sorted(places)
    assert "DLDL (0/1 labels)" in found.out
    assert "Compared with the shares of held-out votes of training rows, on average 2" in found.out
    assert "Compared with the shares of votes of test rows, on average 5 per row" in found.out
    rankings = [line for line in found.out.splitlines() if line.startswith("Lowest")]
    for rows, ranking in zip(("training", "test"), rankings, strict=True):
        assert f"Lowest cross-entropy on {rows} rows: " in ranking
        assert " against " in ranking
        assert " ± " in ranking
    plan = load_plan("votes-methods/plan.toml")
    assert (plan.protocol.rule, plan.protocol.k) == ("counts", None)
    again = run("run", "votes-methods/plan.toml", "-o", "votes-methods", "--log")
    assert "0 computed now" in again.out


def test_any_method_can_be_compared_on_counts(run, files, no_rendering):
    names = "SABFGS,GLLE+MeanLDL,VoteShares Laplace,DLDL"
    found = run(*VOTES, "--repeats", 1, "--methods", names, "--zeros", "none", "--log")
    assert found.code == 0, found.err
    records = {record.method: record for record in read_records("votes-methods")}
    assert records.keys() == {"SABFGS", "GLLE + MeanLDL", "GLLE", "VoteShares Laplace", "DLDL"}
    assert records["SABFGS"].trained_on == "votes"
    assert records["GLLE"].recovery["cross_entropy"] > 0
    assert records["DLDL"].params == {"zeros": "none"}


def test_counts_of_one_vote_are_not_taken_for_labels(run, files, no_rendering, table):
    single = table.copy()
    single[LABELS] = np.eye(3, dtype=int)[np.arange(60) % 3]
    single.to_csv("votes.csv", index=False)
    found = run(*VOTES, "--repeats", 1, "--methods", "VoteShares,MeanLDL", "--log")
    assert found.code == 0, found.err
    assert "on training rows" not in found.out
    assert "Lowest cross-entropy on test rows: " in found.out
    assert {record.trained_on for record in read_records("votes-methods")} == {"votes"}


def test_rows_without_votes_can_be_left_out(run, files, no_rendering, table):
    empty = table.copy()
    empty.loc[7, LABELS] = 0
    empty.to_csv("votes.csv", index=False)
    options = ("--repeats", 1, "--methods", "VoteShares,MeanLDL")
    refused = run(*VOTES, *options)
    assert refused.code == 2
    assert "row 9: degrees that sum to 0" in refused.message
    assert "--empty-rows drop" in refused.message
    found = run(*VOTES, *options, "--empty-rows", "drop")
    assert found.code == 0, found.err
    sizes = read_records("votes-methods")[0].sizes
    assert sizes["n_train"] + sizes["n_validation"] + sizes["n_test"] == 59


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
        (["logical.csv", "-l", "sky:sun", "--kind", "mixed"], "kind must be one of auto, votes"),
        (["logical.csv", "-l", "sky:sun", "--zeros", "more"], "zeros must be one of none, less"),
        (
            ["degrees.csv", "-l", "sky,sea", "--id", "photo", "--kind", "votes"],
            "'degrees', rows 2, 3, 4, 5, 6 (and 50 more): the votes are not whole numbers",
        ),
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
