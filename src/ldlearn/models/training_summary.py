"""The summary of the training data that a table model keeps (`TableModel.facts`); checked when it comes from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import normalize_rows
from ldlearn.errors import ModelFileError
from ldlearn.io.values import are_logical, is_missing

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


def training_summary(
    table: Any, features: Sequence[str], labels: Sequence[str], T: NDArray[np.float64], n_transformed: int
) -> dict[str, Any]:
    """Figures of a training table; `fit_and_check` adds scores and warnings."""
    missing = {name: int(is_missing(table[name]).sum()) for name in features}
    return {
        "rows": len(table),
        "transformed_features": n_transformed,
        "label_kind": "0/1" if are_logical(T) else "degrees",
        "label_means": dict(zip(labels, T.mean(axis=0).tolist(), strict=True)),
        "positives_per_row": float((T > 0).sum(axis=1).mean()),
        "mean_distribution": mean_distribution(T).tolist(),
        "missing": {name: count for name, count in missing.items() if count},
        "holdout": None,
        "warnings": [],
    }


def mean_distribution(T: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the rows of the degrees, or of equal shares of the positive labels; a row without any counts as all."""
    return np.asarray(normalize_rows(np.where(T.any(axis=1, keepdims=True), T, 1.0)).mean(axis=0), dtype=np.float64)


def check_summary(facts: Any, labels: Sequence[str]) -> None:
    """Refuse facts of a file that are not of the form that `training_summary` gives them."""
    _check_record(facts, _FACTS)
    sound = (
        list(facts["label_means"]) == list(labels)
        and _all_are(facts["label_means"].values(), float)
        and len(facts["mean_distribution"]) == len(labels)
        and _all_are(facts["mean_distribution"], float)
        and _all_are(facts["missing"], str)
        and _all_are(facts["missing"].values(), int)
        and _all_are(facts["warnings"], str)
    )
    if not sound:
        raise ModelFileError("what it says of its training is not of the right form")
    if facts["holdout"] is not None:
        _check_record(facts["holdout"], _HOLDOUT)
        for score in facts["holdout"]["scores"]:
            _check_record(score, _SCORE)


def _check_record(record: Any, form: dict[str, Any]) -> None:
    if not isinstance(record, dict) or set(record) != set(form):
        raise ModelFileError("what it says of its training is not of the right form")
    for key, kind in form.items():
        if not isinstance(record[key], kind) or (kind is int and isinstance(record[key], bool)):
            raise ModelFileError(f"what it says of its training is not of the right form ({key})")


def _all_are(values: Any, kind: type) -> bool:
    return all(type(value) is kind for value in values)
