"""zeros="less": negative labels have degrees, between recovery and prediction; the predictor is the
same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone

from ldlearn import DLDL, FromClassifier, VoteLDL
from ldlearn.core.simplex import softmax
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.metrics import intersection

MODELS = (DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0), FromClassifier())


@pytest.fixture(scope="module")
def main_labels():
    data = make_label_distributions(
        120, n_features=4, n_labels=6, snr=2.0, sharpness=1.0, random_state=1
    )
    return data.X, make_logical_labels(data.D, "top-k", k=2), data.D


def names(model):
    return type(model).__name__


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_zeros_less_improves_recovery_also_of_new_rows(model, main_labels):
    X, Y, D = main_labels
    none = intersection(D, model.set_params(zeros="none").fit(X, Y).label_distributions_)
    less = model.set_params(zeros="less").fit(X, Y)
    assert intersection(D, less.label_distributions_) > none + 0.05
    assert (less.label_distributions_ > 0).all()
    np.testing.assert_allclose(less.enhance(X, Y), less.label_distributions_, atol=1e-5)


@pytest.mark.parametrize("zeros", ["less", 5.0])
@pytest.mark.parametrize("model", MODELS, ids=names)
def test_recovery_is_a_mixture_with_the_prediction_of_none(model, zeros, main_labels):
    X, Y, _ = main_labels
    none = clone(model).set_params(zeros="none").fit(X, Y)
    mixed = clone(model).set_params(zeros=zeros).fit(X, Y)
    w = 0.5 if zeros == "less" else 5.0 / (5.0 + 2.0)  # every row has two positive labels
    np.testing.assert_array_equal(mixed.predict(X), none.predict(X))
    expected = (1.0 - w) * none.label_distributions_ + w * none.predict(X)
    np.testing.assert_allclose(mixed.label_distributions_, expected, rtol=1e-12)


@pytest.mark.parametrize("zeros", ["less", 20.0])
@pytest.mark.parametrize("cls", [DLDL, VoteLDL, FromClassifier])
def test_zeros_change_neither_the_selection_nor_the_predictor(cls, zeros, main_labels):
    """With sample weights, unknown labels and a number of positive labels that hardly varies."""
    X, Y, _ = main_labels
    rng = np.random.default_rng(0)
    unknown = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    weights = rng.uniform(0.5, 2.0, len(Y))
    none, other = (
        cls(zeros=each).fit(X, unknown, sample_weight=weights) for each in ("none", zeros)
    )
    for name in {
        "beta_",
        "gamma_",
        "selection_summary_",
        "coef_",
        "intercept_",
        "objective_",
    } & set(vars(none)):
        np.testing.assert_array_equal(getattr(other, name), getattr(none, name))
    np.testing.assert_array_equal(other.predict(X), none.predict(X))


def test_zeros_do_not_change_the_predictor_of_few_positives_among_many_labels():
    """Where D is sparse."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), np.zeros((60, 400), dtype=int)
    Y[np.arange(60), rng.integers(0, 400, 60)] = 1
    none, less = (
        DLDL(beta=1.0, gamma=1.0, zeros=zeros, max_iter=2).fit(X, Y) for zeros in ("none", "less")
    )
    np.testing.assert_array_equal(less.coef_, none.coef_)
    expected = (none.label_distributions_ + none.predict(X)) / 2.0
    np.testing.assert_allclose(less.label_distributions_, expected, rtol=1e-12)


def test_prediction_does_not_depend_on_kappa_of_simulated_votes():
    """The model of docs/research/without_truth.md; with refitted coefficients the intersection fell
    to 0.55."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    P = softmax(X @ rng.normal(size=(4, 5)))
    Y = rng.multinomial(3, P) > 0
    for fit in ({}, {"n_raters": 3}):
        for zeros in ("less", 1e4):
            predicted = VoteLDL(zeros=zeros).fit(X, Y, **fit).predict(X)
            assert intersection(P, predicted) > 0.9


def test_known_degrees_are_kept(main_labels):
    X, Y, D = main_labels
    known = np.where(np.arange(len(D))[:, None] < 40, D, np.nan)
    model = DLDL(beta=1.0, gamma=1.0, zeros="less").fit(X, Y, degrees=known)
    np.testing.assert_allclose(model.label_distributions_[:40], D[:40], atol=1e-6)
    none = DLDL(beta=1.0, gamma=1.0).fit(X, Y, degrees=known)
    np.testing.assert_array_equal(model.coef_, none.coef_)
    expected = (none.label_distributions_ + none.predict(X))[40:] / 2.0
    np.testing.assert_allclose(model.label_distributions_[40:], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0, zeros="less"), VoteLDL(gamma=1.0, zeros="less")], ids=names
)
def test_intervals_are_dirichlet_marginals_around_the_point(model, main_labels):
    X, Y, _ = main_labels
    model.fit(X, Y)
    for point, concentration, (lower, upper) in (
        (model.predict(X), model.kappa_, model.predict_interval(X, coverage=0.8)),
        (
            model.enhance(X, Y),
            model.kappa_ + model.n_votes_,
            model.enhance_interval(X, Y, coverage=0.8),
        ),
    ):
        law = beta(concentration * point, concentration * (1 - point))
        quantile = law.ppf(0.1)
        expected = np.where(quantile < 0.01, 0.0, np.minimum(quantile, point))
        np.testing.assert_allclose(lower, expected, atol=1e-8)
        np.testing.assert_allclose(upper, np.maximum(law.ppf(0.9), point), atol=1e-8)


@pytest.mark.parametrize("kappa", [1.0, 5.0, 20.0])
def test_intervals_cover_the_degrees_of_rows_whatever_their_true_concentration(kappa):
    """At nominal 0.9; a refitted predictor and positive lower bounds of degrees near 0 gave 0.44,
    0.77 and 0.89."""
    coverages = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(900, 4))
        P = softmax(X @ (0.7 * np.random.default_rng(99).normal(size=(4, 5))))
        D = rng.standard_gamma(kappa * P)
        D /= D.sum(axis=1, keepdims=True)
        Y = rng.multinomial(3, D) > 0
        new = slice(600, None)
        model = VoteLDL(gamma=1.0, zeros="less").fit(X[:600], Y[:600])
        for lower, upper in (
            model.predict_interval(X[new]),
            model.enhance_interval(X[new], Y[new]),
        ):
            coverages.append(((lower <= D[new]) & (D[new] <= upper)).mean())
    assert np.min(coverages) > 0.85
    assert (upper - lower).mean() < 0.6


def test_intervals_include_the_error_of_the_prediction_if_raters_do_not_agree():
    """The estimated kappa is then huge, and intervals are those of p(x)."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(900, 4))
    P = softmax(X @ (0.7 * np.random.default_rng(99).normal(size=(4, 5))))
    Y = rng.multinomial(3, P) > 0
    new = slice(600, None)
    model = VoteLDL(gamma=1.0, zeros="less").fit(X[:600], Y[:600], n_raters=3)
    assert model.kappa_ > 20.0
    for lower, upper in (model.predict_interval(X[new]), model.enhance_interval(X[new], Y[new])):
        assert ((lower <= P[new]) & (P[new] <= upper)).mean() > 0.8


def test_number_of_raters_determines_kappa():
    data = make_label_distributions(1500, n_features=3, n_labels=4, snr=100.0, random_state=0)
    Y = make_logical_labels(data.D, "votes", n_raters=5, concentration=4.0)
    model = VoteLDL(gamma=0.1, zeros="less").fit(data.X, Y, n_raters=5)
    assert model.n_votes_ == pytest.approx(5.0)
    assert 2.5 < model.kappa_ < 6.0
    assert VoteLDL(gamma=0.1, zeros=9.0).fit(data.X, Y, n_raters=5).kappa_ == 9.0
