"""Annotations of several raters as a table with one row an item.

Tasks of annotation tools and long tables (`ldlearn.tables.annotation_formats`) become triples (item, rater, label),
which are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from typing import Any, Literal

import numpy as np

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
from ldlearn.tables.source import Input, Kind, Source, reading
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
    _check_distinct_files(files)
    tally, columns = _Tally(), {"item": item, "rater": rater, "label": label}
    for path in files:
        with naming(path):
            if format_of(path, format) in ("json", "jsonl"):
                tally.add_objects(_read_objects(path, format), columns, single_file=len(files) == 1)
                continue
            with open_table(path, format, dialect=dialect) as source:
                found = find_long_format(source.names, columns, single_file=len(files) == 1)
                tally.add_rows(_read_rows(source, found), found)
    with naming(files[0]):
        return tally.counted(kind)


def _check_distinct_files(paths: Sequence[str]) -> None:
    """Refuse a file that is named twice, under whatever name or link: its raters would count twice."""
    for first, second in combinations(paths, 2):
        if first == second or (Path(first).exists() and Path(second).exists() and Path(first).samefile(second)):
            raise FileError(f"{second}: it is the same file as {first}; name it once, or its annotations count twice.")


def count_tasks(tasks: Sequence[Mapping[str, Any]]) -> Annotations:
    """The tasks of an annotation tool, as `read_annotations` reads them from a file."""
    tally = _Tally()
    tally.add_tasks(tasks)
    return tally.counted("auto")


def _read_objects(path: str, format: str | None) -> list[dict[str, Any]]:
    given = Input(path, title="JSON")
    with given.stack, reading(given):
        rows = parse_list(given) if format_of(path, format) == "json" else list(parse_lines(given))
        if not any(rows):
            raise TableError("the file is empty, or all of its objects are.")
        return rows


def _read_rows(source: Source, columns: LongFormat) -> Iterator[dict[str, Any]]:
    # As texts: the item 007 stays 007.
    texts = columns.roles.values()
    kinds: dict[str, Kind] = {name: "text" if name in texts else "any" for name in source.names}
    table = source.read(kinds)
    return (dict(zip(kinds, row, strict=True)) for row in table.itertuples(index=False, name=None))


class _Tally:
    """Collects triples (item, rater, label) and the features of the items."""

    def __init__(self) -> None:
        self.item_name = "id"
        self.fields: dict[str, dict[str, Any]] = {}  # by item, in the order of the files
        self.triples: list[tuple[str, object, str]] = []
        self.differing: set[str] = set()
        self.messages: list[str] = []
        self.n_cancelled = self.n_empty = 0
        self.unnamed_raters = count()

    def add_objects(self, objects: list[dict[str, Any]], columns: Mapping[str, str | None], single_file: bool) -> None:
        """Add the objects of a JSON file: tasks, or rows; ``columns`` are those that the user gives."""
        if is_task(objects[0]):
            self.add_tasks(objects, columns["label"])
        else:
            names = list(dict.fromkeys(name for row in objects for name in row))
            self.add_rows(objects, find_long_format(names, columns, single_file))

    def add_rows(self, rows: Iterable[Mapping[str, Any]], columns: LongFormat) -> None:
        """Add rows of one annotation each."""
        self._log(columns.describe())
        self.item_name = columns.item or self.item_name
        for number, row in enumerate(rows, start=1):
            key = as_text(row.get(columns.item)) if columns.item else str(number)
            if key is None:
                raise TableError("the item is missing; every annotation needs one.", row=number, column=columns.item)
            rater = as_text(row.get(columns.rater)) if columns.rater else None
            self._add_features(key, flatten({name: row[name] for name in columns.features if name in row}))
            self._add(key, rater, parse_labels(row.get(columns.label), number, columns.label))

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]], question: str | None = None) -> None:
        """Add tasks with all their annotations."""
        entries = [entry for task in tasks for entry in annotations_of(task)]
        asked = list(dict.fromkeys(name for entry in entries for name in questions_of(entry)))
        if question is None and len(asked) > 1:
            raise TableError(f"there are several questions; choose one with label: {format_list(asked)}.")
        if question is not None and question not in asked:
            raise TableError(f"there is no question {question!r}; {suggest_name(question, asked, 'the questions are')}")
        chosen = question or "".join(asked)
        self._log(f"tasks of an annotation tool{f', question {chosen!r}' if chosen else ''}")
        for number, task in enumerate(tasks, start=1):
            key = as_text(task.get("id")) or str(number)
            self._add_features(key, task_fields(task))
            for entry in annotations_of(task):
                if entry.get("was_cancelled") or entry.get("skipped"):
                    self.n_cancelled += 1
                else:
                    self._add(key, rater_of(entry), labels_of_annotation(entry, question, number))

    def _add_features(self, item: str, fields: Mapping[str, Any]) -> None:
        known = self.fields.setdefault(item, {})
        for name, value in fields.items():
            # NaN differs from itself, which is no difference between annotations.
            if known.setdefault(name, value) != value and not (is_empty(value) and is_empty(known[name])):
                self.differing.add(name)

    def _add(self, item: str, rater: str | None, labels: Sequence[str]) -> None:
        self.n_empty += not labels
        who = next(self.unnamed_raters) if rater is None else rater  # without a name, a rater of its own
        self.triples += [(item, who, name) for name in labels]

    def _log(self, message: str) -> None:
        if message not in self.messages:
            self.messages.append(message)

    def counted(self, kind: str) -> Annotations:
        """The table."""
        if not self.triples:
            raise TableError("no annotation has a label.")
        pandas = import_pandas()
        triples = pandas.DataFrame(self.triples, columns=["item", "rater", "label"]).drop_duplicates()
        labels = sorted_labels(triples["label"].unique())
        if len(labels) > 1000:  # a column of free texts
            raise TableError(f"there are {len(labels):,} different labels; is that the column of the labels?")
        rated = set(triples["item"])
        items = [item for item in self.fields if item in rated]
        counts = pandas.crosstab(triples["item"], triples["label"]).loc[items, labels].to_numpy()
        several = int(triples.groupby("item")["rater"].nunique().max())
        votes = kind == "votes" or (kind == "auto" and several > 1)
        self._log_counts(len(items), len(triples), several, votes)
        return self._as_table(items, labels, counts if votes else (counts > 0).astype(np.int64), votes)

    def _as_table(self, items: list[str], labels: list[str], values: Any, votes: bool) -> Annotations:
        pandas = import_pandas()
        about = self._about_items([self.fields[item] for item in items])
        id = self.item_name if self.item_name not in about else "item_id"
        if {id, *about} & set(labels):
            mark = MARKS["counts" if votes else "Y"]
            self._log(f"labels are marked by {mark!r}, because there is a column of the same name")
            labels = [mark + name for name in labels]
        columns = {id: items} | about | dict(zip(labels, values.T, strict=True))
        return Annotations(pandas.DataFrame(columns), id, labels, "votes" if votes else "labels", self.messages)

    def _log_counts(self, n_items: int, n_triples: int, several: int, votes: bool) -> None:
        raters = f"up to {several} raters an item" if several > 1 else "one rater an item"
        counted = "the columns count raters" if votes else "the columns are 1 where a rater gave the label, else 0"
        self._log(f"{raters}, so {counted}" if votes == (several > 1) else f"{raters}; {counted}")
        for number, what in (
            (self.n_cancelled, "cancelled annotations"),
            (self.n_empty, "annotations without a label"),
            (len(self.triples) - n_triples, "repeated annotations (same item, rater and label)"),
            (len(self.fields) - n_items, "items without a label"),
        ):
            if number:
                self._log(f"{number:,} {what} are left out")

    def _about_items(self, items: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        """The columns that have one value for each item; other columns are reported."""
        names = list(dict.fromkeys(name for item in items for name in item))
        columns = {name: [item.get(name) for item in items] for name in names}
        columns = {name: values for name, values in columns.items() if not all(map(is_empty, values))}
        lists = [name for name in columns if any(isinstance(value, list | Mapping) for value in columns[name])]
        for left_out, why in (
            ([name for name in columns if name in self.differing], "they differ between the annotations of one item"),
            ([name for name in lists if name not in self.differing], "they hold lists"),
        ):
            if left_out:
                self._log(f"columns left out, because {why}: {format_list(left_out)}")
        return {name: values for name, values in columns.items() if name not in (*self.differing, *lists)}
