import json

import numpy as np
import pandas as pd
import pytest

from ldlearn.cli.main import main
from ldlearn.metrics import METRICS, score_all


def ldlearn(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_info:
        main([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return exit_info.value.code or 0, found.out, found.err


@pytest.fixture
def pair(tmp_path):
    rng = np.random.default_rng(0)
    names = ["joy", "fear", "anger"]
    frames = [pd.DataFrame(rng.dirichlet(np.ones(3), size=20), columns=names) for _ in range(2)]
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for frame, path in zip(frames, paths, strict=True):
        frame.to_csv(path, index=False)
    return frames, paths


def test_compare_prints_all_metrics(pair, capsys):
    (D, P), paths = pair
    code, out, _ = ldlearn(capsys, "compare", *paths, "--json")
    found = json.loads(out)
    assert (code, found["rows"], found["labels"]) == (0, 20, ["joy", "fear", "anger"])
    expected = score_all(D.to_numpy(), P.to_numpy())
    assert found["scores"] == pytest.approx(expected)
    code, out, _ = ldlearn(capsys, "compare", *paths)
    assert code == 0
    assert f"{expected['chebyshev']:.6g}" in out
    assert "20 rows in their order, 3 labels" in out


def test_files_of_two_formats_are_matched_by_row_order(pair, capsys, tmp_path):
    (_, P), (truth, other) = pair
    P.to_parquet(tmp_path / "b.parquet")
    other.write_text(f"A title\n{other.read_text()}")
    expected = json.loads(ldlearn(capsys, "compare", truth, other, "--json")[1])
    code, out, err = ldlearn(capsys, "compare", truth, tmp_path / "b.parquet", "--json")
    assert (code, json.loads(out)["scores"]) == (0, pytest.approx(expected["scores"])), err


def test_columns_are_matched_by_name(pair, capsys, tmp_path):
    (D, _), paths = pair
    D[["anger", "joy", "fear"]].to_csv(paths[1], index=False)
    _, out, _ = ldlearn(capsys, "compare", *paths, "--metrics", "chebyshev", "--json")
    assert json.loads(out)["scores"] == pytest.approx({"chebyshev": 0.0}, abs=1e-12)


def test_labels_option_selects_columns(pair, capsys):
    (D, _), paths = pair
    D.add_prefix("e_").assign(id=range(20)).to_csv(paths[0], index=False)
    D.add_prefix("e_").to_csv(paths[1], index=False)
    code, _, err = ldlearn(capsys, "compare", *paths)
    assert code == 2
    assert "choose the labels" in err
    code, out, _ = ldlearn(capsys, "compare", *paths, "--labels", "e_*", "--json")
    assert json.loads(out)["labels"] == ["e_joy", "e_fear", "e_anger"]
    code, _, err = ldlearn(capsys, "compare", *paths, "--labels", "f_*")
    assert code == 2
    assert "no column begins with 'f_'" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n0.5,0.6\n0.5,0.5\n", ": row 2: degrees that do not sum to 1, first 1.1"),
        (
            "x,y\n0.5,0.5\n1.5,-0.5\n",
            ": row 3: negative degree, first -0.5 of label 'y'; degrees of a row",
        ),
        ("x,y\n0.5,0.5\n", "has 2 rows but"),
        ("x,z\n0.5,0.5\n0.5,0.5\n", "is only in"),
    ],
)
def test_incompatible_files_are_rejected(tmp_path, capsys, content, message):
    (tmp_path / "a.csv").write_text("x,y\n0.5,0.5\n0.1,0.9\n")
    (tmp_path / "b.csv").write_text(content)
    code, out, err = ldlearn(capsys, "compare", tmp_path / "a.csv", tmp_path / "b.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_rows_are_matched_by_id(pair, capsys):
    (D, P), paths = pair
    keys = [f"r{i}" for i in range(20)]
    D.assign(key=keys).to_csv(paths[0], index=False)
    P.assign(key=keys).sample(frac=1, random_state=0).to_csv(paths[1], index=False)
    expected = score_all(D.to_numpy(), P.to_numpy())
    for arguments in (("--id", "key"), ("-l", "joy:anger", "--id", "key")):
        code, out, err = ldlearn(capsys, "compare", *paths, *arguments, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["id"] == "key"
        assert json.loads(out)["scores"] == pytest.approx(expected)
    assert "20 rows matched by key" in ldlearn(capsys, "compare", *paths, "--id", "key")[1]


@pytest.mark.parametrize(
    "keys", [range(20), [f"{i:04d}" for i in range(20)], [f"r{i}" for i in range(20)]], ids=str
)
def test_identifier_columns_must_be_named(pair, capsys, keys):
    (D, P), paths = pair
    D.assign(key=keys).to_csv(paths[0], index=False)
    P.assign(key=keys)[::-1].to_csv(paths[1], index=False)
    code, _, err = ldlearn(capsys, "compare", *paths)
    assert code == 2
    assert "name the id" in err
    _, out, _ = ldlearn(capsys, "compare", *paths, "--id", "key", "--json")
    assert json.loads(out)["scores"] == pytest.approx(score_all(D.to_numpy(), P.to_numpy()))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["r0", "r1", "r1"], "b.csv: Column 'key': the identifier 'r1' is not unique: rows 3, 4."),
        (["r0", "r1", "r9"], "b.csv lacks rows that "),
        (["r0", "r1", ""], "b.csv, row 4, column 'key': the id is missing"),
    ],
)
def test_identifiers_that_do_not_match_are_rejected(keys, message, tmp_path, capsys):
    for name, ids in (("a.csv", ["r0", "r1", "r2"]), ("b.csv", keys)):
        pd.DataFrame({"key": ids, "x": 0.5, "y": 0.5}).to_csv(tmp_path / name, index=False)
    code, _, err = ldlearn(capsys, "compare", tmp_path / "a.csv", tmp_path / "b.csv", "--id", "key")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_output_of_predict_can_be_compared(model, run):
    run("predict", "data.csv", "-m", model, "-o", "out.csv")
    pd.read_csv("out.csv").sample(frac=1, random_state=1).to_csv("shuffled.csv", index=False)
    result = run(
        "compare",
        "out.csv",
        "shuffled.csv",
        "--id",
        "key",
        "--metrics",
        "chebyshev,intersection",
        "--json",
    )
    assert json.loads(result.out)["scores"] == pytest.approx(
        {"chebyshev": 0.0, "intersection": 1.0}
    )


def test_invalid_options_are_rejected(pair, capsys):
    _, paths = pair
    assert ldlearn(capsys, "compare", *paths, "--convention", "mine")[0] == 2
    assert ldlearn(capsys, "compare", *paths, "--metrics", "chebychev")[0] == 2
    assert ldlearn(capsys, "compare", paths[0], "nowhere.csv")[0] == 2


def test_all_selects_every_metric(pair, capsys):
    code, out, err = ldlearn(capsys, "compare", *pair[1], "--metrics", "all", "--json")
    assert code == 0, err
    assert set(json.loads(out)["scores"]) == set(METRICS)
