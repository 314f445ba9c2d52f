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
# The mathematics; whatever else is ours is the house above it, errors.py and discovery.py included.
MATHEMATICS = (
    "core/",
    "solvers/",
    "metrics/",
    "base/",
    "enhancement/",
    "learning/",
    "joint/",
    "compose/",
    "stats/",
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
    # Of 50 files in all, 30 are mathematics: DLDL, its solvers, the classifier and the metrics that it is beside. Of
    # the other 20 the command line has 4, io 7, preprocessing 3, models 4; errors.py and discovery.py are the rest.
    house = {file for file, _ in calls if not file.startswith(MATHEMATICS)}
    assert len(house) <= 20, sorted(house)
    assert calls["io/values.py", "to_labels"] == 1
    assert calls["io/source.py", "Source.read"] == 1
