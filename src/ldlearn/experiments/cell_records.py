"""Putting the partial results of a cell together to its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldlearn.evaluation import TASKS, Record, Task
from ldlearn.evaluation.formatting import plural
from ldlearn.experiments.captured_warnings import distinct
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.search import Candidate, Partial
from ldlearn.metrics import get_metric


def cell_record(cell: Cell, partials: Sequence[Partial]) -> Record:
    """The record of a cell, from what the pieces of its grid found, in the order of the pieces."""
    found: dict[str, Any] = partials[0].circumstances | {
        "started": min(partial.circumstances["started"] for partial in partials),
        "peak_memory_mb": max(partial.circumstances["peak_memory_mb"] for partial in partials),
    }
    errors = [partial.error for partial in partials if partial.error]
    if errors:
        return cell.record("failed", errors[0], **found)
    # A piece of a path takes its points from all over the grid, so that pieces end to end are not in its order.
    points = sorted((entry for partial in partials for entry in partial.points), key=lambda entry: entry[0])
    grid = [point for _, point in points]
    seconds = {"select": round(sum(partial.seconds for partial in partials), 4), "fit": 0.0, "predict": 0.0}
    warnings = distinct([text for partial in partials for text in partial.warnings])
    found |= {"warnings": warnings, "grid": grid, "n_points": len(grid), "seconds": seconds}
    broken = [point.error for point in grid if point.error]
    best = {task: _best(task, cell, partials) for task in cell.method.tasks}
    if not all(best.values()):
        return cell.record("failed", broken[0] if broken else "No grid point gave a result.", **found)
    basis = next((partial.basis for partial in partials if partial.basis), None)
    said = f"{plural(len(broken), 'grid point')} failed, the first with {broken[0]}" if broken else ""
    return cell.record("ok", said, basis, **found | _outcome(best, seconds))


def _outcome(best: dict[Task, dict[str, Candidate]], seconds: dict[str, float]) -> dict[str, Any]:
    """What the best models of each task are worth; the first metric of a task chose the one that is shown."""
    shown = {task: next(iter(chosen.values())) for task, chosen in best.items()}
    told = {key: value for candidate in shown.values() for key, value in candidate.found.items()}
    # Both tasks may show models of different points; the time of a method is that of the one which predicts.
    timed, predict_seconds = shown.get("prediction") or shown["recovery"], told.get("predict_seconds", 0.0)
    neither = dict.fromkeys(TASKS)  # what is not its task has nothing
    return {
        "selected": neither | {task: candidate.params for task, candidate in shown.items()},
        "selected_by_metric": {
            task: {metric: candidate.params for metric, candidate in chosen.items()}
            for task, chosen in best.items()
            if len(chosen) > 1
        },
        **{task: _own_choices(chosen, "scores") for task, chosen in best.items()},
        "paper_zeros": neither | {task: _own_choices(chosen, "paper_zeros") for task, chosen in best.items()},
        "degrees": {task: each.found["degrees"] for task, each in shown.items() if "degrees" in each.found},
        "validation": neither | {task: candidate.value for task, candidate in shown.items()},
        "samples": told.get("samples"),
        "convergence": told.get("convergence"),
        "seconds": seconds | {"fit": round(timed.fit_seconds, 4), "predict": round(predict_seconds, 4)},
    }


def _own_choices(chosen: dict[str, Candidate], kind: str) -> dict[str, float]:
    """Scores of the model that is shown, those of metrics that chose for themselves taken from what they chose."""
    scores: dict[str, float] = next(iter(chosen.values())).found[kind]
    own = {metric: candidate.found[kind].get(metric) for metric, candidate in chosen.items()}
    return {name: own.get(name, score) for name, score in scores.items()}


def _best(task: Task, cell: Cell, partials: Sequence[Partial]) -> dict[str, Candidate]:
    """By metric that chooses, the best candidate of the pieces; of equals, the one that stands first in the grid."""
    found: dict[str, Candidate] = {}
    for metric in cell.selection.deciding(task):
        candidates = [each for partial in partials if (each := partial.best.get((task, metric))) is not None]
        rivals_by = get_metric(cell.selection.recovery if cell.method.stepwise else metric)
        if candidates:
            # The place decides ties, so that how a grid was cut into pieces cannot be seen in a record.
            found[metric] = min(candidates, key=lambda each: (rivals_by.sort_key(each.rival), each.place))
    return found
