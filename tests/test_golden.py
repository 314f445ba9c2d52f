"""Stored results detect unintended changes. Update one with ``python tools/make_golden.py
NAME``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden import GOLDEN, golden_cases, golden_result


@pytest.mark.parametrize("key", golden_cases())
def test_result_matches_the_stored_one(key):
    path = GOLDEN / f"{key}.json"
    assert path.exists(), f"{path.name} is missing: run python tools/make_golden.py"
    stored = json.loads(path.read_text())
    estimator = golden_cases()[key]
    result = golden_result(estimator)
    assert stored.keys() == result.keys()
    # Other processors or versions of libsvm change a result about as much as single precision does.
    tolerance = 2.0 * estimator.float32_tolerance
    for name, values in stored.items():
        np.testing.assert_allclose(result[name], values, atol=tolerance, err_msg=name)


def test_no_obsolete_stored_result():
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(golden_cases())
