"""The form of what a model says of its training (`TableModel.facts`), which a file must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldlearn.errors import ModelFileError

_SCORE = {"name": str, "title": str, "greater_is_better": bool, "model": float, "mean": float, "uniform": float}
_HOLDOUT = {
    "rows": int,
    "share": float,
    "seed": int,
    "scores": list,
    "advantage": float,
    "standard_error": float,
    "better_than_floors": bool,
}
_FACTS = {
    "rows": int,
    "transformed_features": int,
    "label_kind": str,
    "label_means": dict,
    "positives_per_row": float,
    "mean_distribution": list,
    "missing": dict,
    "holdout": (dict, type(None)),
    "warnings": list,
}
# Facts that files of version 0.1.0 do not have.
_LATER_FACTS = {"columns": dict, "source": dict, "label_list": dict}


def check_summary(facts: Any, labels: Sequence[str]) -> None:
    """Refuse facts of a file that are not of this form."""
    later = {name: form for name, form in _LATER_FACTS.items() if isinstance(facts, dict) and name in facts}
    _check_record(facts, _FACTS | later)
    sound = (
        list(facts["label_means"]) == list(labels)
        and _all_are(facts["label_means"].values(), float)
        and len(facts["mean_distribution"]) == len(labels)
        and _all_are(facts["mean_distribution"], float)
        and _all_are(facts["missing"], str)
        and _all_are(facts["missing"].values(), int)
        and _all_are(facts["warnings"], str)
        and all(_all_are(facts[name], str) and _all_are(facts[name].values(), str) for name in later)
    )
    if not sound:
        raise ModelFileError("what it says of its training is not of the right form")
    if facts["holdout"] is not None:
        _check_record(facts["holdout"], _HOLDOUT)
        for score in facts["holdout"]["scores"]:
            _check_record(score, _SCORE | ({"classifier": float} if "classifier" in score else {}))


def _check_record(record: Any, form: dict[str, Any]) -> None:
    if not isinstance(record, dict) or set(record) != set(form):
        raise ModelFileError("what it says of its training is not of the right form")
    for key, kind in form.items():
        if not isinstance(record[key], kind) or (kind is int and isinstance(record[key], bool)):
            raise ModelFileError(f"what it says of its training is not of the right form ({key})")


def _all_are(values: Any, kind: type) -> bool:
    return all(type(value) is kind for value in values)
