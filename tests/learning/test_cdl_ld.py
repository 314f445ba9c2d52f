"""CDL-LD: gradients by differences, the loss as an expected squared error, the background
concentration."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import dirichlet

from ldlearn.learning import CDLLD, MeanLDL


def make_problem(n=40, m=3, c=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(X @ rng.normal(size=(m, c)))
    return X, D / D.sum(axis=1, keepdims=True)


def test_gradient_by_differences():
    X, D = make_problem(n=10)
    weights = np.linspace(0.5, 2.0, 10)

    def at(flat):
        return CDLLD(l2=0.3)._loss(X, D, weights, flat[:12].reshape(3, 4), flat[12:])

    flat = np.random.default_rng(1).normal(size=16)
    error = check_grad(
        lambda v: at(v)[0], lambda v: np.concatenate([part.ravel() for part in at(v)[1]]), flat
    )
    assert error < 1e-5 * abs(at(flat)[0])


def test_loss_is_the_expected_squared_error_of_a_dirichlet_distribution():
    X, D = make_problem(n=6)
    model = CDLLD().fit(X, D)
    evidence = np.log1p(np.exp(X @ model.coef_.T + model.intercept_))
    expected = 0.0
    for d, e in zip(D, evidence, strict=True):
        drawn = dirichlet(e + 1.0)
        expected += np.sum((d - drawn.mean()) ** 2) + np.sum(drawn.var())
    scale = X.std(axis=0)
    b = model.intercept_ + X.mean(axis=0) @ model.coef_.T
    penalty = 0.01 * (3 * np.sum((model.coef_ * scale) ** 2) + b @ b)
    assert model.objective_ == pytest.approx(expected + penalty)
    np.testing.assert_allclose(model.predict(X)[0], dirichlet(evidence[0] + 1.0).mean())


def test_concentrations_and_background_sum_to_one():
    X, D = make_problem()
    model = CDLLD().fit(X, D)
    evidence = np.log1p(np.exp(X @ model.coef_.T + model.intercept_))
    background = model.predict_background(X)
    concentrations = evidence / (evidence.sum(axis=1, keepdims=True) + 4)
    np.testing.assert_allclose(concentrations.sum(axis=1) + background, 1.0)


def test_predictions_beat_the_mean():
    X, D = make_problem(n=200)
    train, test = slice(0, 120), slice(120, 200)
    constant = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    assert CDLLD().fit(X[train], D[train]).score(X[test], D[test]) > constant + 0.1
