"""Differences between methods on one data set, paired over repeats, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from ldlearn.evaluation.record import Record, Task, is_number
from ldlearn.evaluation.summary import Results, TaskTable

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """How much better a method is than another on a data set; what is better has a positive sign.

    Attributes
    ----------
    mean : float
    margin : float
        Half the width of the interval; NaN for one repeat, which tells no spread.
    n : int
        Repeats that both have.
    """

    mean: float
    margin: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return abs(self.mean) > self.margin


def difference(results: Results, table: TaskTable, method: str, other: str, dataset: str) -> Difference | None:
    """Compare two methods on the repeats that both have; None if there is none.

    Repeats share rows, so their differences vary less than those of new samples would. The variance of the mean is
    therefore taken as s^2 (1/n + r) with r the ratio of rows that are scored to rows that are not. For prediction,
    scored on the test rows, that is the correction of Nadeau and Bengio ("Inference for the generalization error",
    2003). For recovery, scored on the training rows, it is ours by the same argument: two repeats have a share q of the
    scored rows in common, on average, which correlates them by q if the score of a row depends on that row alone, and
    r = q / (1 - q). What two fits to nearly the same rows have in common beyond that widens no interval, for either
    task.
    """
    pairs = [results.by_method.get((name, dataset), []) for name in (method, other)]
    scored = ([(r.repeat, r.scores(table.task).get(table.metric.name)) for r in mine if r.is_ok] for mine in pairs)
    first, second = ({repeat: value for repeat, value in mine if is_number(value)} for mine in scored)
    sign = 1 if table.metric.greater_is_better else -1
    values = [sign * (first[repeat] - second[repeat]) for repeat in first if repeat in second]
    if not values:
        return None
    return Difference(float(np.mean(values)), _margin(values, _ratio(pairs[0][0], table.task)), len(values))


def best_baseline(table: TaskTable, dataset: str) -> str | None:
    """The baseline with the best mean on a data set."""
    baselines = [method.name for method in table.baselines]
    return min(baselines, key=lambda name: table.metric.sort_key(table.score(name, dataset).mean), default=None)


def best_baselines(table: TaskTable) -> dict[str, str]:
    """By data set, the baseline with the best mean; empty if no baseline is ranked."""
    return {dataset: baseline for dataset in table.datasets if (baseline := best_baseline(table, dataset))}


def _ratio(record: Record, task: Task) -> float:
    rows = {part: record.sizes.get(f"n_{part}", 0) for part in ("train", "validation", "test")}
    scored = rows["test" if task == "prediction" else "train"]
    others = sum(rows.values()) - scored
    # Records without sizes: as if half of the rows were scored.
    return scored / others if others else 1.0


def _margin(values: Sequence[float], ratio: float) -> float:
    n = len(values)
    # One repeat has no spread; NaN is clear of nothing, since no comparison with it holds.
    if n < 2:
        return math.nan
    deviation = float(np.std(values, ddof=1)) * math.sqrt(1 / n + ratio)
    return deviation * float(student.ppf(0.5 + CONFIDENCE / 2, n - 1))
