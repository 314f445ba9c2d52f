"""Formats of annotations: tasks of annotation tools, and long tables with one annotation a row.

*Tasks* hold the annotations of all raters (Label Studio, old exports of doccano). A *long table*
(doccano, Label Studio's short JSON and CSV, surveys) has columns for the item, maybe the rater, and
the labels: one column that holds one label or several, or a 0/1 column for each label.
"""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from ldlearn._messages import format_list, normalize_name, suggest_name
from ldlearn.exceptions import TableError
from ldlearn.tables.columns import find_columns
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.values import MISSING, import_pandas, repr_cell, to_labels

# What tools store about an annotation, which is no feature of the item.
_METADATA = {"annotationid", "createdat", "updatedat", "leadtime", "comments", "annotationapprover"}
# What Prodigy stores about an annotation, besides keys that begin with an underscore.
_PRODIGY_KEYS = {
    "accept",
    "label",
    "answer",
    "options",
    "spans",
    "tokens",
    "config",
    "meta",
    "score",
    "priority",
}
_LABEL_KEYS = ("choices", "labels", "label", "taxonomy", "rating", "number", "selected")
# Usual names of the columns of a long table, likeliest first; compared without case, spaces and
# underscores.
_THINGS = (
    "sample",
    "instance",
    "question",
    "document",
    "text",
    "sentence",
    "tweet",
    "post",
    "comment",
    "image",
    "photo",
    "video",
    "record",
    "object",
)
_ITEM = (
    "item",
    "itemid",
    "task",
    "taskid",
    "assignmenttaskid",  # Toloka's ASSIGNMENT:task_id
    "hitid",
    "docid",
    "documentid",
    "unit",
    "unitid",
    "exampleid",
    "id",
    *(thing + "id" for thing in _THINGS),
)
# Users last: they may also be the authors of the items.
_PEOPLE = (
    "rater",
    "annotator",
    "labeler",
    "labeller",
    "worker",
    "coder",
    "judge",
    "participant",
    "respondent",
    "assessor",
    "evaluator",
    "contributor",
    "performer",
    "grader",
    "expert",
    "voter",
    "turker",
    "crowdworker",
    "user",
)
_RATER = (
    *(person + ending for person in _PEOPLE for ending in ("", "id", "name")),
    "assignmentworkerid",  # Toloka's ASSIGNMENT:worker_id
    "prolificid",
    "prolificpid",
    "completedby",
    "who",
)
_LABEL = (
    "label",
    "labels",
    "cats",
    "category",
    "categories",
    "answer",
    "choice",
    "class",
    "rating",
    "vote",
    "entities",
    "judgment",
    "judgement",
    "annotation",
    "tag",
)
# Before the names of questions, in results of Mechanical Turk and of Toloka.
_QUESTION_MARKS = ("Answer.", "OUTPUT:")

_QUOTES = ("'", '"')
_BRACKETS = ("[]", "()", "{}")
# Possessive, so that the time is linear; with the escapes that Python writes.
_LITERAL = (
    r"""'(?:[^'\\]|\\[\\'"nrtxuU])*+'|"(?:[^"\\]|\\[\\'"nrtxuU])*+"|"""
    r"""-?\d++(?:\.\d*+)?(?:e[-+]?\d++)?|None|nan"""
)
# A string or a number, maybe of a NumPy type, and what separates it from the next one.
_LIST_ITEM = re.compile(rf"(?:np\.\w+\(({_LITERAL})\)|({_LITERAL}))(?:\s*,\s*|\s+|$)")
_LONGEST_PREFIX = 500  # of the name of a column: the names of the objects that it lies in


def is_annotation_task(record: Any) -> bool:
    """Whether a JSON object holds annotations of several raters."""
    if not isinstance(record, Mapping):
        return False
    found = record.get("annotations")
    return isinstance(found, list) and all(isinstance(entry, Mapping) for entry in found)


def to_annotation_task(record: dict[str, Any]) -> dict[str, Any]:
    """A record of Argilla or of Prodigy as a task; any other record unchanged."""
    if isinstance(record.get("responses"), Mapping) and isinstance(record.get("fields"), Mapping):
        return _argilla_task(record)
    if "_input_hash" in record and "answer" in record:
        return _prodigy_task(record)
    return record


def _argilla_task(record: Mapping[str, Any]) -> dict[str, Any]:
    annotations = []
    for question, responses in record["responses"].items():
        for response in responses or ():
            choices = _as_choices(response.get("value"), from_name=question)
            annotations.append({"completed_by": response.get("user_id"), "result": [choices]})
    data = dict(record["fields"])
    if isinstance(record.get("metadata"), Mapping):
        data |= record["metadata"]
    return {"id": record.get("id"), "data": data, "annotations": annotations}


def _prodigy_task(record: Mapping[str, Any]) -> dict[str, Any]:
    """One annotation: of several options (``accept``), or of one label and whether it fits."""
    annotation = {
        "completed_by": record.get("_annotator_id", record.get("_session_id")),
        "was_cancelled": record["answer"] != "accept",
        "result": [_as_choices(record.get("accept", record.get("label")))],
    }
    data = {}
    for name, value in record.items():
        if name not in _PRODIGY_KEYS and not name.startswith("_"):
            data[name] = value
    return {"id": record["_input_hash"], "data": data, "annotations": [annotation]}


def _as_choices(labels: Any, **question: str) -> dict[str, Any]:
    return {"type": "choices", "value": {"choices": labels}, **question}


class Annotation(NamedTuple):
    """The labels that one rater, who may be unknown, gives to an item with these features.

    They are empty if the rater states that no label applies, and None if nothing is stated.
    """

    item: str
    rater: str | None
    labels: list[str] | None
    features: dict[str, Any]


def parse_tasks(
    tasks: Sequence[Mapping[str, Any]],
    question: str | None = None,
) -> list[Annotation]:
    """The annotations in the tasks of an annotation tool; a cancelled one has no labels."""
    asked: dict[str, None] = {}  # in order
    found = []
    for number, task in enumerate(tasks, start=1):
        item = _as_text(task.get("id")) or str(number)
        features = _task_features(task)
        for annotation in task.get("annotations") or ():
            if not isinstance(annotation, Mapping):
                continue
            who = annotation.get("completed_by", annotation.get("user"))
            if isinstance(who, Mapping):
                who = who.get("id", who.get("email"))
            labels = []
            for part in _label_parts(annotation):
                if "from_name" in part:
                    asked[str(part["from_name"])] = None
                if question in (None, part.get("from_name")):
                    labels.extend(parse_labels(_raw_labels(part), number, question))
            if annotation.get("was_cancelled"):
                labels.clear()
            # A tool does not tell "none of these" from a task that was skipped.
            found.append(Annotation(item, _as_text(who), labels or None, features))
    if question is None and len(asked) > 1:
        questions = format_list(list(asked))
        raise TableError(f"there are several questions; choose one with label: {questions}.")
    if question is not None and question not in asked:
        advice = suggest_name(question, asked, "the questions are")
        raise TableError(f"there is no question {question!r}; {advice}")
    return found


def _task_features(task: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a task; without such a part, all that is not about its annotations."""
    if isinstance(task.get("data"), Mapping):
        return _flatten_fields(task["data"])
    aside = {"id", "annotations"} | _METADATA
    names = [name for name in task if normalize_name(name) not in aside]
    return _flatten_fields({name: task[name] for name in names})


def _label_parts(annotation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of an annotation that name labels; one of doccano is itself such a part."""
    if "result" not in annotation and "label" in annotation:
        return [{"type": "label", "value": annotation}]
    parts = []
    for part in annotation.get("result") or ():
        has_value = isinstance(part, Mapping) and isinstance(part.get("value"), Mapping)
        if has_value and _raw_labels(part) is not None:
            parts.append(part)
    return parts


def _raw_labels(part: Mapping[str, Any]) -> Any:
    """The entry named like the type of the part, such as choices, or one with a usual name."""
    return _first_entry(part["value"], (str(part.get("type")), *_LABEL_KEYS))


def _first_entry(entries: Mapping[str, Any], keys: Sequence[str]) -> Any:
    for key in keys:
        if key in entries:
            return entries[key]
    return None


def parse_labels(
    value: Any,
    row: object,
    column: str | None = None,
    separator: str = "|",
) -> list[str]:
    """The labels in a cell: a name, ``sky|sea``, a number, a list, JSON, or an object of a tool.

    Texts of lists are parsed, too (`parse_list_text`). Without a separator a text is one name.
    """
    try:
        return _find_labels(value, row, column, separator)
    except RecursionError:  # a parser of JSON may be able to go deeper than Python
        raise TableError("its lists are nested too deeply.", row=row, column=column) from None


def _find_labels(
    value: Any,
    row: object,
    column: str | None,
    separator: str,
) -> list[str]:
    if isinstance(value, str):
        value = parse_list_text(value)
    if is_empty(value):
        return []
    if isinstance(value, str):
        parts = value.split(separator) if separator else [value]
        names = list(filter(None, map(str.strip, parts)))
        for name in names:
            _check_label_name(name, row, column)
        return names
    if isinstance(value, list | tuple | set | np.ndarray):
        found = []
        for part in value:
            types = list(map(type, part)) if isinstance(part, list) else []
            if types == [int, int, str]:
                part = part[2]  # a span of a text: its two ends, its label
            elif set(types) == {str}:
                part = " / ".join(part)  # a node of a taxonomy: its ancestors and itself
            if isinstance(part, str):
                found.append(part.strip())  # names in a list are whole, whatever marks they hold
            else:
                found.extend(_find_labels(part, row, column, separator))
        return list(filter(None, found))
    if isinstance(value, Mapping):
        inner = _first_entry(value, _LABEL_KEYS)
        if inner is not None:
            return _find_labels(inner, row, column, separator)
        # {"joy": 1.0, "fear": 0.0}
        if all(isinstance(degree, int | float) for degree in value.values()):
            return [str(name) for name, degree in value.items() if degree >= 0.5]
    text = _as_text(value)
    if text is None:
        problem = "it holds no label; a text, a number or a list of them is needed."
        raise TableError(problem, row=row, column=column)
    return [text]


def parse_list_text(text: str) -> Any:
    """The list or object that a text stands for, as JSON, Python or NumPy write it; or the text.

    Examples
    --------
    >>> parse_list_text("['good', 'great']"), parse_list_text("{2, 9}")
    (['good', 'great'], [2, 9])
    >>> parse_list_text("(very) good")
    '(very) good'
    """
    cell = text.strip()
    if cell[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return json.loads(cell)
    if cell == "set()":
        return []
    items = cell[1:-1].strip()
    if cell[:1] + cell[-1:] not in _BRACKETS:
        return text
    # A number in parentheses is no list: Python writes a comma after an only item.
    if cell[0] == "(" and items.isalnum():
        return text
    found = []
    position = 0
    while position < len(items):
        match = _LIST_ITEM.match(items, position)
        if match is None:
            return text
        try:
            found.append(_parse_item(match[1] or match[2]))
        except (ValueError, SyntaxError):
            return text
        position = match.end()
    return found


def _parse_item(item: str) -> Any:
    """A string, a number, or None, as Python writes them."""
    if item in ("None", "nan"):
        return None
    if item[0] not in _QUOTES:
        return float(item) if "." in item or "e" in item else int(item)
    return ast.literal_eval(item) if "\\" in item else item[1:-1]


def _check_label_name(name: str, row: object, column: str | None) -> None:
    """Refuse what may be a part of a list that could not be parsed."""
    has_bracket = not set("[]{}").isdisjoint(name) or name.count("(") != name.count(")")
    # An apostrophe within a name is none.
    has_quote = name[0] in _QUOTES or name[-1] in _QUOTES or name.count('"') % 2 == 1
    if has_bracket or has_quote:
        problem = f"the label {repr_cell(name)} has a bracket or a lone quote"
        advice = "write lists as ['sky', 'sea'], or without brackets and quotes around the labels"
        raise TableError(f"{problem}; {advice}.", row=row, column=column)


def _as_text(value: Any) -> str | None:
    """A name or a number as text; None where there is none."""
    if is_empty(value) or isinstance(value, Mapping | list):
        return None
    # A column with gaps holds 7 as 7.0, and both must name the same rater.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def is_empty(value: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def _flatten_fields(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Objects within objects as ``outer.inner``."""
    if len(prefix) > _LONGEST_PREFIX:
        problem = "its objects are nested too deeply, or have names that are too long."
        raise TableError(problem, column=prefix[:40])
    flat = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat.update(_flatten_fields(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


@dataclass(frozen=True)
class LongFormat:
    """The columns of a long table, one annotation a row.

    Attributes
    ----------
    roles : dict of str to str
        The columns of the item and the rater, if they exist.
    labels : list of str
        The column of the labels, or a 0/1 column for each of several labels.
    features : list of str
    """

    roles: dict[str, str]
    labels: list[str]
    features: list[str]

    @property
    def label_names(self) -> list[str]:
        """The labels that are columns."""
        return self.labels if len(self.labels) > 1 else []

    def describe(self) -> str:
        """What was found, for messages."""
        found = [f"{role} {name!r}" for role, name in self.roles.items()]
        kind = "one annotation a row"
        label = "label"
        if self.label_names:
            kind += ", and a 0/1 column for each label, where an empty cell counts as 0"
            label = "labels"
        found.append(f"{label} {format_list(self.labels)}")
        description = f"{kind}: {', '.join(found)}"
        if "item" not in self.roles:
            description += "; each row is an item of its own"
        elif "rater" not in self.roles:
            description += "; no column of raters, so every annotation counts"
        return description

    def parse_rows(self, rows: Mapping[int, Mapping[Any, Any]]) -> list[Annotation]:
        """The annotations in the rows of the table, by their numbers in messages."""
        found = []
        labels = self._parse_labels(rows)
        for position, (number, row) in enumerate(rows.items(), start=1):
            item = _as_text(row.get(self.roles.get("item")))
            rater = _as_text(row.get(self.roles.get("rater")))
            if item is None and "item" in self.roles:
                problem = "the item is missing; every annotation needs one."
                raise TableError(problem, row=number, column=self.roles["item"])
            features = _flatten_fields({name: row[name] for name in self.features if name in row})
            found.append(Annotation(item or str(position), rater, labels[number], features))
        return found

    def _parse_labels(self, rows: Mapping[int, Mapping[Any, Any]]) -> dict[int, list[str] | None]:
        """The labels of each row; see `Annotation`."""
        positive: dict[int, list[str] | None] = {}
        if not self.label_names:
            name = self.labels[0]
            for number, row in rows.items():
                positive[number] = parse_labels(row.get(name), number, name) or None
            return positive
        table = [[row.get(name) for name in self.labels] for row in rows.values()]
        table = import_pandas().DataFrame(table, index=list(rows), columns=self.labels)
        found = TableLabels(self.labels, to_labels(table, self.labels), table.index)
        found.check_zero_or_one(
            "a column for each label has 1 where the rater gave it, and 0 or nothing elsewhere."
        )
        n_filled = (~np.isnan(found.values)).sum(axis=1)
        for number, given, filled in zip(rows, found.values == 1, n_filled, strict=True):
            positive[number] = list(compress(self.labels, given)) if filled else None
        return positive


def find_long_format(
    names: Sequence[str],
    given: Mapping[str, str | None],
    single_file: bool = True,
) -> LongFormat:
    """Find the columns: those that the user gives, or those with usual names."""
    found: dict[str, list[str]] = {}
    for role, choice in given.items():
        if choice is not None:
            found[role] = [names[i] for i in find_columns(names, choice, role)]
    for role, usual in {"item": _ITEM, "rater": _RATER, "label": _LABEL}.items():
        if role not in found:
            taken = set(chain(*found.values()))
            # Reversed, so that of two columns spelled alike the first is found.
            spelled = {}
            for name in reversed(names):
                if name not in taken:
                    spelled[normalize_name(name)] = name
            if name := _first_entry(spelled, usual):
                found[role] = [name]
    if "label" not in found:
        questions = [name for name in names if name.startswith(_QUESTION_MARKS)]
        if len(questions) == 1:
            found["label"] = questions
    listing = f"the columns are {format_list(names, 12)}"
    if "label" not in found:
        problem = "name the column of the labels, or the 0/1 columns of all labels, with label"
        raise TableError(f"{problem}; {listing}.")
    # In a single file without raters each row may be an item of its own; otherwise items must
    # recur.
    if "item" not in found and ("rater" in found or not single_file):
        raise TableError(f"name the column of the items with item; {listing}.")
    labels = found["label"]
    roles = {}
    for role in ("item", "rater"):
        columns = found.get(role, [])
        if len(columns) > 1 or not set(columns).isdisjoint(labels):
            needed = f"{role} must be one column that is no label"
            raise TableError(f"{needed}, not {format_list(columns)}.")
        for name in columns:
            roles[role] = name
    taken = {*roles.values(), *labels}
    features = []
    for name in names:
        if name not in taken and normalize_name(name) not in _METADATA:
            features.append(name)
    return LongFormat(roles, labels, features)
