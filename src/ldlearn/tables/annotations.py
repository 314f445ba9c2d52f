"""Annotations of several raters as a table with one row an item.

Tasks of annotation tools and long tables (`ldlearn.tables.annotation_formats`) become triples
(item, rater, label), which are counted.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any

import numpy as np

from ldlearn._messages import check_choice, format_list, suggest_name
from ldlearn.core.agreement import Alpha, RaterVotes, krippendorff_alpha
from ldlearn.core.raters import compare_raters
from ldlearn.core.simplex import Indices
from ldlearn.exceptions import FileError, TableError
from ldlearn.tables.annotation_formats import (
    Annotation,
    LongFormat,
    find_long_format,
    is_annotation_task,
    is_empty,
    parse_tasks,
    to_annotation_task,
)
from ldlearn.tables.columns import MARKS, quote_columns, sorted_labels
from ldlearn.tables.files import Budget, OpenInput, ReadingOptions, TableInput, prefix_errors
from ldlearn.tables.formats import format_of, open_table
from ldlearn.tables.json_tables import parse_lines, parse_list
from ldlearn.tables.values import import_pandas

_ANNOTATION_KINDS = ("auto", "votes", "labels")
_ANNOTATION_BYTES = 200  # Python objects
_CHANCE = "chance"
_TASKS_TITLE = "tasks of an annotation tool"


@dataclass(frozen=True, eq=False)
class Annotations:
    """Annotations as a table, and who gave them.

    Attributes
    ----------
    table : DataFrame
        One row an item: its id, what is known of it (its text, its features), and one column a
        label.
    id : str
        The column that names the items.
    labels : list of str
        The columns of the labels, which stand last.
    kind : {"votes", "labels"}
        Whether they hold numbers of raters, or 0/1.
    votes : RaterVotes
        The ``item``, the ``rater`` and the ``label`` of each vote, as positions in ``items``,
        ``rater_names`` and ``labels``. Raters without a name have positions after the names; a
        label -1 is an annotation that states that no label applies.
    items : list of str
        All that were annotated; in the table are those with a label.
    rater_names : list of str
    messages : list of str
        How the annotations were interpreted, and what was left out.
    """

    table: Any
    id: str
    labels: list[str]
    kind: str
    votes: RaterVotes
    items: list[str]
    rater_names: list[str]
    messages: list[str]

    @property
    def labels_option(self) -> str:
        """The label columns as ``--labels`` takes them."""
        names = list(self.table.columns)
        first = len(names) - len(self.labels)
        return quote_columns(names, range(first, len(names)))

    @cached_property
    def alpha(self) -> Alpha:
        """Krippendorff's alpha, overall and for each label, with intervals; NaN where undefined.

        Overall, the distance of two annotations is the number of labels in one of them only.
        """
        return krippendorff_alpha(self.votes)

    @cached_property
    def raters(self) -> Any:
        """A data frame with one row a rater; empty if fewer than two.

        The raters of whom least agreement is likely, by the end of the interval, come first.
        The columns are ``rater``; ``annotations``, those of items with other raters;
        ``agreement``, the mean probability of the rater's labels given the votes of the others;
        ``chance``, the same for labels that do not depend on the item; ``low`` and ``high``, a 95 %
        interval of the agreement; and ``verdict``: "above chance", "at chance", "below chance", or
        "undetermined" where there are too few annotations, or too little agreement among the
        others, to tell. `ldlearn.core.compare_raters` explains them.
        """
        n_names = len(self.rater_names)
        found = compare_raters(self.votes)
        listed = found.no_better_than_chance
        verdicts = {
            "above chance": found.above_chance,
            "below chance": listed & (found.high < found.chance),
            "at chance": listed,
        }
        verdict = np.select(list(verdicts.values()), list(verdicts), "undetermined")
        columns = {
            "annotations": found.annotations,
            "agreement": found.agreement,
            "chance": found.chance,
            "low": found.low,
            "high": found.high,
            "verdict": verdict.astype(object),
        }
        frame = import_pandas().DataFrame(columns).iloc[:n_names]
        frame.insert(0, "rater", self.rater_names)
        order = np.argsort(frame["high"] - frame["chance"], kind="stable")
        return frame.iloc[order if n_names > 1 else []].reset_index(drop=True)

    @property
    def raters_at_chance(self) -> list[str]:
        """The raters who agree with the others no better than chance."""
        verdicts = self.raters["verdict"]
        return self.raters["rater"][verdicts.isin(["at chance", "below chance"])].tolist()

    def describe_agreement(self) -> list[str]:
        """Sentences on the agreement of the raters; none if nothing can be compared."""
        sentences = []
        alpha = self.alpha
        if not np.isnan(alpha.overall):
            sentence = f"Krippendorff's alpha {alpha.overall:z.3f}"
            if not np.isnan(alpha.low):
                sentence += f", 95 % interval {alpha.low:z.3f} to {alpha.high:z.3f}"
            sentences.append(f"{sentence}.")
        verdicts = self.raters["verdict"]
        of_all = f"of {len(verdicts):,} raters"
        if not self.raters["annotations"].any():
            return sentences
        listed = self.raters_at_chance
        finding = f"none {of_all} is found"
        if listed:
            finding = f"{len(listed):,} {of_all}: {format_list(listed)}"
        sentences.append(f"Agreement with the other raters no better than chance: {finding}.")
        undetermined = (verdicts == "undetermined").sum()
        if undetermined:
            reason = "too few annotations, or too little agreement among the others, to tell"
            sentences.append(f"Undetermined: {undetermined:,} {of_all} ({reason}).")
        return sentences


def read_annotations(
    paths: str | Sequence[str],
    kind: str = "auto",
    *,
    item: str | None = None,
    rater: str | None = None,
    label: str | None = None,
    exclude_raters: str | Sequence[str] | None = None,
    reading: ReadingOptions = ReadingOptions(),
) -> Annotations:
    """Read annotations: an export of a tool, or a long table of items, raters and labels.

    Parameters
    ----------
    paths : str or sequence of str
        The file, or several of one kind (doccano writes one for each annotator): ``.json`` of Label
        Studio or Argilla (``records.to_json``), ``.jsonl`` of doccano or Prodigy (``db-out``), or
        any table with one annotation a row.
    kind : {"auto", "votes", "labels"}, default="auto"
        ``"votes"`` counts the raters who gave a label, ``"labels"`` is 1 where any did; ``"auto"``
        counts if any item was rated more than once.
    item, rater, label : str, optional
        The columns of a long table; by default those with usual names. If `label` names several
        columns (``"a,b,c"``, ``"emo_*"``), each is 1 where the rater gave the label, 0 or empty
        elsewhere. In exports of Label Studio and Argilla, `label` is the name of the question,
        needed where there are several.
    exclude_raters : str or sequence of str, optional
        Raters whose annotations are left out: names (a text is split at commas), or ``"chance"``
        for those who agree with the others no better than chance.
    reading : ReadingOptions, optional
        How the files are read.

    Returns
    -------
    Annotations

    Notes
    -----
    A rater counts once for each item and label. Cancelled annotations and items without a label are
    left out.

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
    >>> round(found.alpha.overall, 2)
    0.0
    >>> found.raters[["rater", "annotations", "verdict"]]
      rater  annotations       verdict
    0     1            1  undetermined
    1     2            1  undetermined
    >>> folder.cleanup()
    """
    check_choice("kind", kind, _ANNOTATION_KINDS)
    files = [paths] if isinstance(paths, str) else list(paths)
    resolved = [Path(path).resolve() for path in files]
    for position, path in enumerate(files):
        if resolved[position] in resolved[:position]:
            advice = "name it once, or its annotations count twice."
            raise FileError(f"{path}: it is the same file as another; {advice}")
    given = {"item": item, "rater": rater, "label": label}
    annotations = []
    titles: dict[str, None] = {}  # in order
    labels = []
    id = "id"
    budget = Budget()
    for path in files:
        input = TableInput(path, reading, list_column=label)
        with prefix_errors(path):
            found, columns = _read_annotation_file(input, given, len(files) == 1, budget)
        annotations.extend(found)
        title = _TASKS_TITLE
        if columns is not None:
            title = columns.describe()
            labels.extend(columns.label_names)
            id = columns.roles.get("item", "id")
        titles[title] = None
    messages = list(titles)
    with prefix_errors(files[0]):
        if exclude_raters is not None:
            annotations = _leave_out_raters(annotations, exclude_raters, messages)
        return _count_raters(annotations, kind, id, messages, budget, labels)


def count_annotations(tasks: Sequence[Mapping[str, Any]], budget: Budget) -> Annotations:
    """Count the annotations in tasks of an annotation tool, as `read_annotations` does."""
    return _count_raters(parse_tasks(tasks), "auto", "id", [_TASKS_TITLE], budget)


def _read_annotation_file(
    input: TableInput,
    given: Mapping[str, str | None],
    single_file: bool,
    budget: Budget,
) -> tuple[list[Annotation], LongFormat | None]:
    """The annotations of a file, and the columns of a long table."""
    rows: dict[int, Mapping[Any, Any]]
    format = format_of(input.table, input.reading.format)
    if format in ("json", "jsonl"):
        opened = OpenInput(input, "JSON")
        parse = parse_list if format == "json" else parse_lines
        with opened.stack, opened.convert_errors():
            objects = list(map(to_annotation_task, parse(opened)))
        budget.size += opened.budget.size
        if not any(objects):
            raise TableError("the file is empty, or all of its objects are.")
        if is_annotation_task(objects[0]):
            return parse_tasks(objects, given["label"]), None
        names = list(dict.fromkeys(chain.from_iterable(objects)))
        opened.budget.check_table(len(objects), len(names))
        opened.budget.check(_ANNOTATION_BYTES * len(objects))
        columns = find_long_format(names, given, single_file)
        rows = dict(enumerate(objects, start=1))
    else:
        with open_table(input) as source:
            columns = find_long_format(source.names, given, single_file)
            # As texts: the item 007 stays 007.
            texts = (*columns.roles.values(), *columns.labels)
            kinds = dict.fromkeys(source.names, "any")
            kinds |= dict.fromkeys(texts, "text")
            rows = {}
            for table in source.chunks(kinds):
                rows |= table.to_dict("index")
                source.budget.check(_ANNOTATION_BYTES * len(rows))
        budget.size += source.budget.size
    return columns.parse_rows(rows), columns


def _leave_out_raters(
    annotations: Sequence[Annotation],
    exclude: str | Sequence[str],
    messages: list[str],
) -> list[Annotation]:
    """The annotations of the other raters."""
    votes, _, names, _ = _find_votes(annotations, ())
    if exclude == _CHANCE:
        found = compare_raters(votes.distinct()).no_better_than_chance[: len(names)]
        left_out = list(compress(names, found))
    else:
        parts = next(csv.reader([exclude]), []) if isinstance(exclude, str) else exclude
        left_out = list(map(str.strip, parts))
        for name in left_out:
            if name not in names:
                advice = "no annotation names its rater."
                if names:
                    advice = suggest_name(name, names, "the raters are")
                raise TableError(f"exclude_raters: there is no rater {name!r}; {advice}")
    if not left_out:
        messages.append("no rater is left out")
        return list(annotations)
    excluded = set(left_out)
    kept = [annotation for annotation in annotations if annotation.rater not in excluded]
    number = len(annotations) - len(kept)
    if not kept:
        raise TableError("exclude_raters names every rater, so that no annotation is left.")
    messages.append(f"left out: {number:,} annotations of the raters {format_list(left_out)}")
    return kept


def _find_votes(
    annotations: Sequence[Annotation],
    known: Sequence[str],
) -> tuple[RaterVotes, list[str], list[str], list[str]]:
    """The votes, and the names of items, raters and labels; ``known`` labels come first."""
    pandas = import_pandas()
    given: list[Sequence[str | None]] = []
    for annotation in annotations:
        labels = annotation.labels
        given.append(() if labels is None else labels or (None,))
    times = np.fromiter(map(len, given), dtype=np.intp)
    # Missing names get the number -1.
    item, items = _number_names([annotation.item for annotation in annotations])
    rater, raters = _number_names([annotation.rater for annotation in annotations])
    label, used = _number_names(chain.from_iterable(given))
    labels = list(dict.fromkeys([*known, *sorted_labels(used)]))
    if len(labels) > 1000:  # a column of free texts
        problem = f"there are {len(labels):,} different labels"
        raise TableError(f"{problem}; is that the column of the labels?")
    positions = pandas.Index(labels).get_indexer(used)
    label = np.where(label < 0, -1, np.append(positions, -1)[label])
    # Without a name, a rater of its own.
    unnamed = rater < 0
    rater[unnamed] = len(raters) + np.arange(unnamed.sum())
    sizes = (len(items), len(raters) + int(unnamed.sum()), len(labels))
    votes = RaterVotes(np.repeat(item, times), np.repeat(rater, times), label, *sizes)
    return votes, items, raters, labels


def _number_names(names: Iterable[str | None]) -> tuple[Indices, list[str]]:
    """The names as numbers, -1 for None, and the distinct names."""
    numbers, distinct = import_pandas().factorize(np.array([*names, None], dtype=object))
    return numbers[:-1], distinct.tolist()


def _count_raters(
    annotations: Sequence[Annotation],
    kind: str,
    id: str,
    messages: list[str],
    budget: Budget,
    known: Sequence[str] = (),
) -> Annotations:
    """The table of the numbers of raters, or of 0/1 labels; ``known`` labels come first."""
    pandas = import_pandas()
    all_votes, items, raters, labels = _find_votes(annotations, known)
    n_given = np.count_nonzero(all_votes.label >= 0)
    if not n_given:
        raise TableError("no annotation has a label.")
    votes = all_votes.distinct()
    features, unusable = _features_by_item(annotations)
    names = set().union(*features.values())
    budget.check_table(len(features), len(names) + len(labels))
    counts = votes.counts.toarray().astype(np.int64)
    labelled = counts.any(axis=1)
    counts = counts[labelled]
    item, _, _ = votes.take(votes.label >= 0).annotations
    n_raters = np.bincount(item).max()
    if kind == "auto":
        kind = "votes" if n_raters > 1 else "labels"
    counted = "the columns are 1 where a rater gave the label, else 0"
    if kind == "votes":
        counted = "the columns count raters"
    messages.append(f"largest number of raters per item: {n_raters}; {counted}")
    left_out = {
        "annotations without a label": sum(not annotation.labels for annotation in annotations),
        "repeated annotations (same item, rater and label)": n_given - counts.sum(),
        "items without a label": len(items) - len(counts),
    }
    for what, number in left_out.items():
        if number:
            messages.append(f"{number:,} {what} are left out")
    if unusable:
        reason = "they hold lists or differ between the annotations of one item"
        messages.append(f"columns left out, because {reason}: {format_list(unusable)}")
    item_names = list(compress(items, labelled))
    table = pandas.DataFrame([features[name] for name in item_names])
    table = table.drop(columns=unusable, errors="ignore")
    if id in table:
        id = "item_id"
    if not {id, *table}.isdisjoint(labels):
        mark = MARKS["counts" if kind == "votes" else "Y"]
        labels = [mark + name for name in labels]
    table.insert(0, id, item_names)
    if kind == "labels":
        counts = np.minimum(counts, 1)
    table = pandas.concat([table, pandas.DataFrame(counts, columns=labels)], axis=1)
    return Annotations(table, id, labels, kind, votes, items, raters, messages)


def _features_by_item(
    annotations: Sequence[Annotation],
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The features of each item, and those that are not one value for each item."""
    features: dict[str, dict[str, Any]] = {}
    unusable: dict[str, None] = {}  # in order
    for annotation in annotations:
        known = features.setdefault(annotation.item, {})
        for name, value in annotation.features.items():
            # NaN differs from itself, which is no difference between annotations.
            differs = known.setdefault(name, value) != value
            both_empty = is_empty(value) and is_empty(known[name])
            if isinstance(value, list) or (differs and not both_empty):
                unusable[name] = None
    return features, list(unusable)
