"""Means and deviations over repeats, as tables of plain rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ldlearn.experiments.records import Record
from ldlearn.metrics import get_metric


@dataclass(frozen=True)
class SummaryRow:
    """Scores of a method on a data set.

    Attributes
    ----------
    dataset, method : str
    is_floor, on_truth : bool
        Whether it looks at no feature; whether it was trained on the true distributions.
    mean, std : dict of str to float
        By metric, over the repeats (``std`` with n - 1; NaN for one repeat).
    repeats : int
    """

    dataset: str
    method: str
    is_floor: bool
    on_truth: bool
    mean: dict[str, float]
    std: dict[str, float]
    repeats: int


def summarise(records: Iterable[Record], task: str, metrics: Sequence[str]) -> list[SummaryRow]:
    """Mean scores of every method on every data set.

    Parameters
    ----------
    records : iterable of dict
        As `read_records` gives them; those without scores for the task are left out.
    task : {"recovery", "prediction"}
    metrics : sequence of str

    Returns
    -------
    list of SummaryRow
        Data sets in the order of the records; within each, the best by the first metric first.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["status"] == "ok" and record[task] is not None:
            groups.setdefault((record["dataset"], record["method"]), []).append(record)
    rows = [_row(group, task, metrics) for group in groups.values()]
    places = {dataset: place for place, dataset in enumerate(dict.fromkeys(row.dataset for row in rows))}
    return sorted(rows, key=lambda row: (places[row.dataset], _worse(row, metrics[0])))


def _row(group: list[Record], task: str, metrics: Sequence[str]) -> SummaryRow:
    first = group[0]
    values = {metric: [_number(record[task].get(metric)) for record in group] for metric in metrics}
    return SummaryRow(
        dataset=first["dataset"],
        method=first["method"],
        is_floor=first["is_floor"],
        on_truth=first["trained_on"] == "truth",
        mean={metric: float(np.mean(found)) for metric, found in values.items()},
        std={metric: _deviation(found) for metric, found in values.items()},
        repeats=len(group),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _worse(row: SummaryRow, metric: str) -> float:
    value = -row.mean[metric] if get_metric(metric).greater_is_better else row.mean[metric]
    return math.inf if math.isnan(value) else value
