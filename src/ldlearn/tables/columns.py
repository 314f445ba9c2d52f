"""Choosing columns: the one grammar of ``labels=``, ``features=``, ``--labels`` and ``--features``.

============  ======================================================================================
``age``       the column of this name, and no other
``emo_*``     every column whose name begins so
``x1:x20``    from one column to another in the order of the file, both included; an end may be left
              out, or be a position counted from 0, as the names of nameless columns are
``a,emo_*``   several of these; a name that holds a comma is put in double quotes
3, -1         from Python: a position counted from 0, or from the end
slice(2, 5)   from Python: positions, as in a list
a list        several of all these
============  ======================================================================================
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ldlearn._messages import format_list, nearest_names, suggest_name
from ldlearn.exceptions import TableError
from ldlearn.tables.options import ColumnOptions, Columns

if TYPE_CHECKING:
    from ldlearn.tables.source import Source

# Marks before names in headings, where plain names would not do: two label matrices, or a
# name that occurs twice.
LABEL_MARKS = {"D": "D:", "Y": "Y:", "counts": "votes:"}
MARKS = {"X": "X:", **LABEL_MARKS}


def find_columns(names: Sequence[str], choice: Columns, option: str = "labels") -> list[int]:
    """Positions of the chosen columns, in the order chosen, each at most once.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    choice : str, int, slice or list of these
        See the table above.
    option : str
        What the choice was given to, for messages.

    Examples
    --------
    >>> find_columns(["id", "x1", "x2", "x3", "emb_a", "emb_b"], "emb_*,x1:x2")
    [4, 5, 1, 2]
    >>> find_columns(["age", "joy", "joyful"], ["joy", -3])
    [1, 0]
    """
    found = []
    for part in _split_choice(names, choice):
        found += _find_chosen_columns(names, part, option)
    if not found:
        raise TableError(f"{option} names no column; the columns are {format_list(names)}.")
    position, count = Counter(found).most_common(1)[0]
    if count > 1:
        raise TableError(f"{option} names the column {names[position]!r} twice.")
    return found


def quote_columns(names: Sequence[str], positions: Sequence[int]) -> str:
    """Neighbouring columns as `find_columns` takes them.

    Examples
    --------
    >>> quote_columns(["id", "joy", "fear"], [1, 2])
    'joy:fear'
    >>> quote_columns(["id", "joy, calm", "fear"], [1, 2])
    '"joy, calm","fear"'
    """
    choice = f"{names[positions[0]]}:{names[positions[-1]]}"
    with suppress(TableError):
        if find_columns(names, choice) == list(positions):  # else a name is read as something else
            return choice
    quoted = ",".join('"' + names[i].replace('"', '""') + '"' for i in positions)
    # A name may hold the quotes themselves.
    return quoted + "," * (quoted in names)


class ColumnType(StrEnum):
    """What a feature column is taken for; `ldlearn.tables.features` says what is done with each."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATETIME = "datetime"
    TEXT = "text"


@dataclass(frozen=True)
class TableColumns:
    """Columns by name.

    Attributes
    ----------
    labels, features : list of str
    types : dict of str to str
        The `ColumnType` of features of which the user gives it.
    formats : dict of str to str
        The formats of datetimes, of which the user gives them.
    id : str or None
    groups : str or None
        The column that names the groups of rows that belong together.
    kept : list of str
        Columns to be written beside the degrees; these may be features too.
    """

    labels: list[str]
    features: list[str]
    types: dict[str, str]
    formats: dict[str, str]
    id: str | None
    groups: str | None = None
    kept: list[str] = field(default_factory=list)


def choose_columns(source: Source, labels: Columns, options: ColumnOptions) -> TableColumns:
    """Find the columns that are wanted: by name, prefix, range or position."""
    found = defaultdict(list, labels=source.find(labels, "labels"))
    for role in ("features", "ignore", "id", "groups", *ColumnType):
        choice = getattr(options, role)
        if isinstance(choice, Mapping):
            choice = list(choice)
        # A list of columns of a type may turn out empty.
        if choice is not None and (np.size(choice) or role in ("features", "id", "groups")):
            found[role] = source.find(choice, role)
    names = source.names  # after `find`, which may have joined a file of labels
    for role in ("id", "groups"):
        if len(found[role]) > 1:
            several = format_list([names[i] for i in found[role]])
            raise TableError(f"{role} must be one column, not {several}.")
    if not found["features"]:
        others = {*found["labels"], *found["id"], *found["groups"]}
        found["features"] = source.default_features(others)
    for disjoint in (
        ("labels", "id", "features"),
        ("labels", "groups", "features"),
        ("labels", "ignore"),
        tuple(ColumnType),
    ):
        seen: dict[int, str] = {}
        for option in disjoint:
            for i in found[option]:
                if i in seen:
                    raise TableError(
                        f"{seen[i]} and {option} both name {names[i]!r}; leave it out of one."
                    )
                seen[i] = option
    ignored = set(found["ignore"])
    features = [i for i in found["features"] if i not in ignored]
    if not features:
        raise TableError("no column is left for the features.")
    known = set(features)
    types: dict[str, str] = {}
    for role in ColumnType:
        for i in found[role]:
            if i not in known:
                raise TableError(f"{role} names {names[i]!r}, which is no feature.")
            types[names[i]] = role
    formats = {}
    if isinstance(options.datetime, Mapping):
        for choice, form in options.datetime.items():
            # A prefix may name several columns of one format.
            for i in source.find(choice, "datetime"):
                formats[names[i]] = form
    return TableColumns(
        labels=[names[i] for i in found["labels"]],
        features=[names[i] for i in features],
        types=types,
        formats=formats,
        id=next((names[i] for i in found["id"]), None),
        groups=next((names[i] for i in found["groups"]), None),
    )


def find_columns_to_keep(
    source: Source, keep: Columns | None, id: str | None, labels: Sequence[str]
) -> list[str]:
    """The columns that are written beside the degrees, the id aside; their names must be free."""
    kept = []
    for i in () if keep is None else source.find(keep, "keep"):
        name = source.names[i]
        if name in labels:
            raise TableError(
                f"keep names the label {name!r}, and its degrees are written under that name."
            )
        if name != id:
            kept.append(name)
    return kept


def check_distinct(names: Sequence[str]) -> None:
    """Refuse a table with two columns of one name."""
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise TableError("two columns have this name; rename one.", column=name)


def check_columns(present: Sequence[str], needed: Sequence[str], kind: str) -> None:
    """Refuse a table that lacks columns the model was fitted on."""
    known = set(present)
    missing = [name for name in needed if name not in known]
    if not missing:
        return
    are = "columns are" if len(missing) > 1 else "column is"
    problem = f"{len(missing)} {kind} {are} missing: {format_list(missing)}"
    for near in nearest_names(missing[0], known.difference(needed), n=1):
        problem += f"; is {near!r} the column {missing[0]!r}? Then rename it"
    if kind == "label" and len(missing) == len(needed):
        problem += " (`ldlearn import` makes them of a table with one annotation per row)"
    raise TableError(f"{problem}.")


def _split_choice(names: Sequence[str], choice: Any) -> list[Any]:
    if choice is None:
        return []
    # A column whose name holds commas is meant by that name.
    if isinstance(choice, str) and choice not in names:
        parts = next(csv.reader([choice], skipinitialspace=True), [])
        return list(filter(None, map(str.strip, parts)))
    if isinstance(choice, str | int | np.integer | slice):
        return [choice]
    return list(choice)


def _find_chosen_columns(names: Sequence[str], part: Any, option: str) -> list[int]:
    if isinstance(part, slice):
        return list(range(len(names)))[part]
    # True is an int to Python, but not meant as column 1.
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        if not -len(names) <= part < len(names):
            raise TableError(
                f"{option}: there is no column {part}; there are {len(names)} columns."
            )
        return [int(part) % len(names)]
    if not isinstance(part, str):
        raise TableError(
            f"{option}: columns are chosen by name, prefix, range or position, got {part!r}."
        )
    # First of all: a name may end in * or hold a colon.
    exact = [i for i, name in enumerate(names) if name == part]
    if len(exact) > 1:
        raise TableError(f"{option}: {len(exact)} columns are named {part!r}; choose by position.")
    if exact:
        return exact
    if part.endswith("*"):
        if found := [i for i, name in enumerate(names) if name.startswith(part[:-1])]:
            return found
        raise TableError(
            f"{option}: no column begins with {part[:-1]!r}; the columns are {format_list(names)}."
        )
    if ":" in part:
        first, _, last = part.partition(":")
        start = _find_range_end(names, first, 0, option)
        stop = _find_range_end(names, last, len(names) - 1, option)
        if start > stop:
            raise TableError(
                f"{option}: in the range {part!r} the first column comes after the last."
            )
        return list(range(start, stop + 1))
    raise _missing_column_error(names, part, option)


def _find_range_end(names: Sequence[str], end: str, default: int, option: str) -> int:
    if not (end := end.strip()):
        return default
    # Before positions: a column may be called 3.
    if end in names:
        return list(names).index(end)
    if end.isascii() and end.isdigit() and int(end) < len(names):
        return int(end)
    raise _missing_column_error(names, end, option)


def _missing_column_error(names: Sequence[str], part: str, option: str) -> TableError:
    advice = suggest_name(part, names, "the columns are")
    # The usual cause of a table with one column is a separator that was not found.
    if len(names) == 1:
        advice = f"the only one is {format_list(names)}; "
        advice += "of a text table --delimiter sets what separates columns."
    return TableError(f"{option}: there is no column {part!r}; {advice}")


def find_marked_labels(names: Sequence[str]) -> dict[str, list[int]]:
    """Positions of the columns that are marked as labels, by what they hold."""
    found = {}
    for kind, mark in LABEL_MARKS.items():
        if positions := [i for i, name in enumerate(names) if name.startswith(mark)]:
            found[kind] = positions
    return found


def strip_mark(name: str, field: str) -> str:
    """A heading without its mark; ``field`` is "X" for features."""
    return name.removeprefix(MARKS.get(field, ""))


def mark_if_ambiguous(name: str, field: str) -> str:
    """A heading of which `strip_mark` makes ``name``, though it begins as if it had a mark."""
    mark = MARKS.get(field, "")
    return mark + name if name.startswith(mark) else name


def sorted_labels(names: Iterable[str]) -> list[str]:
    """In alphabetical order, or by size where all are numbers.

    Examples
    --------
    >>> sorted_labels(["9", "10", "1"]), sorted_labels(["sky", "hill"])
    (['1', '9', '10'], ['hill', 'sky'])
    """
    found = list(names)
    return sorted(found, key=float if all(map(is_number, found)) else None)


def is_number(text: str) -> bool:
    """Whether a text reads as a number."""
    with suppress(ValueError):
        float(text)
        return True
    return False
