"""Ordered labels in DLDL: objective, optimality of D, selection of the penalty."""

import numpy as np
import pytest
from estimator_cases import tweets
from scipy.special import xlogy

from ldlearn import DLDL
from ldlearn.core.targets import RowTargets
from ldlearn.exceptions import ParameterError
from ldlearn.joint import hyperparameters
from ldlearn.joint.dldl_steps import second_difference_penalty
from ldlearn.joint.label_model import validation_splits
from ldlearn.metrics import intersection
from ldlearn.solvers.centred_matrix import CentredMatrix


def objective(model, X, D):
    rough = np.sum(np.diff(D, n=2, axis=1) ** 2)
    fit = xlogy(D, D).sum() - (D * np.log(model.predict(X))).sum()
    return (
        fit
        + model.beta_ * np.sum(D**2)
        + model.ordered_ * rough
        + model.gamma_ * np.sum(model.coef_**2)
    )


def test_objective_and_certificate_of_degrees():
    X, _, Y = tweets()
    model = DLDL(beta=0.5, gamma=2.0, ordered=0.7).fit(X, Y)
    D = model.label_distributions_
    assert model.objective_ == pytest.approx(objective(model, X, D), rel=1e-9)
    assert model.gap_.sum() <= 1e-6 * len(D)
    assert (np.diff(model.objective_path_) <= 1e-6).all()
    assert (D[Y == 0] == 0).all()
    Q = second_difference_penalty(Y.shape[1])
    slope = np.log(np.maximum(D, 1e-300)) - np.log(model.predict(X)) + 1 + D + 1.4 * D @ Q
    gap = (D * slope).sum(axis=1) - np.where(Y == 1, slope, np.inf).min(axis=1)
    np.testing.assert_allclose(gap, model.gap_, atol=1e-7)
    np.testing.assert_allclose(model.enhance(X, Y), D, atol=1e-3)


def test_penalty_zero_equals_unordered_labels():
    X, _, Y = tweets()
    plain = DLDL(beta=0.5, gamma=2.0).fit(X, Y)
    np.testing.assert_allclose(
        DLDL(beta=0.5, gamma=2.0, ordered=1e-12).fit(X, Y).label_distributions_,
        plain.label_distributions_,
        atol=1e-3,
    )
    assert plain.ordered_ == 0.0


def test_known_degrees_and_sample_weights():
    X, D, Y = tweets(60)
    degrees = np.where(np.arange(60)[:, None] < 20, D, np.nan)
    w = np.random.default_rng(0).integers(1, 4, size=60)
    settings = {"beta": 0.5, "gamma": 2.0, "ordered": 0.7}
    weighted = DLDL(**settings).fit(X, Y, sample_weight=w, degrees=degrees)
    repeated = DLDL(**settings).fit(
        *(np.repeat(A, w, axis=0) for A in (X, Y)), degrees=np.repeat(degrees, w, axis=0)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
    np.testing.assert_allclose(weighted.label_distributions_[:20], D[:20])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


def test_penalty_is_selected_by_labels():
    """Nine degrees of sentiment are ordered; shuffled, they are not."""
    X, D, Y = tweets(500)
    model = DLDL(ordered=True).fit(X, Y)
    assert model.ordered_ > 0
    assert f"ordered={model.ordered_:g}: held-out log-likelihood" in model.selection_summary_
    plain = DLDL(beta=model.beta_, gamma=model.gamma_).fit(X, Y)
    recovered = intersection(D, model.label_distributions_)
    assert recovered > intersection(D, plain.label_distributions_) + 0.003
    order = np.array([4, 0, 7, 2, 8, 5, 1, 6, 3])
    assert (
        DLDL(beta=model.beta_, gamma=model.gamma_, ordered=True).fit(X, Y[:, order]).ordered_
        < model.ordered_
    )


@pytest.mark.parametrize(("z", "expected"), [(0.9, 0.0), (1.2, 0.03)])
def test_penalty_has_to_gain_more_than_one_standard_error(z, expected, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 2)), rng.random((50, 4)) < 0.5
    noise = rng.normal(size=50)
    gain = noise - noise.mean() + z * noise.std(ddof=1) / np.sqrt(50)

    def likelihoods(split, penalty, *_):
        rows = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in split.X_test]
        return {0.0: 0.0, 0.03: 1.0, 0.1: -1.0}[penalty] * gain[rows]

    monkeypatch.setattr(hyperparameters, "_held_out_likelihoods", likelihoods)
    splits = validation_splits(CentredMatrix(X), RowTargets(Y))
    penalty, _ = hyperparameters._select_ordered_penalty(splits, beta=1.0, gamma=1.0, max_iter=2)
    assert penalty == expected


def test_invalid_values_raise():
    X, _, Y = tweets(40)
    with pytest.raises(ParameterError, match="ordered"):
        DLDL(ordered=-1.0).fit(X, Y)
