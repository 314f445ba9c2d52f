"""PT-Bayes: closed form, limit of resampling, baselines, the published arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.stats import multivariate_normal

from ldlearn.core.logical import draw_labels
from ldlearn.learning import PTBayes


def test_without_draws_it_is_the_closed_form():
    X, D, _ = make_problem()
    model = PTBayes(ridge=0.3, relative=False).fit(X, D)
    priors = D.mean(axis=0)
    scores = np.empty_like(D)
    for j, weights in enumerate(D.T):
        mean = np.average(X, axis=0, weights=weights)
        covariance = np.cov(X.T, aweights=weights, ddof=0) + 0.3 * np.eye(4)
        scores[:, j] = priors[j] * multivariate_normal(mean, covariance).pdf(X)
        np.testing.assert_allclose(model.means_[j], mean)
        np.testing.assert_allclose(model.covariances_[j], covariance)
    np.testing.assert_allclose(model.priors_, priors)
    np.testing.assert_allclose(
        model.predict(X), scores / scores.sum(axis=1, keepdims=True), atol=1e-8
    )


def test_with_draws_it_estimates_from_the_drawn_examples():
    X, D, _ = make_problem()
    counts = draw_labels(D, D.size, np.random.RandomState(5))
    model = PTBayes(ridge=1e-14, relative=False, resample=True, random_state=5).fit(X, D)
    for j in range(5):
        examples = np.repeat(X, counts[:, j], axis=0)
        np.testing.assert_allclose(model.means_[j], examples.mean(axis=0))
        np.testing.assert_allclose(model.covariances_[j], np.cov(examples.T), atol=1e-12)
    np.testing.assert_allclose(model.priors_, counts.sum(axis=0) / 200)


def test_many_draws_converge_to_the_closed_form():
    X, D, _ = make_problem()
    limit = PTBayes().fit(X, D).predict(X)
    distances = []
    for copies in (1, 30, 1000):
        drawn = PTBayes(resample=True, random_state=0).fit(
            np.tile(X, (copies, 1)), np.tile(D, (copies, 1))
        )
        distances.append(np.abs(drawn.predict(X) - limit).max())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 0.01


def test_ridge_is_in_units_of_the_variance():
    X, D, _ = make_problem()
    small, large = PTBayes().fit(X, D), PTBayes().fit(1e3 * X, D)
    np.testing.assert_allclose(small.predict(X), large.predict(1e3 * X), atol=1e-9)
    np.testing.assert_allclose(large.covariances_, 1e6 * small.covariances_)


def test_large_ridge_gives_the_priors():
    X, D, _ = make_problem()
    model = PTBayes(ridge=1e9).fit(X, D)
    np.testing.assert_allclose(model.predict(X), np.tile(model.priors_, (40, 1)), atol=1e-6)


def test_samples_and_labels_may_be_permuted_without_draws():
    X, D, _ = make_problem()
    rows, labels = np.random.default_rng(0).permutation(40), [2, 0, 4, 1, 3]
    straight = PTBayes().fit(X, D).predict(X)
    np.testing.assert_allclose(PTBayes().fit(X[rows], D[rows]).predict(X), straight, atol=1e-10)
    np.testing.assert_allclose(
        PTBayes().fit(X, D[:, labels]).predict(X), straight[:, labels], atol=1e-10
    )


@pytest.mark.parametrize("resample", [True, False])
@pytest.mark.parametrize("log_domain", [True, False])
def test_label_never_drawn_gets_the_smallest_degree(resample, log_domain):
    X, D, _ = make_problem()
    D = np.insert(D, 2, 0.0, axis=1)
    model = PTBayes(resample=resample, log_domain=log_domain, random_state=0).fit(X, D)
    P = model.predict(X)
    np.testing.assert_allclose(P[:, 2], 1e-9, rtol=1e-6)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.means_[2], X.mean(axis=0))
    others = (
        PTBayes(resample=False, log_domain=log_domain).fit(X, np.delete(D, 2, axis=1)).predict(X)
    )
    if not resample:
        np.testing.assert_allclose(np.delete(P, 2, axis=1), others, atol=1e-8)


def test_log_domain_agrees_with_densities():
    X, D, _ = make_problem()
    np.testing.assert_allclose(
        PTBayes(log_domain=False).fit(X, D).predict(X),
        PTBayes(log_domain=True).fit(X, D).predict(X),
        atol=1e-10,
    )


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_overflowing_densities_give_uniform_rows(scale):
    """The published arithmetic: infinity / infinity or 0 / 0, then 1e-9 for every label, then
    renormalised."""
    rng = np.random.default_rng(0)
    X, D = scale * rng.normal(size=(40, 200)), rng.dirichlet(np.ones(4), size=40)
    published = PTBayes(
        ridge=1e-14, relative=False, resample=True, log_domain=False, random_state=0
    ).fit(X, D)
    np.testing.assert_allclose(published.predict(X[:5] + scale), 0.25)
    stable = (
        PTBayes(ridge=1e-14, relative=False, resample=True, random_state=0)
        .fit(X, D)
        .predict(X[:5] + scale)
    )
    assert np.isfinite(stable).all()
    assert stable.max(axis=1).min() > 0.9


def test_extreme_rows_get_the_priors():
    X, D, _ = make_problem()
    model = PTBayes().fit(X, D)
    with np.errstate(over="ignore"):
        P = model.predict(np.full((1, 4), 1e300))
    np.testing.assert_allclose(P[0], model.priors_, atol=1e-8)
