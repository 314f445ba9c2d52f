"""BoostedLDL: derivatives, early stopping, missing and categorical values, votes, and trees in
model files."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace

import joblib
import numpy as np
import pytest
from estimator_cases import make_problem
from example_tables import parts_of, with_text
from scipy import sparse

from ldlearn import BoostedLDL, MeanLDL, VoteLDL
from ldlearn.core.simplex import log_softmax
from ldlearn.core.trees import Trees
from ldlearn.core.votes import vote_losses
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, MissingDependencyError, ModelFileError
from ldlearn.learning.boosted_ldl import _DegreeLoss, _VoteLoss
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
    first, second = derivatives_by_differences(
        lambda Z: -np.sum(weights[:, None] * D * log_softmax(Z)), Z
    )
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
    np.testing.assert_allclose(
        gradient, derivatives_by_differences(lambda Z: total(Z, log_rate), Z)[0], atol=1e-5
    )
    assert (curvature >= 0).all()
    # The step of the rate goes down; repeated, it ends at the minimum.
    assert total(Z, loss.log_rate) < total(Z, log_rate)
    for _ in range(30):
        loss.derivatives(Z)
    assert total(Z, loss.log_rate) < min(
        total(Z, loss.log_rate - 0.01), total(Z, loss.log_rate + 0.01)
    )


def test_curvature_of_votes_is_gauss_newton():
    """J' diag(h) J, where J is the Jacobian of log_softmax and h the curvature of the loss in the
    log votes."""
    Z, Y = np.array([[0.3, -1.0, 0.5]]), np.array([[1.0, 0.0, 1.0]])
    loss = _VoteLoss(Y, np.ones(1))
    theta = log_softmax(Z) + loss.log_rate
    h = derivatives_by_differences(lambda theta: vote_losses(theta, Y).sum(), theta)[1]
    J = np.eye(3) - np.exp(log_softmax(Z))
    np.testing.assert_allclose(
        loss.derivatives(Z)[1], [np.diag(J.T @ np.diag(h[0]) @ J) * 3 / 2], atol=1e-5
    )


def test_first_round_is_a_newton_step_in_each_leaf():
    X = np.repeat([[0.0], [1.0]], 40, axis=0)
    D = np.where(X == 0.0, [[0.8, 0.2]], [[0.3, 0.7]])
    everything = {
        "n_estimators": 1,
        "learning_rate": 0.5,
        "l2": 3.0,
        "max_features": 1.0,
        "max_leaf_nodes": 2,
    }
    validation = np.arange(80) % 2 == 1
    model = BoostedLDL(**everything).fit(X, D, validation=validation)
    P = D.mean(axis=0)
    expected = np.log(P) + 0.5 * 20 * (D[[0, -1]] - P) / (20 * 2.0 * P * (1.0 - P) + 3.0)
    np.testing.assert_allclose(
        model.predict([[0.0], [1.0]]), np.exp(log_softmax(expected)), atol=1e-6
    )


def test_number_of_rounds_is_selected_on_validation_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    noise = rng.dirichlet(np.ones(3), size=120)
    stopped = BoostedLDL(n_estimators=200, min_samples_leaf=2).fit(X, noise)
    assert stopped.n_estimators_ < 30
    is_split = stopped.trees_.feature >= 0
    assert len(is_split) - 2 * is_split.sum() == 3 * stopped.n_estimators_
    validation = np.arange(120) % 3 == 0
    signal = np.where(X[:, :1] > 0, [[0.8, 0.1, 0.1]], [[0.1, 0.1, 0.8]])
    learned = BoostedLDL(n_estimators=50).fit(X, signal, validation=validation)
    assert learned.n_estimators_ > 40
    # Rows of the mask are not trained on.
    wrong = np.where(validation[:, None], signal[:, ::-1], signal)
    assert BoostedLDL(n_estimators=50).fit(X, wrong, validation=validation).n_estimators_ < 5


@pytest.mark.parametrize(
    "validation", [np.ones(40, dtype=bool), np.zeros(40, dtype=bool), np.arange(40), [True]]
)
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
    np.testing.assert_allclose(
        model.predict([[np.nan, 0.0], [0.5, 0.0]]), [[0.9, 0.1], [0.2, 0.8]], atol=0.05
    )
    with pytest.raises(InputError, match="infinity"):
        model.predict([[np.inf, 0.0]])


def test_categorical_features_are_not_ordered():
    """Odd and even codes: as a number, the column needs a split between any two neighbours."""
    codes = np.random.default_rng(0).integers(0, 40, size=800)
    D = np.where(codes[:, None] % 2 == 0, [[0.9, 0.1]], [[0.1, 0.9]])
    X = np.column_stack([np.zeros(800), codes]).astype(float)
    few = {"n_estimators": 10, "max_leaf_nodes": 2, "max_features": 1.0}
    as_category, as_number = (
        BoostedLDL(categorical_features=[1], **few).fit(X, D),
        BoostedLDL(**few).fit(X, D),
    )
    assert as_category.score(X, D) > as_number.score(X, D) + 0.05
    from_the_end = BoostedLDL(categorical_features=[-1], **few).fit(X, D)
    np.testing.assert_array_equal(from_the_end.predict(X), as_category.predict(X))


@pytest.mark.parametrize(
    ("value", "given"), [(-1.0, [0]), (0.5, [0]), (1.0, [7]), (1.0, ["b"]), (1.0, [0.5])]
)
def test_invalid_categorical_features_raise(value, given):
    X, D, _ = make_problem()
    X[:, 0] = 1.0
    X[5, 0] = value
    with pytest.raises(InputError, match=r"categorical.*(at row 5|columns of X)"):
        BoostedLDL(categorical_features=given, **SMALL).fit(X, D)


def test_votes_are_learned_from_0_1_labels():
    data = make_label_distributions(400, n_features=3, labels="votes", n_raters=20)
    model = BoostedLDL(target="votes").fit(data.X, data.Y)
    prior = MeanLDL().fit(data.X, np.tile(data.D.mean(axis=0), (400, 1)))
    assert model.score(data.X, data.D) > prior.score(data.X, data.D) + 0.1
    assert model.lambda_ == pytest.approx(VoteLDL().fit(data.X, data.Y).lambda_, rel=0.3)


def test_unobserved_labels_are_ignored():
    data = make_label_distributions(100, n_features=3, labels="votes")
    Y = np.array(data.Y, dtype=float)
    Y[:, 0] = np.where(np.arange(100) % 2, np.nan, Y[:, 0])
    model = BoostedLDL(target="votes", **SMALL).fit(data.X, Y)
    filled = BoostedLDL(target="votes", **SMALL).fit(data.X, np.nan_to_num(Y))
    assert model.predict(data.X)[:, 0].mean() > filled.predict(data.X)[:, 0].mean() + 0.02


def test_invariant_to_feature_offsets():
    """LightGBM has a separate bin for 0, wherever it lies among the values."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 1)) * 2.0**12) / 2.0**12
    D = np.exp(np.hstack([X, -X, 0.0 * X]))
    D /= D.sum(axis=1, keepdims=True)
    near, far = (
        BoostedLDL(max_features=1.0).fit(X + offset, D).predict(X + offset) for offset in (0.0, 1e4)
    )
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


def test_predictions_of_saved_models_need_no_lightgbm(fitted, tmp_path, monkeypatch):
    X = np.array([[0.3, 4.0], [np.nan, 11.0], [-2.0, np.nan]])
    expected = fitted.predict(X)
    save_model(fitted, tmp_path / "model.ldl")
    pickled = pickle.dumps(fitted)
    joblib.dump(fitted, tmp_path / "model.joblib")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    for model in (
        load_model(tmp_path / "model.ldl"),
        pickle.loads(pickled),
        joblib.load(tmp_path / "model.joblib"),
    ):
        np.testing.assert_array_equal(model.predict(X), expected)
    for written in (pickled, (tmp_path / "model.ldl").read_bytes()):
        assert b"split_feature" not in written


def train_with_lightgbm(monkeypatch, X, D, **params):
    """A model, and LightGBM's booster that its trees come from."""
    import lightgbm

    boosters = []
    train = lightgbm.train
    monkeypatch.setattr(
        lightgbm,
        "train",
        lambda *args, **given: boosters.append(train(*args, **given)) or boosters[0],
    )
    model = BoostedLDL(n_estimators=15, min_samples_leaf=2, l2=0.1, max_features=1.0, **params).fit(
        X, D
    )
    return model, boosters[0]


@pytest.mark.parametrize("max_leaf_nodes", [2, 8, 60])
@pytest.mark.parametrize("target", ["degrees", "votes"])
def test_scores_are_those_of_lightgbm(monkeypatch, max_leaf_nodes, target):
    """Missing values with and without any in training, categories that are unknown, infinity, and
    thresholds."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, size=600)
    far = rng.choice([3, 40, 2000, 3000], size=600)
    X = np.column_stack([rng.normal(size=600), rng.normal(size=600), codes, far])
    X[rng.random(600) < 0.2, 0] = np.nan
    X[rng.random(600) < 0.1, 3] = np.nan
    Z = np.column_stack([np.nan_to_num(X[:, 0]) ** 2, X[:, 1], codes % 2 + (far % 3 == 0)])
    D = np.exp(log_softmax(2.0 * Z))
    y = D if target == "degrees" else D > 0.3
    params = {"target": target, "categorical_features": [2, 3], "max_leaf_nodes": max_leaf_nodes}
    model, booster = train_with_lightgbm(monkeypatch, X, y, **params)
    trees = model.trees_
    assert set(trees.feature[trees.kind == 2]) == {2, 3}
    thresholds = trees.value[(trees.feature >= 0) & (trees.kind < 2)]
    numbers = np.concatenate(
        [thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)]
    )
    unusual = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1e-40,
        -1.0,
        -0.5,
        2.7,
        1e9,
        2.0**31,
        2.0**32 + 1.0,
        1e30,
    ]
    codes = [*range(12), *(np.unique(far) - 3), 36, 38, 1996, 1998, 4000]
    rows = np.column_stack(
        [rng.choice([*unusual, *pool], size=3000) for pool in (numbers, numbers, codes, codes)]
    )
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    for given in (rows, single, sparse.csr_matrix(rows)):
        expected = booster.predict(given, raw_score=True, num_threads=1)
        assert expected.std() > 0.05
        np.testing.assert_allclose(
            trees.sum_scores(given, np.zeros(4), 3), expected, rtol=0, atol=1e-12
        )
    expected = np.exp(
        log_softmax(model.intercept_ + booster.predict(X - model.data_min_, raw_score=True))
    )
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-12)


def test_trees_without_splits_are_converted(monkeypatch):
    """With more rows in a leaf than there are, LightGBM makes trees of one leaf."""
    X, D, _ = make_problem(n=60)
    model, booster = train_with_lightgbm(monkeypatch, X, np.tile(D[:1], (60, 1)))
    expected = booster.predict(X - model.data_min_, raw_score=True)
    np.testing.assert_allclose(
        model.trees_.sum_scores(X, model.data_min_, D.shape[1]), expected, atol=1e-12
    )


def test_missing_values_of_features_without_any_in_training_count_as_0():
    import lightgbm

    X = np.linspace(-2.0, 1.0, 90)[:, None]
    params = {"num_leaves": 8, "min_data_in_leaf": 2, "verbosity": -1, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(X, (X[:, 0] > -0.5).astype(float)), 3)
    rows = np.array([[np.nan], [0.0], [-2.0]])
    scores = Trees.from_lightgbm(booster).sum_scores(rows, np.zeros(1), 1)
    np.testing.assert_allclose(scores[:, 0], booster.predict(rows), atol=1e-12)
    assert scores[0] == scores[1] != scores[2]


def damaged(name, position, value):
    def change(trees):
        array = getattr(trees, name).copy()
        array[position] = value
        return {name: array}

    return change


def chain(depth):
    """A single tree, whose every split has a leaf on the left and the next split on the right."""
    feature = np.append(np.tile([0, -1], depth), -1)
    return {
        "feature": feature,
        "value": np.zeros(len(feature)),
        "kind": np.zeros(len(feature), int),
    }


MALICIOUS = {
    "no nodes": lambda trees: {
        name: getattr(trees, name)[:0] for name in ("feature", "value", "kind")
    },
    "a split more": damaged("feature", -1, 0),
    "splits only": damaged("feature", slice(None), 0),
    "an unknown kind": damaged("kind", 0, 3),
    "a set beyond the last": damaged("value", slice(None), 1e6),
    "a set before the first": damaged("value", slice(None), -1.0),
    "a set that is missing": damaged("value", slice(None), np.nan),
    "sets that overlap": damaged("set_bounds", 1, 10**6),
    "sets that start late": damaged("set_bounds", 0, 1),
    "sets beyond the words": lambda trees: {"set_words": trees.set_words[:-1]},
    "no bounds": lambda trees: {"set_bounds": trees.set_bounds[:0]},
    "too deep": lambda trees: chain(501),
}


@pytest.mark.parametrize("what", MALICIOUS)
def test_damaged_trees_are_rejected(fitted, what):
    with pytest.raises(ModelFileError, match="trees are damaged"):
        replace(fitted.trees_, **MALICIOUS[what](fitted.trees_))


def test_deepest_trees_are_accepted(fitted):
    deep = replace(fitted.trees_, **chain(500))
    np.testing.assert_array_equal(
        deep.sum_scores(np.array([[-1.0], [1.0]]), np.zeros(1), 1), [[0.0], [0.0]]
    )


def test_files_with_splits_on_other_features_are_rejected(fitted, tmp_path):
    """Even if no row that is predicted at loading reaches the split."""
    save_model(fitted, tmp_path / "model.ldl")
    content, arrays = parts_of((tmp_path / "model.ldl").read_bytes())
    sound = fitted.trees_.feature
    feature = sound.copy()
    feature[np.flatnonzero(sound >= 0)[-1]] = 2
    assert arrays.count(sound.tobytes()) == 1
    arrays = arrays.replace(sound.tobytes(), feature.tobytes())
    (tmp_path / "model.ldl").write_bytes(with_text(json.dumps(content).encode(), arrays))
    with pytest.raises(ModelFileError, match="cannot be loaded"):
        load_model(tmp_path / "model.ldl")
