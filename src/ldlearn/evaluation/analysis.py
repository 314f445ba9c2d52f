"""Analyses of a run: differences of methods, agreement, costs, sensitivity."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.stats import t as student

from ldlearn.core.simplex import Array
from ldlearn.evaluation.record import PHASES, Params, Record, Task, is_finite_number
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
    first = _scores_by_repeat(results, table, method, dataset)
    second = _scores_by_repeat(results, table, other, dataset)
    advantages = [first[repeat] - second[repeat] for repeat in first if repeat in second]
    n = len(advantages)
    if not n:
        return None
    # one repeat has no spread, and no comparison with NaN holds
    margin = math.nan
    if n > 1:
        ratio = _scored_ratio(results.finished_records(dataset, method)[0], table.task)
        deviation = np.std(advantages, ddof=1) * math.sqrt(1 / n + ratio)
        margin = float(deviation * student.ppf(0.5 + CONFIDENCE / 2, n - 1))
    mean = float(np.mean(advantages))
    return Difference(mean if table.metric.greater_is_better else -mean, margin, n)


def _scores_by_repeat(
    results: Results, table: TaskTable, method: str, dataset: str
) -> dict[int, float]:
    scores = {}
    for record in results.finished_records(dataset, method):
        value = record.scores(table.task).get(table.metric.name)
        if is_finite_number(value):
            scores[record.repeat] = value
    return scores


def _scored_ratio(record: Record, task: Task) -> float:
    """Ratio of the rows that are scored to the others; 1 if the record has no sizes."""
    n_rows = sum(record.sizes.get(f"n_{part}", 0) for part in ("train", "validation", "test"))
    n_scored = record.sizes.get("n_test" if task == "prediction" else "n_train", 0)
    return n_scored / (n_rows - n_scored) if n_rows > n_scored else 1.0


def best_baselines(table: TaskTable) -> dict[str, str]:
    """By data set, the baseline with the best mean; empty if no baseline is ranked."""
    if not table.baselines:
        return {}
    is_baseline = [method.is_baseline for method in table.ranked]
    best = table.ranking.costs[:, is_baseline].argmin(axis=1)
    names = [table.baselines[column] for column in best]
    return dict(zip(table.datasets, names, strict=True))


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
        Mean agreement of each method with the others that are no baselines; NaN without any.
    """

    dataset: str
    task: Task
    methods: list[Method]
    matrix: Array
    means: dict[str, float]


def agreement(results: Results, dataset: str, task: Task) -> Agreement | None:
    """The agreement of the methods on a data set; None if its true degrees are known.

    None also if there is one method only.
    """
    degrees: dict[str, dict[int, Any]] = {}
    for record in results.finished_records(dataset):
        if record.degrees.get(task):
            degrees.setdefault(record.method, {})[record.repeat] = record.degrees[task]
    if len(degrees) < 2:
        return None
    methods = [results.methods[name] for name in degrees]
    matrix = np.empty((len(methods), len(methods)))
    means = {}
    for i, (name, one) in enumerate(degrees.items()):
        others = []
        for j, other in enumerate(degrees):
            matrix[i, j] = _mean_intersection(one, degrees[other])
            if other != name and not methods[j].is_baseline:
                others.append(matrix[i, j])
        means[name] = mean_of_defined(np.array(others))
    return Agreement(dataset, task, methods, matrix, means)


def _mean_intersection(one: dict[int, Any], other: dict[int, Any]) -> float:
    """Mean over the repeats that both have, whose rows are the same for all methods."""
    shared = [intersection(one[repeat], other[repeat]) for repeat in one if repeat in other]
    return mean_of_defined(np.array(shared))


@dataclass(frozen=True)
class Cost:
    """Seconds by phase and peak memory of a method over its finished cells."""

    method: Method
    seconds: dict[str, Spread]
    memory: Spread
    n_cells: int


def costs(results: Results) -> list[Cost]:
    """Costs of every method with a finished cell, the quickest fit first."""
    found = []
    for method in results.methods.values():
        records = results.finished_records(method=method.name)
        if not records:
            continue
        seconds = {}
        for phase in PHASES:
            seconds[phase] = Spread.from_values(record.seconds.get(phase) for record in records)
        if method.kind == "enhancer":
            # An enhancer cannot predict, so a time of zero would mislead.
            seconds["predict"] = Spread()
        memory = Spread.from_values(record.peak_memory_mb for record in records)
        found.append(Cost(method, seconds, memory, len(records)))
    # A record without times, made by hand or by others, goes to the end.
    return sorted(found, key=lambda cost: np.nan_to_num(cost.seconds["fit"].mean, nan=np.inf))


@dataclass(frozen=True)
class Curve:
    """Validation score against one hyperparameter, at the best values of the others.

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
        """Positions on the axis: logarithms of positive numbers, else 0, 1, 2, ..."""
        if all(is_finite_number(value) and value > 0 for value in self.values):
            return list(map(math.log10, self.values))
        return list(map(float, range(len(self.values))))


_Trial = tuple[Params, float | None, float]  # parameters, score, its standard deviation


def sensitivity_curves(results: Results, dataset: str, method: str, task: Task) -> list[Curve]:
    """A curve for every hyperparameter that took several values in the grid of a method."""
    runs = []
    selected = []
    for record in results.finished_records(dataset, method):
        if record.grid:
            metric = get_metric(record.selection_metric(task))
            runs.append([(point.params, getattr(point, task), math.nan) for point in record.grid])
            selected.append(record.selected.get(task) or {})
    return _make_curves(runs, selected, metric.heading, metric.sort_key) if runs else []


def search_curves(cv_results: Params, best: Params) -> list[Curve]:
    """A curve for every hyperparameter that took several values in a search of scikit-learn.

    Parameters
    ----------
    cv_results, best : mapping
        ``cv_results_`` and ``best_params_`` of the search.
    """
    columns = itemgetter("params", "mean_test_score", "std_test_score")(cv_results)
    trials = list(zip(*columns, strict=True))
    return _make_curves([trials], [best], "score \u2191", lambda score: -score)


def _make_curves(
    runs: Sequence[Sequence[_Trial]],
    selected: Sequence[Params],
    heading: str,
    cost: Callable[[float], Any],
) -> list[Curve]:
    parameters: dict[str, Any] = {}
    for params, _, _ in chain(*runs):
        parameters.update(params)
    curves = []
    for parameter in parameters:
        # By value: the best score of every run, with its deviation.
        found: dict[Any, list[tuple[float, float]]] = {}
        for run in runs:
            for value, best in _profile(run, parameter, cost).items():
                found.setdefault(value, []).append(best)
        if len(found) < 2:
            continue
        values = list(found)
        if all(map(is_finite_number, values)):
            values.sort()  # others stay in the order of the grid
        mean = []
        std = []
        for value in values:
            scores, deviations = zip(*found[value], strict=True)
            mean.append(np.mean(scores))
            # Of one run the deviation of its own, of several runs that between them.
            std.append(np.std(scores, ddof=1) if len(scores) > 1 else deviations[0])
        chosen = [_hashable_value(params[parameter]) for params in selected if parameter in params]
        curves.append(Curve(parameter, heading, values, np.array(mean), np.array(std), chosen))
    return curves


def _profile(
    run: Sequence[_Trial], parameter: str, cost: Callable[[float], Any]
) -> dict[Any, tuple[float, float]]:
    """Best score, with its deviation, at every value of one hyperparameter."""
    best: dict[Any, tuple[float, float]] = {}
    for params, score, std in run:
        if parameter not in params or not is_finite_number(score):
            continue
        value = _hashable_value(params[parameter])
        if value not in best or cost(score) < cost(best[value][0]):
            best[value] = (float(score), float(std))
    return best


def _hashable_value(value: Any) -> Any:
    # Values of a grid may be lists or tables, which cannot be keys.
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
