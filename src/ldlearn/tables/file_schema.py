"""The form of what a model file holds: the parts of a `TableModel`, and what it says of its training (`facts`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldlearn.exceptions import ModelFileError

# A form is a class; [form] and (form,), a list and a tuple of any length; {str: form}, a dict by free names; or a dict
# by names that are given.
_SCORE = {"name": str, "title": str, "greater_is_better": bool, "model": float, "mean": float, "uniform": float}
_HOLDOUT = {
    "rows": int,
    "share": float,
    "seed": int,
    "scores": [_SCORE | {"classifier": float}],
    "advantage": float,
    "standard_error": float,
    "better_than_baselines": bool,
}
_FACTS: dict[str, Any] = {
    "rows": int,
    "transformed_features": int,
    "label_kind": str,
    "label_means": {str: float},
    "positives_per_row": float,
    "mean_distribution": [float],
    "missing": {str: int},
    "holdout": _HOLDOUT,
    "warnings": [str],
    "columns": {str: str},
    "source": {str: str},
    "label_list": {str: str},
}
# Files of version 0.1.0 have none of these.
_LATER = {"classifier", "columns", "source", "label_list", "dates", "texts"}


def check_facts(facts: Any, labels: Sequence[str]) -> None:
    """Refuse facts of a file that are not of this form."""
    unchecked = isinstance(facts, dict) and facts.get("holdout") is None  # whether it was checked on rows held out
    form = _FACTS | ({"holdout": type(None)} if unchecked else {})
    sound = (
        fits(facts, form)
        and list(facts["label_means"]) == list(labels)
        and len(facts["mean_distribution"]) == len(labels)
    )
    if not sound:
        raise ModelFileError("what it says of its training is not of the right form")


def fits(value: Any, form: Any) -> bool:
    """Whether a value that was read from a file is of a form."""
    if isinstance(form, list | tuple):
        return type(value) is type(form) and all(fits(child, form[0]) for child in value)
    if not isinstance(form, dict):
        # To Python True is an int.
        return isinstance(value, form) and not (form is int and isinstance(value, bool))
    if not isinstance(value, dict):
        return False
    if str in form:
        return all(isinstance(key, str) and fits(child, form[str]) for key, child in value.items())
    return form.keys() - _LATER <= value.keys() <= form.keys() and all(fits(value[key], form[key]) for key in value)
