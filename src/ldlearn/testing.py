"""Checks of estimators: `check_estimator` runs them on one of any package."""

import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldlearn._optional_imports import import_optional
from ldlearn.base import Enhancer, LabelEstimator, Learner
from ldlearn.core.simplex import Array, softmax

__all__ = ["check_estimator"]

# Names of parameters that are used elsewhere, and those of scikit-learn.
_SKLEARN_NAMES = {
    "k": "n_neighbors",
    "n_neighbours": "n_neighbors",
    "n_trees": "n_estimators",
    "depth": "max_depth",
    "lr": "learning_rate",
    "eta": "learning_rate",
    "n_iter": "max_iter",
    "epochs": "max_iter",
    "max_epochs": "max_iter",
    "iterations": "max_iter",
    "seed": "random_state",
    "tolerance": "tol",
}


def check_estimator(estimator: Any) -> None:
    """Check that an estimator keeps the contract of ldlearn's estimators.

    The class is checked first, then the estimator in each setting of its ``_test_params``.

    Parameters
    ----------
    estimator : estimator or class
        A subclass of `ldlearn.base.Enhancer`, `ldlearn.base.Learner` or `ldlearn.base.JointModel`.

    Raises
    ------
    AssertionError
        Says what the contract requires, and names the check.

    Examples
    --------
    >>> from ldlearn import UniformLE
    >>> from ldlearn.testing import check_estimator
    >>> check_estimator(UniformLE)
    """
    cls: Any = estimator if isinstance(estimator, type) else type(estimator)
    check_class(cls)
    for params in cls._test_params:
        case = Case(cls(**params))
        for check in CHECKS:
            try:
                check(case)
            except Exception as error:
                raise AssertionError(
                    f"{check.__name__} fails for {case.estimator}: {error}"
                ) from error


def check_class(cls: Any) -> None:
    """Check what a class declares."""
    name = cls.__name__
    assert issubclass(cls, Enhancer | Learner), (
        f"{name} must be a subclass of Enhancer, Learner or JointModel of ldlearn.base."
    )
    settings = cls._test_params
    assert isinstance(settings, tuple), (
        f"{name}._test_params must be a tuple of dictionaries: small settings that are checked."
    )
    assert settings, (
        f"{name}._test_params is empty, so nothing would be checked; ({{}},) means the defaults."
    )
    parameters = inspect.signature(cls).parameters
    for key, parameter in parameters.items():
        assert parameter.default is not parameter.empty, f"parameter {key} of {name} has no default"
        assert key in cls._parameter_constraints, (
            f"{name}._parameter_constraints must say what {key} may be."
        )
        assert key not in _SKLEARN_NAMES, (
            f"scikit-learn calls the parameter {key!r} of {name} {_SKLEARN_NAMES[key]!r}."
        )
    assert set(cls.path_params) <= set(parameters), (
        f"{name}.path_params must be a tuple of its parameters."
    )
    has_path = cls.fit_path is not LabelEstimator.fit_path
    assert bool(cls.path_params) == has_path, (
        f"{name} must define both path_params and fit_path, or neither."
    )


def make_problem(n: int = 40, m: int = 4, c: int = 5, seed: int = 0) -> tuple[Array, Array, Array]:
    """X, distributions D that depend on X, and logical labels Y with 1 to c positives."""
    rng = np.random.default_rng(seed)
    # Rounded so that adding an offset loses no digit.
    X = np.round(rng.normal(size=(n, m)) * 2.0**20) / 2.0**20
    Z = X @ rng.normal(size=(m, c)) + 0.3 * rng.normal(size=(n, c))
    D = softmax(Z)
    return X, D, (D > 0.08).astype(int)


def make_targets(estimator: LabelEstimator, D: Array, Y: Array) -> Array:
    """Distributions for learners, else 0/1 labels, or up to five votes for positive labels."""
    if estimator.kind == "learner":
        return D
    if estimator.__sklearn_tags__().counts:
        return Y * np.maximum(np.ceil(5.0 * D), 1.0)
    return Y


def outputs(model: Any, X: Any) -> list[Array]:
    """Recovered and predicted distributions, as far as a fitted model has them."""
    found = []
    if hasattr(model, "label_distributions_"):
        found.append(model.label_distributions_)
    if hasattr(model, "predict"):
        found.append(model.predict(X))
    return found


class Case:
    """An estimator with a seed, a small problem, and fits that several checks only look at.

    Parameters
    ----------
    estimator : LabelEstimator
        Not fitted.
    """

    def __init__(self, estimator: LabelEstimator) -> None:
        self.estimator = clone(estimator)
        self.params = estimator.get_params(deep=False)
        if self.params.get("random_state", 0) is None:
            self.estimator.set_params(random_state=7)
        self.capabilities = estimator.__sklearn_tags__()
        self.X, self.D, self.Y = make_problem()
        self.T = self.targets(self.D, self.Y)
        self.X_with_zeros = np.where(np.abs(self.X) < 0.5, 0.0, self.X)

    def targets(self, D: Array, Y: Array) -> Array:
        """What the kind of estimator is fitted on."""
        return make_targets(self.estimator, D, Y)

    def fit(self, X: Any, T: Any, **row_data: Any) -> Any:
        """A fitted copy."""
        return clone(self.estimator).fit(X, T, **row_data)

    @cached_property
    def fitted(self) -> Any:
        """A copy, fitted to the problem."""
        return self.fit(self.X.copy(), self.T.copy())

    @cached_property
    def fitted_on_sparse_features(self) -> Any:
        """A copy, fitted to features with many zeros."""
        return self.fit(self.X_with_zeros, self.T)

    def pairs(self, model: Any, X: Any) -> Iterator[tuple[Array, Array]]:
        """Degrees by the fitted copy for the rows of the problem, and by a model for those of X."""
        return zip(outputs(self.fitted, self.X), outputs(model, X), strict=True)

    def assert_same(self, model: Any, X: Any, atol: float = 0.0, message: str = "") -> None:
        """A model gives the rows of X the degrees that the fitted copy gives to the problem."""
        for P, Q in self.pairs(model, X):
            assert_allclose(P, Q, rtol=0, atol=atol, err_msg=message)


def check_outputs_are_distributions(case: Case) -> None:
    """Degrees are not negative and sum to 1."""
    found = outputs(case.fitted, case.X)
    assert found, "there are neither label_distributions_ nor predict"
    for P in found:
        assert P.shape == case.Y.shape, f"degrees have shape {P.shape}, labels {case.Y.shape}"
        _assert_distributions(P)


def check_zeros(case: Case) -> None:
    """Negative labels get degree 0 if and only if that is declared."""
    if case.estimator.kind != "learner":
        kept = not case.fitted.label_distributions_[case.Y == 0].any()
        assert kept == case.capabilities.keeps_zeros, (
            f"declare keeps_zeros={kept} in __sklearn_tags__()"
        )


def check_permutations(case: Case) -> None:
    """Permuting samples or labels permutes the result, unless declared otherwise."""
    rng = np.random.default_rng(1)
    n, c = case.Y.shape
    rows = rng.permutation(n) if case.capabilities.order_invariant else np.arange(n)
    labels = rng.permutation(c) if case.capabilities.label_invariant else np.arange(c)
    shuffled = case.fit(case.X[rows], case.T[rows][:, labels])
    advice = "__sklearn_tags__() must say that the fit depends on the order of samples or labels"
    for P, Q in case.pairs(shuffled, case.X[rows]):
        assert_allclose(P[rows][:, labels], Q, atol=1e-5, err_msg=advice)


def check_fit_has_no_side_effects(case: Case) -> None:
    """Arguments and the global random generator are not changed, and fits are repeatable."""
    X = case.X.copy()
    T = case.T.copy()
    before = repr(np.random.get_state())  # noqa: NPY002
    case.assert_same(case.fit(X, T), X, message="two fits with the same random_state differ")
    assert before == repr(np.random.get_state()), (  # noqa: NPY002
        "the global random generator is used"
    )
    assert_array_equal(X, case.X, err_msg="fit or predict changes X")
    assert_array_equal(T, case.T, err_msg="fit changes y")


def check_float32(case: Case) -> None:
    """Features in single precision give degrees in single precision."""
    X = case.X.astype(np.float32)
    for P, Q in case.pairs(case.fit(X, case.T), X):
        assert P.dtype == np.float64, f"float64 features give {P.dtype}"
        assert Q.dtype == np.float32, f"float32 features give {Q.dtype}"
        _assert_distributions(Q, 1e-5)
        assert_allclose(P, Q, atol=case.estimator.float32_tolerance)


def check_pickle(case: Case) -> None:
    """`pickle` gives the same model."""
    case.assert_same(pickle.loads(pickle.dumps(case.fitted)), case.X)


def check_data_frames(case: Case) -> None:
    """The names of features and labels are kept."""
    pandas = import_optional("pandas", "tables", "This check")
    features = list("abcd")
    labels = [f"emotion {j}" for j in range(case.Y.shape[1])]
    X = pandas.DataFrame(case.X, columns=features)
    model = case.fit(X, pandas.DataFrame(case.T, columns=labels))
    assert list(model.label_names_) == labels
    assert list(model.feature_names_in_) == features
    case.assert_same(model, X, 1e-6)


def check_search(case: Case) -> None:
    """GridSearchCV can use it in a Pipeline; `score` has one metric."""
    if not hasattr(case.fitted, "predict"):
        return
    pipeline = make_pipeline(StandardScaler(), clone(case.estimator))
    search = GridSearchCV(pipeline, {}, cv=2, error_score="raise").fit(case.X, case.T)
    if case.estimator.kind == "joint":
        assert -20.0 < search.best_score_ < 0.0, "score is no log-likelihood of labels or votes"
        if not case.capabilities.counts:
            _assert_refused(r"ldlearn\.metrics\.intersection", search.score, case.X, case.D)
    else:
        smaller = np.minimum(case.D, search.predict(case.X))
        assert_allclose(search.score(case.X, case.D), smaller.sum(axis=1).mean())


def check_sparse_features(case: Case) -> None:
    """Sparse features are refused, or give the same result as dense ones."""
    X = sparse.csr_array(case.X_with_zeros)
    if not case.capabilities.input_tags.sparse:
        _assert_refused("[Ss]parse", case.fit, X, case.T)
        return
    expected = outputs(case.fitted_on_sparse_features, case.X_with_zeros)
    for P, Q in zip(expected, outputs(case.fit(X, case.T), X), strict=True):
        assert_allclose(P, Q, rtol=0, atol=1e-6)


def check_feature_offsets(case: Case) -> None:
    """Adding a constant to a feature changes no degree of enhancers and joint models.

    Unless the origin is part of the model.
    """
    is_centred = case.params.get("fit_intercept", True) and case.params.get("standardize", True)
    if case.estimator.kind != "learner" and is_centred:
        X = case.X + 1e6
        case.assert_same(case.fit(X, case.T), X, 1e-6)


def check_bad_targets(case: Case) -> None:
    """Wrong targets are refused in one sentence, and an earlier fit stays as it was."""
    T = case.T
    two_columns = np.isin(np.arange(T.shape[1]), (1, 2))
    first_rows = np.arange(len(T))[:, None] < 2
    bad: dict[str, Any] = {
        "2-D": T[:, 0],
        "row 0, column 1|column 1 of y.* is unknown in every row": np.where(two_columns, np.nan, T),
        "inconsistent numbers of samples": T[:-1],
        "numbers only": np.full(T.shape, "yes"),
        "equally long": [row[: 1 + k % 2] for k, row in enumerate(T.tolist())],
        "no label column": T[:, :0],
    }
    if case.capabilities.counts:
        bad["not be negative.*rows 0, 1"] = np.where(first_rows, -1, T)
    else:
        bad["only 0 and 1|sum to 1"] = 3 * T
        bad["rows 0, 1"] = np.where(first_rows, 0, T)
    model = deepcopy(case.fitted)
    before = dict(vars(model))
    for message, wrong in bad.items():
        _assert_refused(message, model.fit, case.X, wrong)
        for name, value in before.items():
            assert getattr(model, name) is value, f"a failed fit changes {name}"


def check_bad_features(case: Case) -> None:
    """Wrong features are refused in one sentence."""
    with_nan = np.where(np.eye(*case.X.shape) > 0, np.nan, case.X)
    if case.capabilities.input_tags.allow_nan:
        assert np.isfinite(case.fit(with_nan, case.T).predict(with_nan)).all()
    else:
        _assert_refused(r"NaN.*sklearn\.impute", case.fit, with_nan, case.T)
    _assert_refused("Reshape your data", case.fit, case.X[:, 0], case.T)
    _assert_refused("must hold real numbers", case.fit, 1j * case.X, case.T)


def check_degenerate_data(case: Case) -> None:
    """Absent or single labels, constant features and repeated rows are no problem."""
    is_absent = np.arange(case.Y.shape[1]) == 2
    Y = np.where(is_absent, 0, case.Y)
    Y[Y.sum(axis=1) == 0, 0] = 1
    D = np.where(is_absent, 0.0, case.D)
    D /= D.sum(axis=1, keepdims=True)
    X = case.X
    constant = np.where(np.arange(X.shape[1]) == 0, 3.0, X)
    repeated = np.repeat(X[::2], 2, axis=0)
    single = np.ones((len(X), 1))
    problems = (X, case.targets(D, Y)), (X, single), (constant, case.T), (repeated, case.T)
    for features, T in problems:
        for P in outputs(case.fit(features, T), features):
            _assert_distributions(P)


def check_docstring(case: Case) -> None:
    """The docstring has parameters, attributes, departures from the paper and an example."""
    text = inspect.getdoc(type(case.estimator)) or ""
    sections = ("Attributes\n", "Notes\n", "Departures from the paper", "Examples\n", ">>> ")
    missing = [part.strip() for part in (*sections, *case.params) if part not in text]
    assert not missing, f"the docstring of the class lacks {', '.join(missing)}"


def check_convergence_attributes(case: Case) -> None:
    """A method with ``max_iter`` has ``converged_`` and ``n_iter_``, and warns if cut short."""
    model = case.fitted
    attributes = {name for name in ("converged_", "n_iter_") if hasattr(model, name)}
    assert len(attributes) != 1, "set both converged_ and n_iter_, or neither"
    assert _has_converged(model), (
        "the fit does not converge with _test_params, or converged_ is not a Python boolean"
    )
    assert isinstance(getattr(model, "objective_", 0.0), float), "objective_ must be a Python float"
    path = getattr(model, "objective_path_", np.zeros(1))
    assert path.ndim == 1, "objective_path_ must be one-dimensional"
    assert np.isfinite(path).all(), "objective_path_ must be finite"
    if "max_iter" in case.params:
        assert attributes, "a method with max_iter must set converged_ and n_iter_"
        _check_short_fit(case)


def _has_converged(model: Any) -> bool:
    """The outer iteration of a method with ``steps_converged_`` stops early by design."""
    return getattr(model, "steps_converged_", getattr(model, "converged_", True)) is True


def _check_short_fit(case: Case) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        short = clone(case.estimator).set_params(max_iter=1).fit(case.X, case.T)
    found = [str(each.message) for each in caught if each.category is ConvergenceWarning]
    expected = []
    if not _has_converged(short):
        name = type(case.estimator).__name__
        advice = case.estimator._convergence_advice
        expected = [f"{name} stopped after 1 iteration before it converged; {advice}"]
    elif not hasattr(short, "steps_converged_"):
        message = "converged_ is True after one iteration, but more change the result"
        case.assert_same(short, case.X, message=message)
    assert found == expected, f"the warnings of a fit with max_iter=1 are {found}, not {expected}"


def check_baseline(case: Case) -> None:
    """What uses no feature is a baseline."""
    same = all(np.array_equal(P, Q) for P, Q in case.pairs(case.fitted_on_sparse_features, case.X))
    assert case.estimator.is_baseline or not same, "it uses no feature: declare is_baseline = True"


def check_sample_weights(case: Case) -> None:
    """Sample weights are refused, or 1 changes nothing and 0 is no row."""
    X = case.X
    T = case.T
    n = len(X)
    if not case.capabilities.sample_weight:
        _assert_refused("'sample_weight'", case.fit, X, T, sample_weight=np.ones(n))
        return
    ones = case.fit(X, T, sample_weight=np.ones(n))
    case.assert_same(ones, X, 1e-5, "weights of 1 change the result")
    counted = np.arange(n) % 5 > 0
    weighted = case.fit(np.where(counted[:, None], X, 100.0), T, sample_weight=counted)
    without = case.fit(X[counted], T[counted])
    advice = "a row of weight 0 changes the result"
    if hasattr(weighted, "predict"):
        assert_allclose(weighted.predict(X), without.predict(X), atol=1e-6, err_msg=advice)
        uneven = case.fit(X, T, sample_weight=np.linspace(0.1, 3.0, n))
        change = np.abs(uneven.predict(X) - without.predict(X)).max()
        assert change > 1e-3, "sample weights have no effect"
    if hasattr(weighted, "label_distributions_"):
        degrees = weighted.label_distributions_
        assert degrees.shape == case.Y.shape, "rows of weight 0 need degrees too"
        expected = without.label_distributions_
        assert_allclose(degrees[counted], expected, atol=1e-6, err_msg=advice)


def check_groups(case: Case) -> None:
    """Groups are refused, or are hashable values for each row.

    They change nothing if every row has its own.
    """
    X = case.X
    T = case.T
    n = len(X)
    names = [f"person {k}" for k in range(n)]
    if not case.capabilities.groups:
        _assert_refused("'groups'", case.fit, X, T, groups=names)
        return
    case.assert_same(case.fit(X, T, groups=names), X, 1e-9, "groups of one row change the result")
    _assert_refused("groups", case.fit, X, T, groups=names[1:])
    _assert_refused(f"groups.*row {n - 1}", case.fit, X, T, groups=[*names[1:], None])
    if case.capabilities.sample_weight:
        counted = np.arange(n) % 5 > 0
        pairs = np.arange(n) // 2
        weighted = case.fit(X, T, sample_weight=counted, groups=pairs).predict(X)
        without = case.fit(X[counted], T[counted], groups=pairs[counted]).predict(X)
        assert_allclose(weighted, without, atol=1e-6, err_msg="a row of weight 0 counts")


def check_incomplete_degrees(case: Case) -> None:
    """Degrees that are NaN are refused by row and column, or used if that is declared."""
    if case.estimator.kind != "learner":
        return
    partial = case.D.copy()
    partial[3, :2] = partial[7] = np.nan
    if not case.capabilities.incomplete_degrees:
        _assert_refused("first at row 3, column 0.*needs every degree", case.fit, case.X, partial)
        return
    P = case.fit(case.X, partial).predict(case.X)
    _assert_distributions(P)
    change = np.abs(P - case.fitted.predict(case.X)).max()
    assert 0 < change < 0.2, (
        f"six of {case.D.size} degrees less change the prediction by {change:.2g}"
    )


def check_unknown_labels(case: Case) -> None:
    """Labels that are NaN are refused by row and column, or used if that is declared."""
    if case.estimator.kind == "learner":
        return
    partial = case.Y.astype(float)
    partial[3, 2] = partial[7, 0] = np.nan
    partial[9] = np.nan
    if not case.capabilities.unknown_labels:
        _assert_refused("first at row 3, column 2.*needs every label", case.fit, case.X, partial)
        return
    model = case.fit(case.X, partial)
    for P in outputs(model, case.X):
        _assert_distributions(P)
    D = model.label_distributions_
    assert np.count_nonzero(D[9]) > 1, "a row without any known label gets a single label"
    change = np.abs(case.fitted.label_distributions_ - D).max()
    assert change > 1e-3, "unknown labels are used as if they were known"


def _assert_distributions(P: Array, atol: float = 1e-9) -> None:
    """Degrees are not negative, and those of each row sum to 1."""
    assert (P >= 0).all(), "degrees are negative or NaN"
    assert_allclose(P.sum(axis=1), 1.0, atol=atol)


def _assert_refused(message: str, call: Callable[..., Any], *args: Any, **params: Any) -> None:
    """The call raises one sentence that matches."""
    try:
        call(*args, **params)
    except (ValueError, TypeError) as error:
        found = str(error)
    else:
        raise AssertionError(f"wrong input is accepted; expected an error that matches {message!r}")
    assert re.search(message, found), f"the message does not match {message!r}: {found}"
    assert "\n" not in found, f"the message is more than one sentence: {found}"


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_outputs_are_distributions,
    check_zeros,
    check_permutations,
    check_fit_has_no_side_effects,
    check_float32,
    check_pickle,
    check_data_frames,
    check_search,
    check_sparse_features,
    check_feature_offsets,
    check_bad_targets,
    check_bad_features,
    check_degenerate_data,
    check_docstring,
    check_convergence_attributes,
    check_baseline,
    check_sample_weights,
    check_groups,
    check_incomplete_degrees,
    check_unknown_labels,
)
