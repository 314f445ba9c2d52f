"""Statistical tests on the tables of a report, and what the numbers say in sentences; all of it is computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ldlearn.results import Method, Task, TaskTable
from ldlearn.results.wording import enumerate_names, plural
from ldlearn.stats import FriedmanResult, PostHocResult, bonferroni_dunn, friedman, nemenyi

ALPHA = 0.05


@dataclass(frozen=True)
class Verdict:
    """Tests on one table.

    Attributes
    ----------
    pairs : PostHocResult or None
        Nemenyi's test; None if there is nothing to compare.
    sentences : list of str
        What the tests found.
    cautions : list of str
        Why they may find nothing.
    """

    task: Task
    metric: str
    pairs: PostHocResult | None
    sentences: list[str]
    cautions: list[str]


def headline(table: TaskTable) -> list[str]:
    """Who is best, how the best floor does, and who stays below a floor."""
    ranked = table.ranked
    if not ranked:
        return ["No method has a result on every data set, so none is ranked."]
    best, where = ranked[0], plural(len(table.datasets), "data set")
    first = f"{best.name} has the best average rank, {table.average_ranks[best.name]:.2f} over {where}."
    return [first, *_against_floors(table)]


def _against_floors(table: TaskTable) -> list[str]:
    if not table.floors:
        return [_against_informed_floor(table, method) for method in table.methods if method.is_floor]
    floor = table.floors[0]
    limit = table.average_ranks[floor.name]
    below = [m.name for m in table.ranked if not m.is_floor and table.average_ranks[m.name] >= limit]
    said = f"The best floor, {floor.name}, has rank {limit:.2f}"
    if not below:
        return [f"{said}; every other method does better."]
    return [f"{said}; {enumerate_names(below)} {'does' if len(below) == 1 else 'do'} no better than that."]


def _against_informed_floor(table: TaskTable, floor: Method) -> str:
    """Say who beats a floor that is not ranked because it knows the true distributions."""
    beaten_by = [m.name for m in table.ranked if all(table.beats(m.name, floor.name, d) for d in table.datasets)]
    names = enumerate_names(beaten_by) if beaten_by else "no ranked method"
    return f"{floor.name}, a floor that knows the true distributions, is beaten on every data set by {names}."


def compare_methods(table: TaskTable, subject: str | None) -> Verdict:
    """Run the Friedman, Nemenyi and Bonferroni-Dunn tests on a table and keep their warnings as text."""
    names, n = [method.name for method in table.ranked], len(table.datasets)
    if len(names) < 2 or n < 2:
        caution = f"{plural(len(names), 'ranked method')} on {plural(n, 'data set')}: too little for a test."
        return Verdict(table.task, table.metric.name, None, [], [caution])
    options: dict[str, Any] = {"greater_is_better": table.metric.greater_is_better, "methods": names, "alpha": ALPHA}
    scores, _ = table.matrix()
    omnibus, first = _with_warnings(friedman, scores, **options)
    pairs, second = _with_warnings(nemenyi, scores, **options)
    sentences = [_friedman_sentence(omnibus), _nemenyi_sentence(pairs)]
    if subject in names:
        against, _ = _with_warnings(bonferroni_dunn, scores, subject, **options)
        sentences.append(_control_sentence(against))
    return Verdict(table.task, table.metric.name, pairs, sentences, [*first, *second])


def _with_warnings(test: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = test(*args, **options)
    return result, [str(warning.message) for warning in caught]


def _friedman_sentence(result: FriedmanResult) -> str:
    verdict = "the methods differ" if result.significant else "no difference between the methods is shown"
    return (
        f"Friedman's test with the correction of Iman and Davenport: {verdict} "
        f"({p_text(result.f_p_value)}, {plural(len(result.average_ranks), 'method')}, "
        f"{plural(result.n_datasets, 'data set')}; agreement of the data sets W = {result.kendall_w:.2f})."
    )


def _nemenyi_sentence(result: PostHocResult) -> str:
    apart = sum(pair.significant for pair in result.comparisons)
    return (
        f"Nemenyi's test: average ranks must be {result.critical_difference:.2f} apart to differ at "
        f"alpha = {result.alpha:g}; {apart} of {plural(len(result.comparisons), 'pair')} are."
    )


def _control_sentence(result: PostHocResult) -> str:
    better = [p.second for p in result.comparisons if p.significant and p.rank_difference < 0]
    worse = [p.second for p in result.comparisons if p.significant and p.rank_difference > 0]
    outcomes = {"better than": better, "worse than": worse, "not told apart from": result.not_different_from_control}
    parts = [f"{words} {enumerate_names(names)}" for words, names in outcomes.items() if names]
    return (
        f"Bonferroni-Dunn's test against {result.control} (critical difference {result.critical_difference:.2f}): "
        f"{'; '.join(parts)}."
    )


def p_text(p: float) -> str:
    """A p-value as a reader needs it."""
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}" if p >= 1e-16 else "p < 1e-16"
