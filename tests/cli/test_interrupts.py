"""Ctrl-C ends the process with one line and exit code 130, at any time."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# A process that receives SIGINT while it imports the given module, which handles it as given.
DURING_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {handling}
sys.meta_path.insert(0, Finder())
from ldlearn.cli.main import main
sys.argv = ["ldlearn", "methods"]
main()
"""
RAISE_SIGINT = "os.kill(os.getpid(), signal.SIGINT)"
SWALLOW_SIGINT = (
    "exec('try:\\n    os.kill(os.getpid(), signal.SIGINT)\\nexcept BaseException:\\n    pass')"
)


@pytest.mark.parametrize("module", ["typer", "rich.table", "sklearn", "scipy"])
@pytest.mark.parametrize("handling", [RAISE_SIGINT, SWALLOW_SIGINT])
def test_interrupt_during_imports(module, handling):
    arguments = [sys.executable, "-c", DURING_IMPORT.format(module=module, handling=handling)]
    found = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "ldlearn: interrupted.\n")


# A command that converts KeyboardInterrupt into another error, as compiled code sometimes does.
CONVERT_INTERRUPT = """
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


def test_interrupt_converted_to_another_error():
    found = subprocess.run(
        [sys.executable, "-c", CONVERT_INTERRUPT], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (130, "ldlearn: interrupted.\n")


def test_main_restores_the_signal_handler(run):
    before = signal.getsignal(signal.SIGINT)
    assert run("methods").code == 0
    assert signal.getsignal(signal.SIGINT) is before
