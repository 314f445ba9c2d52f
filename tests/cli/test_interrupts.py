"""Ctrl-C ends the process with one line and exit code 130, at any time."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# A process that gets Ctrl-C while it imports a module of the given name, which deals with it as given.
DURING_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {how}
sys.meta_path.insert(0, Finder())
from ldlearn.cli.main import main
sys.argv = ["ldlearn", "methods"]
main()
"""
SENT = "os.kill(os.getpid(), signal.SIGINT)"
SWALLOWED = "exec('try:\\n    os.kill(os.getpid(), signal.SIGINT)\\nexcept BaseException:\\n    pass')"


@pytest.mark.parametrize("module", ["typer", "rich.table", "sklearn", "scipy"])
@pytest.mark.parametrize("how", [SENT, SWALLOWED])
def test_while_modules_are_imported(module, how):
    words = [sys.executable, "-c", DURING_IMPORT.format(module=module, how=how)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "ldlearn: interrupted.\n")


def test_before_the_entry_point_is_imported():
    program = DURING_IMPORT.format(module="ldlearn.cli.main", how=SENT).partition("from ldlearn")[0]
    program += "import ldlearn.cli.__main__"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "ldlearn: interrupted.\n")


# A command that makes another error of Ctrl-C, as compiled code does now and then; it needs none of the imports.
CONVERTED = """
import os, signal, sys, types
from ldlearn.cli.main import main

def methods() -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise SystemError("returned a result with an exception set")
sys.modules["ldlearn.cli.methods"] = types.SimpleNamespace(methods=methods)
sys.argv = ["ldlearn", "methods"]
main()
"""


def test_when_it_has_become_another_error():
    found = subprocess.run([sys.executable, "-c", CONVERTED], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "ldlearn: interrupted.\n")


def test_a_program_that_calls_main_keeps_its_own_handler(run):
    before = signal.getsignal(signal.SIGINT)
    assert run("methods").code == 0
    assert signal.getsignal(signal.SIGINT) is before


DONE = """
import atexit, os, sys, threading, time
import ldlearn.cli.main as entry

class Last:
    def __del__(self, write=os.write):
        write(1, b"the interpreter is taken apart")

def work(words):
    atexit.register(print, "registered for the exit")
    threading.Thread(target=lambda: (time.sleep(0.05), print("a thread ends"))).start()

sys.last, entry._run = Last(), work
entry.main()
"""


def test_after_a_success_nothing_is_taken_apart_under_threads():
    done = subprocess.run([sys.executable, "-c", DONE], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["a thread ends", "registered for the exit"]
