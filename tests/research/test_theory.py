import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldlearn.core import knn_graph, softmax
from research.theory import (
    corrected_bound,
    free_rows_complexity,
    paper_bound,
    recovery_conditions,
    row_error,
    row_minimiser,
)


def test_theorem_1_fails_on_its_counterexample():
    """W = 0 and rows of D in {e_1, uniform}, chosen by the signs: the complexity stays at ln(c) /
    2."""
    rng = np.random.default_rng(0)
    n, c = 10_000, 5
    signs = rng.choice([-1, 1], size=n)
    D = np.where(signs[:, None] > 0, np.eye(c)[0], 1 / c)
    losses = np.sum(np.where(D > 0, D * np.log(np.maximum(D, 1e-300) * c), 0.0), axis=1)
    attained = np.mean(signs * losses)
    assert attained == pytest.approx(free_rows_complexity(c), abs=0.02)
    printed = paper_bound(np.zeros((4, c)), rng.uniform(-1, 1, size=(n, 4)), D)
    assert 10**printed.log10_complexity < 0.1 < attained


def test_confidence_term_of_theorem_2_grows_with_n():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(3, 4))
    X, D = rng.uniform(-1, 1, size=(4000, 3)), np.full((4000, 4), 0.25)
    X[0], X[1] = 1.0, -1.0  # the same extremes for both sizes
    small, large = paper_bound(W, X[:1000], D[:1000]), paper_bound(W, X, D)
    assert large.confidence_term == pytest.approx(2 * small.confidence_term)


def softmax_loss(w, x):
    """KL of (1, 0) from the prediction with logits (w x, -w x)."""
    return np.logaddexp(0.0, -2.0 * w * x)


def test_corrected_bound_holds_on_heavy_tails():
    """x is 1, or with probability 1e-4 it is -1e6: most samples miss the largest loss.

    The empirical minimiser is evaluated by the true risk. A bound of the unclipped loss that takes
    the largest |x| of the sample for that of the distribution fails in most draws; the clipped one
    in at most delta.
    """
    rng = np.random.default_rng(0)
    n, rare, far, delta, draws = 2000, 1e-4, -1e6, 0.05, 200
    weights = np.concatenate([[0.0], np.geomspace(1e-6, 4.0, 60)])
    broken = broken_without_cut = 0
    for _ in range(draws):
        x = np.where(rng.uniform(size=n) < rare, far, 1.0)
        w = weights[np.argmin([softmax_loss(v, x).mean() for v in weights])]
        W = np.array([[w, -w]])
        held = corrected_bound(W, x[:, None], 2, delta)
        cut = np.minimum(softmax_loss(w, np.array([1.0, far])), held.theta)
        risk = (1.0 - rare) * cut[0] + rare * cut[1]
        broken += risk > np.minimum(softmax_loss(w, x), held.theta).mean() + held.slack
        whole = (1.0 - rare) * softmax_loss(w, 1.0) + rare * softmax_loss(w, far)
        seen = corrected_bound(W, x[:, None], 2, delta, x_bound=float(np.abs(x).max()))
        broken_without_cut += whole > softmax_loss(w, x).mean() + seen.slack
    assert broken <= delta * draws
    assert broken_without_cut > 0.5 * draws


def test_corrected_bound_holds_for_overfitted_weights():
    """Pure noise as targets and as many weights as rows: the sample is interpolated."""
    rng = np.random.default_rng(1)
    n, m, c = 60, 60, 3
    for _ in range(20):
        X = rng.normal(size=(n, m)) / np.sqrt(m)
        D = np.eye(c)[rng.integers(0, c, size=n)]
        W = 40.0 * X.T @ (D - 1.0 / c)
        held = corrected_bound(W, X, c)
        fresh = rng.normal(size=(4000, m)) / np.sqrt(m)
        truth = np.eye(c)[rng.integers(0, c, size=4000)]
        empirical, risk = (
            np.minimum(-np.log((T * softmax(A @ W)).sum(axis=1)), held.theta).mean()
            for A, T in ((X, D), (fresh, truth))
        )
        assert risk > empirical + 0.3  # the generalisation gap is positive
        assert risk <= empirical + held.slack


def test_complexity_is_twice_that_of_the_logits():
    """E sup <S, X W> / n over ``|W| <= r`` and random signs S, times sqrt(2) for the loss, again
    for its vectors."""
    rng = np.random.default_rng(2)
    X, c = rng.normal(size=(300, 20)), 4
    W = rng.normal(size=(20, c))
    held = corrected_bound(W, X, c)
    suprema = [
        held.radius * np.linalg.norm(X.T @ rng.choice([-1.0, 1.0], size=(300, c)))
        for _ in range(200)
    ]
    assert np.linalg.norm(W) <= held.radius < 2.0 * np.linalg.norm(W)
    assert held.complexity == pytest.approx(2.0 * np.mean(suprema) / 300, rel=0.03)
    assert held.slack == 2.0 * held.complexity + held.confidence_term


def test_largest_loss_is_attained_with_a_known_bound():
    """Two labels, weights of norm r opposed to the truth, a row of maximum norm."""
    W = np.array([[-1.0, 1.0], [0.0, 0.0]]) * np.sqrt(2.0)  # norm 2, a power of two
    x = np.array([[3.0, 0.0]])
    held = corrected_bound(W, x, 2, x_bound=3.0)
    assert held.radius == pytest.approx(2.0)
    assert -np.log(softmax(x @ W)[0, 0]) == pytest.approx(held.theta, rel=1e-9)
    many = corrected_bound(np.ones((2, 5)), x, 5, x_bound=3.0)
    worst = max(-np.log(softmax(x @ V).min()) for V in random_weights(many.radius, (2, 5)))
    assert 0.6 * many.theta < worst <= many.theta


def random_weights(norm, shape):
    rng = np.random.default_rng(0)
    for _ in range(300):
        V = rng.normal(size=shape) * [[1.0], [0.1]]
        yield norm * V / np.linalg.norm(V)


def test_intercept_is_the_weight_of_a_constant_feature():
    rng = np.random.default_rng(3)
    W, b, X = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(50, 4))
    apart = corrected_bound(W, X, 3, intercept=b)
    together = corrected_bound(np.vstack([W, b]), np.column_stack([X, np.ones(50)]), 3)
    assert apart.complexity == pytest.approx(together.complexity)
    assert (apart.radius, apart.theta) == (together.radius, together.theta)
    bounded = corrected_bound(W, X, 3, intercept=b, x_bound=10.0)
    alike = corrected_bound(
        np.vstack([W, b]), np.column_stack([X, np.ones(50)]), 3, x_bound=np.sqrt(101.0)
    )
    assert bounded.theta == pytest.approx(alike.theta)


def test_delta_is_split_among_all_radii():
    """The failure probabilities of all radii sum to delta."""
    n, delta = 1000, 0.05
    shares = []
    for k in range(-200, 201):
        held = corrected_bound(np.array([[2.0**k]]), np.ones((n, 1)), 2, delta)
        assert held.radius == 2.0**k
        # Once for the risk, twice for the complexity, each with half of the probability.
        once = held.confidence_term / (3.0 * held.theta)
        shares.append(2.0 * np.exp(-2.0 * n * once**2))
    assert 0.99 * delta < sum(shares) <= delta
    assert len(set(np.round(shares, 15))) == len(shares)


def test_confidence_term_is_three_deviations_of_mcdiarmid():
    held = corrected_bound(np.array([[1.0]]), np.ones((500, 1)), 2, 0.05)
    share = 0.05 * 6.0 / np.pi**2  # the first radius
    deviation = held.theta * np.sqrt(np.log(1.0 / (share / 2.0)) / (2.0 * 500))
    assert held.confidence_term == pytest.approx((1.0 + 2.0) * deviation)


def test_loss_is_clipped_without_a_known_bound():
    rng = np.random.default_rng(4)
    W, X = rng.normal(size=(5, 3)) * 0.2, rng.normal(size=(4000, 5))
    small, large = corrected_bound(W, X[:1000], 3), corrected_bound(W, X, 3)
    assert large.theta == pytest.approx(np.log(3))
    assert large.slack == pytest.approx(0.5 * small.slack, rel=0.02)


def test_violated_bound_on_x_raises():
    with pytest.raises(ValueError, match="x_bound=1 must hold for every row, but one has length 2"):
        corrected_bound(np.ones((1, 2)), np.array([[2.0], [0.5]]), 2, x_bound=1.0)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=5), st.floats(0.0, 20.0))
def test_row_problem_has_the_closed_form(k, penalty):
    k = np.array(k)

    def value(z):
        d = np.exp(z - z.max())
        d /= d.sum()
        return np.sum(k * np.square(d - np.eye(len(k))).sum(axis=1)) + penalty * np.sum(d**2)

    found = minimize(value, np.log(k / k.sum()), tol=1e-14)
    d = row_minimiser(k, penalty)
    assert d.sum() == pytest.approx(1.0)
    assert value(np.log(d)) <= found.fun + 1e-9
    np.testing.assert_allclose(row_error(k, penalty), np.abs(d - k / k.sum()), atol=1e-12)


def test_printed_counterexample():
    np.testing.assert_allclose(row_minimiser([9, 1], 10), [0.7, 0.3])
    np.testing.assert_allclose(row_error([9, 1], 10), 0.2)
    assert (np.diff([row_error([9, 1], p)[0] for p in (0.0, 1.0, 10.0, 100.0)]) > 0).all()


def test_conditions_are_measured_on_the_graph():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    Y = np.array([[1, 0], [1, 1], [0, 1], [1, 1], [1, 1]])
    A = knn_graph(X, 2, sigma=1.0).toarray()
    found = recovery_conditions(Y, A, alpha=2.0, beta=1.0)
    assert found.strong_share == 0.4
    assert found.penalty == 0.5
    np.testing.assert_allclose(found.weight_to_strong, A[[1, 3, 4]][:, [0, 2]].sum(axis=1))
    np.testing.assert_allclose(found.ratio[0], A[1, [3, 4]].sum() / A[1, [0, 2]].sum())


def test_small_ratios_are_those_at_most_tau():
    """Row 0 is strong. The weak rows 1 to 4 depend on it, on it and each other, only on each other,
    on no row."""
    Y = np.array([[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]])
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = 4.0
    A[0, 2] = A[2, 0] = 2.0
    A[2, 3] = A[3, 2] = 1.0
    found = recovery_conditions(Y, A, tau=0.2)
    np.testing.assert_array_equal(found.weight_to_strong, [4.0, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.ratio, [0.0, 0.5, np.inf, np.inf])
    assert found.small_ratio_share == 0.25
    assert recovery_conditions(Y, A, tau=0.5).small_ratio_share == 0.5
    assert found.strong_share == 0.2
    assert recovery_conditions(Y, A, alpha=0.0).penalty == np.inf
    assert recovery_conditions(np.eye(2), np.zeros((2, 2))).small_ratio_share == 0.0
