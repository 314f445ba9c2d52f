"""Formats of annotations: tasks of annotation tools, and long tables with one annotation a row.

*Tasks* hold the annotations of all raters (Label Studio, old exports of doccano). A *long table* (doccano, Label
Studio's short JSON and CSV, surveys) has columns for the item, maybe the rater, and one label or several.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ldlearn.exceptions import TableError, format_list, normalize_name, suggest_name
from ldlearn.tables.columns import find_columns
from ldlearn.tables.values import MISSING

# What tools store about an annotation, which is no feature of the item.
_METADATA = {"annotationid", "createdat", "updatedat", "leadtime", "comments", "annotationapprover"}
# What Prodigy stores about an annotation, besides keys that begin with an underscore.
_PRODIGY_KEYS = {"accept", "label", "answer", "options", "spans", "tokens", "config", "meta", "score", "priority"}
_LABEL_KEYS = ("choices", "labels", "label", "taxonomy", "rating", "number", "selected")
# Usual names of the columns of a long table, likeliest first; compared without case, spaces and underscores.
_ITEM = ("item", "itemid", "task", "taskid", "docid", "documentid", "unit", "unitid", "exampleid", "id")
_PEOPLE = ("rater", "annotator", "worker", "coder", "judge", "user", "participant", "respondent")
_RATER = (*_PEOPLE, *(name + "id" for name in _PEOPLE), "username", "completedby")
_LABEL = (
    "label", "labels", "cats", "category", "categories", "answer", "choice", "class", "rating", "vote", "entities",
)  # fmt: skip


_LONGEST_PREFIX = 500  # of the name of a column: the names of the objects that it lies in


def is_task(record: Any) -> bool:
    """Whether a JSON object holds annotations of several raters."""
    found = record.get("annotations") if isinstance(record, Mapping) else None
    return isinstance(found, list) and all(isinstance(entry, Mapping) for entry in found)


def as_task(record: dict[str, Any]) -> dict[str, Any]:
    """A record of Argilla or of Prodigy as a task; any other record unchanged."""
    if isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping):
        return _argilla_task(record)
    return _prodigy_task(record) if "_input_hash" in record and "answer" in record else record


def _argilla_task(record: Mapping[str, Any]) -> dict[str, Any]:
    annotations = [
        {"completed_by": response.get("user_id"), "result": [_as_choices(response.get("value"), question)]}
        for question, responses in record["responses"].items()
        for response in responses or ()
    ]
    metadata = record.get("metadata")
    data = {**record["fields"], **(metadata if isinstance(metadata, Mapping) else {})}
    return {"id": record.get("id"), "data": data, "annotations": annotations}


def _prodigy_task(record: Mapping[str, Any]) -> dict[str, Any]:
    """One annotation: of several options (``accept``), or of one label that was accepted, rejected or ignored."""
    annotation = {
        "completed_by": record.get("_annotator_id", record.get("_session_id")),
        "was_cancelled": record["answer"] != "accept",
        "result": [_as_choices(record.get("accept", record.get("label")))],
    }
    data = {name: value for name, value in record.items() if name not in _PRODIGY_KEYS and not name.startswith("_")}
    return {"id": record["_input_hash"], "data": data, "annotations": [annotation]}


def _as_choices(labels: Any, question: str | None = None) -> dict[str, Any]:
    result = {"type": "choices", "value": {"choices": labels}}
    return result if question is None else result | {"from_name": question}


class Annotation(NamedTuple):
    """The labels that one rater, who may be unknown, gives to an item with these features."""

    item: str
    rater: str | None
    labels: list[str]
    features: dict[str, Any]


def parse_tasks(tasks: Sequence[Mapping[str, Any]], question: str | None = None) -> list[Annotation]:
    """The annotations in the tasks of an annotation tool; a cancelled one has no labels."""
    answered = (part for task in tasks for annotation in _task_annotations(task) for part in _label_parts(annotation))
    asked = list(dict.fromkeys(str(part["from_name"]) for part in answered if "from_name" in part))
    if question is None and len(asked) > 1:
        raise TableError(f"there are several questions; choose one with label: {format_list(asked)}.")
    if question is not None and question not in asked:
        raise TableError(f"there is no question {question!r}; {suggest_name(question, asked, 'the questions are')}")
    found = []
    for number, task in enumerate(tasks, start=1):
        item, features = as_text(task.get("id")) or str(number), _task_features(task)
        for annotation in _task_annotations(task):
            who = annotation.get("completed_by", annotation.get("user"))
            rater = as_text(who.get("id", who.get("email"))) if isinstance(who, Mapping) else as_text(who)
            parts = [part for part in _label_parts(annotation) if question in (None, part.get("from_name"))]
            labels = [name for part in parts for name in parse_labels(_raw_labels(part), number, question)]
            found.append(Annotation(item, rater, [] if annotation.get("was_cancelled") else labels, features))
    return found


def _task_annotations(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry for entry in task.get("annotations") or () if isinstance(entry, Mapping)]


def _task_features(task: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a task; without such a part, all that is not about its annotations."""
    if isinstance(task.get("data"), Mapping):
        return _flatten(task["data"])
    aside = {"id", "annotations"} | _METADATA
    return _flatten({name: value for name, value in task.items() if normalize_name(name) not in aside})


def _label_parts(annotation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of an annotation that name labels; one of doccano is itself such a part."""
    if "result" not in annotation:
        return [{"type": "label", "value": annotation}] if "label" in annotation else []
    parts = [part for part in annotation["result"] or () if isinstance(part, Mapping)]
    return [part for part in parts if isinstance(part.get("value"), Mapping) and _raw_labels(part) is not None]


def _raw_labels(part: Mapping[str, Any]) -> Any:
    """The entry named like the type of the part, as for choices and rectanglelabels, or one with a usual name."""
    keys = (str(part.get("type")), *_LABEL_KEYS)
    return next((part["value"][key] for key in keys if key in part["value"]), None)


def parse_labels(value: Any, row: object, column: str | None = None, separator: str = "|") -> list[str]:
    """The labels in a cell: a name, ``sky|sea``, a number, a list, JSON, or an object of an annotation tool."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):  # a name may begin so
            value = json.loads(value)
    if is_empty(value):
        return []
    if isinstance(value, str):
        return [name for part in value.split(separator) if (name := part.strip())]
    if isinstance(value, list | tuple | set | np.ndarray):
        value = list(value)
        if len(value) == 3 and isinstance(value[2], str) and all(isinstance(end, int) for end in value[:2]):
            return [value[2]]  # a span of a text: its two ends, its label
        found: list[str] = []
        for part in value:
            if isinstance(part, list) and part and all(isinstance(name, str) for name in part):
                part = " / ".join(part)  # a node of a taxonomy: its ancestors and itself
            # Names in a list are whole, whatever marks they hold.
            found += [part.strip()] if isinstance(part, str) else parse_labels(part, row, column)
        return [name for name in found if name]
    if isinstance(value, Mapping):
        inner = next((value[key] for key in _LABEL_KEYS if key in value), None)
        if inner is not None:
            return parse_labels(inner, row, column)
        if value and all(isinstance(degree, int | float) for degree in value.values()):  # {"joy": 1.0, "fear": 0.0}
            return [str(name) for name, degree in value.items() if degree >= 0.5]
    text = as_text(value)
    if text is None:
        raise TableError("it holds no label; a text, a number or a list of them is needed.", row=row, column=column)
    return [text]


def as_text(value: Any) -> str | None:
    """A name or a number as text; None where there is none."""
    if is_empty(value) or isinstance(value, Mapping | list):
        return None
    # A column with gaps holds 7 as 7.0, and both must name the same rater.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def is_empty(value: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def _flatten(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Objects within objects as ``outer.inner``."""
    if len(prefix) > _LONGEST_PREFIX:
        raise TableError("its objects are nested too deeply, or have names that are too long.", column=prefix[:40])
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= _flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


@dataclass(frozen=True)
class LongFormat:
    """The columns of a long table, one annotation a row.

    Attributes
    ----------
    roles : dict of str to str
        The columns of the label and, if they exist, of the item and the rater.
    features : list of str
    """

    roles: dict[str, str]
    features: list[str]

    def describe(self) -> str:
        """What was found, for messages."""
        found = ", ".join(f"{role} {name!r}" for role, name in self.roles.items())
        return f"one annotation a row: {found}" + ("" if "item" in self.roles else "; each row is an item of its own")

    def parse_rows(self, rows: Iterable[tuple[int, Mapping[Any, Any]]]) -> list[Annotation]:
        """The annotations in the rows of the table, with their numbers in messages."""
        found, label = [], self.roles["label"]
        for position, (number, row) in enumerate(rows, start=1):
            item, rater = (as_text(row.get(self.roles.get(role))) for role in ("item", "rater"))
            if item is None and "item" in self.roles:
                problem = "the item is missing; every annotation needs one."
                raise TableError(problem, row=number, column=self.roles["item"])
            features = _flatten({name: row[name] for name in self.features if name in row})
            labels = parse_labels(row.get(label), number, label)
            found.append(Annotation(item or str(position), rater, labels, features))
        return found


def find_long_format(names: Sequence[str], given: Mapping[str, str | None], single_file: bool = True) -> LongFormat:
    """Find the columns: those that the user gives, or those with usual names."""
    found = {role: names[find_columns(names, name, role)[0]] for role, name in given.items() if name is not None}
    for role, usual in {"item": _ITEM, "rater": _RATER, "label": _LABEL}.items():
        if role not in found and (name := _first_usual_name(names, usual, set(found.values()))) is not None:
            found[role] = name
    listing = f"the columns are {format_list(names, 12)}"
    if "label" not in found:
        raise TableError(f"name the column of the labels with label; {listing}.")
    # In a single file without raters each row may be an item of its own; otherwise items must recur.
    if "item" not in found and ("rater" in found or not single_file):
        raise TableError(f"name the column of the items with item; {listing}.")
    features = [name for name in names if name not in found.values() and normalize_name(name) not in _METADATA]
    return LongFormat({role: found[role] for role in ("item", "rater", "label") if role in found}, features)


def _first_usual_name(names: Sequence[str], usual: Sequence[str], taken: set[str]) -> str | None:
    # Reversed, so that of two columns spelled alike the first is found.
    by_spelling = {normalize_name(name): name for name in reversed(names) if name not in taken}
    return next((by_spelling[spelling] for spelling in usual if spelling in by_spelling), None)
