"""Annotations of several raters as a table with one row an item.

Tasks of annotation tools and long tables (`ldlearn.tables.annotation_formats`) become triples
(item, rater, label), which are counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ldlearn._messages import check_choice, format_list
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
_TASKS_TITLE = "tasks of an annotation tool"


@dataclass(frozen=True)
class Annotations:
    """Annotations as a table.

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
    messages : list of str
        How the annotations were interpreted, and what was left out.
    """

    table: Any
    id: str
    labels: list[str]
    kind: str
    messages: list[str] = field(default_factory=list)

    @property
    def labels_option(self) -> str:
        """The label columns as ``--labels`` takes them."""
        names = list(self.table.columns)
        first = len(names) - len(self.labels)
        return quote_columns(names, range(first, len(names)))


def read_annotations(
    paths: str | Sequence[str],
    kind: str = "auto",
    *,
    item: str | None = None,
    rater: str | None = None,
    label: str | None = None,
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
    with prefix_errors(files[0]):
        return _count_raters(annotations, kind, id, list(titles), budget, labels)


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
    found: list[tuple[str, str | int, str]] = []
    unlabelled = 0
    for k, annotation in enumerate(annotations):
        unlabelled += not annotation.labels
        # Without a name, a rater of its own.
        rater = k if annotation.rater is None else annotation.rater
        found += [(annotation.item, rater, label) for label in annotation.labels]
    if not found:
        raise TableError("no annotation has a label.")
    triples = pandas.DataFrame(found, columns=["item", "rater", "label"]).drop_duplicates()
    used = sorted_labels(triples["label"].unique())
    labels = list(dict.fromkeys([*known, *used]))
    if len(labels) > 1000:  # a column of free texts
        problem = f"there are {len(labels):,} different labels"
        raise TableError(f"{problem}; is that the column of the labels?")
    features, unusable = _features_by_item(annotations)
    names = set().union(*features.values())
    budget.check_table(len(features), len(names) + len(labels))
    counts = pandas.crosstab(triples["item"], triples["label"])
    counts = counts.reindex(columns=labels, fill_value=0)
    counts = counts.loc[[item for item in features if item in counts.index]]
    n_raters = triples.groupby("item")["rater"].nunique().max()
    if kind == "auto":
        kind = "votes" if n_raters > 1 else "labels"
    counted = "the columns are 1 where a rater gave the label, else 0"
    if kind == "votes":
        counted = "the columns count raters"
    messages.append(f"up to {n_raters} raters an item; {counted}")
    left_out = {
        "annotations without a label": unlabelled,
        "repeated annotations (same item, rater and label)": len(found) - len(triples),
        "items without a label": len(features) - len(counts),
    }
    for what, number in left_out.items():
        if number:
            messages.append(f"{number:,} {what} are left out")
    if unusable:
        reason = "they hold lists or differ between the annotations of one item"
        messages.append(f"columns left out, because {reason}: {format_list(unusable)}")
    table = pandas.DataFrame([features[item] for item in counts.index])
    table = table.drop(columns=unusable, errors="ignore")
    if id in table:
        id = "item_id"
    if not {id, *table}.isdisjoint(labels):
        mark = MARKS["counts" if kind == "votes" else "Y"]
        labels = [mark + name for name in labels]
    table.insert(0, id, counts.index)
    if kind == "labels":
        counts = counts.clip(upper=1)
    table[labels] = counts.to_numpy()
    return Annotations(table, id, labels, kind, messages)


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
