"""Latent classes of votes: likelihood, fixed point iteration and EM steps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import dirichlet_multinomial

from ldlearn.core import softmax
from ldlearn.solvers.vote_classes import VoteTable, fit_classes

ALPHA = np.array([[0.5, 2.0, 1.0], [4.0, 0.1, 0.7]])
COUNTS = np.array([[3.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 5.0, 4.0]])


def sample_votes(alpha, n_rows, n_votes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_votes, rng.dirichlet(alpha, size=n_rows)).astype(float)


def objective(table, alpha, responsibilities, prior_vote):
    """Expected log-likelihood with one more vote, spread like ``prior_vote``, in each class."""
    prior = np.log(alpha) @ prior_vote - np.log(alpha.sum(axis=1))
    return np.sum(responsibilities * table.log_likelihood(alpha)) + prior.sum()


def iterate(table, alpha, responsibilities, prior_vote, n_updates):
    for _ in range(n_updates):
        alpha = table.update(alpha, responsibilities, prior_vote)
    return alpha


PRIOR_VOTE = np.array([0.5, 0.3, 0.2])


def test_likelihood_is_dirichlet_multinomial_without_the_number_of_orders():
    found = VoteTable(COUNTS).log_likelihood(ALPHA)
    n_votes = COUNTS.sum(axis=1)
    log_orders = gammaln(n_votes + 1) - gammaln(COUNTS + 1).sum(axis=1)
    for k, alpha in enumerate(ALPHA):
        theirs = dirichlet_multinomial.logpmf(COUNTS.astype(int), alpha, n_votes.astype(int))
        np.testing.assert_allclose(found[:, k], theirs - log_orders, atol=1e-12)


def test_likelihood_is_that_of_drawing_from_an_urn():
    """Each vote adds itself to the urn, which begins with alpha."""
    urn = ALPHA[0].copy()
    probability = 1.0
    for label in (0, 2, 0, 0):
        probability *= urn[label] / urn.sum()
        urn[label] += 1.0
    found = VoteTable(COUNTS[:1]).log_likelihood(ALPHA[:1])
    assert found[0, 0] == pytest.approx(np.log(probability), rel=1e-12)


def test_weighted_votes_have_the_likelihood_of_a_dirichlet_integral():
    """That is the expectation of the product of the degrees to the powers of the counts."""
    counts = np.array([[0.3, 1.7]])
    step = 1e-5
    d = np.arange(step / 2, 1.0, step)
    density = d * (1 - d) ** 2 / np.sum(d * (1 - d) ** 2)
    expected = np.sum(density * d**0.3 * (1 - d) ** 1.7)
    found = VoteTable(counts).log_likelihood(np.array([[2.0, 3.0]]))
    assert np.exp(found[0, 0]) == pytest.approx(expected, rel=1e-6)


def test_rows_without_votes_have_likelihood_one():
    assert np.array_equal(VoteTable(np.zeros((2, 3))).log_likelihood(ALPHA), np.zeros((2, 2)))


def test_updates_raise_the_objective_to_its_maximum():
    table = VoteTable(sample_votes([0.6, 2.0, 1.0], 200, 6))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=(200, 1))
    alpha = np.full((1, 3), 8.0)
    values = [objective(table, alpha, weights, PRIOR_VOTE)]
    for _ in range(60):
        alpha = table.update(alpha, weights, PRIOR_VOTE)
        values.append(objective(table, alpha, weights, PRIOR_VOTE))
    assert np.diff(values).min() > -1e-9

    def loss(log_alpha):
        return -objective(table, np.exp(log_alpha)[None], weights, PRIOR_VOTE)

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(alpha[0], np.exp(best.x), rtol=1e-3)
    assert values[-1] == pytest.approx(-best.fun, rel=1e-9)


def test_each_class_is_updated_by_its_own_rows():
    counts = np.vstack([sample_votes([3.0, 1.0], 40, 5), sample_votes([0.5, 2.0], 40, 4)])
    of_first = np.arange(80) < 40
    responsibilities = np.column_stack([of_first, ~of_first]).astype(float)
    start = np.array([[2.0, 2.0], [5.0, 1.0]])
    prior_vote = np.array([0.4, 0.6])
    both = VoteTable(counts).update(start, responsibilities, prior_vote)
    first = VoteTable(counts[:40]).update(start[:1], np.ones((40, 1)), prior_vote)
    second = VoteTable(counts[40:]).update(start[1:], np.ones((40, 1)), prior_vote)
    np.testing.assert_allclose(both, np.vstack([first, second]), rtol=1e-12)


def test_concentration_is_bounded_at_the_likeliest_proportions():
    """Rows that all have the same votes would have an infinite one."""
    table = VoteTable(np.tile([[6.0, 3.0, 1.0]], (50, 1)))
    alpha = iterate(table, np.full((1, 3), 8.0), np.ones((50, 1)), PRIOR_VOTE, 200)
    assert alpha.sum() == pytest.approx(60.0)

    def loss(theta):
        return -objective(table, 60.0 * softmax(theta[None]), np.ones((50, 1)), PRIOR_VOTE)

    best = minimize(loss, np.zeros(3), method="BFGS")
    np.testing.assert_allclose(alpha, 60.0 * softmax(best.x[None]), rtol=1e-3)


def test_parameters_of_labels_without_votes_stay_positive():
    table = VoteTable(np.tile([[1.0, 2.0, 0.0]], (1000, 1)))
    alpha = iterate(table, np.full((1, 3), 8.0), np.ones((1000, 1)), PRIOR_VOTE, 100)
    assert 0 < alpha[0, 2] < 0.1


def test_classes_without_rows_get_the_proportions_of_the_prior():
    start = np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 3.0]])
    responsibilities = np.column_stack([np.ones(30), np.zeros(30)])
    table = VoteTable(sample_votes([3.0, 1.0, 1.0], 30, 4))
    found = table.update(start, responsibilities, PRIOR_VOTE)
    np.testing.assert_allclose(found[1], 8.0 * PRIOR_VOTE, rtol=1e-12)


def test_only_the_classes_above_the_bound_are_scaled():
    """Rows of the first class always agree on shares; those of the others differ much."""
    counts = np.vstack([np.tile([[6.0, 3.0, 1.0]], (40, 1)), sample_votes([0.5, 0.5, 0.5], 80, 9)])
    responsibilities = np.zeros((120, 3))
    responsibilities[:40, 0] = 1.0
    responsibilities[40:80, 1] = 1.0
    responsibilities[80:, 2] = 1.0
    start = np.full((3, 3), 3.0)
    sizes = iterate(VoteTable(counts), start, responsibilities, PRIOR_VOTE, 100).sum(axis=1)
    assert sizes[0] == pytest.approx(60.0)
    assert (sizes[1:] < 5.0).all()


def make_classes(n=300, n_votes=5, seed=0):
    rng = np.random.default_rng(seed)
    true_alpha = np.array([[20.0, 1.0, 1.0], [1.0, 20.0, 1.0], [4.0, 4.0, 20.0]])
    member = rng.integers(0, 3, size=n)
    counts = np.empty((n, 3))
    for k in range(3):
        rows = member == k
        counts[rows] = sample_votes(true_alpha[k], rows.sum(), n_votes, seed + k)
    return counts, member, true_alpha


def implied_shares(table, alpha, responsibilities):
    """Shares of the classes by Bayes' rule, from each row."""
    ratio = np.exp(np.log(responsibilities) - table.log_likelihood(alpha))
    return ratio / ratio.sum(axis=1, keepdims=True)


def test_responsibilities_follow_from_parameters_and_shares():
    table = VoteTable(make_classes(20)[0])
    alpha, found = fit_classes(table, PRIOR_VOTE, weights=np.ones(20), n_steps=3)
    shares = implied_shares(table, alpha, found)
    np.testing.assert_allclose(shares, shares[[0] * 20], rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_posterior_probability_never_falls():
    """Of parameters and shares, with a row of the prior in each class."""
    counts = make_classes()[0]
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=len(counts))
    table = VoteTable(counts)
    values = []
    for n_steps in range(0, 20, 2):
        alpha, found = fit_classes(table, PRIOR_VOTE, weights=weights, n_steps=n_steps)
        log_shares = np.log(implied_shares(table, alpha, found)[0])
        likelihood = np.logaddexp.reduce(log_shares + table.log_likelihood(alpha), axis=1)
        prior = np.log(alpha) @ PRIOR_VOTE - np.log(alpha.sum(axis=1))
        values.append(weights @ likelihood + prior.sum() + PRIOR_VOTE @ log_shares)
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0] + 1.0


def test_weights_are_numbers_of_rows():
    counts = make_classes(60)[0]
    repeats = np.arange(60) % 3
    rows = np.repeat(np.arange(60), repeats)
    weighted, found = fit_classes(
        VoteTable(counts), PRIOR_VOTE, weights=repeats.astype(float), n_steps=5
    )
    repeated, expected = fit_classes(
        VoteTable(counts[rows]), PRIOR_VOTE, weights=np.ones(len(rows)), n_steps=5
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
    np.testing.assert_allclose(found[rows], expected, rtol=1e-7, atol=1e-12)


def test_separated_classes_and_their_shares_are_recovered():
    counts, member, true_alpha = make_classes(3000, 12)
    keep = (member > 0) | (np.arange(3000) % 4 == 0)  # the first class is rarer
    mean = counts[keep].sum(axis=0) / counts[keep].sum()
    table = VoteTable(counts[keep])
    alpha, responsibilities = fit_classes(table, mean, weights=np.ones(keep.sum()), n_steps=300)
    means = alpha / alpha.sum(axis=1, keepdims=True)
    true_means = true_alpha / true_alpha.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(means, true_means, atol=0.02)
    np.testing.assert_allclose(alpha.sum(axis=1), true_alpha.sum(axis=1), rtol=0.25)
    shares = np.bincount(member[keep]) / keep.sum()
    np.testing.assert_allclose(responsibilities.mean(axis=0), shares, atol=0.01)
    assert np.mean(responsibilities.argmax(axis=1) == member[keep]) > 0.97
