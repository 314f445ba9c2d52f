"""SCE-LDL: energy model by brute force, gradients, case without sparsity."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import check_grad

from ldlearn.learning import SCELDL, MeanLDL
from ldlearn.learning import sce_ldl as module

STOPPED_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_problem(n=40, m=3, c=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    Z = np.abs(X @ rng.normal(size=(m, c)))
    D = np.exp(Z)
    return X, D / D.sum(axis=1, keepdims=True)


def flat_loss(Z, D, lam, n_hidden, l2):
    """The loss as a function of one vector."""
    model = SCELDL(lam=lam, l2=l2)
    m, c = Z.shape[1], D.shape[1]
    cuts = np.cumsum([m * n_hidden, c * n_hidden])

    def unpack(flat):
        W, U, b = np.split(flat, cuts)
        return W.reshape(m, n_hidden), U.reshape(c, n_hidden), b

    def value(flat):
        return model._loss(Z, D, np.ones(len(D)), *unpack(flat))[0]

    def gradient(flat):
        gradients = model._loss(Z, D, np.ones(len(D)), *unpack(flat))[1]
        return np.concatenate([part.ravel() for part in gradients])

    return value, gradient, cuts[-1] + c


@pytest.mark.parametrize("lam", [0.0, 0.3])
@pytest.mark.parametrize("block", [1, 100_000])
def test_gradient_by_differences(lam, block, monkeypatch):
    monkeypatch.setattr(module, "CACHED_ENTRIES", block)
    X, D = make_problem(n=10)
    value, gradient, size = flat_loss(X, D, lam, 3, l2=0.4)
    at = np.random.default_rng(1).normal(size=size)
    assert check_grad(value, gradient, at) < 1e-5 * np.linalg.norm(gradient(at))


def test_prediction_is_the_energy_model_with_hidden_units_summed_out():
    """p(y | x) is the sum over all 2^R states of exp(-E), E = -sum_r h_r (w_r x + u_jr) - b_j."""
    X, D = make_problem()
    model = SCELDL(hidden_layer_sizes=4, random_state=0).fit(X, D)
    A = (X @ model.hidden_coef_.T + model.hidden_intercept_)[:, None, :] + model.thresholds_
    states = np.array(list(product([0, 1], repeat=4)))
    mass = np.exp(A @ states.T).sum(axis=2) * np.exp(model.intercept_)
    np.testing.assert_allclose(model.predict(X), mass / mass.sum(axis=1, keepdims=True), atol=1e-10)


def test_loss_is_the_stated_objective():
    X, D = make_problem()
    model = SCELDL(hidden_layer_sizes=4, lam=0.2, l2=0.7, random_state=0).fit(X, D)
    A = (X @ model.hidden_coef_.T + model.hidden_intercept_)[:, None, :] + model.thresholds_
    off = (1.0 / (1.0 + np.exp(A))).sum(axis=2)
    standardised = (model.hidden_coef_ * X.std(axis=0)).T
    stated = -(D * (np.log(model.predict(X)) + 0.2 * off)).sum() + 0.7 * (standardised**2).sum()
    assert model.objective_ == pytest.approx(stated, rel=1e-10)


def test_sparsity_term_turns_units_off():
    X, D = make_problem()

    def off(model):
        A = (X @ model.hidden_coef_.T + model.hidden_intercept_)[:, None, :] + model.thresholds_
        return (D[:, :, None] / (1.0 + np.exp(A))).sum()

    plain = SCELDL(hidden_layer_sizes=6, lam=0.0, l2=0.0, tol=1e-4, random_state=0).fit(X, D)
    sparse = SCELDL(hidden_layer_sizes=6, lam=1.0, l2=0.0, tol=1e-4, random_state=0).fit(X, D)
    assert plain.objective_ == pytest.approx(-(D * np.log(plain.predict(X))).sum(), rel=1e-10)
    assert off(sparse) > off(plain)


@STOPPED_EARLY
def test_gradient_vanishes_at_convergence():
    X, D = make_problem(n=15)
    model = SCELDL(
        hidden_layer_sizes=2, lam=0.05, l2=0.0, max_iter=5000, tol=1e-15, random_state=0
    ).fit(X, D)
    _, gradient = model._loss(
        X,
        D,
        np.ones(len(D)),
        model.hidden_coef_.T,
        model.thresholds_ + model.hidden_intercept_,
        model.intercept_,
    )
    assert max(np.abs(part).max() for part in gradient) < 2e-3


@STOPPED_EARLY
def test_loss_never_increases():
    X, D = make_problem()
    losses = [
        SCELDL(hidden_layer_sizes=5, max_iter=k, tol=0, random_state=0).fit(X, D).objective_
        for k in (1, 3, 10, 30)
    ]
    assert np.all(np.diff(losses) < 0)


def test_invariant_to_feature_units():
    X, D = make_problem()
    plain = SCELDL(hidden_layer_sizes=5, random_state=0).fit(X, D)
    scale, shift = np.array([1e3, 1e-3, 7.0]), np.array([5.0, 0.0, -40.0])
    other = SCELDL(hidden_layer_sizes=5, random_state=0).fit(X * scale + shift, D)
    np.testing.assert_allclose(plain.predict(X), other.predict(X * scale + shift), atol=1e-5)


def test_extreme_rows_stay_finite():
    X, D = make_problem()
    model = SCELDL(hidden_layer_sizes=5, random_state=0).fit(X, D)
    P = model.predict(1e6 * X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    # There the units are fully on or off: the logistic terms become linear, as computed in
    # logarithms.
    A = (1e6 * X @ model.hidden_coef_.T + model.hidden_intercept_)[:, None, :] + model.thresholds_
    scores = np.logaddexp(0.0, A).sum(axis=2) + model.intercept_
    scores -= scores.max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        P, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), atol=1e-6
    )


def test_learns_nonlinear_relations():
    from ldlearn.learning import SABFGS

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 1))
    D = np.hstack([X**2, 1 - X**2])
    linear = SABFGS().fit(X, D).score(X, D)
    assert linear < MeanLDL().fit(X, D).score(X, D) + 0.02 < 0.8
    scores = [
        SCELDL(hidden_layer_sizes=10, l2=0.1, tol=1e-5, random_state=seed).fit(X, D).score(X, D)
        for seed in range(5)
    ]
    assert np.median(scores) > 0.95, scores  # some starts end on a plateau, depending on rounding


def test_result_depends_on_the_seed():
    X, D = make_problem()
    first, second, other = (
        SCELDL(hidden_layer_sizes=5, random_state=seed).fit(X, D).predict(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-6
