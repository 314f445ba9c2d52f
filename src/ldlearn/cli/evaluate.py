"""`ldlearn evaluate`: scores of the predictions of a model on labelled rows."""

from __future__ import annotations

from ldlearn.cli import options as opt
from ldlearn.cli.console import log, print_json, print_scores, progress, warn
from ldlearn.tables import evaluate_table


def evaluate(
    data: opt.Data,
    model: opt.Model,
    metrics: opt.Metrics = None,
    kind: opt.LabelKind = "auto",
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    as_json: opt.Json = False,
) -> None:
    """Score a model against true degrees or 0/1 labels, and compare with two baselines.

    "mean" predicts the mean training distribution for every row, "uniform" equal degrees.

    \b
    ldlearn evaluate test.csv --model model.ldl
    ldlearn evaluate test.parquet -m model.ldl --metrics cosine --json
    """
    opt.load_embedding(embedding, model)
    names = opt.split_names(metrics)
    found = evaluate_table(
        data, model, metrics=names, kind=kind, format=format, dialect=dialect, on_message=log, progress=progress
    )
    for message in found.messages:
        log(message)
    if as_json:
        print_json(found.as_dict())
        return
    print_scores(found.scores, f"{found.rows:,} rows, {found.truth}")
    if not found.better_than_baselines:
        warn("the predictions are no better than one prediction for all rows.")
