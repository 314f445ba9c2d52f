"""Scoreboards: methods by metrics, one for each data set and task of a run, as `ldlearn run` prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ldlearn.evaluation.analysis import agreement
from ldlearn.evaluation.record import TASKS, Task
from ldlearn.evaluation.summary import Dataset, Method, Results
from ldlearn.metrics import LABEL_HEADLINE, LABEL_METRICS, get_metric


class BoardEntry(NamedTuple):
    """A text, and whether no other method that competes has a better value."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Scoreboard:
    """Scores of the methods on a data set.

    Attributes
    ----------
    title : str
    headings : sequence of str
    rows : sequence of (Method, sequence of BoardEntry)
        The best by the first column first.
    note : str
        An explanation, where one is needed.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[tuple[Method, Sequence[BoardEntry]]]
    note: str = ""


def scoreboards(results: Results, metrics: Sequence[str]) -> list[Scoreboard]:
    """Scores by task and data set; then, for each data set without true degrees, the agreement of methods.

    Parameters
    ----------
    results : Results
    metrics : sequence of str
        Those shown; where true degrees are unknown, the ones among them that need only 0/1 labels.
    """
    # A plan that names metrics between distributions only still has something to show for 0/1 labels.
    for_labels = [metric for metric in metrics if metric in LABEL_METRICS] or LABEL_HEADLINE
    boards = [
        _score_board(results, dataset.name, task, metrics if dataset.has_truth else for_labels)
        for task, dataset in product(TASKS, results.present)
    ]
    unknown = [dataset for dataset in results.present if not dataset.has_truth]
    return [board for board in boards if board.rows] + [_agreement_board(results, dataset) for dataset in unknown]


def _score_board(results: Results, dataset: str, task: Task, metrics: Sequence[str]) -> Scoreboard:
    scored = [m for m in results.methods if any(record.scores(task) for record in results.finished(dataset, m))]
    spreads = {(m, metric): results.spread(m, dataset, task, metric) for m in scored for metric in metrics}
    means = {key: spread.mean if spread else math.nan for key, spread in spreads.items()}

    def entry(method: str, metric: str, best: float) -> BoardEntry:
        spread = spreads[method, metric]
        if spread is None:
            return BoardEntry("-")
        deviation = f" ±{spread.std:.3f}" if spread.n > 1 else ""
        # Exact equality is meant: best is one of these means.
        return BoardEntry(f"{spread.mean:.4f}{deviation}", spread.mean == best)

    # A method trained on the true degrees is a bound and does not compete.
    competing = [m for m in scored if not results.methods[m].is_reference]
    best = {
        metric: min((means[m, metric] for m in competing), key=get_metric(metric).sort_key, default=math.nan)
        for metric in metrics
    }
    ordered = sorted(scored, key=lambda m: get_metric(metrics[0]).sort_key(means[m, metrics[0]]))
    rows = [(results.methods[m], [entry(m, metric, best[metric]) for metric in metrics]) for m in ordered]
    return Scoreboard(f"{dataset}: {task}", [get_metric(metric).heading for metric in metrics], rows)


def _agreement_board(results: Results, dataset: Dataset) -> Scoreboard:
    agreements = {task: agreement(results, dataset.name, task) for task in TASKS}
    means = {task.capitalize(): found.means for task, found in agreements.items() if found is not None}
    rows = []
    for method in results.methods.values() if means else ():
        values = [by_method.get(method.name, math.nan) for by_method in means.values()]
        rows.append((method, [BoardEntry("-" if math.isnan(value) else f"{value:.4f}") for value in values]))
    note = (
        f"{dataset.name} has no true degrees: methods were scored on held-out 0/1 labels and by their agreement (mean "
        "intersection with the others that are no baselines). Neither measures the distance to true degrees."
    )
    return Scoreboard(f"{dataset.name}: agreement", list(means), rows, note)
