"""Our own contract: what every estimator of a kind promises, checked on all of them."""

from __future__ import annotations

import inspect
import pickle
import warnings
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_cases import case_id, instances, make_problem, solved_exactly, targets, tweets
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ldlearn import DLDL, L2, SABFGS, FromClassifier, FromDistributions, VoteLDL, all_estimators
from ldlearn.base import LabelEstimator
from ldlearn.exceptions import InputError
from ldlearn.joint import competition_test

ALL = pytest.mark.parametrize("estimator", instances(), ids=case_id)
ENHANCING = pytest.mark.parametrize("estimator", instances("enhancer") + instances("joint"), ids=case_id)
PREDICTING = pytest.mark.parametrize("estimator", instances("learner") + instances("joint"), ids=case_id)


def outputs(estimator, X):
    """Everything the fitted estimator says of rows: recovered and predicted distributions."""
    found = []
    if hasattr(estimator, "label_distributions_"):
        found.append(estimator.label_distributions_)
    if hasattr(estimator, "predict"):
        found.append(estimator.predict(X))
    return found


CLASSES = pytest.mark.parametrize("cls", [cls for _, cls in all_estimators()], ids=lambda cls: cls.__name__)
ITERATIVE = pytest.mark.parametrize(
    "estimator", [e for e in instances() if "max_iter" in e.get_params(deep=False)], ids=case_id
)
OUR_NAMES_FOR = {
    "n_neighbors": {"k", "n_neighbours"},
    "n_estimators": {"n_trees"},
    "max_depth": {"depth"},
    "learning_rate": {"lr", "eta"},
    "max_iter": {"n_iter", "epochs", "max_epochs", "iterations"},
    "random_state": {"seed"},
    "tol": {"tolerance"},
}


def fitted(estimator, X, D, Y):
    return clone(estimator).fit(X, targets(estimator, D, Y))


class SharedFit(NamedTuple):
    """A fit that several tests look at, what it was given, and what it said at first."""

    model: LabelEstimator
    X: np.ndarray
    T: np.ndarray
    recovered: np.ndarray | None  # what `fit_enhance` returned
    said: list[np.ndarray]


SHARED_FITS = {}


def shared_fit(estimator, problem):
    """The fit of a problem, with a seed, done once for all tests that only look at it."""
    key = case_id(estimator), problem
    if key not in SHARED_FITS:
        X, D, Y = problem()
        T, model = targets(estimator, D, Y), clone(estimator)
        if model.get_params(deep=False).get("random_state", 0) is None:
            model.set_params(random_state=7)
        recovered = None if model.kind == "learner" else model.fit_enhance(X, T)
        model = model.fit(X, T) if recovered is None else model
        SHARED_FITS[key] = SharedFit(model, X, T, recovered, [P.copy() for P in outputs(model, X)])
    return SHARED_FITS[key]


@pytest.fixture(scope="module", autouse=True)
def nobody_changes_shared_fits():
    yield
    for shared in SHARED_FITS.values():
        for P, Q in zip(shared.said, outputs(shared.model, shared.X), strict=True):
            np.testing.assert_array_equal(P, Q, err_msg=f"a test has changed the fit of {shared.model}")


def plain_fit(estimator):
    return shared_fit(estimator, make_problem).model


def problem_with_holes():
    """The common problem with many features of 0."""
    X, D, Y = make_problem()
    return np.where(np.abs(X) < 0.5, 0.0, X), D, Y


DEPENDS = "capabilities() of a fit that depends on the order of samples or labels declare that"


def permuted_where_invariant(model, X, D, Y):
    """Permutations of samples and of labels, none where the model says that it depends on their order."""
    rng = np.random.default_rng(1)
    rows, labels = rng.permutation(len(X)), rng.permutation(Y.shape[1])
    return (
        rows if model.capabilities().order_invariant else np.arange(len(X)),
        labels if model.capabilities().label_invariant else np.arange(Y.shape[1]),
    )


def quietly_fitted(estimator, X, D, Y):
    """The fitted estimator, and what it said about convergence."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = fitted(estimator, X, D, Y)
    return model, [str(w.message) for w in heard if issubclass(w.category, ConvergenceWarning)]


@ALL
def test_outputs_are_distributions(estimator):
    X, _, Y = make_problem()
    found = outputs(plain_fit(estimator), X)
    assert found
    for P in found:
        assert P.shape == Y.shape
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)


@ENHANCING
def test_zeros_are_kept_where_declared(estimator):
    _, _, Y = make_problem()
    R = plain_fit(estimator).label_distributions_
    kept = bool((R[Y == 0] == 0).all())
    assert kept == estimator.capabilities().keeps_zeros, f"declare keeps_zeros={kept}"


@ALL
def test_permuting_samples_and_labels_commutes_with_the_fit(estimator):
    if not (estimator.capabilities().order_invariant or estimator.capabilities().label_invariant):
        pytest.skip(f"{type(estimator).__name__} says that it depends on the order of samples and of labels")
    X, D, Y = make_problem()
    rows, labels = permuted_where_invariant(estimator, X, D, Y)
    straight = outputs(plain_fit(estimator), X)
    shuffled = outputs(fitted(estimator, X[rows], D[rows][:, labels], Y[rows][:, labels]), X[rows])
    for P, Q in zip(straight, shuffled, strict=True):
        np.testing.assert_allclose(P[rows][:, labels], Q, atol=1e-5, err_msg=DEPENDS)


@CLASSES
def test_declared_invariances_hold_at_the_defaults_on_real_data(cls):
    """Test parameters are tame; what a user gets is this."""
    X, D, Y = tweets()
    model = cls()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    rows, labels = permuted_where_invariant(model, X, D, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some defaults say that they stop early or collapse on so few rows
        straight = outputs(fitted(model, X, D, Y), X)
        if not (model.capabilities().order_invariant or model.capabilities().label_invariant):
            return
        shuffled = outputs(fitted(model, X[rows], D[rows][:, labels], Y[rows][:, labels]), X[rows])
    for P, Q in zip(straight, shuffled, strict=True):
        np.testing.assert_allclose(P[rows][:, labels], Q, atol=1e-5, err_msg=DEPENDS)


@ALL
def test_inputs_are_untouched(estimator):
    shared = shared_fit(estimator, make_problem)
    outputs(shared.model, shared.X)
    X, D, Y = make_problem()
    np.testing.assert_array_equal(shared.X, X)
    np.testing.assert_array_equal(shared.T, targets(estimator, D, Y))


@ALL
def test_same_seed_same_result_and_global_generator_untouched(estimator):
    X, D, Y = make_problem()
    first = plain_fit(estimator)
    assert first.get_params(deep=False).get("random_state", 0) is not None
    _, words, place, *_ = np.random.get_state()  # noqa: NPY002  # words change only once all have been drawn
    second = fitted(first, X, D, Y)
    first, second = outputs(first, X), outputs(second, X)
    _, words_now, place_now, *_ = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal([*words_now, place_now], [*words, place])
    for P, Q in zip(first, second, strict=True):
        np.testing.assert_array_equal(P, Q)


@ALL
def test_float32_is_kept(estimator):
    X, D, Y = make_problem()
    wide = outputs(plain_fit(estimator), X)
    X32 = X.astype(np.float32)
    narrow = outputs(fitted(estimator, X32, D, Y), X32)
    for P, Q in zip(wide, narrow, strict=True):
        assert P.dtype == np.float64
        assert Q.dtype == np.float32
        np.testing.assert_allclose(Q.sum(axis=1), 1.0, atol=1e-5)
        np.testing.assert_allclose(P, Q, atol=estimator.float32_tolerance)


@ALL
def test_clone_pickle_and_set_params(estimator):
    X, D, Y = make_problem()
    model = plain_fit(estimator)
    again = pickle.loads(pickle.dumps(model))
    fresh = clone(model)
    assert not hasattr(fresh, "label_names_")
    rebuilt = type(model)().set_params(**fresh.get_params(deep=False))
    for other in (again, rebuilt.fit(X, targets(model, D, Y))):
        for P, Q in zip(outputs(model, X), outputs(other, X), strict=True):
            np.testing.assert_array_equal(P, Q)


@ALL
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_keep_their_names(estimator, frame):
    X, D, Y = make_problem()
    labels = [f"emotion {j}" for j in range(Y.shape[1])]
    features = ["a", "b", "c", "d"]
    T = targets(estimator, D, Y)
    X_frame = frame(dict(zip(features, X.T, strict=True)))
    T_frame = frame(dict(zip(labels, T.T, strict=True)))
    model = clone(estimator).fit(X_frame, T_frame)
    assert list(model.label_names_) == labels
    assert list(model.feature_names_in_) == features
    plain = plain_fit(estimator)
    assert list(plain.label_names_) == [f"label_{j}" for j in range(5)]
    for P, Q in zip(outputs(plain, X), outputs(model, X_frame), strict=True):
        np.testing.assert_allclose(P, Q, atol=1e-6)


@PREDICTING
def test_pipeline_and_grid_search(estimator):
    X, D, Y = make_problem()
    T = targets(estimator, D, Y)
    name = type(estimator).__name__.lower()
    key = next(iter(sorted(estimator.get_params(deep=False))), None)
    grid = {} if key is None else {f"{name}__{key}": [estimator.get_params(deep=False)[key]]}
    search = GridSearchCV(make_pipeline(StandardScaler(), clone(estimator)), grid, cv=2, error_score="raise")
    search.fit(X, T)
    P = search.predict(X)
    assert P.shape == Y.shape
    if estimator.kind == "joint":  # 0/1 labels: a log-likelihood
        assert -20.0 < search.best_score_ < 0.0
    else:
        assert 0.0 < search.best_score_ <= 1.0
    if estimator.kind == "joint":
        with pytest.raises(InputError, match=r"ldlearn\.metrics\.intersection"):
            search.score(X, D)
    else:
        assert search.score(X, D) == pytest.approx(np.minimum(D, P).sum(axis=1).mean())


@ENHANCING
def test_pipeline_recovers(estimator):
    X, _, Y = make_problem()
    pipeline = make_pipeline(FunctionTransformer(lambda X: X / 2), clone(estimator)).fit(2 * X, Y)  # exactly X again
    direct = shared_fit(estimator, make_problem)
    np.testing.assert_array_equal(direct.recovered, direct.model.label_distributions_)
    np.testing.assert_array_equal(pipeline[-1].label_distributions_, direct.recovered)


@ALL
def test_sparse_features_agree_with_dense_where_accepted(estimator):
    X, D, Y = problem_with_holes()
    if not estimator.capabilities().sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            fitted(estimator, sparse.csr_array(X), D, Y)
        return
    thin = fitted(estimator, sparse.csr_array(X), D, Y)
    for P, Q in zip(
        outputs(shared_fit(estimator, problem_with_holes).model, X), outputs(thin, sparse.csr_array(X)), strict=True
    ):
        np.testing.assert_allclose(P, Q, atol=1e-6)


MEASURED_FROM_THE_ORIGIN = ("fit_intercept", "standardize")  # without these the place of zero is part of the model


@ENHANCING
def test_offsets_of_the_features_change_nothing(estimator):
    params = estimator.get_params(deep=False)
    if not all(params.get(name, True) for name in MEASURED_FROM_THE_ORIGIN):
        pytest.skip("measures features from the origin")
    X, D, Y = make_problem()
    np.testing.assert_array_equal((X + 1e6) - 1e6, X)  # adding the offset loses no digit
    far = fitted(estimator, X + 1e6, D, Y)
    for P, Q in zip(outputs(plain_fit(estimator), X), outputs(far, X + 1e6), strict=True):
        np.testing.assert_allclose(P, Q, atol=1e-6)


BAD = {
    "1-D targets": (lambda T: T[:, 0], "2-D"),
    "missing value": (
        lambda T: np.where(np.arange(T.shape[1]) == 1, np.nan, T),
        "row 0, column 1|column 1 of y.* is unknown in every row",
    ),
    "fewer rows": (lambda T: T[:-1], "inconsistent numbers of samples"),
    "text": (lambda T: np.full(T.shape, "yes"), "numbers only"),
    "ragged": (lambda T: [row[: 1 + k % 2] for k, row in enumerate(T.tolist())], "equally long"),
    "a name twice": (lambda T: pd.DataFrame(T, columns=["a", "a", *map(str, range(T.shape[1] - 2))]), "called 'a'"),
    "no label": (lambda T: T[:, :0], "no label column"),
    "value 3": (lambda T: 3 * T, "only 0 and 1|sum to 1"),
    "empty rows": (lambda T: np.where(np.arange(len(T))[:, None] < 2, 0, T), "rows 0, 1"),
}


@ALL
def test_bad_targets_get_one_sentence_and_leave_nothing_behind(estimator):
    X, D, Y = make_problem()
    model = clone(estimator)
    before = dict(vars(model))
    for fault, (spoil, message) in BAD.items():
        with pytest.raises(ValueError, match=message) as caught:
            model.fit(X, spoil(targets(estimator, D, Y)))
        assert "\n" not in str(caught.value), fault
        assert vars(model) == before, fault


@ALL
def test_bad_features_get_one_sentence(estimator):
    X, D, Y = make_problem()
    holed = np.where(np.eye(*X.shape) > 0, np.nan, X)
    bad = {"NaN.*sklearn.impute": holed, "Reshape your data": X[:, 0], "must hold real numbers": 1j * X}
    if estimator.capabilities().missing_values:
        model = clone(estimator).fit(bad.pop("NaN.*sklearn.impute"), targets(estimator, D, Y))
        assert np.isfinite(model.predict(holed)).all()
    for message, spoilt in bad.items():
        with pytest.raises(ValueError, match=message) as caught:
            clone(estimator).fit(spoilt, targets(estimator, D, Y))
        assert "\n" not in str(caught.value)
        assert "Classifier" not in str(caught.value).replace("FromClassifier", "")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("estimator", [DLDL(), VoteLDL(), SABFGS()], ids=lambda estimator: type(estimator).__name__)
def test_features_whose_squares_overflow_get_one_sentence(estimator):
    X, D, Y = make_problem()
    with pytest.raises(InputError, match=r"X holds \d.*e\+200, too large to compute with"):
        clone(estimator).fit(X * 1e200, targets(estimator, D, Y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fit", [DLDL().fit, VoteLDL().fit, competition_test], ids=["DLDL", "VoteLDL", "test"])
@pytest.mark.parametrize("size", ["153", "200"])
def test_so_do_wide_ones_and_those_whose_sum_of_squares_does(fit, size):
    X, _, Y = make_problem(m=100)
    with pytest.raises(InputError, match=rf"X holds \d.*e\+{size}, too large to compute with"):
        fit(X * float(f"1e{size}"), Y)


@ALL
def test_a_failed_fit_keeps_the_earlier_one(estimator):
    X, D, Y = make_problem()
    model = deepcopy(plain_fit(estimator))
    before = [P.copy() for P in outputs(model, X)]
    with pytest.raises(ValueError):
        model.fit(np.full_like(X, np.inf), targets(model, D, Y))
    for P, Q in zip(before, outputs(model, X), strict=True):
        np.testing.assert_array_equal(P, Q)


@ALL
def test_label_never_positive_one_label_constant_features_duplicates(estimator):
    X, D, Y = make_problem()
    absent = np.arange(Y.shape[1]) == 2
    Y2 = np.where(absent, 0, Y)
    Y2[Y2.sum(axis=1) == 0, 0] = 1
    D2 = np.where(absent, 0.0, D)
    D2 /= D2.sum(axis=1, keepdims=True)
    single = np.ones((len(X), 1))
    flat, twice = X.copy(), X.copy()
    flat[:, 0] = 3.0
    twice[1::2] = twice[::2]
    for X_, D_, Y_ in ((X, D2, Y2), (X, single, single), (flat, D, Y), (twice, D, Y)):
        for P in outputs(fitted(estimator, X_, D_, Y_), X_):
            assert np.isfinite(P).all()
            np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)


@ALL
def test_docstring_has_the_shape_of_the_house(estimator):
    text = type(estimator).__doc__
    for section in ("Attributes\n", "Notes\n", "Departures from the paper", "Examples\n", ">>> "):
        assert section in text, section
    if estimator.get_params(deep=False):
        assert "Parameters\n" in text
        for name in estimator.get_params(deep=False):
            assert name in text, f"parameter {name} is not described"


@ITERATIVE
def test_a_fit_that_is_cut_short_says_so_once_and_in_one_way(estimator):
    X, D, Y = make_problem()
    short, said = quietly_fitted(clone(estimator).set_params(max_iter=1), X, D, Y)
    assert isinstance(short.converged_, bool)
    if hasattr(short, "steps_converged_"):  # its outer iteration stops early by design
        assert bool(said) == (not short.steps_converged_)
    elif short.converged_:
        assert not said
        # Whoever claims to have converged at once must not go on when allowed to.
        for P, Q in zip(outputs(short, X), outputs(plain_fit(estimator), X), strict=True):
            np.testing.assert_array_equal(P, Q)
    else:
        name = type(estimator).__name__
        assert said == [f"{name} stopped after 1 iteration before it converged; {estimator._convergence_advice}"]


@ALL
def test_iterations_objective_and_convergence_have_one_name_each(estimator):
    model = plain_fit(estimator)
    iterative = "max_iter" in model.get_params(deep=False)
    assert hasattr(model, "converged_") == hasattr(model, "n_iter_")
    assert hasattr(model, "converged_") or not iterative
    assert getattr(model, "steps_converged_", getattr(model, "converged_", True)) is True
    for name in ("losses_", "loss_curve_", "loss_"):
        assert not hasattr(model, name)
    if hasattr(model, "objective_"):
        assert isinstance(model.objective_, float)
    if hasattr(model, "objective_path_"):
        path = model.objective_path_
        assert isinstance(path, np.ndarray)
        assert path.ndim == 1
        assert np.isfinite(path).all()
        assert isinstance(model.objective_, float)


@CLASSES
def test_facts_are_class_facts(cls):
    assert isinstance(cls.is_baseline, bool)
    assert cls.can_enhance == hasattr(cls(), "enhance") or cls is FromDistributions
    assert isinstance(cls.path_params, tuple)
    assert set(cls.path_params) <= set(cls().get_params(deep=False))
    assert bool(cls.path_params) == (cls.fit_path is not LabelEstimator.fit_path)


@ALL
def test_what_looks_at_no_feature_is_a_baseline(estimator):
    """And a baseline looks at none, but for the one that does what anyone would do first."""
    X, _, _ = make_problem()
    same = all(
        np.array_equal(P, Q)
        for P, Q in zip(
            outputs(plain_fit(estimator), X), outputs(shared_fit(estimator, problem_with_holes).model, X), strict=True
        )
    )
    assert same == (estimator.is_baseline and not isinstance(estimator, FromClassifier)), f"say is_baseline = {same}"


@CLASSES
def test_parameters_that_scikit_learn_has_bear_its_names(cls):
    names = set(cls().get_params(deep=False))
    for right, wrong in OUR_NAMES_FOR.items():
        assert not names & wrong, f"call it {right}"


WEIGHING = pytest.mark.parametrize("estimator", [e for e in instances() if e.capabilities().sample_weight], ids=case_id)


@ALL
def test_weights_are_taken_or_refused_in_one_sentence(estimator):
    X, D, Y = make_problem()
    named = "sample_weight" in inspect.signature(estimator.fit).parameters
    assert named or not estimator.capabilities().sample_weight
    if not estimator.capabilities().sample_weight:
        with pytest.raises((InputError, TypeError), match="'sample_weight'") as caught:
            clone(estimator).fit(X, targets(estimator, D, Y), sample_weight=np.ones(len(X)))
        assert "\n" not in str(caught.value)


@WEIGHING
def test_weights_of_one_change_nothing(estimator):
    X, D, Y = make_problem()
    T = targets(estimator, D, Y)
    ones = pd.Series([1] * len(X), index=np.arange(len(X))[::-1])  # scikit-learn's checks try lists
    weighted = clone(estimator).fit(X, T, sample_weight=ones)
    for P, Q in zip(outputs(plain_fit(estimator), X), outputs(weighted, X), strict=True):
        np.testing.assert_allclose(P, Q, atol=1e-5)


@WEIGHING
def test_a_row_of_weight_zero_teaches_nothing(estimator):
    """Whatever stands in it; and weights count at all."""
    X, D, Y = make_problem()
    w = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)
    counted = w > 0
    strange, T = np.where(counted[:, None], X, 100.0), targets(estimator, D, Y)
    model = clone(estimator).fit(strange, T, sample_weight=w)
    without = clone(estimator).fit(X[counted], T[counted])
    if hasattr(model, "predict"):
        np.testing.assert_allclose(model.predict(X), without.predict(X), atol=1e-6)
        uneven = clone(estimator).fit(X, T, sample_weight=np.linspace(0.1, 3.0, len(X)))
        assert np.abs(uneven.predict(X) - without.predict(X)).max() > 1e-3
    if hasattr(model, "label_distributions_"):
        np.testing.assert_allclose(model.label_distributions_[counted], without.label_distributions_, atol=1e-6)
        assert model.label_distributions_.shape == Y.shape


REPEATING = [L2(alpha=0.0, gamma=1e-4)]
REPEATING += [e for e in instances() if e.capabilities().sample_weight and e.capabilities().weight_equals_repetition]


@pytest.mark.parametrize("estimator", REPEATING, ids=case_id)
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(estimator):
    X, D, Y = make_problem()
    T = targets(estimator, D, Y)
    counts = np.arange(len(X)) % 3  # 0, 1 or 2 times
    weighted = solved_exactly(estimator).fit(X, T, sample_weight=counts)
    repeated = solved_exactly(estimator).fit(np.repeat(X, counts, axis=0), np.repeat(T, counts, axis=0))
    if hasattr(weighted, "predict"):
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    if hasattr(weighted, "label_distributions_"):
        found = np.repeat(weighted.label_distributions_, counts, axis=0)
        np.testing.assert_allclose(found, repeated.label_distributions_, atol=1e-5)


@PREDICTING
def test_score_counts_rows_as_often_as_their_weights(estimator):
    X, D, Y = make_problem()
    T = targets(estimator, D, Y)
    model = plain_fit(estimator)
    w = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = model.score(np.repeat(X, w, axis=0), np.repeat(T, w, axis=0))
    assert model.score(X, T, sample_weight=w) == pytest.approx(repeated)


def test_weights_are_routed_by_scikit_learn():
    X, D, Y = make_problem()
    w = np.linspace(0.1, 3.0, len(X))
    with config_context(enable_metadata_routing=True):
        for made, T in ((SABFGS, D), (VoteLDL, Y), (lambda: L2(n_neighbors=4), Y)):
            model = made().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            # Not the other way round: scikit-learn 1.6 does not ask the steps of a pipeline in a search.
            search = GridSearchCV(model, {}, cv=2)
            pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
            pipeline.fit(X, T, sample_weight=w)
            Z = StandardScaler().fit_transform(X)
            np.testing.assert_allclose(pipeline.predict(X), made().fit(Z, T, sample_weight=w).predict(Z), atol=1e-8)


@ENHANCING
def test_unknown_labels_are_taken_or_refused_by_row_and_column(estimator):
    X, _, Y = make_problem()
    partial = Y.astype(float)
    partial[3, 2] = partial[7, 0] = np.nan
    partial[9] = np.nan
    if not estimator.capabilities().unknown_labels:
        with pytest.raises(InputError, match=r"first at row 3, column 2.*needs every label"):
            clone(estimator).fit(X, partial)
        return
    model = clone(estimator).fit(X, partial)
    for P in outputs(model, X):
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    assert (model.label_distributions_[9] > 0).sum() > 1
    whatever = plain_fit(estimator).label_distributions_
    assert np.abs(whatever - model.label_distributions_).max() > 1e-3


@pytest.mark.parametrize("n_features", [3, 5])
def test_features_are_selected_by_their_coefficients(n_features):
    """Only the last feature matters; with as many labels as features a transposed coef_ would select by label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, n_features))
    Y = np.column_stack([X[:, -1] > 0.3, X[:, -1] < 0.3, np.ones(80)]).astype(float)
    for method in (DLDL(beta=0.1, gamma=0.1), VoteLDL(gamma=0.1)):
        selector = SelectFromModel(method, max_features=1, threshold=-np.inf).fit(X, Y)
        assert selector.estimator_.coef_.shape == (3, n_features)
        np.testing.assert_array_equal(selector.get_support(), np.arange(n_features) == n_features - 1)


@CLASSES
def test_at_most_three_base_classes_and_two_mixins(cls):
    ours = [base for base in cls.__mro__[1:] if base.__module__.startswith("ldlearn.")]
    mixins = [base for base in ours if base.__name__.endswith("Mixin")]
    assert len(mixins) <= 2
    assert len(ours) - len(mixins) <= 3
