"""scikit-learn's own checks, every one that applies, on every estimator."""

from __future__ import annotations

import inspect
from functools import partial

import pytest
from estimator_cases import case_id, instances, solved_exactly, valid_targets
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from ldlearn.base import LabelEstimator

HOOK = "_enforce_estimator_tags_y"
OWN_TARGETS = ("check_sample_weights_pandas_series", "check_sample_weights_not_an_array")
EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
EQUIVALENT = 1e-5  # scikit-learn requires seven digits, more than solvers with a tolerance provide
ONE_LABEL = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")


CHECKS = parametrize_with_checks(instances())


def name_of(value):
    """Name of an estimator or a check; scikit-learn would format the estimator for each of its
    checks."""
    return case_id(value) if isinstance(value, LabelEstimator) else CHECKS.kwargs["ids"](value)


@pytest.mark.parametrize(*CHECKS.args, ids=name_of)
def test_sklearn_check(estimator, check, monkeypatch):
    # The checks pass 1-D targets through one hook, which makes them valid targets. Two checks
    # require predictions of one column (test_contract compares results of sparse features).
    name = check.func.__name__
    n_labels = 1 if name in ONE_LABEL else 3
    if "sample_weight" in name and not get_tags(estimator).sample_weight:
        pytest.skip("fit has the keyword, and refuses it in one sentence: see test_contract")
    if name in OWN_TARGETS:
        pytest.skip("makes targets that are no labels; test_contract tries such weights")
    if name in EQUIVALENCE:
        if not get_tags(estimator).weight_equals_repetition:
            pytest.skip(f"{type(estimator).__name__} says that weights do not repeat rows here")
        estimator = solved_exactly(estimator)
        near = partial(estimator_checks.assert_allclose_dense_sparse, rtol=0.0, atol=EQUIVALENT)
        monkeypatch.setattr(estimator_checks, "assert_allclose_dense_sparse", near)
    monkeypatch.setattr(estimator_checks, HOOK, lambda est, y: valid_targets(est, y, n_labels))
    check(estimator)


def test_hook_of_scikit_learn_exists():
    """Fails if scikit-learn changes its internals: the checks above would then test nothing."""
    hook = getattr(estimator_checks, HOOK)
    assert list(inspect.signature(hook).parameters) == ["estimator", "y"]
    source = inspect.getsource(estimator_checks)
    assert source.count(f"{HOOK}(") > 30


def test_checks_use_the_hook(monkeypatch):
    seen = []

    def spy(estimator, y):
        seen.append(y)
        return valid_targets(estimator, y)

    monkeypatch.setattr(estimator_checks, HOOK, spy)
    estimator = instances("enhancer")[0]
    estimator_checks.check_fit_idempotent(type(estimator).__name__, estimator)
    assert len(seen) == 1


def test_invalid_targets_stay_invalid():
    import numpy as np

    estimator = instances("learner")[0]
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(np.zeros((3, 2)), valid_targets(estimator, np.full(3, np.nan)))
