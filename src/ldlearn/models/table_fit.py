"""Fitting a model on a table file, as the command `fit` does."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack

from ldlearn.errors import ParameterError, TableError
from ldlearn.io.columns import Columns, FeatureColumns, TableColumns, choose_columns, find_kept
from ldlearn.io.formats import check_output, naming, open_table
from ldlearn.io.label_lists import LabelList, holds_lists
from ldlearn.io.source import PIPE, Kind, Say, Source
from ldlearn.io.sparse_table import SparseTable
from ldlearn.io.text_style import TextStyle
from ldlearn.io.values import are_logical
from ldlearn.models.files import save_model
from ldlearn.models.method_names import DEFAULT_METHOD, make_predictor
from ldlearn.models.progress import Progress, silent
from ldlearn.models.quality import fit_and_check
from ldlearn.models.table_model import TableModel, label_columns, read_labels
from ldlearn.versions import installed_versions

_READ_AS_TEXT = ("categorical", "date", "text")


def fit_table(
    data: str,
    labels: Columns,
    output: str | None = None,
    *,
    embedding: Any = None,
    method: str = DEFAULT_METHOD,
    params: Mapping[str, Any] | None = None,
    holdout: float = 0.2,
    kind: str = "auto",
    separator: str | None = None,
    format: str | None = None,
    style: TextStyle | None = None,
    say: Say | None = None,
    overwrite: bool = True,
    progress: Progress = silent,
    **columns: Unpack[FeatureColumns],
) -> TableModel:
    """Fit a model on a table file, check it on rows held out, and write the model file.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    labels : str or sequence
        The label columns: names, prefixes (``emo_*``), ranges (``x1:x9``), joined by commas. Or one column that holds
        lists of labels.
    output : str, optional
        The model file to write.
    features : str or sequence, optional
        Feature columns; by default all others.
    numeric, categorical, date, text, ignore : str or sequence, optional
        Those among them to be taken for numbers, categories (codes), dates or prose, or left out, whatever they look
        like; see `TableModel.fit`.
    embedding : transformer, optional
        What makes numbers of prose; see `TableModel.fit` and `import_embedding`.
    id : str, optional
        A column that names the rows.
    method : str, default="DLDL"
        See `ldlearn.models.method_names`.
    params : mapping, optional
        Parameters of the method.
    holdout : float, default=0.2
        Share of the rows that a second fit is checked on; 0 for none.
    kind : {"auto", "votes", "mixed"}, default="auto"
        What the label columns hold: counts of votes, and 0/1 labels with the degrees of some rows, are said to be.
    separator : str, optional
        What separates labels in one column of lists; found by default.
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
    table, found, listed = read_labelled(given, progress, labels, columns, separator)
    with naming(given.where):
        targets = read_labels(table, found.labels)
        estimator = make_predictor(method, params, logical=kind == "mixed" or (are_logical(targets) and kind == "auto"))
        with _watched(estimator, progress, fits=2 if holdout else 1):
            model = fit_and_check(
                table,
                found.labels,
                estimator=estimator,
                embedding=embedding,
                holdout=holdout,
                targets=targets,
                kind=kind,
                **found.feature_arguments,
            )
        if hasattr(model.estimator, "callback"):
            model.estimator.set_params(callback=None)
        if listed is not None:
            model.facts["label_list"] = listed._asdict()
            if getattr(estimator, "ordered", False):
                given.tell(listed.order_in_words(found.labels))
        model.facts["source"] = given.identity()
    if output is not None:
        save_model(model, output)
    return model


@dataclass(frozen=True)
class GivenTable:
    """A table to read, and what the user says of it."""

    name: str
    format: str | None = None
    style: TextStyle | None = None
    say: Say | None = None

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.name == PIPE else self.name

    def tell(self, sentence: str) -> None:
        """Say how it was understood where that is not the usual."""
        (self.say or warnings.warn)(f"{self.where}: {sentence}")

    def identity(self) -> dict[str, str]:
        """Which table it was, and when and by what it was read: for the card of a model."""
        known = {
            "file": Path(self.where).name,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "ldlearn": installed_versions()["ldlearn"],
        }
        if not Path(self.name).is_file():
            return known
        with open(self.name, "rb") as file:
            return known | {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}

    @contextmanager
    def opened(self, task: str, progress: Progress) -> Iterator[Source]:
        """The table; how far it has been read is told."""
        size = os.path.getsize(self.name) if self.name != PIPE and Path(self.name).is_file() else None
        with (
            progress(task, size, is_bytes=True) as told,
            open_table(self.name, self.format, told, style=self.style, say=self.say) as source,
        ):
            yield source


def read_labelled(
    given: GivenTable,
    progress: Progress,
    labels: Columns,
    wanted: FeatureColumns,
    separator: str | None = None,
    keep: Columns = None,
) -> tuple[Any, TableColumns, LabelList | None]:
    """As `read_training`; a column that holds lists of labels becomes a column for each label, which is told."""
    table, columns = read_training(given, progress, labels, wanted, keep)
    with naming(given.where):
        expanded, names, listed = label_columns(table, columns.labels, separator)
    if listed is not None:
        given.tell(listed.in_words(names))
        if listed.column in columns.kept:
            expanded = expanded.assign(**{listed.column: table[listed.column]})
    return expanded, replace(columns, labels=names), listed


def read_training(
    given: GivenTable,
    progress: Progress,
    labels: Columns,
    wanted: FeatureColumns,
    keep: Columns = None,
) -> tuple[Any, TableColumns]:
    """The columns that are wanted, all rows, and what they are."""
    with given.opened("reading", progress) as source:
        try:
            columns = choose_columns(source, labels, **wanted)
        except TableError:
            _refuse_long_table(given, source.names)
            raise
        named = columns.labels if len(columns.labels) > 1 else []  # a column of lists gives its name to no degrees
        columns = replace(columns, kept=find_kept(source, keep, columns.id, named))
        table = _read_columns(source, columns)
        _refuse_lists(table.frame if isinstance(table, SparseTable) else table, set(columns.features))
        if len(columns.labels) == 1 and not _is_logical(table[columns.labels[0]]):
            _refuse_answers(given, table, columns)
        return table, columns


def _is_logical(label: Any) -> bool:
    return not holds_lists(label) and bool(label.isin((0, 1)).all())


def _refuse_lists(table: Any, features: set[str]) -> None:
    """Only labels come as lists, and a column of lists is one from its first cell on."""
    for name, kind in zip(table.columns, table.dtypes, strict=True):
        if kind.kind != "O" or name not in features:
            continue
        row, first = next(((row, cell) for row, cell in table[name].items() if cell is not None), (0, None))
        if isinstance(first, list):
            raise TableError("a list is no feature; leave the column out (ignore).", row=row, column=name)


def _refuse_long_table(given: GivenTable, names: Sequence[str]) -> None:
    """A table without the columns that were asked for, but with those of answers: say what makes a table of it."""
    from ldlearn.io.answer_columns import import_command, usual_roles

    roles = usual_roles(names)
    if roles is not None:
        raise TableError(f"a row is an answer ({roles.described}); first type: {import_command(given.name, roles)}")


def _refuse_answers(given: GivenTable, table: Any, columns: TableColumns) -> None:
    """A table whose label column is there, but where items come back, one row for each answer."""
    from ldlearn.io.answer_columns import hidden_answers, import_command

    roles = hidden_answers(table, columns.labels[0], columns.id)
    if roles is not None:
        raise TableError(
            f"the values of {roles.item!r} come back with other labels, so that a row is an answer and not an item; "
            f"first type: {import_command(given.name, roles)}"
        )


def _read_columns(source: Source, columns: TableColumns) -> Any:
    """Those columns, all rows, as a data frame."""
    kinds: dict[str, Kind] = dict.fromkeys([*columns.features, *columns.labels], "any")
    kinds |= {name: "text" for kind in _READ_AS_TEXT for name in columns.kinds.get(kind, ())}
    aside: dict[str, Kind] = dict.fromkeys(columns.kept, "text")
    kinds = aside | kinds
    if columns.id is not None:
        kinds[columns.id] = "text"
    table = source.read(kinds, sparse=True)
    if not len(table):
        raise TableError("the table has no rows.")
    return table


@contextmanager
def _watched(estimator: Any, progress: Progress, fits: int) -> Iterator[None]:
    """Estimators that take a callback tell how far they are."""
    takes_callback = "callback" in estimator.get_params(deep=False)
    half_steps = 2 * fits * int(getattr(estimator, "max_iter", 1))
    with progress("fitting", half_steps if takes_callback else None) as advance:
        if takes_callback:
            estimator.set_params(callback=lambda *state: advance(1))
        yield
