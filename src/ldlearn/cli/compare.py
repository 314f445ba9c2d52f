"""`ldlearn compare`: metrics between two files of distributions."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import note_about_table, say, show_json, show_table
from ldlearn.metrics import get_metric
from ldlearn.tables import compare_tables


def compare(
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="Table of the true distributions.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Table of what is compared with them.")],
    labels: Annotated[
        list[str] | None, typer.Option("--labels", "-l", metavar="COLS", help="Labels: a,b or emo_* or x1:x9.")
    ] = None,
    id: opt.Id = None,
    metrics: opt.Metrics = None,
    metric: Annotated[list[str] | None, typer.Option(hidden=True)] = None,  # what version 0.1.0 called it
    convention: Annotated[
        str, typer.Option(metavar="NAME", help="What happens to zeros: exact, pyldl, dldl, dldl-recovery.")
    ] = "exact",
    format: opt.From = None,
    *,
    style: opt.StyleOptions,
    as_json: opt.Json = False,
) -> None:
    """Compare two files of distributions, row by row: mean of every metric.

    Labels are matched by name, rows by the id: that of --id, or the one column of texts that both files have, or a
    first column of distinct whole numbers.

    \b
    ldlearn compare truth.csv predicted.csv --id key
    ldlearn compare truth.csv predicted.csv -l 'emo_*' --metrics clark,cosine
    """
    found = compare_tables(
        truth,
        other,
        labels=",".join(labels) if labels else None,
        id=id,
        # Both spellings together; None, not an empty list, stands for the default.
        metrics=[*(opt.split_names(metrics) or ()), *(metric or ())] or None,
        convention=convention,
        format=format,
        style=style,
        say=note_about_table,
    )
    if as_json:
        # JSON has neither NaN nor infinity; Python would write both, and other readers stop there.
        finite = {name: value if math.isfinite(value) else None for name, value in found.scores.items()}
        show_json({"rows": found.rows, "labels": found.labels, "id": found.id, "scores": finite})
        return
    rows = [(get_metric(name).heading, f"{value:.6g}") for name, value in found.scores.items()]
    show_table(["Metric", "Mean"], rows, numbers=1)
    matched = "in their order" if found.id is None else f"matched by {found.id}"
    say(f"{found.rows:,} rows {matched}, {len(found.labels)} labels.")
