"""FLE: descent, optimality of both steps, limit cases; reference values of the pseudo
distributions."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from sjaffe import assert_recovery, sjaffe
from sklearn.exceptions import ConvergenceWarning

from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.core.simplex import normalize_rows
from ldlearn.enhancement import FLE


def penalties(weights):
    return dict(zip(["alpha", "beta", "lam", "gamma"], weights, strict=True))


WEIGHTS = [(1.0, 1.0, 1.0, 1.0), (0.1, 0.01, 1.0, 0.1), (0.01, 3.0, 10.0, 1.0)]


def parts(X, Y):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z, pseudo_distributions(Z, Y == 1)


def objective(X, Y, S, P, Q, alpha, beta, lam, gamma):
    return (
        (np.sum((X - P @ Q) ** 2) + gamma * np.sum(Q**2)) / X.shape[1]
        + alpha * np.sum((P - Y) ** 2)
        + beta * np.sum((P - S) ** 2)
        + lam * np.sum((P.sum(axis=1) - 1.0) ** 2)
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_objective_never_increases_and_is_the_stated_one(weights):
    X, _, Y = make_problem()
    model = FLE(**penalties(weights)).fit(X, Y)
    assert np.all(np.diff(model.objective_path_) <= 1e-10)
    assert len(model.objective_path_) == model.n_iter_
    Z, S = parts(X, Y)
    expected = objective(Z, Y, S, model.coefficients_, model.prototypes_, *weights)
    assert model.objective_path_[-1] == pytest.approx(expected)
    np.testing.assert_allclose(model.label_distributions_, normalize_rows(model.coefficients_))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_solution_is_stationary(weights):
    X, _, Y = make_problem()
    alpha, beta, lam, gamma = weights
    model = FLE(**penalties(weights), tol=1e-14, max_iter=20_000).fit(X, Y)
    P, Q = model.coefficients_, model.prototypes_
    Z, S = parts(X, Y)
    m = Z.shape[1]
    R = P @ Q - Z
    gradient_q = (P.T @ R + gamma * Q) / m
    gradient_p = (
        R @ Q.T / m + alpha * (P - Y) + beta * (P - S) + lam * (P.sum(axis=1, keepdims=True) - 1.0)
    )
    np.testing.assert_allclose(gradient_q, 0.0, atol=1e-4)
    assert gradient_p.min() > -1e-4
    np.testing.assert_allclose(P * gradient_p, 0.0, atol=1e-4)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_not_above_multiplicative_updates(weights):
    X, _, Y = make_problem()
    alpha, beta, lam, gamma = weights
    Z, S = parts(X, Y)
    scaled = Z / np.sqrt(Z.shape[1])
    P, c = S.copy(), Y.shape[1]
    path = []
    for _ in range(60):
        Q = np.linalg.solve(P.T @ P + gamma * np.eye(c), P.T @ scaled)
        A, B = scaled @ Q.T, Q @ Q.T
        up = np.maximum(A, 0) + P @ np.maximum(-B, 0) + alpha * Y + beta * S + lam
        down = (
            np.maximum(-A, 0)
            + P @ np.maximum(B, 0)
            + (alpha + beta) * P
            + lam * P.sum(axis=1, keepdims=True)
        )
        P = P * np.sqrt(up / down)
        path.append(
            objective(scaled * np.sqrt(Z.shape[1]), Y, S, P, Q * np.sqrt(Z.shape[1]), *weights)
        )
    assert np.all(np.diff(path) <= 1e-9)
    assert FLE(**penalties(weights), tol=1e-9, max_iter=5000).fit(X, Y).objective_path_[-1] <= path[
        -1
    ] * (1.0 + 1e-3)


def test_limits():
    X, _, Y = make_problem()
    _, S = parts(X, Y)
    np.testing.assert_allclose(FLE(alpha=1e6).fit(X, Y).coefficients_, Y, atol=1e-4)
    np.testing.assert_allclose(FLE(beta=1e6).fit_enhance(X, Y), S, atol=1e-4)
    sums = FLE(lam=1e6).fit(X, Y).coefficients_.sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=1e-4)
    assert np.abs(FLE().fit(X, Y).coefficients_.sum(axis=1) - 1.0).max() > 0.05


def test_invariant_to_duplicated_features():
    X, _, Y = make_problem()
    np.testing.assert_allclose(
        FLE().fit_enhance(np.hstack([X] * 3), Y), FLE().fit_enhance(X, Y), atol=1e-10
    )


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_stops_at_the_first_decrease_below_tol(tol):
    X, _, Y = make_problem()
    path = (
        FLE(alpha=0.1, beta=0.01, lam=1.0, gamma=0.1, tol=tol, max_iter=5000)
        .fit(X, Y)
        .objective_path_
    )
    falls = -np.diff(path) / path[1:]
    assert len(falls) >= 2
    assert falls[-1] <= tol
    assert (falls[:-1] > tol).all()


def test_default_tolerance_is_sufficient():
    X, _, Y = make_problem()
    for weights in WEIGHTS:
        default, strict = (
            FLE(**penalties(weights)).fit(X, Y),
            FLE(**penalties(weights), tol=1e-12, max_iter=50_000).fit(X, Y),
        )
        assert default.objective_ <= strict.objective_ * (1.0 + 1e-4)
        np.testing.assert_allclose(
            default.label_distributions_, strict.label_distributions_, atol=0.01
        )


def test_too_few_iterations_trigger_a_warning():
    X, _, Y = make_problem()
    with pytest.warns(ConvergenceWarning, match="FLE stopped after 2 iterations"):
        FLE(max_iter=2, tol=1e-12).fit(X, Y)


def test_reference_values_of_the_pseudo_distributions():
    data = sjaffe()
    P = pseudo_distributions(data.Z, data.Y == 1)
    assert_recovery(P, ".1030 .4392 .9393 .0640 .9486 .8525")
