"""Tables of a run as text, which the terminal, Markdown and LaTeX show."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from ldlearn.evaluation.analysis import CONFIDENCE, Agreement, Cost, agreement, difference
from ldlearn.evaluation.record import TASKS, Task
from ldlearn.evaluation.summary import Dataset, Method, Results, Score, TaskTable
from ldlearn.metrics import LABEL_HEADLINE, LABEL_METRICS, get_metric

__all__ = ["TextTable", "score_tables"]

DASH = "–"
Names = Mapping[str, str]  # display names by the names of the records
UNCHANGED: Names = MappingProxyType({})  # display names equal to the names of the records


class Cell(NamedTuple):
    """A cell of a table: text, which may contain names from files and is escaped, and whether it is
    bold."""

    text: str = ""
    bold: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table to be written: rows of cells, each row with a flag for shading, which Markdown cannot
    show."""

    title: str
    head: Sequence[str]
    rows: Sequence[tuple[bool, Sequence[Cell]]]
    legend: str = ""

    @property
    def is_grouped(self) -> bool:
        """Whether the first cell of a row is only filled where a group of rows begins."""
        return any(not cells[0].text for _, cells in self.rows)


def score_table(
    table: TaskTable, results: Results | None = None, names: Names = UNCHANGED
) -> TextTable:
    """One metric of one task: methods by data sets, the best of a column bold.

    Parameters
    ----------
    table : TaskTable
    results : Results, optional
        If given, marks show on which data sets its subject is significantly better or worse than a
        method.
    names : mapping of str to str, optional
        Display names of methods and data sets.
    """
    rows = []
    for method in table.methods:
        cells = [_score_cell(table, method.name, dataset, results) for dataset in table.datasets]
        average = Cell(format_number(table.average_ranks.get(method.name), ".2f"))
        rows.append(_method_row(method, [*cells, average], names))
    head = ["Method", *(names.get(dataset, dataset) for dataset in table.datasets), "Average rank"]
    return TextTable(
        f"{table.task.capitalize()}: {table.metric.heading}",
        head,
        rows,
        _legend([table], results, names),
    )


def combined_table(
    tables: Sequence[TaskTable], results: Results, names: Names = UNCHANGED
) -> TextTable:
    """Several metrics of one task: a group of rows for each data set, methods by metrics.

    Parameters
    ----------
    tables : sequence of TaskTable
        At least one; the order of methods is that of the first.
    results : Results
        Marks are those of `score_table`.
    names : mapping of str to str, optional
        Display names of methods and data sets.
    """
    rows = []
    for dataset in tables[0].datasets:
        for place, method in enumerate(tables[0].methods):
            cells = [_score_cell(table, method.name, dataset, results) for table in tables]
            shaded, texts = _method_row(method, cells, names)
            rows.append((shaded, [Cell("" if place else names.get(dataset, dataset)), *texts]))
    head = ["Data set", "Method", *(table.metric.heading for table in tables)]
    return TextTable(
        f"{tables[0].task.capitalize()}: all metrics", head, rows, _legend(tables, results, names)
    )


def _score_cell(table: TaskTable, method: str, dataset: str, results: Results | None) -> Cell:
    """A score as ``0.1234 ± 0.0056 (2)``, or failed.

    With • if the subject is significantly better than the method on the data set, ◦ if it is worse.
    """
    score = table.score(method, dataset)
    if score.spread is None:
        text = "failed" if score.n_failed else DASH
    else:
        text = f"{score.mean:.4f}"
        if score.spread.n > 1:
            text += f" ± {score.spread.std:.4f}"
        if score.rank is not None:
            text += f" ({format_rank(score.rank)})"
        if score.n_failed:
            text += f", {score.n_failed} failed"
    if results is not None and results.subject not in (None, method):
        gap = difference(results, table, str(results.subject), method, dataset)
        if gap is not None and gap.is_significant:
            text += " •" if gap.mean > 0 else " ◦"
    return Cell(text, score.best)


def _legend(tables: Sequence[TaskTable], results: Results | None, names: Names) -> str:
    n_repeats = tables[0].n_repeats
    repeats = (
        f"Mean ± standard deviation over {n_repeats} repeats" if n_repeats > 1 else "One repeat"
    )
    legend = f"{repeats}, rank in parentheses, best in bold."
    if any(method.is_reference for method in tables[0].methods):
        legend += " Methods fitted on true distributions are not ranked."
    if n_repeats > 1 and results is not None and results.subject is not None:
        subject = names.get(results.subject, results.subject)
        legend += f" {subject} is significantly better (•) or worse (◦) than the method ({CONFIDENCE:.0%} level)."
    return legend


def cost_table(found: Iterable[Cost]) -> TextTable:
    """Seconds and memory, means over cells."""
    rows = []
    for cost in found:
        seconds = [
            format_number(spread.mean if spread else None, ".3g")
            for spread in cost.seconds.values()
        ]
        memory = format_number(cost.memory.mean if cost.memory else None, ".0f")
        rows.append(_method_row(cost.method, map(Cell, [*seconds, memory])))
    head = ["Method", "Selection, s", "Fit, s", "Prediction, s", "Peak memory, MB"]
    return TextTable("Time and memory", head, rows, legend="Means over cells.")


def agreement_table(found: Agreement) -> TextTable:
    """Mean intersection of methods with each other, for data without true degrees."""
    rows = [
        _method_row(
            method, [Cell(format_number(value)) for value in (found.means[method.name], *values)]
        )
        for method, values in zip(found.methods, found.matrix, strict=True)
    ]
    title = f"{found.dataset}: agreement of methods, {found.task}"
    legend = "Mean intersection of their degrees, 1 if equal; the mean is over the other methods without baselines."
    return TextTable(
        title, ["Method", "Mean", *(method.name for method in found.methods)], rows, legend=legend
    )


def score_tables(results: Results, metrics: Sequence[str]) -> list[TextTable]:
    """Methods by metrics for each task and data set; then, for each data set without true degrees,
    their agreement.

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
    # A plan that names metrics between distributions only still has something to show for 0/1
    # labels.
    for_labels = [metric for metric in metrics if metric in LABEL_METRICS] or LABEL_HEADLINE
    boards = [
        _dataset_scores(results, dataset.name, task, metrics if dataset.has_truth else for_labels)
        for task, dataset in product(TASKS, results.present_datasets)
    ]
    unknown = [dataset for dataset in results.present_datasets if not dataset.has_truth]
    return [board for board in boards if board.rows] + [
        _dataset_agreement(results, dataset) for dataset in unknown
    ]


def describe_unreported(results: Results) -> list[str]:
    """A sentence about headline metrics without a score; empty if there are none."""
    names = ", ".join(results.unreported)
    return [f"Not reported, because no record has a score: {names}."] if names else []


def _dataset_scores(
    results: Results, dataset: str, task: Task, metrics: Sequence[str]
) -> TextTable:
    tables = [
        table for name in metrics if (table := results.table(task, get_metric(name))) is not None
    ]
    scores = {name: [table.score(name, dataset) for table in tables] for name in results.methods}
    scored = [
        name
        for name in scores
        if any(record.scores(task) for record in results.finished_records(dataset, name))
    ]
    if tables:
        scored.sort(key=lambda name: tables[0].metric.sort_key(scores[name][0].mean))
    rows = [
        _method_row(results.methods[name], map(_brief_cell, scores[name]))
        for name in scored
        if tables
    ]
    return TextTable(
        f"{dataset}: {task}", ["Method", *(table.metric.heading for table in tables)], rows
    )


def _dataset_agreement(results: Results, dataset: Dataset) -> TextTable:
    agreements = {task: agreement(results, dataset.name, task) for task in TASKS}
    means = {
        task.capitalize(): found.means for task, found in agreements.items() if found is not None
    }
    rows = [
        _method_row(
            method, [Cell(format_number(by_method.get(name))) for by_method in means.values()]
        )
        for name, method in results.methods.items()
        if means
    ]
    what = "methods were scored on held-out 0/1 labels and by their mean intersection with the other methods"
    legend = f"{dataset.name} has no true degrees: {what}; neither measures the distance to true degrees."
    return TextTable(f"{dataset.name}: agreement", ["Method", *means], rows, legend)


def format_number(value: float | None, form: str = ".4f") -> str:
    """A number, by default with four decimals; a dash if it is missing."""
    return DASH if value is None or math.isnan(value) else f"{value:{form}}"


def format_rank(rank: float) -> str:
    """A rank: 2, or 2.5 for a tie."""
    return f"{rank:.1f}".removesuffix(".0")


def _brief_cell(score: Score) -> Cell:
    """A score as ``0.1234 ±0.006``."""
    std = f" ±{score.spread.std:.3f}" if score.spread and score.spread.n > 1 else ""
    return Cell(format_number(score.mean) + std, score.best)


def _method_row(
    method: Method, cells: Iterable[Cell], names: Names = UNCHANGED
) -> tuple[bool, list[Cell]]:
    """The row of a method, shaded if it is a baseline: the method with its role, and the other
    cells."""
    roles = ["baseline"] * method.is_baseline + ["true distributions"] * method.is_reference
    name = names.get(method.name, method.name)
    return method.is_baseline, [Cell(name + (f" ({', '.join(roles)})" if roles else "")), *cells]
