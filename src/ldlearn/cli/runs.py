"""Commands for experiments: run, report, import-predictions and compare-methods."""

import sys
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress
from typer import Argument, BadParameter, Option

from ldlearn import experiments
from ldlearn._messages import escape_control_chars
from ldlearn.cli import console
from ldlearn.cli.option_groups import fields_except
from ldlearn.cli.options import Data, Jobs, LabelColumns, Log, Quiet, split_names
from ldlearn.evaluation import Record, Results, TextTable, score_tables
from ldlearn.evaluation.text_tables import describe_unreported
from ldlearn.exceptions import LDLearnError, MissingDependencyError
from ldlearn.experiments import (
    LogProgress,
    Plan,
    RunProgress,
    RunSummary,
    export_splits,
    load_plan,
    run_plan,
)
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.table_plan import describe_ranking
from ldlearn.tables import ColumnOptions
from ldlearn.tables.column_types import describe_types
from ldlearn.tables.files import PIPE, Dialect


def run(
    plan: Annotated[
        str, Argument(help="A plan file (TOML), or the name of a shipped plan such as quick.")
    ],
    output: Annotated[
        Path | None, Option("--output", "-o", help="Folder of a new or interrupted run.")
    ] = None,
    export_to: Annotated[
        Path | None,
        Option("--export-splits", metavar="DIR", help="Write splits (.npz, .mat) for other tools."),
    ] = None,
    jobs: Jobs = 1,
    scheduler: Annotated[
        str | None, Option(help="Address of a Dask scheduler that runs the cells.")
    ] = None,
    quiet: Quiet = False,
    log: Log = False,
) -> None:
    """Run an experiment; records are written to OUTPUT/records.jsonl.

    A plan is code: methods that it names as package.module:Class are imported and run. Run only
    plans that you trust.

    \b
    ldlearn run quick -o results
    """
    loaded = load_plan(plan)
    if export_to is not None:
        console.print_result(
            f"{len(export_splits(loaded, export_to))} files of splits: {export_to}"
        )
    elif output is None:
        raise BadParameter("name the folder of the run.", param_hint="-o")
    if output is not None:
        _run_and_report(loaded, output, jobs=jobs, scheduler=scheduler, quiet=quiet, log=log)


def report(
    run_dir: Annotated[
        Path, Argument(metavar="DIR", help="Folder of a run, or a file of records.")
    ],
    output: Annotated[
        Path | None, Option("--output", "-o", help="Output folder; default: the folder of the run.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures."""
    from ldlearn.reporting import write_report  # a run does not need matplotlib

    console.print_result(f"Report: {write_report(run_dir, output)}")


def import_predictions(
    run_dir: Annotated[
        Path, Argument(metavar="RUN", help="Folder of a run; its plan defines the splits.")
    ],
    method: Annotated[str, Option(help="Name of the method in tables.")],
    folder: Annotated[
        Path, Option("--from", metavar="DIR", help="Folder with DATASET/REPEAT.npz and so on.")
    ],
    trained_on: Annotated[
        str, Option(help="What it was trained on: logical (0/1 labels), votes or truth.")
    ] = "logical",
    trust_plan: Annotated[
        bool, Option("--trust-plan", help="Import methods that RUN's plan names as a:b.")
    ] = False,
) -> None:
    """Add predictions made elsewhere to a run, to be ranked and reported.

    Each file has the degrees of the test rows ("prediction") and of the training rows ("recovery"),
    or one of these, in the order that `ldlearn run PLAN --export-splits DIR` writes.

    \b
    ldlearn run plan.toml --export-splits splits
    ldlearn import-predictions run --method MyNet --from predictions
    """
    added = experiments.import_predictions(
        run_dir, method, folder, trained_on=trained_on, trust_plan=trust_plan
    )
    console.print_result(
        f"{len(added)} records of {added[0].method} added; `ldlearn report {run_dir}` shows them."
    )


def compare_methods(
    data: Data,
    labels: LabelColumns,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="DIR", help="Folder of the run; default: DATA-methods."),
    ] = None,
    methods: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            help="As DLDL,VoteLDL,GLLE+SABFGS; default: those that suit the labels.",
        ),
    ] = None,
    repeats: Annotated[int, Option(min=1, help="Random splits into training and test rows.")] = 5,
    seed: Annotated[int, Option(help="Random seed of the splits.")] = 0,
    *,
    columns: Annotated[ColumnOptions, fields_except(ColumnOptions, "separator")],
    dialect: Dialect,
    jobs: Jobs = 1,
    quiet: Quiet = False,
    log: Log = False,
) -> None:
    """Compare several methods on a table: held-out scores, and how much they differ.

    Labels may be 0/1, counts of votes, or degrees. With --kind votes, methods see half of the votes
    of a row and are scored by votes that they have not seen. With 0/1 labels, they are compared by
    the likelihood of held-out labels and by their agreement. Columns are preprocessed as by `fit`,
    on training rows only.

    \b
    ldlearn compare-methods data.csv --labels sky,mountain,sea --id photo
    ldlearn compare-methods votes.csv -l joy:fear --kind votes -o run
    """
    if data == PIPE:
        raise BadParameter(
            "a run reads its table again when it continues; name a file.", param_hint="DATA"
        )
    settings = vars(columns) | vars(dialect)
    # Plans have their own kinds of labels.
    for name in ("kind", "zeros"):
        del settings[name]
    plan, table = experiments.plan_for_table(
        data,
        labels,
        methods=split_names(methods),
        kind=columns.kind,
        zeros=columns.zeros,
        repeats=repeats,
        seed=seed,
        columns=settings,
        on_message=console.log,
    )
    folder = output or Path(f"{plan.name}-methods")
    if not quiet:
        for line in [*describe_types(table.types.describe()), *table.report.messages()]:
            console.log(line)
    # The table that was read for the plan is not read a second time.
    found = _run_and_report(
        plan, folder, jobs=jobs, quiet=quiet, log=log, loaded={plan.datasets[0].name: table}
    )
    if not quiet:
        for sentence in describe_ranking(plan, found.records):
            console.print_result(escape_control_chars(sentence))
    from ldlearn.reporting import write_report

    try:
        page = write_report(folder)
    # The tables are printed, and `ldlearn report` can follow later.
    except MissingDependencyError as error:
        console.log(f"no report was written: {error}")
        return
    if not quiet:
        console.print_result(f"Report: {page}")


def _run_and_report(
    plan: Plan, output: Path, *, jobs: int, quiet: bool, log: bool, **options: Any
) -> RunSummary:
    """Run a plan with options of `run_plan`, and print its tables."""
    if quiet and log:
        raise BadParameter("choose one of --quiet and --log.")
    if jobs < 1 and jobs != -1:
        raise BadParameter("--jobs must be at least 1, or -1 for all cores.")
    if output.exists() and not output.is_dir():
        raise BadParameter(f"{output} is a file; name a folder.", param_hint="-o")
    progress = RunProgress()
    if not quiet:
        progress = LogProgress()
    if not quiet and not log and sys.stdout.isatty():
        progress = _LiveProgress()
    try:
        found = run_plan(plan, output, jobs=jobs, progress=progress, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; records in {output} are kept, and the same command continues."
        ) from None
    if not quiet:
        _print_summary(plan, found)
    if not found.count("ok"):
        reason = next((record.message for record in found.records), "it has none").rstrip(".")
        raise LDLearnError(
            f"No cell of the plan could be computed ({reason}); see {found.path / 'records.jsonl'}."
        )
    return found


def _print_summary(plan: Plan, found: RunSummary) -> None:
    results = Results(found.records, plan.metrics)
    for line in describe_unreported(results):
        console.print_result(line)
    for board in score_tables(results, plan.metrics):
        if board.rows:
            _print_score_table(board)
        if board.legend:
            console.print_result(board.legend)
    reported = {record.method for record in found.records if record.is_ok}
    # If nothing could be computed, the error of the command gives the reason.
    for record in found.records if reported else ():
        if record.method not in reported:
            reported.add(record.method)
            console.print_result(f"Left out: {record.method}: {record.message}")
    counts = ", ".join(f"{found.count(status)} {status}" for status in ("ok", "failed", "missing"))
    console.print_result(f"{len(found.records)} cells: {counts}; {found.computed} computed now.")
    console.print_result(f"Records: {found.path / 'records.jsonl'}")


def _print_score_table(board: TextTable) -> None:
    """Print a row for each method: baselines are dim, the best of a column is bold."""
    rows = []
    for is_baseline, cells in board.rows:
        row = []
        for cell in cells:
            style = "bold " * cell.bold + "dim" * is_baseline
            row.append(console.plain_text(cell.text, style.strip()))
        rows.append(row)
    console.print_table(board.head, rows, n_numeric=len(board.head) - 1, title=board.title)
    console.print_result("")


class _LiveProgress(RunProgress):
    """Progress on a terminal: the last cell, a bar of cells, and the time left."""

    def __init__(self) -> None:
        # transient: removed before the tables are printed
        self._bar = Progress(*Progress.get_default_columns(), MofNCompleteColumn(), transient=True)

    def begin(self, n_cells: int, n_recorded: int) -> None:
        """Draw the bar."""
        self.message(f"{n_cells} cells, {n_recorded} of them recorded before")
        self._task = self._bar.add_task("", total=n_cells, completed=n_recorded)
        self._bar.start()

    def message(self, text: str) -> None:
        """Print a message above the bar."""
        self._bar.console.print(console.plain_text(text, "yellow"))

    def finish_cell(self, cell: Cell, record: Record) -> None:
        """Advance the bar."""
        self._bar.update(self._task, advance=1, description=escape(escape_control_chars(str(cell))))
        if record.status == "failed":
            self.message(f"{cell} failed: {record.message}")

    def end(self) -> None:
        """Restore the terminal."""
        self._bar.stop()
