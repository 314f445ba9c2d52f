"""The page on labels lists the weight support of every method, with valid reasons."""

import re
from pathlib import Path

import pytest
from sklearn.utils import get_tags

from ldlearn import all_estimators

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "labels.md"
if not PAGE.is_file():
    pytest.skip("the documents are not part of this copy of the project", allow_module_level=True)
NAMES = [name for name, _ in all_estimators()]


def named_in(text):
    return [name for name in re.findall(r"`(?:~ldlearn\.)?(\w+)", text) if name in NAMES]


def test_every_method_is_in_one_row(listings):
    assert sorted(named_in(listings.weights())) == NAMES


def test_reasons_match_the_methods(listings):
    """One table row per kind of support, one sentence per reason below it."""
    _, nearly, _, none = (set(named_in(row)) for row in listings.weights().splitlines()[2:])
    below = (
        PAGE.read_text(encoding="utf-8")
        .partition("```{listing} weights\n```\n")[2]
        .partition("\n## ")[0]
    )
    graph, drawn, stepwise, other_rows = (
        set(named_in(part))
        for part in re.split(r"Results are|(?=`LSELDL` updates)|iteratively\.", below)
    )
    sometimes = {
        name
        for name, method in all_estimators()
        if not all(
            get_tags(method(**params)).weight_equals_repetition for params in method._test_params
        )
    }
    assert graph | drawn | stepwise <= nearly | sometimes
    assert other_rows <= none
    assert min(map(len, (graph, drawn, stepwise, other_rows))) > 0
