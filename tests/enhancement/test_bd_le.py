"""BD-LE: the Sylvester equation, least squares as a limit, gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.linalg import solve_sylvester
from scipy.optimize import approx_fprime

from ldlearn.core import knn_graph, laplacian
from ldlearn.enhancement import BDLE


def objective(W, b, a, X, Y, alpha, lam, G):
    """The objective with the intercepts b (encoding) and a (decoding)."""
    D = X @ W + b
    return np.sum((D - Y) ** 2) + alpha * np.sum((Y @ W.T + a - X) ** 2) + lam * np.sum(D * (G @ D))


@pytest.mark.parametrize(("alpha", "lam"), [(1e-3, 1e-2), (0.5, 2.0), (3.0, 0.0)])
def test_solves_the_sylvester_equation(alpha, lam):
    X, _, Y = make_problem()
    G = laplacian(knn_graph(X, 5, "median"))
    W = BDLE(alpha=alpha, lam=lam, n_neighbors=5, fit_intercept=False).fit(X, Y).coef_.T
    expected = solve_sylvester(X.T @ (X + lam * (G @ X)), alpha * Y.T @ Y, (1 + alpha) * X.T @ Y)
    np.testing.assert_allclose(W, expected, atol=1e-9)


@pytest.mark.parametrize("m", [4, 60])
def test_solution_is_a_minimum(m):
    X, _, Y = make_problem(m=m)
    G = laplacian(knn_graph(X, 5, "median"))
    model = BDLE(alpha=0.3, lam=0.2, n_neighbors=5).fit(X, Y)
    W, b = model.coef_.T, model.intercept_
    a = X.mean(axis=0) - Y.mean(axis=0) @ W.T
    sizes = np.cumsum([W.size, b.size])

    def flat(v):
        parts = np.split(v, sizes)
        return objective(parts[0].reshape(W.shape), parts[1], parts[2], X, Y, 0.3, 0.2, G)

    point = np.concatenate([W.ravel(), b, a])
    lowest = flat(point)
    np.testing.assert_allclose(
        approx_fprime(point, flat, 1e-6), 0.0, atol=1e-3 * max(1.0, lowest / 100)
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert flat(point + 1e-3 * rng.normal(size=point.size)) > lowest


def test_without_both_terms_it_is_least_squares():
    X, _, Y = make_problem()
    model = BDLE(alpha=0.0, lam=0.0).fit(X, Y)
    design = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(design, Y, rcond=None)[0]
    np.testing.assert_allclose(model.coef_.T, expected[:-1], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected[-1], atol=1e-9)
    np.testing.assert_allclose(model.scores_, X @ model.coef_.T + model.intercept_, atol=1e-12)


def test_wide_features_give_the_least_norm_solution():
    X, _, Y = make_problem(n=15, m=40)
    W = BDLE(alpha=0.0, lam=0.0, fit_intercept=False).fit(X, Y).coef_.T
    np.testing.assert_allclose(W, np.linalg.pinv(X) @ Y, atol=1e-8)


SCALES = np.array([1e-8, 1e-3, 1.0, 1e8])


@pytest.mark.parametrize("lam", [0.0, 0.5])
def test_least_squares_is_invariant_to_feature_units(monkeypatch, lam):
    """Without the decoding term W can undo any scale; the graph is fixed, since distances depend on
    the scale."""
    X, _, Y = make_problem()
    graph = knn_graph(X, 5, "median")
    monkeypatch.setattr("ldlearn.enhancement.bd_le.knn_graph", lambda *_: graph)
    plain = BDLE(alpha=0.0, lam=lam).fit(X, Y)
    scaled = BDLE(alpha=0.0, lam=lam).fit(X * SCALES, Y)
    np.testing.assert_allclose(scaled.coef_ * SCALES, plain.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(scaled.scores_, plain.scores_, atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_sylvester_equation_for_features_of_different_units(alpha):
    X, _, Y = make_problem()
    X = (X - X.mean(axis=0)) * SCALES
    C = Y - Y.mean(axis=0)
    W = BDLE(alpha=alpha, lam=0.0).fit(X, Y).coef_.T
    terms = X.T @ (X @ W), alpha * W @ (C.T @ C), -(1 + alpha) * X.T @ C
    sizes = sum(np.abs(term).max(axis=1) for term in terms)
    assert (np.abs(sum(terms)).max(axis=1) < 1e-9 * sizes).all()


def test_duplicate_features_share_the_coefficient():
    X, _, Y = make_problem()
    twice = np.column_stack([X, 1e6 * X[:, :1]])
    np.testing.assert_allclose(
        BDLE(alpha=0.0, lam=0.0).fit(twice, Y).scores_,
        BDLE(alpha=0.0, lam=0.0).fit(X, Y).scores_,
        atol=1e-8,
    )


def test_smoothness_term_reduces_differences_of_neighbours():
    X, _, Y = make_problem()
    G = laplacian(knn_graph(X, 5, "median"))
    rough, smooth = (BDLE(lam=lam, n_neighbors=5).fit(X, Y).scores_ for lam in (0.0, 10.0))
    assert np.vdot(smooth, G @ smooth) < 0.5 * np.vdot(rough, G @ rough)


def test_intercept_gives_invariance_to_offsets():
    X, _, Y = make_problem()
    model = BDLE(n_neighbors=5)
    np.testing.assert_allclose(model.fit_enhance(X, Y), model.fit_enhance(X + 100.0, Y), atol=1e-8)
