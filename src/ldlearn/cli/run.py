"""`ldlearn run` and `ldlearn report`: from a plan to records and tables on the terminal, and to a report."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from ldlearn.cli.console import print_result
from ldlearn.cli.options import Jobs, Log, Quiet
from ldlearn.evaluation import Record, Results, TextTable, scoreboards
from ldlearn.exceptions import LDLearnError
from ldlearn.experiments import LogProgress, Plan, RunProgress, RunSummary, export_splits, load_plan, run_plan
from ldlearn.experiments.cells import Cell


def run(
    plan: Annotated[str, typer.Argument(help="A plan file (TOML), or the name of a shipped plan such as quick.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the run; an interrupted run continues.")
    ] = None,
    export_to: Annotated[
        Path | None,
        typer.Option("--export-splits", metavar="DIR", help="Write the splits (.npz, .mat) for other tools."),
    ] = None,
    jobs: Jobs = 1,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler that runs the cells.")] = None,
    quiet: Quiet = False,
    log: Log = False,
) -> None:
    """Run an experiment; records are written to OUTPUT/records.jsonl."""
    loaded = load_plan(plan)
    if export_to is not None:
        print_result(f"{len(export_splits(loaded, export_to))} files of splits: {export_to}")
    elif output is None:
        raise typer.BadParameter("name the folder of the run.", param_hint="-o")
    if output is not None:
        run_and_report(loaded, output, jobs=jobs, scheduler=scheduler, quiet=quiet, log=log)


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or a file of records.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to; default: the folder of the run.")
    ] = None,
) -> None:
    """Write the report of a run: one HTML page, tables in Markdown and LaTeX, figures."""
    from ldlearn.reporting import write_report  # a run does not need matplotlib

    print_result(f"Report: {write_report(run_dir, output)}")


def run_and_report(plan: Plan, output: Path, *, jobs: int, quiet: bool, log: bool, **options: Any) -> RunSummary:
    """Run a plan with options of `run_plan`, and print its tables."""
    if quiet and log:
        raise typer.BadParameter("choose one of --quiet and --log.")
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter("--jobs must be at least 1, or -1 for all cores.")
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file; name a folder.", param_hint="-o")
    # 120 columns if the output is no terminal. No markup: brackets in names of methods and data sets are text.
    console = Console(width=None if sys.stdout.isatty() else 120, markup=False, highlight=False)
    progress = RunProgress() if quiet else LogProgress() if log or not console.is_terminal else LiveProgress(console)
    try:
        found = run_plan(plan, output, jobs=jobs, progress=progress, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted; records in {output} are kept, and the same command continues.") from None
    if not quiet:
        _print_summary(console, plan, found)
    if not found.count("ok"):
        reason = next((record.message for record in found.records), "it has none").rstrip(".")
        where = found.path / "records.jsonl"
        raise LDLearnError(f"No cell of the plan could be computed ({reason}); {where} has the reason for each.")
    return found


def _print_summary(console: Console, plan: Plan, found: RunSummary) -> None:
    for board in scoreboards(Results(found.records), plan.metrics):
        if board.rows:
            console.print(_score_table(board), "")
        if board.legend:
            console.print(board.legend)
    finished = {record.method for record in found.records if record.is_ok}
    # The first message of each method without a finished cell; reversed, because the last value of a key is kept.
    failed = {record.method: record.message for record in reversed(found.records) if record.method not in finished}
    # If nothing could be computed, the error of the command gives the reason.
    for name, reason in failed.items() if finished else ():
        console.print(f"Left out: {name}: {reason}")
    counts = ", ".join(f"{found.count(status)} {status}" for status in ("ok", "failed", "missing"))
    console.print(f"{len(found.records)} cells: {counts}; {found.computed} computed now.")
    # soft_wrap: a path that is broken into lines cannot be copied
    console.print(f"Records: {found.path / 'records.jsonl'}", soft_wrap=True)


def _score_table(board: TextTable) -> Table:
    """A row for each method: baselines are dim, the best of a column is bold."""
    table = Table(board.head[0], title=board.title, box=None, title_justify="left", title_style="bold cyan")
    for heading in board.head[1:]:
        table.add_column(heading, justify="right")
    for is_baseline, cells in board.rows:
        texts = [Text(cell.text, style="bold" if cell.bold else "") for cell in cells]
        table.add_row(*texts, style="dim" if is_baseline else "")
    return table


class LiveProgress(RunProgress):
    """Progress on a terminal: the last cell, a bar of cells, and the time left."""

    def __init__(self, console: Console) -> None:
        # transient: removed before the tables are printed
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        self._bar = Progress(*columns, console=console, transient=True)

    def begin(self, n_cells: int, n_recorded: int) -> None:
        """Draw the bar."""
        self.message(f"{n_cells} cells, {n_recorded} of them recorded before")
        self._task = self._bar.add_task("", total=n_cells, completed=n_recorded)
        self._bar.start()

    def message(self, text: str) -> None:
        """Print a message above the bar."""
        self._bar.console.print(text, style="yellow", highlight=False, markup=False)

    def recorded(self, cell: Cell, record: Record) -> None:
        """Advance the bar."""
        self._bar.update(self._task, advance=1, description=escape(str(cell)))
        if record.status == "failed":
            self.message(f"{cell} failed: {record.message}")

    def end(self) -> None:
        """Restore the terminal."""
        self._bar.stop()
