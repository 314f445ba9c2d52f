"""Softmax regressions of some rows that predict others, compared with a generic solver."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from ldlearn.core import softmax
from ldlearn.joint.cross_fitting import CrossFitting
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import ScaleWarning
from ldlearn.solvers.folds import validation_folds

SMALLEST = 1e-6


def make_rows(n=40, m=3, c=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) + 2.0
    T = rng.dirichlet(np.ones(c), size=n)
    return X, T, rng.uniform(0.2, 3.0, size=n)


def generic_fit(X, T, weights, gamma):
    """Coefficients and intercept by BFGS on the stated objective."""
    m = X.shape[1]
    c = T.shape[1]

    def loss(theta):
        W = theta[: m * c].reshape(m, c)
        P = softmax(X @ W + theta[m * c :])
        residuals = weights[:, None] * (P - T)
        gradient = np.concatenate(
            [(X.T @ residuals + 2 * gamma * W).ravel(), residuals.sum(axis=0)]
        )
        return -weights @ np.sum(T * np.log(P), axis=1) + gamma * np.sum(W**2), gradient

    options = {"ftol": 1e-15, "gtol": 1e-8, "maxiter": 1000}
    start = np.zeros((m + 1) * c)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    return best.x[: m * c].reshape(m, c), best.x[m * c :]


@pytest.mark.parametrize("m", [3, 60])
def test_held_out_rows_are_predicted_as_by_a_generic_solver(m):
    X, T, weights = make_rows(m=m)
    fitting = CrossFitting(X, weights, SMALLEST)
    train = np.arange(40) % 4 > 0
    held_out = np.flatnonzero(~train)
    start = fitting.fit(T, 0.7)
    fit = fitting.fit_part(np.flatnonzero(train), T[train], 0.7, start)
    W, b = generic_fit(X[train], T[train], weights[train], 0.7)
    np.testing.assert_allclose(
        fitting.predict(fit, held_out), softmax(X[~train] @ W + b), atol=1e-5
    )


def test_all_rows_with_coefficients_of_the_features_as_given():
    X, T, weights = make_rows()
    fitting = CrossFitting(X, weights, SMALLEST)
    fit = fitting.fit(T, 0.7)
    W, b = generic_fit(X, T, weights, 0.7)
    coef, intercept = fitting.to_original(fit)
    np.testing.assert_allclose(coef - coef.mean(axis=1, keepdims=True), W, atol=1e-5)
    np.testing.assert_allclose(softmax(X @ coef + intercept), softmax(X @ W + b), atol=1e-5)
    np.testing.assert_allclose(fitting.predict(fit), softmax(X @ coef + intercept), atol=1e-10)


def test_a_start_saves_steps_and_changes_nothing():
    X, T, weights = make_rows()
    fitting = CrossFitting(X, weights, SMALLEST)
    rows = np.arange(5, 40)
    first = fitting.fit(T, 0.7)
    near = fitting.fit_part(rows, T[rows], 0.7, first)
    far = fitting.fit_part(rows, T[rows], 0.7, fitting.fit(T, 1e-3))
    np.testing.assert_allclose(fitting.predict(near), fitting.predict(far), atol=1e-6)
    assert fitting.fit(T, 0.7, first).n_iter < first.n_iter


def test_an_infinite_penalty_gives_the_weighted_mean():
    X, T, weights = make_rows()
    fitting = CrossFitting(X, weights, SMALLEST)
    rows = np.arange(10, 40)
    everything = fitting.fit(T, np.inf)
    some = fitting.fit_part(rows, T[rows], np.inf, everything)
    mean = weights @ T / weights.sum()
    np.testing.assert_allclose(fitting.predict(everything), np.tile(mean, (40, 1)))
    mean = weights[rows] @ T[rows] / weights[rows].sum()
    np.testing.assert_allclose(fitting.predict(some, np.arange(10)), np.tile(mean, (10, 1)))
    coef, intercept = fitting.to_original(some)
    assert not coef.any()
    np.testing.assert_allclose(softmax(intercept[None])[0], mean)


def test_a_huge_penalty_is_nearly_infinite():
    X, T, weights = make_rows()
    fitting = CrossFitting(X, weights, SMALLEST)
    huge = fitting.predict(fitting.fit(T, 1e9))
    np.testing.assert_allclose(huge, fitting.predict(fitting.fit(T, np.inf)), atol=1e-6)


def test_predictions_are_raised_to_the_smallest():
    X, T, weights = make_rows()
    never = np.where(np.arange(3) == 1, 0.0, T)
    never /= never.sum(axis=1, keepdims=True)
    fitting = CrossFitting(X, weights, 0.01)
    for gamma in (1.0, np.inf):
        P = fitting.predict(fitting.fit(never, gamma))
        np.testing.assert_allclose(P[:, 1], 0.01, rtol=0.02)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_sparse_features_give_the_same_fit():
    X, T, weights = make_rows()
    X = np.where(X < 2.0, 0.0, X)
    dense = CrossFitting(X, weights, SMALLEST)
    fitting = CrossFitting(sparse.csr_array(X), weights, SMALLEST)
    rows = np.arange(5, 30)
    found = []
    for each in (dense, fitting):
        fit = each.fit_part(rows, T[rows], 0.5, each.fit(T, 0.5))
        found.append(each.predict(fit, np.arange(5)))
    np.testing.assert_allclose(*found, atol=1e-7)


def select(X, counts):
    n_votes = counts.sum(axis=1)
    fitting = CrossFitting(X, n_votes, 0.5 / (n_votes.sum() + 1))

    def likelihood(rows, P):
        return np.sum(counts[rows] * np.log(P), axis=1)

    folds = validation_folds(CentredMatrix(X), min_folds=3)
    return fitting.select_gamma(counts / n_votes[:, None], folds, likelihood)


def test_features_are_used_where_they_decide():
    X = make_rows(150)[0]
    rng = np.random.default_rng(0)
    counts = rng.multinomial(3, softmax(X @ rng.normal(size=(3, 3))))
    assert np.isfinite(select(X, counts))


def test_features_of_pure_noise_are_hardly_used():
    penalties = []
    for seed in range(10):
        X = make_rows(100, seed=seed)[0]
        counts = np.random.default_rng(seed).multinomial(3, [0.5, 0.3, 0.2], size=100)
        penalties.append(select(X, counts))
    # A penalty of 3 lets coefficients of standardised features change little among 100 rows.
    assert np.median(penalties) > 50.0
    assert np.isinf(penalties).sum() >= 5


def test_without_folds_the_penalty_is_infinite():
    X, T, weights = make_rows()
    gamma = CrossFitting(X, weights, SMALLEST).select_gamma(T, [], lambda rows, P: P[:, 0])
    assert np.isinf(gamma)


def test_the_penalty_with_the_greatest_score_is_selected():
    """A score that is the entropy of the predictions prefers no feature, its negative many."""
    X, T, weights = make_rows()
    folds = validation_folds(CentredMatrix(X))
    fitting = CrossFitting(X, weights, SMALLEST)

    def distance_from_mean(rows, P):
        return np.abs(P - P.mean(axis=0)).sum(axis=1)

    most = fitting.select_gamma(T, folds, distance_from_mean)
    least = fitting.select_gamma(T, folds, lambda rows, P: -distance_from_mean(rows, P))
    assert np.isinf(least)
    # A tenth of DLDL's default penalty.
    deviations = X - np.average(X, axis=0, weights=weights)
    variances = np.average(deviations**2, axis=0, weights=weights)
    assert most == pytest.approx(0.1 * 0.03 * variances.sum())


@pytest.mark.parametrize(("noise", "n_tried"), [(0.0, 3), (100.0, 10)])
def test_smaller_penalties_are_tried_until_the_score_is_clearly_below_the_best(noise, n_tried):
    """The score is greatest for the second penalty; with noise no fall is significant."""
    X, T, weights = make_rows()
    folds = validation_folds(CentredMatrix(X))
    scores_by_penalty = [0.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    signs = np.where(np.arange(40) % 2, 1.0, -1.0)
    n_scored = 0

    def score(rows, P):
        nonlocal n_scored
        position = n_scored // len(folds)
        n_scored += 1
        balanced = signs[: len(rows)] - signs[: len(rows)].mean()
        return scores_by_penalty[position] + noise * position * balanced

    fitting = CrossFitting(X, weights, SMALLEST)
    most = fitting.select_gamma(T, folds, score)
    assert n_scored == n_tried * len(folds)
    deviations = X - np.average(X, axis=0, weights=weights)
    variances = np.average(deviations**2, axis=0, weights=weights)
    assert most == pytest.approx(1000 * 0.03 * variances.sum())


def test_constant_features_are_not_used():
    rng = np.random.default_rng(0)
    counts = rng.multinomial(3, [0.5, 0.3, 0.2], size=60)
    assert np.isinf(select(np.ones((60, 2)), counts))


def test_features_on_a_much_larger_scale_are_reported():
    X, T, weights = make_rows()
    fitting = CrossFitting(X * [1.0, 1.0, 1e4], weights, SMALLEST)
    with pytest.warns(ScaleWarning, match="standardise the features"):
        fitting.select_gamma(T, [], lambda rows, P: P[:, 0])
