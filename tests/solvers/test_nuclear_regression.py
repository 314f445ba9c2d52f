"""Nuclear-norm regression: generic solver, monotone objective, limit cases."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from ldlearn.solvers.nuclear_regression import nuclear_regression


def problem(seed=0, n=30, m=6, c=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.geomspace(1.0, 5.0, m)
    T = X @ np.outer(rng.normal(size=m), rng.normal(size=c)) + rng.normal(size=(n, c)) + 2.0
    return X - X.mean(axis=0), T


def squares(T):
    return lambda Z: (float(np.sum((Z - T) ** 2)), 2.0 * (Z - T))


def start(X, T):
    return np.zeros((X.shape[1], T.shape[1])), np.zeros(T.shape[1])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [1.0, 100.0])
def test_agrees_with_a_generic_solver(fit_intercept, weight):
    X, T = problem()
    W, b = cp.Variable((6, 4)), cp.Variable((1, 4))
    residual = X @ W + np.ones((30, 1)) @ b * fit_intercept - T
    lowest = cp.Problem(cp.Minimize(cp.sum_squares(residual) + weight * cp.normNuc(W))).solve(
        solver=cp.CLARABEL
    )
    fit = nuclear_regression(
        X,
        squares(T),
        weight,
        start(X, T),
        curvature=2.0,
        fit_intercept=fit_intercept,
        tol=1e-12,
        max_iter=5000,
    )
    assert fit.converged
    assert fit.objective == pytest.approx(lowest, rel=1e-6)
    np.testing.assert_allclose(fit.coef, W.value, atol=1e-3)
    np.testing.assert_allclose(fit.scores, X @ fit.coef + fit.intercept, atol=1e-9)
    assert (fit.intercept == 0).all() or fit_intercept


def test_objective_never_increases():
    X, T = problem(1)
    values = [
        nuclear_regression(
            X, squares(T), 10.0, start(X, T), curvature=2.0, tol=0.0, max_iter=k
        ).objective
        for k in range(1, 40)
    ]
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert not nuclear_regression(
        X, squares(T), 10.0, start(X, T), curvature=2.0, max_iter=2
    ).converged


def test_penalty_limits():
    X, T = problem(2)
    largest = np.linalg.norm(2.0 * X.T @ (T - T.mean(axis=0)), 2)
    above, below = (
        nuclear_regression(X, squares(T), factor * largest, start(X, T), curvature=2.0).coef
        for factor in (1.01, 0.9)
    )
    np.testing.assert_allclose(above, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(below) == 1
    plain = nuclear_regression(
        X, squares(T), 0.0, start(X, T), curvature=2.0, tol=1e-14, max_iter=10_000
    )
    np.testing.assert_allclose(
        plain.coef, np.linalg.lstsq(X, T - T.mean(axis=0), rcond=None)[0], atol=1e-5
    )


def test_features_that_are_all_zero():
    _, T = problem(3)
    fit = nuclear_regression(
        np.zeros((30, 6)), squares(T), 1.0, start(np.zeros((30, 6)), T), curvature=2.0
    )
    np.testing.assert_allclose(fit.coef, 0.0)
    np.testing.assert_allclose(fit.intercept, T.mean(axis=0), atol=1e-3)
