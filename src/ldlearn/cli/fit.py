"""`ldlearn fit`: from a table of features and labels to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import log, print_json, print_result, progress, report_quality
from ldlearn.compose.method_names import DEFAULT_METHOD, method_name
from ldlearn.exceptions import format_list
from ldlearn.tables import describe_model, fit_table, import_embedding
from ldlearn.tables.column_types import describe_types


def fit(
    data: opt.Data,
    labels: opt.Labels,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Model to write, an .ldl file.")],
    *,
    features: opt.FeatureOptions,
    embedding: opt.Embedding = None,
    method: opt.Method = None,
    set: opt.Settings = None,
    kind: opt.LabelKind = "auto",
    separator: opt.Separator = None,
    holdout: Annotated[float | None, typer.Option(metavar="F", help="Fraction held out; default 0.2.")] = None,
    format: opt.From = None,
    dialect: opt.DialectOptions,
    scheduler: opt.Scheduler = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Fit a model on a table with 0/1 label columns, and score it on held-out rows.

    An empty label is unknown.

    \b
    ldlearn fit data.csv --labels sky,mountain,sea --id key -o model.ldl
    ldlearn fit data.csv -l 'emo_*' --features x1:x20 --set alpha=0.1 -o m.ldl
    ldlearn fit 'part-*.parquet' -l a,b,c --scheduler tcp://host:8786 -o m.ldl
    """
    # Model files have their own suffix, so that a slip does not overwrite the data.
    if Path(output).suffix != ".ldl":
        raise typer.BadParameter(f"a model file ends in .ldl, {output!r} does not.", param_hint="-o")
    wanted: dict[str, Any] = {"method": method or DEFAULT_METHOD, "overwrite": not no_clobber, **vars(features)}
    wanted["params"] = dict(set or ())
    if scheduler is not None:
        local = {"--kind": kind != "auto", "--separator": separator, "--embedding": embedding, "--from": format}
        local |= {"--holdout": holdout is not None} | {f"--{name}": value for name, value in vars(dialect).items()}
        if given := [name for name, value in local.items() if value]:
            problem = f"a cluster takes 0/1 label columns or degrees in plain files, and no {', '.join(given)}."
            raise typer.BadParameter(problem, param_hint="--scheduler")
        # only with a scheduler: it needs Dask
        from ldlearn.tables.table_parts import fit_parts

        model = fit_parts(data, labels, output, scheduler=scheduler, **wanted)
    else:
        model = fit_table(
            data,
            labels,
            output,
            **wanted,
            embedding=None if embedding is None else import_embedding(embedding),
            holdout=0.2 if holdout is None else holdout,
            kind=kind,
            separator=separator,
            format=format,
            dialect=dialect,
            on_message=log,
            progress=progress,
        )
    if as_json:
        print_json({"model": output} | describe_model(model))
        return
    n, m, c = model.facts["rows"], len(model.features), len(model.labels)
    print_result(f"{method_name(model.estimator)} fitted on {n:,} rows, {m} features, {c} labels: {output}")
    for line in describe_types(model.facts["columns"]):
        print_result(f"  {line}")
    if missing := model.facts["missing"]:
        print_result(f"  missing values: {sum(missing.values()):,}, in {format_list(list(missing))}")
    if choice := getattr(model.estimator, "choice_", ""):
        print_result(f"Chosen by the 0/1 labels: {choice}.")
    report_quality(model.facts)
