"""Scoreboards: methods by metrics, one for each data set and task of a run, as `ldlearn run` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ldlearn.evaluation.agreement import agreement
from ldlearn.evaluation.record import TASKS
from ldlearn.evaluation.summary import Dataset, Method, Results, Spread, SummaryRow
from ldlearn.metrics import LABEL_HEADLINE, LABEL_METRICS, get_metric


class BoardEntry(NamedTuple):
    """A text, and whether no other method that competes has a better value."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Scoreboard:
    """What is known of the methods on a data set.

    Attributes
    ----------
    title : str
    headings : sequence of str
    rows : sequence of (Method, sequence of BoardEntry)
        The best by the first column first.
    note : str
        How to read it, where that needs saying.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[tuple[Method, Sequence[BoardEntry]]]
    note: str = ""


def scoreboards(results: Results, metrics: Sequence[str]) -> list[Scoreboard]:
    """Scores by task and data set; then, for each data set without a truth, how far methods agree.

    Parameters
    ----------
    results : Results
    metrics : sequence of str
        Those shown; where there is no truth, the ones among them that 0/1 labels suffice for.
    """
    # A plan that names metrics between distributions only still has something to show where there is no truth.
    for_labels = [metric for metric in metrics if metric in LABEL_METRICS] or LABEL_HEADLINE
    boards = []
    for task, dataset in product(TASKS, results.present):
        shown = metrics if dataset.has_truth else for_labels
        if rows := [row for row in results.summary(task, shown) if row.dataset == dataset.name]:
            boards.append(_scores(f"{dataset.name}: {task}", rows, shown))
    return boards + [_agreements(results, dataset) for dataset in results.present if not dataset.has_truth]


def _scores(title: str, rows: list[SummaryRow], metrics: Sequence[str]) -> Scoreboard:
    best = {metric: _best(rows, metric) for metric in metrics}
    entries = [(row.method, [_entry(row.spreads.get(metric), best[metric]) for metric in metrics]) for row in rows]
    return Scoreboard(title, [get_metric(metric).heading for metric in metrics], entries)


def _best(rows: list[SummaryRow], metric: str) -> float:
    # What was trained on the truth is a bound, not a rival.
    values = [row.mean(metric) for row in rows if not row.method.is_reference]
    return min(values, key=get_metric(metric).sort_key, default=math.nan)


def _entry(spread: Spread | None, best: float) -> BoardEntry:
    if spread is None:
        return BoardEntry("-")
    deviation = f" ±{spread.std:.3f}" if spread.n > 1 else ""
    # Exact equality is meant: best is one of these very means.
    return BoardEntry(f"{spread.mean:.4f}{deviation}", spread.mean == best)


def _agreements(results: Results, dataset: Dataset) -> Scoreboard:
    """What can be said without a truth."""
    found = {task: agreement(results, dataset.name, task) for task in TASKS}
    known = {task.capitalize(): agreed.means for task, agreed in found.items() if agreed is not None}
    rows = []
    for method in results.methods.values() if known else ():
        values = [means.get(method.name, math.nan) for means in known.values()]
        rows.append((method, [BoardEntry("-" if math.isnan(value) else f"{value:.4f}") for value in values]))
    note = (
        f"{dataset.name} has no true degrees: methods were judged by 0/1 labels held out, and by their agreement (mean "
        "intersection with the others that are no baselines). Neither says how near degrees are to a truth."
    )
    return Scoreboard(f"{dataset.name}: agreement", list(known), rows, note)
