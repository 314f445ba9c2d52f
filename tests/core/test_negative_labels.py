"""Moments of the number of positive labels, and the posterior mean that mixes recovery and prediction."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.core.negative_labels import PositiveLabels, count_moments, mix_distributions, prediction_weight


def test_mixture_is_the_posterior_mean_of_dirichlet_multinomial_votes():
    rng = np.random.default_rng(0)
    kappa, n_votes, p = 3.0, 4, np.array([0.5, 0.3, 0.2])
    d = rng.dirichlet(kappa * p, size=400_000)
    votes = rng.multinomial(n_votes, d)
    seen = (votes == [2, 2, 0]).all(axis=1)
    expected = mix_distributions(np.array([0.5, 0.5, 0.0]), p, prediction_weight(kappa, n_votes))
    np.testing.assert_allclose(d[seen].mean(axis=0), expected, atol=0.005)


def test_dispersion_is_0_for_a_fixed_number_and_1_for_independent_labels():
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.5, 0.7, 0.3])
    independent = PositiveLabels.from_moments(*count_moments(rng.random((50_000, 4)) < chances))
    assert independent.dispersion == pytest.approx(1.0, abs=0.02)
    assert independent.per_row == pytest.approx(chances.sum(), abs=0.02)
    np.testing.assert_allclose(independent.shares, chances / chances.sum(), atol=0.01)
    assert not independent.is_selection
    two = PositiveLabels.from_moments(
        *count_moments(rng.permuted(np.tile([True, True, False, False], (200, 1)), axis=1))
    )
    assert two.dispersion == pytest.approx(0.0, abs=1e-12)
    assert two.is_selection


def test_constant_labels_are_not_a_selection():
    assert not PositiveLabels.from_moments(*count_moments(np.ones((5, 3), dtype=bool))).is_selection


def test_sample_weights_and_unknown_labels():
    Y = np.array([[True, False], [True, True], [False, True]])
    weighted, repeated = count_moments(Y, None, np.array([2.0, 1.0, 0.0])), count_moments(Y[[0, 0, 1]])
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other)
    observed = np.array([[True, False], [True, True], [True, True]])
    assert count_moments(Y, observed)[1][1] == pytest.approx(2 + 2.5 / 3)


def test_kappa_is_given_or_relative_to_the_number_of_positive_labels():
    selection, others = (PositiveLabels(2.0, np.full(4, 0.25), dispersion) for dispersion in (0.3, 0.9))
    assert [selection.concentration(zeros) for zeros in ("none", "less", 3.0)] == [0.0, 4.0, 3.0]
    assert [others.concentration(zeros) for zeros in ("none", "less", 3.0)] == [0.0, 0.5, 3.0]
