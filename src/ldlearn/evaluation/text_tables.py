"""Tables of a run as text, which the terminal, Markdown and LaTeX show."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ldlearn.evaluation.analysis import Agreement, Cost, agreement
from ldlearn.evaluation.record import TASKS, Task
from ldlearn.evaluation.summary import Dataset, Method, Results, Score, TaskTable
from ldlearn.metrics import LABEL_HEADLINE, LABEL_METRICS, get_metric

DASH = "–"


class Cell(NamedTuple):
    """A cell of a table: text, which may contain names from files and is escaped, and whether it is bold."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table to be written: rows of cells, each row with a flag for shading, which Markdown cannot show."""

    title: str
    head: Sequence[str]
    rows: Sequence[tuple[bool, Sequence[Cell]]]
    legend: str = ""


def score_table(table: TaskTable) -> TextTable:
    """One metric of one task: methods by data sets, the best of a column bold."""
    rows = []
    for method in table.methods:
        scores = [table.score(method.name, dataset) for dataset in table.datasets]
        average = Cell(number(table.average_ranks.get(method.name), ".2f"))
        rows.append(_row(method, [*(Cell(_score_text(score), score.best) for score in scores), average]))
    repeats = f"Mean ± standard deviation over {table.n_repeats} repeats" if table.n_repeats > 1 else "One repeat"
    legend = f"{repeats}, rank in parentheses, best in bold."
    if any(method.is_reference for method in table.methods):
        legend += " Methods fitted on true distributions are not ranked."
    title = f"{table.task.capitalize()}: {table.metric.heading}"
    return TextTable(title, ["Method", *table.datasets, "Average rank"], rows, legend=legend)


def cost_table(found: Iterable[Cost]) -> TextTable:
    """Seconds and memory, means over cells."""
    rows = []
    for cost in found:
        seconds = [number(spread.mean if spread else None, ".3g") for spread in cost.seconds.values()]
        memory = number(cost.memory.mean if cost.memory else None, ".0f")
        rows.append(_row(cost.method, map(Cell, [*seconds, memory])))
    head = ["Method", "Selection, s", "Fit, s", "Prediction, s", "Peak memory, MB"]
    return TextTable("Time and memory", head, rows, legend="Means over cells.")


def agreement_table(found: Agreement) -> TextTable:
    """Mean intersection of methods with each other, for data without true degrees."""
    rows = [
        _row(method, [Cell(number(value)) for value in (found.means[method.name], *values)])
        for method, values in zip(found.methods, found.matrix, strict=True)
    ]
    title = f"{found.dataset}: agreement of methods, {found.task}"
    legend = "Mean intersection of their degrees, 1 if equal; the mean is over the other methods without baselines."
    return TextTable(title, ["Method", "Mean", *(method.name for method in found.methods)], rows, legend=legend)


def scoreboards(results: Results, metrics: Sequence[str]) -> list[TextTable]:
    """Methods by metrics for each task and data set; then, for each data set without true degrees, their agreement.

    Parameters
    ----------
    results : Results
    metrics : sequence of str
        Those shown; where true degrees are unknown, the ones among them that need only 0/1 labels.

    Returns
    -------
    list of TextTable
        The best method by the first metric first.
    """
    # A plan that names metrics between distributions only still has something to show for 0/1 labels.
    for_labels = [metric for metric in metrics if metric in LABEL_METRICS] or LABEL_HEADLINE
    boards = [
        _scoreboard(results, dataset.name, task, metrics if dataset.has_truth else for_labels)
        for task, dataset in product(TASKS, results.present)
    ]
    unknown = [dataset for dataset in results.present if not dataset.has_truth]
    return [board for board in boards if board.rows] + [_agreement_board(results, dataset) for dataset in unknown]


def _scoreboard(results: Results, dataset: str, task: Task, metrics: Sequence[str]) -> TextTable:
    tables = [table for name in metrics if (table := results.table(task, get_metric(name))) is not None]
    scores = {name: [table.score(name, dataset) for table in tables] for name in results.methods}
    scored = [name for name in scores if any(record.scores(task) for record in results.finished(dataset, name))]
    if tables:
        scored.sort(key=lambda name: tables[0].metric.sort_key(scores[name][0].mean))
    rows = [_row(results.methods[name], [Cell(_brief(score), score.best) for score in scores[name]]) for name in scored]
    return TextTable(f"{dataset}: {task}", ["Method", *(table.metric.heading for table in tables)], rows)


def _agreement_board(results: Results, dataset: Dataset) -> TextTable:
    agreements = {task: agreement(results, dataset.name, task) for task in TASKS}
    means = {task.capitalize(): found.means for task, found in agreements.items() if found is not None}
    rows = [
        _row(method, [Cell(number(by_method.get(name))) for by_method in means.values()])
        for name, method in results.methods.items()
        if means
    ]
    legend = (
        f"{dataset.name} has no true degrees: methods were scored on held-out 0/1 labels and by their agreement (mean "
        "intersection with the others that are no baselines). Neither measures the distance to true degrees."
    )
    return TextTable(f"{dataset.name}: agreement", ["Method", *means], rows, legend)


def number(value: float | None, form: str = ".4f") -> str:
    """A number, by default with four decimals; a dash if it is missing."""
    return DASH if value is None or math.isnan(value) else f"{value:{form}}"


def rank_text(rank: float) -> str:
    """A rank: 2, or 2.5 for a tie."""
    return f"{rank:.1f}".removesuffix(".0")


def _score_text(score: Score) -> str:
    """A score as ``0.1234 ± 0.0056 (2)``, or failed."""
    if score.spread is None:
        return "failed" if score.n_failed else DASH
    std = f" ± {score.spread.std:.4f}" if score.spread.n > 1 else ""
    rank = "" if score.rank is None else f" ({rank_text(score.rank)})"
    return f"{score.mean:.4f}{std}{rank}" + (f", {score.n_failed} failed" if score.n_failed else "")


def _brief(score: Score) -> str:
    """A score as ``0.1234 ±0.006``."""
    return number(score.mean) + (f" ±{score.spread.std:.3f}" if score.spread and score.spread.n > 1 else "")


def _row(method: Method, cells: Iterable[Cell]) -> tuple[bool, list[Cell]]:
    """The row of a method, shaded if it is a baseline: the method with its role, and the other cells."""
    roles = ["baseline"] * method.is_baseline + ["true distributions"] * method.is_reference
    return method.is_baseline, [Cell(method.name + (f" ({', '.join(roles)})" if roles else "")), *cells]
