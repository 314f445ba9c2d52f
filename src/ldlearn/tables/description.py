"""The description of a table model: as plain values for JSON and the terminal, and as a model card in HTML."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn.compose.method_names import method_name
from ldlearn.exceptions import import_optional
from ldlearn.tables.column_types import columns_by_type
from ldlearn.tables.explanation import linear_softmax
from ldlearn.tables.features import PREPROCESSING_STEPS
from ldlearn.tables.files import sha256_of, writing
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.table_fit import describe_signal, held_out_scores
from ldlearn.tables.table_model import TableModel

_OWN_SECTIONS = ("holdout", "warnings", "columns", "source")


def describe_model(model: TableModel) -> dict[str, Any]:
    """Everything about a model as plain values: method, parameters, columns, training data, scores, warnings."""
    return {
        "method": method_name(model.estimator),
        "parameters": _plain_values(model.estimator.get_params()),
        "learned": _learned(model.estimator),
        "selection_summary": getattr(model.estimator, "selection_summary_", ""),
        "certified_gap": certified_gap(model.estimator),
        "features": {"numbers": list(model.numeric), "texts": list(model.categorical)},
        "columns": model.types.describe() | model.facts.get("columns", {}),
        "source": model.facts.get("source", {}),
        "labels": list(model.labels),
        "id": model.id,
        "preprocessing": list(PREPROCESSING_STEPS),
        "strongest_features": strongest_features(model),
        "degrees": training_degrees(model),
        "data": {key: value for key, value in model.facts.items() if key not in _OWN_SECTIONS},
        "holdout": model.facts.get("holdout"),
        "warnings": model.facts.get("warnings", []),
    }


def describe_file(path: str | os.PathLike[str], method: str | None = None) -> dict[str, Any]:
    """Everything about the model of a file, with its name and SHA-256; ``method`` as in `load_model`."""
    model = load_table_model(path, method)  # first, because its errors name the file
    return {"model": os.fspath(path), "sha256": sha256_of(Path(path))} | describe_model(model)


def certified_gap(estimator: Any) -> dict[str, float] | None:
    """How far the recovered degrees can be from the optimum of their step: total and per row; None if not certified."""
    gaps = (getattr(part, "gap_", None) for part in (estimator, getattr(estimator, "enhancer_", None)))
    gap = next((gap for gap in gaps if gap is not None), None)
    return None if gap is None else {"total": float(np.sum(gap)), "per_row": float(np.mean(gap))}


def strongest_features(model: TableModel, count: int = 3) -> dict[str, list[tuple[str, float]]] | None:
    """For each label the features with the largest positive coefficients, and these; None if the model is not linear.

    They are taken relative to their mean over the labels, because adding the same to all labels changes nothing.
    """
    found = linear_softmax(model.estimator)
    if found is None:
        return None
    relative, names = found[0] - found[0].mean(axis=0), model.preprocessing.feature_names()
    order = np.argsort(-relative, axis=1, kind="stable")[:, :count]
    return {
        label: [(names[j], float(row[j])) for j in largest if row[j] > 0]
        for label, row, largest in zip(model.labels, relative, order, strict=True)
    }


def training_degrees(model: TableModel) -> dict[str, dict[str, Any]] | None:
    """How the recovered degrees of the training rows spread, by label: mean and quartiles; None if not kept."""
    D = getattr(model.estimator, "label_distributions_", None)
    if D is None:
        return None
    quartiles = np.quantile(D, [0, 0.25, 0.5, 0.75, 1], axis=0).T
    spread = zip(model.labels, np.mean(D, axis=0), quartiles, strict=True)
    return {label: {"mean": float(mean), "quartiles": found.tolist()} for label, mean, found in spread}


def _learned(estimator: Any) -> dict[str, Any]:
    """Fitted attributes that are single numbers: selected penalties, numbers of iterations."""
    learned = {name: value for name, value in vars(estimator).items() if name.endswith("_") and np.isscalar(value)}
    return _plain_values({name: value for name, value in learned.items() if not isinstance(value, str)})


def _plain_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values that JSON can hold; others as they print."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    return {name: value if value is None or np.isscalar(value) else repr(value) for name, value in plain.items()}


def write_card(description: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page about a model, as `describe_file` describes it."""
    with writing(path) as file:
        file.write(render_card(description).encode())


def render_card(description: dict[str, Any]) -> str:
    """The page as text; markup in names of labels and columns is escaped."""
    jinja2 = import_optional("jinja2", "report", "Model cards")
    template = files("ldlearn.tables").joinpath("card.html.j2").read_text(encoding="utf-8")
    # Strict: a missing key is an error, not an empty place in the page.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    scores = held_out_scores({"holdout": description["holdout"]})
    derived = {"scores": scores, "verdict": _verdict(description), "types": columns_by_type(description["columns"])}
    return str(environment.from_string(template).render(description, **derived))


def _verdict(description: dict[str, Any]) -> dict[str, str]:
    """Whether the model can be relied on, in a sentence."""
    held = description["holdout"]
    if held is None:
        return {"class": "unknown", "text": "Not validated on held-out rows: its degrees may be unreliable."}
    text = describe_signal(held)
    better = [warning for warning in description["warnings"] if warning.startswith("A plain classifier")]
    if better or not held["better_than_baselines"]:
        return {"class": "bad", "text": " ".join([text, *better])}
    if description["warnings"]:
        return {"class": "unknown", "text": text + " Read the warnings first."}
    return {"class": "good", "text": text}
