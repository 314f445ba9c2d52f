"""Selection of beta and gamma: sample weights, unknown labels, outliers, and the penalty of the
target."""

import numpy as np
import pytest

from ldlearn import DLDL, FromClassifier, VoteLDL
from ldlearn.core.targets import RowTargets
from ldlearn.datasets import make_label_distributions
from ldlearn.joint import hyperparameters
from ldlearn.joint.hyperparameters import _beta_agreement, _select_gamma_ratio, _vote_degrees
from ldlearn.joint.label_model import Split, validate_vote_model, validation_splits
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.vote_regression import vote_regression


def rows_that_hardly_count(n=100, m=3, c=3, seed=0):
    """Few rows with labels by the features, and many of weight 0.001 with labels by the negative
    features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, m))
    sign = np.where(np.arange(4 * n) < n, 1.0, -1.0)
    Y = np.eye(c, dtype=bool)[np.argmax(sign[:, None] * X @ rng.normal(size=(m, c)), axis=1)]
    weights = np.where(sign > 0, 1.0, 0.001)
    return validation_splits(CentredMatrix(X, sample_weight=weights), RowTargets(Y, None, weights))


def test_gamma_is_selected_by_weighted_rows():
    """Without sample weights the many rows of the opposite kind would demand the largest
    penalty."""
    assert _select_gamma_ratio(rows_that_hardly_count(), None) < 3.0


def test_penalty_of_the_vote_model_is_selected_by_weighted_rows():
    assert validate_vote_model(rows_that_hardly_count()).penalty_ratio < 3.0


def test_beta_is_selected_by_weighted_rows():
    """The agreement of weighted rows is that of repeated rows; rows with one positive label agree
    completely."""
    data = make_label_distributions(90, 4, 4, labels="votes", n_raters=6)
    X, Y = data.X, data.Y > 0
    weights = np.where(Y.sum(axis=1) == 1, 9, 1)
    found = []
    for rows, counts in (
        (np.arange(90), weights.astype(float)),
        (np.repeat(np.arange(90), weights), None),
    ):
        features, labels = (
            CentredMatrix(X[rows], sample_weight=counts),
            RowTargets(Y[rows], None, counts),
        )
        splits = validation_splits(features, labels)
        votes = validate_vote_model(splits)
        agreement = _beta_agreement(features, labels, splits, votes, 1.0, 5)
        found.append(agreement(hyperparameters._BETAS[4]))
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_one_outlier_does_not_decide_gamma():
    """A held-out row far away has the wrong label: its log-likelihood is limited by the number of
    rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    Y = np.eye(2, dtype=bool)[(X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)]
    ratios = []
    for outlier in (0.0, 1e4):
        X_test = np.vstack([X[200:], [[outlier, 0.0]]])
        labels_test = RowTargets(np.vstack([Y[200:], [[True, False]]]))
        ratios.append(
            _select_gamma_ratio(
                [Split(CentredMatrix(X[:200]), RowTargets(Y[:200]), X_test, labels_test)], None
            )
        )
    assert ratios[1] == ratios[0] < 30.0


def test_target_of_beta_has_the_selected_penalty(monkeypatch):
    data = make_label_distributions(120, 4, 3, snr=0.1, labels="votes", n_raters=4)
    features, labels = CentredMatrix(data.X), RowTargets(data.Y > 0)
    splits = validation_splits(features, labels)
    votes = validate_vote_model(splits)
    assert votes.penalty_ratio != 1.0
    penalties = []

    def recorded(*args, l2, **options):
        penalties.append(l2)
        return vote_regression(*args, l2=l2, **options)

    monkeypatch.setattr(hyperparameters, "vote_regression", recorded)
    _beta_agreement(features, labels, splits, votes, 1.0, 2)
    assert penalties == [pytest.approx(votes.penalty_ratio * default_gamma(features))]


def test_unknown_labels_have_their_expected_votes():
    """A positive label has at least one vote, an unknown one may have none."""
    theta = np.log([[0.5, 0.01, 2.0]])
    labels = RowTargets(np.array([[True, False, False]]), np.array([[True, False, True]]))
    votes = np.array([0.5 / (1.0 - np.exp(-0.5)), 0.01, 0.0])
    np.testing.assert_allclose(_vote_degrees(theta, labels)[0], votes / votes.sum())


@pytest.mark.parametrize(
    "model", [DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0), FromClassifier()], ids=repr
)
def test_number_of_votes_is_that_of_weighted_rows(model):
    data = make_label_distributions(80, 3, 4, labels="votes", n_raters=6)
    weights = data.Y.sum(axis=1) ** 2
    weighted = model.set_params(zeros="less").fit(data.X, data.Y, sample_weight=weights).n_votes_
    assert weighted == pytest.approx(np.average(data.Y.sum(axis=1), weights=weights))
