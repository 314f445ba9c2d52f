"""Answers of raters, as annotation tools and surveys keep them, made a table with one row an item.

Two shapes are read. *Tasks* hold the answers of all raters inside (Label Studio, and old exports of doccano). *Rows*
hold one answer each (doccano, long tables, Label Studio's short JSON and CSV): an item, maybe a rater, and one label or
several. Both become triples (item, rater, label), which are then counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ldlearn.exceptions import FileError, ParameterError, TableError, format_list, hint
from ldlearn.tables.annotation_labels import (
    about_task,
    answers_of,
    flatten,
    is_nothing,
    is_task,
    names_in,
    names_of,
    questions_of,
    rater_of,
    text_of,
)
from ldlearn.tables.columns import MARKS, quote_columns, sorted_labels
from ldlearn.tables.delimited_dialect import TextStyle
from ldlearn.tables.formats import format_of, naming, open_table
from ldlearn.tables.jsonl import parse_lines, parse_list
from ldlearn.tables.long_format import Roles, find_roles
from ldlearn.tables.source import Input, Kind, Source, reading
from ldlearn.tables.values import import_pandas

KINDS = ("auto", "votes", "labels")
_MOST_LABELS = 1000  # more than that is a column of free texts


@dataclass(frozen=True)
class Annotations:
    """Answers of raters as a table.

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
    notes : list of str
        How the answers were understood, and what was left out.
    """

    table: Any
    id: str
    labels: list[str]
    kind: Literal["votes", "labels"]
    notes: list[str] = field(default_factory=list)

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
    style: TextStyle | None = None,
) -> Annotations:
    """Read the answers of raters: an export of Label Studio or doccano, or a long table of items, raters and labels.

    Parameters
    ----------
    paths : str or sequence of str
        The file, or several of one kind (doccano writes one for each annotator): ``.json`` of Label Studio,
        ``.jsonl`` or ``.json`` of doccano, or any table with one row an answer.
    kind : {"auto", "votes", "labels"}, default="auto"
        ``"votes"`` counts the raters who gave a label, ``"labels"`` is 1 where any did; ``"auto"`` counts if any item
        was rated more than once.
    item, rater, label : str, optional
        The columns of a long table; by default those with usual names. In exports of Label Studio, `label` is the name
        of the question, needed where there are several.
    format : str, optional
        Format of the files if their names do not tell.
    style : TextStyle, optional
        Separator, decimal mark and encoding of a text table, where its first rows do not tell.

    Returns
    -------
    Annotations

    Notes
    -----
    A rater counts once for each item and label. Cancelled answers, and items that nobody gave a label, are left out.

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
    tally = _Tally()
    columns = {"item": item, "rater": rater, "label": label}
    for path in files:
        with naming(path):
            if format_of(path, format) in ("json", "jsonl"):
                tally.add_objects(_read_objects(path, format), columns, alone=len(files) == 1)
                continue
            with open_table(path, format, style=style) as source:
                roles = find_roles(source.names, columns, alone=len(files) == 1)
                tally.add_rows(_read_rows(source, roles), roles)
    with naming(files[0]):
        return tally.counted(kind)


def _check_distinct_files(paths: Sequence[str]) -> None:
    """Refuse a file that is named twice, under whatever name or link: its raters would count twice."""
    for first, second in combinations(paths, 2):
        if first == second or (Path(first).exists() and Path(second).exists() and Path(first).samefile(second)):
            raise FileError(f"{second}: it is the same file as {first}; name it once, or its answers count twice.")


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


def _read_rows(source: Source, roles: Roles) -> Iterator[dict[str, Any]]:
    # As the texts they are: the item 007 stays 007.
    texts = roles.named.values()
    kinds: dict[str, Kind] = {name: "text" if name in texts else "any" for name in source.names}
    table = source.read(kinds)
    return (dict(zip(kinds, row, strict=True)) for row in table.itertuples(index=False, name=None))


class _Tally:
    """Collects triples (item, rater, label) and what is known of the items."""

    def __init__(self) -> None:
        self.item_name = "id"
        self.fields: dict[str, dict[str, Any]] = {}  # by item, in the order of the files
        self.answers: list[tuple[str, object, str]] = []
        self.differing: set[str] = set()
        self.notes: list[str] = []
        self.cancelled = self.empty = 0
        self.nobody = count()

    def add_objects(self, objects: list[dict[str, Any]], columns: Mapping[str, str | None], alone: bool) -> None:
        """Add the objects of a JSON file: tasks, or rows; ``columns`` says which are what, as far as the user does."""
        if is_task(objects[0]):
            self.add_tasks(objects, columns["label"])
            return
        names = list(dict.fromkeys(name for row in objects for name in row))
        self.add_rows(objects, find_roles(names, columns, alone))

    def add_rows(self, rows: Iterable[Mapping[str, Any]], roles: Roles) -> None:
        """Add rows of one answer each."""
        self._note(roles.described)
        self.item_name = roles.item or self.item_name
        for number, row in enumerate(rows, start=1):
            key = text_of(row.get(roles.item)) if roles.item else str(number)
            if key is None:
                raise TableError("the item is missing; every answer needs one.", row=number, column=roles.item)
            rater = text_of(row.get(roles.rater)) if roles.rater else None
            self._know(key, flatten({name: row[name] for name in roles.about_the_item if name in row}))
            self._answer(key, rater, names_in(row.get(roles.label), number, roles.label))

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]], question: str | None = None) -> None:
        """Add tasks with all their answers."""
        answers = [answer for task in tasks for answer in answers_of(task)]
        asked = list(dict.fromkeys(name for answer in answers for name in questions_of(answer)))
        if question is None and len(asked) > 1:
            raise TableError(f"there are several questions; say with label which one is meant: {format_list(asked)}.")
        if question is not None and question not in asked:
            raise TableError(f"there is no question {question!r}; {hint(question, asked, 'the questions are')}")
        meant = question or "".join(asked)
        self._note(f"tasks of an annotation tool{f', question {meant!r}' if meant else ''}")
        for number, task in enumerate(tasks, start=1):
            key = text_of(task.get("id")) or str(number)
            self._know(key, about_task(task))
            for answer in answers_of(task):
                if answer.get("was_cancelled") or answer.get("skipped"):
                    self.cancelled += 1
                else:
                    self._answer(key, rater_of(answer), names_of(answer, question, number))

    def _know(self, item: str, about: Mapping[str, Any]) -> None:
        known = self.fields.setdefault(item, {})
        for name, value in about.items():
            # NaN differs from itself, which is no difference between answers.
            if known.setdefault(name, value) != value and not (is_nothing(value) and is_nothing(known[name])):
                self.differing.add(name)

    def _answer(self, item: str, rater: str | None, labels: Sequence[str]) -> None:
        self.empty += not labels
        who = next(self.nobody) if rater is None else rater  # without a name, a rater of its own
        # A rater who named nothing is none of the raters of the item.
        self.answers += [(item, who, name) for name in labels]

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def counted(self, kind: str) -> Annotations:
        """The table."""
        if not self.answers:
            raise TableError("nobody gave a label.")
        pandas = import_pandas()
        answers = pandas.DataFrame(self.answers, columns=["item", "rater", "label"]).drop_duplicates()
        labels = sorted_labels(answers["label"].unique())
        if len(labels) > _MOST_LABELS:
            raise TableError(f"there are {len(labels):,} different labels; is that the column of the labels?")
        rated = set(answers["item"])
        items = [item for item in self.fields if item in rated]
        counts = pandas.crosstab(answers["item"], answers["label"]).loc[items, labels].to_numpy()
        several = int(answers.groupby("item")["rater"].nunique().max())
        votes = kind == "votes" or (kind == "auto" and several > 1)
        self._note_what_was_done(len(items), len(answers), several, votes)
        return self._as_table(items, labels, counts if votes else (counts > 0).astype(np.int64), votes)

    def _as_table(self, items: list[str], labels: list[str], values: Any, votes: bool) -> Annotations:
        pandas = import_pandas()
        about = self._about_items([self.fields[item] for item in items])
        id = self.item_name if self.item_name not in about else "item_id"
        if {id, *about} & set(labels):
            mark = MARKS["counts" if votes else "Y"]
            self._note(f"labels are marked by {mark!r}, because there is a column of the same name")
            labels = [mark + name for name in labels]
        columns = {id: items} | about | dict(zip(labels, values.T, strict=True))
        return Annotations(pandas.DataFrame(columns), id, labels, "votes" if votes else "labels", self.notes)

    def _note_what_was_done(self, n_items: int, n_answers: int, several: int, votes: bool) -> None:
        raters = f"up to {several} raters an item" if several > 1 else "one rater an item"
        counted = "the columns count raters" if votes else "the columns are 1 where a rater gave the label, else 0"
        self._note(f"{raters}, so {counted}" if votes == (several > 1) else f"{raters}; {counted}")
        for number, what in (
            (self.cancelled, "cancelled answers"),
            (self.empty, "answers that name no label"),
            (len(self.answers) - n_answers, "repeated answers (same item, rater and label)"),
            (len(self.fields) - n_items, "items that nobody gave a label"),
        ):
            if number:
                self._note(f"{number:,} {what} are left out")

    def _about_items(self, items: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
        """The columns that have one value for each item; what else there was is noted."""
        names = list(dict.fromkeys(name for item in items for name in item))
        columns = {name: [item.get(name) for item in items] for name in names}
        columns = {name: values for name, values in columns.items() if not all(map(is_nothing, values))}
        lists = [name for name in columns if any(isinstance(value, list | Mapping) for value in columns[name])]
        for left_out, why in (
            ([name for name in columns if name in self.differing], "they differ between the answers to one item"),
            ([name for name in lists if name not in self.differing], "they hold lists"),
        ):
            if left_out:
                self._note(f"columns left out, because {why}: {format_list(left_out)}")
        return {name: values for name, values in columns.items() if name not in (*self.differing, *lists)}
