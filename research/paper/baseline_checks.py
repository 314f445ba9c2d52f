"""Checks of the paper's values against baselines that use no features, on the same data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core import binarize
from ldlearn.core.simplex import normalize_rows
from ldlearn.datasets import fetch_dataset
from ldlearn.datasets.fetch import DatasetNotHereError
from ldlearn.evaluation.formatting import enumerate_names
from ldlearn.metrics import METRICS
from research.paper.finding import Finding
from research.paper.printed_tables import BLOCKS, SUBJECT, PrintedCell, paper_datasets, read_rows

_TIED = 0.005  # smaller differences of intersections are ties

Distributions = NDArray[np.float64]
# By name: the task of the baseline, and its degrees for rows with these true distributions.
_BASELINES: dict[str, tuple[str, Callable[[Distributions], Any]]] = {
    "equal shares": ("recovery", lambda D: normalize_rows(binarize(D).astype(float))),
    "same degree": ("prediction", lambda D: np.full_like(D, 1 / D.shape[1])),
    "mean distribution": ("prediction", lambda D: np.tile(D.mean(axis=0), (len(D), 1))),
}


def check_baselines(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Printed values of the method compared with baselines that use no features."""
    truths = {
        short: _true_distributions(dataset.name) for short, dataset in paper_datasets().items()
    }
    blocks = {block.key: block for block in BLOCKS}
    for baseline, (task, of) in _BASELINES.items():
        mine = [
            cell
            for cell in blocks[task].scores(cells)
            if (cell.metric, cell.method) == ("Intersection", SUBJECT)
        ]
        printed = {cell.dataset: cell.value for cell in mine}
        scores = {
            d: score
            for d in printed
            if (score := _baseline_score(baseline, of, d, truths[d])) is not None
        }
        gains = {d: score - printed[d] for d, (score, _) in scores.items()}
        by_outcome = {
            "better on": [d for d, gain in gains.items() if gain > _TIED],
            f"equal within {_TIED} on": [d for d, gain in gains.items() if abs(gain) <= _TIED],
            "worse on": [d for d, gain in gains.items() if gain < -_TIED],
        }
        if by_outcome["better on"]:
            outcomes = ", ".join(
                f"{how} {enumerate_names(names)}" for how, names in by_outcome.items() if names
            )
            tables = " and ".join(f"Table {table}" for table in blocks[task].tables)
            details = [
                f"{d}: printed {printed[d]:.4f}, baseline {score:.4f} ({origin})"
                for d, (score, origin) in scores.items()
            ]
            values = {"task": task, "tables": tables, "outcomes": outcomes}
            yield Finding.of(f"baselines/{baseline.replace(' ', '-')}", values, details)


def _baseline_score(
    baseline: str, of: Callable[[Distributions], Any], dataset: str, D: Distributions | None
) -> tuple[float, str] | None:
    """Its intersection and the origin of that value; None if unknown."""
    # Computed if the data are available, so that readers can check the stored values.
    if D is not None:
        return METRICS["intersection"].function(D, of(D)), "computed now"
    # On public copies of the data, all rows.
    known = {
        (row["baseline"], row["dataset"]): float(row["intersection"])
        for row in read_rows("baselines")
    }
    return (known[baseline, dataset], "measured before") if (baseline, dataset) in known else None


def _true_distributions(name: str) -> Distributions | None:
    """The distributions of a data set that is available locally; nothing is downloaded."""
    try:
        return np.asarray(fetch_dataset(name, download=False).D, dtype=float)
    except DatasetNotHereError:
        return None
