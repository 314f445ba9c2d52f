"""Writing a report from synthetic records and from a real run."""

import lzma
import os

import pytest
from synthetic_records import METHODS, make_records, make_run

from ldlearn.cli.main import main
from ldlearn.evaluation import record as files
from ldlearn.experiments import Plan, RunFolderError, run_plan
from ldlearn.experiments.sources import DatasetSpec
from ldlearn.reporting import Report, write_report
from ldlearn.reporting.report import file_name
from ldlearn.tables.files import write_file

SMALL = {"yeast": ["a", "b", "c"], "vader_tweets": ["x", "y"]}
FEW = {name: METHODS[name] for name in ("DLDL", "UniformLE")}
SOME = {
    name: METHODS[name] for name in ("DLDL", "UniformLE", "GLLE + SABFGS", "UniformLE + MeanLDL")
}


def test_writes_the_page_tables_and_figures(tmp_path):
    run = make_run(tmp_path / "run", datasets=SMALL, methods=SOME, repeats=1)
    (run / "plan.toml").write_text('metrics = ["chebyshev", "clark"]')
    page = write_report(run, formats=["svg"])
    assert page == run / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    figures = {path.name for path in (run / "figures").iterdir()}
    assert {
        "differences-recovery-chebyshev.svg",
        "convergence-yeast.svg",
        "sensitivity-vader-tweets.svg",
        "distributions-yeast.svg",
        "time-and-memory.svg",
    } <= figures
    assert (run / "report.md").is_file()
    assert (run / "tables" / "recovery-clark.tex").is_file()
    assert not [path for path in run.rglob("*") if path.name.endswith(".part")]


def test_records_file_is_sufficient_and_read_once(tmp_path, monkeypatch):
    plain = (
        make_run(tmp_path / "run", datasets={"yeast": ["a", "b"]}, methods=FEW, repeats=1)
        / "records.jsonl"
    )
    alone = tmp_path / "mine.jsonl.xz"
    alone.write_bytes(lzma.compress(plain.read_bytes()))
    parsed, original = [], files._parse_lines
    monkeypatch.setattr(files, "_parse_lines", lambda *args: parsed.append(args) or original(*args))
    monkeypatch.setattr(Plan, "from_dict", None)
    monkeypatch.setattr(DatasetSpec, "load", None)
    monkeypatch.setitem(
        write_report.__kwdefaults__, "formats", ["svg"]
    )  # each format draws all figures again
    with pytest.raises(SystemExit) as exit_info:
        main(["report", str(alone), "-o", str(tmp_path / "out")])
    assert exit_info.value.code in (0, None)
    assert len(parsed) == 1
    assert "Experiment" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def small_run(tmp_path):
    run = make_run(tmp_path / "run", datasets={"yeast": ["a", "b"]}, methods=FEW, repeats=1)
    (run / "plan.toml").write_text('metrics = ["chebyshev"]')  # each metric has its own figures
    return run


def test_another_folder_and_other_formats(small_run, tmp_path):
    before = sorted(path.name for path in small_run.iterdir())
    page = write_report(small_run, tmp_path / "out", formats=["pdf", "png"])
    assert page == tmp_path / "out" / "report.html"
    assert sorted(path.name for path in small_run.iterdir()) == before
    assert {path.suffix for path in (tmp_path / "out" / "figures").iterdir()} == {".pdf", ".png"}


def test_report_without_figures_is_reproducible(small_run):
    first = write_report(small_run, formats=[]).read_bytes()
    assert not (small_run / "figures").exists()
    assert write_report(small_run, formats=[]).read_bytes() == first


def test_folder_without_records_raises(tmp_path):
    with pytest.raises(RunFolderError, match="no records"):
        write_report(tmp_path)
    with pytest.raises(ValueError, match="no records to report"):
        Report([])


def test_report_of_a_run_without_results(tmp_path):
    records = make_records({}, missing=["raf_ml", "twitter_ldl"])
    text = Report(records).html()
    assert "raf_ml is not on this machine" in text
    assert "No record holds a recovery score." in text


def test_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = write_file(tmp_path / "a.txt", "old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_file(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_file_names_are_sanitised():
    assert file_name("../../etc/passwd") == "etc-passwd"
    assert file_name("DLDL (paper)") == "dldl-paper"
    assert file_name("微博") == "unnamed"


def test_similar_names_get_different_files(tmp_path):
    records = make_records({"微博": ["a", "b"], "数据": ["a", "b"]}, FEW, repeats=1, missing=())
    Report(records, 'metrics = ["chebyshev"]').write(tmp_path, formats=["svg"])
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"convergence-unnamed.svg", "convergence-unnamed-2.svg"} <= names


def test_report_of_learners_only():
    learners = {"SABFGS": ("learner", False, 0.1, False), "AAKNN": ("learner", False, 0.4, False)}
    learners |= {
        "PTBayes": ("learner", False, 0.7, False),
        "MeanLDL": ("learner", True, 1.0, False),
    }
    sets = {f"set{i}": ["a", "b", "c"] for i in range(8)}
    report = Report(make_records(sets, learners, repeats=2, missing=()), 'metrics = ["chebyshev"]')
    text = report.markdown()
    (best,) = [line for line in text.splitlines() if line.startswith("| SABFGS |") and "**" in line]
    assert best.count("**") == text.count("**") == 2 * 8  # the best of each data set
    assert "SABFGS has the best average rank, 1.00" in text
    assert "Friedman" in text
    assert "Bonferroni-Dunn's test of SABFGS" in text
    assert "true distributions" not in text
    assert "critical-difference-prediction-chebyshev" in report._page_figures
    assert "differences-prediction-chebyshev" in report._page_figures


def test_table_of_reference_methods_reports_no_missing_results():
    methods = {"GLLE": METHODS["GLLE"], "SABFGS on truth": METHODS["SABFGS on truth"]}
    text = Report(
        make_records(SMALL, methods, repeats=1, missing=()), 'metrics = ["chebyshev"]'
    ).markdown()
    assert "No method has a result" not in text
    assert "Only methods that were fitted on true distributions have results here" in text
    methods |= {"L2": METHODS["L2"], "DLDL": METHODS["DLDL"]}
    text = Report(
        make_records(SMALL, methods, repeats=1, missing=()), 'metrics = ["chebyshev"]'
    ).markdown()
    assert "Only methods" not in text


def test_report_of_a_real_run(tmp_path):
    plan = Plan.from_dict(
        {
            "name": "tiny",
            "metrics": ["intersection"],
            "datasets": {
                "vader_tweets": {"rows": 80},
                "uk_budget_shares": {"rows": 80},
                "raf_ml": {},
            },
            "methods": {
                "UniformLE": {},
                "DLDL": {"grid": {"beta": [0.1, 1.0], "gamma": ["0.03*m", "default"]}},
                "UniformLE + SABFGS": {"estimator": "UniformLE", "learner": "SABFGS"},
                "SABFGS": {},
            },
            "protocol": {"repeats": 2},
        }
    )
    run_plan(plan, tmp_path)
    report_page = write_report(tmp_path, formats=["svg"])
    text = report_page.read_text(encoding="utf-8")
    assert "Experiment “tiny”" in text
    assert "true distributions</span>" in text
    assert "sensitivity-vader-tweets.svg" in {
        path.name for path in (tmp_path / "figures").iterdir()
    }
    assert "raf_ml" in text
