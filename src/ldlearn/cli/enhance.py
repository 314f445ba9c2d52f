"""`ldlearn enhance`: degrees for rows with 0/1 labels."""

from __future__ import annotations

from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import check_one_stdout, log, progress_unless_printed, report_written
from ldlearn.tables import enhance_table
from ldlearn.tables.source import PIPE


def enhance(
    data: opt.Data,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="FILE", help="A fitted model, or:")] = None,
    labels: Annotated[str | None, typer.Option("--labels", "-l", metavar="COLS", help="Labels to fit on.")] = None,
    output: opt.Output = PIPE,
    *,
    features: opt.FeatureOptions,
    method: opt.Method = None,
    set: opt.Settings = None,
    separator: opt.Separator = None,
    embedding: opt.Embedding = None,
    format: opt.From = None,
    dialect: opt.DialectOptions,
    writing: opt.WritingOptions,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Turn the 0/1 labels of rows into degrees: by a fitted model, or by a method.

    \b
    ldlearn enhance data.csv --model model.ldl -o degrees.csv
    ldlearn enhance data.csv --labels sky,sea --method PriorLE -o degrees.csv
    """
    check_one_stdout(output, as_json)
    if (model is None) == (labels is None):
        raise typer.BadParameter("give either --model, or --labels to fit on.", param_hint="--model")
    if model is not None:
        opt.load_embedding(embedding, model)
    elif embedding is not None:
        raise typer.BadParameter("only a model that was fitted with one takes it.", param_hint="--embedding")
    written = enhance_table(
        data,
        output,
        model=model,
        labels=labels,
        **vars(features),
        method=method,
        params=dict(set or ()),
        separator=separator,
        format=format,
        dialect=dialect,
        on_message=log,
        **vars(writing),
        overwrite=not no_clobber,
        progress=progress_unless_printed(output),
    )
    report_written(written, as_json)
