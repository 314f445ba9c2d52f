"""Sentences of a report: differences between methods, their ranks, and the results of tests."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ldlearn.evaluation import (
    PostHocResult,
    Results,
    TaskTable,
    TooFewDatasetsWarning,
    best_baselines,
    bonferroni_dunn,
    difference,
    friedman,
    nemenyi,
)
from ldlearn.evaluation.analysis import CONFIDENCE
from ldlearn.evaluation.formatting import enumerate_names, plural
from ldlearn.evaluation.text_tables import describe_gap

# For a test: two data sets cannot show which of several methods differ, whatever the scores.
_MIN_DATASETS = 3


class Conclusion(NamedTuple):
    """Results of the tests on one table.

    Attributes
    ----------
    sentences : list of str
        One for each test; a test is only done if the one before was significant.
    pairs : PostHocResult or None
        Nemenyi's test, if it finds a significant pair.
    """

    sentences: list[str]
    pairs: PostHocResult | None = None


def compare_with_baseline(results: Results, table: TaskTable, dataset: str) -> str:
    """One sentence on the scores of the subject, or of the best method, and of a baseline."""
    means = _means(table, dataset)
    baselines = {method.name for method in table.methods if method.is_baseline}
    candidates = [name for name in means if name not in baselines]
    rows = f"{'labelled' if table.task == 'recovery' else 'new'} rows of {dataset}"
    if not candidates:
        return f"No method has a result on {rows} beside baselines."
    name = results.subject
    if name not in candidates:
        name = min(candidates, key=lambda name: table.metric.sort_key(means[name]))
    truth = "the votes" if dataset in table.votes else "the truth"
    sentence = f"On {rows} {name} shares {_percent(means[name])} of the mass with {truth}"
    shown: Callable[[float], str] = _percent
    if table.metric.name != "intersection":
        shown = "{:.3f}".format
        sentence = f"On {rows} {name} has {table.metric.title.lower()} {shown(means[name])}"
    baseline = best_baselines(table).get(dataset)
    if baseline is None:
        return f"{sentence}."
    gap = difference(results, table, name, baseline, dataset)
    if gap is None or math.isnan(gap.margin):
        test = "one repeat is too few for a test of the difference"
    else:
        test = f"the difference is {'' if gap.is_significant else 'not '}significant"
    return f"{sentence}, the best baseline ({baseline}) {shown(means[baseline])}; {test}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _means(table: TaskTable, dataset: str) -> dict[str, float]:
    """Mean scores of the methods that have one on a data set and compete."""
    means = {}
    for method in table.methods:
        score = table.score(method.name, dataset)
        if score.spread and not method.is_reference:
            means[method.name] = score.mean
    return means


def summarize(results: Results, table: TaskTable) -> list[str]:
    """Differences to the best baseline, average ranks, the second method, subject, baselines."""
    ranks = table.average_ranks
    n = len(table.datasets)
    if all(method.is_reference for method in table.methods):
        return [
            "Only methods that were fitted on true distributions have results here, and these are "
            "not ranked."
        ]
    if n == 1:
        return summarize_dataset(results, table, table.datasets[0])
    if len(ranks) < 2:
        return ["Fewer than two methods have a result on every data set, so none is ranked."]
    best = _names_tied_for_first(ranks, ranks)
    baselines = best_baselines(table)
    sentences = []
    if baselines:
        for name in _names_tied_for_first(table.non_baselines, ranks):
            sentences.append(_count_better(results, table, name, "the best baseline", baselines))
    where = plural(n, "data set")
    if n < _MIN_DATASETS:
        where += ", too few for a test of ranks"
    rank = f"{ranks[best[0]]:.2f}"
    sentences.append(f"{_has_or_share(best)} the best average rank, {rank} over {where}.")
    second = next((method for method in table.ranked if method.name not in best), None)
    if len(best) == 1 and second is not None and not second.is_baseline:
        others = dict.fromkeys(table.datasets, second.name)
        role = f"the next, {second.name},"
        sentences.append(_count_better(results, table, best[0], role, others))
    subject = results.subject
    if subject in ranks and subject not in best:
        place = 1 + sum(rank < ranks[subject] for rank in ranks.values())
        average = f"average rank {ranks[subject]:.2f}"
        sentences.append(f"{subject} is not first: number {place} of {len(ranks)}, {average}.")
    if table.baselines:
        sentences.append(_compare_best_baseline(table))
    return sentences


def _compare_best_baseline(table: TaskTable) -> str:
    """How many methods have a better average rank than the best baseline."""
    ranks = table.average_ranks
    baseline = table.baselines[0]
    # ">=": a method that equals a baseline is not better.
    worse = [name for name in table.non_baselines if ranks[name] >= ranks[baseline]]
    verdict = f"no better: {enumerate_names(worse)}" if worse else "all other methods are better"
    return f"The best baseline, {baseline}, has average rank {ranks[baseline]:.2f}; {verdict}."


def summarize_dataset(results: Results, table: TaskTable, dataset: str) -> list[str]:
    """For one data set: the best mean, and its differences to the next method and a baseline."""
    means = _means(table, dataset)
    if len(means) < 2:
        few = f"Fewer than two methods have a result on {dataset}"
        return [f"{few}, so there is nothing to compare."]
    names = sorted(means, key=lambda name: table.metric.sort_key(means[name]))
    best = _names_tied_for_first(names, means)
    others = names[len(best) :]
    baseline = best_baselines(table).get(dataset)
    sentences = [f"{_has_or_share(best)} the best mean on {dataset}, {means[best[0]]:.4f}."]
    if [baseline] == best:
        sentences.append("No method is better than this baseline.")
    elif baseline in best:
        sentences.append("A baseline is among them.")
    if baseline in others:
        others.remove(baseline)
        gap = _describe_difference(results, table, best[0], baseline, dataset)
        sentences.append(f"{best[0]} against the best baseline, {baseline}: {gap}.")
    if len(best) == 1 and others:
        gap = _describe_difference(results, table, best[0], others[0], dataset)
        sentences.append(f"{best[0]} against the next, {others[0]}: {gap}.")
    if results.subject in names and results.subject not in best:
        place = f"number {names.index(results.subject) + 1} of {len(names)}"
        sentences.append(f"{results.subject} is not first: {place}.")
    return sentences


def _names_tied_for_first(names: Iterable[str], values: Mapping[str, float]) -> list[str]:
    """Of names in order, those with the value of the first, up to the precision that is printed."""
    tied: list[str] = []
    for name in names:
        if not tied or abs(values[name] - values[tied[0]]) < 5e-5:
            tied.append(name)
    return tied


def _has_or_share(names: Sequence[str]) -> str:
    return f"{enumerate_names(names)} {'has' if len(names) == 1 else 'share'}"


def _count_better(
    results: Results, table: TaskTable, name: str, role: str, others: Mapping[str, str]
) -> str:
    """Count the data sets on which a method is better than the other one of that data set."""
    n_better = 0
    n_significant = 0
    for dataset, other in others.items():
        gap = difference(results, table, name, other, dataset)
        if gap is not None and gap.mean > 0:
            n_better += 1
            n_significant += gap.is_significant
    return (
        f"{name} is better than {role} on {n_better} of {plural(len(others), 'data set')}; "
        f"the {CONFIDENCE:.0%} interval of the difference excludes zero on {n_significant} of them."
    )


def _describe_difference(
    results: Results, table: TaskTable, name: str, other: str, dataset: str
) -> str:
    text = f"{table.score(name, dataset).mean:.4f} against {table.score(other, dataset).mean:.4f}"
    return f"{text}, {describe_gap(results, table, name, other, dataset)}"


def compare_average_ranks(table: TaskTable, subject: str | None) -> Conclusion:
    """Test if methods differ (Friedman), and which (Bonferroni-Dunn for the subject, Nemenyi)."""
    scores = table.ranking.values
    names = table.ranking.methods
    n = len(table.datasets)
    counted = f"{plural(len(names), 'ranked method')} on {plural(n, 'data set')}"
    if len(names) < 2 or n < 2:
        return Conclusion([f"{counted}: too few for a test over data sets."])
    options: Any = {"greater_is_better": table.metric.greater_is_better, "methods": names}
    with warnings.catch_warnings(
        record=True, action="always", category=TooFewDatasetsWarning
    ) as too_few:
        omnibus = friedman(scores, **options)
        if too_few or n < _MIN_DATASETS:
            problem = "too few data sets for a significant difference; no test"
            return Conclusion([f"{counted}: {problem}."])
        tested = (
            "Friedman's test with the correction of Iman and Davenport "
            f"({_format_p(omnibus.f_p_value)}, {plural(len(names), 'method')}, "
            f"{plural(n, 'data set')}; Kendall's W = {omnibus.kendall_w:.2f}):"
        )
        # Pairs are tested only if the test of all methods is significant (Demšar's procedure).
        if not omnibus.significant:
            return Conclusion([f"{tested} no significant difference between methods."])
        # A post-hoc test on too few data sets finds no significant pair, which is reported.
        pairs = nemenyi(scores, **options)
        tests = [pairs]
        if subject in names:
            tests.append(bonferroni_dunn(scores, subject, **options))
    finding = f"{tested} the methods are not all equal"
    if not any(map(_count_significant, tests)):
        power = "the tests of pairs, which have less power"
        finding += f", but {power}, do not show which of them differ"
    sentences = [f"{finding}.", *map(_describe_subject, tests[1:])]
    significant = _count_significant(pairs)
    sentences.append(
        f"Nemenyi's test at alpha = {pairs.alpha:g}: "
        f"critical difference {pairs.critical_difference:.2f} of average ranks; "
        f"{significant} of {plural(len(pairs.comparisons), 'pair')} differ significantly."
    )
    # Without a significant pair a diagram would show nothing.
    return Conclusion(sentences, pairs if significant else None)


def _count_significant(result: PostHocResult) -> int:
    return sum(pair.significant for pair in result.comparisons)


def _describe_subject(result: PostHocResult) -> str:
    outcomes: dict[str, list[str]] = {"better than": [], "worse than": []}
    for pair in result.comparisons:
        if pair.significant:
            outcome = "better than" if pair.rank_difference < 0 else "worse than"
            outcomes[outcome].append(pair.second)
    outcomes["not significantly different from"] = list(result.not_different_from_control)
    parts = []
    for outcome, methods in outcomes.items():
        if methods:
            parts.append(f"{outcome} {enumerate_names(methods)}")
    limit = f"critical difference {result.critical_difference:.2f}"
    return f"Bonferroni-Dunn's test of {result.control} ({limit}): {'; '.join(parts)}."


def _format_p(p: float) -> str:
    """A p-value, rounded."""
    # Digits below the precision of floats mean nothing, and p is exactly 0 where all data sets
    # agree.
    if p < 1e-16:
        return "p < 1e-16"
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}"
