"""Time, memory, convergence and circumstances of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ldlearn.plotting.records import TASKS, Record, Spread, Task, finished, is_number, value_name
from ldlearn.plotting.time_memory import PHASES
from ldlearn.reporting.results import Method, Results


@dataclass(frozen=True)
class Cost:
    """Mean seconds and peak memory of a method over its finished cells."""

    method: Method
    seconds: dict[str, Spread | None]
    memory: Spread | None
    n_cells: int


def costs(results: Results) -> list[Cost]:
    """Costs of every method with a finished cell, the quickest fit first."""
    found = []
    for method in results.methods.values():
        mine = finished(results.records, method=method.name)
        if mine:
            seconds = {phase: Spread.of((r.get("seconds") or {}).get(phase) for r in mine) for phase in PHASES}
            if method.kind == "enhancer":
                seconds["predict"] = None  # it cannot, so a time of zero would mislead
            found.append(Cost(method, seconds, Spread.of(r.get("peak_memory_mb") for r in mine), len(mine)))
    return sorted(found, key=lambda cost: cost.seconds["fit"].mean if cost.seconds["fit"] else float("inf"))


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
    for (method, dataset), records in results.by_cell.items():
        recorded = [record.get("convergence") or {} for record in finished(records)]
        runs = [run for run in recorded if run.get("objective")]
        steps, last = Spread.of(len(run["objective"]) for run in runs), Spread.of(run["objective"][-1] for run in runs)
        if steps and last:
            gap = Spread.of(run.get("gap") for run in runs)
            found.append(Progress(method, dataset, steps, last, gap))
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
    used = [record for record in records if record.get("status") != "missing"]
    started = sorted(str(record["started"]) for record in used if record.get("started"))
    return Circumstances(
        n_ok=_count(records, "ok"),
        n_failed=_count(records, "failed"),
        n_missing=_count(records, "missing"),
        seconds=sum(v for r in used for v in (r.get("seconds") or {}).values() if is_number(v)),
        versions=_versions(used),
        threads=_distinct(str(record["threads"]) for record in used if record.get("threads") is not None),
        seeds=sorted({record["seed"] for record in used if isinstance(record.get("seed"), int)}),
        repeats=len({record.get("repeat") for record in used}),
        first=started[0] if started else "",
        last=started[-1] if started else "",
        warnings=_warnings(used),
    )


@dataclass(frozen=True)
class Choice:
    """Parameters that selection took for a method on a data set, with the number of repeats that took each value."""

    method: str
    dataset: str
    task: Task
    counts: dict[str, dict[str, int]]


def choices(results: Results) -> list[Choice]:
    """What was selected wherever there was a choice."""
    found = []
    for (method, dataset), records in results.by_cell.items():
        for task in TASKS:
            counts = _chosen(records, task)
            if counts:
                found.append(Choice(method, dataset, task, counts))
    return found


def _chosen(records: Iterable[Record], task: Task) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for record in records:
        if len(record.get("grid") or []) > 1:
            for name, value in ((record.get("selected") or {}).get(task) or {}).items():
                by_value = counts.setdefault(str(name), {})
                by_value[value_name(value)] = by_value.get(value_name(value), 0) + 1
    return counts


def _count(records: Iterable[Record], status: str) -> int:
    return sum(record.get("status") == status for record in records)


def _versions(records: Iterable[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        for name, version in (record.get("versions") or {}).items():
            if str(version) not in found.setdefault(str(name), []):
                found[str(name)].append(str(version))
    return found


def _warnings(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Different warnings with the number of cells that gave them, the most frequent first."""
    counts: dict[str, int] = {}
    for record in records:
        for text in record.get("warnings") or []:
            key = f"{record['method']}: {text}"
            counts[key] = counts.get(key, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
