"""MLPLDL: gradient, limit cases, ensemble."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.optimize import check_grad

from ldlearn import MLPLDL, SABFGS, MeanLDL
from ldlearn.core.simplex import softmax
from ldlearn.learning.mlp_ldl import _ensemble_loss


def test_gradient_agrees_with_finite_differences():
    X, D, _ = make_problem(n=12)
    rng = np.random.default_rng(0)
    shapes = [(4, 3), (3,), (3, 5), (5,)]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]
    weights = rng.uniform(0.1, 1.0, size=12)

    def layers(flat):
        return [
            part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)
        ]

    def loss(flat):
        return _ensemble_loss(X, D, weights, 0.2, *layers(flat))[0]

    def gradient(flat):
        return np.concatenate(
            [part.ravel() for part in _ensemble_loss(X, D, weights, 0.2, *layers(flat))[1]]
        )

    flat = rng.normal(size=cuts[-1] + 5)
    assert check_grad(loss, gradient, flat) < 1e-5 * np.linalg.norm(gradient(flat))


def test_objective_is_the_documented_one():
    X, D, _ = make_problem()
    model = MLPLDL(hidden_layer_sizes=4, n_networks=1, l2=0.1, max_iter=3).fit(X, D)
    scale = X.std(axis=0)
    V, W = model.hidden_coef_[0] * scale[:, None], model.output_coef_[0]
    penalty = 0.1 * (X.shape[1] * np.sum(V**2) + 4 * np.sum(W**2))
    cross_entropy = -np.sum(D * np.log(model.predict(X)))
    assert model.objective_ * len(X) == pytest.approx(cross_entropy + penalty, rel=1e-5)


def test_prediction_is_the_mean_of_the_networks():
    X, D, _ = make_problem()
    model = MLPLDL(hidden_layer_sizes=3, n_networks=2, max_iter=4).fit(X, D)
    layers = (
        model.hidden_coef_,
        model.hidden_intercept_,
        model.output_coef_,
        model.output_intercept_,
    )
    first, second = (
        softmax(np.tanh(X @ V + a) @ W + b) for V, a, W, b in zip(*layers, strict=True)
    )
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_allclose(model.predict(X), (first + second) / 2, atol=1e-12)


def test_large_penalty_predicts_the_mean_distribution():
    X, D, _ = make_problem()
    model = MLPLDL(l2=1e6).fit(X, D)
    np.testing.assert_allclose(model.predict(X), MeanLDL().fit(X, D).predict(X), atol=1e-3)


def test_learns_nonlinear_relations():
    X = np.linspace(-1.0, 1.0, 41)[:, None]
    D = np.hstack([X**2, 1.0 - X**2])
    networks, linear = MLPLDL(l2=1e-5).fit(X, D), SABFGS(l2=1e-3).fit(X, D)
    assert networks.score(X, D) > 0.98 > linear.score(X, D) + 0.1


def test_invariant_to_feature_units():
    X, D, _ = make_problem()
    units = np.array([1e-3, 1.0, 1e3, 7.0])
    plain, scaled = (
        MLPLDL(hidden_layer_sizes=3, max_iter=5).fit(X, D),
        MLPLDL(hidden_layer_sizes=3, max_iter=5).fit(X * units + 5.0, D),
    )
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X * units + 5.0), atol=1e-4)


def test_default_is_deterministic_and_a_seed_changes_it():
    X, D, _ = make_problem()
    first, second, other = (MLPLDL(random_state=seed).fit(X, D).predict(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-4
