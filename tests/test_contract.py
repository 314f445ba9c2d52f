"""The checks of `ldlearn.testing` on every estimator, and further checks of this library."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_cases import case_id, instances, make_problem, make_targets, solved_exactly, tweets
from sklearn import config_context
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ldlearn import DLDL, L2, SABFGS, FromClassifier, FromDistributions, VoteLDL, all_estimators
from ldlearn.exceptions import InputError
from ldlearn.testing import CHECKS, Case, check_class, outputs

ALL = pytest.mark.parametrize("estimator", instances(), ids=case_id)
CLASSES = pytest.mark.parametrize(
    "cls", [cls for _, cls in all_estimators()], ids=lambda cls: cls.__name__
)
CASES = {case_id(estimator): Case(estimator) for estimator in instances()}


@cache
def first_outputs(name):
    """Outputs of the shared fit of a case on first use."""
    case = CASES[name]
    return [P.copy() for P in outputs(case.fitted, case.X)]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@ALL
def test_contract(estimator, check):
    first_outputs(case_id(estimator))
    check(CASES[case_id(estimator)])


@pytest.fixture(scope="module", autouse=True)
def shared_fits_stay_unchanged():
    yield
    for name, case in CASES.items():
        if "fitted" in vars(case):
            for P, Q in zip(first_outputs(name), outputs(case.fitted, case.X), strict=True):
                np.testing.assert_array_equal(
                    P, Q, err_msg=f"a check has changed the fit of {name}"
                )


@CLASSES
def test_class_attributes(cls):
    check_class(cls)
    assert cls.can_enhance == hasattr(cls(), "enhance") or cls is FromDistributions


@pytest.mark.parametrize("estimator", [e for e in instances() if e.is_baseline], ids=case_id)
def test_baseline_uses_no_feature(estimator):
    """Except the classifier, which is also a baseline."""
    case = CASES[case_id(estimator)]
    found = outputs(case.fitted_on_sparse_features, case.X)
    same = all(
        np.array_equal(P, Q) for P, Q in zip(outputs(case.fitted, case.X), found, strict=True)
    )
    assert same == (not isinstance(estimator, FromClassifier))


@ALL
def test_targets_with_a_name_twice_are_rejected(estimator):
    X, D, Y = make_problem()
    frame = pd.DataFrame(make_targets(estimator, D, Y), columns=["a", "a", "b", "c", "d"])
    with pytest.raises(InputError, match="called 'a'"):
        clone(estimator).fit(X, frame)


@ALL
def test_polars_frames_keep_their_names(estimator):
    case = CASES[case_id(estimator)]
    labels, features = [f"emotion {j}" for j in range(5)], ["a", "b", "c", "d"]
    X = pl.DataFrame(dict(zip(features, case.X.T, strict=True)))
    model = clone(case.fitted).fit(X, pl.DataFrame(dict(zip(labels, case.T.T, strict=True))))
    assert list(model.label_names_) == labels
    assert list(model.feature_names_in_) == features
    assert list(case.fitted.label_names_) == [f"label_{j}" for j in range(5)]
    for P, Q in zip(outputs(case.fitted, case.X), outputs(model, X), strict=True):
        np.testing.assert_allclose(P, Q, atol=1e-6)


@pytest.mark.parametrize("estimator", instances("enhancer") + instances("joint"), ids=case_id)
def test_fit_enhance_returns_what_fit_recovers(estimator):
    case = CASES[case_id(estimator)]
    D = clone(case.estimator).fit_enhance(case.X, case.T)
    np.testing.assert_array_equal(D, case.fitted.label_distributions_)


@pytest.mark.parametrize(
    "estimator", [e for e in instances() if hasattr(e, "predict")], ids=case_id
)
def test_score_counts_rows_as_often_as_their_weights_say(estimator):
    case = CASES[case_id(estimator)]
    weights = np.random.default_rng(0).integers(0, 3, size=len(case.X))
    rows = np.repeat(np.arange(len(weights)), weights)
    repeated = case.fitted.score(case.X[rows], case.T[rows])
    weighted = case.fitted.score(case.X, case.T, sample_weight=weights)
    np.testing.assert_allclose(weighted, repeated)


DEPENDS = "tags of a fit that depends on the order of samples or labels declare that"


def permuted_where_invariant(model, X, D, Y):
    """Permuted samples and labels, unless the model declares that it depends on their order."""
    rng = np.random.default_rng(1)
    rows, labels = rng.permutation(len(X)), rng.permutation(Y.shape[1])
    return (
        rows if get_tags(model).order_invariant else np.arange(len(X)),
        labels if get_tags(model).label_invariant else np.arange(Y.shape[1]),
    )


@CLASSES
def test_declared_invariances_hold_at_the_defaults_on_real_data(cls):
    """With default parameters instead of test parameters."""
    X, D, Y = tweets()
    model = cls()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    rows, labels = permuted_where_invariant(model, X, D, Y)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # some defaults warn about early stopping or collapse on so few rows
        straight = outputs(clone(model).fit(X, make_targets(model, D, Y)), X)
        if not (get_tags(model).order_invariant or get_tags(model).label_invariant):
            return
        shuffled = outputs(
            clone(model).fit(X[rows], make_targets(model, D, Y)[rows][:, labels]), X[rows]
        )
    for P, Q in zip(straight, shuffled, strict=True):
        np.testing.assert_allclose(P[rows][:, labels], Q, atol=1e-5, err_msg=DEPENDS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "estimator", [DLDL(), VoteLDL(), SABFGS()], ids=lambda estimator: type(estimator).__name__
)
def test_features_with_overflowing_squares_raise(estimator):
    X, D, Y = make_problem()
    with pytest.raises(InputError, match=r"X holds \d.*e\+200, too large to compute with"):
        clone(estimator).fit(X * 1e200, make_targets(estimator, D, Y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("fit", [DLDL().fit, VoteLDL().fit], ids=["DLDL", "VoteLDL"])
@pytest.mark.parametrize("size", ["153", "200"])
def test_wide_features_with_overflowing_sums_of_squares_raise(fit, size):
    X, _, Y = make_problem(m=100)
    with pytest.raises(InputError, match=rf"X holds \d.*e\+{size}, too large to compute with"):
        fit(X * float(f"1e{size}"), Y)


REPEATING = [L2(alpha=0.0, gamma=1e-4)]
REPEATING += [
    e for e in instances() if get_tags(e).sample_weight and get_tags(e).weight_equals_repetition
]


@pytest.mark.parametrize("estimator", REPEATING, ids=case_id)
def test_sample_weights_equal_repeated_rows(estimator):
    X, D, Y = make_problem()
    T = make_targets(estimator, D, Y)
    counts = np.arange(len(X)) % 3  # 0, 1 or 2 times
    weighted = solved_exactly(estimator).fit(X, T, sample_weight=counts)
    repeated = solved_exactly(estimator).fit(
        np.repeat(X, counts, axis=0), np.repeat(T, counts, axis=0)
    )
    if hasattr(weighted, "predict"):
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    if hasattr(weighted, "label_distributions_"):
        found = np.repeat(weighted.label_distributions_, counts, axis=0)
        np.testing.assert_allclose(found, repeated.label_distributions_, atol=1e-5)


def test_metadata_routing_of_sample_weights():
    X, D, Y = make_problem()
    w = np.linspace(0.1, 3.0, len(X))
    with config_context(enable_metadata_routing=True):
        for made, T in ((SABFGS, D), (VoteLDL, Y), (lambda: L2(n_neighbors=4), Y)):
            model = made().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            # Not the other way round: scikit-learn 1.6 does not route to pipeline steps within a
            # search.
            search = GridSearchCV(model, {}, cv=2)
            pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), search)
            pipeline.fit(X, T, sample_weight=w)
            Z = StandardScaler().fit_transform(X)
            np.testing.assert_allclose(
                pipeline.predict(X), made().fit(Z, T, sample_weight=w).predict(Z), atol=1e-8
            )


@pytest.mark.parametrize("n_features", [3, 5])
def test_features_are_selected_by_their_coefficients(n_features):
    """Only the last feature matters; with as many labels as features a transposed coef_ would
    select by label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, n_features))
    Y = np.column_stack([X[:, -1] > 0.3, X[:, -1] < 0.3, np.ones(80)]).astype(float)
    for method in (DLDL(beta=0.1, gamma=0.1), VoteLDL(gamma=0.1)):
        selector = SelectFromModel(method, max_features=1, threshold=-np.inf).fit(X, Y)
        assert selector.estimator_.coef_.shape == (3, n_features)
        np.testing.assert_array_equal(
            selector.get_support(), np.arange(n_features) == n_features - 1
        )


@ALL
def test_coefficients_have_one_row_per_label_and_one_column_per_feature(estimator):
    case = CASES[case_id(estimator)]
    n_features = case.X.shape[1] if getattr(case.fitted, "feature_map_", None) is None else None
    if (coef := getattr(case.fitted, "coef_", None)) is not None:
        assert coef.ndim == 2
        assert coef.shape[0] == len(case.fitted.label_names_)
        assert n_features in (None, coef.shape[1])


@CLASSES
def test_at_most_three_base_classes_and_two_mixins(cls):
    ours = [base for base in cls.__mro__[1:] if base.__module__.startswith("ldlearn.")]
    mixins = [base for base in ours if base.__name__.endswith("Mixin")]
    assert len(mixins) <= 2
    assert len(ours) - len(mixins) <= 3
