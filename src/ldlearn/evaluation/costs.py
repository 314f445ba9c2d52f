"""Time and memory of every method, as means over its finished cells."""

from __future__ import annotations

from dataclasses import dataclass

from ldlearn.evaluation.record import PHASES
from ldlearn.evaluation.summary import Method, Results, Spread


@dataclass(frozen=True)
class Cost:
    """Seconds by phase and peak memory of a method over its finished cells."""

    method: Method
    seconds: dict[str, Spread | None]
    memory: Spread | None
    n_cells: int


def costs(results: Results, dataset: str | None = None) -> list[Cost]:
    """Costs of every method with a finished cell, perhaps on one data set; the quickest fit first."""
    found = []
    for method in results.methods.values():
        mine = results.finished(dataset, method.name)
        if mine:
            seconds = {phase: Spread.of(record.seconds.get(phase) for record in mine) for phase in PHASES}
            if method.kind == "enhancer":
                seconds["predict"] = None  # it cannot, so a time of zero would mislead
            found.append(Cost(method, seconds, Spread.of(record.peak_memory_mb for record in mine), len(mine)))
    # A record without times, made by hand or by others, goes to the end.
    return sorted(found, key=lambda cost: cost.seconds["fit"].mean if cost.seconds["fit"] else float("inf"))
