"""Which columns of a long table, one answer a row, say what was rated, by whom, and with which label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from ldlearn.exceptions import TableError, bare_name, format_list
from ldlearn.tables.annotation_labels import ABOUT_THE_ANSWER
from ldlearn.tables.columns import find_columns

_COMES_BACK = 1.5  # rows for each item, from which on rows are answers

# What the columns of an answer are usually called, likeliest first; compared without case, spaces and underscores.
_ITEM = ("item", "itemid", "task", "taskid", "docid", "documentid", "unit", "unitid", "exampleid", "id")
_PEOPLE = ("rater", "annotator", "worker", "coder", "judge", "user", "participant", "respondent")
_RATER = (*_PEOPLE, *(name + "id" for name in _PEOPLE), "username", "completedby")
_LABEL = (
    "label", "labels", "cats", "category", "categories", "answer", "choice", "class", "rating", "vote", "entities",
)  # fmt: skip


@dataclass(frozen=True)
class Roles:
    """Which columns of a long table are what."""

    item: str | None
    rater: str | None
    label: str
    about_the_item: list[str]

    @property
    def named(self) -> dict[str, str]:
        """The columns that there are, by role."""
        roles = {"item": self.item, "rater": self.rater, "label": self.label}
        return {role: name for role, name in roles.items() if name is not None}

    @property
    def described(self) -> str:
        """What was found, to be said aloud."""
        said = ", ".join(f"{role} {name!r}" for role, name in self.named.items())
        return f"one answer a row: {said}" + ("" if self.item else "; each row is an item of its own")


def find_roles(names: Sequence[str], given: Mapping[str, str | None], alone: bool) -> Roles:
    """Which columns are what: as the user says, or by their names."""
    taken = {role: names[find_columns(names, name, role)[0]] for role, name in given.items() if name is not None}
    for role, spellings in {"item": _ITEM, "rater": _RATER, "label": _LABEL}.items():
        if role not in taken and (found := _usual(names, spellings, set(taken.values()))) is not None:
            taken[role] = found
    listing = f"the columns are {format_list(names, 12)}"
    if "label" not in taken:
        raise TableError(f"say with label which column holds the labels; {listing}.")
    # In a single file without raters each row may be an item of its own; otherwise items must come back.
    if "item" not in taken and ("rater" in taken or not alone):
        raise TableError(f"say with item which column names what was rated; {listing}.")
    rest = [name for name in names if name not in taken.values() and bare_name(name) not in ABOUT_THE_ANSWER]
    return Roles(taken.get("item"), taken.get("rater"), taken["label"], rest)


def _usual(names: Sequence[str], spellings: Sequence[str], taken: set[str]) -> str | None:
    # Reversed, so that of two columns spelled alike the first is found.
    by_spelling = {bare_name(name): name for name in reversed(names) if name not in taken}
    return next((by_spelling[spelling] for spelling in spellings if spelling in by_spelling), None)


def refuse_answers(path: str, table: Any, label: str, id: str | None = None) -> None:
    """Refuse a table with one label column that seems to hold answers, not items, and say what makes a table of it.

    That is so if items come back, and nothing but rater and label tells their rows apart.

    Parameters
    ----------
    path : str
        Its file.
    table : DataFrame
    label : str
        Its label column.
    id : str, optional
        The column that names items; by default one with a usual name.
    """
    names = list(table.columns)
    item = id or _usual(names, _ITEM, {label})
    if item is None or len(table) < _COMES_BACK * table[item].nunique():
        return
    rater = _usual(names, _RATER, {label, item})
    rest = [name for name in names if name not in (item, rater, label) and bare_name(name) not in ABOUT_THE_ANSWER]
    if rest and (table.groupby(item)[rest].nunique() > 1).to_numpy().any():
        return
    raise TableError(
        f"the values of {item!r} come back with other labels, so that a row is an answer and not an item; "
        f"first type: {_import_command(path, Roles(item, rater, label, rest))}"
    )


def refuse_long_table(path: str, names: Sequence[str]) -> None:
    """Refuse a table whose columns are called as those of answers usually are, and say what makes a table of it."""
    item, rater, label = (_usual(names, spellings, set()) for spellings in (_ITEM, _RATER, _LABEL))
    if item is not None and rater is not None and label is not None:
        roles = Roles(item, rater, label, [])
        raise TableError(f"a row is an answer ({roles.described}); first type: {_import_command(path, roles)}")


def _import_command(path: str, roles: Roles) -> str:
    """What to type, to make a table of such a file that has one row an item."""
    options = " ".join(f"--{role} {quote(name)}" for role, name in roles.named.items())
    return f"ldlearn import {quote(path)} {options} -o table.csv"
