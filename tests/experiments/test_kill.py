"""SIGKILL at random moments; benchmarks/kill_runs.py does the same twenty times."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kill_runs.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(not SCRIPT.is_file(), reason="the benchmarks are not here")
def test_random_kills_lose_nothing_but_the_cells_in_flight():
    arguments = ["--kills", "5", "--repeats", "4"]
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "identical to the uninterrupted run's: True; no cell twice: True" in done.stdout
