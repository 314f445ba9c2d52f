"""Checks of the paper's ranks, of what it counts with them, and of its test of significance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ldlearn.paper.finding import Finding
from ldlearn.paper.ranks import PAPER_METRICS, RankedTable, Row, ranked_tables
from ldlearn.results.wording import enumerate_names
from ldlearn.stats import PostHocResult, bonferroni_dunn, critical_difference

_SUBJECT = "DLDL"
_RECOVERY, _PREDICTION = "S3", "S4"
_RULE = "ranks of the printed means by the paper's rule: of equal means, the smaller deviation is first"
# What the text says of first places, in per cent of 24 comparisons, by table.
CLAIMED_FIRST = {"1": "100.0", "2": "87.5", "S5": "70.8"}
CLAIMED_DIFFERENCE = "2.6002"  # the critical difference of the figure, said to be Bonferroni-Dunn's


def check_ranks(rows: Sequence[Row]) -> Iterator[Finding]:
    """Printed ranks that the values beside them do not give, table by table."""
    for table, metrics in _by_table(rows).items():
        wrong = tuple(text for of in metrics for text in _wrong_cells(of))
        yield from _finding(
            f"ranks/{table}",
            wrong,
            claim=f"Table {table} ranks {len(metrics[0].methods)} methods on each data set.",
            truth=f"{len(wrong)} of its {sum(of.printed.size for of in metrics)} ranks do not follow from the values "
            "beside them.",
            how=f"{_RULE}.",
        )


def check_averages(rows: Sequence[Row]) -> Iterator[Finding]:
    """Printed average ranks, and the places they give, that the values do not give."""
    for table, metrics in _by_table(rows).items():
        wrong = tuple(text for of in metrics for text in _wrong_averages(of))
        yield from _finding(
            f"averages/{table}",
            wrong,
            claim=f"Table {table} prints average ranks and the places of the methods by them.",
            truth=f"{len(wrong)} methods have another average, another place, or both.",
            how=f"mean over the data sets of the {_RULE}; equal averages share the smaller place.",
        )


def check_directions(rows: Sequence[Row]) -> Iterator[Finding]:
    """Columns whose printed ranks are those of the opposite direction."""
    columns: dict[tuple[str, str], list[RankedTable]] = {}
    for of in ranked_tables(rows):
        for i in np.flatnonzero((of.printed == of.backwards).all(axis=1)):
            columns.setdefault((of.metric, of.datasets[i]), []).append(of)
    for (metric, dataset), tables in columns.items():
        of = tables[0]
        cell, n = (of.datasets.index(dataset), of.methods.index(_SUBJECT)), len(of.methods)
        yield Finding(
            id=f"backwards/{metric}-{dataset}",
            claim=f"{metric} on {dataset} in Tables {enumerate_names([of.table for of in tables])}: {_SUBJECT}, "
            f"{of.values[cell]:.4f}, is number {of.printed[cell]:.0f} of {n}.",
            truth=f"The whole column is ranked with the worst first; {_SUBJECT} is number {of.right[cell]:.0f} of {n}.",
            how="every printed rank of the column equals the rank in the opposite direction.",
            severity="conclusion",
        )


def check_first_places(rows: Sequence[Row]) -> Iterator[Finding]:
    """How often the method is first, against what the text says."""
    for table, metrics in _by_table(rows).items():
        places = np.concatenate([of.right[:, of.methods.index(_SUBJECT)] for of in metrics])
        first, claimed = int((places == 1).sum()), CLAIMED_FIRST.get(table)
        share = f"{100 * first / len(places):.1f}"
        if claimed is not None and share != claimed:
            named = {"first": 1, "second": 2, "last": len(metrics[0].methods)}
            counts = ", ".join(f"{name} {int((places == place).sum())}" for name, place in named.items())
            yield Finding(
                id=f"first-places/{table}",
                claim=f"Table {table}: {_SUBJECT} is first in {claimed} % of {len(places)} comparisons.",
                truth=f"It is first in {first} of {len(places)}, {share} % ({counts}).",
                how=f"{_RULE}.",
                severity="conclusion",
            )


def check_critical_difference(rows: Sequence[Row]) -> Iterator[Finding]:
    """The critical difference that is printed as Bonferroni-Dunn's."""
    test = next(iter(_tests(rows).values()))
    n, k = test.n_datasets, len(test.average_ranks)
    right, other = critical_difference(k, n, test="bonferroni-dunn"), critical_difference(k, n, test="nemenyi")
    independent = critical_difference(k, n // 2, test="bonferroni-dunn")
    if f"{right:.4f}" != CLAIMED_DIFFERENCE:
        whose = "It is that of Nemenyi's test. " if f"{other:.4f}" == CLAIMED_DIFFERENCE else ""
        yield Finding(
            id="critical-difference/Bonferroni-Dunn",
            claim=f"The critical difference of Bonferroni and Dunn is {CLAIMED_DIFFERENCE}.",
            truth=f"{whose}Bonferroni and Dunn's is {right:.4f} for {k} methods on {n} data sets. But these are two "
            f"tasks on {n // 2} data sets, and tasks on the same data are not independent; for {n // 2} it is "
            f"{independent:.4f}.",
            how="q sqrt(k (k + 1) / (6 N)), q the normal quantile at 1 - 0.05 / (2 (k - 1)), or the quantile of the "
            "studentised range over sqrt(2) for Nemenyi's.",
            severity="slip",
        )


def check_significance(rows: Sequence[Row]) -> Iterator[Finding]:
    """Which methods the paper's own test tells from its own."""
    tests = _tests(rows)
    alike = {metric: test.not_different_from_control for metric, test in tests.items()}
    if any(alike.values()):
        told = [f"{metric}: {', '.join(names) or 'none'}" for metric, names in alike.items()]
        averages = {
            metric: [f"{method} {test.average_ranks[method]:.2f}" for method in test.ordered]
            for metric, test in tests.items()
        }
        yield Finding(
            id="significance/all-metrics",
            claim=f"By the test of Bonferroni and Dunn, {_SUBJECT} is significantly better than the compared methods "
            "on the four metrics.",
            truth=f"Not told from {_SUBJECT} at 0.05, by metric: {'; '.join(told)}.",
            how=f"mid-ranks of the means of Tables {_RECOVERY} and {_PREDICTION}, both tasks counted as the paper "
            "counts them, against the right critical difference.",
            severity="conclusion",
            details=tuple(f"{metric}: {', '.join(ranked)}" for metric, ranked in averages.items()),
        )


def _by_table(rows: Sequence[Row]) -> dict[str, list[RankedTable]]:
    tables: dict[str, list[RankedTable]] = {}
    for of in ranked_tables(rows):
        tables.setdefault(of.table, []).append(of)
    return tables


def _finding(id: str, wrong: tuple[str, ...], **words: str) -> Iterator[Finding]:
    """A finding if anything is wrong; a conclusion hangs on it if a number of the paper's own method is."""
    if wrong:
        own = any(f"{_SUBJECT} " in text for text in wrong)
        yield Finding(id=id, severity="conclusion" if own else "slip", details=wrong, **words)


def _wrong_cells(of: RankedTable) -> Iterator[str]:
    right = of.right
    for i, j in zip(*(of.printed != right).nonzero(), strict=True):
        yield (
            f"{of.metric}, {of.datasets[i]}: {of.methods[j]} {of.values[i, j]:.4f}, "
            f"printed {of.printed[i, j]:.0f}, right {right[i, j]:.0f}"
        )


def _wrong_averages(of: RankedTable) -> Iterator[str]:
    averages = of.right.mean(axis=0)
    places = rankdata(averages.round(6), method="min")
    for j, method in enumerate(of.methods):
        printed = f"{of.printed_averages[j]} ({of.printed_places[j]})"
        right = f"{averages[j]:.2f} ({places[j]:.0f})"
        if printed != right:
            yield f"{of.metric}: {method} printed {printed}, right {right}"


def _tests(rows: Sequence[Row]) -> dict[str, PostHocResult]:
    """The paper's test of each metric: recovery and prediction under each other, as if of twice as many data sets."""
    found = {(of.table, of.metric): of for of in ranked_tables(rows)}
    tests = {}
    for metric in PAPER_METRICS:
        first, second = found[_RECOVERY, metric], found[_PREDICTION, metric]
        options: dict[str, Any] = {"greater_is_better": first.greater_is_better, "methods": first.methods}
        tests[metric] = bonferroni_dunn(np.vstack([first.values, second.values]), _SUBJECT, **options)
    return tests
