"""Checks of the paper's values: against what the metrics allow, and against each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ldlearn.evaluation import TASKS
from research.paper.finding import Finding
from research.paper.printed_tables import (
    AVERAGE,
    BLOCKS,
    SUBJECT,
    SUPPLEMENT,
    PrintedCell,
    paper_datasets,
)

_HALF_DIGIT = 5e-5  # printed values are rounded to four digits
_RUNS = 10  # of the printed standard deviations
_NEAR = 0.02  # how near 1 - error lies to the other methods where agreement was printed as error


def check_identities(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Values that no pair of distributions can have."""
    for (table, name, method), printed in _grouped(
        _scores(cells), "metric", ("table", "dataset", "method")
    ).items():
        n_labels = paper_datasets()[name].n_labels
        for metric, problem in _impossible(printed, n_labels):
            values = {
                "cell": printed[metric],
                "problem": problem,
                "n_labels": n_labels,
                "n_runs": _RUNS,
            }
            yield Finding.of(f"identities/{table}-{name}-{method}-{metric}", values)


def check_clark_baseline(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Clark values of predictions below what the zeros of the truth allow."""
    for cell in _scores(cells, tasks=("prediction",)):
        dataset = paper_datasets()[cell.dataset]
        if cell.metric == "Clark" and cell.value < dataset.clark_baseline - _HALF_DIGIT:
            values = {"cell": cell, "dataset": dataset, "most": dataset.n_labels - 1}
            yield Finding.of(f"clark-baseline/{cell.table}-{cell.dataset}-{cell.method}", values)


def check_agreement(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """One-errors that look like the share of agreement."""
    errors = [cell for cell in _scores(cells, tasks=("prediction",)) if cell.metric == "One-error"]
    for (table, name), column in _grouped(errors, "method", ("table", "dataset")).items():
        mine, others = (
            column.get(SUBJECT),
            [cell.value for method, cell in column.items() if method != SUBJECT],
        )
        # Half of every other error makes it suspect; that 1 - error lies among the others explains
        # it.
        if mine is None or not others or mine.value >= min(others) / 2:
            continue
        error, lowest, highest = 1 - mine.value, min(others), max(others)
        if lowest - _NEAR <= error <= highest + _NEAR:
            values = {"cell": mine, "error": error, "lowest": lowest, "highest": highest}
            yield Finding.of(
                f"agreement/{table}-{name}", {**values, "zeros": paper_datasets()[name].zeros}
            )


def check_copies(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Values of the tables of the text that the supplement prints otherwise."""
    value = _values(cells)
    for table, copy in SUPPLEMENT.items():
        different = [
            f"{', '.join(where)}: {mean} and {value[copy, *where]}"
            for (printed_in, *where), mean in value.items()
            if printed_in == table and value.get((copy, *where), mean) != mean
        ]
        if different:
            yield Finding.of(
                f"copies/{table}-{copy}",
                {"table": table, "copy": copy, "n": len(different)},
                different,
            )


def check_repeated_values(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Values of the same experiment that differ, and of different ones that are the same."""
    value = _values(cells)
    # DLDL and L2 need no learner: with another one for the rest, their scores must stay what they
    # are.
    joint = [key[1:] for key in value if key[0] == "S5" and key[3] in (SUBJECT, "L2")]
    if different := [key for key in joint if value["S4", *key] != value["S5", *key]]:
        yield Finding.of("repeated/S4-S5", {"n_different": len(different), "n": len(joint)})
    whole = [key[1:] for key in value if key[0] == "3/predictive" and key[3] == SUBJECT]
    same = [
        key for key in whole if value["3/predictive", *key] == value["S5", *key] != value["2", *key]
    ]
    different = [key for key in whole if value["3/recovery", *key] != value["1", *key]]
    if same or different:
        yield Finding.of(
            "repeated/3", {"n_same": len(same), "n_different": len(different), "n": len(whole)}
        )
    learned = [key[1:3] for key in value if key[0] == "S5" and key[3] == "LDLSF"]
    if same := [
        key for key in learned if value["S5", *key, "LDLSF"] == value["2", *key, "SA-BFGS"]
    ]:
        counts = {"n_same": len(same), "n": len(learned)}
        yield Finding.of("repeated/learners", counts, [", ".join(key) for key in same])


def check_ablation(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Which term the method misses most, by Table 3."""
    for task in ("recovery", "predictive"):
        value = {
            (cell.method, cell.dataset): cell.value for cell in cells if cell.table == f"3/{task}"
        }
        datasets = [dataset for method, dataset in value if method == "beta=0"]
        worse = [d for d in datasets if value["alpha=0", d] > value["beta=0", d]]
        if 2 * len(worse) > len(datasets):
            values = {
                "task": task,
                "n_worse": len(worse),
                "worse": ", ".join(worse),
                "n": len(datasets),
            }
            yield Finding.of(f"ablation/{task}", values)


def check_metric_names(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Metrics that the text counts and no table has."""
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    if "Canberra" not in metrics:
        yield Finding.of("text/Canberra", {"metrics": ", ".join(metrics)})


# --- What is printed


def _scores(cells: Sequence[PrintedCell], tasks: Sequence[str] = TASKS) -> list[PrintedCell]:
    """Scores of every experiment, once each."""
    return [cell for block in BLOCKS if block.task in tasks for cell in block.scores(cells)]


def _grouped(
    cells: Iterable[PrintedCell], by: str, keys: Sequence[str]
) -> dict[tuple[str, ...], dict[str, PrintedCell]]:
    """Cells that agree in some fields, each group by another field."""
    groups: dict[tuple[str, ...], dict[str, PrintedCell]] = {}
    for cell in cells:
        groups.setdefault(tuple(getattr(cell, key) for key in keys), {})[getattr(cell, by)] = cell
    return groups


def _values(cells: Iterable[PrintedCell]) -> dict[tuple[str, ...], str]:
    """Means by table, metric, data set and method."""
    return {cell[:4]: cell.mean for cell in cells if cell.dataset != AVERAGE}


# --- What the metrics allow


def _impossible(printed: Mapping[str, PrintedCell], n_labels: int) -> Iterator[tuple[str, str]]:
    """Metric and reason of what cannot be."""
    for metric, cell in printed.items():
        low, high = 0.0, math.sqrt(n_labels) if metric == "Clark" else 1.0
        if not low - _HALF_DIGIT <= cell.value <= high + _HALF_DIGIT:
            yield metric, f"It lies between {low:g} and {high:.4f}."
        elif (
            float(cell.std or 0)
            > (largest := _largest_deviation(cell.value, low, high)) + _HALF_DIGIT
        ):
            yield (
                metric,
                f"With that mean, values between {low:g} and {high:.4f} deviate by at most "
                f"{largest:.4f}.",
            )
    if {"Chebyshev", "Intersection"} <= printed.keys():
        # 1 - intersection is the sum of the excesses, and of the deficits. Of one kind there are at
        # most c // 2, none larger than the Chebyshev distance; and one of them is that distance.
        distance, common, pairs = (
            printed["Chebyshev"].value,
            printed["Intersection"].value,
            n_labels // 2,
        )
        lowest, highest = 1 - pairs * distance, 1 - distance
        # Both numbers are rounded, and the distance counts once for each pair.
        if not lowest - (1 + pairs) * _HALF_DIGIT <= common <= highest + 2 * _HALF_DIGIT:
            problem = (
                f"With a Chebyshev distance of {distance:.4f} it lies between {lowest:.4f} "
                f"and {highest:.4f}."
            )
            yield "Intersection", problem


def _largest_deviation(mean: float, low: float, high: float) -> float:
    """Of values in an interval, given their mean up to rounding: that of values at its ends
    only."""
    # Bhatia and Davis: the variance is at most (high - mean) (mean - low); runs / (runs - 1) makes
    # it that of a sample.
    above, below = (
        min(mean - low + _HALF_DIGIT, high - low),
        min(high - mean + _HALF_DIGIT, high - low),
    )
    return math.sqrt(above * below * _RUNS / (_RUNS - 1))
