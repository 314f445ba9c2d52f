"""Mixtures of Dirichlet distributions: integration, sampling, closed forms, limits."""

import numpy as np
import pytest
from scipy.stats import beta, dirichlet

from ldlearn.core import softmax
from ldlearn.uncertainty.dirichlet_mixture import DirichletMixture

PARAMETERS = np.array([[2.0, 3.0, 1.5], [0.8, 1.2, 4.0]])
LOG_WEIGHTS = np.log([0.3, 0.7])
VOTES = np.array([2.0, 0.0, 1.0])


def one_row(parameters=PARAMETERS, log_weights=LOG_WEIGHTS):
    return DirichletMixture(np.array([log_weights]), np.array([parameters]))


def sampled_degrees(mixture, n=200_000, seed=0):
    """Degrees of the first row."""
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(n, mixture.weights[0])
    parts = [rng.dirichlet(a, size) for a, size in zip(mixture.parameters[0], sizes, strict=True)]
    return np.vstack(parts)


def prior_density(d):
    return sum(
        np.exp(log_weight) * dirichlet.pdf(d.T, a)
        for a, log_weight in zip(PARAMETERS, LOG_WEIGHTS, strict=True)
    )


def test_posterior_of_two_labels_by_integration():
    parameters = np.array([[2.0, 3.0], [0.8, 4.0]])
    posterior = one_row(parameters).given(np.array([[3.0, 1.5]]))
    step = 1e-5
    d = np.arange(step / 2, 1.0, step)
    density = sum(
        np.exp(log_weight) * beta.pdf(d, *a)
        for a, log_weight in zip(parameters, LOG_WEIGHTS, strict=True)
    )
    density *= d**3.0 * (1 - d) ** 1.5
    density /= density.sum()
    mean = density @ d
    np.testing.assert_allclose(posterior.mean(), [[mean, 1 - mean]], rtol=1e-6)
    variance = density @ (d - mean) ** 2
    covariance = variance * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(posterior.covariance()[0], covariance, rtol=1e-5)
    lower, upper = posterior.interval(0.9)
    found = np.interp([lower[0, 0], upper[0, 0]], d, np.cumsum(density))
    np.testing.assert_allclose(found, [0.05, 0.95], atol=1e-4)


def test_posterior_of_three_labels_by_integration():
    posterior = one_row().given(VOTES[None])
    step = 1 / 600
    first, second = np.meshgrid(*[np.arange(step / 3, 1.0, step)] * 2)
    inside = first + second < 1 - 1e-9
    d = np.column_stack([first[inside], second[inside], 1 - first[inside] - second[inside]])
    mass = prior_density(d) * np.prod(d**VOTES, axis=1)
    mass /= mass.sum()
    mean = mass @ d
    np.testing.assert_allclose(posterior.mean()[0], mean, atol=2e-3)
    centred = d - mean
    np.testing.assert_allclose(posterior.covariance()[0], centred.T * mass @ centred, atol=2e-4)


def test_posterior_by_importance_weights():
    d = sampled_degrees(one_row())
    importance = np.prod(d**VOTES, axis=1)
    expected = importance @ d / importance.sum()
    np.testing.assert_allclose(one_row().given(VOTES[None]).mean()[0], expected, atol=3e-3)
    likelihoods = np.exp(one_row().log_likelihoods(VOTES[None]))
    assert np.exp(LOG_WEIGHTS) @ likelihoods[0] == pytest.approx(importance.mean(), rel=0.02)


def test_votes_one_by_one_are_votes_at_once():
    at_once = one_row().given(np.array([[2.0, 0.0, 1.0]]))
    in_turn = one_row().given(np.array([[2.0, 0.0, 0.0]])).given(np.array([[0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(at_once.parameters, in_turn.parameters)
    np.testing.assert_allclose(at_once.weights, in_turn.weights, rtol=1e-12)


def test_moments_and_quantiles_are_those_of_a_sample():
    d = sampled_degrees(one_row())
    np.testing.assert_allclose(one_row().mean()[0], d.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(one_row().covariance()[0], np.cov(d.T), atol=5e-4)
    for found, level in zip(one_row().interval(0.8), (0.1, 0.9), strict=True):
        np.testing.assert_allclose(found[0], np.quantile(d, level, axis=0), atol=4e-3)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.999])
def test_interval_of_one_component_is_that_of_beta(coverage):
    a = PARAMETERS[0]
    lower, upper = one_row(PARAMETERS[:1], [0.0]).interval(coverage)
    low, high = beta.interval(coverage, a, a.sum() - a)
    np.testing.assert_allclose(lower[0], low, atol=2e-9)
    np.testing.assert_allclose(upper[0], high, atol=2e-9)
    assert (lower[0] <= low).all()
    assert (upper[0] >= high).all()


def test_interval_inverts_the_distribution_function_of_the_mixture():
    lower, upper = one_row().interval(0.9)
    b = PARAMETERS.sum(axis=1, keepdims=True) - PARAMETERS
    for found, level in ((lower, 0.05), (upper, 0.95)):
        below = np.exp(LOG_WEIGHTS) @ beta.cdf(found[0], PARAMETERS, b)
        np.testing.assert_allclose(below, level, atol=1e-7)


@pytest.mark.parametrize(("coverage", "n"), [(0.9, 10), (0.9999, 10), (0.9, 400)])
def test_unlikely_components_count_in_the_tails(coverage, n):
    """Components that are unlikely one by one may together be most of a tail."""
    parameters = np.array([[5.0, 5.0], *[[100.0, 1.0]] * n])
    weights = np.array([1 - n * 9e-5, *[9e-5] * n])
    lower, upper = one_row(parameters, np.log(weights)).interval(coverage)
    above = weights @ beta.sf(upper[0, 0], parameters[:, 0], parameters[:, 1])
    below = weights @ beta.cdf(lower[0, 1], parameters[:, 1], parameters[:, 0])
    np.testing.assert_allclose([above, below], (1 - coverage) / 2, rtol=0.03)


def test_rows_are_independent_of_each_other():
    rng = np.random.default_rng(0)
    parameters = rng.uniform(0.2, 5.0, size=(7, 3, 4))
    log_weights = rng.normal(scale=6.0, size=(7, 3))  # some components are negligible
    counts = rng.integers(0, 4, size=(7, 4)).astype(float)
    together = DirichletMixture(log_weights, parameters).given(counts)
    bounds = together.interval(0.9)
    for i in range(7):
        alone = DirichletMixture(log_weights[i : i + 1], parameters[i : i + 1])
        alone = alone.given(counts[i : i + 1])
        np.testing.assert_allclose(alone.mean()[0], together.mean()[i], rtol=1e-12)
        for found, bound in zip(alone.interval(0.9), bounds, strict=True):
            np.testing.assert_array_equal(found[0], bound[i])
        np.testing.assert_allclose(alone.gain_of_a_vote()[0], together.gain_of_a_vote()[i])


def test_many_rows_are_treated_in_blocks(monkeypatch):
    monkeypatch.setattr("ldlearn.core.scaling._BATCH_ENTRIES", 18)
    rng = np.random.default_rng(0)
    mixture = DirichletMixture(rng.normal(size=(8, 2)), rng.uniform(0.5, 4.0, size=(8, 2, 3)))
    blocks = mixture.interval(0.9)
    monkeypatch.undo()
    for found, expected in zip(blocks, mixture.interval(0.9), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_gain_of_a_vote_is_the_expected_loss_of_variance():
    mixture = one_row().given(VOTES[None])
    mean = mixture.mean()[0]
    variance = np.trace(mixture.covariance()[0])
    after = 0.0
    for j in range(3):
        vote = np.eye(3)[j : j + 1]
        after += mean[j] * np.trace(mixture.given(vote).covariance()[0])
    assert mixture.gain_of_a_vote()[0] == pytest.approx(variance - after, rel=1e-10)


def test_gain_of_one_component_in_closed_form():
    a = np.array([2.0, 3.0, 5.0])
    m = a / 10.0
    variance = np.sum(m * (1 - m)) / 11.0
    mixture = one_row(a[None], [0.0])
    # The variance of the mean after the next vote is 1 / (|a| + 1) of that of the degrees.
    assert mixture.gain_of_a_vote()[0] == pytest.approx(variance / 11.0, rel=1e-12)


def test_weights_need_not_be_normalised():
    shifted = one_row(log_weights=LOG_WEIGHTS + 1000.0)
    np.testing.assert_allclose(shifted.weights, [[0.3, 0.7]], rtol=1e-10)
    np.testing.assert_allclose(shifted.mean(), one_row().mean(), rtol=1e-10)


def test_no_votes_leave_everything_as_it_was():
    after = one_row().given(np.zeros((1, 3)))
    np.testing.assert_array_equal(after.parameters[0], PARAMETERS)
    np.testing.assert_allclose(after.weights, [[0.3, 0.7]], rtol=1e-12)


def test_very_many_votes_leave_their_shares():
    votes = np.array([[6e8, 3e8, 1e8]])
    posterior = one_row().given(votes)
    np.testing.assert_allclose(posterior.mean(), votes / 1e9, atol=1e-8)
    lower, upper = posterior.interval(0.99)
    assert (upper - lower < 1e-4).all()
    assert (lower <= posterior.mean()).all()
    assert (posterior.mean() <= upper).all()
    assert 0.0 <= posterior.gain_of_a_vote()[0] < 1e-15


EXTREME = {
    "tiny": [[1e-8, 1e-8, 1e-8]],
    "huge": [[1e6, 2e6, 1e6]],
    "both": [[1e6, 1e-8, 1e-8], [1e-8, 1e6, 3.0]],
    "a single label": [[2.0]],
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_parameters(name):
    parameters = np.array(EXTREME[name])
    mixture = one_row(parameters, np.zeros(len(parameters)))
    vote = np.zeros((1, parameters.shape[1]))
    vote[0, 0] = 1.0
    for each in (mixture, mixture.given(vote)):
        assert each.mean().sum() == pytest.approx(1.0)
        lower, upper = each.interval(0.9)
        assert (lower >= 0).all()
        assert (lower <= upper).all()
        assert (upper <= 1).all()
        assert each.gain_of_a_vote()[0] >= 0
        assert np.isfinite(each.covariance()).all()


def test_tiny_parameters_mean_that_all_votes_are_for_one_label():
    mixture = one_row(np.array([EXTREME["tiny"][0]]), [0.0])
    lower, upper = mixture.interval(0.5)
    np.testing.assert_allclose(lower, 0.0, atol=1e-8)
    np.testing.assert_allclose(upper, 1.0, atol=1e-8)
    after = mixture.given(np.array([[0.0, 1.0, 0.0]]))
    np.testing.assert_allclose(after.mean(), [[0.0, 1.0, 0.0]], atol=1e-7)
    lower, upper = after.interval(0.9)
    np.testing.assert_allclose(lower, [[0.0, 1.0, 0.0]], atol=1e-7)
    np.testing.assert_allclose(upper, [[0.0, 1.0, 0.0]], atol=1e-7)
    # The first vote tells all.
    assert mixture.gain_of_a_vote()[0] == pytest.approx(2 / 3, rel=1e-6)


def test_the_interval_of_a_single_label_is_its_degree():
    lower, upper = one_row(np.array([[2.0]]), [0.0]).interval(0.9)
    np.testing.assert_allclose([lower, upper], 1.0, atol=1e-8)


def test_a_component_is_as_likely_as_its_votes():
    """With equal weights the ratio of the posterior weights is that of the likelihoods."""
    likelihoods = np.exp(one_row().log_likelihoods(VOTES[None]))
    posterior = one_row(log_weights=np.zeros(2)).given(VOTES[None])
    np.testing.assert_allclose(posterior.weights, likelihoods / likelihoods.sum(), rtol=1e-12)


def test_weights_are_a_softmax():
    np.testing.assert_allclose(one_row().weights, softmax(LOG_WEIGHTS[None]))
