"""VoteLDL: consistency, recovery, raters, selection of gamma."""

import numpy as np
import pytest
from scipy.special import exprel
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem

from ldlearn import DLDL, UniformLE, VoteLDL
from ldlearn.core import normalize_rows, softmax
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError
from ldlearn.metrics import intersection


def poisson_votes(n, seed, rate=15.0, m=6, c=5, kappa=np.inf):
    """Votes with Poisson totals, or (finite kappa) gamma-Poisson totals with the same probability
    of no vote; and W."""
    W = np.random.default_rng(0).normal(size=(m, c))
    W -= W.mean(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    P = softmax(X @ W)
    if np.isfinite(kappa):
        theta = np.expm1(rate / kappa)  # rate = kappa ln(1 + theta)
        votes = rng.poisson(theta * rng.standard_gamma(kappa * P))
    else:
        votes = rng.poisson(rate * P)
    return X, P, votes, W


def errors(n, seed):
    X, _, votes, W = poisson_votes(n, seed)
    model = VoteLDL(gamma=1e-3).fit(X, votes > 0)
    coef = (model.coef_ - model.coef_.mean(axis=0)).T
    return np.linalg.norm(coef - W), model.lambda_ - 15.0


def test_coefficients_and_rate_are_root_n_consistent():
    small, large = (
        np.sqrt(np.mean(np.square([errors(n, seed) for seed in range(12)]), axis=0))
        for n in (500, 8000)
    )
    # Sixteen times the rows: a quarter of the error, within the accuracy of twelve seeds.
    assert 2.5 < small[0] / large[0] < 6.5
    assert 2.0 < small[1] / large[1] < 8.0


@pytest.mark.parametrize("kappa", [2.0, 10.0])
def test_overdispersed_votes_have_the_same_link_and_degrees(kappa):
    """The theorem: P(no vote) = exp(-lambda p), and E[votes | positive] is proportional to p / (1 -
    exp(-lambda p))."""
    rng = np.random.default_rng(1)
    p, rate, n = np.array([0.5, 0.3, 0.15, 0.05]), 6.0, 400_000
    theta = np.expm1(rate / kappa)
    votes = rng.poisson(theta * rng.standard_gamma(kappa * p, size=(n, 4)))
    np.testing.assert_allclose((votes == 0).mean(axis=0), np.exp(-rate * p), atol=4e-3)
    mean_given_positive = votes.sum(axis=0) / (votes > 0).sum(axis=0)
    expected = 1.0 / exprel(-rate * p)
    np.testing.assert_allclose(
        mean_given_positive / mean_given_positive.sum(), expected / expected.sum(), rtol=0.02
    )


@pytest.mark.parametrize("kappa", [3.0, np.inf])
def test_fit_is_robust_to_overdispersion(kappa):
    X, P, votes, _ = poisson_votes(6000, 2, kappa=kappa)
    keep = votes.any(axis=1)
    model = VoteLDL(gamma=0.1).fit(X[keep], votes[keep] > 0)
    assert model.lambda_ == pytest.approx(15.0, rel=0.12)
    assert intersection(P[keep], model.predict(X[keep])) > 0.97


def test_recovery_beats_equal_degrees():
    data = make_label_distributions(2000, 20, 8, snr=np.inf, labels="votes", n_raters=20)
    model = VoteLDL().fit(data.X, data.Y)
    assert intersection(data.D, model.label_distributions_) > 0.87
    assert intersection(data.D, UniformLE().fit_enhance(data.X, data.Y)) < 0.7
    assert model.lambda_ == pytest.approx(20.0, rel=0.15)
    assert model.converged_
    assert model.n_iter_ < 15
    assert model.objective_ == model.objective_path_[-1]


def test_label_that_is_always_positive_does_not_take_all_votes():
    """Its likelihood has no maximum: without the row of half labels, or with a weak prior, lambda
    is above 1e6."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(200, 3)), rng.normal(size=(3, 4))
    W[:, 0] = 0.0
    D = softmax(0.5 * X @ W)
    Y = D > 0.15
    Y[:, 0] = True
    model = VoteLDL().fit(X, Y)
    equal = intersection(D, UniformLE().fit_enhance(X, Y))
    for degrees in (model.label_distributions_, model.predict(X)):
        assert degrees[:, 0].mean() < 0.5
        assert intersection(D, degrees) > equal - 0.1
    assert model.lambda_ < 100.0


def test_degrees_match_the_documented_formula():
    data = make_label_distributions(200, 5, 4, labels="votes", n_raters=5)
    model = VoteLDL(gamma=1.0).fit(data.X, data.Y)
    votes = model.lambda_ * model.predict(data.X)
    expected = normalize_rows(data.Y * votes / -np.expm1(-votes))
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-10)
    np.testing.assert_allclose(model.enhance(data.X, data.Y), expected, atol=1e-10)


def test_known_numbers_of_raters_improve_recovery():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, 5))
    X = rng.normal(size=(3000, 6))
    P = softmax(X @ W)
    n_raters = rng.choice([8, 80], size=3000)
    votes = rng.poisson(n_raters[:, None] * P)
    known = VoteLDL(gamma=0.1).fit(X, votes > 0, n_raters=n_raters)
    unknown = VoteLDL(gamma=0.1).fit(X, votes > 0)
    assert known.lambda_ == pytest.approx(1.0, rel=0.1)
    assert intersection(P, known.predict(X)) > intersection(P, unknown.predict(X)) + 0.01
    assert (
        intersection(P, known.label_distributions_)
        > intersection(P, unknown.label_distributions_) + 0.01
    )
    np.testing.assert_allclose(
        known.enhance(X, votes > 0, n_raters=n_raters), known.label_distributions_, atol=1e-10
    )
    assert not hasattr(known, "_n_raters")


@pytest.mark.parametrize(
    ("n_raters", "message"),
    [(np.ones(3), "one number for each of the 40 rows"), (np.zeros(40), "positive")],
)
def test_invalid_numbers_of_raters_raise(n_raters, message):
    data = make_label_distributions(40, 3, 4, labels="votes", n_raters=5)
    with pytest.raises(InputError, match=message):
        VoteLDL().fit(data.X, data.Y, n_raters=n_raters)


def test_gamma_is_selected_by_held_out_labels():
    """Weak features need a large penalty, strong ones a small one; the selected penalty is nearly
    optimal."""
    strong = make_label_distributions(600, 40, 6, snr=np.inf, labels="votes")
    weak = make_label_distributions(600, 40, 6, snr=0.05, labels="votes")
    chosen = [VoteLDL().fit(data.X[:400], data.Y[:400]) for data in (strong, weak)]
    assert chosen[1].gamma_ > 3 * chosen[0].gamma_
    for data, model in zip((strong, weak), chosen, strict=True):
        tried = [
            VoteLDL(gamma=gamma).fit(data.X[:400], data.Y[:400])
            for gamma in np.geomspace(0.1, 300, 10)
        ]
        best = max(intersection(data.D[400:], other.predict(data.X[400:])) for other in tried)
        assert intersection(data.D[400:], model.predict(data.X[400:])) > best - 0.02


def test_feature_map_fits_nonlinear_problems():
    data = make_label_distributions(
        1500, 8, 5, manifold_dim=2, snr=np.inf, labels="votes", n_raters=20
    )
    # Few components: many give a nearly singular kernel, in which the selected gamma depends on
    # rounding.
    models = (VoteLDL(feature_map=f) for f in (None, Nystroem(n_components=100, random_state=0)))
    linear, curved = (model.fit(data.X[:1000], data.Y[:1000]) for model in models)
    D = data.D[1000:]
    assert (
        intersection(D, curved.predict(data.X[1000:]))
        > intersection(D, linear.predict(data.X[1000:])) + 0.01
    )


def test_convergence_warning():
    data = make_label_distributions(100, 30, 4, labels="votes")
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        VoteLDL(gamma=1e-6, max_iter=1).fit(data.X, data.Y)


def test_always_positive_labels_give_equal_degrees():
    X, Y = np.random.default_rng(0).normal(size=(100, 3)), np.ones((100, 4), dtype=int)
    model = VoteLDL().fit(X, Y)
    np.testing.assert_allclose(model.label_distributions_, 0.25, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), 0.25, atol=1e-6)


def test_feature_map_is_that_of_dldl():
    data = make_label_distributions(60, 3, 4, labels="votes")
    maps = [
        kind(feature_map="rbf", **weights).fit(data.X, data.Y).feature_map_
        for kind, weights in ((VoteLDL, {"gamma": 1.0}), (DLDL, {"beta": 1.0, "gamma": 1.0}))
    ]
    np.testing.assert_array_equal(maps[0].components_, maps[1].components_)
    assert maps[0].gamma == maps[1].gamma


def test_sample_weights_with_n_raters_equal_repeated_rows():
    rng = np.random.default_rng(0)
    X, raters, weights = (
        rng.normal(size=(40, 2)),
        rng.integers(2, 30, size=40),
        rng.integers(1, 5, size=40),
    )
    Y = rng.multinomial(raters, [0.6, 0.3, 0.1]) > 0
    weighted = VoteLDL(gamma=1.0).fit(X, Y, sample_weight=weights.astype(float), n_raters=raters)
    repeated = VoteLDL(gamma=1.0).fit(
        *(np.repeat(A, weights, axis=0) for A in (X, Y)), n_raters=raters.repeat(weights)
    )
    np.testing.assert_allclose(weighted.enhance(X, Y), repeated.enhance(X, Y), atol=1e-6)
