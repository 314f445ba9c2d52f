"""The commands import and fit on a table with one annotation per row."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def long(tmp_path, monkeypatch):
    """A table of 40 photos with four annotations each; the rater bot clicks at random."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = []
    for photo in range(40):
        x = rng.normal()
        for who in ("ann", "ben", "cleo", "bot"):
            is_sky = rng.random() < (0.5 if who == "bot" else 1 / (1 + np.exp(-6 * x)))
            rows.append((f"p{photo}", who, "sky" if is_sky else "sea", round(x, 3)))
    pd.DataFrame(rows, columns=["photo", "who", "tag", "light"]).to_csv("long.csv", index=False)
    return "long.csv"


ROLES = ("--item", "photo", "--rater", "who", "--label", "tag")


def test_import_prints_agreement_and_writes_raters(run, long):
    done = run("import", long, *ROLES, "--raters", "raters.csv", "-o", "votes.csv")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "40 rows, 2 labels: votes.csv"
    assert lines[1].split() == ["Label", "alpha", "low", "high"]
    assert lines[4].split() == ["Rater", "annotations", "agreement", "chance", "low", "high"]
    assert lines[5].split()[:4] == ["bot", "at", "chance", "40"]
    assert lines[-4].startswith("Krippendorff's alpha 0.")
    assert "1 of 4 raters: 'bot'" in lines[-3]
    assert lines[-2] == "--exclude-raters chance leaves them out."
    raters = pd.read_csv("raters.csv")
    assert raters["rater"].tolist()[0] == "bot"
    assert raters["verdict"].tolist() == ["at chance", *["above chance"] * 3]

    done = run("import", long, *ROLES, "--exclude-raters", "chance", "-o", "votes.csv", "--json")
    assert "left out: 40 annotations of the raters 'bot'" in done.message
    facts = json.loads(done.out)
    alpha, low, high = facts["alpha"]
    assert low < alpha < high
    assert facts["raters_at_chance"] == []
    assert {rater["rater"] for rater in facts["raters"]} == {"ann", "ben", "cleo"}
    assert facts["raters"][0]["low"] < facts["raters"][0]["agreement"]
    assert facts["alpha_by_label"]["sky"] == pytest.approx(facts["alpha_by_label"]["sea"])
    assert pd.read_csv("votes.csv")[["sea", "sky"]].to_numpy().sum() == 120

    done = run("import", long, *ROLES)
    assert "note: Krippendorff's alpha" in done.err
    assert "Krippendorff" not in done.out


def test_fit_counts_annotations_itself(run, long):
    options = ("--method", "SABFGS", "-o", "m.ldl")
    done = run("fit", long, *ROLES, "--exclude-raters", "bot", *options)
    assert done.code == 0, done.err
    assert "SABFGS fitted on 40 rows, 1 feature, 2 labels: m.ldl" in done.out
    assert "Krippendorff's alpha 0." in done.out
    assert "left out: 40 annotations of the raters 'bot'" in done.message
    assert run("import", long, *ROLES, "--exclude-raters", "bot", "-o", "v.csv").code == 0
    labels = ("--labels", "sea:sky", "--id", "photo", "--kind", "votes")
    assert run("fit", "v.csv", *labels, "--method", "SABFGS", "-o", "two.ldl").code == 0
    for model in ("m", "two"):
        assert run("predict", "v.csv", "-m", f"{model}.ldl", "-o", f"{model}.csv").code == 0
    pd.testing.assert_frame_equal(pd.read_csv("m.csv"), pd.read_csv("two.csv"))
    assert run("evaluate", "v.csv", "-m", "m.ldl", "--kind", "votes").code == 0
    assert "long.csv" in run("inspect", "m.ldl").out
    done = run("fit", long, *ROLES, "--method", "SABFGS", "-o", "json.ldl", "--json")
    assert json.loads(done.out)["raters_at_chance"] == ["bot"]
    # Every annotation is a row with features.
    assert run("predict", long, "-m", "m.ldl", "-o", "all.csv").out == "160 rows: all.csv\n"
    message = run("evaluate", long, "-m", "m.ldl").message
    assert "`ldlearn import` makes them of a table with one annotation per row" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--labels: name the label columns; for a table with one annotation per row, name"),
        (("--label", "tag"), "--label: it is for a table with one annotation per row; name its"),
        (("--exclude-raters", "bot"), "--exclude-raters: it is for a table with one annotation"),
        ((*ROLES, "--labels", "tag"), "--labels: it has no meaning beside --item"),
        ((*ROLES, "--id", "photo"), "--id: it has no meaning beside --item"),
        ((*ROLES, "--kind", "mixed"), "--kind: it has no meaning beside --item"),
        ((*ROLES, "--scheduler", "tcp://x:1"), "--scheduler: it has no meaning beside --item"),
        (("--item", "foto"), "item: there is no column 'foto'"),
        ((*ROLES, "--exclude-raters", "bott"), "there is no rater 'bott'; did you mean bot"),
    ],
)
def test_options_that_do_not_fit_together(run, long, options, message):
    done = run("fit", long, *options, "-o", "m.ldl")
    assert done.code == 2
    assert message in done.message


def test_the_table_of_raters_is_a_file_of_its_own(run, long):
    for place, message in {
        "-": "name a file of its own",
        "votes.csv": "name a file of its own",
        long: "same file as the input",
        "raters.json": "can only be read",
    }.items():
        done = run("import", long, *ROLES, "--raters", place, "-o", "votes.csv")
        assert (done.code, message in done.message) == (2, True)


def test_unknown_numbers_are_left_blank(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("item,rater,label\na,x,sky\na,y,sea\na,z,sky\n")
    done = run("import", "few.csv", "-o", "votes.csv")
    assert "nan" not in done.out
    assert "\nKrippendorff's alpha 0.000.\n" in done.out
