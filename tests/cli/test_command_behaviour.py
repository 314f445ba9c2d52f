"""Behaviour of all commands: files, interrupts, pipes, terminals, help, completion, demo, data
sets."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

import fork_server
import pandas as pd
import pytest
from example_tables import make_table
from terminal import read_terminal

from ldlearn.cli.console import print_message
from ldlearn.cli.main import main


def test_os_errors_name_the_file():
    from ldlearn.cli.main import _message_and_exit_code

    full = OSError(errno.ENOSPC, "No space left on device")
    assert _message_and_exit_code(full) == ("standard output: No space left on device.", 2)
    assert (
        _message_and_exit_code(OSError(errno.EACCES, "Permission denied", "x.csv"))[0]
        == "x.csv: Permission denied."
    )
    message, code = _message_and_exit_code(MemoryError())
    assert ("memory" in message, "bug" in message, code) == (True, False, 2)


def test_output_has_default_permissions_and_leaves_no_temporary_files(model, run, workspace):
    before = os.umask(0o022)
    try:
        run("predict", "data.csv", "-m", model, "-o", "out.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("out.csv").st_mode) == 0o644
    assert sorted(os.listdir(".")) == ["data.csv", "model.ldl", "out.csv"]


def test_interrupt_leaves_no_partial_file(model):
    arguments = [*fork_server.command(), "predict", "-", "-m", model, "-o", "out.csv"]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    header, *rows = make_table().to_csv(index=False).encode().splitlines(keepends=True)
    pipe, some_rows = process.stdin.fileno(), b"".join(rows[:40])
    assert len(some_rows) <= select.PIPE_BUF  # is written completely or not at all
    os.write(pipe, header)
    os.set_blocking(pipe, False)  # the table has no end: feed it, but never wait for the command
    deadline = time.monotonic() + 60
    while (
        not (begun := any(name.startswith(".out.csv-") for name in os.listdir(".")))
        and time.monotonic() < deadline
    ):
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, some_rows)
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert begun
    assert process.returncode == 130
    assert err == b"ldlearn: interrupted.\n"
    assert sorted(os.listdir(".")) == ["data.csv", "model.ldl"]


def test_closed_pipe_ends_the_command_without_error(model):
    big = pd.concat([make_table()] * 600)
    big.to_csv("big.csv", index=False)
    arguments = [*fork_server.command(), "predict", "big.csv", "-m", model]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"key,sky,mountain,sea\n"
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert err == b""


def test_model_is_written_if_standard_output_is_closed(workspace):
    arguments = [*fork_server.command(), "fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key"]
    arguments += ["-o", "m.ldl"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # before any output
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err
    assert os.path.exists("m.ldl")


@pytest.mark.parametrize("messages", [(), ("one", "two")])
def test_closed_standard_error_does_not_change_the_exit_code(messages, monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:  # flushed on exit, as by the interpreter
        monkeypatch.setattr(sys, "stderr", closed)
        for text in messages:
            print_message(text)
        print("done")
        with pytest.raises(SystemExit) as exit_info:
            main(["inspect", "absent.ldl"])
    assert (exit_info.value.code, capsys.readouterr().out) == (2, "done\n")


OVERWRITING = {
    "predict": ("predict", "data.csv", "-m", "model.ldl", "-o", "{}"),
    "predict over its model": ("predict", "data.csv", "-m", "model.ldl", "--to", "csv", "-o", "{}"),
    "enhance": ("enhance", "data.csv", "-m", "model.ldl", "-o", "{}"),
    "enhance by a method": (
        "enhance",
        "data.csv",
        "-l",
        "sky,sea,mountain",
        "--method",
        "UniformLE",
        "-o",
        "{}",
    ),
    "inspect": ("inspect", "model.ldl", "--html", "{}"),
}


@pytest.mark.parametrize("case", OVERWRITING)
@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_output_must_differ_from_inputs(case, link, model, run):
    target = "model.ldl" if "model" in case or case == "inspect" else "data.csv"
    with open(target, "rb") as file:
        before = file.read()
    name = target
    if link is not None:
        name = "link" + os.path.splitext(target)[1]
        link(target, name)
    result = run(*(argument.format(name) for argument in OVERWRITING[case]))
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert f"{name}: it is the same file as the input {target}" in result.err
    with open(target, "rb") as file:
        assert file.read() == before


def test_no_clobber_keeps_existing_files(model, run, workspace):
    for arguments in (
        ("predict", "data.csv", "-m", model, "-o", "kept.csv"),
        ("enhance", "data.csv", "-m", model, "-o", "kept.csv"),
        ("fit", "data.csv", "-l", "sky,sea,mountain", "-o", "kept.ldl"),
        ("inspect", model, "--html", "kept.html"),
        ("export", model, "-o", "kept.onnx"),
    ):
        (workspace / arguments[-1]).write_text("kept")
        result = run(*arguments, "--no-clobber")
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "there is such a file already" in result.err
        assert (workspace / arguments[-1]).read_text() == "kept"


def test_formulas_in_identifiers_are_escaped(model, run):
    keys = ["=1+1", "+1", "-1", "@SUM(A1)", "plain", "a=b"]
    make_table()[:6].assign(key=keys).to_csv("new.csv", index=False)
    run("predict", "new.csv", "-m", model, "-o", "plain.csv", "--raw")
    assert pd.read_csv("plain.csv")["key"].tolist() == keys
    run("predict", "new.csv", "-m", model, "-o", "safe.csv")
    assert pd.read_csv("safe.csv")["key"].tolist() == [
        "'=1+1",
        "+1",
        "-1",
        "'@SUM(A1)",
        "plain",
        "a=b",
    ]


def test_progress_bars_only_on_a_terminal(model):
    import pty

    big = pd.concat([make_table()] * 250)
    big.to_csv("big.csv", index=False)
    leader, follower = pty.openpty()
    arguments = [*fork_server.command(), "predict", "big.csv", "-m", model, "-o", "out.csv"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=follower, env=environment)
    os.close(follower)
    output = read_terminal(leader)
    assert process.wait(timeout=60) == 0
    assert b"rows" in output
    assert "━".encode() in output
    assert process.stdout.read() == b"20,000 rows: out.csv\n"
    process.stdout.close()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are of POSIX")
def test_no_progress_bar_if_rows_go_to_the_terminal(model):
    import pty

    leader, follower = pty.openpty()
    arguments = [*fork_server.command(), "predict", "data.csv", "-m", model, "--round", "2"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(arguments, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    lines = read_terminal(leader).decode().splitlines()
    assert process.wait(timeout=60) == 0
    assert lines[0] == "key,sky,mountain,sea"
    assert len(lines) == 1 + len(make_table())
    assert all(len(line.split(",")) == 4 for line in lines)


@pytest.mark.parametrize(
    "command", ["fit", "enhance", "predict", "evaluate", "inspect", "export", "demo", "datasets"]
)
def test_help_shows_an_example(command, run):
    result = run(command, "--help")
    assert result.code == 0
    assert f"ldlearn {command}" in "\n".join(result.out.splitlines()[2:])


def test_shell_completion_of_commands_and_methods():
    environment = os.environ | {
        "_LDLEARN_COMPLETE": "complete_bash",
        "COMP_WORDS": "ldlearn fit --method DL",
    }
    arguments = fork_server.command()
    found = subprocess.run(
        arguments,
        env=environment | {"COMP_CWORD": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "DLDL" in found.stdout.split()
    environment["COMP_WORDS"] = "ldlearn ev"
    found = subprocess.run(
        arguments,
        env=environment | {"COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout.split() == ["evaluate"]


def test_demo_runs_and_prints_the_next_command(workspace, run):
    result = run("demo", "--rows", "200")
    assert result.code == 0, result.err
    for command in ("fit", "enhance", "predict", "evaluate", "inspect", "browse"):
        assert f"$ ldlearn {command} ldlearn-demo/" in result.out
    made = {
        "train.csv",
        "test.csv",
        "truth.csv",
        "model.ldl",
        "degrees.csv",
        "predicted.csv",
        "card.html",
        "browse.html",
        "figure.png",
    }
    assert set(os.listdir("ldlearn-demo")) >= made
    # The rows are printed with labels, recovered and predicted degrees, in lines that fit a
    # terminal.
    assert (
        sum(line.startswith("Day of chores has commenced.") for line in result.out.splitlines())
        == 2
    )
    (new,) = (
        line.split()[-5:] for line in result.out.splitlines() if line.startswith("Todays plan.")
    )
    assert sum(map(float, new)) == pytest.approx(1, abs=0.03)
    assert pd.read_csv("ldlearn-demo/train.csv").columns[0] == "text"


def test_datasets_list_show_fetch(workspace, run, monkeypatch):
    monkeypatch.delenv("LDLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(workspace / "cache"))
    listing = run("datasets").out.splitlines()
    assert listing[0].split() == ["Name", "State", "Terms", "Rows", "Features", "Labels"]
    assert any(line.split()[:2] == ["vader_tweets", "embedded"] for line in listing)
    assert any(line.startswith("natural_scene") and "not here" in line for line in listing)
    output = run("datasets", "show", "natural scene")
    assert "terms" in output.out
    assert "2000" in output.out
    known = json.loads(run("datasets", "show", "vader_tweets", "--json").out)
    assert known["n_samples"] == 4004
    fetched = run("datasets", "fetch", "uk_budget_shares", "-o", "budget.csv")
    assert (fetched.code, fetched.err) == (0, "")
    assert "1,519 rows" in fetched.out
    assert len(pd.read_csv("budget.csv")) == 1519
    assert run("datasets", "fetch", "ren_cecps").code == 2
