"""From the partial results of a cell to its record."""

from __future__ import annotations

from typing import Any

from ldlearn.experiments.cells import Cell
from ldlearn.experiments.heard import distinct
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Selection
from ldlearn.experiments.records import SCHEMA, Record
from ldlearn.experiments.search import Partial
from ldlearn.experiments.worker import THREADS, WorkResult
from ldlearn.metrics import get_metric

TASKS = ("recovery", "prediction")


def blank_record(cell: Cell, status: str, message: str) -> Record:
    """A record without scores: of a cell that is missing or failed."""
    method = cell.method
    return {
        "schema": SCHEMA,
        "cell": cell.key,
        "dataset": cell.dataset.name,
        "method": method.name,
        "kind": method.kind,
        "is_floor": method.is_floor,
        "trained_on": method.trained_on,
        "estimator": method.estimator,
        "params": method.params,
        "learner": method.learner,
        "learner_params": method.learner_params,
        "repeat": cell.repeat,
        "seed": cell.seed,
        "sizes": {},
        "label_names": [],
        "status": status,
        "message": message,
        "selection": _chosen_by(cell.selection),
        "selected": dict.fromkeys(TASKS),
        "recovery": None,
        "prediction": None,
        "paper_zeros": dict.fromkeys(TASKS),
        "validation": dict.fromkeys(TASKS),
        "grid": [],
        "samples": None,
        "convergence": None,
        "warnings": [],
        "seconds": {"select": 0.0, "fit": 0.0, "predict": 0.0},
        "peak_memory_mb": None,
        "versions": {},
        "threads": THREADS,
        "started": None,
    }


def _chosen_by(selection: Selection) -> dict[str, Any]:
    """How parameters were chosen; the rows that judged recovery are known once a model is there."""
    return {key: getattr(selection, key) for key in ("mode", "recovery", "prediction")} | {"recovery_basis": None}


def assemble(cell: Cell, results: list[tuple[WorkResult, Partial | None]]) -> Record:
    """The record of a cell.

    Parameters
    ----------
    cell : Cell
    results : list of (WorkResult, Partial)
        Of every piece of its grid, in the order of the pieces.
    """
    record = blank_record(cell, "failed", "")
    first = results[0][0]
    record |= {"sizes": first.sizes, "label_names": first.label_names, "versions": first.versions}
    record["started"] = min(result.started for result, _ in results)
    record["peak_memory_mb"] = max(result.peak_memory_mb for result, _ in results)
    errors = [result.error for result, _ in results if result.error]
    partials = [partial for _, partial in results if partial is not None]
    if errors:
        return record | {"message": errors[0]}
    record["warnings"] = distinct([text for partial in partials for text in partial.warnings])
    record["seconds"]["select"] = round(sum(partial.seconds for partial in partials), 4)
    record["grid"], broken = _grid(partials)
    return record | _outcome(cell, partials, record, broken)


def _grid(partials: list[Partial]) -> tuple[list[dict[str, Any]], list[str]]:
    points = sorted((point for partial in partials for point in partial.points), key=lambda point: point["place"])
    shown = [
        {"params": point["params"], "recovery": point.get("recovery"), "prediction": point.get("prediction")}
        | ({"error": point["error"]} if "error" in point else {})
        for point in points
    ]
    return shown, [point["error"] for point in points if "error" in point]


def _outcome(cell: Cell, partials: list[Partial], record: Record, broken: list[str]) -> Record:
    method = cell.method
    best = {task: _best(task, method, cell.selection, partials) for task in TASKS}
    wanted = {"recovery": method.recovers, "prediction": method.predicts}
    if any(wanted[task] and best[task] is None for task in TASKS):
        return {"status": "failed", "message": broken[0] if broken else "No grid point gave a result."}
    recovery, prediction = best["recovery"], best["prediction"]
    timed = prediction or recovery or {}
    seconds = record["seconds"] | {
        "fit": round(timed["fit_seconds"], 4),
        "predict": round(prediction["predict_seconds"], 4) if prediction else 0.0,
    }
    basis = next((partial.basis for partial in partials if partial.basis), None)
    return {
        "status": "ok",
        "message": f"{len(broken)} grid points failed, the first with {broken[0]}" if broken else "",
        "selection": record["selection"] | {"recovery_basis": basis},
        "selected": {task: found and found["params"] for task, found in best.items()},
        "recovery": recovery and recovery["scores"],
        "prediction": prediction and prediction["scores"],
        "paper_zeros": {task: found and found["paper_zeros"] for task, found in best.items()},
        "validation": {task: found and found["value"] for task, found in best.items()},
        "samples": recovery and recovery["samples"],
        "convergence": recovery and recovery["convergence"],
        "seconds": seconds,
    }


def _best(task: str, method: MethodSpec, selection: Selection, partials: list[Partial]) -> dict[str, Any] | None:
    """The best candidate of the pieces; of equals, the one that stands first in the grid."""
    by_recovery = method.stepwise or task == "recovery"
    sign = -1.0 if get_metric(selection.recovery if by_recovery else selection.prediction).greater_is_better else 1.0
    candidates = [found for partial in partials if (found := getattr(partial, task)) is not None]

    def order(candidate: dict[str, Any]) -> tuple[bool, float, Any]:
        value = candidate.get("rival", candidate["value"])
        return value != value, sign * value, candidate["place"]  # NaN comes last

    return min(candidates, key=order, default=None)
