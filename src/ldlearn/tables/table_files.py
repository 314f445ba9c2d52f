"""Fitted models on tables: predict, enhance and evaluate, as the commands of these names do, and
rows to look at."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeGuard, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from ldlearn.compose.method_names import DEFAULT_METHOD, make_enhancer
from ldlearn.core.row_groups import Groups, Keys, hash_rows, join_groups
from ldlearn.core.targets import split_observed
from ldlearn.core.votes import label_weights, profile_log_rate, vote_losses
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.metrics import get_metric
from ldlearn.metrics.against_baselines import Score, scorable_rows, score_with_baselines, wants_all
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.columns import Columns, ColumnType, check_columns, find_columns_to_keep
from ldlearn.tables.files import PIPE, Input, prefix_errors
from ldlearn.tables.formats import check_output, open_table, write_table
from ldlearn.tables.labelled_table import (
    FitOptions,
    LabelledTable,
    ReadingOptions,
    read_labelled,
    split_options,
)
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.source import Kind, Source
from ldlearn.tables.table_fit import describe_classifier, describe_origin, held_out_scores
from ldlearn.tables.table_labels import TableLabels
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.training_rows import share_in_training
from ldlearn.tables.values import describe_repeated, import_pandas, read_groups
from ldlearn.tables.writing import Writer, WritingOptions, WrittenTable, as_strings

Matrix = NDArray[np.float64]
_LARGE_OVERLAP = 0.1  # share of training rows in a table that an evaluation mentions
_MAX_SHOWN = 5  # feature columns, if a table has neither texts nor columns to keep


@dataclass(frozen=True)
class Evaluation:
    """How good the predictions of a model are on rows whose labels are known.

    Attributes
    ----------
    rows : int
    truth : {"0/1 labels", "true degrees"}
    scores : list of Score
        Beside the baselines: the mean training distribution for every row, equal shares, and a
        plain classifier.
    better_than_baselines : bool
        Whether the model beats the mean distribution by more than chance.
    warnings : list of str
        If it does not, if the classifier is better by more than chance, or if a tenth of the rows
        or more are training rows.
    messages : list of str
        What the user should know.
    """

    rows: int
    truth: str
    scores: list[Score]
    better_than_baselines: bool
    warnings: list[str]
    messages: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "messages"}


class _PredictOptions(ReadingOptions, WritingOptions, total=False):
    """The table to predict, and the table to write."""


def predict_table(
    data: str,
    model: str | TableModel,
    output: str = PIPE,
    *,
    id: str | None = None,
    **options: Unpack[_PredictOptions],
) -> WrittenTable:
    """Write the degrees that a model predicts for the rows of a table, which may be larger than the
    memory.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    model : str or TableModel
        The model, or its file.
    output : str, default="-"
        The table to write; standard output by default.
    id : str, optional
        The identifier column; by default that of the fit, if the table has it.
    format, to : str, optional
        Formats of the two tables, if they cannot be inferred from the names.
    dialect, on_message
        As for `fit_table`.
    round : int, optional
        Decimals of the degrees, which still sum to 1; by default all that a double has.
    interval : float, optional
        Nominal coverage of intervals, which are written as ``LABEL_low`` and ``LABEL_high`` for
        each label.
    raters : float, optional
        How many raters voted on a row, if that is known: intervals are then for the degrees of the
        very row.
    flag_far : bool, default=False
        Write also ``far``: 1 for rows far from those of the fit.
    keep : str or sequence, optional
        Columns of the table that are written too, between the id and the degrees.
    raw : bool, default=False
        Write names and texts unchanged. By default, those that a spreadsheet would run as formulas
        get an apostrophe in CSV and TSV, which is removed when ldlearn reads them, and control
        characters are escaped on standard output.
    overwrite : bool, default=True
        Whether an existing output is replaced.
    progress : callable, optional
        Reports the progress; see `ldlearn.tables.files.Progress`.
    """
    reading, writing = split_options(options, ReadingOptions, WritingOptions)
    loaded = load_table_model(model)
    writer = Writer(output, [data, model], **writing)
    input = loaded.make_input(data, **reading)
    return _write_in_chunks(input, loaded, loaded.predict, (), writer, id)


class _EnhanceOptions(FitOptions, WritingOptions, total=False):
    """The table to fit a method on or to apply a model to, and the table to write."""


def enhance_table(
    data: str,
    output: str = PIPE,
    *,
    model: str | TableModel | None = None,
    labels: Columns | None = None,
    method: str | None = None,
    params: Mapping[str, Any] | None = None,
    zeros: str | None = None,
    **options: Unpack[_EnhanceOptions],
) -> WrittenTable:
    """Write the degrees of rows whose 0/1 labels are known: by a fitted model, or by a method
    fitted on these rows.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    output : str, default="-"
        The table to write; standard output by default.
    model : str or TableModel, optional
        The model, or its file. Without one, a method is fitted.
    labels, features, numeric, categorical, datetime, text, ignore, method, params, zeros, separator
        As for `fit_table`; only without a model, which knows its own. Beside a model, ``labels``
        may be a NumPy file of the labels, if the table is one of features only.
    blank, empty_rows
        As for `fit_table`.
    id, format, to, dialect, on_message, round, interval, raters, flag_far, keep, raw, overwrite,
    progress
        As for `predict_table`.
    """
    label_file = labels if _is_label_file(labels) else None
    if (model is None) == (labels is None) and label_file is None:
        raise ParameterError("give either a model, or labels to fit a method on.")
    fitting, writing = split_options(options, FitOptions, WritingOptions)
    writer = Writer(output, [data, model, label_file], **writing)
    if model is None:
        estimator = make_enhancer(method or DEFAULT_METHOD, params, zeros)
        table = read_labelled(data, labels, fitting, writer.keep)
        written = _enhance_by_fitting(table, estimator, writer)
        if (
            table.input.reading.on_message is not None
            and zeros is None
            and "zeros" not in (params or {})
        ):
            table.labels.report_zeros(estimator, table.input.reading.on_message)
        return written
    id, blank, empty_rows = (fitting.pop(name, None) for name in ("id", "blank", "empty_rows"))
    of_a_fit, reading = split_options(fitting, FitOptions, ReadingOptions)
    of_a_fit |= {"method": method, "set": params or None, "zeros": zeros}
    for name in (
        name for name, value in of_a_fit.items() if value is not None and name not in reading
    ):
        raise ParameterError(
            f"{name} has no meaning beside a model, which is fitted already; leave it out."
        )
    loaded = load_table_model(model)
    with prefix_errors(model if isinstance(model, str) else "the model"):
        loaded.check_can_enhance()

    def with_labels(frame: Any) -> Any:
        labels, rows = loaded.read_labels(frame, blank).handle_empty_rows(empty_rows or "error")
        return frame.iloc[rows].assign(**dict(zip(loaded.labels, labels.values.T, strict=True)))

    input = loaded.make_input(data, **reading, label_file=label_file)
    enhance = partial(loaded.enhance, blank=np.nan)  # what is still empty is unknown
    found = _write_in_chunks(input, loaded, enhance, loaded.labels, writer, id, with_labels)
    if loaded.facts.get("label_kind") == "degrees":
        found.messages.append("the model was fitted on degrees, not on 0/1 labels.")
    return found


def evaluate_table(
    data: str,
    model: str | TableModel,
    *,
    metrics: Sequence[str] | str | None = None,
    labels: str | None = None,
    kind: str = "auto",
    blank: float | None = None,
    **reading: Unpack[ReadingOptions],
) -> Evaluation:
    """Score the predictions of a model against the true degrees or 0/1 labels of a table.

    Parameters
    ----------
    data : str
        The table; "-" for standard input.
    model : str or TableModel
        The model, or its file.
    metrics : sequence of str or "all", optional
        Names of `ldlearn.metrics` that fit such labels; by default the usual ones.
    labels : str, optional
        A NumPy file of the labels, if the table is one of features only.
    kind : {"auto", "votes", "mixed"}, default="auto"
        What the label columns hold. The shares of counts of votes are degrees, and a row counts as
        often as it has votes. Of 0/1 labels mixed with degrees it is compared which are not 0.
    blank : float, optional
        Value of empty label cells; see `fit_table`.
    format : str, optional
        Format of the table, if it cannot be inferred from the name.
    dialect, on_message
        As for `fit_table`.
    progress : callable, optional
        Reports the progress; see `ldlearn.tables.files.Progress`.
    """
    for name in () if metrics is None or wants_all(metrics) else metrics:
        get_metric(name)  # a wrong name fails before the table is read
    if labels is not None and not _is_label_file(labels):
        raise ParameterError(
            "labels has no meaning beside a model unless it is a NumPy file (.npy); leave it out."
        )
    loaded = load_table_model(model)
    input = loaded.make_input(data, **reading, label_file=labels)
    truths, predictions, rows, key_chunks = [], [], [], []
    by_classifier, named = list[Any](), list[Any]()
    with open_table(input) as source:
        report = CellReport(source.decimal)
        grouped = find_groups_column(source, loaded)
        for frame in source.chunks(columns_to_read(source, loaded, loaded.labels, kept=grouped)):
            truths.append(loaded.read_labels(frame, blank, kind).values)
            X = loaded.transform(frame, report)
            predictions.append(np.asarray(loaded.estimator.predict(X)))
            if loaded.classifier is not None:
                by_classifier.append(loaded.classifier.predict(X))
            rows.extend(frame.index)
            key_chunks.append(hash_rows(X))
            named += [frame[name] for name in grouped]
        if not rows:
            raise TableError("the table has no rows.")
        truth, weights, logical, left_out = TableLabels(
            loaded.labels, np.concatenate(truths), rows, kind
        ).to_truth()
    if not scorable_rows(truth, logical).any():
        raise TableError("no row has a label that is known, so there is nothing to compare with.")
    classifier = np.concatenate(by_classifier) if by_classifier else None
    P, mean = np.concatenate(predictions), np.asarray(loaded.facts["mean_distribution"])
    of_column = [read_groups(import_pandas().concat(named))] if named else []
    keys = np.concatenate(key_chunks)
    groups = join_groups(keys, *of_column)
    found = score_with_baselines(truth, P, mean, classifier, logical, metrics, weights, groups)
    better = found["better_than_baselines"]
    warnings = [] if better else ["The predictions are no better than one prediction for all rows."]
    warnings += filter(None, [describe_classifier(found, logical)])
    warnings += _describe_training_rows(loaded, input, keys, found["scores"])
    truth_kind = "0/1 labels" if logical else "true degrees"
    return Evaluation(
        found["rows"], truth_kind, found["scores"], better, warnings, left_out + report.messages()
    )


def _describe_training_rows(
    model: TableModel, input: Input, keys: Keys, scores: list[Score]
) -> list[str]:
    """A sentence on scores of training rows, with the scores of held-out rows; none if there are
    few such rows."""
    checksum = describe_origin(input.where).get("sha256")
    share = share_in_training(model.training_keys, keys)
    repeated = (model.facts.get("repeated_rows") or 0) / model.facts["rows"]
    if checksum is not None and checksum == model.facts.get("source", {}).get("sha256"):
        finding = f"{input.where} is the table that the model was fitted on, so these scores are not those of new rows"
    elif (
        share >= repeated + _LARGE_OVERLAP
    ):  # where training rows are alike, new rows are like them, too
        rows = (
            f"{round(share * len(keys)):,} of {len(keys):,} rows have the features of training rows"
        )
        finding = f"{rows}, so these scores may be better than those of new rows"
    else:
        return []
    held_out = {score.name: score.model for score in held_out_scores(model.facts)}
    common = [
        f"{score.title} {held_out[score.name]:.4f}" for score in scores if score.name in held_out
    ]
    compared = (
        f"on held-out rows the model had {', '.join(common)}"
        if common
        else "it has none of held-out rows"
    )
    return [f"{finding}; {compared}."]


def _is_label_file(labels: Columns) -> TypeGuard[str]:
    return isinstance(labels, str) and labels.endswith(".npy")


def _enhance_by_fitting(table: LabelledTable, estimator: Any, writer: Writer) -> WrittenTable:
    columns = table.columns
    uncertainty = writer.uncertainty(columns.labels)
    uncertainty.check(estimator, "enhance")
    if uncertainty and table.labels.kind != "auto":
        raise ParameterError(
            "interval and flag_far are for 0/1 labels, not for votes or known degrees; leave them out."
        )
    with prefix_errors(table.input.where):
        model, X, targets = TableModel.fit_labelled(table, estimator, None)
    # What the fit recovered: not every method can enhance rows as if they were new.
    degrees = import_pandas().DataFrame(
        model.estimator.label_distributions_, columns=columns.labels
    )
    degrees = degrees.assign(**uncertainty.columns(model.estimator, X, targets.y))
    rows = writer.arrange_columns(
        table.frame, degrees, columns.id, columns.kept, len(columns.labels)
    )
    write_table(writer.output, [rows], columns.labels, writer.format, raw=writer.raw)
    return WrittenTable(len(degrees), columns.labels, writer.output, model.facts["warnings"])


def _write_in_chunks(
    input: Input,
    model: TableModel,
    apply: Callable[..., Any],
    labels: tuple[str, ...],
    writer: Writer,
    id: str | None,
    prepare: Callable[[Any], Any] = lambda frame: frame,
) -> WrittenTable:
    """Apply a model to a table in chunks; ``labels`` are columns needed besides the features."""
    count, n_labels = 0, len(model.labels)
    uncertainty = writer.uncertainty(model.labels)
    uncertainty.check(model.estimator, "enhance" if labels else "predict")
    ids: list[Any] = []
    # What an estimator warns of for every chunk is reported once.
    warned = warnings.catch_warnings(record=True, action="always", category=UserWarning)
    with warned as caught, open_table(input) as source:
        report, id = CellReport(source.decimal), find_id_column(source, model, id)
        kept = find_columns_to_keep(source, writer.keep, id, model.labels)
        kinds = columns_to_read(source, model, labels, id, kept)

        def tables() -> Iterator[Any]:
            nonlocal count
            for frame in map(prepare, source.chunks(kinds)):
                count += len(frame)
                ids.extend(
                    [frame[id]] if labels and id is not None else []
                )  # predict needs constant memory
                yield writer.arrange_columns(
                    frame, apply(frame, report, uncertainty=uncertainty), id, kept, n_labels
                )
            if not count:  # a table without rows still has columns
                pandas, degrees = import_pandas(), [*model.labels, *uncertainty.names]
                frame, nothing = (
                    pandas.DataFrame(columns=list(kinds)),
                    pandas.DataFrame(columns=degrees, dtype=float),
                )
                yield writer.arrange_columns(frame, nothing, id, kept, n_labels)

        write_table(writer.output, tables(), model.labels, writer.format, raw=writer.raw)
    repeated = describe_repeated(import_pandas().concat(ids)) if ids else []
    of_estimator = list(dict.fromkeys(str(each.message) for each in caught or ()))
    return WrittenTable(
        count, list(model.labels), writer.output, report.messages() + repeated + of_estimator
    )


def columns_to_read(
    source: Source,
    model: TableModel,
    labels: tuple[str, ...],
    id: str | None = None,
    kept: Sequence[str] = (),
) -> dict[str, Kind]:
    """The columns to read; missing ones are an error."""
    check_columns(source.names, model.features, "feature")
    if labels and model.label_list is not None and model.label_list.column in source.names:
        labels = (model.label_list.column,)
    check_columns(source.names, labels, "label")
    kinds: dict[str, Kind] = {name: "text" for name in (id, *kept) if name is not None}
    for name, type_ in model.types.columns.items():
        kinds[name] = "any" if type_ is ColumnType.NUMERIC else "text"
    return kinds | dict.fromkeys(labels, "any")


def find_id_column(source: Source, model: TableModel, id: str | None) -> str | None:
    """The identifier column of a table: that which is named, or that of the model if the table has
    it."""
    if id is not None:
        check_columns(source.names, [id], "id")
        if id in model.labels:
            raise TableError(f"the column {id!r} is a label and cannot be the id.")
        return id
    return model.id if model.id in source.names else None


def find_groups_column(source: Source, model: TableModel, groups: str | None = None) -> list[str]:
    """The column that names groups of rows, if any: that which is given, or that of the model if
    the table has it."""
    if groups is not None:
        check_columns(source.names, [groups], "groups")
        return [groups]
    return [model.groups] if model.groups in source.names else []


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
        The columns by which a reader recognises a row: those to keep, or the texts, or the first
        features.
    X : array or CSR matrix of shape (n_samples, n_features)
        What the estimator sees.
    predicted : ndarray of shape (n_samples, n_labels)
    labels : ndarray of shape (n_samples, n_labels) or None
        0/1, NaN where unknown; None if the table has no label columns. Labels with votes or degrees
        above 0 are 1.
    degrees : ndarray of shape (n_samples, n_labels) or None
        Recovered from 0/1 labels, or given as votes or degrees; NaN in rows without.
    n_votes : ndarray of shape (n_samples,) or None
        How many votes each row has, if the labels are counts of votes.
    recovered : boolean ndarray of shape (n_samples,)
        Rows whose degrees are recovered from 0/1 labels.
    groups : integer ndarray of shape (n_samples,) or None
        The groups that a column names.
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
    groups: Groups | None
    messages: list[str]


class ModelRowOptions(ReadingOptions, total=False):
    """Which columns are shown, what the labels hold, and whether the output is replaced: see
    `write_browse_page`."""

    id: str | None
    keep: Columns
    kind: str
    blank: float | None
    overwrite: bool


def read_model_rows(
    data: Any,
    model: str | TableModel,
    output: str,
    *,
    groups: str | None = None,
    **options: Unpack[ModelRowOptions],
) -> ModelRows:
    """Read all rows of a file or a data frame, and apply a model; refuses an ``output`` that cannot
    be written."""
    given, reading = split_options(options, ModelRowOptions, ReadingOptions)
    inputs = [name for name in (data, model) if isinstance(name, str)]
    check_output(output, inputs, overwrite=given.get("overwrite", True))
    model = load_table_model(model)
    input = model.make_input(data, **reading)
    kind = given.get("kind", "auto")
    with open_table(input) as source:
        report = CellReport(source.decimal)
        id = find_id_column(source, model, given.get("id"))
        listed = [] if model.label_list is None else [model.label_list.column]
        has_labels = any(name in source.names for name in (*model.labels, *listed))
        shown = find_columns_to_keep(source, given.get("keep"), id, model.labels)
        shown = shown or list(model.texts or model.features[:_MAX_SHOWN])
        others = [name for name in shown if name not in model.features]
        others += (grouped := find_groups_column(source, model, groups))
        frame = source.read(
            columns_to_read(source, model, model.labels if has_labels else (), id, others)
        )
        X = model.transform(frame, report)
        predicted = np.asarray(model.estimator.predict(X), dtype=np.float64)
        labels, degrees, n_votes, recovered = None, None, None, np.zeros(len(frame), dtype=bool)
        messages: list[str] = []
        if has_labels:
            if kind == "auto" and model.facts.get("label_kind") == "votes":
                kind = "votes"
            truth, n_votes, logical, messages = model.read_labels(
                frame, given.get("blank"), kind
            ).to_truth()
            labels = np.where(np.isnan(truth), np.nan, truth > 0)
            if not logical:
                degrees = truth
            elif hasattr(model.estimator, "enhance"):
                recovered = (labels == 1).any(axis=1)
                if not get_tags(model.estimator).unknown_labels:
                    recovered &= ~np.isnan(labels).any(axis=1)
                degrees = np.full(labels.shape, np.nan)
                if recovered.any():
                    degrees[recovered] = model.estimator.enhance(X[recovered], labels[recovered])
    names = as_strings(frame.index.to_series() if id is None else frame[id])
    named = read_groups(frame[grouped[0]]) if grouped else None
    known = (X, predicted, labels, degrees, n_votes, recovered, named, messages + report.messages())
    return ModelRows(input.where, model, id or "row", names, frame[shown], *known)


def label_losses(P: Matrix, labels: Matrix) -> Matrix:
    """Negative log-probability of each 0/1 label given predicted degrees; NaN where a label is
    unknown.

    ``P(y_j = 1) = 1 - exp(-lambda p_j)``, lambda the maximum likelihood estimate from these rows.

    Examples
    --------
    >>> import numpy as np
    >>> label_losses(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(
    ...     4
    ... )  # ln 2
    array([[0.6931, 0.6931],
           [0.6931, 0.6931]])
    """
    Y, observed = split_observed(labels)
    logP = np.log(np.maximum(P, 1e-12))
    log_rate = profile_log_rate(logP, Y, weights=label_weights(None, observed))
    found = vote_losses(logP + log_rate, Y.astype(np.float64))
    return np.asarray(
        found if observed is None else np.where(observed, found, np.nan), dtype=np.float64
    )
