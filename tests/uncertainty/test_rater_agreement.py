"""What the number of raters adds to 0/1 labels: how much they agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ldlearn.uncertainty.vote_intervals import excess_variance, find_concentration, probability_of_no_vote

SHARES = np.random.default_rng(0).dirichlet([0.8] * 4, size=50).ravel()
positive = st.floats(0.1, 100.0)


@given(R=st.integers(1, 50), kappa=positive, p=st.floats(0.01, 0.99))
def test_the_probability_of_no_vote_is_that_of_a_beta_binomial(R, kappa, p):
    theirs = stats.betabinom.pmf(0, R, kappa * p, kappa * (1 - p))
    np.testing.assert_allclose(probability_of_no_vote(np.array([p]), R, kappa), [theirs], rtol=1e-6, atol=1e-12)


@given(R=st.integers(2, 50), kappa=positive)
def test_raters_who_agree_tick_fewer_labels_and_independent_ones_tick_most(R, kappa):
    some, more, none = (probability_of_no_vote(SHARES, R, k) for k in (kappa, kappa / 2, 1e4))
    assert (some <= more + 1e-12).all()
    assert (none <= some + 1e-12).all()
    np.testing.assert_allclose(none, (1 - SHARES) ** R, atol=R * R / 1e4)


@given(R=st.integers(2, 50), kappa=positive)
def test_ticks_and_raters_tell_the_concentration(R, kappa):
    ticks = 1 - probability_of_no_vote(SHARES, R, kappa).mean()
    assert find_concentration(SHARES, ticks, R) == pytest.approx(kappa, rel=1e-3)


def test_more_ticks_than_independent_raters_would_leave_mean_that_they_do_not_agree():
    assert find_concentration(SHARES, 0.9, 3) == np.inf
    assert find_concentration(SHARES, 0.0, 3) < 0.1
    np.testing.assert_allclose(excess_variance(np.array([5.0]), np.inf), [1.0])


@given(R=st.floats(1.0, 50.0), kappa=positive, p=st.floats(0.01, 1.0))
def test_the_excess_is_the_variance_of_gamma_poisson_votes(R, kappa, p):
    """numpy's negative binomial with shape kappa p, whose votes are R p on average."""
    votes = stats.nbinom(kappa * p, 1 / (1 + R / kappa))
    rate = kappa * np.log1p(R / kappa)
    assert votes.pmf(0) == pytest.approx(np.exp(-rate * p))
    assert votes.var() / votes.mean() ** 2 == pytest.approx(float(excess_variance(rate, kappa)) / (rate * p))


def test_of_raters_nobody_counted_a_little_agreement_is_assumed():
    rates = np.array([[3.0], [30.0]])
    assert (excess_variance(rates, None) > 1.1).all()
    assert (excess_variance(rates, None) < 1.3).all()
