"""Fitted models on tables: predict, enhance and evaluate, and rows to look at."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ldlearn.compose.method_names import default_method, make_enhancer
from ldlearn.core.row_groups import Groups, Keys, hash_rows, join_groups
from ldlearn.core.simplex import Array, Mask
from ldlearn.core.targets import split_observed
from ldlearn.core.votes import label_weights, profile_log_rate, vote_losses
from ldlearn.exceptions import ParameterError, TableError
from ldlearn.metrics import get_metric
from ldlearn.metrics.against_baselines import (
    Score,
    describe_vote_scores,
    scorable_rows,
    score_with_baselines,
    wants_all,
)
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.columns import ColumnType, check_columns, find_columns_to_keep
from ldlearn.tables.files import PIPE, ReadingOptions, TableInput, find_label_file, prefix_errors
from ldlearn.tables.formats import open_table, write_table
from ldlearn.tables.labelled_table import read_labelled
from ldlearn.tables.model_files import load_table_model
from ldlearn.tables.options import (
    ColumnOptions,
    Columns,
    WritingOptions,
    check_meaningful,
)
from ldlearn.tables.source import Source
from ldlearn.tables.table_fit import (
    describe_classifier,
    describe_origin,
    held_out_scores,
    report_assumed_zeros,
)
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.training_rows import share_in_training
from ldlearn.tables.values import describe_repeated, import_pandas, read_groups
from ldlearn.tables.vote_recovery import VoteRecovery, score_recovery
from ldlearn.tables.writing import (
    WrittenTable,
    arrange_columns,
    as_strings,
    check_writing,
    name_uncertainty_columns,
    uncertainty_columns,
)

_LARGE_OVERLAP = 0.1  # share of training rows in a table that an evaluation mentions
_MAX_SHOWN = 5  # feature columns, if a table has neither texts nor columns to keep


@dataclass(frozen=True)
class Evaluation:
    """How good the predictions of a model are on rows whose labels are known.

    Attributes
    ----------
    rows : int
    truth : {"0/1 labels", "true degrees", "votes"}
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
    votes : float or None
        Number of votes, if these are the truth.
    recovery : VoteRecovery or None
        How well degrees recovered from half of the votes of a row predict the other half, if the
        estimator takes counts of votes.
    """

    rows: int
    truth: str
    scores: list[Score]
    better_than_baselines: bool
    warnings: list[str]
    messages: list[str]
    votes: float | None = None
    recovery: VoteRecovery | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "messages"}


def predict_table(
    data: str,
    model: str | TableModel,
    output: str = PIPE,
    *,
    id: str | None = None,
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write the degrees that a model predicts for the rows of a table, in constant memory.

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
    writing : WritingOptions, optional
        Format and decimals of the table to write, intervals, and further columns.
    reading : ReadingOptions, optional
    """
    loaded = load_table_model(model)
    writing = check_writing(output, [data, model], writing)
    input = loaded.make_input(data, reading)
    return _write_in_chunks(input, loaded, loaded.predict, output, writing, id)


def enhance_table(
    data: str,
    model: str | TableModel,
    output: str = PIPE,
    *,
    labels: str | None = None,
    columns: ColumnOptions = ColumnOptions(),
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write the degrees of rows whose labels are known, by a fitted model.

    The labels are 0/1, or counts of votes if the estimator takes these.

    Parameters
    ----------
    data, model, output, writing, reading
        As for `predict_table`.
    labels : str, optional
        A NumPy file of the labels, if the table is one of features only.
    columns : ColumnOptions, optional
        Of these ``id``, ``kind``, ``blank`` and ``empty_rows``; the model knows its own columns.
    """
    _check_label_file(labels)
    check_meaningful(columns, ("id", "kind", "blank", "empty_rows"))
    writing = check_writing(output, [data, model, labels], writing)
    loaded = load_table_model(model)
    with prefix_errors(model if isinstance(model, str) else "the model"):
        loaded.check_can_enhance()
    enhance = partial(
        loaded.enhance, kind=columns.kind, blank=columns.blank, empty_rows=columns.empty_rows
    )
    input = loaded.make_input(data, reading, labels)
    written = _write_in_chunks(
        input, loaded, enhance, output, writing, columns.id, with_labels=True
    )
    if loaded.facts["label_kind"] == "degrees":
        written.messages.append("the model was fitted on degrees, not on 0/1 labels.")
    return written


def fit_enhance_table(
    data: str,
    labels: Columns,
    output: str = PIPE,
    *,
    method: str | None = None,
    params: Mapping[str, Any] | None = None,
    columns: ColumnOptions = ColumnOptions(),
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write the degrees of rows whose labels are known, by a method fitted on these rows.

    Parameters
    ----------
    data, labels, params, columns
        As for `fit_table`.
    method : str, optional
        An enhancer or a joint model; by default `DLDL`, and `CountLDL` if ``columns`` declares
        votes.
    output, writing, reading
        As for `predict_table`.
    """
    writing = check_writing(output, [data], writing)
    estimator = make_enhancer(method or default_method(columns.kind), params, columns.zeros)
    table = read_labelled(data, labels, columns, reading, writing.keep)
    names = table.columns.labels
    added = name_uncertainty_columns(estimator, names, writing, "enhance")
    if added and table.labels.kind != "auto" and not get_tags(estimator).counts:
        raise ParameterError(
            f"with {type(estimator).__name__}, interval and flag_far are for 0/1 labels, not for "
            "votes or known degrees; leave them out, or use CountLDL for votes."
        )
    with prefix_errors(table.input.where):
        model, X, targets = TableModel.fit_labelled(table, estimator, None)
    # What the fit recovered: not every method can enhance rows as if they were new.
    degrees = import_pandas().DataFrame(model.estimator.label_distributions_, columns=names)
    further = uncertainty_columns(model.estimator, names, writing, X, targets.y)
    if writing.interval is not None:
        _widen_intervals(further, degrees)
    degrees = degrees.assign(**further)
    rows = arrange_columns(
        table.frame, degrees, table.columns.id, table.columns.kept, len(names), writing
    )
    write_table(output, [rows], names, writing)
    report_assumed_zeros(table, estimator, columns, params)
    return WrittenTable(len(degrees), names, output, model.facts["warnings"])


def _widen_intervals(bounds: dict[str, Any], degrees: Any) -> None:
    """Make intervals contain the degrees, which may come from models fitted without their rows."""
    for name in degrees.columns:
        bounds[f"{name}_low"] = np.minimum(bounds[f"{name}_low"], degrees[name])
        bounds[f"{name}_high"] = np.maximum(bounds[f"{name}_high"], degrees[name])


def _check_label_file(labels: str | None) -> None:
    if labels is not None and find_label_file(labels) is None:
        raise ParameterError(
            "labels has no meaning beside a model unless it is a NumPy file (.npy); leave it out."
        )


def evaluate_table(
    data: str,
    model: str | TableModel,
    *,
    metrics: Sequence[str] | str | None = None,
    labels: str | None = None,
    columns: ColumnOptions = ColumnOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> Evaluation:
    """Score the predictions of a model against the true degrees, 0/1 labels or votes of a table.

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
    columns : ColumnOptions, optional
        Of these ``kind`` and ``blank``. Votes are compared by their log-probability, and a row
        counts as often as it has votes; a model whose estimator takes counts of votes expects
        them, unless the labels of each row sum to 1. Of 0/1 labels mixed with degrees it is
        compared which are not 0.
    reading : ReadingOptions, optional
    """
    if metrics is not None and not wants_all(metrics):
        for name in metrics:
            get_metric(name)  # a wrong name fails before the table is read
    _check_label_file(labels)
    check_meaningful(columns, ("kind", "blank"))
    loaded = load_table_model(model)
    input = loaded.make_input(data, reading, labels)
    with open_table(input) as source:
        report = CellReport(source.decimal)
        groups = _find_column(source, loaded, "groups")
        frame = source.read(columns_to_read(source, loaded, [groups]), sparse=True)
        found_labels = loaded.read_labels(frame, columns.blank, columns.kind)
        found_labels = found_labels.resolve_kind(loaded.estimator)
        truth, n_votes, logical, messages = found_labels.to_evaluation_targets(
            weighted=get_tags(loaded.estimator).counts
        )
        X = loaded.transform(frame, report)
    if not scorable_rows(truth, logical).any():
        known = "a label that is known" if n_votes is None else "votes"
        raise TableError(f"no row has {known}, so there is nothing to compare with.")
    keys = hash_rows(X)
    named_groups = keys if groups is None else read_groups(frame[groups])
    units = join_groups(keys, named_groups)
    by_classifier = None
    if loaded.classifier is not None:
        by_classifier = loaded.classifier.predict(X)
    found = score_with_baselines(
        truth,
        loaded.estimator.predict(X),
        np.asarray(loaded.facts["mean_distribution"]),
        by_classifier,
        logical,
        metrics,
        n_votes,
        units,
    )
    warnings = []
    if not found["better_than_baselines"]:
        warnings.append("The predictions are no better than one prediction for all rows.")
    warnings.append(describe_classifier(found, logical))
    recovery = None
    if n_votes is not None:
        recovery, problem = score_recovery(loaded.estimator, X, found_labels.values, units)
        warnings.append(problem)
        messages.append(describe_vote_scores(len(loaded.labels)))
    warnings.append(_describe_training_rows(loaded, input, keys, found["scores"]))
    return Evaluation(
        found["rows"],
        _name_truth(logical, n_votes),
        found["scores"],
        found["better_than_baselines"],
        list(filter(None, warnings)),
        messages + report.messages(),
        found["votes"],
        recovery,
    )


def _name_truth(logical: bool, n_votes: Array | None) -> str:
    if n_votes is not None:
        return "votes"
    return "0/1 labels" if logical else "true degrees"


def _describe_training_rows(
    model: TableModel, input: TableInput, keys: Keys, scores: list[Score]
) -> str:
    """That these are scores of training rows, with those of held-out rows; empty if few are."""
    checksum = describe_origin(input.where).get("sha256")
    share = share_in_training(model.training_keys, keys)
    # Where training rows are alike, new rows are like them, too.
    repeated = (model.facts["repeated_rows"] or 0) / model.facts["rows"]
    if checksum is not None and checksum == model.facts["source"].get("sha256"):
        finding = (
            f"{input.where} is the table that the model was fitted on, "
            "so these scores are not those of new rows"
        )
    elif share >= repeated + _LARGE_OVERLAP:
        n_shared = round(share * len(keys))
        finding = (
            f"{n_shared:,} of {len(keys):,} rows have the features of training rows, "
            "so these scores may be better than those of new rows"
        )
    else:
        return ""
    held_out = {score.name: score.model for score in held_out_scores(model.facts)}
    common = []
    for score in scores:
        if score.name in held_out:
            common.append(f"{score.title} {held_out[score.name]:.4f}")
    if not common:
        return f"{finding}; it has none of held-out rows."
    return f"{finding}; on held-out rows the model had {', '.join(common)}."


def _write_in_chunks(
    input: TableInput,
    model: TableModel,
    apply: Callable[..., Any],
    output: str,
    writing: WritingOptions,
    id: str | None,
    with_labels: bool = False,
) -> WrittenTable:
    """Apply a model to a table in chunks, which have label columns if ``with_labels``."""
    count = 0
    labels = model.labels
    verb = "enhance" if with_labels else "predict"
    added = name_uncertainty_columns(model.estimator, labels, writing, verb)
    ids: list[Any] = []
    # What an estimator warns of for every chunk is reported once.
    warned = warnings.catch_warnings(record=True, action="always", category=UserWarning)
    with warned as caught, open_table(input) as source:
        report = CellReport(source.decimal)
        id = _find_column(source, model, "id", id)
        kept = find_columns_to_keep(source, writing.keep, id, labels)
        kinds = columns_to_read(source, model, [id, *kept], with_labels)

        def tables() -> Iterator[Any]:
            nonlocal count
            for frame in source.chunks(kinds):
                degrees = apply(frame, report, writing=writing)
                if len(degrees) < len(frame):
                    frame = frame.take(frame.index.get_indexer(degrees.index))
                count += len(frame)
                if with_labels and id is not None:  # predict needs constant memory
                    ids.append(frame[id])
                yield arrange_columns(frame, degrees, id, kept, len(labels), writing)
            if not count:  # a table without rows still has columns
                pandas = import_pandas()
                frame = pandas.DataFrame(columns=list(kinds))
                degrees = pandas.DataFrame(columns=[*labels, *added], dtype=float)
                yield arrange_columns(frame, degrees, id, kept, len(labels), writing)

        write_table(output, tables(), labels, writing)
    messages = report.messages()
    if ids:
        messages += describe_repeated(import_pandas().concat(ids))
    messages += dict.fromkeys(str(each.message) for each in caught or ())
    return WrittenTable(count, list(labels), output, messages)


def columns_to_read(
    source: Source,
    model: TableModel,
    beside: Sequence[str | None] = (),
    with_labels: bool = True,
) -> dict[str, str]:
    """The columns that a model needs and those ``beside`` them; missing ones are an error."""
    check_columns(source.names, model.features, "feature")
    kinds = dict.fromkeys(filter(None, beside), "text")
    kinds |= dict.fromkeys(model.features, "text")
    kinds |= dict.fromkeys(model.numeric, "any")
    if with_labels:
        labels = model.label_columns(source.names)
        check_columns(source.names, labels, "label")
        kinds |= dict.fromkeys(labels, "any")
    return kinds


def _find_column(
    source: Source, model: TableModel, role: str, given: str | None = None
) -> str | None:
    """The column of ids or groups: that which is given, or that of the model if it is there."""
    if given is None:
        usual = getattr(model, role)
        return usual if usual in source.names else None
    check_columns(source.names, [given], role)
    if given in model.labels:
        raise TableError(f"the column {given!r} is a label and cannot be the {role}.")
    return given


@dataclass(frozen=True)
class ModelRows:
    """Rows of a table, and what a model makes of them.

    Attributes
    ----------
    table : str
        Name of the table.
    model : TableModel
    cells : DataFrame
        The columns by which a reader recognises a row: those to keep, or the texts, or the first
        features. The index has the identifiers under the name of their column, or the numbers of
        the rows under the name "row".
    X : array or CSR matrix of shape (n_samples, n_features)
        What the estimator sees.
    predicted : ndarray of shape (n_samples, n_labels)
    labels : ndarray of shape (n_samples, n_labels) or None
        0/1, NaN where unknown and in rows without votes; None if the table has no label columns.
        Labels with votes or degrees above 0 are 1.
    counts : ndarray of shape (n_samples, n_labels) or None
        Counts of votes, if the estimator takes them.
    degrees : ndarray of shape (n_samples, n_labels) or None
        Recovered from 0/1 labels or from counts, or given as degrees or as votes for an estimator
        that does not take counts; NaN in rows without.
    n_votes : ndarray of shape (n_samples,) or None
        How many votes each row has, if the labels are counts of votes.
    recovered : boolean ndarray of shape (n_samples,)
        Rows whose degrees are recovered from 0/1 labels or from counts.
    groups : integer ndarray of shape (n_samples,) or None
        The groups that a column names.
    messages : list of str
        What the user should know.
    """

    table: str
    model: TableModel
    cells: Any
    X: Any
    predicted: Array
    labels: Array | None
    counts: Array | None
    degrees: Array | None
    n_votes: Array | None
    recovered: Mask
    groups: Groups | None
    messages: list[str]


def read_model_rows(
    data: Any,
    model: str | TableModel,
    columns: ColumnOptions,
    keep: Columns,
    reading: ReadingOptions,
) -> ModelRows:
    """Read all rows of a file or a data frame, and apply a model."""
    check_meaningful(columns, ("id", "groups", "kind", "blank"))
    model = load_table_model(model)
    input = model.make_input(data, reading)
    with open_table(input) as source:
        report = CellReport(source.decimal)
        id = _find_column(source, model, "id", columns.id)
        has_labels = not set(source.names).isdisjoint(model.label_columns(source.names))
        shown = find_columns_to_keep(source, keep, id, model.labels)
        shown = shown or list(model.types.select(ColumnType.TEXT) or model.features[:_MAX_SHOWN])
        groups = _find_column(source, model, "groups", columns.groups)
        kinds = columns_to_read(source, model, [id, *shown, groups], has_labels)
        frame = source.read(kinds)
        X = model.transform(frame, report)
        labels = counts = degrees = n_votes = None
        recovered = np.zeros(len(frame), dtype=bool)
        messages: list[str] = []
        if has_labels:
            takes_counts = get_tags(model.estimator).counts
            kind = columns.kind
            if kind == "auto" and not takes_counts and model.facts["label_kind"] == "votes":
                kind = "votes"
            found = model.read_labels(frame, columns.blank, kind).resolve_kind(model.estimator)
            takes_counts &= found.kind == "votes"
            truth, n_votes, logical, messages = found.to_evaluation_targets(weighted=takes_counts)
            labels = np.where(np.isnan(truth), np.nan, truth > 0)
            if takes_counts:
                counts = found.values
                messages = _describe_unvoted(counts)
                degrees, recovered = _recover_degrees(model.estimator, X, counts)
            elif not logical:
                degrees = truth
            elif hasattr(model.estimator, "enhance"):
                degrees, recovered = _recover_degrees(model.estimator, X, labels)
    names = as_strings(frame.index.to_series() if id is None else frame[id])
    return ModelRows(
        table=input.where,
        model=model,
        cells=frame[shown].set_axis(import_pandas().Index(names, dtype=object, name=id or "row")),
        X=X,
        predicted=model.estimator.predict(X),
        labels=labels,
        counts=counts,
        degrees=degrees,
        n_votes=n_votes,
        recovered=recovered,
        groups=None if groups is None else read_groups(frame[groups]),
        messages=messages + report.messages(),
    )


def _describe_unvoted(counts: Array) -> list[str]:
    """A message on the rows without votes, if there are any."""
    n_unvoted = np.sum(~counts.any(axis=1))
    if not n_unvoted:
        return []
    return [f"{n_unvoted:,} of {len(counts):,} rows have no votes: their degrees are predicted."]


def _recover_degrees(estimator: Any, X: Any, labels: Array) -> tuple[Array, Mask]:
    """Degrees of the rows that the estimator can enhance, and which these are.

    The labels are 0/1, or counts of votes if the estimator takes them.
    """
    recovered = np.any(labels > 0, axis=1)
    if not get_tags(estimator).unknown_labels:
        recovered &= ~np.isnan(labels).any(axis=1)
    degrees = np.full(labels.shape, np.nan)
    if recovered.any():
        degrees[recovered] = estimator.enhance(X[recovered], labels[recovered])
    return degrees, recovered


def label_losses(P: Array, labels: Array) -> Array:
    """Negative log-probability of each 0/1 label given predicted degrees; NaN where unknown.

    ``P(y_j = 1) = 1 - exp(-lambda p_j)``, lambda the maximum likelihood estimate from these rows.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.full((2, 2), 0.5)
    >>> label_losses(P, np.eye(2)).round(4)  # ln 2
    array([[0.6931, 0.6931],
           [0.6931, 0.6931]])
    """
    Y, observed = split_observed(labels)
    logP = np.log(np.maximum(P, 1e-12))
    log_rate = profile_log_rate(logP, Y, weights=label_weights(None, observed))
    losses = vote_losses(logP + log_rate, Y.astype(np.float64))
    if observed is not None:
        losses = np.where(observed, losses, np.nan)
    return losses
