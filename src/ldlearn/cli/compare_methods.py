"""`ldlearn compare-methods`: a plan for one table, its run and its report, in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import note_about_table, say
from ldlearn.cli.run_tables import run_and_show
from ldlearn.exceptions import MissingDependencyError
from ldlearn.experiments import plan_for_table
from ldlearn.experiments.own_table import METHODS
from ldlearn.reporting import write_report
from ldlearn.tables.column_kinds import describe_kinds
from ldlearn.tables.source import PIPE


def compare_methods(
    data: opt.Data,
    labels: opt.Labels,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder of the run; default: DATA-methods.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="NAMES", help="As DLDL,VoteLDL,GLLE+SABFGS; default: seven usual ones.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Shuffled splits into training and test rows.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the splits.")] = 0,
    *,
    features: opt.FeatureOptionsWithoutEmbedding,
    style: opt.StyleOptions,
    jobs: opt.Jobs = 1,
    quiet: opt.Quiet = False,
    log: opt.Log = False,
) -> None:
    """Try several methods on a table: which suits it, and how much they differ.

    The labels may be 0/1, counts of votes, or degrees. Without a truth, methods are judged by how likely they make 0/1
    labels held out, and by each other. Columns are treated as `fit` treats them, on the training rows of each split.

    \b
    ldlearn compare-methods data.csv --labels sky,mountain,sea --id photo
    ldlearn compare-methods votes.csv -l joy:fear --methods DLDL,GLLE+SABFGS -o run
    """
    if data == PIPE:
        raise typer.BadParameter("a run reads its table again when it continues; name a file.", param_hint="DATA")
    names, columns = opt.split_names(methods) or METHODS, vars(features) | vars(style)
    plan, table = plan_for_table(
        data, labels, methods=names, repeats=repeats, seed=seed, columns=columns, say=note_about_table
    )
    folder = output or Path(f"{plan.name}-methods")
    if not quiet:
        for line in [*describe_kinds(table.kinds.in_words()), *table.junk.sentences()]:
            note_about_table(line)
    # The table is handed over as it was read for the plan, not read a second time.
    run_and_show(plan, folder, jobs=jobs, quiet=quiet, log=log, loaded={plan.datasets[0].name: table})
    try:
        page = write_report(folder)
    except MissingDependencyError as error:  # the tables are printed, and `ldlearn report` can follow later
        note_about_table(f"no report was written: {error}")
        return
    if not quiet:
        say(f"Report: {page}")
