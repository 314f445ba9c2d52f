"""Fitting a model on a table file, as the command `fit` does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldlearn.errors import ParameterError, TableError
from ldlearn.io.columns import Columns, TableColumns, choose_columns
from ldlearn.io.formats import check_output, naming, open_table
from ldlearn.io.source import PIPE, Kind, Say, Source
from ldlearn.io.text_style import TextStyle
from ldlearn.io.values import are_logical
from ldlearn.models.files import save_model
from ldlearn.models.method_names import DEFAULT_METHOD, make_predictor
from ldlearn.models.progress import Progress, silent
from ldlearn.models.quality import fit_and_check
from ldlearn.models.table_model import TableModel, read_labels


def fit_table(
    data: str,
    labels: Columns,
    output: str | None = None,
    *,
    features: Columns | None = None,
    categorical: Columns | None = None,
    id: str | None = None,
    method: str = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    holdout: float = 0.2,
    format: str | None = None,
    style: TextStyle | None = None,
    say: Say | None = None,
    overwrite: bool = True,
    progress: Progress = silent,
) -> TableModel:
    """Fit a model on a table file, check it on rows held out, and write the model file.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    labels : str or sequence
        The label columns: names, prefixes (``emo_*``), ranges (``x1:x9``), joined by commas.
    output : str, optional
        The model file to write.
    features, categorical : str or sequence, optional
        Feature columns (by default all others), and those among them that are codes, not numbers.
    id : str, optional
        A column that names the rows.
    method : str, default="DLDL"
        See `ldlearn.models.method_names`.
    params : mapping, optional
        Parameters of the method.
    holdout : float, default=0.2
        Share of the rows that a second fit is checked on; 0 for none.
    format : str, optional
        Format of the table if its name does not tell.
    style : TextStyle, optional
        Separator, decimal mark and encoding of a text table, where its first rows do not tell.
    say : callable, optional
        Is told how the table was understood where that is not the usual; by default it becomes a warning.
    overwrite : bool, default=True
        Whether an existing output is replaced.
    progress : callable, optional
        Is told how far the work is; see `ldlearn.models.progress`.

    Returns
    -------
    TableModel
    """
    if not 0 <= holdout < 1:
        raise ParameterError(f"holdout must be at least 0 and below 1, got {holdout:g}.")
    if output is not None:
        check_output(output, [data], overwrite=overwrite)
    make_predictor(method, params)  # wrong parameters fail before the table is read
    given = GivenTable(data, format, style, say)
    table, columns = read_training(given, progress, labels, features, categorical, id)
    with naming(given.where):
        targets = read_labels(table, columns.labels)
        estimator = make_predictor(method, params, logical=are_logical(targets))
        model = _fit_watched(table, columns, targets, estimator, holdout, progress)
    if output is not None:
        save_model(model, output)
    return model


@dataclass(frozen=True)
class GivenTable:
    """A table to read, and what the user says of it."""

    name: str
    format: str | None
    style: TextStyle | None
    say: Say | None

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.name == PIPE else self.name

    @contextmanager
    def opened(self, task: str, progress: Progress) -> Iterator[Source]:
        """The table; how far it has been read is told."""
        size = os.path.getsize(self.name) if self.name != PIPE and Path(self.name).is_file() else None
        with (
            progress(task, size, is_bytes=True) as told,
            open_table(self.name, self.format, told, style=self.style, say=self.say) as source,
        ):
            yield source


def read_training(
    given: GivenTable,
    progress: Progress,
    labels: Columns,
    features: Columns | None,
    categorical: Columns | None,
    id: str | None,
) -> tuple[Any, TableColumns]:
    """The columns that are wanted, all rows, and what they are."""
    with given.opened("reading", progress) as source:
        columns = choose_columns(source, labels, features, categorical, id)
        return _read_columns(source, columns), columns


def _read_columns(source: Source, columns: TableColumns) -> Any:
    """Those columns, all rows, as a data frame."""
    kinds: dict[str, Kind] = dict.fromkeys([*columns.features, *columns.labels], "any")
    kinds |= dict.fromkeys(columns.categorical, "text")
    if columns.id is not None:
        kinds[columns.id] = "text"
    table = source.read(kinds)
    if not len(table):
        raise TableError("the table has no rows.")
    return table


def _fit_watched(
    table: Any, columns: TableColumns, targets: Any, estimator: Any, holdout: float, progress: Progress
) -> TableModel:
    """Fit; estimators that take a callback tell how far they are."""
    watched = "callback" in estimator.get_params(deep=False)
    half_steps = 2 * int(getattr(estimator, "max_iter", 1)) * (2 if holdout else 1)
    with progress("fitting", half_steps if watched else None) as advance:
        if watched:
            estimator.set_params(callback=lambda *state: advance(1))
        model = fit_and_check(
            table,
            columns.labels,
            features=columns.features,
            estimator=estimator,
            categorical=columns.categorical,
            id=columns.id,
            holdout=holdout,
            targets=targets,
        )
    if watched:
        model.estimator.set_params(callback=None)
    return model
