"""Checks of the paper's values: against what the metrics allow, against each other, and against floors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.core import binarize
from ldlearn.core.simplex import normalize_rows
from ldlearn.datasets import fetch_dataset
from ldlearn.datasets.fetch import DatasetNotHereError
from ldlearn.metrics import METRICS
from ldlearn.paper.finding import Finding
from ldlearn.paper.ranks import AVERAGE, PAPER_METRICS, Row
from ldlearn.paper.tables import BLOCKS, PaperDataset, known_floors, paper_datasets
from ldlearn.results.wording import enumerate_names

_SUBJECT = "DLDL"
_HALF_DIGIT = 5e-5  # printed values are rounded to four digits
_RUNS = 10  # of the printed standard deviations
_COPIES = {"1": "S3", "2": "S4"}  # tables of the text, and the supplement's with deviations
_NEAR = 0.02  # how near 1 - error lies to the other methods where agreement was printed as error
_TIED = 0.005  # closer than this, two intersections are called equal

_LETTERS = "the printed values compared letter by letter."

Distributions = NDArray[np.float64]
ByMetric = Mapping[str, Row]  # what is printed of one method on one data set, by the paper's names of metrics


def check_identities(rows: Sequence[Row]) -> Iterator[Finding]:
    """Values that no pair of distributions can have."""
    for table, dataset, method, printed in _printed_scores(rows):
        for metric, problem in _impossible(printed, dataset):
            yield Finding(
                id=f"identities/{table}-{dataset.abbreviation}-{method}-{metric}",
                claim=f"Table {table}, {dataset.abbreviation}, {method}: {metric} {_shown(printed[metric])}.",
                truth=problem,
                how=f"holds for means over any rows of distributions over {dataset.n_labels} labels; for deviations, "
                f"of any {_RUNS} such means. Half a printed digit is allowed for rounding.",
                severity="impossible",
            )


def check_clark_floor(rows: Sequence[Row]) -> Iterator[Finding]:
    """Clark values of predictions below what the zeros of the truth allow."""
    for table, dataset, method, printed in _printed_scores(rows, tasks=("prediction",)):
        floor = clark_floor(dataset)
        if "Clark" in printed and float(printed["Clark"]["mean"]) < floor - _HALF_DIGIT:
            yield Finding(
                id=f"clark-floor/{table}-{dataset.abbreviation}-{method}",
                claim=f"Table {table}, {dataset.abbreviation}, {method}: Clark {_shown(printed['Clark'])}.",
                truth=f"A prediction that is positive everywhere has at least {floor:.4f}.",
                how=f"each label of true degree 0 adds 1 to the square; {dataset.zeros:.4f} of the labels are zero, at "
                f"most {dataset.n_labels - 1} in a row, and sqrt(z) >= z / sqrt(c - 1). Assumes that these zeros "
                "are exact.",
                severity="doubt",
            )


def check_agreement(rows: Sequence[Row]) -> Iterator[Finding]:
    """One-errors that look like the share of agreement."""
    columns: dict[tuple[str, str], dict[str, float]] = {}
    for table, dataset, method, printed in _printed_scores(rows, tasks=("prediction",)):
        if "One-error" in printed:
            columns.setdefault((table, dataset.abbreviation), {})[method] = float(printed["One-error"]["mean"])
    for (table, name), errors in columns.items():
        zeros = paper_datasets()[name].zeros
        mine, others = errors.get(_SUBJECT), [e for method, e in errors.items() if method != _SUBJECT]
        if mine is None or not others or mine >= min(others) / 2:
            continue
        if min(others) - _NEAR <= 1 - mine <= max(others) + _NEAR:
            yield Finding(
                id=f"agreement/{table}-{name}",
                claim=f"Table {table}, {name}, {_SUBJECT}: One-error {mine:.4f}.",
                truth=f"Very likely the agreement: the error would be {1 - mine:.4f}. The other methods have "
                f"{min(others):.4f} to {max(others):.4f}, a prediction that is positive everywhere {zeros:.4f}.",
                how="the released code computes agreement under this name; no proof, but nothing else explains the "
                "value. The rank does not depend on it, the margin does.",
                severity="doubt",
            )


def check_copies(rows: Sequence[Row]) -> Iterator[Finding]:
    """Values of the tables of the text that the supplement prints otherwise."""
    value = _values(rows)
    for table, copy in _COPIES.items():
        here = [key[1:] for key in value if key[0] == table and (copy, *key[1:]) in value]
        different = [key for key in here if value[table, *key] != value[copy, *key]]
        if different:
            yield Finding(
                id=f"copies/{table}-{copy}",
                claim=f"Table {copy} is Table {table} with standard deviations.",
                truth=f"{len(different)} values differ.",
                how=_LETTERS,
                severity="slip",
                details=tuple(f"{', '.join(key)}: {value[table, *key]} and {value[copy, *key]}" for key in different),
            )


def check_repeated_values(rows: Sequence[Row]) -> Iterator[Finding]:
    """Values of the same experiment that differ, and of different ones that are the same."""
    value = _values(rows)
    yield from _joint_methods(value)
    yield from _whole_method(value)
    yield from _equal_learners(value)


def check_ablation(rows: Sequence[Row]) -> Iterator[Finding]:
    """Which term the method misses most, by Table 3."""
    for task in ("recovery", "predictive"):
        value = {(row["method"], row["dataset"]): float(row["mean"]) for row in rows if row["table"] == f"3/{task}"}
        datasets = [dataset for method, dataset in value if method == "beta=0"]
        worse = [d for d in datasets if value["alpha=0", d] > value["beta=0", d]]
        if 2 * len(worse) > len(datasets):
            yield Finding(
                id=f"ablation/{task}",
                claim="The term of beta is the critical one: without it the method becomes poor.",
                truth=f"Table 3, {task}: without alpha it is worse than without beta on {len(worse)} of "
                f"{len(datasets)} data sets ({', '.join(worse)}).",
                how="the printed Chebyshev distances compared.",
                severity="conclusion",
            )


def check_metric_names(rows: Sequence[Row]) -> Iterator[Finding]:
    """Metrics that the text counts and no table has."""
    if all(row["metric"] != "Canberra" for row in rows):
        yield Finding(
            id="text/Canberra",
            claim="The method has the lowest average rank in three metrics: Clark, Canberra and Intersection.",
            truth=f"No table has Canberra; they have {', '.join(dict.fromkeys(row['metric'] for row in rows))}.",
            how="the names of the metrics in all tables.",
            severity="slip",
        )


def check_floors(rows: Sequence[Row]) -> Iterator[Finding]:
    """Printed values of the method beside those of floors that look at no feature."""
    truths = {abbreviation: _true_distributions(dataset.name) for abbreviation, dataset in paper_datasets().items()}
    for key, floor, named in (
        ("recovery", "equal shares", "Equal shares of the positive labels"),
        ("prediction", "same degree", "The same degree for every label of every row"),
        ("prediction", "mean distribution", "The mean of all true distributions, for every row,"),
    ):
        yield from _beside_floor(rows, truths, key, floor, named)


def clark_floor(dataset: PaperDataset) -> float:
    """The smallest mean Clark distance of predictions that are positive everywhere, given the share of zeros."""
    return dataset.n_labels * dataset.zeros / math.sqrt(dataset.n_labels - 1)


# --- What is printed


def _printed_scores(
    rows: Iterable[Row], tasks: Sequence[str] = ("recovery", "prediction")
) -> Iterator[tuple[str, PaperDataset, str, ByMetric]]:
    """Table, data set, method and what is printed of them, by metric."""
    for block in (block for block in BLOCKS if block.task in tasks):
        found: dict[tuple[str, str], dict[str, Row]] = {}
        for row in block.scores(rows):
            found.setdefault((row["dataset"], row["method"]), {})[row["metric"]] = row
        for (dataset, method), printed in found.items():
            yield next(iter(printed.values()))["table"], paper_datasets()[dataset], method, printed


def _shown(row: Row) -> str:
    return row["mean"] + (f" ± {row['std']}" if row["std"] else "")


# --- What the metrics allow


def _impossible(printed: ByMetric, dataset: PaperDataset) -> Iterator[tuple[str, str]]:
    """Metric and reason of what cannot be."""
    for metric, row in printed.items():
        low, high = METRICS[PAPER_METRICS[metric]].range(dataset.n_labels)
        mean, deviation = float(row["mean"]), float(row["std"] or 0)
        if not low - _HALF_DIGIT <= mean <= high + _HALF_DIGIT:
            yield metric, f"It lies between {low:g} and {high:.4f}."
        elif deviation > (largest := _largest_deviation(mean, low, high)) + _HALF_DIGIT:
            yield metric, f"With that mean, values between {low:g} and {high:.4f} deviate by at most {largest:.4f}."
    if {"Chebyshev", "Intersection"} <= printed.keys():
        largest_distance, common = (float(printed[metric]["mean"]) for metric in ("Chebyshev", "Intersection"))
        pairs = dataset.n_labels // 2
        lowest, highest = 1 - pairs * largest_distance, 1 - largest_distance
        if not lowest - (1 + pairs) * _HALF_DIGIT <= common <= highest + 2 * _HALF_DIGIT:
            yield (
                "Intersection",
                f"With a Chebyshev distance of {largest_distance:.4f} it lies between {lowest:.4f} and {highest:.4f}.",
            )


def _largest_deviation(mean: float, low: float, high: float) -> float:
    """Of values in an interval, given their mean up to rounding: that of values at its ends only."""
    above, below = min(mean - low + _HALF_DIGIT, high - low), min(high - mean + _HALF_DIGIT, high - low)
    return math.sqrt(above * below * _RUNS / (_RUNS - 1))


# --- What the paper prints twice

Values = Mapping[tuple[str, ...], str]  # means by table, metric, data set and method


def _values(rows: Iterable[Row]) -> Values:
    keys = ("table", "metric", "dataset", "method")
    return {tuple(row[key] for key in keys): row["mean"] for row in rows if row["dataset"] != AVERAGE}


def _joint_methods(value: Values) -> Iterator[Finding]:
    joint = [key[1:] for key in value if key[0] == "S5" and key[3] in (_SUBJECT, "L2")]
    differ = [key for key in joint if value["S4", *key] != value["S5", *key]]
    if differ:
        yield Finding(
            id="repeated/S4-S5",
            claim="Tables S4 and S5 differ in the learner that follows label enhancement.",
            truth=f"{_SUBJECT} and L2 need no such learner, so their rows should agree; {len(differ)} of {len(joint)} "
            "values do not. Two series of experiments seem to be mixed.",
            how=_LETTERS,
            severity="doubt",
        )


def _whole_method(value: Values) -> Iterator[Finding]:
    whole = [key[1:] for key in value if key[0] == "3/predictive" and key[3] == _SUBJECT]
    same = [key for key in whole if value["3/predictive", *key] == value["S5", *key] != value["2", *key]]
    other = [key for key in whole if value["3/recovery", *key] != value["1", *key]]
    if same or other:
        yield Finding(
            id="repeated/3",
            claim="Table 3 compares the method of Tables 1 and 2 with parts of it.",
            truth=f"Its prediction row is that of Table S5, not of Table 2, on {len(same)} of {len(whole)} data sets; "
            f"its recovery row differs from Table 1 on {len(other)}.",
            how=_LETTERS,
            severity="doubt",
        )


def _equal_learners(value: Values) -> Iterator[Finding]:
    keys = [key[1:3] for key in value if key[0] == "S5" and key[3] == "LDLSF"]
    same = [key for key in keys if value["S5", *key, "LDLSF"] == value["2", *key, "SA-BFGS"]]
    if same:
        yield Finding(
            id="repeated/learners",
            claim="LDLSF (Table S5) and SA-BFGS (Table 2), trained on true distributions, bound the others from above.",
            truth=f"These two different learners agree to every digit in {len(same)} of {len(keys)} values.",
            how=_LETTERS,
            severity="doubt",
            details=tuple(", ".join(key) for key in same),
        )


# --- Floors


_FLOORS: dict[str, Callable[[Distributions], Any]] = {
    "equal shares": lambda D: normalize_rows(binarize(D).astype(float)),
    "same degree": lambda D: np.full_like(D, 1 / D.shape[1]),
    "mean distribution": lambda D: np.tile(D.mean(axis=0), (len(D), 1)),
}


def _beside_floor(
    rows: Sequence[Row], truths: Mapping[str, Distributions | None], key: str, floor: str, named: str
) -> Iterator[Finding]:
    (block,) = (block for block in BLOCKS if block.key == key)
    wanted = (block.tables[0], "Intersection", _SUBJECT)
    printed = {d: float(mean) for (*place, d, method), mean in _values(rows).items() if (*place, method) == wanted}
    scores = {d: score for d in printed if (score := _floor_score(floor, d, truths[d])) is not None}
    compared = {d: score - printed[d] for d, (score, _) in scores.items()}
    by_outcome = {
        "better on": [d for d, gain in compared.items() if gain > _TIED],
        f"equal within {_TIED} on": [d for d, gain in compared.items() if abs(gain) <= _TIED],
        "worse on": [d for d, gain in compared.items() if gain < -_TIED],
    }
    if not by_outcome["better on"]:
        return
    told = ", ".join(f"{outcome} {enumerate_names(names)}" for outcome, names in by_outcome.items() if names)
    yield Finding(
        id=f"floors/{floor.replace(' ', '-')}",
        claim=f"{_SUBJECT} is the best method of {key} ({' and '.join(f'Table {table}' for table in block.tables)}).",
        truth=f"{named} would be {told}. No feature is looked at.",
        how="mean intersection on public copies of the data, all rows, labels positive above 0.01; computed now where "
        "the file is on this machine, otherwise as measured before. The authors' copies and splits may differ.",
        severity="conclusion",
        details=tuple(
            f"{d}: printed {printed[d]:.4f}, floor {score:.4f} ({origin})" for d, (score, origin) in scores.items()
        ),
    )


def _floor_score(floor: str, dataset: str, D: Distributions | None) -> tuple[float, str] | None:
    """Its intersection and where that comes from; None if it is not known."""
    if D is not None:
        return METRICS["intersection"].function(D, _FLOORS[floor](D)), "computed now"
    known = known_floors().get((floor, dataset))
    return None if known is None else (float(known), "measured before")


def _true_distributions(name: str) -> Distributions | None:
    """Those of a data set that is on this machine; nothing is downloaded."""
    try:
        return np.asarray(fetch_dataset(name, download=False).D, dtype=float)
    except DatasetNotHereError:
        return None
