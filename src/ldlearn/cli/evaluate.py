"""`ldlearn evaluate`: how good the predictions of a model are on rows whose labels are known."""

from __future__ import annotations

from ldlearn.cli.console import note, progress, say_of_table, score_table, show, show_json
from ldlearn.cli.options import (
    Data,
    Decimal,
    Delimiter,
    Embedding,
    Encoding,
    From,
    Json,
    LabelKind,
    Metrics,
    Model,
    name_embedding,
    split_names,
)
from ldlearn.io.text_style import TextStyle
from ldlearn.models import evaluate_table
from ldlearn.models.table_files import ALL_METRICS


def evaluate(
    data: Data,
    model: Model,
    metrics: Metrics = None,
    kind: LabelKind = "auto",
    embedding: Embedding = None,
    format: From = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    as_json: Json = False,
) -> None:
    """Score a model against true degrees or 0/1 labels, beside two floors.

    "mean" is the mean training distribution for every row, "uniform" equal shares.

    \b
    ldlearn evaluate test.csv --model model.ldl
    ldlearn evaluate test.parquet -m model.ldl --metrics cosine --json
    """
    name_embedding(embedding, model)
    names = ALL_METRICS if metrics == ALL_METRICS else split_names(metrics)
    found = evaluate_table(
        data,
        model,
        metrics=names,
        kind=kind,
        format=format,
        style=TextStyle(delimiter, decimal, encoding),
        say=say_of_table,
        progress=progress,
    )
    for text in found.notes:
        note(f"note: {text}")
    if as_json:
        show_json(found.as_dict())
        return
    show(score_table(found.scores, f"{found.rows:,} rows, {found.truth}"))
    if not found.better_than_floors:
        note("warning: the predictions say no more of these rows than one prediction for all of them.")
