"""`ldlearn fit`: from a table of features and labels to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import note_about_table, progress, say, show_json, show_quality
from ldlearn.compose.method_names import DEFAULT_METHOD, method_name
from ldlearn.exceptions import format_list
from ldlearn.tables import describe_model, fit_table, import_embedding
from ldlearn.tables.column_kinds import describe_kinds

_HOLDOUT = 0.2


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
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", show_default=False, help="Rows to check on; default 0.2.")
    ] = _HOLDOUT,
    format: opt.From = None,
    style: opt.StyleOptions,
    scheduler: opt.Scheduler = None,
    no_clobber: opt.NoClobber = False,
    as_json: opt.Json = False,
) -> None:
    """Fit a model on a table with 0/1 label columns, and say how far to trust it.

    A label may be empty where it is unknown.

    \b
    ldlearn fit data.csv --labels sky,mountain,sea --id key -o model.ldl
    ldlearn fit data.csv -l 'emo_*' --features x1:x20 --set alpha=0.1 -o m.ldl
    ldlearn fit 'part-*.parquet' -l a,b,c --scheduler tcp://host:8786 -o m.ldl
    """
    # Model files have a suffix of their own, so that a slip does not overwrite the data.
    if Path(output).suffix != ".ldl":
        raise typer.BadParameter(f"a model file ends in .ldl, {output!r} does not.", param_hint="-o")
    wanted: dict[str, Any] = {"method": method or DEFAULT_METHOD, "overwrite": not no_clobber, **vars(features)}
    wanted["params"] = dict(set or ())
    if scheduler is not None:
        # What a cluster would not look at is refused, so that nobody believes that it was done.
        alone = {"--kind": kind != "auto", "--separator": separator, "--embedding": embedding, "--from": format}
        alone |= {"--holdout": holdout != _HOLDOUT} | {f"--{name}": value for name, value in vars(style).items()}
        if given := [name for name, value in alone.items() if value]:
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
            holdout=holdout,
            kind=kind,
            separator=separator,
            format=format,
            style=style,
            say=note_about_table,
            progress=progress,
        )
    if as_json:
        show_json({"model": output} | describe_model(model))
        return
    n, m, c = model.facts["rows"], len(model.features), len(model.labels)
    say(f"{method_name(model.estimator)} fitted on {n:,} rows, {m} features, {c} labels: {output}")
    for line in describe_kinds(model.facts["columns"]):
        say(f"  {line}")
    if missing := model.facts["missing"]:
        say(f"  missing values: {sum(missing.values()):,}, in {format_list(list(missing))}")
    if choice := getattr(model.estimator, "choice_", ""):
        say(f"Chosen by the 0/1 labels: {choice}.")
    show_quality(model.facts)
