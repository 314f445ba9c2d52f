"""The learners of the MATLAB package reach its published results on SJAFFE (one of the ten
repetitions)."""

from __future__ import annotations

import numpy as np
import pytest
from published_sjaffe import PUBLISHED, disagreements, fold_scores, published_learner
from sjaffe import sjaffe

from ldlearn.learning import MeanLDL

# Twice the step and half the iterations end at the same place.
QUICK = {"AABP": {"learning_rate": 0.1, "max_iter": 3000}}


class Uniform(MeanLDL):
    def _predict(self, X):
        return np.full((len(X), len(self.mean_distribution_)), 1.0 / len(self.mean_distribution_))


@pytest.mark.parametrize("name", PUBLISHED)
def test_agrees_with_the_published_figures(name):
    sjaffe()  # skips if the data are missing
    learner = published_learner(name).set_params(**QUICK.get(name, {}))
    assert not disagreements(name, fold_scores(learner))


@pytest.mark.parametrize("baseline", [MeanLDL(), Uniform()], ids=["mean", "uniform"])
def test_constant_predictions_agree_with_no_other_method(baseline):
    sjaffe()
    scores = fold_scores(baseline)
    agreeing = {name for name in PUBLISHED if not disagreements(name, scores)}
    assert agreeing <= {"PTBayes"}


def test_published_pt_bayes_is_the_uniform_distribution():
    """Its densities overflow for every row: so a constant can, and does, agree with it."""
    X, D = sjaffe().X, sjaffe().D
    np.testing.assert_allclose(
        published_learner("PTBayes").fit(X[20:], D[20:]).predict(X[:20]), 1.0 / 6.0, atol=1e-9
    )
    assert not disagreements("PTBayes", fold_scores(Uniform()))
