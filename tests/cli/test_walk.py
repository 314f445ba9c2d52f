"""How far a table goes through the house: the files of ours that a command passes through."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

import ldlearn
from ldlearn.cli.main import main

ROOT = Path(ldlearn.__file__).parent
# What is above the mathematics (core, solvers, metrics, base and the methods).
HOUSE = ("cli/", "io/", "models/", "datasets/", "results/", "experiments/", "plotting/", "reporting/", "discovery.py")


def walk(*words: str) -> Counter[tuple[str, str]]:
    """How often each function of ours is called, by file (from the top of the package) and name."""
    calls: Counter[tuple[str, str]] = Counter()

    def seen(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(ROOT):
            calls[path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname] += 1

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
