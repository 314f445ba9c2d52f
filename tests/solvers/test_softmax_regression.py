"""The W-step: its gradient, its optimum against scikit-learn, its limits."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from ldlearn.core import softmax
from ldlearn.solvers import features as features_module
from ldlearn.solvers import softmax_regression as module
from ldlearn.solvers.features import Features
from ldlearn.solvers.softmax_regression import loss_and_gradient, softmax_regression


def problem(n=80, m=6, c=4, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.logspace(0, scale, m) + 3.0
    D = softmax(X @ rng.normal(size=(m, c)) / np.logspace(0, scale, m)[:, None].sum() + rng.normal(size=(n, c)))
    return X, D


def flat(features, D, l2):
    m, c = features.m, D.shape[1]

    def value(w):
        return loss_and_gradient(features, D, l2, w[: m * c].reshape(m, c), w[m * c :])[0]

    def gradient(w):
        _, gW, gb = loss_and_gradient(features, D, l2, w[: m * c].reshape(m, c), w[m * c :])
        return np.concatenate([gW.ravel(), gb])

    return value, gradient


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_by_finite_differences(fit_intercept):
    X, D = problem()
    features = Features(X, fit_intercept)
    value, gradient = flat(features, D, 0.3)
    w = 0.1 * np.random.default_rng(1).normal(size=6 * 4 + 4)
    if not fit_intercept:
        w[-4:] = 0.0
        inner = slice(0, -4)
        numeric = [(value(w + e) - value(w - e)) / 2e-6 for e in 1e-6 * np.eye(len(w))[inner]]
        np.testing.assert_allclose(gradient(w)[inner], numeric, rtol=1e-5, atol=1e-4)
        return
    assert check_grad(value, gradient, w) < 1e-3 * np.linalg.norm(gradient(w))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l2", [0.05, 1.0, 20.0])
def test_one_hot_targets_equal_logistic_regression(fit_intercept, l2):
    X, D = problem(n=150)
    labels = D.argmax(axis=1)
    ours = softmax_regression(Features(X, fit_intercept), np.eye(4)[labels], l2=l2, tol=1e-13)
    # scikit-learn weighs the penalty as |W|^2 / (2 C)
    theirs = LogisticRegression(C=1 / (2 * l2), fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000).fit(X, labels)
    P = softmax(X @ ours.coef + ours.intercept)
    np.testing.assert_allclose(P, theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef.T, theirs.coef_, atol=1e-4)
    assert ours.converged


@pytest.mark.parametrize("l2", [1e-6, 1e-2, 1.0])
def test_gradient_vanishes_at_the_optimum_and_the_loss_is_reported(l2):
    X, D = problem(scale=3.0)
    features = Features(X)
    fit = softmax_regression(features, D, l2=l2, tol=1e-15)
    loss, gW, gb = loss_and_gradient(features, D, l2, fit.coef, fit.intercept + features.mean @ fit.coef)
    assert loss == pytest.approx(fit.loss, rel=1e-12)
    scale = np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=0))[:, None]
    assert np.abs(gW / scale).max() < 1e-6
    assert np.abs(gb).max() < 1e-6
    np.testing.assert_allclose(X @ fit.coef + fit.intercept, fit.logits, atol=1e-8)


@pytest.mark.parametrize("kind", ["kronecker", "blocks", "diagonal"])
def test_every_preconditioner_finds_the_same_optimum(kind, monkeypatch):
    X, D = problem(n=60, m=8, scale=2.0)
    reference = softmax_regression(Features(X), D, l2=0.01, tol=1e-15)
    if kind == "blocks":
        monkeypatch.setattr(module, "_MANY_STEPS", 0)
    if kind == "diagonal":
        monkeypatch.setattr(features_module, "_LARGEST_FACTORISATION", 2)
    if kind == "kronecker":
        monkeypatch.setattr(module, "_LARGEST_BLOCKS", 0)
    features = Features(X)
    assert (features.spectrum(0.0).basis is None) == (kind == "diagonal")
    fit = softmax_regression(features, D, l2=0.01, tol=1e-15, max_iter=500)
    np.testing.assert_allclose(softmax(fit.logits), softmax(reference.logits), atol=1e-6)


def test_weighted_scatter_is_that_of_the_centred_augmented_features():
    X, _ = problem()
    w = np.random.default_rng(2).random(len(X))
    for fit_intercept in (True, False):
        features = Features(X, fit_intercept)
        Z = np.column_stack([X - features.mean, np.ones(len(X))])
        expected = Z.T @ (w[:, None] * Z)
        np.testing.assert_allclose(features.weighted_scatter(w), expected, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(
            Features(sparse.csr_array(X), fit_intercept).weighted_scatter(w),
            Z.T @ (w[:, None] * Z),
            rtol=1e-9,
            atol=1e-7,
        )


def test_heavy_penalty_leaves_the_mean():
    X, D = problem()
    fit = softmax_regression(Features(X), D, l2=1e12, tol=1e-14)
    np.testing.assert_allclose(softmax(fit.logits), np.tile(D.mean(axis=0), (len(D), 1)), atol=1e-6)
    without = softmax_regression(Features(X, fit_intercept=False), D, l2=1e12)
    np.testing.assert_allclose(softmax(without.logits), 0.25, atol=1e-6)


def test_a_warm_start_never_rises_and_needs_less_work():
    X, D = problem(n=200, m=10, scale=2.0)
    features = Features(X)
    cold = softmax_regression(features, D, l2=0.1)
    nudged = 0.98 * D + 0.02 / 4
    again = softmax_regression(features, nudged, l2=0.1, start=cold)
    fresh = softmax_regression(features, nudged, l2=0.1)
    assert again.loss == pytest.approx(fresh.loss, rel=1e-9)
    assert again.n_products < fresh.n_products


def test_separable_targets_without_penalty_end_quietly():
    """There is no minimiser: the loss tends to 0 and every Newton step adds about 1 to the logits."""
    X = np.array([[-1.0], [1.0]])
    fit = softmax_regression(Features(X), np.eye(2), l2=0.0, tol=1e-6, max_iter=50)
    assert np.isfinite(fit.coef).all()
    assert fit.converged
    assert fit.loss < 1e-5
    assert fit.gap == np.inf
    np.testing.assert_allclose(softmax(fit.logits), np.eye(2), atol=1e-5)


def test_float32_features_stay_float32_and_agree():
    X, D = problem()
    wide = softmax_regression(Features(X), D, l2=1.0)
    features = Features(X.astype(np.float32))
    assert features.X.dtype == np.float32
    narrow = softmax_regression(features, D, l2=1.0, tol=1e-7)
    np.testing.assert_allclose(softmax(narrow.logits), softmax(wide.logits), atol=1e-3)
