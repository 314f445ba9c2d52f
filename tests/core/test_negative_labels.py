"""The mean number of positive labels, and the posterior mean that mixes recovery and prediction."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.core.negative_labels import mean_positives, mix_with_prediction
from ldlearn.core.targets import count_positives


def test_mixture_is_the_posterior_mean_of_dirichlet_multinomial_votes():
    rng = np.random.default_rng(0)
    kappa, n_votes, p = 3.0, 4, np.array([0.5, 0.3, 0.2])
    d = rng.dirichlet(kappa * p, size=400_000)
    votes = rng.multinomial(n_votes, d)
    seen = (votes == [2, 2, 0]).all(axis=1)
    expected = mix_with_prediction(np.array([0.5, 0.5, 0.0]), p, kappa, n_votes)
    np.testing.assert_allclose(d[seen].mean(axis=0), expected, atol=0.005)


def test_mean_number_of_positives_respects_sample_weights_and_unknown_labels():
    Y = np.array([[True, False], [True, True], [False, True]])
    weights = np.array([2.0, 1.0, 0.0])
    assert mean_positives(*count_positives(Y, None, weights), 3.0) == pytest.approx(4 / 3)
    observed = np.array([[True, False], [True, True], [True, True]])
    # The second label is positive in both rows in which it is observed: its rate is 2.5 / 3.
    assert mean_positives(*count_positives(Y, observed), 3.0) == pytest.approx((4 + 2.5 / 3) / 3)
