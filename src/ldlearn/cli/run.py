"""`ldlearn run`: an experiment from its plan to its records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ldlearn.cli.interrupts import EXIT_CODE
from ldlearn.cli.progress import LiveWatcher
from ldlearn.errors import LDLearnError
from ldlearn.experiments import LogWatcher, Plan, RunSummary, Watcher, load_plan, run_plan
from ldlearn.metrics import get_metric
from ldlearn.results import TASKS, Results, Spread, SummaryRow, agreement

_PAGE = 120  # columns where the output is no terminal
_STYLE: dict[str, Any] = {"box": None, "header_style": "bold", "title_justify": "left", "title_style": "bold cyan"}


def run(
    plan: Annotated[str, typer.Argument(help="A plan file (TOML), or the name of a shipped plan such as quick.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run; an interrupted run continues.")],
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes on this machine; -1 for all cores.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler that does the work instead.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    log: Annotated[bool, typer.Option("--log", help="One line for each cell instead of a progress bar.")] = False,
) -> None:
    """Run an experiment; records go to OUTPUT/records.jsonl."""
    if quiet and log:
        raise typer.BadParameter("choose one of --quiet and --log.")
    if jobs < 1 and jobs != -1:
        raise typer.BadParameter("--jobs must be at least 1, or -1 for all cores.")
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PAGE)
    loaded = load_plan(plan)
    try:
        found = run_plan(loaded, output, jobs=jobs, scheduler=scheduler, watcher=_watcher(console, quiet, log))
    except KeyboardInterrupt:
        typer.echo(f"ldlearn: stopped; what is recorded in {output} is safe, and the same command continues.", err=True)
        raise typer.Exit(EXIT_CODE) from None
    if not quiet:
        _show(console, loaded, found)
    if not found.count("ok"):
        raise LDLearnError(f"No cell of the plan could be computed; {found.path / 'records.jsonl'} says why for each.")


def _watcher(console: Console, quiet: bool, log: bool) -> Watcher:
    if quiet:
        return Watcher()
    return LiveWatcher(console) if console.is_terminal and not log else LogWatcher()


def _show(console: Console, plan: Plan, found: RunSummary) -> None:
    results = Results(found.records)
    for task in TASKS:
        rows = results.summary(task, plan.metrics)
        for dataset in dict.fromkeys(row.dataset for row in rows):
            _table(console, f"{dataset}: {task}", [row for row in rows if row.dataset == dataset], plan.metrics)
    for name in [dataset.name for dataset in results.present if not dataset.has_truth]:
        _show_agreement(console, results, name)
    counts = ", ".join(f"{found.count(status)} {status}" for status in ("ok", "failed", "missing"))
    console.print(f"{len(found.records)} cells: {counts}; {found.computed} computed now.", highlight=False)
    console.print(f"Records: {found.path / 'records.jsonl'}", highlight=False, soft_wrap=True)


def _show_agreement(console: Console, results: Results, dataset: str) -> None:
    """What can be said without a truth: how far the methods agree."""
    found = {task: agreement(results, dataset, task) for task in TASKS}
    known = {task: agreed.means for task, agreed in found.items() if agreed is not None}
    table = Table(title=f"{dataset}: mean agreement with the other methods (intersection)", **_STYLE)
    table.add_column("Method")
    for task in known:
        table.add_column(task.capitalize(), justify="right")
    for method in results.methods.values():
        values = [means.get(method.name, math.nan) for means in known.values()]
        texts = ["-" if math.isnan(value) else f"{value:.4f}" for value in values]
        table.add_row(method.name, *texts, style="dim" if method.is_floor else "")
    console.print(table)
    console.print()
    console.print(
        f"{dataset} has no true degrees: methods were judged by 0/1 labels held out, and by each other. Neither says "
        "how near degrees are to a truth.",
        highlight=False,
    )


def _table(console: Console, title: str, rows: list[SummaryRow], metrics: tuple[str, ...]) -> None:
    table = Table(title=title, **_STYLE)
    table.add_column("Method")
    for metric in metrics:
        table.add_column(get_metric(metric).heading, justify="right")
    best = {metric: _best(rows, metric) for metric in metrics}
    for row in rows:
        texts = [_text(row.spreads.get(metric), best[metric]) for metric in metrics]
        table.add_row(row.method.name, *texts, style="dim" if row.method.is_floor else "")
    console.print(table)
    console.print()


def _best(rows: list[SummaryRow], metric: str) -> float:
    # What was trained on the truth is a bound, not a rival.
    values = [row.spreads[metric].mean for row in rows if metric in row.spreads and not row.method.is_reference]
    return (max if get_metric(metric).greater_is_better else min)(values, default=math.nan)


def _text(spread: Spread | None, best: float) -> str:
    if spread is None:
        return "-"
    text = f"{spread.mean:.4f} ±{spread.std:.3f}" if spread.n > 1 else f"{spread.mean:.4f}"
    return f"[bold]{text}[/bold]" if spread.mean == best else text
