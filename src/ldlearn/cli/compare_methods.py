"""`ldlearn compare-methods`: a plan for one table, its run and its report, in one line."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ldlearn.cli import options as opt
from ldlearn.cli.console import log as log_message
from ldlearn.cli.console import print_result
from ldlearn.cli.run import run_and_report
from ldlearn.exceptions import MissingDependencyError
from ldlearn.experiments import plan_for_table
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.own_table import best_method
from ldlearn.reporting import write_report
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.files import PIPE


def compare_methods(
    data: opt.Data,
    labels: opt.Labels,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder of the run; default: DATA-methods.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="NAMES", help="As DLDL,VoteLDL,GLLE+SABFGS; default: those that suit --zeros.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Random splits into training and test rows.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the splits.")] = 0,
    *,
    features: opt.FeatureOptions,
    cells: opt.LabelOptions,
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
    columns = vars(features) | vars(dialect) | {"blank": cells.blank, "empty_rows": cells.empty_rows}
    options: dict[str, Any] = {"repeats": repeats, "seed": seed, "columns": columns, "on_message": log_message}
    plan, table = plan_for_table(data, labels, methods=opt.split_names(methods), zeros=cells.zeros, **options)
    folder = output or Path(f"{plan.name}-methods")
    if not quiet:
        for line in [*describe_types(table.types.describe()), *table.report.messages()]:
            log_message(line)
    # The table that was read for the plan is not read a second time.
    found = run_and_report(plan, folder, jobs=jobs, quiet=quiet, log=log, loaded={plan.datasets[0].name: table})
    if not quiet and (best := best_method(plan, found.records)) is not None:
        spec, messages = best
        given = {"labels": labels} | vars(features) | vars(dialect) | vars(cells)
        for line in [*messages, f"Fit it: ldlearn fit {quote(data)} {_options(spec, given)} -o model.ldl"]:
            print_result(line)
    try:
        page = write_report(folder)
    except MissingDependencyError as error:  # the tables are printed, and `ldlearn report` can follow later
        log_message(f"no report was written: {error}")
        return
    if not quiet:
        print_result(f"Report: {page}")


def _options(spec: MethodSpec, given: dict[str, Any]) -> str:
    """The options of `fit` for a method of the plan, and those that were given here."""
    method = spec.estimator + (f"+{spec.learner}" if spec.learner else "")
    options = {"method": method} | {name: value for name, value in given.items() if value not in (None, "error")}
    settings = [f"--set {name}={value}" for name, value in spec.params.items() if name not in options]
    return " ".join(
        [*(f"--{name.replace('_', '-')} {quote(str(value))}" for name, value in options.items()), *settings]
    )
