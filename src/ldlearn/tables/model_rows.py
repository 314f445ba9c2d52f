"""The rows of a table as a model sees them: labels, recovered and predicted degrees; for browsing and asking."""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.targets import split_observed
from ldlearn.core.votes import label_counts, losses, profile_log_rate
from ldlearn.exceptions import TableError
from ldlearn.tables.columns import Columns, find_kept
from ldlearn.tables.formats import check_output
from ldlearn.tables.labelled_table import ReadingOptions, TableInput, split_options
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.table_files import columns_to_read, id_column
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import to_labels

Matrix = NDArray[np.float64]
_MAX_SHOWN = 5  # feature columns, if a table has neither texts nor columns to keep


@dataclass(frozen=True)
class ModelRows:
    """Rows of a table, and what a model makes of them.

    Attributes
    ----------
    table : str
        Name of the table.
    model : TableModel
    id : str
        Name of the identifier column; "row" if there is none.
    names : list of str
        Identifiers, or numbers of the rows.
    cells : DataFrame
        The columns that tell a reader which row this is: those to keep, or the texts, or the first features.
    X : array or CSR matrix of shape (n_samples, n_features)
        What the estimator sees.
    predicted : ndarray of shape (n_samples, n_labels)
    labels : ndarray of shape (n_samples, n_labels) or None
        0/1, NaN where unknown; None if the table has no label columns. Labels with votes or degrees above 0 are 1.
    degrees : ndarray of shape (n_samples, n_labels) or None
        Recovered from 0/1 labels, or given as votes or degrees; NaN in rows without.
    n_votes : ndarray of shape (n_samples,) or None
        How many votes each row has, if the labels are counts of votes.
    recovered : boolean ndarray of shape (n_samples,)
        Rows whose degrees are recovered from 0/1 labels.
    messages : list of str
        What the user should know.
    """

    table: str
    model: TableModel
    id: str
    names: list[str]
    cells: Any
    X: Any
    predicted: Matrix
    labels: Matrix | None
    degrees: Matrix | None
    n_votes: Matrix | None
    recovered: NDArray[np.bool_]
    messages: list[str]


class RowOptions(ReadingOptions, total=False):
    """Which columns are shown, what the labels hold, and whether the output is replaced: see `write_browse_page`."""

    id: str | None
    keep: Columns
    kind: str
    overwrite: bool


def read_model_rows(data: Any, model: str | TableModel, output: str, **options: Unpack[RowOptions]) -> ModelRows:
    """Read all rows of a file or a data frame, and apply a model; refuses an ``output`` that cannot be written."""
    given, opening = split_options(options, RowOptions, ReadingOptions)
    inputs = [name for name in (data, model) if isinstance(name, str)]
    check_output(output, inputs, overwrite=given.get("overwrite", True))
    model, table_input = load_table_model(model), TableInput(data, **opening)
    report, kind = table_input.new_report(), given.get("kind", "auto")
    with table_input.opened("rows") as source:
        id = id_column(source, model, given.get("id"))
        listed = [] if model.label_list is None else [model.label_list.column]
        has_labels = any(name in source.names for name in (*model.labels, *listed))
        shown = find_kept(source, given.get("keep"), id, model.labels)
        shown = shown or list(model.texts or model.features[:_MAX_SHOWN])
        others = [name for name in shown if name not in model.features]
        frame = source.read(columns_to_read(source, model, model.labels if has_labels else (), id, others))
        if not len(frame):
            raise TableError("the table has no rows.")
        X = model.transform(frame, report)
        predicted = np.asarray(model.estimator.predict(X), dtype=np.float64)
        labels, degrees, n_votes, recovered = None, None, None, np.zeros(len(frame), dtype=bool)
        messages: list[str] = []
        if has_labels:
            if kind == "auto" and model.facts.get("label_kind") == "votes":
                kind = "votes"
            values = to_labels(model.with_label_columns(frame), model.labels)
            truth, n_votes, logical, messages = TableLabels(model.labels, values, frame.index, kind).truth()
            labels = np.where(np.isnan(truth), np.nan, truth > 0)
            if not logical:
                degrees = truth
            elif hasattr(model.estimator, "enhance"):
                recovered = (labels == 1).any(axis=1)
                if not model.estimator.capabilities().unknown_labels:
                    recovered &= ~np.isnan(labels).any(axis=1)
                degrees = np.full(labels.shape, np.nan)
                if recovered.any():
                    degrees[recovered] = model.estimator.enhance(X[recovered], labels[recovered])
    names = ["" if value != value else str(value) for value in (frame.index if id is None else frame[id])]
    known = (X, predicted, labels, degrees, n_votes, recovered, messages + report.messages())
    return ModelRows(table_input.name, model, id or "row", names, frame[shown], *known)


def label_losses(P: Matrix, labels: Matrix) -> Matrix:
    """Negative log-probability of each 0/1 label given predicted degrees; NaN where a label is unknown.

    ``P(y_j = 1) = 1 - exp(-lambda p_j)``, lambda the maximum likelihood estimate from these rows.

    Examples
    --------
    >>> import numpy as np
    >>> label_losses(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)  # ln 2
    array([[0.6931, 0.6931],
           [0.6931, 0.6931]])
    """
    Y, observed = split_observed(labels)
    logP = np.log(np.maximum(P, 1e-12))
    log_rate = profile_log_rate(logP, Y, counts=label_counts(None, observed))
    found = losses(logP + log_rate, Y.astype(np.float64))
    return np.asarray(found if observed is None else np.where(observed, found, np.nan), dtype=np.float64)
