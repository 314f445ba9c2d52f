"""SA-IIS: scalar equations, descent, convergence."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from ldlearn.core import softmax
from ldlearn.core.scaling import Scaling
from ldlearn.learning import SABFGS, SAIIS
from ldlearn.learning.sa_iis import _increasing_root, _interpolate, _IterativeScaling

STOPPED_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def unscaled(X, D):
    unscaled = Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    return _IterativeScaling(X, D, unscaled, fit_intercept=False, weights=None)


def excess(step, k, j, X, D, P):
    """The published scalar equation of weight (k, j), summed over the rows one by one."""
    lengths = np.abs(X).sum(axis=1)
    return np.sum(P[:, j] * X[:, k] * np.exp(step * np.sign(X[:, k]) * lengths)) - np.sum(
        D[:, j] * X[:, k]
    )


@pytest.mark.parametrize("sign", ["mixed", "non-negative"])
def test_each_step_solves_the_published_equation(sign):
    X, D, _ = make_problem(n=60)
    X = X if sign == "mixed" else np.abs(X)
    W = np.random.default_rng(3).normal(size=(4, 5))
    P = softmax(X @ W)
    step = unscaled(X, D).step(W)
    for k in range(4):
        for j in range(5):
            root = brentq(excess, -2.0, 2.0, args=(k, j, X, D, P), xtol=1e-14)
            assert step[k, j] == pytest.approx(root, abs=1e-7)


@STOPPED_EARLY
def test_constant_row_sums_have_a_closed_form():
    rng = np.random.default_rng(0)
    X, D = rng.dirichlet(np.ones(7), size=50), rng.dirichlet(np.ones(4), size=50)
    once = SAIIS(max_iter=1, fit_intercept=False, init="eye").fit(X, D)
    expected = np.log((X.T @ D) / (X.T @ softmax(X @ np.eye(7, 4))))
    np.testing.assert_allclose(once.coef_.T - np.eye(7, 4), expected, atol=1e-9)


@STOPPED_EARLY
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.01, 1.0, 30.0]))
def test_loss_never_increases(seed, fit_intercept, with_outlier, scale):
    rng = np.random.default_rng(seed)
    X, D = scale * rng.normal(size=(30, 3)), rng.dirichlet(0.3 * np.ones(4), size=30)
    X[0] *= 100.0 if with_outlier else 1.0
    losses = SAIIS(max_iter=15, tol=0.0, fit_intercept=fit_intercept).fit(X, D).objective_path_
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("init", ["zeros", "eye"])
def test_converges_to_the_minimum_of_sa_bfgs(fit_intercept, init):
    X, D, _ = make_problem(n=80)
    best = SABFGS(l2=0.0, fit_intercept=fit_intercept, tol=1e-12).fit(X, D)
    slow = SAIIS(max_iter=20_000, tol=1e-13, fit_intercept=fit_intercept, init=init).fit(X, D)
    assert slow.objective_ == pytest.approx(-np.sum(D * np.log(best.predict(X))), rel=1e-8)
    np.testing.assert_allclose(slow.predict(X), best.predict(X), atol=1e-4)


def test_stops_at_the_tolerance():
    X, D, _ = make_problem()
    model = SAIIS(max_iter=2000, tol=1e-3).fit(X, D)
    shares = -np.diff(model.objective_path_) / model.objective_path_[1:]
    assert model.converged_
    assert model.n_iter_ == len(model.objective_path_) < 2000
    assert shares[-1] < 1e-3 <= shares[-2]


@STOPPED_EARLY
def test_label_without_mass_decreases_slowly():
    X, D, _ = make_problem()
    D = np.hstack([D, np.zeros((len(D), 1))])
    models = [SAIIS(max_iter=k, tol=0.0).fit(np.abs(X), D) for k in (1, 5, 50)]
    shares = [model.predict(np.abs(X))[:, -1].max() for model in models]
    assert 1e-6 > shares[0] > shares[1] > shares[2]
    assert np.isfinite(models[2].coef_).all()


@STOPPED_EARLY
def test_starts_from_the_mean_distribution():
    """The first step changes the constant prediction only for informative features."""
    D = np.random.default_rng(1).dirichlet(np.ones(3), size=40)
    P = SAIIS(max_iter=1).fit(np.zeros((40, 2)), D).predict(np.zeros((1, 2)))
    np.testing.assert_allclose(P[0], D.mean(axis=0), atol=1e-12)
    X, D, _ = make_problem()
    constant = -np.sum(D * np.log(D.mean(axis=0)))
    assert (SAIIS().fit(X, D).objective_path_ < constant).all()


def test_steps_are_limited():
    """A label without mass has no root: its step is 50 over the largest f, or 3 over half of the
    range of f."""
    D = np.tile([0.5, 0.5, 0.0], (6, 1))
    alike = np.full((6, 2), 2.0)
    np.testing.assert_allclose(unscaled(alike, D).step(np.zeros((2, 3)))[:, 2], -50.0 / 4.0)
    apart = np.outer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 1.0])
    np.testing.assert_allclose(unscaled(apart, D).step(np.zeros((2, 3)))[:, 2], -3.0 / 5.0)


@STOPPED_EARLY
def test_invariant_to_units_and_offsets():
    X, D, _ = make_problem()
    moved = X * [1e-6, 1.0, 1e7, 3.0] + [0.0, 1e6, 1.7e9, 2.0]
    straight = SAIIS(max_iter=20).fit(X, D).predict(X)
    np.testing.assert_allclose(SAIIS(max_iter=20).fit(moved, D).predict(moved), straight, atol=1e-6)


@pytest.mark.parametrize(
    "lengths", [np.array([3.0, 3.0 + 1e-15]), np.linspace(1, 9, 50), np.array([0.0, 1e-3, 80.0])]
)
def test_interpolated_exponentials(lengths):
    nodes, weights = _interpolate(lengths)
    half = max(np.ptp(lengths) / 2, 1e-3)
    for t in np.linspace(-3.0, 3.0, 7) / half:
        exact = np.exp(t * (lengths - lengths.mean()))
        np.testing.assert_allclose(
            weights @ np.exp(t * (nodes - lengths.mean())), exact, atol=1e-8 * exact.max()
        )


def test_roots_outside_the_range_are_clipped():
    shifts = np.array([-9.0, -0.5, 0.0, 0.7, 9.0])
    roots = _increasing_root(lambda x: (x**3 + x - shifts**3 - shifts, 3 * x**2 + 1), (5,), 2.0)
    np.testing.assert_allclose(roots, [-2.0, -0.5, 0.0, 0.7, 2.0], atol=1e-12)


@STOPPED_EARLY
def test_blocks_of_rows_give_the_same_result(monkeypatch):
    X, D, _ = make_problem()
    whole = SAIIS(max_iter=5).fit(X, D).coef_
    monkeypatch.setattr("ldlearn.core.scaling._BATCH_ENTRIES", 5 * 16 * 7)
    np.testing.assert_allclose(SAIIS(max_iter=5).fit(X, D).coef_, whole, rtol=1e-9, atol=1e-12)
