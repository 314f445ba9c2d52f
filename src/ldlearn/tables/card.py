"""The model card: one HTML page about one model, without anything to load from elsewhere."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from ldlearn.exceptions import import_optional
from ldlearn.tables.atomic import writing
from ldlearn.tables.column_types import columns_by_type
from ldlearn.tables.table_fit import describe_signal, held_out_scores


def write_card(known: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page about a model, as `describe_file` describes it."""
    with writing(path) as file:
        file.write(render_card(known).encode())


def render_card(known: dict[str, Any]) -> str:
    """The page as text; names of labels and columns cannot smuggle markup into it."""
    jinja2 = import_optional("jinja2", "report", "Model cards")
    template = files("ldlearn.tables").joinpath("card.html.j2").read_text(encoding="utf-8")
    # Strict, so that a key that is missing is an error and not an empty place in the page.
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    scores = held_out_scores({"holdout": known["holdout"]})
    made = {"scores": scores, "verdict": _verdict(known), "types": columns_by_type(known["columns"])}
    return str(environment.from_string(template).render(known, **made))


def _verdict(known: dict[str, Any]) -> dict[str, str]:
    """The one sentence a reader needs."""
    held = known["holdout"]
    if held is None:
        return {"class": "unknown", "text": "Not checked on rows it has not seen: treat its degrees as a guess."}
    text = describe_signal(held)
    if not held["better_than_baselines"]:
        return {"class": "bad", "text": text}
    if known["warnings"]:
        return {"class": "unknown", "text": text + " Read the warnings first."}
    return {"class": "good", "text": text}
