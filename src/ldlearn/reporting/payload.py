"""The data that the page draws itself: samples, sensitivity, convergence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ldlearn.plotting.convergence import first_runs
from ldlearn.plotting.records import TASKS, Record, finished, is_number, sensitivity_curves, value_name
from ldlearn.reporting.results import Results

_SAMPLE_NUMBERS = 400_000  # degrees embedded at most, about two megabytes


def page_data(results: Results) -> dict[str, Any]:
    """All that the scripts of the page read."""
    return {
        "samples": samples(results),
        "sensitivity": sensitivity(results),
        "convergence": convergence(results),
    }


def samples(results: Results) -> dict[str, Any]:
    """By data set: the stored rows with truth, logical labels and what each method recovered.

    As many repeats are taken as fit the page; the first always is.
    """
    stored = {dataset.name: _by_repeat(results.records, dataset.name) for dataset in results.present}
    n_repeats = max((len(repeats) for repeats in stored.values()), default=0)
    while n_repeats > 1 and _numbers(stored, n_repeats) > _SAMPLE_NUMBERS:
        n_repeats -= 1
    found = {name: _sample_set(list(repeats.values())[:n_repeats]) for name, repeats in stored.items() if repeats}
    return {name: entry for name, entry in found.items() if entry["rows"]}


def _by_repeat(records: Sequence[Record], dataset: str) -> dict[Any, list[Record]]:
    repeats: dict[Any, list[Record]] = {}
    for record in finished(records, dataset=dataset):
        if (record.get("samples") or {}).get("recovered"):
            repeats.setdefault(record.get("repeat"), []).append(record)
    return repeats


def _numbers(stored: Mapping[str, Mapping[Any, Sequence[Record]]], n_repeats: int) -> int:
    return sum(
        len(record["samples"]["rows"]) * len(record["label_names"])
        for repeats in stored.values()
        for group in list(repeats.values())[:n_repeats]
        for record in group
    )


def _sample_set(repeats: Sequence[Sequence[Record]]) -> dict[str, Any]:
    rows = [_sample(group, place) for group in repeats for place in range(len(group[0]["samples"]["rows"]))]
    return {"labels": [str(name) for name in repeats[0][0].get("label_names") or []], "rows": rows}


def _sample(group: Sequence[Record], place: int) -> dict[str, Any]:
    first = group[0]["samples"]
    row = first["rows"][place]
    return {
        "row": row,
        "repeat": group[0].get("repeat"),
        "truth": _short(first["truth"][place]) if first.get("truth") else None,
        "logical": _short(first["logical"][place]) if first.get("logical") else None,
        "degrees": {str(r["method"]): _short(r["samples"]["recovered"][place]) for r in group if _has(r, row, place)},
    }


def _has(record: Record, row: Any, place: int) -> bool:
    rows = record["samples"]["rows"]
    return place < len(rows) and bool(rows[place] == row)


def sensitivity(results: Results) -> dict[str, Any]:
    """By data set and method: the curves of every parameter for both tasks."""
    found: dict[str, Any] = {}
    for method, dataset in results.by_cell:
        curves = {task: sensitivity_curves(results.by_cell[method, dataset], dataset, method, task) for task in TASKS}
        if any(curves.values()):
            entry = {task: [_curve(curve) for curve in some] for task, some in curves.items() if some}
            found.setdefault(dataset, {})[method] = entry
    return found


def _curve(curve: Any) -> dict[str, Any]:
    return {
        "parameter": curve.parameter,
        "names": [value_name(value) for value in curve.values],
        "x": curve.positions,
        "y": _short(curve.mean, 6),
        "spread": _short(curve.std, 6),
        "chosen": [curve.chosen.count(value) for value in curve.values],
    }


def convergence(results: Results) -> dict[str, Any]:
    """By data set and method: objective of the first repeat."""
    runs = {dataset.name: first_runs(results.records, dataset.name) for dataset in results.present}
    return {
        dataset: {method: _digits(progress["objective"]) for method, progress in some.items()}
        for dataset, some in runs.items()
        if some
    }


def _short(values: Iterable[Any], places: int = 4) -> list[float | None]:
    return [round(float(value), places) if value is not None and math.isfinite(value) else None for value in values]


def _digits(values: Iterable[Any]) -> list[float | None]:
    return [float(f"{value:.8g}") if is_number(value) else None for value in values]


def script_json(data: Any) -> str:
    """JSON that can stand inside a script element whatever its strings contain."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
