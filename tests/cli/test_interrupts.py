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


# A command that makes another error of Ctrl-C, as compiled code does now and then; it needs none of the imports.
CONVERTED = """
import os, signal, sys, types
from ldlearn.cli.main import main

def methods() -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise SystemError("returned a result with an exception set")
sys.modules["ldlearn.cli.library"] = types.SimpleNamespace(methods=methods)
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
