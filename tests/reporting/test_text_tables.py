"""Markdown and LaTeX tables: what is bold, shaded, escaped."""

import re

import pytest
from synthetic_records import DATASETS, METHODS, make_records

from ldlearn.evaluation import TextTable
from ldlearn.metrics import METRICS
from ldlearn.reporting import Report
from ldlearn.reporting.page import latex, markdown_text, render

REPORT = Report(make_records(repeats=2, failed=[("yeast", "FCM")]))
TABLE = REPORT.tables["recovery", "chebyshev"]
FILES = REPORT.text_files()
HOSTILE = "50% of {a_b} | $x$ & \\x #1 <b>*x*</b>"


def test_there_is_a_file_of_each_kind_for_each_headline_metric():
    for task in ("recovery", "prediction"):
        for metric in ("chebyshev", "clark", "threshold_error", "intersection"):
            assert {f"tables/{task}-{metric}.md", f"tables/{task}-{metric}.tex"} <= set(FILES)
    assert "tables/time-and-memory.tex" in FILES
    assert "tables/recovery-cosine.md" not in FILES


def test_markdown_has_every_cell_and_the_best_in_bold():
    lines = FILES["tables/recovery-chebyshev.md"].splitlines()
    rows = {line.split(" | ")[0].strip("| "): line for line in lines if line.startswith("|")}
    for method in TABLE.methods:
        (row,) = [
            line
            for name, line in rows.items()
            if name in (method.name, f"{method.name} (baseline)", f"{method.name} (true distributions)")
        ]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for dataset, text in zip(TABLE.datasets, cells[1:-1], strict=True):
            cell = TABLE.score(method.name, dataset)
            assert f"{cell.spread.mean:.4f} ± {cell.spread.std:.4f}" in text or cell.spread.n == 1
            assert text.startswith("**") == cell.best
    assert "1 failed" in rows["FCM"]
    assert "UniformLE (baseline)" in rows


def test_latex_is_bold_for_the_best_and_shaded_for_baselines():
    lines = FILES["tables/recovery-chebyshev.tex"].splitlines()
    best = TABLE.score(TABLE.methods[0].name, "yeast")
    assert any(rf"\textbf{{{best.spread.mean:.4f} $\pm$ {best.spread.std:.4f} (1)}}" in line for line in lines)
    shaded = [line for line in lines if line.startswith(r"\rowcolor")]
    assert len(shaded) == sum(method.is_baseline for method in TABLE.methods)
    assert all("(baseline)" in line for line in shaded)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".tex")])
def test_latex_is_well_formed(name):
    text = FILES[name]
    columns = len(re.search(r"\\begin\{tabular\}\{(l?r*)\}", text)[1])
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert rows
    assert all(len(re.findall(r"(?<!\\)&", row)) == columns - 1 for row in rows)
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert text.isascii() or not set("±→↑↓") & set(text)


def test_hostile_names_stay_names():
    methods = {HOSTILE: METHODS["DLDL"], "UniformLE": METHODS["UniformLE"]}
    report = Report(make_records({HOSTILE: ["a", "b"]}, methods, repeats=1, missing=()))
    files = report.text_files()
    (row,) = [line for line in files["tables/recovery-chebyshev.md"].splitlines() if r"50% of \{a\_b\}" in line[:20]]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4
    assert render("table.md", report, table=TextTable("of `a`_b", ["Method"], [])).startswith(r"### of \`a\`\_b")
    assert "<b>" not in re.sub(r"\\<", "", files["report.md"])
    tex = files["tables/recovery-chebyshev.tex"]
    assert r"50\% of \{a\_b\} | \$x\$ \& \textbackslash{}x \#1 \textless{}b\textgreater{}" in tex
    assert latex("a^b~c") == r"a\textasciicircum{}b\textasciitilde{}c"
    assert markdown_text("a\nb|c") == r"a b\|c"


def test_the_whole_report_is_one_markdown_text():
    text = FILES["report.md"]
    assert text.startswith("# Experiment\n\n87 finished cells, 1 failed, 11 missing; 2 repeats.")
    assert "raf\\_ml is not on this machine" in text
    for metric in ("chebyshev", "clark", "threshold_error", "intersection"):
        assert f"### Recovery: {METRICS[metric].heading}" in text
    assert "Friedman's test" in text
    assert len(DATASETS) == 4
