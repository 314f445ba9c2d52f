"""`ldlearn fit` reads its table once and parses its labels once."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

import ldlearn
from ldlearn.cli.main import main

PACKAGE = str(Path(ldlearn.__file__).parent)


def count_calls(*arguments: str) -> Counter[str]:
    """Number of calls of each function of the package, by qualified name."""
    calls: Counter[str] = Counter()

    def profile(frame, event, argument):  # called millions of times
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls[frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(SystemExit) as exit_info:
            main(list(arguments))
    finally:
        sys.setprofile(before)
    assert exit_info.value.code == 0
    return calls


def test_fit_reads_the_table_and_its_labels_once(workspace):
    calls = count_calls("fit", "data.csv", "-l", "sky,mountain,sea", "--id", "key", "-o", "m.ldl")
    assert calls["to_labels"] == 1
    assert calls["Source.read"] == 1
