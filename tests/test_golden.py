"""Stored results detect unintended changes; tools/make_golden.py writes them.

``python tools/make_golden.py`` adds those of new methods, ``python tools/make_golden.py NAME``
updates those of a method.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden import GOLDEN, golden_cases, golden_result


@pytest.mark.parametrize("key", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_result_matches_the_stored_one(key):
    assert key in golden_cases(), f"there is no such setting: delete {key}.json"
    stored = json.loads((GOLDEN / f"{key}.json").read_text())
    estimator = golden_cases()[key]
    result = golden_result(estimator)
    assert stored.keys() == result.keys()
    # Other processors or versions of libsvm change a result about as much as single precision does.
    tolerance = 2.0 * estimator.float32_tolerance
    for name, values in stored.items():
        np.testing.assert_allclose(result[name], values, atol=tolerance, err_msg=name)
