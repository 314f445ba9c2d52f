"""SA-IIS: its scalar equations, its descent, its limit."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from ldlearn.core import softmax
from ldlearn.learning import SABFGS, SAIIS
from ldlearn.learning.sa_iis import _increasing_root, _interpolate, _Scaling


def excess(step, k, j, X, D, P):
    """The published scalar equation of weight (k, j), summed over the rows one by one."""
    lengths = np.abs(X).sum(axis=1)
    return np.sum(P[:, j] * X[:, k] * np.exp(step * np.sign(X[:, k]) * lengths)) - np.sum(D[:, j] * X[:, k])


@pytest.mark.parametrize("sign", ["mixed", "non-negative"])
def test_each_step_solves_the_published_equation(sign):
    X, D, _ = make_problem(n=60)
    X = X if sign == "mixed" else np.abs(X)
    W = np.random.default_rng(3).normal(size=(4, 5))
    P = softmax(X @ W)
    step = _Scaling(X, D).step(W)
    for k in range(4):
        for j in range(5):
            root = brentq(excess, -2.0, 2.0, args=(k, j, X, D, P), xtol=1e-14)
            assert step[k, j] == pytest.approx(root, abs=1e-7)


def test_constant_row_sums_have_a_closed_form():
    rng = np.random.default_rng(0)
    X, D = rng.dirichlet(np.ones(7), size=50), rng.dirichlet(np.ones(4), size=50)
    once = SAIIS(1, fit_intercept=False, init="eye").fit(X, D)
    expected = np.log((X.T @ D) / (X.T @ softmax(X @ np.eye(7, 4))))
    np.testing.assert_allclose(once.coef_ - np.eye(7, 4), expected, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.01, 1.0, 30.0]))
def test_the_loss_never_rises(seed, fit_intercept, with_outlier, scale):
    rng = np.random.default_rng(seed)
    X, D = scale * rng.normal(size=(30, 3)), rng.dirichlet(0.3 * np.ones(4), size=30)
    X[0] *= 100.0 if with_outlier else 1.0
    losses = SAIIS(15, tol=0.0, fit_intercept=fit_intercept).fit(X, D).loss_curve_
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("init", ["zeros", "eye"])
def test_converges_to_the_minimum_of_sa_bfgs(fit_intercept, init):
    X, D, _ = make_problem(n=80)
    best = SABFGS(l2=0.0, fit_intercept=fit_intercept, tol=1e-12).fit(X, D)
    slow = SAIIS(3000, tol=1e-11, fit_intercept=fit_intercept, init=init).fit(X, D)
    assert slow.loss_curve_[-1] == pytest.approx(best.loss_, rel=1e-8)
    np.testing.assert_allclose(slow.predict(X), best.predict(X), atol=1e-4)


def test_stops_at_the_tolerance():
    X, D, _ = make_problem()
    model = SAIIS(2000, tol=1e-3).fit(X, D)
    falls = -np.diff(model.loss_curve_)
    assert model.n_iter_ == len(falls) < 2000
    assert falls[-1] < 1e-3 <= falls[-2]


def test_a_label_without_mass_sinks_without_running_away():
    X, D, _ = make_problem()
    D = np.hstack([D, np.zeros((len(D), 1))])
    shares = [SAIIS(k).fit(np.abs(X), D).predict(np.abs(X))[:, -1].max() for k in (1, 5, 50)]
    assert shares[0] > shares[1] > shares[2]
    assert shares[2] < 1e-6
    assert np.isfinite(SAIIS(50).fit(np.abs(X), D).coef_).all()


def test_the_intercept_carries_the_mean_distribution():
    D = np.random.default_rng(1).dirichlet(np.ones(3), size=40)
    P = SAIIS(500).fit(np.zeros((40, 2)), D).predict(np.zeros((1, 2)))
    np.testing.assert_allclose(P[0], D.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("lengths", [np.array([3.0, 3.0 + 1e-15]), np.linspace(1, 9, 50), np.array([0.0, 1e-3, 80.0])])
def test_interpolated_exponentials(lengths):
    nodes, weights = _interpolate(lengths)
    half = max(np.ptp(lengths) / 2, 1e-3)
    for t in np.linspace(-3.0, 3.0, 7) / half:
        exact = np.exp(t * (lengths - lengths.mean()))
        np.testing.assert_allclose(weights @ np.exp(t * (nodes - lengths.mean())), exact, atol=1e-8 * exact.max())


def test_roots_outside_the_range_are_its_ends():
    shifts = np.array([-9.0, -0.5, 0.0, 0.7, 9.0])
    roots = _increasing_root(lambda x: (x**3 + x - shifts**3 - shifts, 3 * x**2 + 1), (5,), 2.0)
    np.testing.assert_allclose(roots, [-2.0, -0.5, 0.0, 0.7, 2.0], atol=1e-12)


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, D, _ = make_problem()
    whole = SAIIS(5).fit(X, D).coef_
    monkeypatch.setattr("ldlearn.learning.sa_iis._BLOCK_BYTES", 8 * 5 * 16 * 7)
    np.testing.assert_allclose(SAIIS(5).fit(X, D).coef_, whole, rtol=1e-10)
