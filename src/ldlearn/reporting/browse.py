"""The browse page: rows of a table with labels and degrees, to search, filter, sort, export."""

import base64
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr
from sklearn.utils import get_tags

from ldlearn.core.simplex import Array, log_degrees
from ldlearn.core.targets import votes_to_degrees
from ldlearn.evaluation.formatting import strip_control_chars
from ldlearn.exceptions import InputError, ParameterError, TableError
from ldlearn.reporting.page import page_script, template_environment
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    TableModel,
    WritingOptions,
    WrittenTable,
)
from ldlearn.tables.ask import vote_gains
from ldlearn.tables.files import write_file
from ldlearn.tables.formats import check_output
from ldlearn.tables.table_files import ModelRows, label_losses, read_model_rows

MAX_ROWS = 100_000  # of a page that phones can still open
_MAX_CHARS = 1000  # of a cell
_CUT = f"Texts are cut after {_MAX_CHARS:,} characters."
_MAX_TOGETHER = 25  # labels of the table of co-occurrence
_MEANINGS = {
    "share": "share of the votes of the row",
    "given": "given degree",
    "recovered": "recovered degree: from labels and features",
    "predicted": "predicted degree: from features alone",
    "entropy": "How evenly the degrees are spread over the labels (entropy in nats).",
    "interval width": "Mean width of the intervals of a row.",
    "disagreement": (
        "How improbable the 0/1 labels are under the prediction (negative log-likelihood)."
    ),
    "votes": "Number of votes of the row.",
    "gain of a vote": (
        "By how much one more vote is expected to reduce the variance of the degrees."
    ),
    "distance": "Distance from the training rows; 1 is the 99 % quantile of these.",
}
_MEANINGS_OF_COUNTS = _MEANINGS | {
    "recovered": "recovered degree: from votes and features",
    "disagreement": (
        "How improbable the votes are under the prediction (mean negative log-probability of a "
        "vote)."
    ),
}


def write_browse_page(
    data: Any,
    model: str | TableModel,
    output: str,
    *,
    interval: float = 0.9,
    raters: float | None = None,
    columns: ColumnOptions = ColumnOptions(),
    writing: WritingOptions = WritingOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write a page to browse the rows of a table: one HTML file that needs no network.

    Parameters
    ----------
    data : str or DataFrame
        The table; "-" for standard input. Without label columns, only predictions are shown.
    model : str or TableModel
        The model, or its file. Of models of counts, each row has its votes too. Intervals and
        distances of others are shown if the model holds them (``fit --intervals``).
    output : str
        The page to write.
    interval : float, default=0.9
        Nominal coverage of the intervals.
    raters : float, optional
        Number of raters of a row, if known; see `ldlearn.DLDL.predict_interval`. Not for models of
        counts, which know it.
    columns : ColumnOptions, optional
        Of these ``id``, ``kind`` and ``blank``.
    writing : WritingOptions, optional
        Of these ``keep``, the columns to show, and ``overwrite``.
    reading : ReadingOptions, optional

    Returns
    -------
    WrittenTable
    """
    if not 0 < interval < 1:
        required = "above 0 and below 1, for example 0.9"
        raise ParameterError(f"interval must be {required}, got {interval:g}.")
    check_output(output, [data, model], overwrite=writing.overwrite)
    found = read_model_rows(data, model, columns, writing.keep, reading)
    labels = found.model.labels
    n_rows = len(found.cells)
    if n_rows > MAX_ROWS:
        most = f"a page holds at most {MAX_ROWS:,} rows"
        raise TableError(f"{most}, this table has {n_rows:,}; use a part of it.")
    takes_counts = get_tags(found.model.estimator).counts
    if takes_counts and raters is not None:
        reason = "for a model of counts, which knows the number of votes of each row"
        raise ParameterError(f"raters has no meaning {reason}; leave it out.")
    posterior = _posterior(found.model.estimator)
    series, messages = _find_series(found, posterior, interval, raters)
    scores = _find_scores(found, posterior, series)
    content: dict[str, Any] = {
        "labels": labels,
        "id": found.cells.index.name,
        "names": list(map(_shorten, found.cells.index)),
        "columns": list(found.cells.columns),
        "cells": [],
        "given": None,
        "counts": None,
        "series": [],
        "scores": [],
    }
    cells = found.cells.astype(object).where(found.cells.notna(), "")
    for name in cells:
        texts = list(map(str, cells[name]))
        if max(map(len, texts)) > _MAX_CHARS and _CUT not in messages:
            messages.append(_CUT)
        content["cells"].append(list(map(_shorten, texts)))
    if found.labels is not None:
        content["given"] = _encode(np.nan_to_num(found.labels, nan=2.0), np.uint8)
    if found.counts is not None:
        content["counts"] = _encode(found.counts, "<f8")
    for each in series:
        content["series"].append(
            {
                "name": each.name,
                "degrees": _encode_degrees(each.degrees),
                "low": _encode_degrees(each.low),
                "high": _encode_degrees(each.high),
            }
        )
    for name, values in scores.items():
        content["scores"].append({"name": name, "values": _encode(values, "<f4")})
    page = (
        template_environment()
        .get_template("browse.html")
        .render(
            title=Path(found.table).name,
            labels=labels,
            series=series,
            interval=interval,
            n_rows=n_rows,
            meanings=_MEANINGS_OF_COUNTS if takes_counts else _MEANINGS,
            scores=list(scores),
            data=content,
            **_summarize_labels(found, series),
            **page_script("dom.js", "browse.js"),
        )
    )
    write_file(output, page)
    return WrittenTable(n_rows, list(labels), output, found.messages + messages)


class _Series(NamedTuple):
    """Degrees of all rows, and the ends of their intervals if they are known."""

    name: str
    degrees: Any
    low: Any = None
    high: Any = None


def _posterior(estimator: Any) -> Any:
    """What intervals and distances need; None if the model does not hold it."""
    if not hasattr(estimator, "compute_posterior"):
        return None
    try:
        return estimator.compute_posterior()
    except InputError:  # of a file without --intervals
        return None


def _find_series(
    rows: ModelRows, posterior: Any, interval: float, raters: float | None
) -> tuple[list[_Series], list[str]]:
    """Recovered or given degrees, if there are any, then predicted degrees; and messages."""
    messages: list[str] = []
    options = {"coverage": interval, "n_raters": raters}
    gives_intervals = posterior is not None
    if get_tags(rows.model.estimator).counts:
        del options["n_raters"]
        gives_intervals = hasattr(rows.model.estimator, "predict_interval")

    def find_bounds(verb: str, known: Any, *inputs: Any) -> Any:
        if not gives_intervals:
            return ()
        bounds = np.full((2, *rows.predicted.shape), np.nan)
        compute = getattr(rows.model.estimator, f"{verb}_interval")
        try:
            with warnings.catch_warnings(
                record=True, action="always", category=UserWarning
            ) as caught:
                bounds[:, known] = compute(*inputs, **options)
        except InputError as error:  # the model cannot give these
            messages.append(str(error))
            return ()
        messages.extend(str(each.message) for each in caught)
        return bounds

    series = []
    labels: Any = rows.labels if rows.counts is None else rows.counts
    known = rows.recovered
    if known.any():
        bounds = find_bounds("enhance", known, rows.X[known], labels[known])
        series.append(_Series("recovered", rows.degrees, *bounds))
    elif rows.degrees is not None and not np.isnan(rows.degrees).all():
        series.append(_Series("given", rows.degrees))
    bounds = find_bounds("predict", slice(None), rows.X)
    series.append(_Series("predicted", rows.predicted, *bounds))
    return series, messages


def _find_scores(rows: ModelRows, posterior: Any, series: list[_Series]) -> dict[str, Array]:
    """Scores to sort rows by; of the predicted degrees where the others are unknown."""
    scores: dict[str, Array] = {}
    for each in reversed(series):
        _fill_known(scores, "entropy", entr(each.degrees).sum(axis=1))
        if each.low is not None:
            _fill_known(scores, "interval width", (each.high - each.low).mean(axis=1))
    if rows.counts is not None:
        shares, n_votes = votes_to_degrees(rows.counts)
        scores["disagreement"] = -np.sum(shares * log_degrees(rows.predicted), axis=1)
        scores["votes"] = n_votes
    elif rows.labels is not None:
        scores["disagreement"] = np.nansum(label_losses(rows.predicted, rows.labels), axis=1)
        scores["disagreement"][np.isnan(rows.labels).all(axis=1)] = np.nan
    gains = vote_gains(rows)
    if gains is not None:
        scores["gain of a vote"] = gains
    if posterior is not None:
        largest = np.quantile(posterior.leverage.distances, 0.99)
        scores["distance"] = posterior.leverage.distance(rows.X) / largest
    return scores


def _fill_known(scores: dict[str, Array], name: str, values: Array) -> None:
    """Replace the values of a score where the new ones are known."""
    scores[name] = np.where(np.isnan(values), scores.get(name, values), values)


def _summarize_labels(rows: ModelRows, series: list[_Series]) -> dict[str, Any]:
    """Frequencies, means and histograms of the labels, and how often two are positive together."""
    names = rows.model.labels
    Y = np.zeros(rows.predicted.shape) if rows.labels is None else np.nan_to_num(rows.labels)
    counts = Y.sum(axis=0).astype(int)
    total = len(Y)
    if rows.counts is not None:
        counts = rows.counts.sum(axis=0)
        total = counts.sum()
    overview = []
    for j, name in enumerate(names):
        means = {}
        for each in series:
            known = each.degrees[~np.isnan(each.degrees[:, j]), j]
            means[each.name] = known.sum() / max(len(known), 1)
        bins = np.histogram(series[0].degrees[:, j], bins=10, range=(0, 1))[0]
        bars = bins / max(bins.max(), 1)
        overview.append(
            {
                "name": name,
                "count": counts[j],
                "part": counts[j] / (total or 1),
                "means": means,
                "bins": bars,
            }
        )
    most = np.sort(np.argsort(-counts, kind="stable")[:_MAX_TOGETHER])
    together = None
    if rows.labels is not None:
        together = (Y[:, most].T @ Y[:, most]).astype(int)
    return {
        "overview": overview,
        "together": together,
        "most": [names[j] for j in most],
    }


def _shorten(text: str) -> str:
    text = strip_control_chars(text)
    if len(text) > _MAX_CHARS:
        text = text[: _MAX_CHARS - 1] + "…"
    return text


def _encode(values: Any, dtype: Any) -> str:
    return base64.b64encode(np.asarray(values, dtype=dtype).tobytes()).decode()


def _encode_degrees(degrees: Array | None) -> str | None:
    """Degrees in ten-thousandths; 65535 where unknown."""
    if degrees is None:
        return None
    return _encode(np.nan_to_num(np.rint(1e4 * degrees), nan=65535), "<u2")
