"""The description of a table model as plain values: for JSON, for the terminal and for the model card."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldlearn.models.linear import linear_softmax, strongest_features
from ldlearn.models.method_names import method_name
from ldlearn.models.preprocessing import STATEMENT, transformed_names
from ldlearn.models.scoring import Score
from ldlearn.models.table_model import TableModel


def describe_model(model: TableModel) -> dict[str, Any]:
    """Everything about a model as plain values: method, parameters, columns, training data, scores, warnings."""
    return {
        "method": method_name(model.estimator),
        "parameters": _plain_items(model.estimator.get_params()),
        "learned": _learned(model.estimator),
        "certified_gap": certified_gap(model.estimator),
        "features": {"numbers": list(model.numeric), "texts": list(model.categorical)},
        "labels": list(model.labels),
        "id": model.id,
        "preprocessing": list(STATEMENT),
        "strongest_features": strongest(model),
        "data": {key: value for key, value in model.facts.items() if key not in ("holdout", "warnings")},
        "holdout": model.facts.get("holdout"),
        "warnings": model.facts.get("warnings", []),
    }


def certified_gap(estimator: Any) -> dict[str, float] | None:
    """How far the recovered degrees can be from the optimum of their step: total and per row; None if not certified."""
    gap = getattr(estimator, "gap_", None)
    if gap is None:
        gap = getattr(getattr(estimator, "enhancer_", None), "gap_", None)
    if gap is None:
        return None
    return {"total": float(np.sum(gap)), "per_row": float(np.mean(gap))}


def strongest(model: TableModel) -> dict[str, list[tuple[str, float]]] | None:
    """The features that push each label up, if the model is linear."""
    found = linear_softmax(model.estimator)
    if found is None:
        return None
    pushes = strongest_features(found[0], transformed_names(model.preprocessing))
    return dict(zip(model.labels, pushes, strict=True))


def _learned(estimator: Any) -> dict[str, Any]:
    """Fitted attributes that are single numbers: weights chosen, iterations done."""
    found = {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}
    numbers = {name: value for name, value in found.items() if isinstance(value, int | float | np.number)}
    return _plain_items({name: value for name, value in numbers.items() if name != "n_features_in_"})


def _plain_items(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def scores_of(facts: dict[str, Any]) -> list[Score]:
    """The scores on rows held out; none if none were."""
    held = facts.get("holdout") or {}
    return [Score(**record) for record in held.get("scores", [])]
