"""Putting the partial results of a cell together to its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldlearn.experiments.captured_warnings import distinct
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.search import Candidate, Partial
from ldlearn.metrics import get_metric
from ldlearn.results import TASKS, Record, Task
from ldlearn.results.wording import plural


def cell_record(cell: Cell, partials: Sequence[Partial]) -> Record:
    """The record of a cell, from what the pieces of its grid found, in the order of the pieces."""
    found: dict[str, Any] = partials[0].circumstances | {
        "started": min(partial.circumstances["started"] for partial in partials),
        "peak_memory_mb": max(partial.circumstances["peak_memory_mb"] for partial in partials),
    }
    errors = [partial.error for partial in partials if partial.error]
    if errors:
        return cell.record("failed", errors[0], **found)
    points = sorted((entry for partial in partials for entry in partial.points), key=lambda entry: entry[0])
    grid = [point for _, point in points]
    found |= {
        "warnings": distinct([text for partial in partials for text in partial.warnings]),
        "grid": grid,
        "n_points": len(grid),
        "seconds": {"select": round(sum(partial.seconds for partial in partials), 4), "fit": 0.0, "predict": 0.0},
    }
    broken = [point.error for point in grid if point.error]
    best = {task: _best(task, cell, partials) for task in TASKS}
    if not all(best[task] for task in cell.method.tasks):
        return cell.record("failed", broken[0] if broken else "No grid point gave a result.", **found)
    found["selection"] = {"recovery_basis": next((partial.basis for partial in partials if partial.basis), None)}
    said = f"{plural(len(broken), 'grid point')} failed, the first with {broken[0]}" if broken else ""
    return cell.record("ok", said, **found | _outcome(best, found["seconds"]["select"]))


def _outcome(best: dict[Task, dict[str, Candidate]], select_seconds: float) -> dict[str, Any]:
    """What the best models of each task are worth; the first metric of a task chose the one that is shown."""
    shown = {task: next(iter(found.values()), None) for task, found in best.items()}
    recovery, prediction = (shown[task] for task in TASKS)
    timed = prediction or recovery
    return {
        "selected": {task: found and found.params for task, found in shown.items()},
        "selected_by_metric": {
            task: {metric: candidate.params for metric, candidate in found.items()}
            for task, found in best.items()
            if len(found) > 1
        },
        **{task: found and _own_choices(found, best[task], "scores") for task, found in shown.items()},
        "paper_zeros": {
            task: found and _own_choices(found, best[task], "paper_zeros") for task, found in shown.items()
        },
        "degrees": {task: found.degrees for task, found in shown.items() if found and found.degrees},
        "validation": {task: found and found.value for task, found in shown.items()},
        "samples": recovery and recovery.samples,
        "convergence": recovery and recovery.convergence,
        "seconds": {
            "select": select_seconds,
            "fit": round(timed.fit_seconds, 4) if timed else 0.0,
            "predict": round(prediction.predict_seconds, 4) if prediction else 0.0,
        },
    }


def _own_choices(shown: Candidate, chosen: dict[str, Candidate], kind: str) -> dict[str, float]:
    """Scores, those of metrics that chose for themselves taken from what they chose."""
    scores: dict[str, float] = getattr(shown, kind)
    own = {metric: getattr(candidate, kind).get(metric) for metric, candidate in chosen.items()}
    return {name: own.get(name, score) for name, score in scores.items()}


def _best(task: Task, cell: Cell, partials: Sequence[Partial]) -> dict[str, Candidate]:
    """By metric that chooses, the best candidate of the pieces; of equals, the one that stands first in the grid."""
    found: dict[str, Candidate] = {}
    for metric in cell.selection.deciding(task):
        candidates = [each for partial in partials if (each := partial.best.get((task, metric))) is not None]
        rivals_by = get_metric(cell.selection.recovery if cell.method.stepwise else metric)
        if candidates:
            found[metric] = min(candidates, key=lambda each: (rivals_by.sort_key(each.rival), each.place))
    return found
