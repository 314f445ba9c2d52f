"""Parameters declared as fields whose types are validated by `fit`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from sklearn.base import clone

from ldlearn.base import Learner
from ldlearn.base.parameters import (
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.base.sklearn_private import HasMethods
from ldlearn.exceptions import ParameterError

X, D = np.zeros((2, 1)), np.full((2, 2), 0.5)


@estimator_dataclass
class Example(Learner):
    penalty: NonNegative | None = None
    scale: Positive | Literal["mean", "median"] = "mean"
    max_iter: PositiveInt = 3
    centred: bool = True
    n_jobs: int | None = None
    inner: Annotated[Any, HasMethods("predict")] | None = None
    anything: Any = None
    random_state: RandomState = None

    def _fit(self, X, D):
        pass


@estimator_dataclass
class Special(Example):
    max_iter: Literal["all"] = "all"
    extra: Positive = 1.0


VALID = [
    {"penalty": 0},
    {"penalty": None},
    {"scale": 0.5},
    {"scale": "median"},
    {"n_jobs": -1},
    {"anything": print},
    {"inner": Example()},
    {"random_state": 3},
]
INVALID = [
    {"penalty": -1.0},
    {"scale": 0.0},
    {"scale": "mode"},
    {"scale": None},
    {"max_iter": 0},
    {"max_iter": 1.5},
    {"centred": "yes"},
    {"n_jobs": 0.5},
    {"inner": 3},
    {"random_state": "seed"},
]


@pytest.mark.parametrize("params", VALID, ids=str)
def test_valid_values_are_kept(params):
    model = Example(**params).fit(X, D)
    name, value = next(iter(params.items()))
    assert model.get_params(deep=False)[name] is value
    assert set(clone(model).get_params(deep=False)) == set(inspect.signature(Example).parameters)


@pytest.mark.parametrize("params", INVALID, ids=str)
def test_invalid_values_raise_with_parameter_name(params):
    with pytest.raises(ParameterError, match=next(iter(params))):
        Example(**params).fit(X, D)


def test_subclass_adds_and_replaces_parameters():
    Special(penalty=0.5, extra=2.0).fit(X, D)
    for params in ({"extra": 0.0}, {"max_iter": 3}, {"scale": 0.0}):
        with pytest.raises(ParameterError, match=next(iter(params))):
            Special(**params).fit(X, D)
    Example(max_iter=4).fit(X, D)  # unchanged


def test_estimators_compare_by_identity_and_repr_has_changed_parameters():
    assert Example() != Example()
    assert repr(Example(scale=2.0)) == "Example(scale=2.0)"
    assert len({Example(), Example()}) == 2


def test_signature_shows_types_without_constraints():
    parameters = inspect.signature(Example).parameters
    assert parameters["max_iter"].annotation is int
    assert "Interval" not in str(inspect.signature(Example))
    assert parameters["scale"].kind is inspect.Parameter.KEYWORD_ONLY


def test_class_has_no_defaults_and_takes_no_positional_argument():
    assert not hasattr(Example, "max_iter")
    with pytest.raises(TypeError, match="positional"):
        Example(0.5)
