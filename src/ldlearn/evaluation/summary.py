"""Summaries of records: means over repeats, ranks, and matrices of scores for tests."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product, starmap
from typing import Any, Self

import numpy as np

from ldlearn.evaluation.ranking import ScoreMatrix
from ldlearn.evaluation.record import (
    TASKS,
    Convergence,
    Record,
    Task,
    is_finite_number,
    latest_records,
)
from ldlearn.exceptions import InputError
from ldlearn.metrics import HEADLINE_METRICS, LABEL_METRICS, METRICS, Metric, get_metric

__all__ = ["Results", "Method", "Dataset", "MethodScore", "Spread", "TaskTable"]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1) of n measurements; false without any.

    The mean of none and the standard deviation of fewer than two are NaN.
    """

    mean: float = math.nan
    std: float = math.nan
    n: int = 0

    def __bool__(self) -> bool:
        return self.n > 0

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> Self:
        """Summarise the finite numbers among the values."""
        numbers = np.array(list(filter(is_finite_number, values)), dtype=float)
        if not len(numbers):
            return cls()
        std = float(numbers.std(ddof=1)) if len(numbers) > 1 else math.nan
        return cls(float(numbers.mean()), std, len(numbers))


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
    is_limited : bool
        Sees only 0/1 labels where other methods see counts of votes.
    estimator, learner : str
        What it is made of, if the records contain it.
    """

    name: str
    kind: str = ""
    is_baseline: bool = False
    is_reference: bool = False
    is_limited: bool = False
    estimator: str = ""
    learner: str = ""


@dataclass(frozen=True)
class Dataset:
    """A data set of the run.

    Attributes
    ----------
    name : str
    sizes : mapping of str to int
    label_names : sequence of str
    missing : str
        Why it could not be used; empty if it was.
    has_truth : bool
        Whether its true degrees are known, or shares of votes that methods have not seen.
    votes : mapping of str to float
        Mean numbers of votes over the repeats; see `Record`.
    is_scored_by_votes : bool
        See `Record`.
    """

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    label_names: Sequence[str] = ()
    missing: str = ""
    has_truth: bool = True
    votes: Mapping[str, float] = field(default_factory=dict)
    is_scored_by_votes: bool = False


@dataclass(frozen=True)
class MethodScore:
    """A method on a data set: spread over repeats, failures, and the rank among competitors."""

    spread: Spread = Spread()
    n_failed: int = 0
    rank: float | None = None
    best: bool = False

    @property
    def mean(self) -> float:
        """The mean over repeats; NaN if there is none."""
        return self.spread.mean


@dataclass(frozen=True)
class TaskTable:
    """One metric of one task: methods (best first) by data sets.

    Attributes
    ----------
    ranking : ScoreMatrix
        Mean scores of the methods that compete and have a score without failures on every data
        set, best average rank first.
    votes : mapping of str to float
        By data set that is scored by votes, their mean number in a row.
    """

    task: Task
    metric: Metric
    methods: tuple[Method, ...]
    datasets: tuple[str, ...]
    scores: Mapping[tuple[str, str], MethodScore]
    ranking: ScoreMatrix
    votes: Mapping[str, float] = field(default_factory=dict)

    def score(self, method: str, dataset: str) -> MethodScore:
        """The score of a method on a data set, empty if there is no record."""
        return self.scores.get((method, dataset), MethodScore())

    @cached_property
    def average_ranks(self) -> dict[str, float]:
        """Average ranks of the ranked methods, best first."""
        return self.ranking.average_ranks

    @property
    def ranked(self) -> list[Method]:
        """Methods with an average rank, best first."""
        return list(self.methods[: len(self.ranking.methods)])

    @property
    def baselines(self) -> list[str]:
        """Names of the ranked baselines, best first."""
        return [method.name for method in self.ranked if method.is_baseline]

    @property
    def non_baselines(self) -> list[str]:
        """Names of the ranked methods that are no baselines, best first."""
        return [method.name for method in self.ranked if not method.is_baseline]

    @property
    def n_repeats(self) -> int:
        """Most repeats behind a score."""
        return max(score.spread.n for score in self.scores.values())


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

    Attributes
    ----------
    records, failures : list of Record
        The last record of every cell, and those among them that failed.
    by_method_and_dataset : dict of (str, str) to list of Record
    methods : dict of str to Method
    datasets, present_datasets, missing_datasets : list of Dataset
        All data sets of the run, those that were available, and the others.
    voted_datasets : list of Dataset
        Those that are scored by votes that methods have not seen.
    metrics, headline_metrics : list of Metric
        Metrics in the records, headline first; those of which tables and figures are also written
        as files.
    unreported : list of str
        Headline metrics of which no record has a score.
    subject : str or None
    """

    def __init__(
        self,
        records: Iterable[Record],
        headline: Sequence[str] = HEADLINE_METRICS,
        subject: str = "",
    ) -> None:
        # A run that was continued has several records of a cell that failed before.
        self.records = latest_records(records)
        self.failures = [record for record in self.records if record.status == "failed"]
        self.by_method_and_dataset: dict[tuple[str, str], list[Record]] = {}
        by_dataset: dict[str, list[Record]] = {}
        for record in self.records:
            key = (record.method, record.dataset)
            self.by_method_and_dataset.setdefault(key, []).append(record)
            by_dataset.setdefault(record.dataset, []).append(record)
        self.methods = _find_methods(self.records)
        self.datasets = list(starmap(_summarize_dataset, by_dataset.items()))
        self.present_datasets = [dataset for dataset in self.datasets if not dataset.missing]
        self.missing_datasets = [dataset for dataset in self.datasets if dataset.missing]
        self.voted_datasets = [dataset for dataset in self.datasets if dataset.is_scored_by_votes]
        self._find_metrics(headline)
        candidates = []
        for method in self.methods.values():
            if not (method.is_baseline or method.is_reference):
                candidates.append(method.name)
        # A plan may name a subject of which this run, or this part of it, has no record.
        self.subject = subject if subject in candidates else next(iter(candidates), None)

    @classmethod
    def from_records(cls, records: "Results | Iterable[Record]") -> "Results":
        """Results of records; results are returned as they are."""
        return records if isinstance(records, Results) else cls(records)

    def _find_metrics(self, headline: Sequence[str]) -> None:
        scored: set[str] = set()
        for record, task in product(self.finished_records(), TASKS):
            for name, value in record.scores(task).items():
                if is_finite_number(value):
                    scored.add(name)
        scored &= {*METRICS, *LABEL_METRICS}
        # Scores that need ordered labels, and those against 0/1 labels beside true degrees, only if
        # they are asked for.
        shown = list(headline)
        shown += [name for name, metric in METRICS.items() if not metric.ordinal_only]
        if not all(dataset.has_truth for dataset in self.datasets):
            shown += LABEL_METRICS
        self.metrics = [get_metric(name) for name in dict.fromkeys(shown) if name in scored]
        self.headline_metrics = [metric for metric in self.metrics if metric.name in headline]
        # A run on 0/1 labels has none of the paper's metrics, and a report needs at least one.
        self.headline_metrics = self.headline_metrics or self.metrics[:1]
        self.unreported = [name for name in headline if name not in scored]

    def finished_records(
        self, dataset: str | None = None, method: str | None = None
    ) -> list[Record]:
        """Records of the cells that were computed, perhaps of one data set or one method."""
        finished: list[Record] = []
        for key, records in self.by_method_and_dataset.items():
            if method in (None, key[0]) and dataset in (None, key[1]):
                finished += [record for record in records if record.is_ok]
        return finished

    def convergence(self, dataset: str) -> dict[str, list[Convergence]]:
        """By method, what its repeats on a data set recorded of their convergence."""
        runs: dict[str, list[Convergence]] = {}
        for record in self.finished_records(dataset):
            if record.convergence and record.convergence.objective:
                runs.setdefault(record.method, []).append(record.convergence)
        return runs

    def spread(self, method: str, dataset: str, task: Task, metric: str) -> Spread:
        """Mean and standard deviation of the scores of a method on a data set."""
        records = self.finished_records(dataset, method)
        return Spread.from_values(record.scores(task).get(metric) for record in records)

    def table(self, task: Task, metric: Metric) -> TaskTable | None:
        """The table of a task and a metric; None if no record has it."""
        # A method need not have been run on every data set.
        scores = defaultdict(MethodScore)
        scored = set()
        for (name, dataset), records in self.by_method_and_dataset.items():
            spread = self.spread(name, dataset, task, metric.name)
            n_failed = sum(record.status == "failed" for record in records)
            scores[name, dataset] = MethodScore(spread, n_failed)
            if spread:
                scored.add(dataset)
        datasets = [dataset.name for dataset in self.datasets if dataset.name in scored]
        if not datasets:
            return None
        methods = []
        columns = []  # of the methods that compete
        names = []
        for name, method in self.methods.items():
            means = np.array([scores[name, dataset].mean for dataset in datasets])
            if not np.isnan(means).all():
                methods.append(method)
            n_failed = sum(scores[name, dataset].n_failed for dataset in datasets)
            # A method trained on the true degrees is a bound and does not compete. Repeats that
            # failed may be the hard ones, so that a rank by the others would flatter a method.
            if not (np.isnan(means).any() or n_failed or method.is_reference):
                names.append(name)
                columns.append(means)
        values = np.reshape(columns, (-1, len(datasets))).T
        ranking = ScoreMatrix(values, tuple(names), metric.greater_is_better).best_first()
        for dataset, ranks in zip(datasets, ranking.ranks.tolist(), strict=True):
            for name, rank in zip(ranking.methods, ranks, strict=True):
                best = rank == min(ranks)
                scores[name, dataset] = replace(scores[name, dataset], rank=rank, best=best)
        # Unranked methods last; among these, those trained on the true degrees after those that
        # failed somewhere.
        average = ranking.average_ranks
        methods.sort(key=lambda method: (average.get(method.name, np.inf), method.is_reference))
        votes = {}
        for voted in self.voted_datasets:
            if voted.name in datasets and task in voted.votes:
                votes[voted.name] = voted.votes[task]
        return TaskTable(
            task, metric, tuple(methods), tuple(datasets), dict(scores), ranking, votes
        )


def _find_methods(records: Sequence[Record]) -> dict[str, Method]:
    methods: dict[str, Method] = {}
    references = {record.method for record in records if record.trained_on == "truth"}
    for record in records:
        methods.setdefault(
            record.method,
            Method(
                name=record.method,
                kind=record.kind,
                is_baseline=record.is_baseline,
                is_reference=record.method in references,
                is_limited=bool(record.votes) and record.trained_on == "logical",
                estimator=record.estimator,
                learner=record.learner or "",
            ),
        )
    if all(method.is_reference for method in methods.values()):
        # A comparison of learners: all of them have the same advantage.
        for name, method in methods.items():
            methods[name] = replace(method, is_reference=False)
    return methods


def _summarize_dataset(name: str, records: Sequence[Record]) -> Dataset:
    used = [record for record in records if record.status != "missing"]
    if not used:
        return Dataset(name, missing=records[0].message or "not on this machine")
    # A cell that failed while its data were split has no sizes.
    complete = next((record for record in used if record.sizes), used[0])
    for record in used:
        if len(record.label_names) not in (0, len(complete.label_names)):
            raise InputError(
                f"Records of the data set {name!r} have different labels; they belong to "
                "different runs."
            )
    # Degrees are recorded only where the true ones are unknown.
    has_truth = not any(record.degrees for record in used)
    return Dataset(
        name,
        complete.sizes,
        complete.label_names,
        has_truth=has_truth,
        votes=_mean_votes(used),
        is_scored_by_votes=any(record.is_scored_by_votes for record in used),
    )


def _mean_votes(records: Sequence[Record]) -> dict[str, float]:
    means = {}
    for key in ("seen", *TASKS):
        spread = Spread.from_values(record.votes.get(key) for record in records)
        if spread:
            means[key] = spread.mean
    return means
