"""Results of a run as tables: every number a mean over records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ldlearn.metrics import METRICS, Metric
from ldlearn.plotting.records import TASKS, Record, Spread, Task, latest, names_of, spread_of
from ldlearn.stats import ranks

HEADLINE = ("chebyshev", "clark", "threshold_error", "intersection")


@dataclass(frozen=True)
class Method:
    """A method of the run.

    Attributes
    ----------
    name, kind : str
    is_floor : bool
        Looks at no feature.
    is_reference : bool
        Was trained on true distributions, so it does not compete.
    estimator, learner : str
        What it is made of, if the records say so.
    """

    name: str
    kind: str = ""
    is_floor: bool = False
    is_reference: bool = False
    estimator: str = ""
    learner: str = ""

    @classmethod
    def of(cls, record: Record) -> Method:
        """Read a method off one of its records."""
        kind = str(record.get("kind") or "")
        return cls(
            name=str(record["method"]),
            kind=kind,
            is_floor=bool(record.get("is_floor")),
            is_reference=kind == "learner" or record.get("trained_on") == "truth",
            estimator=str(record.get("estimator") or ""),
            learner=str(record.get("learner") or ""),
        )


@dataclass(frozen=True)
class Dataset:
    """A data set of the run; `missing` says why it could not be used."""

    name: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    label_names: Sequence[str] = ()
    missing: str = ""


@dataclass(frozen=True)
class Cell:
    """A method on a data set: mean and std over repeats, failures, and the rank among those that compete."""

    spread: Spread | None = None
    n_failed: int = 0
    rank: float | None = None
    best: bool = False


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
    cells: Mapping[tuple[str, str], Cell]
    average_ranks: Mapping[str, float]

    def cell(self, method: str, dataset: str) -> Cell:
        """The cell, empty if there is no record."""
        return self.cells.get((method, dataset), Cell())

    @property
    def ranked(self) -> list[Method]:
        """Methods with an average rank, best first."""
        return [method for method in self.methods if method.name in self.average_ranks]

    @property
    def floors(self) -> list[Method]:
        """Ranked floors, best first."""
        return [method for method in self.ranked if method.is_floor]

    def beats(self, first: str, second: str, dataset: str) -> bool:
        """Whether a method has a strictly better mean than another on a data set."""
        a, b = _mean(self.cell(first, dataset)), _mean(self.cell(second, dataset))
        return a > b if self.metric.greater_is_better else a < b

    @property
    def n_repeats(self) -> int:
        """Most repeats behind a cell."""
        return max((cell.spread.n for cell in self.cells.values() if cell.spread), default=0)

    def scores(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Means of the ranked methods, shape (n_datasets, n_methods)."""
        return np.array([[_mean(self.cell(m.name, d)) for m in self.ranked] for d in self.datasets])


class Results:
    """The records of a run, read for a report.

    Parameters
    ----------
    records : iterable of mapping
        Of ``ldlearn.experiments.read_records``.
    headline : sequence of str, optional
        Metrics shown first; those of the paper by default.
    """

    def __init__(self, records: Iterable[Record], headline: Sequence[str] = HEADLINE) -> None:
        self.records = latest(records)
        self.methods = {name: Method.of(self._first("method", name)) for name in names_of(self.records, "method")}
        self._headline = tuple(headline)

    def _first(self, key: str, name: str) -> Record:
        return next(record for record in self.records if str(record[key]) == name)

    @cached_property
    def by_cell(self) -> dict[tuple[str, str], list[Record]]:
        """Records of every (method, data set)."""
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in self.records:
            groups.setdefault((str(record["method"]), str(record["dataset"])), []).append(record)
        return groups

    @cached_property
    def datasets(self) -> list[Dataset]:
        """Every data set of the run, those missing included."""
        return [self._dataset(name) for name in names_of(self.records, "dataset")]

    def _dataset(self, name: str) -> Dataset:
        mine = [record for record in self.records if str(record["dataset"]) == name]
        used = [record for record in mine if record.get("status") != "missing"]
        if not used:
            return Dataset(name, missing=str(mine[0].get("message") or "not on this machine"))
        known = next((record for record in used if record.get("sizes")), used[0])
        return Dataset(name, dict(known.get("sizes") or {}), tuple(map(str, known.get("label_names") or ())))

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
        return [record for record in self.records if record.get("status") == "failed"]

    @cached_property
    def metrics(self) -> list[Metric]:
        """Metrics in the records, headline first."""
        found = {name for record in self.records for task in TASKS for name in record.get(task) or {}}
        ordered = [*self._headline, *(name for name in METRICS if name not in self._headline)]
        return [METRICS[name] for name in dict.fromkeys(ordered) if name in found and name in METRICS]

    @property
    def headline(self) -> list[Metric]:
        """Metrics of which tables and figures are also written as files."""
        return [metric for metric in self.metrics if metric.name in self._headline] or self.metrics[:1]

    def table(self, task: Task, metric: Metric) -> TaskTable | None:
        """The table of a task and a metric; None if no record has it."""
        bare = {key: self._bare_cell(mine, task, metric.name) for key, mine in self.by_cell.items()}
        scored = {dataset for (_, dataset), cell in bare.items() if cell.spread}
        datasets = tuple(dataset.name for dataset in self.present if dataset.name in scored)
        names = [name for name in self.methods if any(bare.get((name, d), Cell()).spread for d in datasets)]
        if not names:
            return None
        competing = [name for name in names if self._competes(name, datasets, bare)]
        by_dataset = {d: _ranks([bare[m, d] for m in competing], metric) for d in datasets}
        placed = {(m, d): by_dataset[d][i] for d in datasets for i, m in enumerate(competing)}
        cells = {key: _placed(bare.get(key, Cell()), placed.get(key), by_dataset[key[1]])
                 for key in ((m, d) for m in names for d in datasets)}  # fmt: skip
        average = {m: float(np.mean([placed[m, d] for d in datasets])) for m in competing}
        ordered = sorted(names, key=lambda m: (average.get(m, np.inf), self.methods[m].is_reference))
        return TaskTable(task, metric, tuple(self.methods[m] for m in ordered), datasets, cells, average)

    def _bare_cell(self, records: Sequence[Record], task: Task, metric: str) -> Cell:
        done = [record for record in records if record.get("status") == "ok"]
        return Cell(spread_of(done, task, metric), sum(record.get("status") == "failed" for record in records))

    def _competes(self, name: str, datasets: Sequence[str], cells: Mapping[tuple[str, str], Cell]) -> bool:
        mine = [cells.get((name, dataset), Cell()) for dataset in datasets]
        return not self.methods[name].is_reference and all(cell.spread and not cell.n_failed for cell in mine)


def _mean(cell: Cell) -> float:
    return cell.spread.mean if cell.spread else float("nan")


def _ranks(cells: Sequence[Cell], metric: Metric) -> list[float]:
    if len(cells) < 2:
        return [1.0] * len(cells)
    # The ranks of one data set do not depend on another; ranks() asks for two, as all tests do.
    row = [_mean(cell) for cell in cells]
    return [float(rank) for rank in ranks([row, row], greater_is_better=metric.greater_is_better)[0]]


def _placed(cell: Cell, rank: float | None, column: Sequence[float]) -> Cell:
    return Cell(cell.spread, cell.n_failed, rank, rank is not None and rank == min(column))
