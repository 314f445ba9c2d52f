"""`ldlearn evaluate`: how good the predictions of a model are on rows whose labels are known."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from ldlearn.cli.console import note, progress, score_table, show, show_json, size_of
from ldlearn.cli.options import Data, From, Json, Model
from ldlearn.cli.predict import column_kinds, load_table_model
from ldlearn.io.formats import open_table
from ldlearn.io.values import are_logical, check_degrees, to_labels
from ldlearn.metrics import LABEL_METRICS, METRICS, get_metric
from ldlearn.models import TableError
from ldlearn.models.scoring import advantage_over_mean, clearly_better, score_predictions


def evaluate(
    data: Data,
    model: Model,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Metrics, or all. Default: the usual ones for such labels.")
    ] = None,
    format: From = None,
    as_json: Json = False,
) -> None:
    """Score a model against true degrees or 0/1 labels, beside two floors.

    "mean" is the mean training distribution for every row, "uniform" equal shares.

    \b
    ldlearn evaluate test.csv --model model.ldl
    ldlearn evaluate test.parquet -m model.ldl --metrics cosine --json
    """
    names = None if metrics is None or metrics == "all" else [name.strip() for name in metrics.split(",")]
    for name in names or []:
        get_metric(name)  # a wrong name fails before the table is read
    loaded = load_table_model(model)
    truths, predictions, rows = [], [], []
    with progress("rows", size_of(data), is_bytes=True) as advance, open_table(data, format, advance) as source:
        for frame in source.chunks(column_kinds(source, loaded, loaded.labels)):
            truths.append(to_labels(frame, loaded.labels))
            predictions.append(loaded.predict(frame).to_numpy())
            rows.extend(frame.index)
        if not rows:
            raise TableError("the table has no rows.")
        truth, P = np.concatenate(truths), np.concatenate(predictions)
        if not are_logical(truth):
            truth = check_degrees(truth, loaded.labels, rows)
    mean, logical = np.asarray(loaded.facts["mean_distribution"]), are_logical(truth)
    if metrics == "all":
        names = list(LABEL_METRICS if logical else METRICS)
    scores = score_predictions(truth, P, mean, names, logical=logical)
    advantage, error_of = advantage_over_mean(truth, P, mean, logical)
    kind = "0/1 labels" if logical else "true degrees"
    if as_json:
        show_json(
            {
                "rows": len(P),
                "truth": kind,
                "scores": [score.as_dict() for score in scores],
                "better_than_floors": clearly_better(advantage, error_of),
            }
        )
        return
    show(score_table(scores, f"{len(P):,} rows, {kind}"))
    if not clearly_better(advantage, error_of):
        note("warning: the model predicts no better than the mean training distribution for every row.")
