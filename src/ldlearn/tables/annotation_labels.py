"""What raters said: the labels that an answer names, in a task of an annotation tool or in a cell of a table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ldlearn.exceptions import TableError, bare_name
from ldlearn.tables.values import MISSING

# What tools note about an answer, which says nothing of the item.
ABOUT_THE_ANSWER = {"annotationid", "createdat", "updatedat", "leadtime", "comments", "annotationapprover"}
_INSIDE = ("annotations", "completions")  # where a task keeps its answers
# where a tool keeps the names of an answer
_NAMED = ("choices", "labels", "label", "taxonomy", "rating", "number", "selected")


def is_task(record: Any) -> bool:
    """Whether a JSON object holds the answers of raters: a task of Label Studio, or of an old export of doccano."""
    return isinstance(record, Mapping) and any(
        isinstance(record.get(key), list) and all(isinstance(answer, Mapping) for answer in record[key])
        for key in _INSIDE
    )


def answers_of(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The answers in a task."""
    return [answer for key in _INSIDE for answer in task.get(key) or () if isinstance(answer, Mapping)]


def about_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a task: its data; without such a part, all that is not about its answers."""
    if isinstance(task.get("data"), Mapping):
        return flatten(task["data"])
    aside = {"id", *_INSIDE} | {name for name in task if bare_name(name) in ABOUT_THE_ANSWER}
    return flatten({name: value for name, value in task.items() if name not in aside})


def _results(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of an answer that name labels; those of doccano are an answer each."""
    if "result" not in answer:
        return [{"type": "label", "value": answer}] if "label" in answer else []
    parts = [part for part in answer["result"] or () if isinstance(part, Mapping)]
    return [part for part in parts if isinstance(part.get("value"), Mapping) and _named(part) is not None]


def _named(part: Mapping[str, Any]) -> Any:
    """What a part of an answer names: the entry called like its type, as for choices, labels and rectanglelabels."""
    value, kind = part["value"], part.get("type")
    return value.get(kind) if kind in value else next((value[key] for key in _NAMED if key in value), None)


def questions_of(answer: Mapping[str, Any]) -> list[str]:
    """The names of the questions that an answer answers."""
    return [str(part["from_name"]) for part in _results(answer) if "from_name" in part]


def names_of(answer: Mapping[str, Any], question: str | None, row: int) -> list[str]:
    """The labels that an answer to a question names, each once."""
    parts = [part for part in _results(answer) if question in (None, part.get("from_name"))]
    return list(dict.fromkeys(name for part in parts for name in names_in(_named(part), row, question)))


def rater_of(answer: Mapping[str, Any]) -> str | None:
    """Who answered, if that is told."""
    who = answer.get("completed_by", answer.get("user"))
    return text_of(who.get("id", who.get("email"))) if isinstance(who, Mapping) else text_of(who)


def names_in(value: Any, row: int, column: str | None = None) -> list[str]:
    """The labels in a cell: a name, ``sky|sea``, a number, a list, or an object of an annotation tool."""
    if is_nothing(value):
        return []
    if isinstance(value, str):
        if value.lstrip()[:1] in ("[", "{"):
            try:
                return names_in(json.loads(value), row, column)
            except (ValueError, RecursionError):
                pass  # a name that begins so
        return [name for part in value.split("|") if (name := part.strip())]
    if isinstance(value, list | tuple):
        if len(value) == 3 and isinstance(value[2], str) and all(isinstance(end, int) for end in value[:2]):
            return [value[2]]  # a span of a text: its two ends, its label
        # Names in a list are whole, whatever marks they hold.
        parts = [_path(part) for part in value]
        return [name for part in parts for name in ([part] if isinstance(part, str) else names_in(part, row, column))]
    if isinstance(value, Mapping):
        inner = next((value[key] for key in _NAMED if key in value), None)
        if inner is not None:
            return names_in(inner, row, column)
        if value and all(isinstance(degree, int | float) for degree in value.values()):  # {"joy": 1.0, "fear": 0.0}
            return [str(name) for name, degree in value.items() if degree >= 0.5]
    text = text_of(value)
    if text is None:
        raise TableError("this names no label; a text, a number or a list of them is needed.", row=row, column=column)
    return [text]


def _path(part: Any) -> Any:
    """A node of a taxonomy, which tools write as the list of its ancestors and itself."""
    nested = isinstance(part, list) and part and all(isinstance(name, str) for name in part)
    return " / ".join(part) if nested else part


def text_of(value: Any) -> str | None:
    """A name or a number as text; None where there is none."""
    if is_nothing(value) or isinstance(value, Mapping | list):
        return None
    # A column with gaps holds 7 as 7.0, and both must name the same rater.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def is_nothing(value: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def flatten(about: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Objects within objects as ``outer.inner``."""
    flat: dict[str, Any] = {}
    for name, value in about.items():
        flat |= flatten(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return flat
