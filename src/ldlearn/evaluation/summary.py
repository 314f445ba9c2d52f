"""The summary of records: means and spreads over repeats, ranks, and matrices of scores for tests."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldlearn.evaluation.ranks import ranks
from ldlearn.evaluation.record import TASKS, Convergence, Record, Task, is_number, latest
from ldlearn.metrics import HEADLINE_METRICS, LABEL_METRICS, METRICS, Metric, get_metric


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1; NaN for one value) of repeated measurements."""

    mean: float
    std: float
    n: int

    @classmethod
    def of(cls, values: Iterable[Any]) -> Spread | None:
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
        Looks at no feature, or does what anyone would do first.
    is_reference : bool
        Was trained on true distributions, so it does not compete.
    estimator, learner : str
        What it is made of, if the records say so.
    """

    name: str
    kind: str = ""
    is_baseline: bool = False
    is_reference: bool = False
    estimator: str = ""
    learner: str = ""

    @classmethod
    def of(cls, record: Record) -> Method:
        """Read a method off one of its records."""
        reference = record.kind == "learner" or record.trained_on == "truth"
        return cls(record.method, record.kind, record.is_baseline, reference, record.estimator, record.learner or "")


@dataclass(frozen=True)
class Dataset:
    """A data set of the run; `missing` says why it could not be used, `has_truth` whether its degrees are known."""

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    label_names: Sequence[str] = ()
    missing: str = ""
    has_truth: bool = True


@dataclass(frozen=True)
class Score:
    """A method on a data set: spread over repeats, failures, and the rank among those that compete."""

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
        Of the methods that have a score without failures on every data set and do not know the truth.
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

    def beats(self, first: str, second: str, dataset: str) -> bool:
        """Whether a method has a strictly better mean than another on a data set."""
        a, b = self.score(first, dataset).mean, self.score(second, dataset).mean
        return a > b if self.metric.greater_is_better else a < b

    def matrix(self, methods: Sequence[str] | None = None) -> tuple[NDArray[np.float64], list[str]]:
        """Mean scores, shape (n_datasets, n_methods), with the names of the columns.

        Parameters
        ----------
        methods : sequence of str, optional
            Those wanted, of which the ones with a score on every data set are taken; all ranked ones by default.
        """
        wanted = [method.name for method in self.ranked] if methods is None else methods
        complete = [m for m in wanted if all(self.score(m, d).spread for d in self.datasets)]
        means = [[self.score(m, d).mean for m in complete] for d in self.datasets]
        return np.array(means, dtype=np.float64), complete


@dataclass(frozen=True)
class SummaryRow:
    """A method on a data set: the spread of every metric that has a score."""

    dataset: str
    method: Method
    spreads: Mapping[str, Spread]

    def mean(self, metric: str) -> float:
        """The mean of a metric; NaN if there is none."""
        return self.spreads[metric].mean if metric in self.spreads else math.nan


AnyRecords: TypeAlias = "Results | Iterable[Record | Mapping[str, Any]]"


class Results:
    """The records of a run, grouped and summarised.

    Parameters
    ----------
    records : iterable of Record
        Of `read_records`; dictionaries, as version 0.1.0 had them, are read too.
    headline : sequence of str, optional
        Metrics shown first; those of the DLDL paper by default.
    subject : str, optional
        The method that others are compared with; by default the first of the records that is no baseline and does not
        know the truth.
    """

    def __init__(
        self,
        records: Iterable[Record | Mapping[str, Any]],
        headline: Sequence[str] = HEADLINE_METRICS,
        subject: str = "",
    ) -> None:
        # A run that was continued has several records of a cell that failed before.
        self.records = latest(each if isinstance(each, Record) else Record.from_dict(each) for each in records)
        self.methods: dict[str, Method] = {}
        for record in self.records:
            self.methods.setdefault(record.method, Method.of(record))
        self._headline, self._subject = tuple(headline), subject

    @classmethod
    def of(cls, records: AnyRecords) -> Results:
        """Results as they are, or of records."""
        return records if isinstance(records, Results) else cls(records)

    @property
    def subject(self) -> str | None:
        """The method that others are compared with."""
        rivals = [method.name for method in self.methods.values() if not (method.is_baseline or method.is_reference)]
        # A plan may name a subject of which this run, or this part of it, has no record.
        return self._subject if self._subject in rivals else next(iter(rivals), None)

    @cached_property
    def by_method(self) -> dict[tuple[str, str], list[Record]]:
        """Records of every (method, data set)."""
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            groups.setdefault((record.method, record.dataset), []).append(record)
        return groups

    def finished(self, dataset: str | None = None, method: str | None = None) -> list[Record]:
        """Records of the cells that were computed, perhaps of one data set or one method."""
        if dataset is not None and method is not None:  # asked for every entry of a table
            return [record for record in self.by_method.get((method, dataset), []) if record.is_ok]
        return [
            record
            for record in self.records
            if record.is_ok and dataset in (None, record.dataset) and method in (None, record.method)
        ]

    @cached_property
    def datasets(self) -> list[Dataset]:
        """Every data set of the run, those missing included."""
        names = dict.fromkeys(record.dataset for record in self.records)
        return [_dataset(name, [r for r in self.records if r.dataset == name]) for name in names]

    @property
    def present(self) -> list[Dataset]:
        """Data sets that were there."""
        return [dataset for dataset in self.datasets if not dataset.missing]

    @property
    def missing(self) -> list[Dataset]:
        """Data sets that were not."""
        return [dataset for dataset in self.datasets if dataset.missing]

    @property
    def failures(self) -> list[Record]:
        """Records of cells that failed."""
        return [record for record in self.records if record.status == "failed"]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Metrics in the records, headline first."""
        found = {name for record in self.records for task in TASKS for name in record.scores(task)}
        known = {**METRICS, **LABEL_METRICS}
        return [known[name] for name in dict.fromkeys([*self._headline, *known]) if name in found and name in known]

    @property
    def headline(self) -> list[Metric]:
        """Metrics of which tables and figures are also written as files."""
        # A run on 0/1 labels has none of the paper's metrics, and a report needs at least one.
        return [metric for metric in self.metrics if metric.name in self._headline] or self.metrics[:1]

    def convergence(self, dataset: str) -> dict[str, list[Convergence]]:
        """By method, what its repeats on a data set recorded of their convergence."""
        runs: dict[str, list[Convergence]] = {}
        for record in self.finished(dataset):
            if record.convergence and record.convergence.objective:
                runs.setdefault(record.method, []).append(record.convergence)
        return runs

    def spread(self, method: str, dataset: str, task: Task, metric: str) -> Spread | None:
        """Mean and deviation of a method on a data set; None if no repeat has a score."""
        mine = self.by_method.get((method, dataset), [])
        return Spread.of(record.scores(task).get(metric) for record in mine if record.is_ok)

    def summary(self, task: Task, metrics: Sequence[str]) -> list[SummaryRow]:
        """Every method on every data set it has scores for, within a data set the best by the first metric first."""
        names = [dataset.name for dataset in self.present]
        rows = []
        for (method, dataset), records in self.by_method.items():
            if any(record.is_ok and record.scores(task) for record in records):
                found = {metric: self.spread(method, dataset, task, metric) for metric in metrics}
                known = {metric: spread for metric, spread in found.items() if spread}
                rows.append(SummaryRow(dataset, self.methods[method], known))
        first = get_metric(metrics[0])
        return sorted(rows, key=lambda row: (names.index(row.dataset), first.sort_key(row.mean(first.name))))

    def table(self, task: Task, metric: Metric) -> TaskTable | None:
        """The table of a task and a metric; None if no record has it."""
        # a method need not have been run on every data set
        scores: dict[tuple[str, str], Score] = defaultdict(Score)
        for (m, d), records in self.by_method.items():
            n_failed = sum(record.status == "failed" for record in records)
            scores[m, d] = Score(self.spread(m, d, task, metric.name), n_failed)
        scored = {dataset for (_, dataset), score in scores.items() if score.spread}
        datasets = tuple(dataset.name for dataset in self.present if dataset.name in scored)
        names = [m for m in self.methods if any(scores[m, d].spread for d in datasets)]
        if not names:
            return None
        # Repeats that failed may be the hard ones, so that a rank by those left over would flatter a method.
        complete = [m for m in names if all(scores[m, d].spread and not scores[m, d].n_failed for d in datasets)]
        # What knows the truth is a bound and no rival, and would push the others down.
        competing = [m for m in complete if not self.methods[m].is_reference]
        places: dict[str, list[float]] = {m: [] for m in competing}
        for d in datasets:
            column = _ranks([scores[m, d].mean for m in competing], metric)
            for m, rank in zip(competing, column, strict=True):
                scores[m, d] = replace(scores[m, d], rank=rank, best=rank == min(column))
                places[m].append(rank)
        average = {m: float(np.mean(found)) for m, found in places.items()}
        # Unranked methods last; among these, what was trained on the truth after what failed somewhere.
        ordered = sorted(names, key=lambda m: (average.get(m, np.inf), self.methods[m].is_reference))
        return TaskTable(task, metric, tuple(self.methods[m] for m in ordered), datasets, dict(scores), average)


def _dataset(name: str, records: Sequence[Record]) -> Dataset:
    used = [record for record in records if record.status != "missing"]
    if not used:
        return Dataset(name, missing=records[0].message or "not on this machine")
    # a cell that failed while its data were split has no sizes
    known = next((record for record in used if record.sizes), used[0])
    # Degrees are kept only where there is no truth to score them by.
    return Dataset(name, known.sizes, known.label_names, has_truth=not any(record.degrees for record in used))


def _ranks(means: list[float], metric: Metric) -> list[float]:
    if len(means) < 2:
        return [1.0] * len(means)
    # The ranks of one data set do not depend on another; ranks() asks for two, as all tests do.
    return [float(rank) for rank in ranks([means, means], greater_is_better=metric.greater_is_better)[0]]
