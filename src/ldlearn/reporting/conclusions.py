"""Sentences of a report: differences between methods, their ranks, and the results of tests."""

import math
import warnings
from collections.abc import Mapping, Sequence
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

_MIN_DATASETS = (
    3  # for a test: two data sets cannot show which of several methods differ, whatever the scores
)


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
    """One sentence on the intersection of the subject of the plan, or of the best method, and of
    the best baseline."""
    means = {
        m.name: table.score(m.name, dataset).mean
        for m in table.methods
        if table.score(m.name, dataset).spread
    }
    own = [
        m.name for m in table.methods if m.name in means and not (m.is_baseline or m.is_reference)
    ]
    baseline = best_baselines(table).get(dataset)
    rows = f"{'labelled' if table.task == 'recovery' else 'new'} rows of {dataset}"
    if not own:
        return f"No method has a result on {rows} beside baselines."
    method = results.subject if results.subject in own else max(own, key=means.__getitem__)
    sentence = f"On {rows} {method} shares {100 * means[method]:.0f} % of the mass with the truth"
    if baseline is None:
        return f"{sentence}."
    gap = difference(results, table, method, baseline, dataset)
    if gap is None or math.isnan(gap.margin):
        test = "one repeat is too few for a test of the difference"
    else:
        test = f"the difference is {'' if gap.is_significant else 'not '}significant"
    return f"{sentence}, the best baseline ({baseline}) {100 * means[baseline]:.0f} %; {test}."


def summarize(results: Results, table: TaskTable) -> list[str]:
    """Differences to the best baseline, average ranks, the second method, the subject of the plan,
    and baselines."""
    names = [method.name for method in table.ranked]
    ranks = table.average_ranks
    n = len(table.datasets)
    if all(method.is_reference for method in table.methods):
        return [
            "Only methods that were fitted on true distributions have results here, and these are not ranked."
        ]
    if n == 1:
        return summarize_dataset(results, table, table.datasets[0])
    if len(names) < 2:
        return ["Fewer than two methods have a result on every data set, so none is ranked."]
    best = _names_tied_for_first(names, ranks)
    baselines = best_baselines(table)
    rivals = [method.name for method in table.ranked if not method.is_baseline]
    sentences = []
    for name in _names_tied_for_first(rivals, ranks) if baselines else ():
        sentences.append(_count_better(results, table, name, "the best baseline", baselines))
    where = plural(n, "data set") + (", too few for a test of ranks" if n < _MIN_DATASETS else "")
    sentences.append(
        f"{_has_or_share(best)} the best average rank, {ranks[best[0]]:.2f} over {where}."
    )
    second = next((method for method in table.ranked if method.name not in best), None)
    if len(best) == 1 and second is not None and not second.is_baseline:
        others = dict.fromkeys(table.datasets, second.name)
        sentences.append(
            _count_better(results, table, best[0], f"the next, {second.name},", others)
        )
    subject = results.subject
    if subject is not None and subject in ranks and subject not in best:
        place = 1 + sum(ranks[name] < ranks[subject] for name in ranks)
        sentences.append(
            f"{subject} is not first: number {place} of {len(ranks)}, average rank {ranks[subject]:.2f}."
        )
    if table.baselines:
        baseline = table.baselines[0].name
        # ">=": a method that equals a baseline is not better.
        worse = [name for name in rivals if ranks[name] >= ranks[baseline]]
        verdict = (
            f"no better: {enumerate_names(worse)}" if worse else "all other methods are better"
        )
        average = f"has average rank {ranks[baseline]:.2f}"
        sentences.append(f"The best baseline, {baseline}, {average}; {verdict}.")
    return sentences


def summarize_dataset(results: Results, table: TaskTable, dataset: str) -> list[str]:
    """The same for one data set: the best mean, and its differences to the next method and to the
    best baseline."""
    competing = [method.name for method in table.methods if not method.is_reference]
    means = {name: score.mean for name in competing if (score := table.score(name, dataset)).spread}
    if len(means) < 2:
        return [
            f"Fewer than two methods have a result on {dataset}, so there is nothing to compare."
        ]
    names = sorted(means, key=lambda name: table.metric.sort_key(means[name]))
    best = _names_tied_for_first(names, means)
    baseline = best_baselines(table).get(dataset)
    sentences = [f"{_has_or_share(best)} the best mean on {dataset}, {means[best[0]]:.4f}."]
    if baseline in best:
        sentences.append(
            "No method is better than this baseline."
            if len(best) == 1
            else "A baseline is among them."
        )
    second = (
        next((name for name in names if name not in (*best, baseline)), None)
        if len(best) == 1
        else None
    )
    for role, other in (("the best baseline", baseline), ("the next", second)):
        if other is not None and other not in best:
            gap = _describe_difference(results, table, best[0], other, dataset)
            sentences.append(f"{best[0]} against {role}, {other}: {gap}.")
    if results.subject in names and results.subject not in best:
        sentences.append(
            f"{results.subject} is not first: number {names.index(results.subject) + 1} of {len(names)}."
        )
    return sentences


def _names_tied_for_first(names: Sequence[str], values: Mapping[str, float]) -> list[str]:
    """Of names in order, those with the value of the first, up to the precision that is printed."""
    return [name for name in names if abs(values[name] - values[names[0]]) < 5e-5]


def _has_or_share(names: Sequence[str]) -> str:
    return f"{enumerate_names(names)} {'has' if len(names) == 1 else 'share'}"


def _count_better(
    results: Results, table: TaskTable, name: str, role: str, others: Mapping[str, str]
) -> str:
    """Count the data sets on which a method is better than another one, which may depend on the
    data set."""
    gaps = [difference(results, table, name, other, dataset) for dataset, other in others.items()]
    better = [gap for gap in gaps if gap and gap.mean > 0]
    return (
        f"{name} is better than {role} on {len(better)} of {plural(len(gaps), 'data set')}; the {CONFIDENCE:.0%} "
        f"interval of the difference excludes zero on {sum(gap.is_significant for gap in better)} of them."
    )


def _describe_difference(
    results: Results, table: TaskTable, name: str, other: str, dataset: str
) -> str:
    means = f"{table.score(name, dataset).mean:.4f} against {table.score(other, dataset).mean:.4f}"
    gap = difference(results, table, name, other, dataset)
    if gap is None:
        return means
    size = (
        f"{'better' if gap.mean > 0 else 'worse'} by {abs(gap.mean):.4f}" if gap.mean else "equal"
    )
    if math.isnan(gap.margin):
        return f"{means}, {size} in one repeat"
    return f"{means}, {size} ± {gap.margin:.4f}{'' if gap.is_significant or not gap.mean else ', not significant'}"


def compare_methods(table: TaskTable, subject: str | None) -> Conclusion:
    """Test if methods differ (Friedman), which differ from the subject (Bonferroni-Dunn), and which
    pairs (Nemenyi)."""
    (scores, names), n = table.matrix(), len(table.datasets)
    counted = f"{plural(len(names), 'ranked method')} on {plural(n, 'data set')}"
    if len(names) < 2 or n < 2:
        return Conclusion([f"{counted}: too few for a test over data sets."])
    options: Any = {"greater_is_better": table.metric.greater_is_better, "methods": names}
    with warnings.catch_warnings(
        record=True, action="always", category=TooFewDatasetsWarning
    ) as too_few:
        omnibus = friedman(scores, **options)
        if too_few or n < _MIN_DATASETS:
            return Conclusion(
                [f"{counted}: too few data sets for a significant difference; no test."]
            )
        tested = (
            f"Friedman's test with the correction of Iman and Davenport ({format_p(omnibus.f_p_value)}, "
            f"{plural(len(names), 'method')}, {plural(n, 'data set')}; Kendall's W = {omnibus.kendall_w:.2f}):"
        )
        # Pairs are tested only if the test of all methods is significant (Demšar's procedure).
        if not omnibus.significant:
            return Conclusion([f"{tested} no significant difference between methods."])
        # A post-hoc test on too few data sets finds no significant pair, which is reported.
        control = bonferroni_dunn(scores, subject, **options) if subject in names else None
        pairs = nemenyi(scores, **options)
    significant = sum(pair.significant for pair in pairs.comparisons)
    shown = significant or (control and any(pair.significant for pair in control.comparisons))
    which = (
        ""
        if shown
        else ", but the tests of pairs, which have less power, do not show which of them differ"
    )
    sentences = [f"{tested} the methods are not all equal{which}."]
    sentences += [] if control is None else [_describe_subject(control)]
    sentences.append(
        f"Nemenyi's test at alpha = {pairs.alpha:g}: critical difference {pairs.critical_difference:.2f} of average "
        f"ranks; {significant} of {plural(len(pairs.comparisons), 'pair')} differ significantly."
    )
    # Without a significant pair a diagram would show nothing.
    return Conclusion(sentences, pairs if significant else None)


def _describe_subject(result: PostHocResult) -> str:
    groups: dict[str, list[str]] = {"better than": [], "worse than": []}
    for pair in result.comparisons:
        if pair.significant:
            groups["better than" if pair.rank_difference < 0 else "worse than"].append(pair.second)
    groups["not significantly different from"] = list(result.not_different_from_control)
    parts = "; ".join(
        f"{outcome} {enumerate_names(methods)}" for outcome, methods in groups.items() if methods
    )
    limit = f"critical difference {result.critical_difference:.2f}"
    return f"Bonferroni-Dunn's test of {result.control} ({limit}): {parts}."


def format_p(p: float) -> str:
    """A p-value, rounded."""
    # Digits below the precision of floats mean nothing, and p is exactly 0 where all data sets
    # agree.
    if p < 1e-16:
        return "p < 1e-16"
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}"
