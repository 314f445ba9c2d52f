"""Choosing columns by name, prefix or index."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldlearn.errors import DatasetError

# marks in the headings that `write_dataset` writes; a feature gets one only if it would be mistaken otherwise
PREFIX_OF_FIELD = {"D": "D:", "Y": "Y:", "counts": "votes:"}
FEATURE_PREFIX = "X:"

Columns = str | int | slice | Sequence[str | int] | None


@dataclass(frozen=True)
class Choice:
    """Positions and names of the features, and of the labels by field ("auto" where a user chose them)."""

    features: list[int]
    feature_names: list[str]
    labels: dict[str, list[int]]
    label_names: list[str]


def choose_columns(names: Sequence[str], features: Columns, labels: Columns, where: str) -> Choice:
    """Decide which columns are features and which are labels.

    Without `labels`, the columns are those that `write_dataset` has marked; without `features`, they are
    all columns that are no labels.
    """
    by_field = {"auto": find_columns(names, labels, where)} if labels is not None else _marked(names, where)
    taken = {i for positions in by_field.values() for i in positions}
    if features is None:
        chosen = [i for i in range(len(names)) if i not in taken]
    else:
        chosen = find_columns(names, features, where)
    both = taken.intersection(chosen)
    if both:
        raise DatasetError(f"{where}: the column {names[min(both)]!r} was chosen as a feature and as a label.")
    if not chosen:
        raise DatasetError(f"{where}: no column is left for the features.")
    first_field = next(iter(by_field))
    return Choice(
        features=chosen,
        feature_names=[names[i].removeprefix(FEATURE_PREFIX) for i in chosen],
        labels=by_field,
        label_names=[_plain(names[i], first_field) for i in by_field[first_field]],
    )


def _plain(name: str, field: str) -> str:
    return name.removeprefix(PREFIX_OF_FIELD.get(field, ""))


def _marked(names: Sequence[str], where: str) -> dict[str, list[int]]:
    by_field = {
        field: [i for i, name in enumerate(names) if name.startswith(prefix)]
        for field, prefix in PREFIX_OF_FIELD.items()
    }
    by_field = {field: positions for field, positions in by_field.items() if positions}
    if not by_field:
        raise DatasetError(
            f"{where}: say which columns are the labels, e.g. labels=['calm', 'angry'], labels='emotion_*' or "
            f"labels=slice(-5, None). The columns are {_some(names)}."
        )
    return by_field


def find_columns(names: Sequence[str], choice: Columns, where: str) -> list[int]:
    """Positions of the chosen columns, each at most once.

    Examples
    --------
    >>> find_columns(["age", "emo_joy", "emo_fear"], "emo_*", "file")
    [1, 2]
    >>> find_columns(["age", "emo_joy", "emo_fear"], [-1, "age"], "file")
    [2, 0]
    """
    if isinstance(choice, slice):
        found = list(range(len(names)))[choice]
    elif isinstance(choice, str | int | np.integer):
        found = _find_one(names, choice, where)
    else:
        found = [position for part in choice or () for position in _find_one(names, part, where)]
    if len(set(found)) < len(found):
        twice = next(i for k, i in enumerate(found) if i in found[:k])
        raise DatasetError(f"{where}: the column {names[twice]!r} was chosen twice.")
    if not found:
        raise DatasetError(f"{where}: {choice!r} chooses no column of {_some(names)}.")
    return found


def _find_one(names: Sequence[str], part: Any, where: str) -> list[int]:
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        if not -len(names) <= part < len(names):
            raise DatasetError(f"{where}: there is no column {part}; it has {len(names)} columns.")
        return [int(part) % len(names)]
    if not isinstance(part, str):
        raise DatasetError(f"{where}: columns are chosen by name, prefix or index, got {part!r}.")
    exact = [i for i, name in enumerate(names) if name == part]
    if len(exact) > 1:
        raise DatasetError(f"{where}: {len(exact)} columns are named {part!r}; choose by index.")
    prefix = part.removesuffix("*")
    found = exact or [i for i, name in enumerate(names) if prefix and name.startswith(prefix)]
    if not found:
        close = difflib.get_close_matches(part, names, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"the columns are {_some(names)}."
        raise DatasetError(f"{where}: no column is named, or begins with, {part!r}; {hint}")
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def headings(feature_names: Sequence[str], label_names: Sequence[str], fields: Sequence[str]) -> list[str]:
    """Headings of a table: features, then the label columns of each field, marked by its prefix."""
    reserved = (FEATURE_PREFIX, *PREFIX_OF_FIELD.values())
    features = [FEATURE_PREFIX + name if name.startswith(reserved) else name for name in feature_names]
    return features + [PREFIX_OF_FIELD[field] + name for field in fields for name in label_names]
