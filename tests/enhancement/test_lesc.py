"""LESC: representation compared with a generic solver, limit cases, smoothing, reference values."""

from __future__ import annotations

import tracemalloc
import warnings

import cvxpy as cp
import numpy as np
import pytest
from estimator_cases import make_problem
from sjaffe import assert_recovery, sjaffe
from sklearn.exceptions import ConvergenceWarning

from ldlearn.core import binarize
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import softmax
from ldlearn.datasets import load_vader_tweets
from ldlearn.enhancement import LESC

EXACT = {
    "mu": 1.0,
    "rho": 1.0,
    "tol": 1e-7,
    "max_iter": 20_000,
}  # a constant penalty: the method then converges


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def representation(model):
    return model.basis_ @ model.coefficients_


def lrr_objective(Z, X, beta):
    return np.linalg.norm(Z, "nuc") + beta * np.linalg.norm(X.T - X.T @ Z, axis=0).sum()


@pytest.mark.parametrize("beta", [0.2, 0.6])
def test_representation_agrees_with_a_generic_solver(beta):
    X, _, Y = make_problem(n=12)
    A = standardized(X).T
    Z = cp.Variable((12, 12))
    problem = cp.Problem(cp.Minimize(cp.normNuc(Z) + beta * cp.sum(cp.norm(A - A @ Z, 2, axis=0))))
    problem.solve(solver=cp.CLARABEL)
    model = LESC(beta=beta, **EXACT).fit(X, Y)
    found = lrr_objective(representation(model), A.T, beta)
    assert found == pytest.approx(problem.value, rel=1e-5)
    assert found < 12 * beta * 2  # not the trivial Z = 0, E = X


@pytest.mark.parametrize("beta", [0.05, 0.3])
@pytest.mark.parametrize(
    "schedule", [{}, {"rho": 1.5}, {"mu": 1e-2, "rho": 1.02, "max_iter": 5000}]
)
def test_gap_is_valid_for_every_penalty_schedule(beta, schedule):
    X, _, Y = make_problem()
    exact = LESC(beta=beta, **EXACT).fit(X, Y)
    assert exact.objective_ == pytest.approx(
        lrr_objective(representation(exact), standardized(X), beta)
    )
    assert 0.0 <= exact.gap_ <= 1e-4 * exact.objective_
    model = LESC(beta=beta, **schedule).fit(X, Y)
    assert model.objective_ == pytest.approx(
        lrr_objective(representation(model), standardized(X), beta)
    )
    assert model.objective_ >= exact.objective_ - exact.gap_
    assert model.gap_ >= model.objective_ - exact.objective_


def test_gap_shows_that_the_published_schedule_is_not_optimal():
    """Below beta star the minimum is known: Z = 0, with the sum of norms as value."""
    data = load_vader_tweets()
    X, Y = np.asarray(data.X[:100], dtype=float), binarize(np.asarray(data.D[:100]))
    model = LESC().fit(X, Y)
    assert model.converged_
    assert model.beta < model.beta_star_
    lowest = model.beta * np.linalg.norm(feature_scaling(X).apply(X), axis=1).sum()
    assert model.objective_ > 1.05 * lowest
    assert model.gap_ >= model.objective_ - lowest
    assert np.linalg.norm(model.coefficients_) > 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # convergence is determined by the gap
        exact = LESC(mu=1e-3, rho=1.0, max_iter=1500).fit(X, Y)
    assert exact.objective_ == pytest.approx(lowest, rel=1e-3)
    assert exact.gap_ <= 1e-3 * lowest


def test_representation_is_zero_up_to_beta_star():
    X, _, Y = make_problem()
    star = LESC().fit(X, Y).beta_star_
    A = standardized(X)
    assert star == pytest.approx(
        1.0 / np.linalg.norm(A @ (A / np.linalg.norm(A, axis=1, keepdims=True)).T, 2)
    )
    below, above = (
        LESC(beta=0.99 * star, gamma=3.0, **EXACT).fit(X, Y),
        LESC(beta=1.05 * star, **EXACT).fit(X, Y),
    )
    np.testing.assert_allclose(representation(below), 0.0, atol=1e-5)
    np.testing.assert_allclose(below.label_distributions_, softmax(Y / 4.0), atol=1e-4)
    assert np.linalg.norm(representation(above)) > 0.05


def test_large_beta_gives_the_shape_interaction_matrix():
    X, _, Y = make_problem()
    U = np.linalg.svd(standardized(X), full_matrices=False)[0]
    np.testing.assert_allclose(representation(LESC(beta=100.0).fit(X, Y)), U @ U.T, atol=1e-4)


@pytest.mark.parametrize("orientation", ["stated", "released"])
def test_scores_solve_the_second_problem(orientation):
    X, _, Y = make_problem()
    model = LESC(beta=0.06, gamma=2.0, orientation=orientation).fit(X, Y)
    Z = representation(model)
    assert np.abs(Z - Z.T).max() > 0.01  # a larger beta makes Z symmetric, and the orientations one
    R = np.eye(len(X)) - (Z.T if orientation == "stated" else Z)
    expected = softmax(np.linalg.solve(np.eye(len(X)) + 2.0 * R.T @ R, Y.astype(float)))
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-8)


def test_without_smoothing_it_is_the_softmax_of_the_labels():
    X, _, Y = make_problem()
    np.testing.assert_allclose(
        LESC(gamma=0.0).fit_enhance(X, Y), softmax(Y.astype(float)), atol=1e-12
    )


def test_result_changes_by_about_the_tolerance():
    X, _, Y = make_problem()
    loose, strict = (LESC(beta=0.1, tol=tol).fit(X, Y) for tol in (1e-6, 1e-9))
    assert loose.n_iter_ < strict.n_iter_
    np.testing.assert_allclose(loose.label_distributions_, strict.label_distributions_, atol=1e-5)


def test_standardisation_can_be_disabled():
    X, _, Y = make_problem()
    X = X * [1.0, 10.0, 1.0, 1.0] + 5.0
    inside = LESC(beta=0.1).fit_enhance(X, Y)
    np.testing.assert_allclose(
        LESC(beta=0.1, standardize=False).fit_enhance(standardized(X), Y), inside, atol=1e-6
    )
    assert np.abs(LESC(beta=0.1, standardize=False).fit_enhance(X, Y) - inside).max() > 1e-3


def test_memory_has_no_dense_square_array():
    n = 1500
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 3)), np.eye(3)[rng.integers(3, size=n)]
    tracemalloc.start()
    LESC(beta=0.1, rho=1.5).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n**2 / 10


def test_too_few_iterations_trigger_a_warning():
    X, _, Y = make_problem()
    with pytest.warns(ConvergenceWarning, match="LESC stopped after 3 iterations"):
        LESC(max_iter=3).fit(X, Y)


def test_reference_values():
    data = sjaffe()
    small = LESC(beta=0.001, orientation="released").fit(data.X, data.Y)
    assert_recovery(small.label_distributions_, ".0699 .2696 .5454 .0273 .9733 .9067")
    assert small.beta_star_ == pytest.approx(
        0.0040, abs=1e-4
    )  # above the published beta: see the docstring
    large = LESC(beta=0.01).fit_enhance(
        data.X, data.Y
    )  # the orientation changes less than the tolerance
    assert_recovery(large, ".0691 .2757 .5596 .0278 .9732 .9052")
