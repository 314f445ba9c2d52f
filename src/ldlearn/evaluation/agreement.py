"""How far methods agree with each other, where there is no truth to agree with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldlearn.evaluation.record import Record, Task
from ldlearn.evaluation.summary import Method, Results
from ldlearn.metrics import intersection
from ldlearn.metrics.registry import mean_of_defined


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
    matrix: NDArray[np.float64]
    means: dict[str, float]


def agreement(results: Results, dataset: str, task: Task) -> Agreement | None:
    """The agreement of the methods on a data set; None if it has a truth, or fewer than two methods."""
    found: dict[str, dict[int, Record]] = {}
    for record in results.finished(dataset):
        if record.degrees.get(task):
            found.setdefault(record.method, {})[record.repeat] = record
    methods = [results.methods[name] for name in found]
    if len(methods) < 2:
        return None
    matrix = np.array([[_agree(one, other, task) for other in found.values()] for one in found.values()])
    means = {}
    for i, method in enumerate(methods):
        others = [j for j, other in enumerate(methods) if j != i and not other.is_baseline]
        means[method.name] = mean_of_defined(matrix[i, others])
    return Agreement(dataset, task, methods, matrix, means)


def _agree(one: dict[int, Record], other: dict[int, Record], task: Task) -> float:
    """Over the repeats that both have; the rows of a repeat are the same for all methods."""
    shared = [intersection(one[repeat].degrees[task], other[repeat].degrees[task]) for repeat in one if repeat in other]
    return mean_of_defined(np.array(shared))
