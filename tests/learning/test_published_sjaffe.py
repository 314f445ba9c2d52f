"""The learners of the MATLAB package reach its published results on SJAFFE (one of the ten repetitions)."""

from __future__ import annotations

import numpy as np
import pytest
from published_sjaffe import PUBLISHED, deviations, fold_scores, published_learner
from sjaffe import sjaffe

# Twice the step and half the iterations end at the same place.
QUICK = {"AABP": {"learning_rate": 0.1, "max_iter": 3000}}


@pytest.mark.parametrize("name", PUBLISHED)
def test_within_two_standard_deviations(name):
    sjaffe()  # skips where the data is absent
    learner = published_learner(name).set_params(**QUICK.get(name, {}))
    found = deviations(name, fold_scores(learner))
    assert (np.abs(found) < 2.0).all(), f"{name}: {found.round(2)}"
