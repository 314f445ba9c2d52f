"""From records of runs to the numbers of a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Record: TypeAlias = Mapping[str, Any]
Task: TypeAlias = Literal["recovery", "prediction"]
TASKS: tuple[Task, Task] = ("recovery", "prediction")


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1; NaN for one value) of repeated measurements."""

    mean: float
    std: float
    n: int

    @classmethod
    def of(cls, values: Iterable[Any]) -> Spread | None:
        """Summarise the finite numbers among the values; None if there are none."""
        numbers = [float(value) for value in values if is_number(value)]
        if not numbers:
            return None
        std = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan
        return cls(float(np.mean(numbers)), std, len(numbers))


def is_number(value: Any) -> bool:
    """Whether a value of a record is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def latest(records: Iterable[Record]) -> list[Record]:
    """Return the last record of every (data set, method, repeat): a repeated cell replaces its earlier record."""
    return list({(record["dataset"], record["method"], record.get("repeat")): record for record in records}.values())


def finished(records: Iterable[Record], *, dataset: str | None = None, method: str | None = None) -> list[Record]:
    """Return the latest records with status "ok", perhaps of one data set or one method."""
    return [
        record
        for record in latest(records)
        if record.get("status") == "ok" and dataset in (None, record["dataset"]) and method in (None, record["method"])
    ]


def names_of(records: Iterable[Record], key: str) -> list[str]:
    """Return the different values of a key in order of first appearance, which is that of the plan."""
    return list(dict.fromkeys(str(record[key]) for record in records))


def spread_of(records: Iterable[Record], task: Task, metric: str) -> Spread | None:
    """Summarise a metric over records."""
    return Spread.of((record.get(task) or {}).get(metric) for record in records)


def score_matrix(
    records: Sequence[Record], task: Task, metric: str, methods: Sequence[str] | None = None
) -> tuple[NDArray[np.float64], list[str], list[str], list[str]]:
    """Return mean scores (data sets x methods), both names, and the methods left out for lack of a score."""
    done = [record for record in finished(records) if spread_of([record], task, metric)]
    datasets, found = names_of(done, "dataset"), names_of(done, "method")
    wanted = found if methods is None else [method for method in methods if method in found]
    means = {(d, m): spread_of(finished(done, dataset=d, method=m), task, metric) for d in datasets for m in wanted}
    complete = [m for m in wanted if all(means[d, m] is not None for d in datasets)]
    scores = [[spread.mean for m in complete if (spread := means[d, m]) is not None] for d in datasets]
    return np.array(scores, dtype=np.float64), datasets, complete, [m for m in wanted if m not in complete]


def greater_was_chosen(records: Iterable[Record], task: Task) -> bool:
    """Whether selection took the largest score of the grid: read off the points it selected."""
    votes = 0
    for record in records:
        chosen = (record.get("selected") or {}).get(task)
        points = [point for point in record.get("grid") or [] if is_number(point.get(task))]
        at_chosen = [point[task] for point in points if point["params"] == chosen]
        if at_chosen:
            scores = [point[task] for point in points]
            votes += (at_chosen[0] - min(scores)) > (max(scores) - at_chosen[0])
            votes -= (at_chosen[0] - min(scores)) < (max(scores) - at_chosen[0])
    return votes > 0


def value_name(value: Any) -> str:
    """A value of a grid as people write it: 0.001, 10, 1e-05; None leaves the choice to the method."""
    return "default" if value is None else f"{value:g}" if is_number(value) else str(value)


@dataclass(frozen=True)
class Curve:
    """Validation score against one parameter; the other parameters are those that serve each value best."""

    parameter: str
    values: list[Any]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    chosen: list[Any]

    @property
    def logarithmic(self) -> bool:
        """Whether the values are positive numbers, which grids space by factors."""
        return all(is_number(value) and value > 0 for value in self.values)

    @property
    def positions(self) -> list[float]:
        """Where the values lie on the axis: logarithms of positive numbers, else places in a row."""
        if self.logarithmic:
            return [math.log10(value) for value in self.values]
        return [float(place) for place in range(len(self.values))]


def sensitivity_curves(records: Iterable[Record], dataset: str, method: str, task: Task) -> list[Curve]:
    """Return a curve for every parameter that took several values in the grid of a method on a data set."""
    mine = [record for record in finished(records, dataset=dataset, method=method) if record.get("grid")]
    if not mine:
        return []
    parameters = dict.fromkeys(name for record in mine for point in record["grid"] for name in point["params"])
    best = max if greater_was_chosen(mine, task) else min
    curves = [_curve(mine, parameter, task, best) for parameter in parameters]
    return [curve for curve in curves if len(curve.values) > 1]


def _curve(records: Sequence[Record], parameter: str, task: Task, best: Any) -> Curve:
    profiles = [_profile(record["grid"], parameter, task, best) for record in records]
    values = _in_order(dict.fromkeys(value for profile in profiles for value in profile))
    spreads = [Spread.of(profile[value] for profile in profiles if value in profile) for value in values]
    selected = [(record.get("selected") or {}).get(task) or {} for record in records]
    return Curve(
        parameter=parameter,
        values=values,
        mean=np.array([math.nan if spread is None else spread.mean for spread in spreads]),
        std=np.array([math.nan if spread is None else spread.std for spread in spreads]),
        chosen=[_hashable(params[parameter]) for params in selected if parameter in params],
    )


def _profile(grid: Sequence[Mapping[str, Any]], parameter: str, task: Task, best: Any) -> dict[Any, float]:
    """Best score of the grid at every value of one parameter."""
    by_value: dict[Any, list[float]] = {}
    for point in grid:
        if parameter in point["params"] and is_number(point.get(task)):
            by_value.setdefault(_hashable(point["params"][parameter]), []).append(float(point[task]))
    return {value: best(scores) for value, scores in by_value.items()}


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers by size; as the grid has them if there are words among them."""
    listed = list(values)
    return sorted(listed) if all(is_number(value) for value in listed) else listed
