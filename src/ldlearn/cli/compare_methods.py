"""`ldlearn compare-methods`: a plan for one table, its run and its report, in one line."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import log as log_message
from ldlearn.cli.console import print_result
from ldlearn.cli.run import run_and_report
from ldlearn.exceptions import MissingDependencyError
from ldlearn.experiments import plan_for_table
from ldlearn.experiments.own_table import METHODS
from ldlearn.reporting import write_report
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.source import PIPE


def compare_methods(
    data: opt.Data,
    labels: opt.Labels,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder of the run; default: DATA-methods.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="NAMES", help="As DLDL,VoteLDL,GLLE+SABFGS; default: seven common ones.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Random splits into training and test rows.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the splits.")] = 0,
    *,
    features: opt.FeatureOptions,
    dialect: opt.DialectOptions,
    jobs: opt.Jobs = 1,
    quiet: opt.Quiet = False,
    log: opt.Log = False,
) -> None:
    """Compare several methods on a table: which fits best, how much they differ.

    Labels may be 0/1, counts of votes, or degrees. Without true degrees, methods are compared by the likelihood of
    held-out 0/1 labels and by their agreement. Columns are preprocessed as by `fit`, on training rows only.

    \b
    ldlearn compare-methods data.csv --labels sky,mountain,sea --id photo
    ldlearn compare-methods votes.csv -l joy:fear --methods DLDL,GLLE+SABFGS -o run
    """
    if data == PIPE:
        raise typer.BadParameter("a run reads its table again when it continues; name a file.", param_hint="DATA")
    names, columns = opt.split_names(methods) or METHODS, vars(features) | vars(dialect)
    options: dict[str, Any] = {"repeats": repeats, "seed": seed, "columns": columns, "on_message": log_message}
    plan, table = plan_for_table(data, labels, methods=names, **options)
    folder = output or Path(f"{plan.name}-methods")
    if not quiet:
        for line in [*describe_types(table.types.describe()), *table.report.messages()]:
            log_message(line)
    # The table that was read for the plan is not read a second time.
    run_and_report(plan, folder, jobs=jobs, quiet=quiet, log=log, loaded={plan.datasets[0].name: table})
    try:
        page = write_report(folder)
    except MissingDependencyError as error:  # the tables are printed, and `ldlearn report` can follow later
        log_message(f"no report was written: {error}")
        return
    if not quiet:
        print_result(f"Report: {page}")
