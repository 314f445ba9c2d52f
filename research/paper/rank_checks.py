"""Checks of the paper's ranks, of what it counts with them, and of its test of significance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.stats import rankdata

from ldlearn.evaluation import PostHocResult, bonferroni_dunn, critical_difference
from ldlearn.evaluation.formatting import enumerate_names
from research.paper.finding import Finding
from research.paper.printed_tables import AVERAGE, PAPER_METRICS, SUBJECT, PrintedCell
from research.paper.ranks import RankedTable, ranked_tables

_TESTED = ("S3", "S4")  # recovery and prediction
# What the text says of first places, in per cent of 24 comparisons, by table.
CLAIMED_FIRST = {"1": "100.0", "2": "87.5", "S5": "70.8"}
CLAIMED_DIFFERENCE = (
    "2.6002"  # the critical difference of the figure, attributed to Bonferroni-Dunn
)


def check_ranks(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Printed ranks that the values beside them do not give, table by table."""
    return _check_tables("ranks", _wrong_ranks, cells)


def check_averages(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Printed average ranks, and the places they give, that the values do not give."""
    return _check_tables("averages", _wrong_averages, cells)


def check_directions(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Columns whose printed ranks are those of the opposite direction."""
    columns: dict[tuple[str, str], list[RankedTable]] = {}
    for of in ranked_tables(cells):
        for i in np.flatnonzero((of.printed == of.backwards).all(axis=1)):
            columns.setdefault((of.metric, of.datasets[i]), []).append(of)
    for (metric, dataset), found in columns.items():
        of, tables = found[0], enumerate_names([of.table for of in found])
        right = of.right[of.datasets.index(dataset), of.methods.index(SUBJECT)]
        values = {
            "cell": of.cells[dataset, SUBJECT],
            "tables": tables,
            "right": right,
            "n": len(of.methods),
        }
        yield Finding.of(f"backwards/{metric}-{dataset}", values)


def check_first_places(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """How often the method is first, against what the text says."""
    for table, metrics in _by_table(cells).items():
        places = [place for of in metrics for place in of.right[:, of.methods.index(SUBJECT)]]
        named = {"first": 1, "second": 2, "last": len(metrics[0].methods)}
        counts = {name: places.count(place) for name, place in named.items()}
        share = f"{100 * counts['first'] / len(places):.1f}"
        claimed = CLAIMED_FIRST.get(table, share)
        if share != claimed:
            values = {
                "table": table,
                "claimed": claimed,
                "share": share,
                "n": len(places),
                **counts,
            }
            yield Finding.of(f"first-places/{table}", values)


def check_critical_difference(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """The critical difference that is printed as Bonferroni-Dunn's."""
    test = next(iter(_tests(cells).values()))
    n, k = test.n_datasets, len(test.average_ranks)
    # Half of n: recovery and prediction on the same data are not independent, though the paper
    # counts them so.
    right, independent = (
        f"{critical_difference(k, size, test='bonferroni-dunn'):.4f}" for size in (n, n // 2)
    )
    if right != CLAIMED_DIFFERENCE:
        nemenyi = f"{critical_difference(k, n, test='nemenyi'):.4f}"
        whose = "It is that of Nemenyi's test. " if nemenyi == CLAIMED_DIFFERENCE else ""
        values = {
            "claimed": CLAIMED_DIFFERENCE,
            "whose": whose,
            "right": right,
            "independent": independent,
        }
        yield Finding.of(
            "critical-difference/Bonferroni-Dunn", {**values, "k": k, "n": n, "half": n // 2}
        )


def check_significance(cells: Sequence[PrintedCell]) -> Iterator[Finding]:
    """Methods that do not differ significantly from the paper's method by its own test."""
    tests = _tests(cells)
    alike = {metric: test.not_different_from_control for metric, test in tests.items()}
    if any(alike.values()):
        not_significant = "; ".join(
            f"{metric}: {', '.join(names) or 'none'}" for metric, names in alike.items()
        )
        averages = [f"{metric}: {_average_ranks(test)}" for metric, test in tests.items()]
        yield Finding.of(
            "significance/all-metrics",
            {"alike": not_significant, "tables": " and ".join(_TESTED)},
            averages,
        )


def _average_ranks(test: PostHocResult) -> str:
    return ", ".join(f"{name} {test.average_ranks[name]:.2f}" for name in test.methods_by_rank)


def _by_table(cells: Sequence[PrintedCell]) -> dict[str, list[RankedTable]]:
    tables: dict[str, list[RankedTable]] = {}
    for of in ranked_tables(cells):
        tables.setdefault(of.table, []).append(of)
    return tables


def _check_tables(
    topic: str, wrong_in: Callable[[RankedTable], Iterator[str]], cells: Sequence[PrintedCell]
) -> Iterator[Finding]:
    """A finding for each table with something wrong; a conclusion if that is of the paper's own
    method."""
    for table, metrics in _by_table(cells).items():
        wrong = [text for of in metrics for text in wrong_in(of)]
        if wrong:
            n_methods, n = len(metrics[0].methods), sum(of.printed.size for of in metrics)
            severity = "conclusion" if any(f"{SUBJECT} " in text for text in wrong) else "slip"
            values = {
                "table": table,
                "n_methods": n_methods,
                "n": n,
                "n_wrong": len(wrong),
                "severity": severity,
            }
            yield Finding.of(f"{topic}/{table}", values, wrong)


def _wrong_ranks(of: RankedTable) -> Iterator[str]:
    for cell, right in of.wrong():
        yield (
            f"{of.metric}, {cell.dataset}: {cell.method} {cell.mean}, printed {cell.rank}, "
            f"right {right}"
        )


def _wrong_averages(of: RankedTable) -> Iterator[str]:
    averages = of.right.mean(axis=0)
    # equal averages must tie, whatever the rounding of their sums
    places = rankdata(averages.round(6), method="min")
    for method, average, place in zip(of.methods, averages, places, strict=True):
        cell, right = of.cells[AVERAGE, method], f"{average:.2f} ({place:.0f})"
        if (printed := f"{cell.mean} ({cell.rank})") != right:
            yield f"{of.metric}: {method} printed {printed}, right {right}"


def _tests(cells: Sequence[PrintedCell]) -> dict[str, PostHocResult]:
    """The paper's test of each metric: recovery and prediction under each other, as if of twice as
    many data sets."""
    found = {(of.table, of.metric): of for of in ranked_tables(cells)}
    tests = {}
    for metric in PAPER_METRICS:
        first, second = (found[table, metric] for table in _TESTED)
        scores, better = np.vstack([first.values, second.values]), first.greater_is_better
        # Mid-ranks of the printed values, not the printed ranks, some of which are wrong.
        tests[metric] = bonferroni_dunn(
            scores, SUBJECT, greater_is_better=better, methods=first.methods
        )
    return tests
