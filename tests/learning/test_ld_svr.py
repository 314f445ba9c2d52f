"""LDSVR: convex solver, kernel ridge regression as a limit, insensitive zone."""

import cvxpy
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import expit, logit

from ldlearn.learning import LDSVR, MeanLDL


def make_problem(n=25, c=3, seed=0):
    """Without degrees small enough to be clipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    D = np.exp(np.abs(X) @ rng.normal(size=(2, c)) + 0.3 * rng.normal(size=(n, c)))
    return X, 0.8 * D / D.sum(axis=1, keepdims=True) + 0.2 / c


def kernel(X, sigma):
    return np.exp(-(cdist(X, X) ** 2) / (2 * sigma**2))


@pytest.mark.parametrize("weighted", [False, True])
def test_minimum_matches_a_convex_solver(weighted):
    X, D = make_problem()
    weights = np.arange(1.0, 26.0) / 10 if weighted else None
    model = LDSVR(C=20.0, epsilon=0.15, sigma=0.7, tol=1e-12).fit(X, D, sample_weight=weights)
    counts = np.ones(25) if weights is None else weights
    root = np.linalg.cholesky(kernel(X, 0.7) + 1e-12 * np.eye(25))
    theta, b = cvxpy.Variable((25, 3)), cvxpy.Variable((1, 3))
    errors = root @ theta + np.ones((25, 1)) @ b - logit(D)
    excess = cvxpy.pos(cvxpy.norm(errors, axis=1) / 4 - 0.15)
    objective = cvxpy.sum_squares(theta) / 2 + 20.0 * cvxpy.sum(
        cvxpy.multiply(counts, cvxpy.square(excess))
    )
    value = cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL)
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    scores = root @ theta.value + b.value
    expected = expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-3)


def test_without_an_insensitive_zone_it_is_kernel_ridge_regression():
    X, D = make_problem()
    model = LDSVR(C=2.0, epsilon=0.0, tol=1e-13).fit(X, D)
    assert model.sigma_ == pytest.approx(cdist(X, X).mean())
    # Zero gradients: K beta + 8 / C beta + b = targets, and beta sums to 0.
    system = np.block(
        [
            [kernel(X, model.sigma_) + 4.0 * np.eye(25), np.ones((25, 1))],
            [np.ones((1, 25)), np.zeros((1, 1))],
        ]
    )
    solution = np.linalg.solve(system, np.vstack([logit(D), np.zeros((1, 3))]))
    np.testing.assert_allclose(model.dual_coef_, solution[:-1], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, solution[-1], atol=1e-4)


def test_errors_within_the_zone_have_no_loss():
    X, D = make_problem()
    model = LDSVR(epsilon=10.0).fit(X, D)
    assert model.objective_ == 0.0
    assert np.ptp(model.predict(X), axis=0).max() == 0.0


def test_zeros_are_clipped_and_stay_the_smallest():
    X = np.array([[0.0], [10.0]])
    D = np.array([[0.0, 0.001, 0.999], [0.6, 0.3, 0.1]])
    P = LDSVR(C=1e6, epsilon=0.0, sigma=1.0).fit(X, D).predict(X)
    assert P[0, 0] == pytest.approx(P[0, 1], rel=1e-3)
    assert P[0, 0] == pytest.approx((1 / 30) / (0.999 + 2 / 30), rel=1e-3)
    np.testing.assert_allclose(P[1], D[1], rtol=1e-3)


def test_nonlinear_relations_are_learned():
    X, D = make_problem(n=200)
    train, test = slice(0, 120), slice(120, 200)
    constant = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    assert LDSVR().fit(X[train], D[train]).score(X[test], D[test]) > constant + 0.02
