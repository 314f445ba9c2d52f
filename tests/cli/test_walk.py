"""How far a table goes through the house: the files of ours that a command passes through."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

import ldlearn
from ldlearn.cli.main import main

ROOT = Path(ldlearn.__file__).parent
# What is above the mathematics (core, solvers, metrics, base and the methods).
HOUSE = (
    "cli/",
    "io/",
    "preprocessing/",
    "models/",
    "datasets/",
    "results/",
    "experiments/",
    "plotting/",
    "paper/",
    "reporting/",
    "discovery.py",
)


def walk(*words: str) -> Counter[tuple[str, str]]:
    """How often each function of ours is called, by file (from the top of the package) and name."""
    calls: Counter[tuple[str, str]] = Counter()

    ours = f"{ROOT}{os.sep}"

    def seen(frame, event, argument):  # called some million times
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ours) and code.co_name != "<module>":
            calls[code.co_filename.removeprefix(ours).replace(os.sep, "/"), code.co_qualname] += 1

    with pytest.raises(SystemExit):
        main([words[0], "--help"])  # what happens while modules are imported is not counted
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
    finally:
        sys.setprofile(before)
    assert ended.value.code == 0
    return calls


def test_fit_passes_through_few_files_and_reads_labels_once(here):
    calls = walk("fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key", "-o", "m.ldl")
    files = {file for file, _ in calls}
    house = {file for file in files if file.startswith(HOUSE)}
    assert len(house) <= 20, sorted(house)
    assert calls["io/values.py", "to_labels"] == 1
    assert calls["io/source.py", "Source.read"] == 1
