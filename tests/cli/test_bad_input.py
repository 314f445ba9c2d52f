"""Invalid input: exit code 2 and a one-line message that names the problem and its location."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from example_tables import make_table

FIT = ("fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key", "-o", "out.ldl")
PREDICT = ("predict", "data.csv", "-m", "model.ldl", "-o", "out.csv")


def write(text: str | bytes, name: str = "data.csv") -> None:
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def cell(row: int, column: str, value: str):
    """Return a function that writes the table with one changed cell; rows are numbered as in a
    spreadsheet."""

    def write_bad_table() -> None:
        table = make_table().astype(object)
        table.loc[row - 2, column] = value
        table.to_csv("data.csv", index=False)

    return write_bad_table


def frame(change):
    """Return a function that writes the table after ``change``."""

    def write_bad_table() -> None:
        change(make_table()).to_csv("data.csv", index=False)

    return write_bad_table


def text(change):
    """Return a function that writes the text of the table after ``change``."""

    def write_bad_table() -> None:
        write(change(make_table().to_csv(index=False)))

    return write_bad_table


UNCHANGED = lambda: None  # noqa: E731

# name: (function that writes the bad table, command, key terms of the message)
TABLES = {
    "no such file": (lambda: os.remove("data.csv"), FIT, ["data.csv: there is no such file"]),
    "a folder": (lambda: None, ("fit", ".", *FIT[2:]), [".: it is a folder, not a table"]),
    "a folder named .csv": (
        lambda: os.mkdir("d.csv"),
        ("fit", "d.csv", *FIT[2:]),
        ["d.csv: it is a folder"],
    ),
    "unknown suffix": (
        UNCHANGED,
        ("fit", "data.xls", *FIT[2:]),
        ["data.xls", "'.xls' is not supported", ".parquet"],
    ),
    "empty file": (lambda: write(""), FIT, ["data.csv: the file is empty", "header"]),
    "header only": (frame(lambda t: t[:0]), FIT, ["data.csv: the table has no rows"]),
    "delimiter of two": (
        UNCHANGED,
        (*FIT, "--delimiter", ";;"),
        ["delimiter must be one character"],
    ),
    "no such encoding": (UNCHANGED, (*FIT, "--encoding", "klingon"), ["no encoding 'klingon'"]),
    "wrong delimiter": (
        UNCHANGED,
        (*FIT, "--delimiter", ";"),
        ["labels: there is no column 'sky'"],
    ),
    "a row too long": (
        text(lambda s: s.replace("\nr6,", "\nr6,9,")),
        FIT,
        ["data.csv, row 8: it has 8 values for 7 columns"],
    ),
    "not UTF-8": (
        text(lambda s: s.encode().replace(b"inland", b"inl\xe4nd", 1)),
        (*FIT, "--encoding", "utf-8"),
        ["data.csv: its text is not utf-8", "encoding"],
    ),
    "header not UTF-8": (
        text(lambda s: b"h\xe4" + s.encode()),
        (*FIT, "--encoding", "utf-8"),
        ["data.csv: the header is not utf-8"],
    ),
    "binary": (lambda: write(b"PK\x03\x04" + bytes(50)), FIT, ["data.csv: it is not a text table"]),
    "two columns of one name": (
        text(lambda s: s.replace("wet", "height", 1)),
        FIT,
        ["'height'", "two columns"],
    ),
    "no such label": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "sky,montain", "-o", "o.ldl"),
        ["data.csv: labels: there is no column 'montain'", "did you mean mountain?"],
    ),
    "label twice": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "sky,sky", "-o", "o.ldl"),
        ["labels", "'sky' twice"],
    ),
    "label ignored": (UNCHANGED, (*FIT, "--ignore", "sky"), ["labels and ignore both name 'sky'"]),
    "no label": (
        UNCHANGED,
        ("fit", "data.csv", "-l", ",", "-o", "o.ldl"),
        ["labels names no column"],
    ),
    "prefix of nothing": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "emo_*", "-o", "o.ldl"),
        ["begins with 'emo_'"],
    ),
    "range backwards": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "sea:sky", "-o", "o.ldl"),
        ["'sea:sky'", "comes after the last"],
    ),
    "feature is a label": (
        UNCHANGED,
        (*FIT, "--features", "wet,sea"),
        ["labels and features both name 'sea'"],
    ),
    "id is a label": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "sky,sea", "--id", "sea", "-o", "o.ldl"),
        ["'sea'", "id"],
    ),
    "no feature left": (
        UNCHANGED,
        ("fit", "data.csv", "-l", "0:6", "-o", "o.ldl"),
        ["no column is left"],
    ),
    "categorical no feature": (
        UNCHANGED,
        (*FIT, "--categorical", "key"),
        ["categorical names 'key'"],
    ),
    "label 2": (cell(4, "sea", "2"), FIT, ["data.csv, row 4, column 'sea': 2 is neither 0 nor 1"]),
    "label missing": (
        cell(9, "sky", ""),
        (*FIT, "--method", "GLLE+SABFGS"),
        ["data.csv, row 9, column 'sky': the label is missing"],
    ),
    "label a word": (
        cell(2, "sky", "maybe"),
        FIT,
        ["column 'sky': 'maybe' is not a finite number; write 0 or 1"],
    ),
    "no positive label": (
        frame(lambda t: t.assign(sky=0, sea=0)),
        FIT,
        ["data.csv: rows 2,", "more): no label is 1", "--empty-rows"],
    ),
    "degrees for DLDL": (
        frame(lambda t: t.assign(sky=0.5, mountain=0.25, sea=0.25)),
        FIT,
        ["row 2", "0.5 is neither", "SABFGS"],
    ),
    "degrees off": (
        frame(lambda t: t.assign(sky=0.5, mountain=0.25, sea=0.5)),
        (*FIT, "--method", "SABFGS"),
        ["data.csv: rows 2, 3", "sum to 1, first 1.25"],
    ),
    "negative degree": (
        frame(lambda t: t.assign(sky=1.5, mountain=-0.5, sea=0.0)),
        (*FIT, "--method", "SABFGS"),
        ["rows 2, 3", "negative degree, first -0.5 of label 'mountain'"],
    ),
    "one label": (
        lambda: None,
        ("fit", "data.csv", "-l", "sky", "--id", "key", "-o", "o.ldl"),
        ["'sky'", "name at least two"],
    ),
    "infinite feature": (
        cell(6, "height", "inf"),
        FIT,
        ["data.csv, row 6, column 'height': inf is not a finite"],
    ),
    "number too large": (
        cell(6, "height", "1e308"),
        FIT,
        ["data.csv, row 6, column 'height': 1e+308 is too large to compute with"],
    ),
    "identifier as feature": (
        frame(lambda t: pd.concat([t] * 14).assign(key=[f"r{i}" for i in range(14 * len(t))])),
        ("fit", "data.csv", "-l", "sky,mountain,sea", "-o", "o.ldl"),
        ["column 'key': 1,120 different texts"],
    ),
}

USAGE = {
    "no output": (("fit", "data.csv", "-l", "sky"), ["Missing option", "--output"]),
    "no such command": (("fitt", "data.csv"), ["No such command 'fitt'", "fit"]),
    "no such option": ((*FIT, "--metod", "DLDL"), ["No such option", "--metod", "--method"]),
    "no such method": ((*FIT, "--method", "DLD"), ["no method 'DLD'", "did you mean DLDL"]),
    "three steps": ((*FIT, "--method", "UniformLE+SABFGS+DLDL"), ["ENHANCER+LEARNER"]),
    "no such parameter": (
        (*FIT, "--set", "alhpa=1"),
        ["DLDL has no parameter 'alhpa'", "did you mean alpha"],
    ),
    "parameter of wrong type": (
        (*FIT, "--set", "alpha=big"),
        ["'alpha' parameter of DLDL must be a float"],
    ),
    "parameter out of range": (
        (*FIT, "--set", "alpha=-1"),
        ["'alpha'", "must be a float in the range [0.0, inf)"],
    ),
    "parameter without value": (
        (*FIT, "--set", "alpha"),
        ["'alpha' is not of the form name=value"],
    ),
    "two identifiers": ((*FIT, "--id", "sea,key"), ["id must be one column"]),
    "cluster with held-out rows": (
        (*FIT, "--scheduler", "tcp://none:1", "--holdout", "0.3"),
        ["no holdout"],
    ),
    "cluster with a decimal mark": (
        (*FIT, "--scheduler", "tcp://none:1", "--decimal", ","),
        ["no decimal"],
    ),
    "holdout of 3": ((*FIT, "--holdout", "3"), ["holdout must be at least 0 and below 1, got 3"]),
    "model to a table": (
        ("fit", "data.csv", "-l", "sky", "-o", "data.csv"),
        ["ends in .ldl, 'data.csv' does not"],
    ),
    "no such folder": (
        ("fit", "data.csv", "-l", "sky", "-o", "no/m.ldl"),
        ["the folder 'no' does not exist"],
    ),
    "no such format": ((*FIT, "--from", "xml"), ["'xml' is not supported; supported are csv, "]),
    "json beside a table": (
        ("predict", "data.csv", "-m", "model.ldl", "--json"),
        ["both table and JSON"],
    ),
    "enhance without anything": (("enhance", "data.csv"), ["give either a model, or labels"]),
    "enhance by a learner": (
        ("enhance", "data.csv", "-l", "sky", "--method", "SABFGS"),
        ["learns from degrees"],
    ),
    "no such metric": (
        ("evaluate", "data.csv", "-m", "model.ldl", "--metrics", "cosin"),
        ["'cosin'", "cosine"],
    ),
    "output of unknown kind": ((*PREDICT[:-1], "out.xls"), ["out.xls", "'.xls' is not supported"]),
    "standard output by another name": (
        (*PREDICT[:-1], "/dev/stdout"),
        ["/dev/stdout: standard output is written '-'"],
    ),
    "output a folder": ((*PREDICT[:-1], "."), [".: it is a folder"]),
    "no such data set": (("datasets", "show", "vader"), ["no data set 'vader'", "vader_tweets"]),
    "demo in a file": (("demo", "--folder", "data.csv"), ["data.csv: File exists"]),
    "ending and format differ": (
        (*PREDICT, "--to", "jsonl"),
        ["out.csv: its ending is .csv, but jsonl was"],
    ),
    "ending and format of the data differ": (
        (*FIT, "--from", "parquet"),
        ["data.csv: its ending is .csv, but parq"],
    ),
    "a protocol as method": (
        (*FIT, "--method", "FromDistributions"),
        ["FromDistributions is the protocol"],
    ),
    "method beside a model": (
        ("enhance", "data.csv", "-m", "model.ldl", "--method", "GLLE", "-o", "out.csv"),
        ["method has no meaning"],
    ),
    "features beside a model": (
        ("enhance", "data.csv", "-m", "model.ldl", "--features", "wet", "-o", "out.csv"),
        ["features has no meaning"],
    ),
    "setting beside a model": (
        ("enhance", "data.csv", "-m", "model.ldl", "--set", "alpha=1", "-o", "out.csv"),
        ["set has no meaning"],
    ),
    "raw texts of another format": (
        ("predict", "data.csv", "-m", "model.ldl", "-o", "o.jsonl", "--raw"),
        ["raw is for CSV, TSV and standard output"],
    ),
    "export to csv": (("export", "model.ldl", "-o", "m.csv"), ["ends in .onnx"]),
}

PREDICTING = {
    "missing column": (
        frame(lambda t: t.drop(columns="wet")),
        PREDICT,
        ["data.csv: 1 feature column is missing: 'wet'"],
    ),
    "renamed column": (
        frame(lambda t: t.rename(columns={"wet": "Wett"})),
        PREDICT,
        ["missing: 'wet'; is 'Wett' the column 'wet'?"],
    ),
    "texts for numbers": (
        frame(lambda t: t.assign(wet="moist")),
        PREDICT,
        ["data.csv, row 2, column 'wet': 80 of 80 values do not have the type", "('moist')"],
    ),
    "infinite number": (
        cell(12, "wet", "-inf"),
        PREDICT,
        ["row 12, column 'wet': -inf is not a finite number"],
    ),
    "no such id": (lambda: None, (*PREDICT, "--id", "name"), ["1 id column is missing: 'name'"]),
    "id is a label": (
        lambda: None,
        (*PREDICT, "--id", "sea"),
        ["'sea' is a label and cannot be the id"],
    ),
    "enhance without labels": (
        frame(lambda t: t.drop(columns="sea")),
        ("enhance", "data.csv", "-m", "model.ldl"),
        ["label column", "'sea'"],
    ),
    "enhance degrees": (
        frame(lambda t: t.assign(sea=0.5)),
        ("enhance", "data.csv", "-m", "model.ldl"),
        ["row 2, column 'sea'", "0.5"],
    ),
    "enhance an empty row": (
        frame(lambda t: t.assign(sky=0, sea=0, mountain=0)),
        ("enhance", "data.csv", "-m", "model.ldl"),
        ["no label"],
    ),
    "evaluate votes": (
        frame(lambda t: t.assign(sea=7)),
        ("evaluate", "data.csv", "-m", "model.ldl"),
        ["data.csv: rows 2, 3", "sum"],
    ),
    "metric of degrees on labels": (
        UNCHANGED,
        ("evaluate", "data.csv", "-m", "model.ldl", "--metrics", "cosine"),
        ["cosine needs true degrees"],
    ),
    "evaluate nothing": (
        frame(lambda t: t[:0]),
        ("evaluate", "data.csv", "-m", "model.ldl"),
        ["has no rows"],
    ),
    "a row too short": (text(lambda s: s + "r99,1\n"), PREDICT, ["row 82: it has 2 values"]),
}


def check_error(result, key_terms: list[str]) -> None:
    assert result.code == 2, result.err
    for key_term in key_terms:
        assert key_term in result.message
    assert "Traceback" not in result.err
    assert result.out == ""
    if not result.err.startswith("Usage: "):
        assert result.err.startswith("ldlearn: ")
        assert result.err.count("\n") == 1, "one sentence, one line"


def files() -> set[str]:
    return set(os.listdir("."))


@pytest.mark.parametrize("case", TABLES)
def test_bad_tables_are_rejected_with_file_row_and_column(case, workspace, run):
    write_bad_table, arguments, key_terms = TABLES[case]
    write_bad_table()
    before = files()
    check_error(run(*arguments), key_terms)
    assert files() == before


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage_is_rejected(case, model, run):
    arguments, key_terms = USAGE[case]
    before = files()
    check_error(run(*arguments), key_terms)
    assert files() == before


@pytest.mark.parametrize("case", PREDICTING)
def test_tables_that_do_not_match_the_model_are_rejected(case, model, run):
    write_bad_table, arguments, key_terms = PREDICTING[case]
    write_bad_table()
    before = files()
    check_error(run(*arguments), key_terms)
    assert files() == before


def test_failed_prediction_keeps_the_earlier_output(model, run):
    write("old\n", "out.csv")
    cell(80, "wet", "inf")()
    check_error(run(*PREDICT), ["row 80, column 'wet'"])
    with open("out.csv") as file:
        assert file.read() == "old\n"


JSON_LINES = {
    "no JSON": (b'{"height": 1}\n{"height": \n', ["row 2: the line is no JSON"]),
    "no object": (b"[1, 2]\n", ["row 1: the line is no JSON object"]),
    "nested": (
        b'{"height": [1], "sky": 1, "mountain": 0}\n',
        ["row 1, column 'height': a list is no feature"],
    ),
    "nothing": (b"\n\n", ["the file is empty"]),
    "too deep": (b'{"height": ' + b"[" * 100_000 + b"\n", ["row 1: the line is no JSON"]),
}


@pytest.mark.parametrize("case", JSON_LINES)
def test_bad_json_lines_are_rejected(case, workspace, run):
    content, key_terms = JSON_LINES[case]
    result = run("fit", "-", "--from", "jsonl", "-l", "sky,mountain", "-o", "m.ldl", stdin=content)
    check_error(result, ["standard input", *key_terms])


def test_bad_parquet_and_npz_are_rejected(workspace, run):
    write(b"PAR1 nonsense PAR1", "data.parquet")
    arguments = ("-l", "sky", "-o", "m.ldl")
    check_error(
        run("fit", "data.parquet", *arguments), ["data.parquet: it cannot be read as Parquet"]
    )
    pd.DataFrame({"raw": [b"1", b"2"], "sky": 1, "sea": 1}).to_parquet("bytes.parquet")
    check_error(
        run("fit", "bytes.parquet", *arguments), ["bytes.parquet, column 'raw': its type is binary"]
    )
    write(b"PK nonsense", "data.npz")
    check_error(run("fit", "data.npz", *arguments), ["data.npz: it cannot be read as NPZ"])
    np.savez("uneven.npz", X=np.zeros((3, 2)), sky=np.ones(4))
    check_error(
        run("fit", "uneven.npz", *arguments),
        ["uneven.npz: the array 'X' has 3 rows, but 'sky' has 4"],
    )
    np.savez("objects.npz", X=np.array([[{}]], dtype=object))
    check_error(run("fit", "objects.npz", *arguments), ["objects.npz", "pickles"])


def test_bad_model_files_are_rejected(model, model_bytes, run):
    bad_files = {
        "missing": (None, ["cannot be read (no such file", "bad.ldl"]),
        "truncated": (model_bytes[: len(model_bytes) // 2], ["truncated, or was changed"]),
        "text": (b"hello", ["no ldlearn model file"]),
        "a pickle": (pickle.dumps({"a": 1}), ["no ldlearn model file"]),
        "newer": (model_bytes.replace(b"model 1", b"model 2", 1), ["newer ldlearn", "upgrade"]),
        "tampered": (model_bytes.replace(b'"mountain"', b'"mountaim"'), ["damaged"]),
    }
    for case, (blob, key_terms) in bad_files.items():
        if blob is not None:
            write(blob, "bad.ldl")
        check_error(run("predict", "data.csv", "-m", "bad.ldl"), ["bad.ldl", *key_terms])
        check_error(run("inspect", "bad.ldl"), key_terms)
        assert case
