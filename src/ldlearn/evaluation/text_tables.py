"""Tables of a run as text, which the terminal, Markdown and LaTeX show."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple

from ldlearn.evaluation.analysis import CONFIDENCE, Agreement, Cost, agreement, difference
from ldlearn.evaluation.formatting import enumerate_names
from ldlearn.evaluation.record import TASKS, Task
from ldlearn.evaluation.summary import Method, MethodScore, Results, TaskTable
from ldlearn.metrics import LABEL_HEADLINE, LABEL_METRICS, get_metric

__all__ = ["TextTable", "score_tables"]

_Rename = Callable[[str], str]  # display name of a method or data set
_DASH = "–"


class _TextCell(NamedTuple):
    """A cell of a table: text, which may contain names from files, and whether it is bold."""

    text: str = ""
    bold: bool = False


_Row = tuple[bool, Sequence[_TextCell]]


@dataclass(frozen=True)
class TextTable:
    """A table to be written: rows of cells, each row with a flag for shading."""

    title: str
    head: Sequence[str]
    rows: Sequence[_Row]
    legend: str = ""

    @property
    def is_grouped(self) -> bool:
        """Whether the first cell of a row is only filled where a group of rows begins."""
        return any(not cells[0].text for _, cells in self.rows)


def score_table(
    table: TaskTable, results: Results | None = None, rename: _Rename = str
) -> TextTable:
    """One metric of one task: methods by data sets, the best of a column bold.

    Parameters
    ----------
    table : TaskTable
    results : Results, optional
        If given, marks show on which data sets its subject is significantly better or worse than a
        method.
    rename : callable, optional
        Gives the display names of methods and data sets.
    """
    rows = []
    for method in table.methods:
        cells = []
        for dataset in table.datasets:
            cells.append(_score_cell(table, method.name, dataset, results))
        cells.append(_number_cell(table.average_ranks.get(method.name), ".2f"))
        rows.append(_method_row(method, cells, rename))
    title = f"{table.task.capitalize()}: {table.metric.heading}"
    head = ["Method", *map(rename, table.datasets), "Average rank"]
    return TextTable(title, head, rows, _legend(table, results, rename))


def combined_table(
    tables: Sequence[TaskTable], results: Results, rename: _Rename = str
) -> TextTable:
    """Several metrics of one task: a group of rows for each data set, methods by metrics.

    Parameters
    ----------
    tables : sequence of TaskTable
        At least one; the order of methods is that of the first.
    results : Results
        Marks are those of `score_table`.
    rename : callable, optional
        Gives the display names of methods and data sets.
    """
    first = tables[0]
    rows = []
    for dataset in first.datasets:
        group = rename(dataset)
        for method in first.methods:
            cells = []
            for table in tables:
                cells.append(_score_cell(table, method.name, dataset, results))
            shaded, named = _method_row(method, cells, rename)
            rows.append((shaded, [_TextCell(group), *named]))
            group = ""
    head = ["Data set", "Method", *_headings(tables)]
    title = f"{first.task.capitalize()}: all metrics"
    return TextTable(title, head, rows, _legend(first, results, rename))


def _headings(tables: Sequence[TaskTable]) -> list[str]:
    return [table.metric.heading for table in tables]


def _score_cell(table: TaskTable, method: str, dataset: str, results: Results | None) -> _TextCell:
    """A score as ``0.1234 ± 0.0056 (2)``, or failed.

    With • if the subject is significantly better than the method on the data set, ◦ if it is worse.
    """
    score = table.score(method, dataset)
    text = format_number(score.mean)
    if score.spread.n > 1:
        text += f" ± {score.spread.std:.4f}"
    if score.rank is not None:
        text += f" ({format_rank(score.rank)})"
    if score.n_failed:
        text = f"{text}, {score.n_failed} failed" if score.spread else "failed"
    if results is not None and results.subject not in (None, method):
        gap = difference(results, table, str(results.subject), method, dataset)
        if gap is not None and gap.is_significant:
            text += " •" if gap.mean > 0 else " ◦"
    return _TextCell(text, score.best)


def _legend(table: TaskTable, results: Results | None, rename: _Rename) -> str:
    legend = "One repeat"
    if table.n_repeats > 1:
        legend = f"Mean ± standard deviation over {table.n_repeats} repeats"
    legend += ", rank in parentheses, best in bold."
    if any(method.is_reference for method in table.methods):
        legend += " Methods fitted on true distributions are not ranked."
    if table.n_repeats > 1 and results is not None and results.subject is not None:
        marks = "significantly better (•) or worse (◦) than the method"
        legend += f" {rename(results.subject)} is {marks} ({CONFIDENCE:.0%} level)."
    if table.votes:
        legend += f" {describe_scoring_votes(table.task, table.votes, rename)}"
    return legend


def describe_scoring_votes(task: Task, votes: Mapping[str, float], rename: _Rename = str) -> str:
    """What scores of a task are compared with: how many votes of a row on each data set.

    Parameters
    ----------
    task : {"recovery", "prediction"}
    votes : mapping of str to float
        By data set, the mean number of votes that a row is scored by; at least one.
    rename : callable, optional
        Gives the display names of data sets.
    """
    compared = "held-out votes of training rows"
    if task == "prediction":
        compared = "votes of test rows"
    counts = []
    for dataset, count in votes.items():
        counts.append(f"on average {count:.3g} per row of {rename(dataset)}")
    return (
        f"Compared with the shares of {compared}, {enumerate_names(counts)}; a row counts as often "
        "as it has such votes. The fewer they are, the lower is the intersection even of the true "
        "degrees with their shares."
    )


def describe_best(results: Results, table: TaskTable, dataset: str) -> str:
    """The three best methods on a data set, and how much the first two differ; one at least."""
    shown = []
    for method in table.ranked[:3]:
        shown.append(f"{method.name} {table.score(method.name, dataset).mean:.3f}")
    direction = "Highest" if table.metric.greater_is_better else "Lowest"
    rows = "training" if table.task == "recovery" else "test"
    text = f"{direction} {table.metric.title.lower()} on {rows} rows: {', '.join(shown)}"
    for first, second in pairwise(table.ranked[:2]):
        gap = describe_gap(results, table, first.name, second.name, dataset)
        text += f"; {first.name} against {second.name}: {gap}"
        if table.n_repeats > 1:
            text += f" ({CONFIDENCE:.0%} interval)"
    return text


def describe_gap(results: Results, table: TaskTable, name: str, other: str, dataset: str) -> str:
    """How much better or worse a method is than another on a data set, with an interval."""
    gap = difference(results, table, name, other, dataset)
    if gap is None:
        return "no repeat in common"
    text = "equal"
    if gap.mean:
        text = f"{'better' if gap.mean > 0 else 'worse'} by {abs(gap.mean):.4f}"
    if math.isnan(gap.margin):
        return f"{text} in one repeat"
    text += f" ± {gap.margin:.4f}"
    if gap.mean and not gap.is_significant:
        text += ", not significant"
    return text


def cost_table(found: Iterable[Cost]) -> TextTable:
    """Seconds and memory, means over cells."""
    rows = []
    for cost in found:
        cells = []
        for spread in cost.seconds.values():
            cells.append(_number_cell(spread.mean, ".3g"))
        cells.append(_number_cell(cost.memory.mean, ".0f"))
        rows.append(_method_row(cost.method, cells))
    head = ["Method", "Selection, s", "Fit, s", "Prediction, s", "Peak memory, MB"]
    return TextTable("Time and memory", head, rows, legend="Means over cells.")


def agreement_table(found: Agreement) -> TextTable:
    """Mean intersection of methods with each other, for data without true degrees."""
    head = ["Method", "Mean"]
    rows = []
    for method, values in zip(found.methods, found.matrix, strict=True):
        head.append(method.name)
        mean = _number_cell(found.means[method.name])
        rows.append(_method_row(method, [mean, *map(_number_cell, values)]))
    title = f"{found.dataset}: agreement of methods, {found.task}"
    legend = "Mean intersection of their degrees, 1 if equal; "
    legend += "the mean is over the other methods without baselines."
    return TextTable(title, head, rows, legend)


def score_tables(results: Results, metrics: Sequence[str]) -> list[TextTable]:
    """Scores for each task and data set; agreement for each data set without true degrees.

    Parameters
    ----------
    results : Results
    metrics : sequence of str
        Those shown; where true degrees are unknown, the ones among them that need only 0/1 labels.

    Returns
    -------
    list of TextTable
        Methods by metrics, the best method by the first metric first.
    """
    # A plan that names metrics between distributions only still has something to show for 0/1
    # labels.
    for_labels = [metric for metric in metrics if metric in LABEL_METRICS] or LABEL_HEADLINE
    found = []
    for task, dataset in product(TASKS, results.present_datasets):
        names = metrics if dataset.has_truth else for_labels
        table = _dataset_scores(results, dataset.name, task, names)
        if table.rows:
            found.append(table)
    for dataset in results.present_datasets:
        if not dataset.has_truth:
            found.append(_dataset_agreement(results, dataset.name))
    return found


def describe_unreported(results: Results) -> list[str]:
    """A sentence about headline metrics without a score; empty if there are none."""
    if not results.unreported:
        return []
    names = ", ".join(results.unreported)
    return [f"Not reported, because no record has a score: {names}."]


def _dataset_scores(
    results: Results, dataset: str, task: Task, metrics: Sequence[str]
) -> TextTable:
    tables = []
    for name in metrics:
        table = results.table(task, get_metric(name))
        if table is not None:
            tables.append(table)
    methods = list(results.methods.values())
    if tables:
        order = tables[0].metric.sort_key
        methods.sort(key=lambda method: order(tables[0].score(method.name, dataset).mean))
    rows = []
    for method in methods:
        records = results.finished_records(dataset, method.name)
        if tables and any(record.scores(task) for record in records):
            cells = [_brief_cell(table.score(method.name, dataset)) for table in tables]
            rows.append(_method_row(method, cells))
    legend = ""
    if tables and dataset in tables[0].votes:
        legend = describe_scoring_votes(task, {dataset: tables[0].votes[dataset]})
    return TextTable(f"{dataset}: {task}", ["Method", *_headings(tables)], rows, legend)


def _dataset_agreement(results: Results, dataset: str) -> TextTable:
    means = {}
    for task in TASKS:
        found = agreement(results, dataset, task)
        if found is not None:
            means[task.capitalize()] = found.means
    rows = []
    for name, method in results.methods.items():
        cells = []
        for column in means.values():
            cells.append(_number_cell(column.get(name)))
        if cells:
            rows.append(_method_row(method, cells))
    legend = (
        f"{dataset} has no true degrees: methods were scored on held-out 0/1 labels and by their "
        "mean intersection with the other methods; neither measures the distance to true degrees."
    )
    return TextTable(f"{dataset}: agreement", ["Method", *means], rows, legend)


def format_number(value: float | None, form: str = ".4f") -> str:
    """A number, by default with four decimals; a dash if it is missing."""
    return _DASH if value is None or math.isnan(value) else f"{value:{form}}"


def format_rank(rank: float) -> str:
    """A rank: 2, or 2.5 for a tie."""
    return f"{rank:.1f}".removesuffix(".0")


def _number_cell(value: float | None, form: str = ".4f") -> _TextCell:
    return _TextCell(format_number(value, form))


def _brief_cell(score: MethodScore) -> _TextCell:
    """A score as ``0.1234 ±0.006``."""
    text = format_number(score.mean)
    if score.spread.n > 1:
        text += f" ±{score.spread.std:.3f}"
    return _TextCell(text, score.best)


def _method_row(method: Method, cells: Iterable[_TextCell], rename: _Rename = str) -> _Row:
    """The row of a method, shaded if it is a baseline: the method with its role, the cells."""
    roles = []
    if method.is_baseline:
        roles.append("baseline")
    if method.is_reference:
        roles.append("true distributions")
    if method.is_limited:
        roles.append("0/1 labels")
    name = rename(method.name)
    if roles:
        name += f" ({', '.join(roles)})"
    return method.is_baseline, [_TextCell(name), *cells]
