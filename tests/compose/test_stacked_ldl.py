"""StackedLDL: independent checks of its five steps, and failures of members."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags

from ldlearn import DLDL, MLPLDL, SABFGS, BoostedLDL, StackedLDL, VoteLDL
from ldlearn.compose import stacked_ldl
from ldlearn.compose.stacked_ldl import _degree_loss, _minimize_on_simplex, _vote_loss
from ldlearn.core.votes import profile_log_rate
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.tables import load_model, save_model
from ldlearn.uncertainty import ConformalIntervals

TEACHER = DLDL(beta=0.7, gamma=0.3, max_iter=2)
LINEAR = ("linear", SABFGS(l2=0.3))
PLAIN = [LINEAR, ("flat", SABFGS(l2=30.0)), ("votes", VoteLDL(gamma=1.0))]


@pytest.fixture(scope="module")
def data():
    return make_label_distributions(60, n_features=3, n_labels=4, labels="votes", n_raters=8)


class Spy(BaseEstimator):
    """A member that stores what it is fitted on and predicts equal degrees for rows that it was
    fitted on."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weights_ = X, y, sample_weight
        Spy.seen.append(self)
        return self

    def predict(self, X):
        known = (X[:, None, :] == self.X_[None]).all(axis=2).any(axis=1)
        unlike = np.arange(1.0, self.y_.shape[1] + 1)
        return np.where(known[:, None], 1.0 / len(unlike), unlike / unlike.sum())


@pytest.fixture
def inner(monkeypatch):
    """Arguments of the two losses in step 4: the out-of-fold predictions, the neutral degrees, and
    so on."""
    Spy.seen.clear()
    given = {}
    for name in ("_vote_loss", "_degree_loss"):
        real = getattr(stacked_ldl, name)
        monkeypatch.setattr(
            stacked_ldl,
            name,
            lambda *args, name=name, real=real: given.update({name: args}) or real(*args),
        )
    return given


def d_step(p, y, beta):
    """The D-step of a row by a generic solver."""
    on = np.flatnonzero(y)

    def objective(d):
        return float(np.sum(d * np.log(d / p[on])) + beta * d @ d)

    sums = {"type": "eq", "fun": lambda d: d.sum() - 1.0}
    start = np.full(len(on), 1.0 / len(on))
    found = minimize(objective, start, bounds=[(1e-9, 1.0)] * len(on), constraints=sums, tol=1e-12)
    return np.bincount(on, found.x, minlength=len(y))


def test_step_1_one_teacher_whose_selection_the_members_share(data, monkeypatch):
    fits = []
    real = DLDL._fit
    monkeypatch.setattr(
        DLDL, "_fit", lambda self, *args, **data: fits.append(self) or real(self, *args, **data)
    )
    monkeypatch.setattr(stacked_ldl, "find_spec", lambda name: None)
    model = StackedLDL().fit(data.X, data.Y)
    teacher, *kernels = fits
    assert model.beta_ == teacher.beta_
    assert {kernel.beta for kernel in kernels} == {teacher.beta_}
    assert teacher.get_params() == DLDL().get_params()
    assert {fold.l2 for fold in model.members_["linear"]} == {teacher.gamma_}
    assert {fold.gamma for fold in model.members_["votes"]} == {
        VoteLDL().fit(data.X, data.Y).gamma_
    }
    assert teacher.selection_summary_ in model.selection_summary_


def test_step_2_members_learn_degrees_or_labels_in_folds(data, inner):
    model = StackedLDL(members=[LINEAR, ("spy", Spy())], teacher=TEACHER).fit(data.X, data.Y)
    D = DLDL(**TEACHER.get_params()).fit(data.X, data.Y).label_distributions_
    assert len(Spy.seen) == 5
    held_out = []
    for spy in Spy.seen:
        rows = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in spy.X_]
        np.testing.assert_array_equal(spy.y_, D[rows])
        held_out += sorted(set(range(60)) - set(rows))
    assert sorted(held_out) == list(range(60))  # each row once
    # No out-of-fold prediction comes from a model that was fitted on the row.
    np.testing.assert_allclose(
        inner["_vote_loss"][0][1], np.tile(np.arange(1.0, 5.0) / 10.0, (60, 1))
    )
    assert set(model.members_) == {"linear", "spy"}
    Spy.seen.clear()
    votes = StackedLDL(members=[LINEAR, ("votes", VoteLDL(gamma=1.0))], teacher=TEACHER).fit(
        data.X, data.Y
    )
    assert votes.members_["votes"][0].label_distributions_.shape[0] == 48


def test_step_2_dldl_learns_the_degrees_of_the_teacher(data):
    members = [LINEAR, ("other", DLDL(beta=3.0, gamma=0.1, max_iter=2))]
    model = StackedLDL(members=members, teacher=TEACHER).fit(data.X, data.Y)
    D = DLDL(**TEACHER.get_params()).fit(data.X, data.Y).label_distributions_
    for fold in model.members_["other"]:
        learned = fold.label_distributions_
        assert np.abs(learned[:, None] - D[None]).max(axis=2).min(axis=1).max() < 1e-12


def test_kernel_is_invariant_to_units(data):
    mapped = []
    for X in (data.X, data.X * [1.0, 20.0, 0.2] + [0.0, 5.0, 7.0]):
        kernel = StackedLDL(teacher=TEACHER).fit(X, data.Y).members_["kernel"][0]
        mapped.append([*kernel.feature_map_.transform(X), np.full(48, kernel.gamma)])
    np.testing.assert_allclose(*mapped, atol=1e-6)


def test_step_2_the_models_of_the_folds_are_averaged(data):
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    X = data.X[:5] + 0.1
    expected = sum(
        weight * np.mean([fold.predict(X) for fold in folds], axis=0)
        for weight, folds in zip(model.member_weights_, model.members_.values(), strict=True)
    )
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)


def test_step_3_neutral_degrees_are_half_d_step_and_half_expected_votes(data, inner):
    StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    P, N, _ = inner["_degree_loss"]
    p, Y = P.mean(axis=0), np.asarray(data.Y, dtype=bool)
    rate = np.exp(profile_log_rate(np.log(p), Y))
    assert inner["_vote_loss"][2] == pytest.approx(profile_log_rate(np.log(P.mean(axis=0)), Y))
    votes = Y * rate * p / (1.0 - np.exp(-rate * p))
    for i in range(4):
        half = votes[i] / votes[i].sum() / 2.0
        np.testing.assert_allclose(N[i], half + d_step(p[i], Y[i], 0.7) / 2.0, atol=1e-4)


def test_step_4_weights_are_the_average_of_two_optima(data, inner):
    members = [("flat", SABFGS(l2=10.0)), ("sharp", SABFGS(l2=1e-4))]
    model = StackedLDL(members=members, teacher=TEACHER).fit(data.X, data.Y)
    P, Y, log_rate, _ = inner["_vote_loss"]
    N = inner["_degree_loss"][1]
    first = np.linspace(0.0005, 0.9995, 1000)
    mixtures = [w * P[0] + (1.0 - w) * P[1] for w in first]
    likelihood = [
        np.sum(
            np.log(np.where(Y, 1.0 - np.exp(-np.exp(log_rate) * M), np.exp(-np.exp(log_rate) * M)))
        )
        for M in mixtures
    ]
    by_likelihood = first[np.argmax(np.add(likelihood, 8.0 * np.log(first)))]
    by_degrees = first[np.argmax([np.sum(N * np.log(M)) for M in mixtures])]
    assert abs(by_likelihood - by_degrees) > 0.01  # otherwise their average would test nothing
    assert model.member_weights_[0] == pytest.approx((by_likelihood + by_degrees) / 2.0, abs=2e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_step_4_gradients_agree_with_finite_differences(weighted):
    rng = np.random.default_rng(0)
    P, N = rng.dirichlet(np.ones(4), size=(3, 8)), rng.dirichlet(np.ones(4), size=8)
    Y, w = rng.random((8, 4)) < 0.5, rng.dirichlet(np.ones(3))
    rows = rng.uniform(0.5, 2.0, size=8) if weighted else None
    cells = rows[:, None] * (rng.random((8, 4)) < 0.8) if weighted else None
    for loss in (_vote_loss(P, Y, 0.5, cells), _degree_loss(P, N, rows)):
        assert check_grad(lambda w, f=loss: f(w)[0], lambda w, f=loss: f(w)[1], w) < 1e-6


def test_minimize_on_simplex_finds_vertices_and_inner_points():
    for target in np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]):
        found = _minimize_on_simplex(lambda w, t=target: ((w - t) @ (w - t), 2.0 * (w - t)), 3)
        np.testing.assert_allclose(found, target, atol=1e-5)
    np.testing.assert_allclose(
        _minimize_on_simplex(lambda w: (w[1], np.array([0.0, 1.0])), 2), [1.0, 0.0], atol=1e-9
    )
    np.testing.assert_array_equal(_minimize_on_simplex(lambda w: (0.0, np.zeros(1)), 1), [1.0])


def test_step_4_the_first_member_outweighs_others_that_are_hardly_better(data):
    """Without evidence: nearly all labels are positive, so that likelihoods hardly differ."""
    P = np.random.default_rng(0).dirichlet(np.full(4, 5.0), size=(3, 60))
    Y = np.ones((60, 4), dtype=bool)
    assert _minimize_on_simplex(_vote_loss(P, Y, 5.0, None), 3)[0] > 0.7


def test_step_5_recovery_is_the_d_step_given_the_mixture(data, inner):
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    out_of_fold = np.tensordot(model.member_weights_, inner["_vote_loss"][0], axes=1)
    X = data.X[:4] + 0.1
    enhanced, predicted = model.enhance(X, data.Y[:4]), model.predict(X)
    for i in range(4):
        expected = d_step(out_of_fold[i], data.Y[i], 0.7)
        np.testing.assert_allclose(model.label_distributions_[i], expected, atol=1e-4)
        np.testing.assert_allclose(enhanced[i], d_step(predicted[i], data.Y[i], 0.7), atol=1e-4)
    # In-sample predictions give other degrees.
    assert np.abs(model.enhance(data.X, data.Y) - model.label_distributions_).max() > 1e-3


def test_zeros_that_mean_less_mix_recovery_and_prediction(data, inner):
    none = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    # The parameter of the teacher is not used.
    model = StackedLDL(
        members=PLAIN, zeros=2.0, teacher=clone(TEACHER).set_params(zeros="less")
    ).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.member_weights_, none.member_weights_)
    np.testing.assert_array_equal(model.predict(data.X), none.predict(data.X))
    w = 2.0 / (2.0 + data.Y.sum(axis=1).mean())
    Y = np.asarray(data.Y, dtype=bool)
    mixture = np.tensordot(model.member_weights_, inner["_vote_loss"][0], axes=1)
    X = data.X[:4] + 0.1
    enhanced, predicted = model.enhance(X, data.Y[:4]), model.predict(X)
    for i in range(4):
        expected = (1.0 - w) * d_step(mixture[i], Y[i], 0.7) + w * mixture[i]
        np.testing.assert_allclose(model.label_distributions_[i], expected, atol=1e-4)
        expected = (1.0 - w) * d_step(predicted[i], Y[i], 0.7) + w * predicted[i]
        np.testing.assert_allclose(enhanced[i], expected, atol=1e-4)
    assert not get_tags(model).keeps_zeros
    assert get_tags(none).keeps_zeros


def test_zeros_that_mean_less_do_not_change_the_default_members(data, monkeypatch):
    monkeypatch.setattr(
        stacked_ldl, "MLPLDL", lambda: MLPLDL(hidden_layer_sizes=2, max_iter=2, random_state=0)
    )
    monkeypatch.setattr(stacked_ldl, "find_spec", lambda name: None)
    none, less = (StackedLDL(zeros=zeros).fit(data.X, data.Y) for zeros in ("none", "less"))
    np.testing.assert_array_equal(less.predict(data.X), none.predict(data.X))
    assert less.kappa_ == less.n_votes_ == pytest.approx(data.Y.sum(axis=1).mean())
    assert (less.label_distributions_[np.asarray(data.Y) == 0] > 0).all()


def test_duplicate_rows_are_in_the_same_fold(data):
    Spy.seen.clear()
    X, Y = np.repeat(data.X[:30], 3, axis=0), np.repeat(data.Y[:30], 3, axis=0)
    StackedLDL(members=[LINEAR, ("spy", Spy())], teacher=TEACHER).fit(X, Y)
    for spy in Spy.seen:
        _, counts = np.unique(spy.X_, axis=0, return_counts=True)
        assert (counts == 3).all()


def test_members_are_trained_on_a_sample_of_many_rows(data, inner):
    model = StackedLDL(members=[LINEAR, ("spy", Spy())], teacher=TEACHER, max_rows=25).fit(
        data.X, data.Y
    )
    assert [len(spy.X_) for spy in Spy.seen] == [20] * 5
    # Rows that are not in the sample are predicted, too, and by models that were not fitted on
    # them.
    np.testing.assert_allclose(
        inner["_vote_loss"][0][1], np.tile(np.arange(1.0, 5.0) / 10.0, (60, 1))
    )
    assert model.label_distributions_.shape == (60, 4)


def test_regressors_may_be_members(data):
    members = [LINEAR, ("ridge", Ridge())]
    model = StackedLDL(members=members, teacher=TEACHER).fit(data.X, data.Y)
    far = np.full((1, 3), 50.0)  # where a ridge regression is negative
    assert model.predict(far).min() >= 0.0
    assert model.predict(far).sum() == pytest.approx(1.0)


class Failing(RegressorMixin, BaseEstimator):
    def __init__(self, problem="error"):
        self.problem = problem

    def fit(self, X, y, sample_weight=None):
        if self.problem == "error":
            raise RuntimeError("no memory on this device")
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full((len(X), 4), np.nan) if self.problem == "nan" else np.ones(len(X))


@pytest.mark.parametrize(
    ("problem", "message"), [("error", "no memory"), ("nan", "finite"), ("shape", "4 finite")]
)
def test_failing_member_is_dropped_with_a_warning(data, problem, message):
    with pytest.warns(UserWarning, match=f"'bad'.*{message}"):
        model = StackedLDL(members=[("bad", Failing(problem)), *PLAIN], teacher=TEACHER).fit(
            data.X, data.Y
        )
    without = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.predict(data.X), without.predict(data.X))
    assert "bad" not in model.describe_members()


def test_fit_raises_if_all_members_fail(data):
    with pytest.raises(InputError, match="All members"), pytest.warns(UserWarning, match="drops"):
        StackedLDL(members=[("bad", Failing())], teacher=TEACHER).fit(data.X, data.Y)


@pytest.mark.parametrize(
    "members", [[], [SABFGS()], [("a", SABFGS()), ("a", SABFGS())], [(1, SABFGS())]]
)
def test_invalid_members_raise(data, members):
    with pytest.raises(ParameterError, match="pairs"):
        StackedLDL(members=members, teacher=TEACHER).fit(data.X, data.Y)


def test_default_members_with_and_without_lightgbm(data, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(stacked_ldl, "MLPLDL", lambda: MLPLDL(hidden_layer_sizes=2, max_iter=2))
    monkeypatch.setattr(stacked_ldl, "BoostedLDL", SmallBoosted)
    model = StackedLDL(teacher=TEACHER).fit(data.X, data.Y)
    assert list(model.members_) == ["linear", "kernel", "networks", "votes", "boosted votes"]
    assert {fold.target for fold in model.members_["boosted votes"]} == {"votes"}
    monkeypatch.setattr(stacked_ldl, "find_spec", lambda name: None)
    assert list(StackedLDL(teacher=TEACHER).fit(data.X, data.Y).members_) == [
        "linear",
        "kernel",
        "networks",
        "votes",
    ]


class SmallBoosted(BoostedLDL):
    """Stores which rows were given to it."""

    seen: list = []

    def __init__(self, target="votes", n_estimators=2):
        super().__init__(target=target, n_estimators=n_estimators, min_samples_leaf=2)

    def _fit(self, X, T, sample_weight=None, validation=None):
        SmallBoosted.seen.append((X, validation))
        super()._fit(X, T, sample_weight, validation)


def test_boosting_stops_on_the_rows_that_are_left_out(data):
    pytest.importorskip("lightgbm")
    SmallBoosted.seen.clear()
    StackedLDL(members=[LINEAR, ("boosted", SmallBoosted())], teacher=TEACHER).fit(data.X, data.Y)
    assert [(len(X), int(validation.sum())) for X, validation in SmallBoosted.seen] == [
        (60, 12)
    ] * 5


def test_members_get_the_sample_weights_of_their_rows(data):
    Spy.seen.clear()
    weights = np.arange(1.0, 61.0)
    StackedLDL(members=[LINEAR, ("spy", Spy())], teacher=TEACHER).fit(
        data.X, data.Y, sample_weight=weights
    )
    for spy in Spy.seen:
        rows = [int(np.flatnonzero((row == data.X).all(axis=1))[0]) for row in spy.X_]
        np.testing.assert_array_equal(spy.weights_, weights[rows])


def test_sample_weights_require_support_of_all_members(data):
    class Unweighted(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(InputError, match="sample_weight"):
        StackedLDL(members=[LINEAR, ("ridge", Unweighted())]).fit(
            data.X, data.Y, sample_weight=np.ones(60)
        )


def test_description_of_member_weights(data):
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, data.Y)
    model.member_weights_ = np.array([0.25, 0.0, 0.75])
    assert model.describe_members() == "prediction: 75% votes, 25% linear, 0% flat"


def test_few_rows_are_fitted_without_folds(data):
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X[:5], data.Y[:5])
    assert all(len(folds) == 1 for folds in model.members_.values())


def test_only_conformal_intervals(data):
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X[:30], data.Y[:30])
    assert not hasattr(model, "predict_interval")
    conformal = ConformalIntervals(model).fit(data.X[30:], data.D[30:])
    lower, upper = conformal.predict_interval(data.X[:5])
    assert (lower <= upper).all()


def test_model_file_restores_all_default_members(data, tmp_path):
    pytest.importorskip("lightgbm")
    small = [
        ("networks", MLPLDL(hidden_layer_sizes=2, max_iter=2)),
        ("boosted", BoostedLDL(target="votes", n_estimators=2, min_samples_leaf=2)),
    ]
    kernel = ("kernel", StackedLDL(teacher=TEACHER).fit(data.X, data.Y).members_["kernel"][0])
    model = StackedLDL(members=[*PLAIN, *small, kernel], teacher=TEACHER).fit(data.X, data.Y)
    save_model(model, tmp_path / "model.ldl")
    loaded = load_model(tmp_path / "model.ldl")
    np.testing.assert_array_equal(loaded.predict(data.X), model.predict(data.X))
    assert loaded.describe_members() == model.describe_members()


def test_unknown_labels_are_ignored(data):
    Y = np.array(data.Y, dtype=float)
    unknown = (np.arange(60) % 2 == 0) & (np.delete(Y, 1, axis=1).sum(axis=1) > 0)
    Y[unknown, 1] = np.nan
    model = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, Y)
    filled = StackedLDL(members=PLAIN, teacher=TEACHER).fit(data.X, np.nan_to_num(Y))
    assert model.predict(data.X)[:, 1].mean() > filled.predict(data.X)[:, 1].mean() + 0.02
    assert (model.enhance(data.X, Y)[unknown, 1] > 0).all()


def test_defaults_trigger_no_warning(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StackedLDL().fit(data.X, data.Y)
