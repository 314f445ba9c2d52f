"""Columns chosen on the command line: by name, by prefix (``emb_*``) or by range (``x1:x20``)."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Sequence

from ldlearn.models import TableError
from ldlearn.models.columns import some


def select_columns(names: Sequence[str], wanted: str, option: str) -> list[str]:
    """The columns that a list such as ``age,emb_*,x1:x20`` means, in the order given.

    A name that holds a comma is put in double quotes. A range takes the columns from one name to another in the order
    of the file, both included; its ends may also be positions counted from 1, and may be left out.

    Parameters
    ----------
    names : sequence of str
        The columns of the table.
    wanted : str
        The list.
    option : str
        What the list was given to, for messages.

    Examples
    --------
    >>> select_columns(["id", "x1", "x2", "x3", "emb_a", "emb_b"], "emb_*,x1:x2", "--features")
    ['emb_a', 'emb_b', 'x1', 'x2']
    >>> select_columns(["a", "b", "c"], "2:", "--features")
    ['b', 'c']
    """
    parts = [part.strip() for part in next(csv.reader([wanted], skipinitialspace=True), []) if part.strip()]
    if not parts:
        raise TableError(f"{option} names no column.")
    chosen = [name for part in parts for name in _select_one(names, part, option)]
    twice = next((name for k, name in enumerate(chosen) if name in chosen[:k]), None)
    if twice is not None:
        raise TableError(f"{option} names the column {twice!r} twice.")
    return chosen


def _select_one(names: Sequence[str], part: str, option: str) -> list[str]:
    if part in names:
        return [part]
    if part.endswith("*"):
        found = [name for name in names if name.startswith(part[:-1])]
        if not found:
            raise TableError(f"{option}: no column begins with {part[:-1]!r}; the columns are {some(names)}.")
        return found
    if ":" in part:
        first, _, last = part.partition(":")
        start = _position(names, first, 0, option)
        stop = _position(names, last, len(names) - 1, option)
        if start > stop:
            raise TableError(f"{option}: in the range {part!r} the first column comes after the last.")
        return list(names[start : stop + 1])
    raise _unknown(names, part, option)


def _position(names: Sequence[str], end: str, default: int, option: str) -> int:
    end = end.strip()
    if not end:
        return default
    if end in names:
        return list(names).index(end)
    if end.isascii() and end.isdigit() and 1 <= int(end) <= len(names):
        return int(end) - 1
    raise _unknown(names, end, option)


def _unknown(names: Sequence[str], part: str, option: str) -> TableError:
    lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(part.lower(), lower, n=3)
    hint = f"did you mean {', '.join(lower[c] for c in close)}?" if close else f"the columns are {some(names)}."
    return TableError(f"{option}: there is no column {part!r}; {hint}")
