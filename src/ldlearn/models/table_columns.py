"""Which columns of a table a model takes: labels, features, categorical features, the id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldlearn.errors import TableError
from ldlearn.io.columns import Columns
from ldlearn.io.source import Kind, Source


@dataclass(frozen=True)
class TableColumns:
    """Columns by name; every column is at most one thing, but that categorical ones are features too."""

    labels: list[str]
    features: list[str]
    categorical: list[str]
    id: str | None


def choose_columns(
    source: Source, labels: Columns, features: Columns | None, categorical: Columns | None, id: str | None
) -> TableColumns:
    """Find the columns that are wanted: by name, prefix (``emb_*``), range (``x1:x20``) or position."""
    names = source.names
    labelled = source.find(labels, "labels")
    ids = [] if id is None else source.find(id, "id")[:1]
    taken = {*labelled, *ids}
    if set(ids) & set(labelled):
        raise TableError(f"the column {names[ids[0]]!r} is a label and the id at once.")
    chosen = source.rest(taken) if features is None else source.find(features, "features")
    both = [names[i] for i in chosen if i in taken]
    if both:
        raise TableError(f"the column {both[0]!r} is a feature and a label (or the id) at once.")
    if not chosen:
        raise TableError("no column is left for the features.")
    codes = [] if categorical is None else source.find(categorical, "categorical")
    strangers = [names[i] for i in codes if i not in set(chosen)]
    if strangers:
        raise TableError(f"categorical names {strangers[0]!r}, which is no feature.")
    of = [[names[i] for i in positions] for positions in (labelled, chosen, codes, ids)]
    return TableColumns(of[0], of[1], of[2], of[3][0] if ids else None)


def read_columns(source: Source, columns: TableColumns) -> Any:
    """Those columns, all rows, as a data frame."""
    kinds: dict[str, Kind] = dict.fromkeys([*columns.features, *columns.labels], "any")
    kinds |= dict.fromkeys(columns.categorical, "text")
    if columns.id is not None:
        kinds[columns.id] = "text"
    table = source.read(kinds)
    if not len(table):
        raise TableError("the table has no rows.")
    return table
