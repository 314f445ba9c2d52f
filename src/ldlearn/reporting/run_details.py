"""Details of a run: convergence, selected parameters, versions, seeds and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

from ldlearn.evaluation import TASKS, Results, Spread, Task
from ldlearn.evaluation.formatting import format_value
from ldlearn.evaluation.record import is_number


@dataclass(frozen=True)
class Progress:
    """Convergence of a method on a data set over its repeats."""

    method: str
    dataset: str
    steps: Spread
    objective: Spread
    gap: Spread | None


def progress(results: Results) -> Iterator[Progress]:
    """Convergence of every method that recorded its objective."""
    for dataset in results.present:
        for method, runs in results.convergence(dataset.name).items():
            steps, last = Spread.of(len(run.objective) for run in runs), Spread.of(run.objective[-1] for run in runs)
            if steps and last:
                yield Progress(method, dataset.name, steps, last, Spread.of(run.gap for run in runs))


def circumstances(results: Results) -> SimpleNamespace:
    """How the records were made: versions, threads, seeds, times and warnings over all of them."""
    records = results.records
    used = [record for record in records if record.status != "missing"]
    started = sorted(record.started for record in used if record.started)
    versions: dict[str, dict[str, None]] = {}  # by name, in the order in which they are met
    for record in used:
        for name, version in record.versions.items():
            versions.setdefault(name, {})[version] = None
    return SimpleNamespace(
        n_ok=sum(record.is_ok for record in records),
        n_failed=len(results.failures),
        n_missing=len(records) - len(used),
        seconds=sum(value for record in used for value in record.seconds.values() if is_number(value)),
        versions={name: list(found) for name, found in versions.items()},
        threads=list(dict.fromkeys(str(record.threads) for record in used if record.threads is not None)),
        seeds=sorted({record.seed for record in used if record.seed is not None}),
        repeats=len({record.repeat for record in used}),
        first=started[0] if started else "",
        last=started[-1] if started else "",
        # Different warnings with the number of cells that gave them, the most frequent first.
        warnings=Counter(f"{record.method}: {text}" for record in used for text in record.warnings).most_common(),
    )


def selected_parameters(results: Results) -> dict[tuple[str, str, Task], dict[str, Counter[str]]]:
    """By method, data set and task, wherever there was a choice: how many repeats took each value of a parameter."""
    found: dict[tuple[str, str, Task], dict[str, Counter[str]]] = {}
    for (method, dataset), records in results.by_method.items():
        for task, record in product(TASKS, records):
            # one point is no choice
            for name, value in (record.selected.get(task) or {}).items() if record.n_points > 1 else ():
                counts = found.setdefault((method, dataset, task), {})
                counts.setdefault(name, Counter())[format_value(value)] += 1
    return found
