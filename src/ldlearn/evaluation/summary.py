"""Summaries of records: means and standard deviations over repeats, ranks, and matrices of scores
for tests."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ldlearn.core.simplex import Array
from ldlearn.evaluation.ranking import ScoreMatrix
from ldlearn.evaluation.record import TASKS, Convergence, Record, Task, is_number, latest_records
from ldlearn.exceptions import InputError
from ldlearn.metrics import HEADLINE_METRICS, LABEL_METRICS, METRICS, Metric, get_metric

__all__ = ["Results", "Method", "Dataset", "Score", "Spread", "TaskTable"]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1; NaN for one value) of repeated measurements."""

    mean: float
    std: float
    n: int

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Self | None:
        """Summarise the finite numbers among the values; None if there are none."""
        numbers = [float(value) for value in values if is_number(value)]
        if not numbers:
            return None
        std = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan
        return cls(float(np.mean(numbers)), std, len(numbers))


@dataclass(frozen=True)
class Method:
    """A method of the run.

    Attributes
    ----------
    name, kind : str
    is_baseline : bool
        Uses no features, or is a plain classifier.
    is_reference : bool
        Was trained on the true degrees, unlike other methods of the run, so it does not compete.
    estimator, learner : str
        What it is made of, if the records contain it.
    """

    name: str
    kind: str = ""
    is_baseline: bool = False
    is_reference: bool = False
    estimator: str = ""
    learner: str = ""


@dataclass(frozen=True)
class Dataset:
    """A data set of the run: `missing` is why it could not be used, `has_truth` whether its true
    degrees are known."""

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    label_names: Sequence[str] = ()
    missing: str = ""
    has_truth: bool = True


@dataclass(frozen=True)
class Score:
    """A method on a data set: spread over repeats, failures, and the rank among those that
    compete."""

    spread: Spread | None = None
    n_failed: int = 0
    rank: float | None = None
    best: bool = False

    @property
    def mean(self) -> float:
        """The mean over repeats; NaN if there is none."""
        return self.spread.mean if self.spread else math.nan


@dataclass(frozen=True)
class TaskTable:
    """One metric of one task: methods (best first) by data sets.

    Attributes
    ----------
    average_ranks : dict of str to float
        Of the methods that compete and have a score without failures on every data set.
    """

    task: Task
    metric: Metric
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    scores: Mapping[tuple[str, str], Score]
    average_ranks: Mapping[str, float]

    def score(self, method: str, dataset: str) -> Score:
        """The score of a method on a data set, empty if there is no record."""
        return self.scores.get((method, dataset), Score())

    @property
    def ranked(self) -> list[Method]:
        """Methods with an average rank, best first."""
        return [method for method in self.methods if method.name in self.average_ranks]

    @property
    def baselines(self) -> list[Method]:
        """Ranked baselines, best first."""
        return [method for method in self.ranked if method.is_baseline]

    @property
    def n_repeats(self) -> int:
        """Most repeats behind a score."""
        return max((score.spread.n for score in self.scores.values() if score.spread), default=0)

    def matrix(self, methods: Sequence[str] | None = None) -> tuple[Array, list[str]]:
        """Mean scores, shape (n_datasets, n_methods), with the names of the columns.

        Parameters
        ----------
        methods : sequence of str, optional
            Those wanted, of which the ones with a score on every data set are taken; all ranked
            ones by default.
        """
        wanted = [method.name for method in self.ranked] if methods is None else methods
        complete = [m for m in wanted if all(self.score(m, d).spread for d in self.datasets)]
        means = [[self.score(m, d).mean for m in complete] for d in self.datasets]
        return np.array(means, dtype=float), complete


class Results:
    """The records of a run, grouped and summarised.

    Parameters
    ----------
    records : iterable of Record
        Of `read_records`.
    headline : sequence of str, optional
        Metrics shown first; those of the DLDL paper by default.
    subject : str, optional
        The method that others are compared with; by default the first of the records that competes
        and is no baseline.
    """

    def __init__(
        self,
        records: Iterable[Record],
        headline: Sequence[str] = HEADLINE_METRICS,
        subject: str = "",
    ) -> None:
        # A run that was continued has several records of a cell that failed before.
        self.records = latest_records(records)
        self.methods: dict[str, Method] = {}
        for r in self.records:
            reference = r.kind == "learner" or r.trained_on == "truth"
            method = Method(
                r.method, r.kind, r.is_baseline, reference, r.estimator, r.learner or ""
            )
            self.methods.setdefault(r.method, method)
        if all(method.is_reference for method in self.methods.values()):
            # A comparison of learners: all of them have the same advantage.
            self.methods = {
                name: replace(method, is_reference=False) for name, method in self.methods.items()
            }
        self._headline = tuple(headline)
        self._subject = subject

    @classmethod
    def from_records(cls, records: "Results | Iterable[Record]") -> "Results":
        """Results of records; results are returned as they are."""
        return records if isinstance(records, Results) else cls(records)

    @property
    def subject(self) -> str | None:
        """The method that others are compared with."""
        rivals = [
            method.name
            for method in self.methods.values()
            if not (method.is_baseline or method.is_reference)
        ]
        # A plan may name a subject of which this run, or this part of it, has no record.
        return self._subject if self._subject in rivals else next(iter(rivals), None)

    @cached_property
    def by_method_and_dataset(self) -> dict[tuple[str, str], list[Record]]:
        """Records of every (method, data set)."""
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            groups.setdefault((record.method, record.dataset), []).append(record)
        return groups

    def finished_records(
        self, dataset: str | None = None, method: str | None = None
    ) -> list[Record]:
        """Records of the cells that were computed, perhaps of one data set or one method."""
        mine = (
            self.by_method_and_dataset.get((method, dataset), [])
            if method and dataset
            else self.records
        )
        return [
            r
            for r in mine
            if r.is_ok and dataset in (None, r.dataset) and method in (None, r.method)
        ]

    @cached_property
    def datasets(self) -> list[Dataset]:
        """Every data set of the run, those missing included."""
        names = dict.fromkeys(record.dataset for record in self.records)
        return [
            _summarize_dataset(name, [r for r in self.records if r.dataset == name])
            for name in names
        ]

    @property
    def present_datasets(self) -> list[Dataset]:
        """Data sets that were available."""
        return [dataset for dataset in self.datasets if not dataset.missing]

    @property
    def missing_datasets(self) -> list[Dataset]:
        """Data sets that were not available."""
        return [dataset for dataset in self.datasets if dataset.missing]

    @property
    def failures(self) -> list[Record]:
        """Records of cells that failed."""
        return [record for record in self.records if record.status == "failed"]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Metrics in the records, headline first."""
        # Scores that need ordered labels, and those against 0/1 labels beside true degrees, only if
        # they are asked for.
        usual = [name for name, metric in METRICS.items() if not metric.ordinal_only]
        if not all(dataset.has_truth for dataset in self.datasets):
            usual += LABEL_METRICS
        ordered = dict.fromkeys([*self._headline, *usual])
        return [get_metric(name) for name in ordered if name in self._scored]

    @property
    def unreported(self) -> list[str]:
        """Headline metrics of which no record has a score."""
        return [name for name in self._headline if name not in self._scored]

    @cached_property
    def _scored(self) -> set[str]:
        """Names of the registered metrics of which a record has a score."""
        scores = [record.scores(task) for record in self.finished_records() for task in TASKS]
        found = {name for each in scores for name, value in each.items() if is_number(value)}
        return found & {*METRICS, *LABEL_METRICS}

    @property
    def headline_metrics(self) -> list[Metric]:
        """Metrics of which tables and figures are also written as files."""
        # A run on 0/1 labels has none of the paper's metrics, and a report needs at least one.
        return [metric for metric in self.metrics if metric.name in self._headline] or self.metrics[
            :1
        ]

    def convergence(self, dataset: str) -> dict[str, list[Convergence]]:
        """By method, what its repeats on a data set recorded of their convergence."""
        runs: dict[str, list[Convergence]] = {}
        for record in self.finished_records(dataset):
            if record.convergence and record.convergence.objective:
                runs.setdefault(record.method, []).append(record.convergence)
        return runs

    def spread(self, method: str, dataset: str, task: Task, metric: str) -> Spread | None:
        """Mean and standard deviation of a method on a data set; None if no repeat has a score."""
        return Spread.from_values(
            record.scores(task).get(metric) for record in self.finished_records(dataset, method)
        )

    def table(self, task: Task, metric: Metric) -> TaskTable | None:
        """The table of a task and a metric; None if no record has it."""
        # A method need not have been run on every data set.
        scores = defaultdict(Score)
        for (m, d), records in self.by_method_and_dataset.items():
            n_failed = sum(record.status == "failed" for record in records)
            scores[m, d] = Score(self.spread(m, d, task, metric.name), n_failed)
        scored = {dataset for (_, dataset), score in scores.items() if score.spread}
        datasets = tuple(
            dataset.name for dataset in self.present_datasets if dataset.name in scored
        )
        names = [m for m in self.methods if any(scores[m, d].spread for d in datasets)]
        if not names:
            return None
        # Repeats that failed may be the hard ones, so that a rank by the others would flatter a
        # method.
        complete = [
            m
            for m in names
            if all(scores[m, d].spread and not scores[m, d].n_failed for d in datasets)
        ]
        # A method trained on the true degrees is a bound and does not compete.
        competing = tuple(m for m in complete if not self.methods[m].is_reference)
        values = np.array([[scores[m, d].mean for m in competing] for d in datasets])
        means = ScoreMatrix(values, competing, metric.greater_is_better)
        for d, row in zip(datasets, means.ranks.tolist(), strict=True):
            for m, rank in zip(competing, row, strict=True):
                scores[m, d] = replace(scores[m, d], rank=rank, best=rank == min(row))
        average = means.average_ranks
        # Unranked methods last; among these, those trained on the true degrees after those that
        # failed somewhere.
        ordered = sorted(
            names, key=lambda m: (average.get(m, np.inf), self.methods[m].is_reference)
        )
        return TaskTable(
            task, metric, tuple(self.methods[m] for m in ordered), datasets, dict(scores), average
        )


def _summarize_dataset(name: str, records: Sequence[Record]) -> Dataset:
    used = [record for record in records if record.status != "missing"]
    if not used:
        return Dataset(name, missing=records[0].message or "not on this machine")
    # A cell that failed while its data were split has no sizes.
    complete = next((record for record in used if record.sizes), used[0])
    if any(len(record.label_names) not in (0, len(complete.label_names)) for record in used):
        raise InputError(
            f"Records of the data set {name!r} have different labels; they belong to different runs."
        )
    # Degrees are recorded only where the true ones are unknown.
    return Dataset(
        name,
        complete.sizes,
        complete.label_names,
        has_truth=not any(record.degrees for record in used),
    )
