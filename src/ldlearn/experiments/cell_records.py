"""Putting the partial results of a cell together to its record."""

from __future__ import annotations

from typing import Any

from ldlearn.experiments.captured_warnings import distinct
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.search import Candidate, Partial
from ldlearn.experiments.worker import THREADS, WorkResult
from ldlearn.metrics import get_metric
from ldlearn.results import TASKS, Record


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
    best = {task: _best(task, cell.method, cell.selection, partials) for task in TASKS}
    wanted = {"recovery": cell.method.recovers, "prediction": cell.method.predicts}
    if any(wanted[task] and best[task] is None for task in TASKS):
        return cell.record("failed", broken[0] if broken else "No grid point gave a result.", **found)
    found["selection"] = {"recovery_basis": next((partial.basis for partial in partials if partial.basis), None)}
    said = f"{len(broken)} grid points failed, the first with {broken[0]}" if broken else ""
    return cell.record("ok", said, **found | _outcome(best["recovery"], best["prediction"], found["seconds"]))


def _outcome(recovery: Candidate | None, prediction: Candidate | None, seconds: dict[str, float]) -> dict[str, Any]:
    best = {"recovery": recovery, "prediction": prediction}
    timed = prediction or recovery
    return {
        "selected": {task: found and found.params for task, found in best.items()},
        "recovery": recovery and recovery.scores,
        "prediction": prediction and prediction.scores,
        "paper_zeros": {task: found and found.paper_zeros for task, found in best.items()},
        "validation": {task: found and found.value for task, found in best.items()},
        "samples": recovery and recovery.samples,
        "convergence": recovery and recovery.convergence,
        "seconds": seconds
        | {
            "fit": round(timed.fit_seconds, 4) if timed else 0.0,
            "predict": round(prediction.predict_seconds, 4) if prediction else 0.0,
        },
    }


def _best(task: str, method: MethodSpec, selection: Selection, partials: list[Partial]) -> Candidate | None:
    """The best candidate of the pieces; of equals, the one that stands first in the grid."""
    by_recovery = method.stepwise or task == "recovery"
    sign = -1.0 if get_metric(selection.recovery if by_recovery else selection.prediction).greater_is_better else 1.0
    candidates = [found for partial in partials if (found := partial.best.get(task)) is not None]

    def order(candidate: Candidate) -> tuple[bool, float, Any]:
        value = candidate.value if candidate.rival is None else candidate.rival
        return value != value, sign * value, candidate.place  # NaN comes last

    return min(candidates, key=order, default=None)
