"""zeros="less": negative labels have degrees, between recovery and prediction."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn import DLDL, FromClassifier, VoteLDL
from ldlearn.datasets import make_label_distributions, make_logical_labels
from ldlearn.metrics import intersection

MODELS = (DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0), FromClassifier())


@pytest.fixture(scope="module")
def main_labels():
    data = make_label_distributions(120, n_features=4, n_labels=6, snr=2.0, sharpness=1.0, random_state=1)
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


@pytest.mark.parametrize("model", MODELS, ids=names)
def test_kappa_interpolates_between_recovery_and_prediction(model, main_labels):
    X, Y, _ = main_labels
    none = model.set_params(zeros="none").fit(X, Y).label_distributions_
    almost_none = model.set_params(zeros=1e-9).fit(X, Y)
    # Not equal, because the predictor is fitted again and D updated.
    np.testing.assert_allclose(almost_none.label_distributions_, none, atol=0.05)
    assert almost_none.label_distributions_[Y == 0].max() < 1e-8
    certain = model.set_params(zeros=1e9).fit(X, Y)
    np.testing.assert_allclose(certain.label_distributions_, certain.predict(X), atol=1e-6)
    # The predictor is then the mean of all rows.
    np.testing.assert_allclose(certain.predict(X), np.tile(Y.sum(axis=0) / Y.sum(), (len(X), 1)), atol=1e-4)


def test_known_degrees_are_kept_and_fit_the_predictor(main_labels):
    X, Y, D = main_labels
    known = np.where(np.arange(len(D))[:, None] < 40, D, np.nan)
    model = DLDL(beta=1.0, gamma=1.0, zeros="less").fit(X, Y, degrees=known)
    np.testing.assert_allclose(model.label_distributions_[:40], D[:40], atol=1e-6)
    assert intersection(D[40:], model.predict(X[40:])) > intersection(
        D[40:], DLDL(beta=1.0, gamma=1.0, zeros="less").fit(X, Y).predict(X[40:])
    )


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0, zeros="less"), VoteLDL(gamma=1.0, zeros="less")], ids=names
)
def test_intervals_are_dirichlet_marginals_around_the_point(model, main_labels):
    X, Y, D = main_labels
    model.fit(X, Y)
    from scipy.stats import beta

    for point, concentration, (lower, upper) in (
        (model.predict(X), model.kappa_, model.predict_interval(X, coverage=0.8)),
        (model.enhance(X, Y), model.kappa_ + model.n_votes_, model.enhance_interval(X, Y, coverage=0.8)),
    ):
        law = beta(concentration * point, concentration * (1 - point))
        np.testing.assert_allclose(lower, np.minimum(law.ppf(0.1), point), atol=1e-8)
        np.testing.assert_allclose(upper, np.maximum(law.ppf(0.9), point), atol=1e-8)
        assert ((lower <= D) & (upper >= D)).mean() > 0.75


def test_number_of_raters_determines_kappa():
    data = make_label_distributions(1500, n_features=3, n_labels=4, snr=100.0, random_state=0)
    Y = make_logical_labels(data.D, "votes", n_raters=5, concentration=4.0)
    model = VoteLDL(gamma=0.1, zeros="less").fit(data.X, Y, n_raters=5)
    assert model.n_votes_ == pytest.approx(5.0)
    assert 2.5 < model.kappa_ < 6.0
    assert VoteLDL(gamma=0.1, zeros=9.0).fit(data.X, Y, n_raters=5).kappa_ == 9.0


def test_selection_of_main_labels_selects_penalties_for_equal_degrees(main_labels):
    X, Y, _ = main_labels
    assert DLDL(zeros="less", max_iter=1).fit(X, Y).beta_ == 100.0
