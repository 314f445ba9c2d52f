"""Vote regression: derivatives, optimum compared with a generic solver, limit cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, brentq, minimize

from ldlearn.core import normalize_rows, softmax
from ldlearn.core.votes import competing_votes, expected_votes, log_likelihood, profile_log_rate
from ldlearn.solvers import vote_regression as module
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.vote_regression import vote_regression


def problem(n=120, m=4, c=5, rate=6.0, seed=0):
    """Rows with labels from Poisson votes, and the true parameters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) + 2.0
    W = rng.normal(size=(m, c))
    votes = rng.poisson(rate * softmax((X - 2.0) @ W))
    Y = votes > 0
    keep = Y.any(axis=1)
    return X[keep], Y[keep], W - W.mean(axis=1, keepdims=True)


LINKS = {"votes": {}, "fixed raters": {"fixed_raters": True}}
EVERY_LINK = pytest.mark.parametrize("link", LINKS)


def objective(v, X, Y, l2, link, offset=0.0, weak_prior=False):
    """The stated objective, term by term: likelihood, prior at the mean features, penalty."""
    m, c = X.shape[1], Y.shape[1]
    W, b, rate = v[: m * c].reshape(m, c), v[m * c : -1], v[-1]
    rows = np.vstack([X - X.mean(axis=0), np.zeros(m)]) @ W + b
    offset = np.append(np.broadcast_to(offset, len(X)), np.mean(offset))[:, None]
    P = softmax(rows)
    votes = {
        "votes": np.exp(rate + offset) * P,
        "fixed raters": -np.exp(rate + offset) * np.log1p(-np.minimum(P, 1 - 1e-9)),
    }[link]
    votes, at_mean = votes[:-1], votes[-1]
    prior = 0.5 * np.sum(
        at_mean - np.log1p(-np.exp(-at_mean))
    )  # half a positive, half a negative label
    if weak_prior:
        prior = np.sum(np.log(np.sqrt(at_mean) + 1 / np.sqrt(at_mean)))  # ln(2 cosh(theta / 2))
    return prior - np.sum(Y * np.log1p(-np.exp(-votes)) - (1 - Y) * votes) + l2 * np.sum(W**2)


@pytest.mark.parametrize("weak", [False, True], ids=["half row", "weak prior"])
@EVERY_LINK
def test_minimum_matches_a_generic_solver(link, weak):
    X, Y, _ = problem()
    fit = vote_regression(CentredMatrix(X), Y, l2=0.7, **LINKS[link], weak_prior=weak, tol=1e-12)
    start = np.zeros(4 * 5 + 5 + 1)
    given = (X, Y, 0.7, link, 0.0, weak)
    found = minimize(objective, start, given, method="BFGS", options={"gtol": 1e-4})
    assert fit.converged
    assert fit.loss <= found.fun + 1e-6
    assert fit.loss == pytest.approx(found.fun, rel=1e-5)
    v = np.concatenate(
        [fit.coef.ravel(), fit.intercept + X.mean(axis=0) @ fit.coef, [fit.log_rate]]
    )
    assert fit.loss == pytest.approx(objective(v, *given), rel=1e-10)
    gradient = approx_fprime(v, objective, 1e-6, *given)
    assert np.abs(gradient[:-1]).max() < 1e-2
    assert (np.diff(fit.path) <= 0).all()


@pytest.mark.parametrize("counted", [False, True])
@EVERY_LINK
def test_derivatives_by_finite_differences(link, counted):
    rng = np.random.default_rng(3)
    Y = np.vstack([rng.random((6, 4)) < 0.5, np.full(4, 0.5)])
    counts = rng.integers(1, 3, size=(7, 4)).astype(float) if counted else None
    offset = rng.normal(size=7)
    model = module.CompetingLabels(Y, counts, weak_prior=counted, offset=offset, **LINKS[link])
    Z, rate = rng.normal(size=(7, 4)), 0.4
    _, derivatives = model.at(Z, rate)
    (slope, rate_slope), hessian_product, curvature = derivatives()
    dZ, drate, h = rng.normal(size=Z.shape), 0.7, 1e-5
    ahead, behind = (model.at(Z + s * h * dZ, rate + s * h * drate) for s in (1, -1))
    expected = np.vdot(slope, dZ) + rate_slope * drate
    assert (ahead[0] - behind[0]) / (2 * h) == pytest.approx(expected, rel=1e-6)
    curved, curved_rate = hessian_product(dZ, drate)
    for after, before, change in zip(
        ahead[1]().gradient, behind[1]().gradient, (curved, curved_rate), strict=True
    ):
        np.testing.assert_allclose((after - before) / (2 * h), change, atol=1e-7)
    assert np.linalg.eigvalsh(curvature).min() > -1e-12


def test_constant_models_are_posterior_modes():
    _, Y, _ = problem()
    Y = np.column_stack([Y, np.ones(len(Y)), np.zeros(len(Y))]).astype(bool)
    n, counts = len(Y), Y.sum(axis=0)
    options = {"l2": 1.0, "tol": 1e-14}
    fit = vote_regression(CentredMatrix(np.zeros((n, 1))), Y, **options)
    theta = competing_votes(fit.scores, fit.log_rate)
    np.testing.assert_allclose(-np.expm1(-np.exp(theta[0])), (counts + 0.5) / (n + 1), atol=1e-6)
    fit = vote_regression(CentredMatrix(np.zeros((n, 1))), Y, weak_prior=True, **options)
    theta = competing_votes(fit.scores, fit.log_rate)

    def slope(theta, k):  # of k labels positive and n - k negative, and of the prior
        votes = np.exp(theta)
        return (n - k) * votes - k * votes / np.expm1(votes) + 0.5 * np.tanh(0.5 * theta)

    np.testing.assert_allclose(
        theta[0], [brentq(slope, -20.0, 5.0, args=(k,)) for k in counts], atol=1e-6
    )
    assert np.abs(-np.expm1(-np.exp(theta[0])) - counts / n).max() < 1.0 / n


def test_number_of_many_raters_is_estimated_without_bias():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    P = softmax(X @ rng.normal(size=(2, 4)) * 1.5)
    draws = [rng.multinomial(50, P) > 0 for _ in range(5)]
    rates = [vote_regression(CentredMatrix(X), Y, l2=0.2, weak_prior=True).log_rate for Y in draws]
    assert 43.0 < np.exp(np.mean(rates)) < 57.0


def test_offsets_are_known_parts_of_the_rate():
    X, Y, _ = problem()
    plain = vote_regression(CentredMatrix(X), Y, l2=0.5, tol=1e-13)
    shifted = vote_regression(
        CentredMatrix(X), Y, l2=0.5, offset=np.full(len(X), np.log(3.0)), tol=1e-13
    )
    assert shifted.log_rate == pytest.approx(plain.log_rate - np.log(3.0), abs=1e-5)
    np.testing.assert_allclose(shifted.coef, plain.coef, atol=1e-5)


def test_constant_labels_stay_finite_and_equal():
    X, Y, _ = problem()
    Y[:, 0] = True
    Y[:, 1] = False
    fit = vote_regression(CentredMatrix(X), Y, l2=0.1)
    assert fit.converged
    assert np.exp(fit.log_rate) < 100
    everything = vote_regression(CentredMatrix(X), np.ones_like(Y), l2=0.1)
    np.testing.assert_allclose(softmax(everything.scores), 0.2, atol=1e-6)


def test_always_positive_label_does_not_get_all_votes():
    """The maximum of the likelihood alone would be at infinity."""
    rng = np.random.default_rng(0)
    Y = rng.random((2000, 3)) < [2.0, 0.98, 0.97]
    P = softmax(vote_regression(CentredMatrix(rng.normal(size=(2000, 5))), Y, l2=1.0).scores)
    assert P.mean(axis=0).max() < 0.6


@settings(deadline=None, max_examples=30)
@given(st.floats(-30, 8), st.floats(-30, 8))
def test_degrees_lie_between_equal_degrees_and_prediction(low, high):
    """Few votes: a positive label is one vote. Many votes: their fractions are p."""
    logP = np.log(np.array([[0.6, 0.3, 0.1]]))
    Y = np.array([[True, True, False]])
    low, high = sorted((low, high))
    few, many = (normalize_rows(expected_votes(logP + s, Y))[0] for s in (low, high))
    assert 0.5 - 1e-12 <= few[0] <= many[0] + 1e-12 <= 2 / 3 + 1e-9
    assert few[2] == many[2] == 0
    np.testing.assert_allclose(
        normalize_rows(expected_votes(logP - 25.0, Y)), [[0.5, 0.5, 0]], atol=1e-9
    )
    np.testing.assert_allclose(
        normalize_rows(expected_votes(logP + 8.0, Y)), [[2 / 3, 1 / 3, 0]], atol=1e-9
    )


def test_profiled_rate_maximises_the_likelihood():
    X, Y, W = problem()
    logP = np.log(softmax((X - 2.0) @ W))
    rate = profile_log_rate(logP, Y)
    grid = rate + np.linspace(-0.1, 0.1, 21)
    values = [log_likelihood(logP + s, Y).sum() for s in grid]
    assert np.argmax(values) == 10
    assert np.exp(rate) == pytest.approx(6.0, rel=0.25)
    assert np.isfinite(profile_log_rate(logP, np.ones_like(Y)))


def test_outlying_row_has_limited_influence():
    theta, Y = np.array([[20.0, -60.0]]), np.array([[False, True]])
    assert log_likelihood(theta, Y)[0] < -1e8
    assert log_likelihood(theta, Y, n_seen=99)[0] == pytest.approx(2 * np.log(0.5 / 100))


def test_fit_without_intercept():
    X, Y, _ = problem()
    fit = vote_regression(CentredMatrix(X, fit_intercept=False), Y, l2=0.5)
    assert (fit.intercept == 0).all()
    assert fit.converged


def test_warm_start_saves_iterations():
    X, Y, _ = problem()
    features = CentredMatrix(X)
    first = vote_regression(features, Y, l2=0.5, tol=1e-10)
    again = vote_regression(features, Y, l2=0.5, start=first, tol=1e-8)
    assert again.n_iter == 0
    near = vote_regression(features, Y, l2=0.4, start=first, tol=1e-10)
    assert near.n_iter < vote_regression(features, Y, l2=0.4, tol=1e-10).n_iter


def test_too_few_iterations_are_not_converged():
    X, Y, _ = problem()
    assert not vote_regression(CentredMatrix(X), Y, l2=1e-6, max_iter=1, tol=1e-12).converged
