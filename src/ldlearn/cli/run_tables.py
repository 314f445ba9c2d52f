"""A run on the terminal: its progress, its tables, what could not be computed. Several commands run plans."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ldlearn.cli.interrupts import EXIT_CODE
from ldlearn.cli.progress import LiveWatcher
from ldlearn.evaluation import Results, Scoreboard, scoreboards
from ldlearn.exceptions import LDLearnError
from ldlearn.experiments import LogWatcher, Plan, RunSummary, Watcher, run_plan

_PAGE = 120  # columns where the output is no terminal


def run_and_show(
    plan: Plan,
    output: Path,
    *,
    jobs: int,
    quiet: bool,
    log: bool,
    scheduler: str | None = None,
    loaded: Mapping[str, Any] | None = None,
) -> None:
    """Run a plan, and print its tables."""
    if quiet and log:
        raise typer.BadParameter("choose one of --quiet and --log.")
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter("--jobs must be at least 1, or -1 for all cores.")
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file; name a folder.", param_hint="-o")
    # No markup: the brackets in names of methods and data sets are theirs.
    console = Console(width=None if sys.stdout.isatty() else _PAGE, markup=False, highlight=False)
    live = console.is_terminal and not log
    watcher = Watcher() if quiet else LiveWatcher(console) if live else LogWatcher()
    try:
        found = run_plan(plan, output, jobs=jobs, scheduler=scheduler, watcher=watcher, loaded=loaded)
    except KeyboardInterrupt:
        typer.echo(f"ldlearn: stopped; what is recorded in {output} is safe, and the same command continues.", err=True)
        raise typer.Exit(EXIT_CODE) from None
    if not quiet:
        _show(console, plan, found)
    if not found.count("ok"):
        reason = next((record.message for record in found.records), "it has none").rstrip(".")
        where = found.path / "records.jsonl"
        raise LDLearnError(f"No cell of the plan could be computed ({reason}); {where} says why for each.")


def _show(console: Console, plan: Plan, found: RunSummary) -> None:
    for board in scoreboards(Results(found.records), plan.metrics):
        if board.rows:
            console.print(_table(board), "")
        if board.note:
            console.print(board.note)
    # Where nothing could be computed, that is the error of the command, and it gives the reason.
    for name, why in _failures(found).items() if found.count("ok") else ():
        console.print(f"Left out: {name}: {why}")
    counts = ", ".join(f"{found.count(status)} {status}" for status in ("ok", "failed", "missing"))
    console.print(f"{len(found.records)} cells: {counts}; {found.computed} computed now.")
    # soft_wrap: a path that is broken into lines cannot be copied
    console.print(f"Records: {found.path / 'records.jsonl'}", soft_wrap=True)


def _table(board: Scoreboard) -> Table:
    """A row for each method: baselines are dim, the best of a column is bold."""
    table = Table("Method", title=board.title, box=None, title_justify="left", title_style="bold cyan")
    for heading in board.headings:
        table.add_column(heading, justify="right")
    for method, entries in board.rows:
        texts = [Text(entry.text, style="bold" if entry.best else "") for entry in entries]
        table.add_row(method.name, *texts, style="dim" if method.is_baseline else "")
    return table


def _failures(found: RunSummary) -> dict[str, str]:
    """By method of which no cell could be computed, the reason that the first gave."""
    computed = {record.method for record in found.records if record.is_ok}
    failed = [record for record in found.records if not record.is_ok and record.method not in computed]
    # reversed, so that of several reasons the first is the one that stays
    return {record.method: record.message for record in reversed(failed)}
