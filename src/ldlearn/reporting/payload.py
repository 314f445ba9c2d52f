"""The data that the scripts of the page draw: samples, sensitivity, convergence."""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest
from typing import Any

from ldlearn.evaluation import TASKS, Curve, Record, Results, Samples, sensitivity_curves
from ldlearn.evaluation.formatting import format_value
from ldlearn.evaluation.record import is_number

_SAMPLE_NUMBERS = 400_000  # degrees embedded at most, about two megabytes


def page_data(results: Results) -> dict[str, Any]:
    """All that the scripts of the page read."""
    return {"samples": samples(results), "sensitivity": sensitivity(results), "convergence": convergence(results)}


def samples(results: Results) -> dict[str, Any]:
    """By data set: the stored rows with truth, logical labels and what each method recovered.

    As many repeats are taken as fit the page; the first always is.
    """
    stored = {dataset.name: _by_repeat(results, dataset.name) for dataset in results.present}
    sizes = [sum(map(_size, groups)) for groups in zip_longest(*stored.values(), fillvalue=())]
    n_repeats = max(1, bisect(list(accumulate(sizes)), _SAMPLE_NUMBERS))
    found = {}
    for name, groups in stored.items():
        rows = [_sample(group, place) for group in groups[:n_repeats] for place in range(len(group[0][1].rows))]
        if rows:
            found[name] = {"labels": groups[0][0][0].label_names, "rows": rows}
    return found


_Group = list[tuple[Record, Samples]]


def _by_repeat(results: Results, dataset: str) -> list[_Group]:
    repeats: dict[int, _Group] = {}
    for record in results.finished(dataset):
        if record.samples and record.samples.recovered:
            repeats.setdefault(record.repeat, []).append((record, record.samples))
    return list(repeats.values())


def _size(group: Sequence[tuple[Record, Samples]]) -> int:
    return sum(len(samples.rows) * len(record.label_names) for record, samples in group)


def _sample(group: _Group, place: int) -> dict[str, Any]:
    record, first = group[0]
    row = first.rows[place]
    return {
        "row": row,
        "repeat": record.repeat,
        "truth": _rounded(first.truth[place]) if first.truth else None,
        "logical": _rounded(first.logical[place]) if first.logical else None,
        "degrees": {
            record.method: _rounded(samples.recovered[place])
            for record, samples in group
            # A file may hold records of several plans, and the same repeat of another seed has other rows.
            if samples.recovered and place < len(samples.rows) and samples.rows[place] == row
        },
    }


def sensitivity(results: Results) -> dict[str, Any]:
    """By data set and method: the curves of every parameter for both tasks."""
    found: dict[str, Any] = {}
    for method, dataset in results.by_method:
        curves = {task: sensitivity_curves(results, dataset, method, task) for task in TASKS}
        if any(curves.values()):
            entry = {task: [_curve(curve) for curve in some] for task, some in curves.items() if some}
            found.setdefault(dataset, {})[method] = entry
    return found


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "parameter": curve.parameter,
        "score": curve.heading,
        "names": [format_value(value) for value in curve.values],
        "x": curve.positions,
        "y": _rounded(curve.mean, ".6f"),
        "spread": _rounded(curve.std, ".6f"),
        "chosen": [curve.chosen.count(value) for value in curve.values],
    }


def convergence(results: Results) -> dict[str, Any]:
    """By data set and method: objective of the first repeat."""
    runs = {dataset.name: results.convergence(dataset.name) for dataset in results.present}
    return {
        # Digits of the number, not decimals: objectives are of any size and change little towards the end.
        dataset: {method: _rounded(repeats[0].objective, ".8g") for method, repeats in some.items()}
        for dataset, some in runs.items()
        if some
    }


def _rounded(values: Iterable[Any], form: str = ".4f") -> list[float | None]:
    return [float(f"{value:{form}}") if is_number(value) else None for value in values]


def script_json(data: Any) -> str:
    """JSON that can stand inside a script element whatever its strings contain."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # "</script>" in a name would end the element; JSON reads the escapes as the signs themselves.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
