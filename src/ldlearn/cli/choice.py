"""The estimator chosen on the command line: ``--method`` and ``--set name=value``."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from ldlearn.base import LabelEstimator
from ldlearn.compose import EnhanceThenLearn
from ldlearn.discovery import all_estimators
from ldlearn.enhancement import UniformLE
from ldlearn.learning import SABFGS

DEFAULT_METHOD = "DLDL"
_WORDS = {"none": None, "null": None, "true": True, "false": False}


def complete_method(incomplete: str) -> Iterable[str]:
    """Names of methods that begin so, for the completion of the shell."""
    return [name for name, _ in all_estimators() if name.lower().startswith(incomplete.lower())]


def choose_estimator(method: str, settings: Sequence[str], *, logical: bool) -> Any:
    """An unfitted estimator that predicts, from its name and settings.

    Parameters
    ----------
    method : str
        A joint model, an enhancer (a learner follows it), a learner, or both as ``ENHANCER+LEARNER``.
    settings : sequence of str
        ``name=value``.
    logical : bool
        Whether the labels are 0/1. Learners need degrees: equal shares of the positive labels come first.
    """
    estimator = _compose([_find(name) for name in method.split("+")], method, logical)
    return _with_settings(estimator, settings)


def _with_settings(estimator: Any, settings: Sequence[str]) -> Any:
    values = dict(_parse_setting(setting) for setting in settings)
    estimator.set_params(**{_full_name(estimator, name): value for name, value in values.items()})
    try:
        for part in _parts(estimator):
            part._validate_params()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None
    return estimator


def choose_enhancer(method: str, settings: Sequence[str]) -> Any:
    """An unfitted estimator that gives degrees to the rows it is fitted on."""
    cls = _find(method)
    if cls.kind == "learner":
        raise typer.BadParameter(
            f"{cls.__name__} learns from degrees; it does not recover them.", param_hint="--method"
        )
    return _with_settings(cls(), settings)


def describe_method(estimator: Any) -> str:
    """The method in a few letters: ``DLDL``, or ``GLLE+SABFGS`` for two steps."""
    if isinstance(estimator, EnhanceThenLearn):
        return "+".join(type(step).__name__ for step in estimator._steps)
    return type(estimator).__name__


def _find(name: str) -> type[LabelEstimator]:
    known = dict(all_estimators())
    if name in known:
        return known[name]
    lower = {other.lower(): other for other in known}
    if name.lower() in lower:
        return known[lower[name.lower()]]
    close = difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(lower[c] for c in close)}?" if close else "see them all with `ldlearn methods`."
    raise typer.BadParameter(f"there is no method {name!r}; {hint}", param_hint="--method")


def _compose(classes: list[type[LabelEstimator]], method: str, logical: bool) -> Any:
    kinds = [cls.kind for cls in classes]
    if len(classes) == 1:
        (cls,), (kind,) = classes, kinds
        if kind == "enhancer":
            return EnhanceThenLearn(cls(), SABFGS())
        if kind == "learner" and logical:
            return EnhanceThenLearn(UniformLE(), cls())
        return cls()
    if len(classes) == 2 and kinds[0] in ("enhancer", "joint") and kinds[1] == "learner":
        return EnhanceThenLearn(classes[0](), classes[1]())
    raise typer.BadParameter(
        f"{method!r} is no method; two steps are written ENHANCER+LEARNER, for example UniformLE+SABFGS.",
        param_hint="--method",
    )


def _parse_setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"{setting!r} is not of the form name=value.", param_hint="--set")
    return name.strip(), _parse_value(text.strip())


def _parse_value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, int | float | str | tuple | list) else text


def _full_name(estimator: Any, name: str) -> str:
    """The parameter that a name means; in two steps the step need not be said where only one step has it."""
    valid = [key for key, value in estimator.get_params().items() if not isinstance(value, LabelEstimator)]
    if name in valid:
        return name
    inner = [key for key in valid if key.partition("__")[2] == name]
    if len(inner) == 1:
        return str(inner[0])
    if inner:
        raise typer.BadParameter(f"both steps have {name!r}; say {' or '.join(inner)}.", param_hint="--set")
    close = difflib.get_close_matches(name, [*valid, *(key.partition("__")[2] for key in valid)], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(dict.fromkeys(close))}?" if close else f"it has {', '.join(valid) or 'none'}."
    raise typer.BadParameter(f"{describe_method(estimator)} has no parameter {name!r}; {hint}", param_hint="--set")


def _parts(estimator: Any) -> list[Any]:
    inner = [value for value in estimator.get_params().values() if isinstance(value, LabelEstimator)]
    return [estimator, *inner]
