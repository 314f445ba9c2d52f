"""The posterior of vote regression: covariance, prior, links."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import nbinom

from ldlearn.core import softmax
from ldlearn.core.votes import log_expected_votes
from ldlearn.exceptions import InputError
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.vote_regression import vote_regression
from ldlearn.uncertainty import vote_posterior as module
from ldlearn.uncertainty.vote_intervals import _ConditionalVotes, _excess_variance
from ldlearn.uncertainty.vote_posterior import vote_posterior


def rows_of_votes(n, seed=0, m=3, c=4, rate=8.0, fixed=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) + 1.0
    P = softmax((X - 1.0) @ np.random.default_rng(0).normal(size=(m, c)))
    votes = rng.multinomial(int(rate), P) if fixed else rng.poisson(rate * P)
    keep = votes.any(axis=1)
    return X[keep], votes[keep], P[keep]


def loss(v, X, Y, l2, fixed):
    """The loss without the prior at the mean features, which the information matrix leaves out."""
    m, c = X.shape[1], Y.shape[1]
    W, b, rate = v[: m * c].reshape(m, c), v[m * c : -1], v[-1]
    P = softmax((X - X.mean(axis=0)) @ W + b)
    votes = np.exp(rate) * (-np.log1p(-P) if fixed else P)
    return -np.sum(Y * np.log(-np.expm1(-votes)) - (1 - Y) * votes) + l2 * np.sum(W**2)


@pytest.mark.parametrize("fixed", [False, True])
def test_full_covariance_is_the_inverse_of_the_second_derivative(fixed):
    X, votes, _ = rows_of_votes(200, fixed=fixed)
    Y, l2 = votes > 0, 0.8
    features = CentredMatrix(X)
    fit = vote_regression(features, Y, l2=l2, fixed_raters=fixed, tol=1e-12)
    part = {"Y": Y, "observed": None, "offset": 0.0}
    found = module._Information.from_fit(features, fit, fixed, part, observed=True).full_covariance(
        l2, scale=1.0
    )
    v = np.concatenate(
        [fit.coef.ravel(), fit.intercept + X.mean(axis=0) @ fit.coef, [fit.log_rate]]
    )
    H = approx_fprime(v, lambda w: approx_fprime(w, loss, 1e-5, X, Y, l2, fixed), 1e-4)
    covariance = np.linalg.pinv((H + H.T) / 2, rcond=1e-5, hermitian=True)
    c = Y.shape[1]
    rows = np.hstack([X[:5] - X.mean(axis=0), np.ones((5, 1))])
    theirs = np.einsum("ni,ijkl,nk->njl", rows, covariance[:-1, :-1].reshape(4, c, 4, c), rows)
    ours = found.score_covariance(X[:5] - X.mean(axis=0))
    contrast = np.eye(c) - 1.0 / c  # a constant added to all scores has no effect
    np.testing.assert_allclose(
        contrast @ ours @ contrast, contrast @ theirs @ contrast, rtol=0.03, atol=1e-4
    )


def test_kronecker_covariance_is_exact_for_constant_predictions():
    X, votes, _ = rows_of_votes(300)
    Y, features, l2 = (
        votes > 0,
        CentredMatrix(X),
        1e5,
    )  # with this penalty coefficients vanish and P is constant
    fit = vote_regression(features, Y, l2=l2, tol=1e-12)
    information = module._Information.from_fit(
        features, fit, False, {"Y": Y, "observed": None, "offset": 0.0}
    )
    contrast = np.eye(4) - 0.25
    rows = X[:6] - X.mean(axis=0)
    for penalty in (0.1, 10.0):
        full, quick = (
            information.full_covariance(penalty, 1.0),
            information.kronecker_covariance(features, penalty),
        )
        theirs, ours = (contrast @ kind.score_covariance(rows) @ contrast for kind in (full, quick))
        np.testing.assert_allclose(ours, theirs, rtol=0.02, atol=2e-4)


@pytest.mark.parametrize("fixed", [False, True])
def test_fixed_number_of_votes_is_detected(fixed):
    X, votes, _ = rows_of_votes(3000, rate=5, fixed=fixed)
    posterior = vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    assert posterior.fixed_raters[0] is fixed
    assert posterior.link_probabilities[0] > 0.9
    assert np.exp(posterior.log_rates[0]) == pytest.approx(5.0, rel=0.1)


def test_intervals_cover_both_links_if_undecided():
    X, votes, _ = rows_of_votes(400)
    posterior = vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    W, b, rate = posterior.coefs[0], posterior.intercepts[0], posterior.log_rates[0]
    both = {
        "coefs": np.stack([W, 2.0 * W]),
        "intercepts": np.stack([b, b]),
        "log_rates": np.array([rate, rate]),
    }
    one, other, undecided = (
        replace(posterior, **both, fixed_raters=[False, True], link_probabilities=np.array(chances))
        for chances in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5])
    )
    lower, upper = undecided.degree_intervals(X, 0.9)
    for certain in (one, other):
        a, b = certain.degree_intervals(X, 0.9)
        middle = (a + b) / 2
        assert ((lower <= middle) & (middle <= upper)).mean() > 0.99


def test_penalty_does_not_depend_on_the_initial_value():
    X, votes, _ = rows_of_votes(400)
    narrow, wide = (vote_posterior(CentredMatrix(X), votes > 0, l2=l2) for l2 in (0.3, 30.0))
    for a, b in zip(narrow.degree_intervals(X, 0.9), wide.degree_intervals(X, 0.9), strict=True):
        np.testing.assert_allclose(a, b, atol=0.02)


def test_posterior_uses_all_rows():
    """Rows beyond 2,000 count: four times the rows, half the width."""
    few, many = (rows_of_votes(n)[:2] for n in (2000, 8000))
    widths = [
        np.subtract(
            *vote_posterior(CentredMatrix(X), votes > 0, l2=1.0).degree_intervals(
                few[0][:200], 0.9
            )[::-1]
        ).mean()
        for X, votes in (few, many)
    ]
    assert 1.7 < widths[0] / widths[1] < 2.4


def test_blocks_of_rows_give_the_same_result(monkeypatch):
    X, votes, _ = rows_of_votes(150)
    Y = votes > 0
    posterior = vote_posterior(CentredMatrix(X), Y, l2=1.0)
    whole = [*posterior.degree_intervals(X, 0.8), *posterior.vote_intervals(X, Y, 0.8)]
    for i in (0, 77, 149):
        alone = [
            *posterior.degree_intervals(X[[i]], 0.8),
            *posterior.vote_intervals(X[[i]], Y[[i]], 0.8),
        ]
        for a, b in zip(whole, alone, strict=True):
            np.testing.assert_allclose(a[[i]], b, atol=1e-9)


def test_recovery_variance_is_that_of_truncated_poisson_votes():
    """Where the weights are known, shares of the votes vary as truncated Poisson numbers do."""
    X, votes, _ = rows_of_votes(6000, rate=12.0)
    Y = votes > 0
    posterior = vote_posterior(CentredMatrix(X), Y, l2=1.0)
    lower, upper = posterior.vote_intervals(X, Y, 0.9)
    shares = votes / votes.sum(axis=1, keepdims=True)
    judged = Y & (Y.sum(axis=1, keepdims=True) > 1)
    assert 0.88 < ((lower <= shares) & (shares <= upper))[judged].mean() < 0.95
    assert (lower[~Y] == 0).all()
    assert (upper[~Y] == 0).all()


@pytest.mark.parametrize("kappa", [3.0, 1e6])
def test_variance_of_positive_labels_is_that_of_truncated_votes(kappa):
    """Two labels, of which only the first varies: its log-odds varies as its votes do, over their
    mean."""
    R, p = 12.0, np.array([0.05, 0.4])
    rate = kappa * np.log1p(R / kappa)
    v = np.arange(1, 2000)
    for share in p:
        chances = nbinom.pmf(v, kappa * share, 1 / (1 + R / kappa))
        chances /= chances.sum()
        mean = chances @ v
        theta = np.log(
            rate * np.array([[share, 1e6]])
        )  # so many votes for the second that they hardly vary
        positive = np.ones((1, 2), dtype=bool)
        votes = _ConditionalVotes(
            theta, positive, positive, _excess_variance(np.array([[rate]]), kappa)
        )
        found = votes.variance_of_votes()[0, 0]
        assert found == pytest.approx(chances @ (v - mean) ** 2 / mean**2, rel=1e-4)


@pytest.mark.parametrize(
    "Y", [np.ones((60, 4), dtype=bool), np.eye(4, dtype=bool)[np.zeros(60, dtype=int)]]
)
def test_constant_labels_are_uninformative_about_features(Y):
    X = np.random.default_rng(0).normal(size=(60, 20))
    posterior = vote_posterior(CentredMatrix(X), Y, l2=1.0)
    assert np.abs(posterior.coefs).max() < 1e-3
    with pytest.raises(InputError, match="too poorly"):
        posterior.degree_intervals(X, 0.9)


@pytest.mark.parametrize("wide", [False, True], ids=["full", "kronecker"])
def test_variance_of_scores_and_negative_labels_match_hand_computed_values(wide):
    X, votes, _ = rows_of_votes(70, m=90 if wide else 3)
    Y, weights = votes > 0, np.random.default_rng(1).integers(1, 4, size=len(X))
    observed = np.random.default_rng(2).random(Y.shape) < 0.8
    features = reduce_to_row_space(CentredMatrix(X, sample_weight=weights.astype(float)))
    posterior = vote_posterior(features, Y, l2=1.0, observed=observed)
    V = posterior.covariance.score_covariance(X - np.average(X, axis=0, weights=weights))
    contrast = np.eye(4) - 0.25
    variance = np.average(np.einsum("njk,kj->n", V, contrast), weights=weights) / 3
    assert posterior.score_variance == pytest.approx(variance, rel=1e-6)
    P = softmax((X - posterior.mean) @ posterior.coefs[0] + posterior.intercepts[0])
    assert np.median(posterior.degree_quantiles) == pytest.approx(np.median(P), abs=1e-3)
    counts = weights[:, None] * observed
    assert posterior.negative_frequency == pytest.approx((counts * ~Y).sum() / counts.sum())


def test_conditions_that_prevent_intervals():
    X, votes, _ = rows_of_votes(200)
    posterior = vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    replace(posterior, score_variance=0.2, negative_frequency=0.2).degree_intervals(X, 0.9)
    for variance, negative in ((0.21, 0.2), (0.2, 0.19)):
        with pytest.raises(InputError, match=rf"variance of {variance},.* labels, {negative}\)"):
            replace(
                posterior, score_variance=variance, negative_frequency=negative
            ).degree_intervals(X, 0.9)


def test_every_fit_has_the_weak_prior(monkeypatch):
    """Half a negative label would shift the penalty and lambda considerably if nearly all labels
    are positive."""
    X, votes, _ = rows_of_votes(60)
    priors = []

    def recorded(*args, weak_prior=False, **options):
        priors.append(weak_prior)
        return vote_regression(*args, weak_prior=weak_prior, **options)

    monkeypatch.setattr(module, "vote_regression", recorded)
    vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    assert len(priors) > 2
    assert all(priors)


def test_result_does_not_depend_on_the_first_penalty():
    X, votes, _ = rows_of_votes(200)
    small, large = (vote_posterior(CentredMatrix(X), votes > 0, l2=l2) for l2 in (0.1, 100.0))
    assert np.abs(small.coefs[0]).sum() == pytest.approx(np.abs(large.coefs[0]).sum(), rel=3e-3)
    assert small.score_variance == pytest.approx(large.score_variance, rel=3e-3)


def test_tiny_degrees_have_finite_votes_and_slopes():
    logP = np.array([[-1e4, -800.0, -700.0, -30.0, np.log(0.3), 0.0]])
    theta, first, second = log_expected_votes(logP, fixed_raters=True)
    np.testing.assert_allclose(theta[0, :4], logP[0, :4])
    np.testing.assert_allclose(theta[0, 4], np.log(-np.log(0.7)))
    np.testing.assert_allclose(first[0, :4], 1.0)
    np.testing.assert_allclose(second[0, :4], 0.0, atol=1e-12)
    step = 1e-5
    ahead, behind = (log_expected_votes(logP[:, 3:5] + sign * step, True) for sign in (1, -1))
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * step), first[:, 3:5], rtol=1e-6)
    np.testing.assert_allclose(
        (ahead[1] - behind[1]) / (2 * step), second[:, 3:5], rtol=1e-4, atol=1e-9
    )


def test_vote_fractions_of_many_votes_are_as_uncertain_as_degrees():
    """Then votes are not random, and the uncertainty of the coefficients alone remains."""
    X, votes, _ = rows_of_votes(300)
    posterior = vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    many = replace(posterior, log_rates=np.full_like(posterior.log_rates, np.log(1e7)))
    central = np.exp(many._scores(X - many.mean)[0])
    rows = np.flatnonzero((central / central.sum(axis=1, keepdims=True)).min(axis=1) > 0.05)
    shares = many.vote_intervals(X[rows], np.ones((len(rows), 4), dtype=bool), 0.5)
    np.testing.assert_allclose(shares, many.degree_intervals(X[rows], 0.5), atol=0.003)


def test_evidence_is_conditional_on_a_positive_label_if_every_row_has_one():
    X, votes, _ = rows_of_votes(80, rate=2.0)
    features, Y = CentredMatrix(X), votes > 0
    fit = vote_regression(features, Y, l2=1.0)
    one_without = Y.copy()
    one_without[0] = False
    values = [
        module._negative_log_evidence(
            fit, False, 1.0, features, {"Y": labels, "observed": None, "offset": 0.0}, scale=3.0
        )
        for labels in (Y, one_without)
    ]
    P = softmax(X @ fit.coef + fit.intercept)
    any_positive = 1.0 - np.exp(-np.exp(fit.log_rate) * P).prod(axis=1)
    assert values[0] - values[1] == pytest.approx(3.0 * np.log(any_positive).sum())


def test_covariance_in_the_row_space_is_that_of_all_features():
    """With more features than rows: the inverse of scatter (x) information + 2 l2 I, also outside
    of the row space."""
    X, votes, _ = rows_of_votes(40, m=90)
    Y, l2 = votes > 0, 3.0
    reduced = reduce_to_row_space(CentredMatrix(X))
    part = {"Y": Y, "observed": None, "offset": 0.0}
    information = module._Information.from_fit(
        reduced, vote_regression(reduced, Y, l2=l2), False, part
    )
    found = information.row_space_covariance(reduced, l2)
    rows = np.vstack([X[:3], np.random.default_rng(1).normal(size=(3, 90)) + 1.0]) - X.mean(axis=0)
    values, directions = information.label_directions()
    centred = X - X.mean(axis=0)
    for k, value in enumerate(values):
        inverse = np.linalg.inv(value * centred.T @ centred + 2.0 * l2 * np.eye(90))
        expected = np.einsum("ni,ij,nj->n", rows, inverse, rows)
        u = directions[:, k]
        ours = np.einsum("j,njk,k->n", u, found.score_covariance(rows) - found.intercept, u)
        np.testing.assert_allclose(ours, expected, rtol=1e-3)


def test_unknown_labels_need_not_have_a_vote():
    """An unknown label of a tiny degree has nearly no share of the votes; a positive one has a vote
    at least."""
    X, votes, _ = rows_of_votes(200)
    posterior = vote_posterior(CentredMatrix(X), votes > 0, l2=1.0)
    P = softmax((X - posterior.mean) @ posterior.coefs[0] + posterior.intercepts[0])
    row = int(np.argmin(P[:, 0]))
    Y = np.array([[False, True, True, True]])
    unknown = np.array([[False, True, True, True]])
    _, upper = posterior.vote_intervals(X[[row]], Y, 0.9, observed=unknown)
    _, upper_if_positive = posterior.vote_intervals(X[[row]], np.ones((1, 4), dtype=bool), 0.9)
    assert P[row, 0] < 0.02
    assert upper[0, 0] < 0.5 * upper_if_positive[0, 0]
