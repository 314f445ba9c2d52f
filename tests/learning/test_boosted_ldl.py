"""BoostedLDL: derivatives, early stopping, missing and categorical values, votes, and trees in model files."""

from __future__ import annotations

import pickle
import re
import sys

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy import sparse

from ldlearn import BoostedLDL, MeanLDL, VoteLDL
from ldlearn.core.simplex import log_softmax
from ldlearn.core.votes import vote_losses
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, MissingDependencyError, ModelFileError
from ldlearn.learning.boosted_ldl import _DegreeLoss, _VoteLoss, read_trees
from ldlearn.tables import load_model, save_model

pytest.importorskip("lightgbm")

SMALL = {"n_estimators": 3, "min_samples_leaf": 2, "max_features": 1.0}


def derivatives_by_differences(total, Z, step=1e-4):
    """First and second derivatives of a sum over rows with respect to each score."""
    first, second = np.empty_like(Z), np.empty_like(Z)
    for place in np.ndindex(Z.shape):
        values = []
        for shift in (-step, 0.0, step):
            moved = Z.copy()
            moved[place] += shift
            values.append(total(moved))
        first[place] = (values[2] - values[0]) / (2.0 * step)
        second[place] = (values[2] - 2.0 * values[1] + values[0]) / step**2
    return first, second


def test_derivatives_of_the_degree_loss_agree_with_finite_differences():
    _, D, _ = make_problem(n=6)
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=D.shape), rng.uniform(0.5, 2.0, size=6)
    first, second = derivatives_by_differences(lambda Z: -np.sum(weights[:, None] * D * log_softmax(Z)), Z)
    gradient, curvature = _DegreeLoss(D, weights).derivatives(Z)
    np.testing.assert_allclose(gradient, first, atol=1e-6)
    np.testing.assert_allclose(curvature, second * 5 / 4, atol=1e-5)


def test_derivatives_of_the_vote_loss_agree_with_finite_differences():
    _, _, Y = make_problem(n=6)
    rng = np.random.default_rng(0)
    Z, weights, labels = rng.normal(size=Y.shape), rng.uniform(0.5, 2.0, size=6), Y.astype(float)
    labels[1, 2] = labels[3, 0] = np.nan
    loss = _VoteLoss(labels, weights)
    counted = np.where(np.isnan(labels), 0.0, weights[:, None])

    def total(Z, log_rate):
        return np.sum(counted * vote_losses(log_softmax(Z) + log_rate, np.nan_to_num(labels)))

    log_rate = loss.log_rate
    gradient, curvature = loss.derivatives(Z)
    np.testing.assert_allclose(gradient, derivatives_by_differences(lambda Z: total(Z, log_rate), Z)[0], atol=1e-5)
    assert (curvature >= 0).all()
    # The step of the rate goes down; repeated, it ends at the minimum.
    assert total(Z, loss.log_rate) < total(Z, log_rate)
    for _ in range(30):
        loss.derivatives(Z)
    assert total(Z, loss.log_rate) < min(total(Z, loss.log_rate - 0.01), total(Z, loss.log_rate + 0.01))


def test_curvature_of_votes_is_gauss_newton():
    """J' diag(h) J, where J is the Jacobian of log_softmax and h the curvature of the loss in the log votes."""
    Z, Y = np.array([[0.3, -1.0, 0.5]]), np.array([[1.0, 0.0, 1.0]])
    loss = _VoteLoss(Y, np.ones(1))
    theta = log_softmax(Z) + loss.log_rate
    h = derivatives_by_differences(lambda theta: vote_losses(theta, Y).sum(), theta)[1]
    J = np.eye(3) - np.exp(log_softmax(Z))
    np.testing.assert_allclose(loss.derivatives(Z)[1], [np.diag(J.T @ np.diag(h[0]) @ J) * 3 / 2], atol=1e-5)


def test_first_round_is_a_newton_step_in_each_leaf():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    D = np.where(X == 0.0, [[0.8, 0.2]], [[0.3, 0.7]])
    everything = {"n_estimators": 1, "learning_rate": 0.5, "l2": 3.0, "max_features": 1.0, "max_leaf_nodes": 2}
    validation = np.arange(80) % 2 == 1
    model = BoostedLDL(**everything).fit(X, D, validation=validation)
    P = D.mean(axis=0)
    expected = np.log(P) + 0.5 * 20 * (D[[0, -1]] - P) / (20 * 2.0 * P * (1.0 - P) + 3.0)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), np.exp(log_softmax(expected)), atol=1e-6)


def test_number_of_rounds_is_selected_on_validation_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    noise = rng.dirichlet(np.ones(3), size=120)
    stopped = BoostedLDL(n_estimators=200, min_samples_leaf=2).fit(X, noise)
    assert stopped.n_estimators_ < 30
    assert stopped.trees_.tobytes().count(b"Tree=") == 3 * stopped.n_estimators_
    validation = np.arange(120) % 3 == 0
    signal = np.where(X[:, :1] > 0, [[0.8, 0.1, 0.1]], [[0.1, 0.1, 0.8]])
    learned = BoostedLDL(n_estimators=50).fit(X, signal, validation=validation)
    assert learned.n_estimators_ > 40
    # Rows of the mask are not trained on.
    wrong = np.where(validation[:, None], signal[:, ::-1], signal)
    assert BoostedLDL(n_estimators=50).fit(X, wrong, validation=validation).n_estimators_ < 5


@pytest.mark.parametrize("validation", [np.ones(40, dtype=bool), np.zeros(40, dtype=bool), np.arange(40), [True]])
def test_validation_must_be_a_mask_of_some_rows(validation):
    X, D, _ = make_problem(n=40)
    with pytest.raises(InputError, match="validation must be a boolean mask"):
        BoostedLDL(**SMALL).fit(X, D, validation=validation)


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_both_sides_of_the_validation_mask_need_sample_weight(side):
    X, D, _ = make_problem(n=40)
    validation = np.arange(40) % 2 == 0
    with pytest.raises(InputError, match="validation must be a boolean mask"):
        BoostedLDL(**SMALL).fit(X, D, np.where(validation, side, 1.0 - side), validation=validation)


def test_duplicate_rows_are_not_split_between_training_and_validation(monkeypatch):
    import lightgbm

    seen = []
    real = lightgbm.Dataset
    monkeypatch.setattr(lightgbm, "Dataset", lambda X, **given: seen.append(X) or real(X, **given))
    X, D, _ = make_problem()
    BoostedLDL(**SMALL).fit(np.repeat(X, 3, axis=0), np.repeat(D, 3, axis=0))
    trained, held_out = ({tuple(row) for row in rows} for rows in seen)
    assert len(trained) > len(held_out) > 0
    assert not trained & held_out


def test_missing_values_are_informative():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[::2, 0] = np.nan
    D = np.where(np.isnan(X[:, :1]), [[0.9, 0.1]], [[0.2, 0.8]])
    model = BoostedLDL(max_features=1.0).fit(X, D)
    np.testing.assert_allclose(model.predict([[np.nan, 0.0], [0.5, 0.0]]), [[0.9, 0.1], [0.2, 0.8]], atol=0.05)
    with pytest.raises(InputError, match="infinity"):
        model.predict([[np.inf, 0.0]])


def test_categorical_features_are_not_ordered():
    """Odd and even codes: as a number, the column needs a split between any two neighbours."""
    codes = np.random.default_rng(0).integers(0, 40, size=800)
    D = np.where(codes[:, None] % 2 == 0, [[0.9, 0.1]], [[0.1, 0.9]])
    X = np.column_stack([np.zeros(800), codes]).astype(float)
    few = {"n_estimators": 10, "max_leaf_nodes": 2, "max_features": 1.0}
    as_category, as_number = BoostedLDL(categorical_features=[1], **few).fit(X, D), BoostedLDL(**few).fit(X, D)
    assert as_category.score(X, D) > as_number.score(X, D) + 0.05
    from_the_end = BoostedLDL(categorical_features=[-1], **few).fit(X, D)
    np.testing.assert_array_equal(from_the_end.predict(X), as_category.predict(X))


@pytest.mark.parametrize(("value", "given"), [(-1.0, [0]), (0.5, [0]), (1.0, [7]), (1.0, ["b"]), (1.0, [0.5])])
def test_invalid_categorical_features_raise(value, given):
    X, D, _ = make_problem()
    X[:, 0] = 1.0
    X[5, 0] = value
    with pytest.raises(InputError, match=r"categorical.*(at row 5|columns of X)"):
        BoostedLDL(categorical_features=given, **SMALL).fit(X, D)


def test_votes_are_learned_from_0_1_labels():
    data = make_label_distributions(400, n_features=3, labels="votes", n_raters=20)
    model = BoostedLDL("votes").fit(data.X, data.Y)
    prior = MeanLDL().fit(data.X, np.tile(data.D.mean(axis=0), (400, 1)))
    assert model.score(data.X, data.D) > prior.score(data.X, data.D) + 0.1
    assert model.lambda_ == pytest.approx(VoteLDL().fit(data.X, data.Y).lambda_, rel=0.3)


def test_unobserved_labels_are_ignored():
    data = make_label_distributions(100, n_features=3, labels="votes")
    Y = np.array(data.Y, dtype=float)
    Y[:, 0] = np.where(np.arange(100) % 2, np.nan, Y[:, 0])
    model = BoostedLDL("votes", **SMALL).fit(data.X, Y)
    filled = BoostedLDL("votes", **SMALL).fit(data.X, np.nan_to_num(Y))
    assert model.predict(data.X)[:, 0].mean() > filled.predict(data.X)[:, 0].mean() + 0.02


def test_invariant_to_feature_offsets():
    """LightGBM has a separate bin for 0, wherever it lies among the values."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 1)) * 2.0**12) / 2.0**12
    D = np.exp(np.hstack([X, -X, 0.0 * X]))
    D /= D.sum(axis=1, keepdims=True)
    near, far = (BoostedLDL(max_features=1.0).fit(X + offset, D).predict(X + offset) for offset in (0.0, 1e4))
    np.testing.assert_allclose(far, near, atol=1e-12)


def test_categories_of_new_rows_may_be_below_those_of_training():
    codes = np.random.default_rng(0).integers(5, 9, size=(400, 1)).astype(float)
    D = np.where(codes % 2 == 0, [[0.9, 0.1]], [[0.1, 0.9]])
    model = BoostedLDL(categorical_features=[0], max_features=1.0).fit(codes, D)
    np.testing.assert_allclose(model.predict([[0.0]]), model.predict([[100.0]]))  # both are unseen


def test_sparse_rows_with_missing_values():
    X, D, _ = make_problem()
    X[::5, 1] = np.nan
    X[1::3, 0] = 0.0
    dense, thin = BoostedLDL(**SMALL).fit(X, D), BoostedLDL(**SMALL).fit(sparse.csr_array(X), D)
    assert dense.predict(X).shape == thin.predict(sparse.csr_array(X)).shape


def test_without_lightgbm_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    X, D, _ = make_problem()
    with pytest.raises(MissingDependencyError, match=r"boost"):
        BoostedLDL().fit(X, D)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 9, size=600)])
    D = np.where(X[:, 1:] % 2 == 0, [[0.7, 0.2, 0.1]], [[0.1, 0.2, 0.7]])
    return BoostedLDL(categorical_features=[1], **SMALL).fit(X, D)


def test_model_file_restores_trees_exactly(fitted, tmp_path):
    save_model(fitted, tmp_path / "model.ldl")
    X = np.array([[0.3, 4.0], [np.nan, 11.0], [-2.0, np.nan]])
    np.testing.assert_array_equal(load_model(tmp_path / "model.ldl").predict(X), fitted.predict(X))


MALICIOUS = {
    "a child that is its own parent": (r"left_child=\S+", "left_child=0"),
    "a leaf beyond the end": (r"right_child=\S+", "right_child=-99"),
    "a node beyond the end": (r"right_child=\S+", "right_child=99"),
    "another feature than there is": (r"split_feature=\S+", "split_feature=7"),
    "more leaves than values": (r"num_leaves=", "num_leaves=9"),
    "sizes in bytes": (r"feature_names=", "tree_sizes=1 2 3\nfeature_names="),
    "another number of labels": (r"num_class=3", "num_class=2"),
    "more features": (r"max_feature_idx=1", "max_feature_idx=10"),
    "categories beyond the end": (r"cat_boundaries=0 ", "cat_boundaries=0 9"),
    "a set of categories beyond the last": (r"\nthreshold=\S+", "\nthreshold=5"),
    "linear leaves": (r"is_linear=0", "is_linear=1"),
    "a tree less": (r"Tree=8(.|\n)*end of", "end of"),
}


@pytest.mark.parametrize("what", MALICIOUS)
def test_trees_with_invalid_indices_are_rejected(fitted, what):
    text, (old, new) = fitted.trees_.tobytes().decode(), MALICIOUS[what]
    read_trees(text, 2, 3)
    damaged, n_changes = re.subn(old, new, text, count=1)
    assert n_changes == 1
    with pytest.raises(ModelFileError, match="damaged"):
        read_trees(damaged, 2, 3)


def test_too_long_model_text_is_rejected_before_parsing(fitted, monkeypatch):
    monkeypatch.setattr("ldlearn.learning.boosted_ldl._MAX_TEXT_BYTES", 10)
    with pytest.raises(ModelFileError, match="more bytes"):
        pickle.loads(pickle.dumps(fitted)).predict([[0.0, 1.0]])
