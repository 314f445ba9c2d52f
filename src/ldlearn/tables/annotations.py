"""Annotations of several raters as a table with one row an item.

Tasks of annotation tools and long tables (`ldlearn.tables.annotation_formats`) become triples (item, rater, label),
which are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal

from ldlearn.exceptions import FileError, ParameterError, TableError, format_list, suggest_name
from ldlearn.tables.annotation_formats import (
    LongFormat,
    annotations_of,
    as_text,
    find_long_format,
    flatten,
    is_empty,
    is_task,
    labels_of_annotation,
    parse_labels,
    questions_of,
    rater_of,
    task_fields,
)
from ldlearn.tables.columns import MARKS, quote_columns, sorted_labels
from ldlearn.tables.delimited_dialect import Dialect
from ldlearn.tables.formats import format_of, naming, open_table
from ldlearn.tables.json_tables import parse_lines, parse_list
from ldlearn.tables.source import Input, Kind, reading
from ldlearn.tables.values import import_pandas

KINDS = ("auto", "votes", "labels")


@dataclass(frozen=True)
class Annotations:
    """Annotations as a table.

    Attributes
    ----------
    table : DataFrame
        One row an item: its id, what is known of it (its text, its features), and one column a label.
    id : str
        The column that names the items.
    labels : list of str
        The columns of the labels, which stand last.
    kind : {"votes", "labels"}
        Whether they hold numbers of raters, or 0/1.
    messages : list of str
        How the annotations were interpreted, and what was left out.
    """

    table: Any
    id: str
    labels: list[str]
    kind: Literal["votes", "labels"]
    messages: list[str] = field(default_factory=list)

    @property
    def labels_option(self) -> str:
        """The label columns as ``--labels`` takes them."""
        names = list(self.table.columns)
        return quote_columns(names, range(len(names) - len(self.labels), len(names)))


def read_annotations(
    paths: str | Sequence[str],
    kind: str = "auto",
    *,
    item: str | None = None,
    rater: str | None = None,
    label: str | None = None,
    format: str | None = None,
    dialect: Dialect | None = None,
) -> Annotations:
    """Read annotations: an export of Label Studio or doccano, or a long table of items, raters and labels.

    Parameters
    ----------
    paths : str or sequence of str
        The file, or several of one kind (doccano writes one for each annotator): ``.json`` of Label Studio,
        ``.jsonl`` or ``.json`` of doccano, or any table with one annotation a row.
    kind : {"auto", "votes", "labels"}, default="auto"
        ``"votes"`` counts the raters who gave a label, ``"labels"`` is 1 where any did; ``"auto"`` counts if any item
        was rated more than once.
    item, rater, label : str, optional
        The columns of a long table; by default those with usual names. In exports of Label Studio, `label` is the name
        of the question, needed where there are several.
    format : str, optional
        Format of the files if their names do not show it.
    dialect : Dialect, optional
        Separator, decimal mark and encoding of a text table, if it is not to be detected.

    Returns
    -------
    Annotations

    Notes
    -----
    A rater counts once for each item and label. Cancelled annotations and items without a label are left out.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "ratings.csv"
    >>> _ = path.write_text("item,rater,label\\na,1,sky\\na,2,sky\\na,2,sea\\nb,1,sea\\n")
    >>> found = read_annotations(str(path))
    >>> found.table
      item  sea  sky
    0    a    1    2
    1    b    1    0
    >>> found.kind, found.labels_option
    ('votes', 'sea:sky')
    >>> folder.cleanup()
    """
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    files = [paths] if isinstance(paths, str) else list(paths)
    resolved = [Path(path).resolve() for path in files]
    for position, path in enumerate(files):
        if resolved[position] in resolved[:position]:
            raise FileError(f"{path}: it is the same file as another; name it once, or its annotations count twice.")
    collected, given, single_file = _Annotations(), {"item": item, "rater": rater, "label": label}, len(files) == 1
    for path in files:
        with naming(path):
            if format_of(path, format) in ("json", "jsonl"):
                objects = _read_objects(path, format)
                if is_task(objects[0]):
                    collected.add_tasks(objects, label)
                    continue
                names = list(dict.fromkeys(name for row in objects for name in row))
                collected.add_rows(objects, find_long_format(names, given, single_file))
                continue
            with open_table(path, format, dialect=dialect) as source:
                columns = find_long_format(source.names, given, single_file)
                # As texts: the item 007 stays 007.
                texts = columns.roles.values()
                kinds: dict[str, Kind] = {name: "text" if name in texts else "any" for name in source.names}
                collected.add_rows(source.read(kinds).to_dict("records"), columns)
    with naming(files[0]):
        return collected.count(kind)


def count_tasks(tasks: Sequence[Mapping[str, Any]]) -> Annotations:
    """The tasks of an annotation tool, as `read_annotations` reads them from a file."""
    collected = _Annotations()
    collected.add_tasks(tasks)
    return collected.count("auto")


def _read_objects(path: str, format: str | None) -> list[dict[str, Any]]:
    given = Input(path, title="JSON")
    with given.stack, reading(given):
        rows = parse_list(given) if format_of(path, format) == "json" else list(parse_lines(given))
        if not any(rows):
            raise TableError("the file is empty, or all of its objects are.")
        return rows


class _Annotations:
    """Collects triples (item, rater, label) and the features of the items."""

    def __init__(self) -> None:
        self.item_name = "id"
        self.features: dict[str, dict[str, Any]] = {}  # by item, in the order of the files
        self.triples: list[tuple[str, object, str]] = []
        self.unusable: set[str] = set()  # features that an item cannot have as one value
        self.messages: list[str] = []
        self.left_out: Counter[str] = Counter()
        self.unnamed_raters = count()

    def add_rows(self, rows: Iterable[Mapping[str, Any]], columns: LongFormat) -> None:
        """Add rows of one annotation each."""
        self.messages.append(columns.describe())
        self.item_name = columns.item or self.item_name
        for number, row in enumerate(rows, start=1):
            item = as_text(row.get(columns.item)) if columns.item else str(number)
            if item is None:
                raise TableError("the item is missing; every annotation needs one.", row=number, column=columns.item)
            rater = as_text(row.get(columns.rater)) if columns.rater else None
            self._add_features(item, flatten({name: row[name] for name in columns.features if name in row}))
            self._add_labels(item, rater, parse_labels(row.get(columns.label), number, columns.label))

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]], question: str | None = None) -> None:
        """Add tasks with all their annotations."""
        annotations = [annotation for task in tasks for annotation in annotations_of(task)]
        asked = list(dict.fromkeys(name for annotation in annotations for name in questions_of(annotation)))
        if question is None and len(asked) > 1:
            raise TableError(f"there are several questions; choose one with label: {format_list(asked)}.")
        if question is not None and question not in asked:
            raise TableError(f"there is no question {question!r}; {suggest_name(question, asked, 'the questions are')}")
        self.messages.append(f"tasks of an annotation tool{f', question {asked[0]!r}' if len(asked) == 1 else ''}")
        for number, task in enumerate(tasks, start=1):
            item = as_text(task.get("id")) or str(number)
            self._add_features(item, task_fields(task))
            for annotation in annotations_of(task):
                if annotation.get("was_cancelled") or annotation.get("skipped"):
                    self.left_out["cancelled annotations"] += 1
                else:
                    self._add_labels(item, rater_of(annotation), labels_of_annotation(annotation, question, number))

    def _add_features(self, item: str, features: Mapping[str, Any]) -> None:
        known = self.features.setdefault(item, {})
        for name, value in features.items():
            # NaN differs from itself, which is no difference between annotations.
            differs = known.setdefault(name, value) != value and not (is_empty(value) and is_empty(known[name]))
            if differs or isinstance(value, list):
                self.unusable.add(name)

    def _add_labels(self, item: str, rater: str | None, labels: Sequence[str]) -> None:
        self.left_out["annotations without a label"] += not labels
        who = next(self.unnamed_raters) if rater is None else rater  # without a name, a rater of its own
        self.triples += [(item, who, name) for name in labels]

    def count(self, kind: str) -> Annotations:
        """The table."""
        pandas = import_pandas()
        triples = pandas.DataFrame(self.triples, columns=["item", "rater", "label"]).drop_duplicates()
        labels = sorted_labels(triples["label"].unique())
        if not labels:
            raise TableError("no annotation has a label.")
        if len(labels) > 1000:  # a column of free texts
            raise TableError(f"there are {len(labels):,} different labels; is that the column of the labels?")
        counts = pandas.crosstab(triples["item"], triples["label"])[labels]
        counts = counts.loc[[item for item in self.features if item in counts.index]]
        n_raters = int(triples.groupby("item")["rater"].nunique().max())
        votes = kind == "votes" or (kind == "auto" and n_raters > 1)
        self.left_out["repeated annotations (same item, rater and label)"] += len(self.triples) - len(triples)
        self.left_out["items without a label"] += len(self.features) - len(counts)
        counted = "the columns count raters" if votes else "the columns are 1 where a rater gave the label, else 0"
        self.messages.append(f"up to {n_raters} raters an item; {counted}")
        self.messages += [f"{number:,} {what} are left out" for what, number in self.left_out.items() if number]
        features = pandas.DataFrame([self.features[item] for item in counts.index])
        if unusable := [name for name in features if name in self.unusable]:
            reason = "they hold lists or differ between the annotations of one item"
            self.messages.append(f"columns left out, because {reason}: {format_list(unusable)}")
            features = features.drop(columns=unusable)
        id = self.item_name if self.item_name not in features else "item_id"
        if {id, *features} & set(labels):
            labels = [MARKS["counts" if votes else "Y"] + name for name in labels]
        values = (counts if votes else counts.clip(upper=1)).set_axis(labels, axis=1).reset_index(drop=True)
        features.insert(0, id, list(counts.index))
        table = pandas.concat([features, values], axis=1)
        return Annotations(table, id, labels, "votes" if votes else "labels", list(dict.fromkeys(self.messages)))
