"""How the commands behave: files, interrupts, pipes, terminals, help, completion, the demo, data sets."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pandas as pd
import pytest
from practice_tables import make_table
from terminal import read_terminal


def test_output_has_ordinary_permissions_and_no_leftovers(model, run, here):
    before = os.umask(0o022)
    try:
        run("predict", "data.csv", "-m", model, "-o", "out.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("out.csv").st_mode) == 0o644
    assert sorted(os.listdir(".")) == ["data.csv", "model.ldl", "out.csv"]


def test_ctrl_c_leaves_no_partial_file(model):
    words = [sys.executable, "-m", "ldlearn.cli", "predict", "-", "-m", model, "-o", "out.csv"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(make_table().to_csv(index=False).encode())
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(name.startswith(".out.csv-") for name in os.listdir(".")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"ldlearn: interrupted.\n"
    assert sorted(os.listdir(".")) == ["data.csv", "model.ldl"]


def test_a_reader_that_hangs_up_ends_the_work_quietly(model):
    big = pd.concat([make_table()] * 600)
    big.to_csv("big.csv", index=False)
    words = [sys.executable, "-m", "ldlearn.cli", "predict", "big.csv", "-m", model]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"key,sky,mountain,sea\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert b"Traceback" not in err


def test_progress_bars_only_on_a_terminal(model):
    import pty

    big = pd.concat([make_table()] * 250)
    big.to_csv("big.csv", index=False)
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "ldlearn.cli", "predict", "big.csv", "-m", model, "-o", "out.csv"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=follower, env=environment)
    os.close(follower)
    shown = read_terminal(leader)
    assert process.wait(timeout=60) == 0
    assert b"rows" in shown
    assert "━".encode() in shown
    assert process.stdout.read() == b"20,000 rows: out.csv\n"
    process.stdout.close()


@pytest.mark.parametrize("command", ["fit", "enhance", "predict", "evaluate", "inspect", "export", "demo", "datasets"])
def test_help_fits_a_screen_and_shows_an_example(command, run):
    result = run(command, "--help")
    assert result.code == 0
    lines = result.out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert f"ldlearn {command}" in "\n".join(lines[2:])


def test_the_shell_completes_commands_and_methods():
    environment = os.environ | {"_LDLEARN_COMPLETE": "complete_bash", "COMP_WORDS": "ldlearn fit --method DL"}
    words = [sys.executable, "-m", "ldlearn.cli"]
    found = subprocess.run(words, env=environment | {"COMP_CWORD": "3"}, capture_output=True, text=True, check=False)
    assert "DLDL" in found.stdout.split()
    environment["COMP_WORDS"] = "ldlearn ev"
    found = subprocess.run(words, env=environment | {"COMP_CWORD": "1"}, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["evaluate"]


def test_the_demo_runs_and_shows_what_to_type(here, run):
    result = run("demo", "--rows", "200")
    assert result.code == 0, result.err
    for command in ("fit", "enhance", "predict", "evaluate", "inspect"):
        assert f"$ ldlearn {command} ldlearn-demo/" in result.out
    made = {
        "train.csv",
        "test.csv",
        "truth.csv",
        "model.ldl",
        "degrees.csv",
        "predicted.csv",
        "card.html",
        "picture.png",
    }
    assert set(os.listdir("ldlearn-demo")) >= made


def test_data_sets_are_listed_shown_and_fetched(here, run, monkeypatch):
    monkeypatch.delenv("LDLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    listing = run("datasets").out.splitlines()
    assert listing[0].split() == ["Name", "State", "Terms", "Rows", "Features", "Labels"]
    assert any(line.split()[:2] == ["vader_tweets", "embedded"] for line in listing)
    assert any(line.startswith("natural_scene") and "not here" in line for line in listing)
    shown = run("datasets", "show", "natural scene")
    assert "terms" in shown.out
    assert "2000" in shown.out
    known = json.loads(run("datasets", "show", "vader_tweets", "--json").out)
    assert known["n_samples"] == 4004
    fetched = run("datasets", "fetch", "uk_budget_shares", "-o", "budget.csv")
    assert (fetched.code, fetched.err) == (0, "")
    assert "1,519 rows" in fetched.out
    assert len(pd.read_csv("budget.csv")) == 1519
    assert run("datasets", "fetch", "ren_cecps").code == 2
