"""LEMLL: generic solver, optimality conditions, limit cases."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
from estimator_cases import make_problem
from sklearn.exceptions import ConvergenceWarning

from ldlearn.core.kernels import mean_distance, rbf_kernel
from ldlearn.core.reconstruction import reconstruction_laplacian, reconstruction_weights
from ldlearn.enhancement import LEMLL


def penalties(weights):
    return dict(zip(["C", "reconstruction_penalty", "label_penalty"], weights, strict=True))


WEIGHTS = [(1.0, 1.0, 1.0), (16.0, 0.25, 0.25), (0.25, 4.0, 1.0)]


def pieces(X, k=5):
    return rbf_kernel(X, width=mean_distance(X)), reconstruction_laplacian(
        reconstruction_weights(X, k)
    ).toarray()


def objective(model, X, Y, k=5):
    K, M = pieces(X, k)
    U, B = model.numerical_labels_, model.dual_coef_
    error = np.linalg.norm(U - K @ B - model.intercept_, axis=1)
    return (
        0.5 * np.sum(B * (K @ B))
        + model.C * np.sum(np.maximum(error - model.eps, 0.0) ** 2)
        + model.reconstruction_penalty * np.sum(U * (M @ U))
        + model.label_penalty * np.sum((U - (2.0 * Y - 1.0)) ** 2)
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_agrees_with_a_generic_solver(weights):
    X, _, Y = make_problem(n=20, c=3)
    K, M = pieces(X)
    U, B, b = cp.Variable((20, 3)), cp.Variable((20, 3)), cp.Variable((1, 3))
    rows = cp.norm(U - K @ B - np.ones((20, 1)) @ b, 2, axis=1)
    root_k, root_m = (np.linalg.cholesky(A + 1e-10 * np.eye(20)).T for A in (K, M))
    l1, l2, l3 = weights
    value = (
        0.5 * cp.sum_squares(root_k @ B)
        + l1 * cp.sum_squares(cp.pos(rows - 0.2))
        + l2 * cp.sum_squares(root_m @ U)
        + l3 * cp.sum_squares(U - (2.0 * Y - 1.0))
    )
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver=cp.CLARABEL)
    model = LEMLL(**penalties(weights), n_neighbors=5, tol=1e-7, max_iter=1000).fit(X, Y)
    assert model.objective_ == pytest.approx(objective(model, X, Y), rel=1e-7)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-5)
    assert model.objective_ - model.gap_ <= problem.value + 1e-5
    np.testing.assert_allclose(model.numerical_labels_, U.value, atol=5e-3)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_stationarity(weights):
    X, _, Y = make_problem()
    K, M = pieces(X)
    model = LEMLL(**penalties(weights), n_neighbors=5, tol=1e-10, max_iter=2000).fit(X, Y)
    l1, l2, l3 = weights
    U, B = model.numerical_labels_, model.dual_coef_
    errors = U - K @ B - model.intercept_
    lengths = np.linalg.norm(errors, axis=1)[:, None]
    pull = 2.0 * l1 * np.maximum(1.0 - model.eps / lengths, 0.0)
    np.testing.assert_allclose(B, pull * errors, atol=2e-3)
    np.testing.assert_allclose(B.sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(
        2.0 * l2 * M @ U + 2.0 * l3 * (U - (2.0 * Y - 1.0)) + B, 0.0, atol=1e-7
    )


@pytest.mark.parametrize("weights", [(16.0, 1.0, 0.25), (1.0, 1.0, 1.0)])
def test_dual_values_increase_to_the_minimum(weights):
    """The dual value is that of the last iterate, not the best so far: each step of the solver must
    raise it."""
    X, _, Y = make_problem()
    lowest = (
        LEMLL(**penalties(weights), n_neighbors=5, tol=1e-12, max_iter=5000).fit(X, Y).objective_
    )
    duals = []
    for max_iter in range(1, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LEMLL(**penalties(weights), n_neighbors=5, max_iter=max_iter, tol=1e-12).fit(
                X, Y
            )
        assert model.objective_ == pytest.approx(objective(model, X, Y), rel=1e-7)
        assert model.objective_ == model.objective_path_.min()
        assert model.objective_path_.min() >= lowest * (1.0 - 1e-9)
        duals.append(model.objective_ - model.gap_)
    assert np.all(np.diff(duals) >= -1e-9 * lowest)
    assert duals[-1] <= lowest * (1.0 + 1e-9)
    assert lowest - duals[-1] < (lowest - duals[0]) / 10


def test_not_above_alternating_steps():
    X, _, Y = make_problem()
    K, M = pieces(X)
    signs = 2.0 * Y - 1.0
    n, c = Y.shape
    U, B, b = signs, np.zeros((n, c)), np.zeros(c)
    for _ in range(
        100
    ):  # kernel ridge with the errors shortened by eps, then U; both lower the objective
        E = U - K @ B - b
        Z = E * np.minimum(1.0, 0.2 / np.linalg.norm(E, axis=1))[:, None]
        system = np.block(
            [[K + 0.5 * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
        )
        solved = np.linalg.solve(system, np.vstack([U - Z, np.zeros((1, c))]))
        B, b = solved[:n], solved[n]
        U = np.linalg.solve(2.0 * M + 4.0 * np.eye(n), 2.0 * (K @ B + b + Z) + 2.0 * signs)
    model = LEMLL(n_neighbors=5, tol=1e-8).fit(X, Y)
    ours, gap = model.objective_, model.gap_
    model.numerical_labels_, model.dual_coef_, model.intercept_ = U, B, b
    assert ours - gap <= objective(model, X, Y)
    assert ours == pytest.approx(objective(model, X, Y), rel=1e-6)


def test_limits():
    X, _, Y = make_problem()
    signs = 2.0 * Y - 1.0
    _, M = pieces(X)
    faithful = LEMLL(label_penalty=1e6, n_neighbors=5).fit(X, Y)
    np.testing.assert_allclose(faithful.numerical_labels_, signs, atol=1e-4)
    plain = LEMLL(C=0.0, reconstruction_penalty=0.0, n_neighbors=5).fit(X, Y)
    np.testing.assert_allclose(plain.numerical_labels_, signs, atol=1e-9)
    smooth = LEMLL(C=0.0, reconstruction_penalty=3.0, label_penalty=2.0, n_neighbors=5).fit(X, Y)
    expected = np.linalg.solve(2.0 * np.eye(len(X)) + 3.0 * M, 2.0 * signs)
    np.testing.assert_allclose(smooth.numerical_labels_, expected, atol=1e-7)
    assert smooth.objective_ == pytest.approx(objective(smooth, X, Y))


def test_constant_label_keeps_its_intercept():
    X, _, Y = make_problem()
    Y[:, 1], Y[:, 3] = 1, 0
    U = LEMLL(n_neighbors=5).fit(X, Y).numerical_labels_
    np.testing.assert_allclose(U[:, 1], 1.0, atol=1e-6)
    np.testing.assert_allclose(U[:, 3], -1.0, atol=1e-6)


def test_memory_is_checked_first(monkeypatch):
    X, _, Y = make_problem()
    monkeypatch.setattr("ldlearn.core.resources.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"LEMLL with its 40 x 40 kernel.*GLLE"):
        LEMLL().fit(X, Y)


def test_number_of_neighbours_is_checked():
    X, _, Y = make_problem()
    with pytest.raises(ValueError, match="n_neighbors=40 and n_samples=40"):
        LEMLL(n_neighbors=40).fit(X, Y)


def test_too_few_iterations_trigger_a_warning():
    X, _, Y = make_problem()
    with pytest.warns(ConvergenceWarning, match="LEMLL stopped after 1 iteration "):
        LEMLL(max_iter=1, tol=1e-9).fit(X, Y)
