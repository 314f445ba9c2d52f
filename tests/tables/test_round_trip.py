"""Model files, joblib and pickle restore every estimator exactly."""

from __future__ import annotations

import pickle
import warnings

import joblib
import numpy as np
import pytest
from estimator_cases import case_id, instances, make_problem, make_targets
from scipy import sparse
from sklearn.base import BaseEstimator

from ldlearn import DLDL
from ldlearn.exceptions import InputError
from ldlearn.tables import load_model, save_model


def assert_same(a, b, where="model"):
    """Assert that all attributes are exactly equal, recursively."""
    if not isinstance(a, np.generic):  # NumPy scalars become Python numbers
        assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        np.testing.assert_array_equal(a, b, err_msg=where)
    elif sparse.issparse(a):
        assert a.dtype == b.dtype, where
        assert (a != b).nnz == 0, where
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{k}]")
    elif type(a).__module__.startswith("sklearn."):  # a file stores only what predictions need
        shared = vars(a).keys() & vars(b).keys() - {"_tree"}
        assert_same(
            {key: vars(a)[key] for key in shared}, {key: vars(b)[key] for key in shared}, where
        )
    elif isinstance(a, BaseEstimator) or (hasattr(a, "__dict__") and not isinstance(a, type)):
        state = a.__getstate__() if isinstance(a, BaseEstimator) else vars(a)
        assert_same(state, vars(b), where)
    elif isinstance(a, float | np.floating) and np.isnan(a):
        assert np.isnan(b), where
    else:
        assert a == b, where


def fitted(estimator):
    X, D, Y = make_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, make_targets(estimator, D, Y)), X


@pytest.mark.parametrize("estimator", instances(), ids=case_id)
def test_model_file_restores_estimator_exactly(estimator, tmp_path):
    model, X = fitted(estimator)
    save_model(model, tmp_path / "model.ldl")
    again = load_model(tmp_path / "model.ldl")
    assert_same(model, again)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(X), again.predict(X))
    if hasattr(model, "enhance"):
        _, D, Y = make_problem()
        known = make_targets(model, D, Y)
        np.testing.assert_array_equal(model.enhance(X, known), again.enhance(X, known))


@pytest.mark.parametrize("estimator", instances(), ids=case_id)
def test_joblib_and_pickle_restore_results(estimator, tmp_path):
    model, X = fitted(estimator)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(model))):
        if hasattr(model, "predict"):
            np.testing.assert_array_equal(model.predict(X), again.predict(X))
        if hasattr(model, "label_distributions_"):
            np.testing.assert_array_equal(model.label_distributions_, again.label_distributions_)


def test_model_file_restores_intervals_with_more_features_than_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 150))
    Y = X[:, :3] > 0
    Y[:, 0] = True
    model = DLDL(beta=1.0, gamma=5.0).fit(X, Y)
    save_model(model, tmp_path / "model.ldl", intervals=True)
    again = load_model(tmp_path / "model.ldl")
    found, stored = model.enhance_interval(X[:5], Y[:5]), again.enhance_interval(X[:5], Y[:5])
    for ours, theirs in zip(found, stored, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for each in (model, again):
        with pytest.raises(InputError, match="too poorly"):
            each.predict_interval(X)
    np.testing.assert_array_equal(model.far_from_training(3 * X), again.far_from_training(3 * X))
