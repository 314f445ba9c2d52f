"""Analyses of a run: differences with confidence intervals, agreement, costs, sensitivity to
hyperparameters."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from ldlearn.core.simplex import Array
from ldlearn.evaluation.record import PHASES, Params, Task, is_number
from ldlearn.evaluation.summary import Method, Results, Spread, TaskTable
from ldlearn.metrics import get_metric, intersection
from ldlearn.metrics.inputs import mean_of_defined

__all__ = ["Difference", "difference", "best_baselines", "Agreement", "agreement", "Cost", "costs"]
__all__ += ["Curve", "search_curves", "sensitivity_curves"]

CONFIDENCE = 0.95  # level of the intervals


@dataclass(frozen=True)
class Difference:
    """How much better a method is than another on a data set; positive if it is better.

    Attributes
    ----------
    mean : float
    margin : float
        Half the width of the confidence interval; NaN for one repeat.
    n : int
        Number of repeats that both methods have.
    """

    mean: float
    margin: float
    n: int

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes zero."""
        return abs(self.mean) > self.margin


def difference(
    results: Results, table: TaskTable, method: str, other: str, dataset: str
) -> Difference | None:
    """Compare two methods on the repeats that both have; None if there is none.

    Repeats share rows, so their differences vary less than those of new samples would. The variance
    of the mean is therefore taken as s^2 (1/n + r) with r the ratio of rows that are scored to rows
    that are not. For prediction, scored on the test rows, that is the correction of Nadeau and
    Bengio ("Inference for the generalization error", 2003). For recovery, scored on the training
    rows, it is ours by the same argument: two repeats have a fraction q of the scored rows in
    common, on average, which correlates them by q if the score of a row depends on that row alone,
    and r = q / (1 - q). What two fits to nearly the same rows have in common beyond that widens no
    interval, for either task.
    """
    finished = [results.finished_records(dataset, name) for name in (method, other)]
    first, second = (
        {r.repeat: r.scores(table.task).get(table.metric.name) for r in mine} for mine in finished
    )
    sign = 1 if table.metric.greater_is_better else -1
    shared = [(a, second.get(repeat)) for repeat, a in first.items()]
    values = [sign * (a - b) for a, b in shared if is_number(a) and is_number(b)]
    if not values:
        return None
    n = len(values)
    # one repeat has no spread, and no comparison with NaN holds
    margin = math.nan
    if n > 1:
        sizes = finished[0][0].sizes
        rows = {part: sizes.get(f"n_{part}", 0) for part in ("train", "validation", "test")}
        scored = rows["test" if table.task == "prediction" else "train"]
        others = sum(rows.values()) - scored
        ratio = scored / others if others else 1.0  # 1 if the record has no sizes
        deviation = float(np.std(values, ddof=1)) * math.sqrt(1 / n + ratio)
        margin = deviation * float(student.ppf(0.5 + CONFIDENCE / 2, n - 1))
    return Difference(float(np.mean(values)), margin, n)


def best_baselines(table: TaskTable) -> dict[str, str]:
    """By data set, the baseline with the best mean; empty if no baseline is ranked."""
    names = [method.name for method in table.baselines]

    def best(dataset: str) -> str:
        return min(names, key=lambda name: table.metric.sort_key(table.score(name, dataset).mean))

    return {dataset: best(dataset) for dataset in table.datasets if names}


@dataclass(frozen=True)
class Agreement:
    """Mean intersection of the degrees that methods give to the same rows: 1 if they are equal.

    Attributes
    ----------
    dataset : str
    task : {"recovery", "prediction"}
    methods : list of Method
    matrix : ndarray of shape (n_methods, n_methods)
        Symmetric; NaN where two methods have no repeat in common.
    means : dict of str to float
        Of each method with the others that are no baselines; NaN if there are none.
    """

    dataset: str
    task: Task
    methods: list[Method]
    matrix: Array
    means: dict[str, float]


def agreement(results: Results, dataset: str, task: Task) -> Agreement | None:
    """The agreement of the methods on a data set; None if its true degrees are known, or with one
    method only."""
    degrees: dict[str, dict[int, Any]] = {}
    for record in results.finished_records(dataset):
        if record.degrees.get(task):
            degrees.setdefault(record.method, {})[record.repeat] = record.degrees[task]
    methods = [results.methods[name] for name in degrees]
    if len(methods) < 2:
        return None

    def agree(one: dict[int, Any], other: dict[int, Any]) -> float:
        # The rows of a repeat are the same for all methods.
        shared = [intersection(one[repeat], other[repeat]) for repeat in one if repeat in other]
        return mean_of_defined(np.array(shared))

    matrix = np.array(
        [[agree(one, other) for other in degrees.values()] for one in degrees.values()]
    )
    means = {}
    for i, method in enumerate(methods):
        others = [j for j, other in enumerate(methods) if j != i and not other.is_baseline]
        means[method.name] = mean_of_defined(matrix[i, others])
    return Agreement(dataset, task, methods, matrix, means)


@dataclass(frozen=True)
class Cost:
    """Seconds by phase and peak memory of a method over its finished cells."""

    method: Method
    seconds: dict[str, Spread | None]
    memory: Spread | None
    n_cells: int


def costs(results: Results, dataset: str | None = None) -> list[Cost]:
    """Costs of every method with a finished cell, perhaps on one data set; the quickest fit
    first."""
    found = []
    for method in results.methods.values():
        mine = results.finished_records(dataset, method.name)
        if mine:
            seconds = {
                phase: Spread.from_values(record.seconds.get(phase) for record in mine)
                for phase in PHASES
            }
            if method.kind == "enhancer":
                seconds["predict"] = (
                    None  # an enhancer cannot predict, so a time of zero would mislead
                )
            found.append(
                Cost(
                    method,
                    seconds,
                    Spread.from_values(record.peak_memory_mb for record in mine),
                    len(mine),
                )
            )
    # A record without times, made by hand or by others, goes to the end.
    return sorted(
        found, key=lambda cost: cost.seconds["fit"].mean if cost.seconds["fit"] else float("inf")
    )


@dataclass(frozen=True)
class Curve:
    """Validation score against one hyperparameter; the others are those that give the best score at
    each value.

    Attributes
    ----------
    parameter : str
    heading : str
        Name of the score: that which selected the hyperparameters.
    values : list
    mean, std : ndarray
        Over repeats, at each value.
    selected : list
        The value that each repeat selected.
    """

    parameter: str
    heading: str
    values: list[Any]
    mean: Array
    std: Array
    selected: list[Any]

    @property
    def positions(self) -> list[float]:
        """Positions of the values on the axis: logarithms of positive numbers, as grids have them,
        else 0, 1, 2, ..."""
        if all(is_number(value) and value > 0 for value in self.values):
            return [math.log10(value) for value in self.values]
        return [float(index) for index in range(len(self.values))]


Trial = tuple[Params, float | None, float]  # parameters, score, its standard deviation


def sensitivity_curves(results: Results, dataset: str, method: str, task: Task) -> list[Curve]:
    """A curve for every hyperparameter that took several values in the grid of a method on a data
    set."""
    mine = [record for record in results.finished_records(dataset, method) if record.grid]
    if not mine:
        return []
    runs = [
        [(point.params, getattr(point, task), math.nan) for point in record.grid] for record in mine
    ]
    metric = get_metric(mine[0].selection_metric(task))
    return _make_curves(
        runs, [record.selected.get(task) or {} for record in mine], metric.heading, metric.sort_key
    )


def search_curves(cv_results: Params, best: Params) -> list[Curve]:
    """A curve for every hyperparameter that took several values in a search of scikit-learn
    (``cv_results_``)."""
    keys = ("params", "mean_test_score", "std_test_score")
    trials = list(zip(*(cv_results[key] for key in keys), strict=True))
    return _make_curves([trials], [best], "score \u2191", lambda score: -score)


def _make_curves(
    runs: Sequence[Sequence[Trial]],
    selected: Sequence[Params],
    heading: str,
    cost: Callable[[float], Any],
) -> list[Curve]:
    curves = []
    for parameter in dict.fromkeys(name for run in runs for params, *_ in run for name in params):
        profiles = [_profile(run, parameter, cost) for run in runs]
        listed = dict.fromkeys(value for profile in profiles for value in profile)
        values = (
            sorted(listed) if all(map(is_number, listed)) else list(listed)
        )  # others in the order of the grid
        found = [[profile[value] for profile in profiles if value in profile] for value in values]
        mean = np.array([np.mean([score for score, _ in pairs]) for pairs in found])
        # Of one run the deviation of its own, of several runs that between them.
        std = [
            np.std([score for score, _ in pairs], ddof=1) if len(pairs) > 1 else pairs[0][1]
            for pairs in found
        ]
        chosen = [_hashable_value(params[parameter]) for params in selected if parameter in params]
        if len(values) > 1:
            curves.append(Curve(parameter, heading, values, mean, np.array(std), chosen))
    return curves


def _profile(
    run: Sequence[Trial], parameter: str, cost: Callable[[float], Any]
) -> dict[Any, tuple[float, float]]:
    """Best score, with its deviation, at every value of one hyperparameter."""
    best: dict[Any, tuple[float, float]] = {}
    for params, score, std in run:
        value = _hashable_value(params.get(parameter))
        if (
            parameter in params
            and is_number(score)
            and (value not in best or cost(score) < cost(best[value][0]))
        ):
            best[value] = float(score), float(std)
    return best


def _hashable_value(value: Any) -> Any:
    # Values of a grid may be lists or tables, which cannot be keys.
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
