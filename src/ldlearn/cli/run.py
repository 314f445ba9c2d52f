"""`ldlearn run`: an experiment from its plan to its records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ldlearn.cli.interrupts import EXIT_CODE
from ldlearn.cli.options import Jobs, Log, Quiet
from ldlearn.cli.progress import LiveWatcher
from ldlearn.errors import LDLearnError
from ldlearn.experiments import LogWatcher, Plan, RunSummary, Watcher, load_plan, run_plan
from ldlearn.experiments.own_table import LABEL_HEADLINE
from ldlearn.metrics import LABEL_METRICS, get_metric
from ldlearn.results import TASKS, Results, Spread, SummaryRow, agreement

_PAGE = 120  # columns where the output is no terminal


def run(
    plan: Annotated[str, typer.Argument(help="A plan file (TOML), or the name of a shipped plan such as quick.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the run; an interrupted run continues.")],
    jobs: Jobs = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler that does the work instead.")
    ] = None,
    quiet: Quiet = False,
    log: Log = False,
) -> None:
    """Run an experiment; records go to OUTPUT/records.jsonl."""
    run_and_show(load_plan(plan), output, jobs=jobs, scheduler=scheduler, quiet=quiet, log=log)


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
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PAGE)
    watcher = _watcher(console, quiet, log)
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


def _watcher(console: Console, quiet: bool, log: bool) -> Watcher:
    if quiet:
        return Watcher()
    return LiveWatcher(console) if console.is_terminal and not log else LogWatcher()


def _show(console: Console, plan: Plan, found: RunSummary) -> None:
    results = Results(found.records)
    without_truth = [dataset.name for dataset in results.present if not dataset.has_truth]
    for_labels = tuple(metric for metric in plan.metrics if metric in LABEL_METRICS) or LABEL_HEADLINE
    for task, dataset in product(TASKS, [dataset.name for dataset in results.present]):
        metrics = for_labels if dataset in without_truth else plan.metrics
        if rows := [row for row in results.summary(task, metrics) if row.dataset == dataset]:
            _show_scores(console, f"{dataset}: {task}", rows, metrics)
    for name in without_truth:
        _show_agreement(console, results, name)
    for name, why in _failures(found).items() if found.count("ok") else ():
        console.print(f"Left out: {name}: {why}", highlight=False, markup=False)
    counts = ", ".join(f"{found.count(status)} {status}" for status in ("ok", "failed", "missing"))
    console.print(f"{len(found.records)} cells: {counts}; {found.computed} computed now.", highlight=False)
    console.print(f"Records: {found.path / 'records.jsonl'}", highlight=False, soft_wrap=True)


def _failures(found: RunSummary) -> dict[str, str]:
    """By method of which no cell could be computed, the reason that the first gave."""
    computed = {record.method for record in found.records if record.is_ok}
    failed = [record for record in found.records if not record.is_ok and record.method not in computed]
    return {record.method: record.message for record in reversed(failed)}


def _show_agreement(console: Console, results: Results, dataset: str) -> None:
    """What can be said without a truth: how far the methods agree."""
    found = {task: agreement(results, dataset, task) for task in TASKS}
    known = {task: agreed.means for task, agreed in found.items() if agreed is not None}
    rows = []
    for method in results.methods.values():
        values = [means.get(method.name, math.nan) for means in known.values()]
        rows.append((method, ["-" if math.isnan(value) else f"{value:.4f}" for value in values]))
    if known:
        _print_table(console, f"{dataset}: agreement", [task.capitalize() for task in known], rows)
    console.print(
        f"{dataset} has no true degrees: methods were judged by 0/1 labels held out, and by their agreement (mean "
        "intersection with the others that are no floors). Neither says how near degrees are to a truth.",
        highlight=False,
    )


def _show_scores(console: Console, title: str, rows: list[SummaryRow], metrics: tuple[str, ...]) -> None:
    best = {metric: _best(rows, metric) for metric in metrics}
    texts = [(row.method, [_text(row.spreads.get(metric), best[metric]) for metric in metrics]) for row in rows]
    _print_table(console, title, [get_metric(metric).heading for metric in metrics], texts)


def _print_table(console: Console, title: str, headings: list[str], rows: list[tuple[Any, list[str]]]) -> None:
    """A row for each method; floors are dim."""
    table = Table("Method", title=title, box=None, header_style="bold", title_justify="left", title_style="bold cyan")
    for heading in headings:
        table.add_column(heading, justify="right")
    for method, texts in rows:
        table.add_row(method.name, *texts, style="dim" if method.is_floor else "")
    console.print(table, "")


def _best(rows: list[SummaryRow], metric: str) -> float:
    # What was trained on the truth is a bound, not a rival.
    values = [row.spreads[metric].mean for row in rows if metric in row.spreads and not row.method.is_reference]
    return (max if get_metric(metric).greater_is_better else min)(values, default=math.nan)


def _text(spread: Spread | None, best: float) -> str:
    if spread is None:
        return "-"
    text = f"{spread.mean:.4f} ±{spread.std:.3f}" if spread.n > 1 else f"{spread.mean:.4f}"
    return f"[bold]{text}[/bold]" if spread.mean == best else text
