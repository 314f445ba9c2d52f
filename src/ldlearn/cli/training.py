"""The table that a model is fitted on: which columns it takes, and reading them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldlearn.cli.console import progress, size_of
from ldlearn.io.formats import open_table
from ldlearn.io.source import PIPE, Kind, Source
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
        chosen = choose(source, wanted)
        kinds: dict[str, Kind] = dict.fromkeys([*chosen.features, *chosen.labels], "any")
        kinds |= dict.fromkeys(chosen.categorical, "text")
        if chosen.id is not None:
            kinds[chosen.id] = "text"
        table = source.read(kinds)
        if not len(table):
            raise TableError("the table has no rows.")
    return table, chosen


def choose(source: Source, wanted: Wanted) -> Chosen:
    """Find the columns that are wanted; every column is at most one thing."""
    labels = source.find(wanted.labels, "--labels")
    id = [] if wanted.id is None else source.find(wanted.id, "--id")[:1]
    taken = {*labels, *id}
    names = source.names
    if set(id) & set(labels):
        raise TableError(f"the column {names[id[0]]!r} is a label and the id at once.")
    features = source.rest(taken) if wanted.features is None else source.find(wanted.features, "--features")
    both = [names[i] for i in features if i in taken]
    if both:
        raise TableError(f"the column {both[0]!r} is a feature and a label (or the id) at once.")
    if not features:
        raise TableError("no column is left for the features.")
    categorical = [] if wanted.categorical is None else source.find(wanted.categorical, "--categorical")
    strangers = [names[i] for i in categorical if i not in set(features)]
    if strangers:
        raise TableError(f"--categorical names {strangers[0]!r}, which is no feature.")
    named = [[names[i] for i in positions] for positions in (labels, features, categorical, id)]
    return Chosen(named[0], named[1], named[2], named[3][0] if id else None)
