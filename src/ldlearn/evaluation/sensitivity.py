"""Sensitivity to a parameter: the validation score against each parameter of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.evaluation.record import GridPoint, Record, Task, is_number
from ldlearn.evaluation.summary import Results, Spread
from ldlearn.metrics import get_metric


@dataclass(frozen=True)
class Curve:
    """Validation score against one parameter; the other parameters are those that serve each value best.

    Attributes
    ----------
    parameter : str
    heading : str
        What the score is: that by which parameters were chosen.
    values : list
    mean, std : ndarray
        Over repeats, at each value.
    chosen : list
        The value that each repeat chose.
    """

    parameter: str
    heading: str
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


def sensitivity_curves(results: Results, dataset: str, method: str, task: Task) -> list[Curve]:
    """A curve for every parameter that took several values in the grid of a method on a data set."""
    mine = [record for record in results.by_method.get((method, dataset), []) if record.is_ok and record.grid]
    parameters = dict.fromkeys(name for record in mine for point in record.grid for name in point.params)
    curves = [_curve(mine, parameter, task) for parameter in parameters]
    return [curve for curve in curves if len(curve.values) > 1]


def search_curves(cv_results: Mapping[str, Any], best: Mapping[str, Any]) -> list[Curve]:
    """A curve for every parameter that took several values in a search, as scikit-learn tells of its searches."""
    scores, spreads = np.asarray(cv_results["mean_test_score"]), np.asarray(cv_results["std_test_score"])
    curves = []
    for key in (key for key in cv_results if key.startswith("param_")):
        tried = [_hashable(value) for value in cv_results[key]]
        values, name = _in_order(dict.fromkeys(tried)), key.removeprefix("param_")
        # As for records: the other parameters are those that serve each value best.
        places = [max((k for k, v in enumerate(tried) if v == value), key=lambda k: scores[k]) for value in values]
        curve = Curve(name, "score \u2191", values, scores[places], spreads[places], [_hashable(best[name])])
        curves += [curve] if len(values) > 1 else []
    return curves


def _curve(records: Sequence[Record], parameter: str, task: Task) -> Curve:
    metric = get_metric(records[0].deciding_metric(task))
    best = max if metric.greater_is_better else min
    profiles = [_profile(record.grid, parameter, task, best) for record in records]
    values = _in_order(dict.fromkeys(value for profile in profiles for value in profile))
    spreads = [Spread.of(profile[value] for profile in profiles if value in profile) for value in values]
    selected = [record.selected.get(task) or {} for record in records]
    return Curve(
        parameter=parameter,
        heading=metric.heading,
        values=values,
        mean=np.array([math.nan if spread is None else spread.mean for spread in spreads]),
        std=np.array([math.nan if spread is None else spread.std for spread in spreads]),
        chosen=[_hashable(params[parameter]) for params in selected if parameter in params],
    )


def _profile(
    grid: Sequence[GridPoint], parameter: str, task: Task, best: Callable[[list[float]], float]
) -> dict[Any, float]:
    """Best score of the grid at every value of one parameter."""
    by_value: dict[Any, list[float]] = {}
    for point in grid:
        if parameter in point.params and is_number(point[task]):
            by_value.setdefault(_hashable(point.params[parameter]), []).append(float(point[task]))
    return {value: best(scores) for value, scores in by_value.items()}


def _hashable(value: Any) -> Any:
    # Values of a grid may be lists or tables, which cannot be keys.
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers by size; as the grid has them if there are words among them."""
    listed = list(values)
    return sorted(listed) if all(is_number(value) for value in listed) else listed
