"""`ldlearn compare`: metrics between two files of distributions."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import log, print_json, print_result, print_table
from ldlearn.metrics import get_metric
from ldlearn.tables import compare_tables


def compare(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="Table of the true distributions.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Table of other distributions.")],
    labels: Annotated[str | None, typer.Option("--labels", "-l", metavar="COLS", help="Default: all columns.")] = None,
    id: opt.Id = None,
    metrics: opt.Metrics = None,
    convention: Annotated[
        str, typer.Option(metavar="NAME", help="Treatment of zeros: exact, pyldl, dldl, dldl-recovery.")
    ] = "exact",
    format: opt.From = None,
    *,
    dialect: opt.DialectOptions,
    as_json: opt.Json = False,
) -> None:
    """Compare two files of distributions row by row: mean of every metric.

    Labels are matched by name, rows by the identifier: the column of --id, or the only text column of both files, or a
    first column of distinct whole numbers.

    \b
    ldlearn compare truth.csv predicted.csv --id key
    ldlearn compare truth.csv predicted.csv -l 'emo_*' --metrics clark,cosine
    """
    found = compare_tables(
        truth,
        other,
        labels=labels,
        id=id,
        metrics=opt.split_names(metrics),
        convention=convention,
        format=format,
        dialect=dialect,
        on_message=log,
    )
    if as_json:
        # JSON has neither NaN nor infinity; Python would write both, and other parsers would fail.
        finite = {name: value if math.isfinite(value) else None for name, value in found.scores.items()}
        print_json({"rows": found.rows, "labels": found.labels, "id": found.id, "scores": finite})
        return
    rows = [(get_metric(name).heading, f"{value:.6g}") for name, value in found.scores.items()]
    print_table(["Metric", "Mean"], rows, n_numeric=1)
    matched = "in their order" if found.id is None else f"matched by {found.id}"
    print_result(f"{found.rows:,} rows {matched}, {len(found.labels)} labels.")
