"""Details of a run: convergence, selected parameters, versions, seeds and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ldlearn.results import TASKS, Record, Results, Spread, Task
from ldlearn.results.record import is_number
from ldlearn.results.wording import value_name


@dataclass(frozen=True)
class Progress:
    """Convergence of a method on a data set over its repeats."""

    method: str
    dataset: str
    steps: Spread
    objective: Spread
    gap: Spread | None

    @property
    def relative_gap(self) -> float | None:
        """Gap as a share of the objective."""
        return None if self.gap is None or not self.objective.mean else abs(self.gap.mean / self.objective.mean)


def progress(results: Results) -> list[Progress]:
    """Convergence of every method that recorded its objective."""
    found = []
    for (method, dataset), records in results.by_method.items():
        runs = [r.convergence for r in records if r.is_ok and r.convergence and r.convergence.objective]
        steps, last = Spread.of(len(run.objective) for run in runs), Spread.of(run.objective[-1] for run in runs)
        if steps and last:
            found.append(Progress(method, dataset, steps, last, Spread.of(run.gap for run in runs)))
    return found


@dataclass(frozen=True)
class Circumstances:
    """How the records were made."""

    n_ok: int
    n_failed: int
    n_missing: int
    seconds: float
    versions: dict[str, list[str]]
    threads: list[str]
    seeds: list[Any]
    repeats: int
    first: str
    last: str
    warnings: list[tuple[str, int]]


def circumstances(results: Results) -> Circumstances:
    """Summarise versions, threads, seeds, times and warnings over all records."""
    records = results.records
    used = [record for record in records if record.status != "missing"]
    started = sorted(record.started for record in used if record.started)
    return Circumstances(
        n_ok=sum(record.is_ok for record in records),
        n_failed=len(results.failures),
        n_missing=len(records) - len(used),
        seconds=sum(value for record in used for value in record.seconds.values() if is_number(value)),
        versions=_versions(used),
        threads=list(dict.fromkeys(str(record.threads) for record in used if record.threads is not None)),
        seeds=sorted({record.seed for record in used if record.seed is not None}),
        repeats=len({record.repeat for record in used}),
        first=started[0] if started else "",
        last=started[-1] if started else "",
        warnings=_warnings(used),
    )


@dataclass(frozen=True)
class SelectedParameters:
    """Parameters that selection took for a method on a data set, with the number of repeats that took each value."""

    method: str
    dataset: str
    task: Task
    counts: dict[str, dict[str, int]]


def selected_parameters(results: Results) -> list[SelectedParameters]:
    """What was selected wherever there was a choice."""
    found = []
    for (method, dataset), records in results.by_method.items():
        for task in TASKS:
            counts = _chosen(records, task)
            if counts:
                found.append(SelectedParameters(method, dataset, task, counts))
    return found


def _chosen(records: Iterable[Record], task: Task) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for record in records:
        if record.n_points > 1:
            for name, value in (record.selected.get(task) or {}).items():
                counts.setdefault(name, Counter())[value_name(value)] += 1
    return counts


def _versions(records: Iterable[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        for name, version in record.versions.items():
            if version not in found.setdefault(name, []):
                found[name].append(version)
    return found


def _warnings(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Different warnings with the number of cells that gave them, the most frequent first."""
    return Counter(f"{record.method}: {text}" for record in records for text in record.warnings).most_common()
