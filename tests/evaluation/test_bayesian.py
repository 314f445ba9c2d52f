import numpy as np
import pytest
from scipy.stats import beta, norm

from ldlearn.evaluation import bayesian_signed_rank

EXACT = 5e-3  # about two standard errors of 50,000 draws


def compare(z, *, rope=0.01, **options):
    """Bayesian test for two methods with these differences."""
    scores = np.column_stack([z, np.zeros(len(z))])
    (found,) = bayesian_signed_rank(scores, greater_is_better=True, rope=rope, **options)
    return found


@pytest.mark.parametrize("prior", [0.2, 0.5, 3.0])
@pytest.mark.parametrize("n", [2, 5, 12])
def test_closed_form_if_all_differences_are_large(n, prior):
    """Only w0^2 is equivalent, so "better" wins where w0 < 1 / sqrt 2, and w0 has a beta
    distribution."""
    found = compare(np.linspace(0.1, 0.2, n), prior=prior)
    assert found.better == pytest.approx(beta(prior, n).cdf(np.sqrt(0.5)), abs=EXACT)
    assert found.worse == 0
    turned = compare(-np.linspace(0.1, 0.2, n), prior=prior)
    assert turned.worse == pytest.approx(found.better, abs=1e-12)


def test_closed_form_if_differences_are_between_one_and_two_ropes():
    """Pairs with the prior observation are then equivalent: "better" wins where (1 - w0)^2 > 1 /
    2."""
    found = compare(np.full(4, 0.015))
    assert found.better == pytest.approx(beta(0.5, 4).cdf(1 - np.sqrt(0.5)), abs=EXACT)


def test_differences_within_the_rope_are_equivalent():
    assert compare(np.array([0.009, -0.005, 0.0, 0.01])).equivalent == 1
    # The limits belong to the region; without a region only equal scores are equivalent.
    assert compare(np.array([0.25, -0.25, 0.25]), rope=0.25).equivalent == 1
    assert compare(np.array([1e-6, 2e-6, 1e-6]), rope=0.0).better > 0.9
    assert compare(np.zeros(3), rope=0.0).equivalent == 1


@pytest.mark.parametrize("seed", range(3))
def test_matches_the_published_definition(seed):
    z = np.random.default_rng(seed).normal(0.01, 0.03, 5)
    found, n_draws = compare(z, n_draws=300, random_state=seed), 300
    draws = np.random.RandomState(seed).dirichlet([1.0] * 5 + [0.5], size=n_draws)
    observations, wins = [*z, 0.0], np.zeros(3)
    for w in draws:
        theta = [0.0, 0.0, 0.0]
        for i in range(6):
            for j in range(6):
                total = observations[i] + observations[j]
                theta[0 if total > 0.02 else 2 if total < -0.02 else 1] += w[i] * w[j]
        wins[int(np.argmax(theta))] += 1
    np.testing.assert_allclose(
        [found.better, found.equivalent, found.worse], wins / n_draws, atol=1e-12
    )


def test_many_data_sets_give_the_normal_limit():
    """The posterior of theta is then normal around its mean, with the variance of a mean of 2 P(z +
    z_j > 0)."""
    z = np.random.default_rng(1).normal(0.06, 1.0, 400)
    found = compare(z, rope=0.0)
    positive = (np.add.outer(z, z) > 0).mean(axis=1)
    expected = norm.cdf((positive.mean() - 0.5) / (2 * positive.std() / np.sqrt(len(z))))
    assert found.better == pytest.approx(expected, abs=0.01)
    assert 0.2 < found.better < 0.8


def test_probabilities_of_simulated_methods():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.5, 0.9, 30)
    noise = rng.normal(0, 0.004, (30, 3))
    scores = base[:, None] + noise + [0.0, 0.001, 0.05]
    same, lost, also_lost = bayesian_signed_rank(
        scores, greater_is_better=True, methods=["a", "b", "c"]
    )
    assert same.equivalent > 0.99
    assert lost.worse > 0.99
    assert also_lost.worse > 0.99
    for pair in (same, lost, also_lost):
        assert pair.better + pair.equivalent + pair.worse == pytest.approx(1)
    (won,) = bayesian_signed_rank(scores[:, [2, 0]], 0, greater_is_better=True)
    assert won.better > 0.99
    (reverse,) = bayesian_signed_rank(scores[:, [2, 0]], 0, greater_is_better=False)
    assert reverse.worse > 0.99


def test_result_is_reproducible_and_invalid_settings_raise():
    z = np.random.default_rng(0).normal(0.01, 0.05, 8)
    assert compare(z) == compare(z)
    assert compare(z, random_state=1) != compare(z)
    for wrong in ({"rope": -1.0}, {"prior": 0.0}, {"n_draws": 0}):
        with pytest.raises(ValueError, match="rope must not be negative"):
            compare(z, **wrong)
