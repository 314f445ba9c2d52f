"""The table that a model is fitted on: which columns it takes, and reading them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldlearn.cli.console import progress, size_of
from ldlearn.cli.tables import PIPE, open_table
from ldlearn.cli.tables.source import Kind
from ldlearn.io.columns import find_columns
from ldlearn.models import TableError


@dataclass(frozen=True)
class Wanted:
    """Columns as given on the command line: lists of names, prefixes and ranges."""

    labels: str
    features: str | None = None
    categorical: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Chosen:
    """Columns by name."""

    labels: list[str]
    features: list[str]
    categorical: list[str]
    id: str | None


def name_in_messages(data: str) -> str:
    """How messages call a table."""
    return "standard input" if data == PIPE else data


def read_training(data: str, format: str | None, wanted: Wanted) -> tuple[Any, Chosen]:
    """The columns of a table that a fit needs, and which is which."""
    with progress("reading", size_of(data), is_bytes=True) as advance, open_table(data, format, advance) as source:
        chosen = choose(source.names, wanted)
        kinds: dict[str, Kind] = dict.fromkeys([*chosen.features, *chosen.labels], "any")
        kinds |= dict.fromkeys(chosen.categorical, "text")
        if chosen.id is not None:
            kinds[chosen.id] = "text"
        table = source.read(kinds)
        if not len(table):
            raise TableError("the table has no rows.")
    return table, chosen


def _select(names: list[str], wanted: str, option: str) -> list[str]:
    return [names[i] for i in find_columns(names, wanted, option)]


def choose(names: list[str], wanted: Wanted) -> Chosen:
    """Find the columns that are wanted; every column is at most one thing."""
    labels = _select(names, wanted.labels, "--labels")
    id = None if wanted.id is None else _select(names, wanted.id, "--id")[0]
    if id in labels:
        raise TableError(f"the column {id!r} is a label and the id at once.")
    taken = {*labels, id}
    rest = [name for name in names if name not in taken]
    features = rest if wanted.features is None else _select(names, wanted.features, "--features")
    both = [name for name in features if name in taken]
    if both:
        raise TableError(f"the column {both[0]!r} is a feature and a label (or the id) at once.")
    if not features:
        raise TableError("no column is left for the features.")
    categorical = [] if wanted.categorical is None else _select(names, wanted.categorical, "--categorical")
    strangers = [name for name in categorical if name not in set(features)]
    if strangers:
        raise TableError(f"--categorical names {strangers[0]!r}, which is no feature.")
    return Chosen(labels, features, categorical, id)
