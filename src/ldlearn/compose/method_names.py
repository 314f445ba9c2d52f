"""Estimators by name: ``DLDL``, or two steps as ``GLLE+SABFGS``, with parameters by name."""

from collections.abc import Mapping
from typing import Any

from sklearn.utils import get_tags

from ldlearn._messages import did_you_mean, nearest_names
from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import estimator_name, find_estimator
from ldlearn.base.errors import raise_input_errors
from ldlearn.compose import EnhanceThenLearn, FromDistributions
from ldlearn.enhancement import UniformLE
from ldlearn.exceptions import ParameterError
from ldlearn.learning import SABFGS

DEFAULT_METHOD = "DLDL"
_DEFAULT_VOTE_METHOD = "CountLDL"


def default_method(kind: str) -> str:
    """The method for label columns of a kind, see `ldlearn.tables.ColumnOptions`."""
    return _DEFAULT_VOTE_METHOD if kind == "votes" else DEFAULT_METHOD


def make_predictor(
    method: str = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    logical: bool = True,
    zeros: str | None = None,
) -> Any:
    """An unfitted estimator that predicts, from its name and parameters.

    Parameters
    ----------
    method : str
        A joint model, an enhancer (a learner follows it), a learner, or both as
        ``ENHANCER+LEARNER``; a method of another package as ``package.module:Class``.
    params : mapping of str, optional
        Parameters; in two steps the step need not be named where only one step has the parameter.
    logical : bool, default=True
        Whether the labels are 0/1. Learners need degrees: equal shares of the positive labels come
        first.
    zeros : {"none", "less"}, optional
        What a 0 means; a method that assumes something else is refused. None leaves it to the
        method.

    Examples
    --------
    >>> from ldlearn.compose.method_names import make_predictor
    >>> make_predictor("UniformLE+AAKNN")
    EnhanceThenLearn(enhancer=UniformLE(), learner=AAKNN())
    """
    estimator = _compose_steps([_find_method(name) for name in method.split("+")], method, logical)
    return _set_zeros(_set_params(estimator, params or {}), zeros)


def make_enhancer(
    method: str = DEFAULT_METHOD, params: Mapping[str, Any] | None = None, zeros: str | None = None
) -> Any:
    """An unfitted estimator that gives degrees to the rows it is fitted on."""
    cls = _find_method(method)
    if cls.kind == "learner":
        raise ParameterError(f"{cls.__name__} learns from degrees; it does not recover them.")
    return _set_zeros(_set_params(cls(), params or {}), zeros)


def _set_zeros(estimator: Any, zeros: str | None) -> Any:
    """Set what a 0 means; refuse a method without the parameter that assumes something else."""
    if zeros is None:
        return estimator
    if get_tags(estimator).counts:
        raise ParameterError(
            f"zeros is for 0/1 labels, but {method_name(estimator)} learns from counts of votes, "
            "where a 0 is a label without votes; leave it out."
        )
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "zeros"]
    if names:
        return _set_params(estimator, dict.fromkeys(names, zeros))
    if get_tags(estimator).keeps_zeros != (zeros == "none"):
        assumed = "a degree"
        suited = "DLDL, VoteLDL or FromClassifier"
        if zeros == "less":
            assumed = "degree 0"
            suited = "DLDL, VoteLDL, FromClassifier or LP"
        problem = f"{method_name(estimator)} gives {assumed} to negative labels"
        raise ParameterError(f"{problem}, which does not suit zeros={zeros!r}; use {suited}.")
    return estimator


def method_name(estimator: Any) -> str:
    """The inverse of `make_predictor`: ``DLDL``, or ``GLLE+SABFGS`` for two steps."""
    if isinstance(estimator, EnhanceThenLearn):
        return "+".join(estimator_name(type(step)) for step in estimator._steps)
    return estimator_name(type(estimator))


def _find_method(name: str) -> type[LabelEstimator]:
    found = find_estimator(name)
    if issubclass(found, FromDistributions):
        problem = f"{found.__name__} is the protocol of an experiment"
        raise ParameterError(f"{problem}; name the method that it would wrap.")
    return found


def _compose_steps(classes: list[type[LabelEstimator]], method: str, logical: bool) -> Any:
    match [(cls.kind, cls()) for cls in classes]:
        case [("enhancer", enhancer)]:
            return EnhanceThenLearn(enhancer=enhancer, learner=SABFGS())
        case [("learner", learner)] if logical:
            return EnhanceThenLearn(enhancer=UniformLE(), learner=learner)
        case [(_, estimator)]:
            return estimator
        case [("enhancer" | "joint", enhancer), ("learner", learner)]:
            return EnhanceThenLearn(enhancer=enhancer, learner=learner)
    advice = "two steps are written ENHANCER+LEARNER, for example UniformLE+SABFGS."
    raise ParameterError(f"{method!r} is no method; {advice}")


def _set_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    estimator.set_params(**{_full_name(estimator, name): value for name, value in params.items()})
    for part in (estimator, *estimator.get_params().values()):
        if isinstance(part, LabelEstimator):
            with raise_input_errors():
                part._validate_params()
    return estimator


def _full_name(estimator: Any, name: str) -> str:
    """The parameter that a name means.

    In two steps the step need not be named where only one step has the parameter.
    """
    # Names with and without their step.
    valid = {}
    for key, value in estimator.get_params().items():
        if not isinstance(value, LabelEstimator):
            valid[key] = key.partition("__")[2]
    if name in valid:
        return name
    inner = [key for key, own in valid.items() if own == name]
    if len(inner) == 1:
        return inner[0]
    if inner:
        raise ParameterError(f"both steps have {name!r}; use {' or '.join(inner)}.")
    near = dict.fromkeys(nearest_names(name, [*valid, *valid.values()]))
    advice = did_you_mean(near, f"it has {', '.join(valid) or 'none'}.")
    raise ParameterError(f"{method_name(estimator)} has no parameter {name!r}; {advice}")
