"""Markdown and LaTeX tables: bold, shaded and escaped entries."""

import re
import shutil
import subprocess

import pytest
from synthetic_records import METHODS, make_records

from ldlearn.evaluation import Results, TextTable, difference
from ldlearn.evaluation.text_tables import combined_table, score_table
from ldlearn.metrics import METRICS
from ldlearn.reporting import Report
from ldlearn.reporting.page import _escape_latex, _escape_markdown, render

REPORT = Report(make_records(repeats=2, failed=[("yeast", "FCM")]))
TABLE = REPORT.tables["recovery", "chebyshev"]
FILES = REPORT.text_files()
MALICIOUS = "50% of {a_b} | $x$ & \\x #1 <b>*x*</b>"


def test_one_file_per_format_and_headline_metric():
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
            if name
            in (method.name, f"{method.name} (baseline)", f"{method.name} (true distributions)")
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
    assert any(
        rf"\textbf{{{best.spread.mean:.4f} $\pm$ {best.spread.std:.4f} (1)}}" in line
        for line in lines
    )
    shaded = [line for line in lines if line.startswith(r"\rowcolor")]
    assert len(shaded) == sum(method.is_baseline for method in TABLE.methods)
    assert all("(baseline)" in line for line in shaded)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".tex")])
def test_latex_is_well_formed(name):
    text = FILES[name]
    columns = len(re.search(r"\\begin\{(?:tabular|longtable)\}\{(l{1,2}r*)\}", text)[1])
    assert text.count(f"\\label{{tab:{name.removeprefix('tables/').removesuffix('.tex')}}}") == 1
    rows = [
        line
        for line in text.splitlines()
        if line.endswith(r"\\") and not line.startswith(r"\caption")
    ]
    assert rows
    assert all(len(re.findall(r"(?<!\\)&", row)) == columns - 1 for row in rows)
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert text.isascii() or not set("±→↑↓•◦") & set(text)


def test_malicious_names_are_escaped():
    methods = {MALICIOUS: METHODS["DLDL"], "UniformLE": METHODS["UniformLE"]}
    report = Report(make_records({MALICIOUS: ["a", "b"]}, methods, repeats=1, missing=()))
    files = report.text_files()
    (row,) = [
        line
        for line in files["tables/recovery-chebyshev.md"].splitlines()
        if r"50% of \{a\_b\}" in line[:20]
    ]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4
    assert render("table.md", report, table=TextTable("of `a`_b", ["Method"], [])).startswith(
        r"### of \`a\`\_b"
    )
    assert "<b>" not in re.sub(r"\\<", "", files["report.md"])
    tex = files["tables/recovery-chebyshev.tex"]
    assert r"50\% of \{a\_b\} | \$x\$ \& \textbackslash{}x \#1 \textless{}b\textgreater{}" in tex
    assert _escape_latex("a^b~c") == r"a\textasciicircum{}b\textasciitilde{}c"
    assert _escape_markdown("a\nb|c") == r"a b\|c"


def test_report_as_one_markdown_document():
    text = FILES["report.md"]
    assert text.startswith("# Experiment\n\n87 finished cells, 1 failed, 11 missing; 2 repeats.")
    assert "raf\\_ml is not on this machine" in text
    for metric in ("chebyshev", "clark", "threshold_error", "intersection"):
        assert f"### Recovery: {METRICS[metric].heading}" in text
    assert "Friedman's test" in text


@pytest.mark.parametrize("task", ["recovery", "prediction"])
def test_marks_are_significant_differences_from_the_subject(task):
    results, table, marks = REPORT.results, REPORT.tables[task, "intersection"], set()
    for method, (_, cells) in zip(table.methods, score_table(table, results).rows, strict=True):
        for dataset, cell in zip(table.datasets, cells[1:-1], strict=True):
            gap = (
                None
                if method.name == "DLDL"
                else difference(results, table, "DLDL", method.name, dataset)
            )
            expected = "" if gap is None or not gap.is_significant else "•" if gap.mean > 0 else "◦"
            assert "".join(sign for sign in cell.text if sign in "•◦") == expected
            marks.add(expected)
    assert {"", "•"} <= marks
    assert "•" not in str(score_table(table).rows)


def test_worse_subject_is_marked():
    results = Results(REPORT.results.records, subject="FCM")
    assert results.subject == "FCM"
    table = results.table("recovery", METRICS["intersection"])
    texts = [cell.text for _, cells in score_table(table, results).rows for cell in cells]
    assert any(text.endswith(" ◦") for text in texts)
    assert "FCM is significantly better (•) or worse (◦)" in score_table(table, results).legend


def test_combined_table_has_the_cells_of_single_tables():
    tables = [REPORT.tables["recovery", metric] for metric in ("intersection", "clark")]
    combined = combined_table(
        tables, REPORT.results, lambda name: {"yeast": "Yeast!", "DLDL": "ours"}.get(name, name)
    )
    assert combined.head == ["Data set", "Method", *(table.metric.heading for table in tables)]
    groups = [cells[0].text for _, cells in combined.rows if cells[0].text]
    assert groups == [{"yeast": "Yeast!"}.get(name, name) for name in tables[0].datasets]
    assert "ours" in {cells[1].text for _, cells in combined.rows}
    for column, table in enumerate(tables):
        single = score_table(table, REPORT.results)
        by_method = {
            m.name: cells for m, (_, cells) in zip(table.methods, single.rows, strict=True)
        }
        n = len(tables[0].methods)
        for number, (_, cells) in enumerate(combined.rows):
            method = tables[0].methods[number % n].name
            assert cells[2 + column] == by_method[method][1 + number // n]


def test_display_names_come_from_the_catalogue_and_from_the_plan():
    records = make_records({"s_jaffe": ["a", "b"], "mine": ["a", "b"]}, repeats=2, missing=())
    report = Report(records, 'display_names = { DLDL = "DLDL (ours)", mine = "My data" }')
    text = report.text_files()["tables/recovery-intersection.tex"]
    assert "s-JAFFE & My data" in text
    assert "DLDL (ours) &" in text
    assert "s\\_jaffe" not in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_every_table_compiles(tmp_path):
    report = Report(make_records(repeats=3, failed=[("yeast", "FCM")]))
    tables = [text for name, text in report.text_files().items() if name.endswith(".tex")]
    packages = (
        "\\usepackage[landscape,margin=1cm]{geometry}"
        "\\usepackage{booktabs,longtable}\\usepackage[table]{xcolor}"
    )
    body = "\n\\clearpage\n".join(tables) + "\nSee Table~\\ref{tab:recovery-combined}.\n"
    document = f"\\documentclass{{article}}{packages}\\begin{{document}}\n{body}\\end{{document}}\n"
    (tmp_path / "all.tex").write_text(document, encoding="utf-8")
    for _ in range(2):  # the second run resolves references
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000
    assert "undefined references" not in done.stdout
    assert "multiply defined" not in done.stdout
