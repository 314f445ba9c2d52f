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


def expected_likelihood(table, alpha, responsibilities):
    return np.sum(responsibilities * table.log_likelihood(alpha))


def iterate(table, alpha, responsibilities, n_updates):
    for _ in range(n_updates):
        alpha = table.update(alpha, responsibilities)
    return alpha


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


def test_updates_raise_the_likelihood_to_its_maximum():
    counts = sample_votes([0.6, 2.0, 1.0], 200, 6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=(200, 1))
    table = VoteTable(counts)
    alpha = np.full((1, 3), 8.0)
    values = [expected_likelihood(table, alpha, weights)]
    for _ in range(60):
        alpha = table.update(alpha, weights)
        values.append(expected_likelihood(table, alpha, weights))
    assert np.diff(values).min() > -1e-9

    def loss(log_alpha):
        return -expected_likelihood(table, np.exp(log_alpha)[None], weights)

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(alpha[0], np.exp(best.x), rtol=1e-3)
    assert values[-1] == pytest.approx(-best.fun, rel=1e-9)


def test_each_class_is_updated_by_its_own_rows():
    counts = np.vstack([sample_votes([3.0, 1.0], 40, 5), sample_votes([0.5, 2.0], 40, 4)])
    of_first = np.arange(80) < 40
    responsibilities = np.column_stack([of_first, ~of_first]).astype(float)
    start = np.array([[2.0, 2.0], [5.0, 1.0]])
    both = VoteTable(counts).update(start, responsibilities)
    first = VoteTable(counts[:40]).update(start[:1], np.ones((40, 1)))
    second = VoteTable(counts[40:]).update(start[1:], np.ones((40, 1)))
    np.testing.assert_allclose(both, np.vstack([first, second]), rtol=1e-12)


def test_concentration_is_bounded_at_the_likeliest_proportions():
    """Rows that all have the same votes would have an infinite one."""
    table = VoteTable(np.tile([[6.0, 3.0, 1.0]], (50, 1)))
    alpha = iterate(table, np.full((1, 3), 8.0), np.ones((50, 1)), 200)
    assert alpha.sum() == pytest.approx(60.0)

    def loss(theta):
        return -expected_likelihood(table, 60.0 * softmax(theta[None]), np.ones((50, 1)))

    best = minimize(loss, np.zeros(3), method="BFGS")
    np.testing.assert_allclose(alpha, 60.0 * softmax(best.x[None]), rtol=1e-3)


def test_parameters_of_labels_without_votes_stay_positive():
    table = VoteTable(np.tile([[1.0, 2.0, 0.0]], (1000, 1)))
    alpha = iterate(table, np.full((1, 3), 8.0), np.ones((1000, 1)), 100)
    assert alpha[0, 2] == pytest.approx(1e-3, rel=0.02)


def test_classes_without_rows_hardly_move():
    start = np.array([[4.0, 1.0], [1.0, 4.0]])
    responsibilities = np.column_stack([np.ones(30), np.zeros(30)])
    found = VoteTable(sample_votes([3.0, 1.0], 30, 4)).update(start, responsibilities)
    np.testing.assert_allclose(found[1], start[1], rtol=1e-12)


def make_classes(n=300, n_votes=5, seed=0):
    rng = np.random.default_rng(seed)
    true_alpha = np.array([[20.0, 1.0, 1.0], [1.0, 20.0, 1.0], [4.0, 4.0, 20.0]])
    member = rng.integers(0, 3, size=n)
    counts = np.empty((n, 3))
    for k in range(3):
        rows = member == k
        counts[rows] = sample_votes(true_alpha[k], rows.sum(), n_votes, seed + k)
    return counts, member, true_alpha


START = 8.0 * (0.7 * np.eye(3) + 0.1)


def marginal_likelihood(counts, log_prior, alpha, weights):
    joint = log_prior + VoteTable(counts).log_likelihood(alpha)
    return weights @ np.logaddexp.reduce(joint, axis=1)


def test_likelihood_never_falls():
    counts, _, _ = make_classes()
    rng = np.random.default_rng(0)
    log_prior = np.log(rng.dirichlet(np.ones(3), size=len(counts)))
    weights = rng.uniform(0.0, 2.0, size=len(counts))
    table = VoteTable(counts)
    values = []
    for n_steps in range(0, 20, 2):
        alpha, _ = fit_classes(table, log_prior, START, weights=weights, n_steps=n_steps)
        values.append(marginal_likelihood(counts, log_prior, alpha, weights))
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0] + 1.0


def test_responsibilities_are_those_of_the_parameters():
    counts, _, _ = make_classes(20)
    log_prior = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=20))
    table = VoteTable(counts)
    alpha, found = fit_classes(table, log_prior, START, weights=np.ones(20), n_steps=3)
    joint = np.exp(log_prior + table.log_likelihood(alpha))
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("learn_shares", [False, True])
def test_weights_are_numbers_of_rows(learn_shares):
    counts, _, _ = make_classes(60)
    log_prior = np.log(np.full((60, 3), 1.0 / 3.0))
    repeats = np.arange(60) % 3
    rows = np.repeat(np.arange(60), repeats)
    settings = {"n_steps": 5, "learn_shares": learn_shares}
    weighted, found = fit_classes(
        VoteTable(counts), log_prior, START, weights=repeats.astype(float), **settings
    )
    repeated, expected = fit_classes(
        VoteTable(counts[rows]), log_prior[rows], START, weights=np.ones(len(rows)), **settings
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
    np.testing.assert_allclose(found[rows], expected, rtol=1e-7, atol=1e-12)


def test_separated_classes_and_their_shares_are_recovered():
    counts, member, true_alpha = make_classes(3000, 12)
    keep = (member > 0) | (np.arange(3000) % 4 == 0)  # the first class is rarer
    table = VoteTable(counts[keep])
    log_prior = np.log(np.full((1, 3), 1.0 / 3.0))
    alpha, responsibilities = fit_classes(
        table, log_prior, START, weights=np.ones(keep.sum()), n_steps=40, learn_shares=True
    )
    means = alpha / alpha.sum(axis=1, keepdims=True)
    true_means = true_alpha / true_alpha.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(means, true_means, atol=0.02)
    np.testing.assert_allclose(alpha.sum(axis=1), true_alpha.sum(axis=1), rtol=0.25)
    shares = np.bincount(member[keep]) / keep.sum()
    np.testing.assert_allclose(responsibilities.mean(axis=0), shares, atol=0.01)
    assert np.mean(responsibilities.argmax(axis=1) == member[keep]) > 0.97


def test_only_the_classes_above_the_bound_are_scaled():
    """Rows of the first class always agree on shares; those of the others differ much."""
    counts = np.vstack([np.tile([[6.0, 3.0, 1.0]], (40, 1)), sample_votes([0.5, 0.5, 0.5], 80, 9)])
    responsibilities = np.zeros((120, 3))
    responsibilities[:40, 0] = 1.0
    responsibilities[40:80, 1] = 1.0
    responsibilities[80:, 2] = 1.0
    sizes = iterate(VoteTable(counts), START, responsibilities, 100).sum(axis=1)
    assert sizes[0] == pytest.approx(60.0)
    assert (sizes[1:] < 5.0).all()


def test_shares_do_not_depend_on_the_unit_of_the_weights():
    """Tiny weights leave the parameters as they are, so that only the shares are learned."""
    counts, _, _ = make_classes(50)
    table = VoteTable(counts)
    log_prior = np.log([[0.6, 0.3, 0.1]])
    settings = {"n_steps": 1, "learn_shares": True}
    alpha, found = fit_classes(table, log_prior, START, weights=np.full(50, 1e-12), **settings)
    np.testing.assert_allclose(alpha, START, rtol=1e-6)
    before = softmax(log_prior + table.log_likelihood(START))
    expected = softmax(np.log(before.mean(axis=0)) + table.log_likelihood(START))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
