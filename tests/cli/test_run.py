import io
import json
import os
import pty
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import fork_server
import pytest
from terminal import read_terminal
from tiny_plans import DATA, tiny_plan

from ldlearn.cli.main import main
from ldlearn.experiments import load_plan, read_records, shipped_plans


def ldlearn(capsys, *arguments):
    """Exit code, output and errors of the command line."""
    with pytest.raises(SystemExit) as exit_info:
        main([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return exit_info.value.code or 0, found.out, found.err


def write_plan(folder):
    path = folder / "mine.toml"
    path.write_text(
        tiny_plan(methods={"UniformLE": {}, "PriorLE": {}, "DLDL": {}}).to_toml(), encoding="utf-8"
    )
    return path


@pytest.fixture
def plan_file(tmp_path):
    return write_plan(tmp_path)


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """Folder (read-only) and printed output of a finished run."""
    folder, out, err = tmp_path_factory.mktemp("whole"), io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as exit_info, redirect_stdout(out), redirect_stderr(err):
        main(["run", str(write_plan(folder)), "-o", str(folder / "run")])
    assert exit_info.value.code in (0, None)
    return folder / "run", out.getvalue(), err.getvalue()


def test_run_writes_records_and_prints_a_summary(finished_run, plan_file, tmp_path, capsys):
    folder, out, err = finished_run
    assert "made: recovery" in out
    assert "made: prediction" in out
    assert "6 ok, 0 failed, 0 missing" in out
    assert "6 computed" in out
    assert str(folder / "records.jsonl") in out.replace("\n", "")
    assert "[6/6] ok made / DLDL / 1" in err
    assert len(read_records(folder)) == 6
    assert load_plan(folder / "plan.toml") == load_plan(plan_file)
    shutil.copytree(folder, tmp_path / "run")
    code, out, err = ldlearn(capsys, "run", plan_file, "-o", tmp_path / "run")
    assert code == 0
    assert "6 of them recorded before" in err
    assert "0 computed now" in out


def test_quiet_prints_nothing(plan_file, tmp_path, capsys):
    assert ldlearn(capsys, "run", plan_file, "-o", tmp_path / "run", "--quiet") == (0, "", "")


def test_marked_best_values_match_the_records(finished_run):
    folder, out, _ = finished_run
    first = out.split("made: recovery")[1].split("Intersection")[1].split("\n")[1].split()[0]
    records = read_records(folder)
    means = {
        name: sum(r.recovery["chebyshev"] for r in records if r.method == name) / 2
        for name in ("UniformLE", "PriorLE", "DLDL")
    }
    assert first == min(means, key=means.get)
    assert f"{means[first]:.4f}" in out


def test_errors_are_one_line_with_exit_code_2(plan_file, tmp_path, capsys):
    plan_file.write_text("datasets = ['vader_tweets']\n[methods.GLLE]\ngrid = {lamb = [1]}\n")
    code, out, err = ldlearn(capsys, "run", plan_file, "-o", tmp_path / "run")
    assert (code, out) == (2, "")
    assert err.startswith(
        "ldlearn: mine.toml: methods.GLLE.grid.lamb: there is no GLLE parameter 'lamb'"
    )
    assert err.count("\n") == 1
    code, _, err = ldlearn(capsys, "run", "no-such-plan", "-o", tmp_path / "run")
    assert (code, err.count("\n")) == (2, 1)
    assert all(name in err for name in shipped_plans())
    code, _, err = ldlearn(capsys, "report", tmp_path / "nowhere")
    assert (code, err.count("\n")) == (2, 1)


def test_debug_shows_the_traceback(tmp_path):
    with pytest.raises(ValueError, match="no plan file"):
        main(["run", "no-such-plan", "-o", str(tmp_path), "--debug"])


def test_wrong_usage_has_exit_code_2(plan_file, tmp_path, capsys):
    assert ldlearn(capsys, "run", plan_file)[0] == 2
    assert ldlearn(capsys, "run", plan_file, "-o", tmp_path, "--jobs", "0")[0] == 2
    assert ldlearn(capsys, "run", plan_file, "-o", tmp_path, "--quiet", "--log")[0] == 2
    assert ldlearn(capsys, "rum")[0] == 2


def test_run_without_results_is_an_error(plan_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("LDLEARN_DATA", str(tmp_path / "nothing"))
    plan_file.write_text("datasets = ['ren_cecps']\n[methods.UniformLE]\n[protocol]\nrepeats = 2\n")
    code, out, err = ldlearn(capsys, "run", plan_file, "-o", tmp_path / "run")
    assert code == 2
    assert "ren_cecps is skipped: Ren-CECps is not on this machine" in err
    assert "2 cells: 0 ok, 0 failed, 2 missing" in out
    assert "could be computed (Ren-CECps is not on this machine" in err


def test_methods_lists_every_estimator(capsys):
    from ldlearn import all_estimators

    code, out, _ = ldlearn(capsys, "methods")
    assert code == 0
    assert all(name in out for name, _ in all_estimators())
    assert ldlearn(capsys, "methods", "--kind", "wrong")[0] == 2


def test_progress_on_a_terminal(tmp_path):
    """A progress bar on a terminal, removed before the table is printed; names are printed without
    markup."""
    methods = {"DLDL [/x]": {"estimator": "DLDL"}, "prior [bold]": {"estimator": "PriorLE"}}
    methods["[/bad]"] = {"estimator": "DLDL", "params": {"n_neighbors": 1000, "alpha": 1.0}}
    plan = tmp_path / "mine.toml"
    plan.write_text(
        tiny_plan(datasets={"made [/y]": DATA}, methods=methods).to_toml(), encoding="utf-8"
    )
    leader, follower = pty.openpty()
    arguments = [*fork_server.command(), "run", str(plan), "-o", str(tmp_path / "run")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TERM": "xterm",
        "COLUMNS": "120",
    }
    process = subprocess.Popen(arguments, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    printed = read_terminal(leader)
    assert process.wait(timeout=60) == 0
    assert b"6 cells, 0 of them" in printed
    assert b"6/6" in printed
    assert b"4 ok, 2 failed" in printed
    assert b"made [/y] / [/bad] / 0 failed: " in printed
    assert b"made [/y]: recovery" in printed
    assert b"prior [bold]" in printed


def test_report_option_writes_a_report(finished_run, tmp_path, capsys, monkeypatch):
    written = []

    def write_report(folder, output):
        written.append((folder, output))
        return (output or folder) / "report.html"

    monkeypatch.setattr("ldlearn.reporting.write_report", write_report)
    run = finished_run[0]
    code, out, _ = ldlearn(capsys, "report", run)
    assert (code, out.strip()) == (0, f"Report: {run / 'report.html'}")
    code, out, _ = ldlearn(capsys, "report", run, "-o", tmp_path / "page")
    assert (code, out.strip()) == (0, f"Report: {tmp_path / 'page' / 'report.html'}")
    assert written == [(run, None), (run, tmp_path / "page")]


def test_records_are_plain_json_lines(finished_run):
    lines = (finished_run[0] / "records.jsonl").read_text().splitlines()
    assert len(lines) == 6
    for line in lines:
        json.loads(line, parse_constant=pytest.fail)


def test_names_with_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    methods = {
        "\x1b[31mred": {"estimator": "UniformLE"},
        "fails\x1b]0;": {"estimator": "LP", "params": {"n_neighbors": 999}},
    }
    plan.write_text(tiny_plan(methods=methods).to_toml(), encoding="utf-8")
    code, out, err = ldlearn(capsys, "run", plan, "-o", tmp_path / "run")
    assert code == 0
    assert "red" in out
    assert "Left out: fails" in out
    assert "\x1b" not in out + err
