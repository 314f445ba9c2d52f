"""The browse page: rows of a table with labels and degrees, to search, filter, sort, export."""

import base64
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from ldlearn.core.simplex import Array
from ldlearn.evaluation.formatting import strip_control_chars
from ldlearn.exceptions import InputError, ParameterError, TableError
from ldlearn.reporting.page import page_assets, script_json, template_environment
from ldlearn.tables import ReadingOptions, RowOptions, TableModel, WrittenTable
from ldlearn.tables.files import write_file
from ldlearn.tables.table_files import ModelRows, label_losses, read_model_rows

MAX_ROWS = 100_000  # of a page that phones can still open
_MAX_CHARS = 1000  # of a cell
_CUT = f"Texts are cut after {_MAX_CHARS:,} characters."
_MAX_TOGETHER = 25  # labels of the table of co-occurrence
_SCORES = {
    "entropy": "How evenly the degrees are spread over the labels (entropy in nats).",
    "interval width": "Mean width of the intervals of a row.",
    "disagreement": (
        "How improbable the 0/1 labels are under the prediction (negative log-likelihood)."
    ),
    "distance": "Distance from the training rows; 1 is the 99 % quantile of these.",
}


def write_browse_page(
    data: Any,
    model: str | TableModel,
    output: str,
    *,
    interval: float = 0.9,
    raters: float | None = None,
    rows: RowOptions = RowOptions(),
    reading: ReadingOptions = ReadingOptions(),
) -> WrittenTable:
    """Write a page to browse the rows of a table: one HTML file that needs no network.

    Parameters
    ----------
    data : str or DataFrame
        The table; "-" for standard input. Without label columns, only predictions are shown.
    model : str or TableModel
        The model, or its file. Intervals and distances are shown if it holds them (``fit
        --intervals``).
    output : str
        The page to write.
    interval : float, default=0.9
        Nominal coverage of the intervals.
    raters : float, optional
        Number of raters of a row, if known; see `ldlearn.DLDL.predict_interval`.
    rows : RowOptions, optional
        Columns to show, and how labels are read.
    reading : ReadingOptions, optional

    Returns
    -------
    WrittenTable
    """
    if not 0 < interval < 1:
        required = "above 0 and below 1, for example 0.9"
        raise ParameterError(f"interval must be {required}, got {interval:g}.")
    found = read_model_rows(data, model, output, rows, reading)
    labels = found.model.labels
    n = len(found.names)
    if n > MAX_ROWS:
        most = f"a page holds at most {MAX_ROWS:,} rows"
        raise TableError(f"{most}, this table has {n:,}; use a part of it.")
    series, scores, messages = _series_and_scores(found, interval, raters)
    given = None
    if found.labels is not None:
        given = _encode(np.nan_to_num(found.labels, nan=2.0), np.uint8)
    cells = []
    for name in found.cells.columns:
        texts = ["" if v != v or v is None else str(v) for v in found.cells[name]]
        if max(map(len, texts), default=0) > _MAX_CHARS and _CUT not in messages:
            messages.append(_CUT)
        cells.append(list(map(_shorten, texts)))
    encoded_scores = []
    for name, values in scores.items():
        encoded_scores.append({"name": name, "values": _encode(values, "<f4")})
    content = {
        "labels": labels,
        "id": found.id,
        "names": list(map(_shorten, found.names)),
        "columns": list(found.cells.columns),
        "cells": cells,
        "given": given,
        "series": [each.encoded() for each in series],
        "scores": encoded_scores,
    }
    context = {
        "title": Path(found.table).name,
        "labels": labels,
        "series": series,
        "interval": interval,
        "n_rows": n,
        "score_help": {name: _SCORES[name] for name in scores},
        "data": script_json(content),
    }
    context |= _summarize_labels(found, series, labels)
    context |= page_assets("style.css", "dom.js", "browse.js")
    write_file(output, str(template_environment().get_template("browse.html").render(context)))
    return WrittenTable(n, list(labels), output, found.messages + messages)


class _Series(NamedTuple):
    """Degrees of all rows with their intervals, if any."""

    name: str
    degrees: Array
    bounds: Any  # lower and upper ends, or None

    def encoded(self) -> dict[str, Any]:
        bounds = self.bounds
        return {
            "name": self.name,
            "degrees": _encode_degrees(self.degrees),
            "low": None if bounds is None else _encode_degrees(bounds[0]),
            "high": None if bounds is None else _encode_degrees(bounds[1]),
        }


def _series_and_scores(
    rows: ModelRows, interval: float, raters: float | None
) -> tuple[list[_Series], dict[str, Array], list[str]]:
    """Recovered or given and predicted degrees, scores to sort rows by, and messages."""
    estimator = rows.model.estimator
    posterior = _posterior(estimator)
    series = []
    messages: list[str] = []

    def find_bounds(verb: str, *inputs: Any) -> Any:
        if posterior is None:
            return None
        compute = getattr(estimator, f"{verb}_interval")
        try:
            with warnings.catch_warnings(
                record=True, action="always", category=UserWarning
            ) as caught:
                found = compute(*inputs, coverage=interval, n_raters=raters)
            messages.extend(str(each.message) for each in caught)
            return found
        except InputError as error:  # the model cannot give these
            messages.append(str(error))
            return None

    if rows.degrees is not None and not rows.recovered.any():
        series.append(_Series("given", rows.degrees, None))
    elif rows.degrees is not None:
        known = rows.recovered
        found = find_bounds("enhance", rows.X[known], rows.labels[known])  # type: ignore[index]
        bounds = None
        if found is not None:
            bounds = np.full((2, *rows.predicted.shape), np.nan)
            bounds[:, known] = found
        series.append(_Series("recovered", rows.degrees, bounds))
    series.append(_Series("predicted", rows.predicted, find_bounds("predict", rows.X)))
    scores: dict[str, Array] = {}
    # Of the predicted degrees where the others are unknown.
    for each in reversed(series):
        _fill_known(scores, "entropy", entr(each.degrees).sum(axis=1))
        if each.bounds is not None:
            low, high = each.bounds
            _fill_known(scores, "interval width", (high - low).mean(axis=1))
    if rows.labels is not None:
        scores["disagreement"] = np.nansum(label_losses(rows.predicted, rows.labels), axis=1)
        scores["disagreement"][np.isnan(rows.labels).all(axis=1)] = np.nan
    if posterior is not None:
        largest = np.quantile(posterior.leverage.distances, 0.99)
        scores["distance"] = posterior.leverage.distance(rows.X) / largest
    return series, scores, messages


def _fill_known(scores: dict[str, Array], name: str, values: Array) -> None:
    """Replace the values of a score where the new ones are known."""
    scores[name] = np.where(np.isnan(values), scores.get(name, values), values)


def _summarize_labels(
    rows: ModelRows, series: list[_Series], names: tuple[str, ...]
) -> dict[str, Any]:
    """Frequencies, means and histograms of the labels, and how often two are positive together."""
    Y = None if rows.labels is None else np.nan_to_num(rows.labels)
    counts = np.zeros(len(names)) if Y is None else Y.sum(axis=0)
    overview = []
    for j, name in enumerate(names):
        columns = {}
        means = {}
        for each in series:
            column = each.degrees[~np.isnan(each.degrees[:, j]), j]
            columns[each.name] = column
            means[each.name] = float(column.mean()) if len(column) else 0.0
        bins = np.histogram(columns[series[0].name], bins=10, range=(0, 1))[0]
        bars = (bins / max(bins.max(), 1)).tolist()
        overview.append({"name": name, "count": int(counts[j]), "means": means, "bins": bars})
    most = np.sort(np.argsort(-counts, kind="stable")[:_MAX_TOGETHER])
    together = None if Y is None else (Y[:, most].T @ Y[:, most]).astype(int).tolist()
    return {"overview": overview, "together": together, "most": [names[j] for j in most]}


def _posterior(estimator: Any) -> Any:
    """What intervals and distances need; None if the model does not hold it."""
    try:
        return estimator.compute_posterior() if hasattr(estimator, "compute_posterior") else None
    except InputError:  # of a file without --intervals
        return None


def _shorten(text: str) -> str:
    text = strip_control_chars(text)
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"


def _encode(values: Any, dtype: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _encode_degrees(degrees: Array) -> str:
    """Degrees in ten-thousandths; 65535 where unknown."""
    return _encode(np.nan_to_num(np.rint(1e4 * degrees), nan=65535), "<u2")
