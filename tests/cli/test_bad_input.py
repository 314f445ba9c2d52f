"""What people get wrong, each with its exit code and a sentence that says what and where."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from practice_tables import content_of, edited, make_table

FIT = ("fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key", "-o", "out.ldl")
PREDICT = ("predict", "data.csv", "-m", "model.ldl", "-o", "out.csv")


def write(text: str | bytes, name: str = "data.csv") -> None:
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def cell(row: int, column: str, value: str):
    """A way to spoil the table: put a text into one cell, rows counted from 1."""

    def spoil() -> None:
        table = make_table().astype(object)
        table.loc[row - 1, column] = value
        table.to_csv("data.csv", index=False)

    return spoil


def frame(change):
    """A way to spoil the table: write what ``change`` makes of it."""

    def spoil() -> None:
        change(make_table()).to_csv("data.csv", index=False)

    return spoil


def text(change):
    """A way to spoil the table: change its text."""

    def spoil() -> None:
        write(change(make_table().to_csv(index=False)))

    return spoil


NOTHING = lambda: None  # noqa: E731

# name: (what is spoilt, the command, exit code, what the message must say)
TABLES = {
    "no such file": (lambda: os.remove("data.csv"), FIT, 1, ["data.csv: there is no such file"]),
    "a folder": (lambda: None, ("fit", ".", *FIT[2:]), 1, ["the suffix '.' is none of .csv, .tsv"]),
    "a folder named .csv": (lambda: os.mkdir("d.csv"), ("fit", "d.csv", *FIT[2:]), 1, ["d.csv: it is a folder"]),
    "unknown suffix": (NOTHING, ("fit", "data.xls", *FIT[2:]), 1, ["data.xls", "'.xls' is none of", ".parquet"]),
    "empty file": (lambda: write(""), FIT, 1, ["data.csv: the file is empty", "header"]),
    "header only": (frame(lambda t: t[:0]), FIT, 1, ["data.csv: the table has no rows"]),
    "semicolons": (text(lambda s: s.replace(",", ";")), FIT, 1, ["separated by ';', not by ','"]),
    "a row too long": (
        text(lambda s: s.replace("\nr6,", "\nr6,9,")), FIT, 1, ["data.csv, row 7: it has 8 values for 7 columns"],
    ),
    "not UTF-8": (
        text(lambda s: s.encode().replace(b"inland", b"inl\xe4nd", 1)), FIT, 1, ["data.csv, row", "'place'", "UTF-8"],
    ),
    "header not UTF-8": (text(lambda s: b"\xff\xfe" + s.encode()), FIT, 1, ["data.csv: the header is not UTF-8"]),
    "binary": (lambda: write(b"PK\x03\x04" + bytes(50)), FIT, 1, ["data.csv: it is no text table"]),
    "two columns of one name": (text(lambda s: s.replace("wet", "height", 1)), FIT, 1, ["'height'", "two columns"]),
    "column without a name": (text(lambda s: s.replace("wet", "", 1)), FIT, 1, ["column 3 has no name"]),
    "no such label": (NOTHING, ("fit", "data.csv", "-l", "sky,montain", "-o", "o.ldl"), 1,
        ["data.csv: --labels: there is no column 'montain'", "did you mean mountain?"]),
    "label twice": (NOTHING, ("fit", "data.csv", "-l", "sky,sky", "-o", "o.ldl"), 1, ["--labels", "'sky' twice"]),
    "no label": (NOTHING, ("fit", "data.csv", "-l", ",", "-o", "o.ldl"), 1, ["--labels names no column"]),
    "prefix of nothing": (NOTHING, ("fit", "data.csv", "-l", "emo_*", "-o", "o.ldl"), 1, ["begins with 'emo_'"]),
    "range backwards": (
        NOTHING, ("fit", "data.csv", "-l", "sea:sky", "-o", "o.ldl"), 1, ["'sea:sky'", "comes after the last"],
    ),
    "feature is a label": (NOTHING, (*FIT, "--features", "wet,sea"), 1, ["'sea' is a feature and a label"]),
    "id is a label": (NOTHING, ("fit", "data.csv", "-l", "sky,sea", "--id", "sea", "-o", "o.ldl"), 1, ["'sea'", "id"]),
    "no feature left": (NOTHING, ("fit", "data.csv", "-l", "1:7", "-o", "o.ldl"), 1, ["no column is left"]),
    "categorical no feature": (NOTHING, (*FIT, "--categorical", "key"), 1, ["--categorical names 'key'"]),
    "label 2": (cell(4, "sea", "2"), FIT, 1, ["data.csv, row 4, column 'sea': 2 is neither 0 nor 1"]),
    "label missing": (cell(9, "sky", ""), FIT, 1, ["data.csv, row 9, column 'sky': the label is missing"]),
    "label a word": (cell(2, "sky", "maybe"), FIT, 1, ["row 2, column 'sky': 'maybe' is not a finite number"]),
    "no positive label": (
        frame(lambda t: t.assign(sky=0, sea=0)), FIT, 1, ["data.csv: rows 1,", "more): no label is 1", "empty_rows"],
    ),
    "degrees for DLDL": (
        frame(lambda t: t.assign(sky=0.5, mountain=0.25, sea=0.25)), FIT, 1, ["row 1", "0.5 is neither", "SABFGS"],
    ),
    "degrees off": (
        frame(lambda t: t.assign(sky=0.5, mountain=0.25, sea=0.5)), (*FIT, "--method", "SABFGS"), 1,
        ["data.csv, row 1", "sum to 1.25"],
    ),
    "negative degree": (
        frame(lambda t: t.assign(sky=1.5, mountain=-0.5, sea=0.0)), (*FIT, "--method", "SABFGS"), 1,
        ["row 1, column 'mountain'", "-0.5 is negative"],
    ),
    "infinite feature": (cell(6, "height", "inf"), FIT, 1, ["data.csv, row 6, column 'height': inf is not a finite"]),
    "identifier as feature": (
        frame(lambda t: pd.concat([t] * 14).assign(key=[f"r{i}" for i in range(14 * len(t))])),
        ("fit", "data.csv", "-l", "sky,mountain,sea", "-o", "o.ldl"), 1, ["column 'key': 1,120 different texts"],
    ),
}  # fmt: skip

USAGE = {
    "no output": (("fit", "data.csv", "-l", "sky"), 2, ["Missing option", "--output"]),
    "no such command": (("fitt", "data.csv"), 2, ["No such command 'fitt'", "fit"]),
    "no such option": ((*FIT, "--metod", "DLDL"), 2, ["No such option", "--metod", "--method"]),
    "no such method": ((*FIT, "--method", "DLD"), 2, ["no method 'DLD'", "did you mean DLDL"]),
    "three steps": ((*FIT, "--method", "UniformLE+SABFGS+DLDL"), 2, ["ENHANCER+LEARNER"]),
    "no such parameter": ((*FIT, "--set", "alhpa=1"), 2, ["DLDL has no parameter 'alhpa'", "did you mean alpha"]),
    "parameter of wrong type": ((*FIT, "--set", "alpha=big"), 2, ["'alpha' parameter of DLDL must be a float"]),
    "parameter out of range": ((*FIT, "--set", "alpha=-1"), 2, ["'alpha'", "must be a float in the range [0.0, inf)"]),
    "parameter without value": ((*FIT, "--set", "alpha"), 2, ["'alpha' is not of the form name=value"]),
    "holdout of 3": ((*FIT, "--holdout", "3"), 2, ["3 is not between 0 and 1"]),
    "model to a table": (("fit", "data.csv", "-l", "sky", "-o", "data.csv"), 2, ["ends in .ldl, 'data.csv' does not"]),
    "no such folder": (("fit", "data.csv", "-l", "sky", "-o", "no/m.ldl"), 1, ["the folder 'no' does not exist"]),
    "no such format": ((*FIT, "--from", "xml"), 2, ["'xml' is none of csv, tsv"]),
    "json beside a table": (("predict", "data.csv", "-m", "model.ldl", "--json"), 2, ["both the table and the JSON"]),
    "enhance without anything": (("enhance", "data.csv"), 2, ["give either --model, or --labels"]),
    "enhance by a learner": (("enhance", "data.csv", "-l", "sky", "--method", "SABFGS"), 2, ["learns from degrees"]),
    "no such metric": (("evaluate", "data.csv", "-m", "model.ldl", "--metrics", "cosin"), 2, ["'cosin'", "cosine"]),
    "output of unknown kind": ((*PREDICT[:-1], "out.xls"), 1, ["out.xls", "'.xls' is none of"]),
    "output a folder": ((*PREDICT[:-1], "."), 1, [".: it is a folder"]),
    "no such data set": (("datasets", "show", "vader"), 1, ["no data set 'vader'", "vader_tweets"]),
    "demo in a file": (("demo", "--folder", "data.csv"), 1, ["data.csv: it is not a folder"]),
    "export to csv": (("export", "model.ldl", "-o", "m.csv"), 2, ["ends in .onnx"]),
}

PREDICTING = {
    "missing column": (
        frame(lambda t: t.drop(columns="wet")), PREDICT, ["data.csv: 1 feature column is missing: 'wet'"],
    ),
    "renamed column": (
        frame(lambda t: t.rename(columns={"wet": "Wett"})), PREDICT, ["missing: 'wet'; is 'Wett' the column 'wet'?"],
    ),
    "text for a number": (
        cell(12, "wet", "moist"), PREDICT, ["data.csv, row 12, column 'wet': 'moist' is not a number"],
    ),
    "infinite number": (cell(12, "wet", "-inf"), PREDICT, ["row 12, column 'wet': -inf is not a finite number"]),
    "no such id": (lambda: None, (*PREDICT, "--id", "name"), ["1 id column is missing: 'name'"]),
    "id is a label": (lambda: None, (*PREDICT, "--id", "sea"), ["'sea' is a label and cannot be the id"]),
    "enhance without labels": (
        frame(lambda t: t.drop(columns="sea")), ("enhance", "data.csv", "-m", "model.ldl"), ["label column", "'sea'"],
    ),
    "enhance degrees": (
        frame(lambda t: t.assign(sea=0.5)), ("enhance", "data.csv", "-m", "model.ldl"), ["row 1, column 'sea'", "0.5"],
    ),
    "enhance an empty row": (
        frame(lambda t: t.assign(sky=0, sea=0, mountain=0)), ("enhance", "data.csv", "-m", "model.ldl"), ["no label"],
    ),
    "evaluate votes": (
        frame(lambda t: t.assign(sea=7)), ("evaluate", "data.csv", "-m", "model.ldl"), ["data.csv, row 1", "sum to"],
    ),
    "evaluate nothing": (frame(lambda t: t[:0]), ("evaluate", "data.csv", "-m", "model.ldl"), ["has no rows"]),
    "a row too short": (text(lambda s: s + "r99,1\n"), PREDICT, ["row 81: it has 2 values"]),
}  # fmt: skip


def check(result, code: int, parts: list[str]) -> None:
    assert result.code == code, result.err
    for part in parts:
        assert part in result.message
    assert "Traceback" not in result.err
    assert result.out == ""
    if code == 1:
        assert result.err.startswith("ldlearn: ")
        assert result.err.count("\n") == 1, "one sentence, one line"


def files() -> set[str]:
    return set(os.listdir("."))


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_refused_by_name_row_and_column(case, here, run):
    spoil, words, code, parts = TABLES[case]
    spoil()
    before = files()
    check(run(*words), code, parts)
    assert files() == before


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_refused(case, model, run):
    words, code, parts = USAGE[case]
    before = files()
    check(run(*words), code, parts)
    assert files() == before


@pytest.mark.parametrize("case", PREDICTING)
def test_a_table_that_does_not_fit_the_model_is_refused(case, model, run):
    spoil, words, parts = PREDICTING[case]
    spoil()
    before = files()
    check(run(*words), 1, parts)
    assert files() == before


def test_a_failure_half_way_leaves_the_earlier_output(model, run):
    write("old\n", "out.csv")
    cell(80, "wet", "moist")()
    check(run(*PREDICT), 1, ["row 80, column 'wet'"])
    with open("out.csv") as file:
        assert file.read() == "old\n"


JSON_LINES = {
    "no JSON": (b'{"height": 1}\n{"height": \n', ["row 2: the line is no JSON"]),
    "no object": (b"[1, 2]\n", ["row 1: the line is no JSON object"]),
    "nested": (b'{"height": [1], "sky": 1, "mountain": 0}\n', ["row 1, column 'height': a list is neither"]),
    "nothing": (b"\n\n", ["the file is empty"]),
    "too deep": (b'{"height": ' + b"[" * 100_000 + b"\n", ["row 1: the line is no JSON"]),
}


@pytest.mark.parametrize("case", JSON_LINES)
def test_bad_json_lines(case, here, run):
    content, parts = JSON_LINES[case]
    result = run("fit", "-", "--from", "jsonl", "-l", "sky,mountain", "-o", "m.ldl", stdin=content)
    check(result, 1, ["standard input", *parts])


def test_bad_parquet_and_npz(here, run):
    write(b"PAR1 nonsense PAR1", "data.parquet")
    words = ("-l", "sky", "-o", "m.ldl")
    check(run("fit", "data.parquet", *words), 1, ["data.parquet: it cannot be read as Parquet"])
    pd.DataFrame({"when": pd.date_range("2020", periods=3), "sky": 1, "sea": 1}).to_parquet("dates.parquet")
    check(run("fit", "dates.parquet", *words), 1, ["dates.parquet, column 'when': its type is timestamp"])
    write(b"PK nonsense", "data.npz")
    check(run("fit", "data.npz", *words), 1, ["data.npz: it cannot be read as NPZ"])
    np.savez("uneven.npz", X=np.zeros((3, 2)), sky=np.ones(4))
    check(run("fit", "uneven.npz", *words), 1, ["uneven.npz: the array 'X' has 3 rows, but 'sky' has 4"])
    np.savez("objects.npz", X=np.array([[{}]], dtype=object))
    check(run("fit", "objects.npz", *words), 1, ["objects.npz", "pickles"])


def test_bad_model_files(model, model_bytes, run):
    content = content_of(model_bytes)
    spoilt = {
        "missing": (None, ["No such file", "bad.ldl"]),
        "truncated": (model_bytes[: len(model_bytes) // 2], ["truncated or damaged"]),
        "text": (b"hello", ["no ldlearn model file"]),
        "a pickle": (pickle.dumps({"a": 1}), ["a pickle", "never loaded"]),
        "newer": (edited(model_bytes, content | {"version": 2}), ["newer ldlearn", "upgrade"]),
        "tampered": (model_bytes.replace(b'"mountain"', b'"mountaim"'), ["damaged"]),
    }
    for case, (blob, parts) in spoilt.items():
        if blob is not None:
            write(blob, "bad.ldl")
        check(run("predict", "data.csv", "-m", "bad.ldl"), 1, ["bad.ldl", *parts])
        check(run("inspect", "bad.ldl"), 1, parts)
        assert case
