"""LALOT: gradient through the transport, exact step in K, limits of the temperature."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from ldlearn.learning import LALOT, MeanLDL
from ldlearn.learning.lalot import _label_distances, _metric_step, _TransportLoss


def make_problem(n=25, m=3, c=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(X @ rng.normal(size=(m, c)) + 0.3 * rng.normal(size=(n, c)))
    D[:, 0][D[:, 0] < 0.3] = 0.0
    return X, D / D.sum(axis=1, keepdims=True)


STOPPED_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def label_cost(K):
    M = _label_distances(K)
    return M / M.max()


@pytest.mark.parametrize("lam", [0.5, 10.0, 80.0])
def test_gradient_by_differences_of_the_regularised_objective(lam):
    """In both domains: lam = 80 uses logarithms."""
    X, D = make_problem(n=8)
    M = label_cost(D.T @ D)
    rng = np.random.default_rng(1)
    at = [rng.normal(size=(3, 4)), rng.normal(size=4)]
    directions = [rng.normal(size=(3, 4)), rng.normal(size=4)]

    def moved(step):
        loss = _TransportLoss(X, D, M, np.ones(len(D)), lam, l2=0.3)
        return loss(*(a + step * d for a, d in zip(at, directions, strict=True)))[0]

    _, gradients = _TransportLoss(X, D, M, np.ones(len(D)), lam, l2=0.3)(*at)
    slope = sum(float((g * d).sum()) for g, d in zip(gradients, directions, strict=True))
    assert (moved(1e-4) - moved(-1e-4)) / 2e-4 == pytest.approx(slope, rel=1e-4)


def test_later_call_does_not_depend_on_the_earlier_ones():
    X, D = make_problem()
    loss = _TransportLoss(X, D, label_cost(D.T @ D), np.ones(len(D)), 15.0)
    rng = np.random.default_rng(0)
    at = [rng.normal(size=(3, 4)), rng.normal(size=4)]
    fresh = loss(*at)
    loss(5.0 * at[0], -at[1])
    again = loss(*at)
    assert again[0] == pytest.approx(fresh[0], abs=1e-8)
    np.testing.assert_allclose(again[1][0], fresh[1][0], atol=1e-5)


def test_step_in_k_is_the_minimum_over_semi_definite_matrices():
    rng = np.random.default_rng(0)
    plan = rng.uniform(size=(4, 4))
    K0, C = np.diag([0.5, 0.3, 0.2, 0.1]), 2.0
    K = _metric_step(plan, K0, C)
    free = cp.Variable((4, 4), PSD=True)
    distances = sum(
        plan[a, b] * (free[a, a] + free[b, b] - 2 * free[a, b]) for a in range(4) for b in range(4)
    )
    cp.Problem(cp.Minimize(distances + 0.5 * C * cp.sum_squares(free - K0))).solve(
        solver=cp.CLARABEL
    )
    np.testing.assert_allclose(K, free.value, atol=1e-4)
    assert np.linalg.eigvalsh(K)[0] >= -1e-12
    assert np.linalg.matrix_rank(K, tol=1e-9) < 4  # the constraint is active


def test_costs_are_squared_distances():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    np.testing.assert_allclose(
        _label_distances(points @ points.T), [[0, 25, 1], [25, 0, 18], [1, 18, 0]]
    )
    np.testing.assert_array_equal(_label_distances(np.ones((2, 2))), 0.0)


def test_limits_of_lam():
    X, D = make_problem(n=60)
    scores = [LALOT(lam=lam, l2=0.01).fit(X, D).score(X, D) for lam in (0.2, 5.0, 40.0)]
    assert scores[0] < scores[1] < scores[2]
    np.testing.assert_allclose(LALOT(lam=0.2, l2=0.01).fit(X, D).predict(X), 0.25, atol=0.05)
    assert scores[2] > MeanLDL().fit(X, D).score(X, D) + 0.1


def test_small_lam_has_a_known_minimum():
    """As lam falls the plan tends to h d', so that the best h is proportional to exp(-lam M d)."""
    d = np.array([[0.7, 0.2, 0.1]])
    D = np.repeat(d, 6, axis=0)
    X = np.zeros((6, 1))
    model = LALOT(lam=0.01, C=1e6, steps=100, tol=1e-10).fit(X, D)
    expected = np.exp(-0.01 * label_cost(d.T @ d) @ d[0])
    np.testing.assert_allclose(model.predict(X)[0], expected / expected.sum(), atol=1e-5)


def test_fitted_costs_are_those_of_k():
    X, D = make_problem()
    model = LALOT(C=5.0).fit(X, D)
    np.testing.assert_allclose(
        model.cost_, _label_distances(model.K_) / _label_distances(D.T @ D).max()
    )
    assert np.linalg.eigvalsh(model.K_)[0] > -1e-8
    assert np.abs(model.cost_ - label_cost(D.T @ D)).max() > 1e-3
    stiff = LALOT(C=1e9).fit(X, D)
    np.testing.assert_allclose(stiff.cost_, label_cost(D.T @ D), atol=1e-6)


@STOPPED_EARLY
def test_gradient_vanishes_at_convergence():
    X, D = make_problem()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LALOT(lam=10.0, C=1e9, l2=0.2, steps=500, max_iter=3, tol=1e-13).fit(X, D)
    _, gradients = _TransportLoss(X, D, model.cost_, np.ones(len(D)), 10.0, l2=0.2)(
        model.coef_.T, model.intercept_
    )
    assert max(np.abs(gradient).max() for gradient in gradients) < 1e-3


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_rounds_never_increase_the_stated_objective(C):
    """The last value of the path, recomputed from the fitted weights and the kernel of the round
    before."""
    X, D = make_problem(n=40)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LALOT(lam=5.0, C=C, l2=0.1, tol=1e-6).fit(X, D)
    path = model.objective_path_
    assert model.converged_
    assert len(path) == model.n_iter_ > 2
    assert (np.diff(path) <= 1e-8 * np.abs(path[0])).all()
    K0 = D.T @ D
    unit = _label_distances(K0).max()
    transport, _ = _TransportLoss(X, D, model.cost_, np.ones(len(D)), 5.0, l2=0.1)(
        model.coef_.T, model.intercept_
    )
    stated = transport + 0.5 * C / unit * np.sum((model.K_ - K0) ** 2)
    assert stated <= path[-1] + 1e-8 * abs(path[-1])  # the last step in K lowers it once more
    assert stated == pytest.approx(path[-1], rel=1e-4)


def test_without_intercept():
    X, D = make_problem()
    np.testing.assert_array_equal(LALOT(fit_intercept=False).fit(X, D).intercept_, 0.0)
