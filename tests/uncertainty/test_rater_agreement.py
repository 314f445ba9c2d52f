"""Overdispersion of votes: the concentration estimated from the number of raters and 0/1 labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ldlearn.uncertainty.vote_intervals import (
    _excess_variance,
    _probability_of_no_vote,
    find_concentration,
)

DEGREES = np.random.default_rng(0).dirichlet([0.8] * 4, size=50).ravel()
positive = st.floats(0.1, 100.0)


@given(R=st.integers(1, 50), kappa=positive, p=st.floats(0.01, 0.99))
def test_probability_of_no_vote_is_beta_binomial(R, kappa, p):
    scipy_value = stats.betabinom.pmf(0, R, kappa * p, kappa * (1 - p))
    np.testing.assert_allclose(
        _probability_of_no_vote(np.array([p]), R, kappa), [scipy_value], rtol=1e-6, atol=1e-12
    )


@given(R=st.integers(2, 50), kappa=positive)
def test_probability_of_no_vote_decreases_with_concentration(R, kappa):
    some, more, none = (_probability_of_no_vote(DEGREES, R, k) for k in (kappa, kappa / 2, 1e4))
    assert (some <= more + 1e-12).all()
    assert (none <= some + 1e-12).all()
    np.testing.assert_allclose(none, (1 - DEGREES) ** R, atol=R * R / 1e4)


@given(R=st.integers(2, 50), kappa=positive)
def test_concentration_is_recovered_from_label_frequency(R, kappa):
    label_frequency = 1 - _probability_of_no_vote(DEGREES, R, kappa).mean()
    assert find_concentration(DEGREES, label_frequency, R) == pytest.approx(kappa, rel=1e-3)


def test_concentration_limits():
    assert find_concentration(DEGREES, 0.9, 3) == np.inf
    assert find_concentration(DEGREES, 0.0, 3) < 0.1
    np.testing.assert_allclose(_excess_variance(np.array([5.0]), np.inf), [1.0])


@given(R=st.floats(1.0, 50.0), kappa=positive, p=st.floats(0.01, 1.0))
def test_excess_variance_is_that_of_gamma_poisson_votes(R, kappa, p):
    """numpy's negative binomial with shape kappa p, whose votes are R p on average."""
    votes = stats.nbinom(kappa * p, 1 / (1 + R / kappa))
    rate = kappa * np.log1p(R / kappa)
    assert votes.pmf(0) == pytest.approx(np.exp(-rate * p))
    assert votes.var() / votes.mean() ** 2 == pytest.approx(
        float(_excess_variance(rate, kappa)) / (rate * p)
    )


def test_default_excess_variance_without_n_raters():
    rates = np.array([[3.0], [30.0]])
    assert (_excess_variance(rates, None) > 1.1).all()
    assert (_excess_variance(rates, None) < 1.3).all()
