"""`ldlearn evaluate`: how good the predictions of a model are on rows whose labels are known."""

from __future__ import annotations

from ldlearn.cli import options as opt
from ldlearn.cli.console import note, note_about_table, progress, show_json, show_scores
from ldlearn.tables import evaluate_table


def evaluate(
    data: opt.Data,
    model: opt.Model,
    metrics: opt.Metrics = None,
    kind: opt.LabelKind = "auto",
    embedding: opt.Embedding = None,
    format: opt.From = None,
    *,
    style: opt.StyleOptions,
    as_json: opt.Json = False,
) -> None:
    """Score a model against true degrees or 0/1 labels, beside two baselines.

    "mean" is the mean training distribution for every row, "uniform" equal shares.

    \b
    ldlearn evaluate test.csv --model model.ldl
    ldlearn evaluate test.parquet -m model.ldl --metrics cosine --json
    """
    opt.name_embedding(embedding, model)
    names = opt.split_names(metrics)
    found = evaluate_table(
        data, model, metrics=names, kind=kind, format=format, style=style, say=note_about_table, progress=progress
    )
    for text in found.notes:
        note_about_table(text)
    if as_json:
        show_json(found.as_dict())
        return
    show_scores(found.scores, f"{found.rows:,} rows, {found.truth}")
    if not found.better_than_baselines:
        note("warning: the predictions say no more of these rows than one prediction for all of them.")
