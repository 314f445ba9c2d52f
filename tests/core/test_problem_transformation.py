"""Draws of single-label examples, and the baseline."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from ldlearn.core.problem_transformation import clipped, draw_labels


@pytest.mark.parametrize("generator", [np.random.RandomState, np.random.default_rng])
def test_draws_have_the_stated_probabilities(generator):
    D = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    counts = draw_labels(D, 50_000, generator(1))
    assert counts.sum() == 50_000
    assert chisquare(counts.ravel(), 50_000 * D.ravel() / 6).pvalue > 1e-3


def test_draws_agree_with_drawing_a_row_and_then_a_label():
    D = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    rng = np.random.default_rng(0)
    one_by_one = np.zeros_like(D)
    for _ in range(20_000):
        row = rng.integers(2)
        one_by_one[row, np.searchsorted(np.cumsum(D[row]), rng.random(), side="right")] += 1
    at_once = draw_labels(D, 20_000, rng)
    np.testing.assert_allclose(at_once / 20_000, one_by_one / 20_000, atol=0.02)


def test_a_degree_of_zero_is_never_drawn():
    D = np.tile([0.0, 1.0, 0.0], (50, 1))
    assert (draw_labels(D, 1000, np.random.default_rng(0))[:, [0, 2]] == 0).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_baseline(seed, c):
    P = np.random.default_rng(seed).dirichlet(0.05 * np.ones(c), size=8)
    F = clipped(P)
    np.testing.assert_allclose(F.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert F.min() >= 1e-9 / (1 + c * 1e-9)
    np.testing.assert_allclose(F, P, atol=c * 1e-9)


def test_only_degrees_below_the_baseline_are_raised():
    np.testing.assert_allclose(clipped(np.array([[0.75, 0.25, 0.0]]), baseline=0.25), [[0.6, 0.2, 0.2]])
