"""Putting the partial results of a cell together to its record."""

from __future__ import annotations

from typing import Any

from ldlearn.experiments.captured_warnings import distinct
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.search import Candidate, Partial
from ldlearn.experiments.worker import THREADS, WorkResult
from ldlearn.metrics import get_metric
from ldlearn.results import TASKS, Record, Task
from ldlearn.results.wording import plural


def cell_record(cell: Cell, results: list[tuple[WorkResult, Partial | None]]) -> Record:
    """The record of a cell.

    Parameters
    ----------
    cell : Cell
    results : list of (WorkResult, Partial)
        Of every piece of its grid, in the order of the pieces.
    """
    first = results[0][0]
    found: dict[str, Any] = {
        "sizes": first.sizes,
        "label_names": first.label_names,
        "versions": first.versions,
        "threads": THREADS,
        "started": min(result.started for result, _ in results),
        "peak_memory_mb": max(result.peak_memory_mb for result, _ in results),
    }
    errors = [result.error for result, _ in results if result.error]
    if errors:
        return cell.record("failed", errors[0], **found)
    partials = [partial for _, partial in results if partial is not None]
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
    wanted = {"recovery": cell.method.recovers, "prediction": cell.method.predicts}
    if any(wanted[task] and not best[task] for task in TASKS):
        return cell.record("failed", broken[0] if broken else "No grid point gave a result.", **found)
    found["selection"] = {"recovery_basis": next((partial.basis for partial in partials if partial.basis), None)}
    said = f"{plural(len(broken), 'grid point')} failed, the first with {broken[0]}" if broken else ""
    return cell.record("ok", said, **found | _outcome(best, found["seconds"]))


def _outcome(best: dict[Task, dict[str, Candidate]], seconds: dict[str, float]) -> dict[str, Any]:
    """What the best models of each task are worth; the first metric of a task chose the one that is shown."""
    shown = {task: next(iter(found.values()), None) for task, found in best.items()}
    recovery, prediction = shown["recovery"], shown["prediction"]
    timed = prediction or recovery
    return {
        "selected": {task: found and found.params for task, found in shown.items()},
        "selected_by_metric": {task: _params(found) for task, found in best.items() if len(found) > 1},
        "recovery": recovery and _own_choices(recovery.scores, best["recovery"], "scores"),
        "prediction": prediction and _own_choices(prediction.scores, best["prediction"], "scores"),
        "paper_zeros": {
            task: found and _own_choices(found.paper_zeros, best[task], "paper_zeros") for task, found in shown.items()
        },
        "degrees": {task: found.degrees for task, found in shown.items() if found and found.degrees},
        "validation": {task: found and found.value for task, found in shown.items()},
        "samples": recovery and recovery.samples,
        "convergence": recovery and recovery.convergence,
        "seconds": seconds
        | {
            "fit": round(timed.fit_seconds, 4) if timed else 0.0,
            "predict": round(prediction.predict_seconds, 4) if prediction else 0.0,
        },
    }


def _params(found: dict[str, Candidate]) -> dict[str, Any]:
    return {metric: candidate.params for metric, candidate in found.items()}


def _own_choices(scores: dict[str, float], chosen: dict[str, Candidate], kind: str) -> dict[str, float]:
    """Scores, those of metrics that chose for themselves taken from what they chose."""
    own = {metric: getattr(candidate, kind).get(metric) for metric, candidate in chosen.items()}
    return {name: own.get(name, score) for name, score in scores.items()}


def _best(task: Task, cell: Cell, partials: list[Partial]) -> dict[str, Candidate]:
    """By metric that chooses, the best candidate of the pieces; of equals, the one that stands first in the grid."""
    found: dict[str, Candidate] = {}
    for metric in cell.selection.deciding(task):
        candidates = [each for partial in partials if (each := partial.best.get((task, metric))) is not None]
        deciding = cell.selection.recovery if cell.method.stepwise else metric
        sign = -1.0 if get_metric(deciding).greater_is_better else 1.0
        if candidates:
            found[metric] = min(candidates, key=lambda candidate: _order(candidate, sign))
    return found


def _order(candidate: Candidate, sign: float) -> tuple[bool, float, Any]:
    value = candidate.value if candidate.rival is None else candidate.rival
    return value != value, sign * value, candidate.place  # NaN comes last
