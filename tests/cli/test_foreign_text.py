"""Texts of others: formulas in tables that are written, control characters on the terminal, names
of files."""

import csv
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from example_tables import make_table

from ldlearn.cli.console import quote_for_shell
from ldlearn.cli.main import main
from ldlearn.tables.annotations import read_annotations
from ldlearn.tables.formulas import escape_formula, unescape_formula

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HOSTILE = "bell\x07 \x1b[31mred\u202e"
FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    " =1",
    "\t=1",
    "＝1",
    "'=1",
    "-",
]
QUICK = ("--methods", "UniformLE+MeanLDL", "--repeats", "1")
LABELS = ["=sky", "@mountain", f"sea{HOSTILE}"]


@pytest.mark.parametrize("text", [*FORMULAS, "''@x"])
def test_formulas_are_guarded_and_read_back(text):
    assert escape_formula(text) == "'" + text
    assert unescape_formula(escape_formula(text)) == text


@pytest.mark.parametrize(
    "text", ["-1.5", "+3", " -2e-5 ", "-1.234,5", "-12 %", "a=b", "'quoted'", "", "'-5", "1-2"]
)
def test_other_texts_are_unchanged(text):
    """The apostrophe of '-5 is its own."""
    assert unescape_formula(escape_formula(text)) == text
    if text != "'-5":
        assert escape_formula(text) == text


@pytest.fixture
def hostile_table(workspace):
    """A table whose labels, identifiers and texts are hostile, under a name that is."""
    table = make_table()
    texts = [f"{FORMULAS[i % len(FORMULAS)]} {HOSTILE}" for i in range(len(table))]
    table = table.rename(columns=dict(zip(["sky", "mountain", "sea"], LABELS, strict=True)))
    table = table.assign(key=[f"@{i}{HOSTILE}" for i in range(len(table))], note=texts)
    name = f"data{HOSTILE}.csv"
    table.to_csv(name, index=False)
    return name


def labels_option():
    return ",".join(LABELS)


def read_rows(name):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t" if name.endswith(".tsv") else ","))


def test_commands_print_no_control_characters_and_write_no_formulas(hostile_table, run):
    data = hostile_table
    long_table = pd.DataFrame(
        {"item": [f"@{i % 9}\x1b" for i in range(40)], "rater": np.arange(40) // 9}
    )
    long_table["label"] = [
        LABELS[i % 3].replace("[", "") for i in range(40)
    ]  # brackets are refused
    long_table.to_csv("long.csv", index=False)
    fit = ("fit", data, "-l", labels_option(), "--id", "key", "--text", "note", "-o", "m.ldl")
    shown = ("-m", "m.ldl", "--keep", "note")
    commands = [
        fit,
        ("inspect", "m.ldl", "--html", "card.html"),
        ("inspect", "m.ldl", "--json"),
        ("predict", data, *shown),
        ("predict", data, *shown, "--to", "jsonl"),
        ("predict", data, *shown, "-o", f"p{HOSTILE}.csv"),
        ("enhance", data, *shown, "-o", "e.csv"),
        ("evaluate", data, "-m", "m.ldl"),
        ("explain", data, "-m", "m.ldl", "--row", "2"),
        ("ask", data, *shown),
        ("ask", data, *shown, "-o", "a.tsv"),
        ("browse", data, *shown, "-o", "page.html"),
        ("import", "long.csv"),
        ("import", "long.csv", "-o", "i.csv"),
        ("compare", "e.csv", f"p{HOSTILE}.csv", "--id", "key", "-l", "'@mountain"),
        ("fit", data, "-l", f"nothing{HOSTILE}", "-o", "m2.ldl"),
        ("compare-methods", data, "-l", labels_option(), *QUICK),
    ]
    for command in commands:
        result = run(*command)
        assert result.code in (0, 2), result.err
        assert "bug of ldlearn" not in result.err
        assert not FORBIDDEN.search(result.out.replace("\r\n", "\n")), command
        assert not FORBIDDEN.search(result.err), command
    written = [
        row for name in (f"p{HOSTILE}.csv", "e.csv", "i.csv", "a.tsv") for row in read_rows(name)
    ]
    assert any("'=sky" in row for row in written)
    for cell in (cell for row in written for cell in row):
        assert escape_formula(cell) == cell or cell.startswith("'"), cell


def test_output_can_be_used_as_input(hostile_table, run):
    """Names of labels and identifiers are the same when ldlearn reads what it has written."""
    assert (
        run("enhance", hostile_table, "-l", labels_option(), "--id", "key", "-o", "d.csv").code == 0
    )
    assert read_rows("d.csv")[0] == ["key", "'=sky", "'@mountain", LABELS[2]]
    assert run("compare", "d.csv", "d.csv", "--id", "key", "-l", labels_option()).code == 0
    fitted = run(
        "fit",
        "d.csv",
        "-l",
        labels_option(),
        "--features",
        "key",
        "--categorical",
        "key",
        "-o",
        "m.ldl",
    )
    assert "no column" not in fitted.err


def test_import_keeps_labels_of_formulas(workspace, run):
    pd.DataFrame({"item": ["a", "b"], "label": ["=1+1", "-x"]}).to_csv("long.csv", index=False)
    result = run("import", "long.csv", "-o", "out.csv")
    assert read_rows("out.csv")[0] == ["item", "'-x", "'=1+1"]
    assert result.code == 0
    run("import", "long.csv", "-o", "raw.csv", "--raw")
    assert read_rows("raw.csv")[0] == ["item", "-x", "=1+1"]
    assert read_annotations("long.csv").labels == ["-x", "=1+1"]


@pytest.mark.parametrize("text", [HOSTILE, "it's \\ \x1b", "plain", "two words", "\udcff.csv"])
def test_quoted_words_reach_the_command(text):
    printed = subprocess.run(
        ["bash", "-c", f"printf %s {quote_for_shell(text)}"], capture_output=True, check=True
    ).stdout
    assert printed == os.fsencode(text)
    assert not FORBIDDEN.search(quote_for_shell(text))


def test_file_names_that_are_no_utf8(model, run):
    name = os.fsdecode(b"caf\xe9")
    os.rename(model, f"{name}.ldl")
    os.rename("data.csv", f"{name}.csv")
    shown = ("-m", f"{name}.ldl")
    for command in [
        ("inspect", f"{name}.ldl", "--html", f"{name}.html"),
        ("browse", f"{name}.csv", *shown, "-o", "page.html"),
        ("predict", f"{name}.csv", *shown, "-o", f"{name}-out.csv"),
        ("ask", f"{name}.csv", *shown, "-o", "ask.csv"),
        ("evaluate", f"{name}.csv", *shown),
        ("inspect", f"{name}.ldl", "--json"),
        ("fit", f"{name}.csv", "-l", "sky,sea,mountain", "--id", "key", "-o", f"{name}2.ldl"),
        ("inspect", f"{name}2.ldl", "--html", "card.html"),
    ]:
        result = run(*command)
        assert "bug of ldlearn" not in result.err
        assert result.code == 0, result.err
    result = run("compare-methods", f"{name}.csv", "-l", "sky,sea,mountain", "--id", "key", *QUICK)
    assert (result.code, "no UTF-8; rename it" in result.err) == (2, True)


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_streams(stream, model, monkeypatch, capsys):
    """Python has None in the place of a stream that the caller has closed."""
    source = "-" if stream == "stdin" else "data.csv"
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(SystemExit) as ended:
        main(["predict", source, "-m", model, "-o", "out.csv"])
    monkeypatch.undo()
    assert ended.value.code == (2 if stream == "stdin" else 0)
    if stream == "stdin":
        assert "standard input: it is closed" in capsys.readouterr().err
