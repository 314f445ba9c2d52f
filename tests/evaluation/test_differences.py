"""Coverage of confidence intervals for differences, although repeats share rows."""

import numpy as np
import pytest

from ldlearn.evaluation import Record, Results, difference
from ldlearn.metrics import METRICS

N_ROWS, REPEATS, SIZES = 100, 10, {"n_train": 60, "n_validation": 20, "n_test": 20}


def estimated_difference(task, values):
    records = [
        Record(
            cell=f"{method}{repeat}",
            dataset="d",
            method=method,
            repeat=repeat,
            status="ok",
            sizes=SIZES,
            **scores,
        )
        for method in ("A", "B")
        for repeat, value in enumerate(values)
        for scores in ({task: {"intersection": value if method == "A" else 0.0}},)
    ]
    results = Results(records)
    return difference(results, results.table(task, METRICS["intersection"]), "A", "B", "d")


@pytest.mark.parametrize(("task", "scored"), [("prediction", 20), ("recovery", 60)])
def test_intervals_cover_the_true_difference_although_repeats_share_rows(task, scored):
    """Ten overlapping random samples of rows with independent differences: about 95 of 100
    intervals cover 0."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        rows = rng.normal(size=N_ROWS)
        found = estimated_difference(
            task, [rows[rng.permutation(N_ROWS)[:scored]].mean() for _ in range(REPEATS)]
        )
        covered += not found.is_significant
    assert 0.92 < covered / 400 < 0.985
