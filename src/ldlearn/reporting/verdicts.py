"""What the numbers of a report say: effects, ranks with their ties, and one statement for each question of a test."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldlearn.evaluation import (
    FriedmanResult,
    Method,
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

_NAMED_DATASETS = 3  # that a sentence goes through one by one
_TIED = 5e-5  # scores that print the same are called equal, and so are average ranks
_FEWEST_TO_TEST = 3  # data sets: two cannot show which of several methods differ, whatever the scores


@dataclass(frozen=True)
class Verdict:
    """Tests on one table.

    Attributes
    ----------
    sentences : list of str
        What the tests found: one for each question, and only as far as the answer before allows the next.
    pairs : PostHocResult or None
        Nemenyi's test, if it tells some methods apart.
    """

    sentences: list[str]
    pairs: PostHocResult | None = None


# --- In short


def headline(results: Results, table: TaskTable) -> list[str]:
    """Effects first, then ranks, the runner-up, the subject if it is not first, and who stays below a baseline."""
    names, n = [method.name for method in table.ranked], len(table.datasets)
    if not names:
        return ["No method has a result on every data set, so none is ranked."]
    if len(names) == 1:
        return [f"{names[0]} is the only method with a result on every data set: there is nothing to rank."]
    if n == 1:
        return headline_of_dataset(results, table, table.datasets[0])
    best = _tied_first(names, table.average_ranks)
    where = plural(n, "data set") + (", too few for any test of ranks" if n < _FEWEST_TO_TEST else "")
    ranks = f"{_have(best)} the best average rank, {table.average_ranks[best[0]]:.2f} over {where}."
    next_best = _runner_up(results, table, best)
    return [*_effects(results, table), ranks, *next_best, *_subject(results.subject, table, best), *_baselines(table)]


def headline_of_dataset(results: Results, table: TaskTable, dataset: str) -> list[str]:
    """The same for one data set: the best mean, and its differences to the next and to the best baseline."""
    competing = [method.name for method in table.methods if not method.is_reference]
    means = {name: score.mean for name in competing if (score := table.score(name, dataset)).spread}
    if len(means) < 2:
        return [f"{plural(len(means), 'method')} with a result on {dataset}: there is nothing to compare."]
    names = sorted(means, key=lambda name: table.metric.sort_key(means[name]))
    best, baseline = _tied_first(names, means), best_baselines(table).get(dataset)
    said = [f"{_have(best)} the best mean on {dataset}, {means[best[0]]:.4f}."]
    if baseline is not None and baseline not in best:
        said.append(
            f"{best[0]} against the best baseline, {baseline}: {_against(results, table, best[0], baseline, dataset)}."
        )
    elif baseline is not None:
        said.append("No method does better than that baseline." if len(best) == 1 else "A baseline is among them.")
    following = [name for name in names if name not in (*best, baseline)]
    if following and len(best) == 1:
        said.append(f"Against the next, {following[0]}: {_against(results, table, best[0], following[0], dataset)}.")
    if results.subject in names and results.subject not in best:
        said.append(f"{results.subject} is not first, but number {names.index(results.subject) + 1} of {len(names)}.")
    return said


def _tied_first(names: Sequence[str], values: Mapping[str, float]) -> list[str]:
    """Of names in order, those with the value of the first."""
    return [name for name in names if abs(values[name] - values[names[0]]) < _TIED]


def _have(names: Sequence[str]) -> str:
    return f"{enumerate_names(names)} {'has' if len(names) == 1 else 'share'}"


def _effects(results: Results, table: TaskTable) -> list[str]:
    """Difference of the best method to the best baseline of each data set; of a tie, all of the tied."""
    best = _tied_first([method.name for method in table.ranked if not method.is_baseline], table.average_ranks)
    baselines = best_baselines(table)
    return [_compared(results, table, name, "the best baseline", baselines) for name in best] if baselines else []


def _runner_up(results: Results, table: TaskTable, best: Sequence[str]) -> list[str]:
    """Difference of the best method to the next one, unless that is a baseline."""
    following = next((method for method in table.ranked if method.name not in best), None)
    if len(best) > 1 or following is None or following.is_baseline:
        return []
    others = dict.fromkeys(table.datasets, following.name)
    return [_compared(results, table, best[0], f"the next, {following.name}", others)]


def _compared(results: Results, table: TaskTable, name: str, words: str, others: Mapping[str, str]) -> str:
    """A method against another, which may differ from data set to data set."""
    if len(others) <= _NAMED_DATASETS:
        parts = [
            f"{dataset}, {_against(results, table, name, other, dataset)}{'' if other in words else f' ({other})'}"
            for dataset, other in others.items()
        ]
        return f"{name} against {words}: {'; '.join(parts)}."
    found = [difference(results, table, name, other, dataset) for dataset, other in others.items()]
    better = [gap for gap in found if gap and gap.mean > 0]
    return (
        f"{name} is better than {words} on {len(better)} of {plural(len(found), 'data set')}, "
        f"on {sum(gap.is_clear for gap in better)} of them with a {CONFIDENCE:.0%} interval that leaves out zero."
    )


def _against(results: Results, table: TaskTable, name: str, other: str, dataset: str) -> str:
    a, b = table.score(name, dataset).mean, table.score(other, dataset).mean
    gap = difference(results, table, name, other, dataset)
    said = f"{a:.4f} against {b:.4f}"
    if gap is None:
        return said
    word = "better" if gap.mean > 0 else "worse" if gap.mean < 0 else "equal"
    size = f"{word} by {abs(gap.mean):.4f}" if gap.mean else word
    if math.isnan(gap.margin):
        return f"{said}, {size} in one repeat"
    if not gap.is_clear and gap.mean:
        return f"{said}, no clear difference ({size} ± {gap.margin:.4f})"
    return f"{said}, {size} ± {gap.margin:.4f}"


def _subject(subject: str | None, table: TaskTable, best: Sequence[str]) -> list[str]:
    ranks = table.average_ranks
    if subject is None or subject not in ranks or subject in best:
        return []
    rank = ranks[subject]
    ahead = sum(other < rank - _TIED for other in ranks.values())
    return [f"{subject} is not first: its average rank is {rank:.2f}, with {ahead} of {len(ranks)} methods before it."]


def _baselines(table: TaskTable) -> list[str]:
    if not table.baselines:
        return [_informed_baseline(table, method) for method in table.methods if method.is_baseline]
    baseline = table.baselines[0].name
    limit = table.average_ranks[baseline]
    # ">=": who only equals a baseline has not beaten it.
    below = [m.name for m in table.ranked if not m.is_baseline and table.average_ranks[m.name] >= limit]
    others = "every other method does better"
    if below:
        others = f"{enumerate_names(below)} {'does' if len(below) == 1 else 'do'} no better than that"
    return [f"The best baseline, {baseline}, has rank {limit:.2f}; {others}."]


def _informed_baseline(table: TaskTable, baseline: Method) -> str:
    """Say who beats a baseline that is not ranked because it knows the true distributions."""
    beaten_by = [m.name for m in table.ranked if all(table.beats(m.name, baseline.name, d) for d in table.datasets)]
    names = enumerate_names(beaten_by) if beaten_by else "no ranked method"
    return f"{baseline.name}, a baseline that knows the true distributions, is beaten on every data set by {names}."


# --- Tests


def compare_methods(table: TaskTable, subject: str | None) -> Verdict:
    """Ask whether the methods differ, then who differs from the subject, then which pairs do."""
    (scores, names), n = table.matrix(), len(table.datasets)
    if len(names) < 2 or n < 2:
        counted = f"{plural(len(names), 'ranked method')} on {plural(n, 'data set')}"
        return Verdict([f"{counted}: too little for a test over data sets."])
    options: dict[str, Any] = {"greater_is_better": table.metric.greater_is_better, "methods": names}
    with warnings.catch_warnings(record=True) as too_few:
        warnings.simplefilter("always", TooFewDatasetsWarning)
        omnibus = friedman(scores, **options)
    if too_few or n < _FEWEST_TO_TEST:
        said = (
            f"{plural(n, 'data set')} cannot show which of {len(names)} methods differ, whatever the scores: no test "
            "over data sets is reported. How far methods are apart on each of them can be said."
        )
        return Verdict([said])
    sentences = [_friedman_sentence(omnibus)]
    # Pairs are tested only if the test of all methods together finds a difference (Demšar's procedure).
    if not omnibus.significant:
        return Verdict(sentences)
    with warnings.catch_warnings():
        # Where no scores whatever could be significant, these tests tell nobody apart, and that is said.
        warnings.simplefilter("ignore", TooFewDatasetsWarning)
        if subject in names:
            sentences.append(_subject_sentence(bonferroni_dunn(scores, subject, **options)))
        pairs = nemenyi(scores, **options)
    # Friedman's test can find that methods differ where no pair is far enough apart; a diagram would show nothing.
    if not any(pair.significant for pair in pairs.comparisons):
        return Verdict([*sentences, "Which pairs of methods differ, Nemenyi's test does not tell."])
    return Verdict([*sentences, _nemenyi_sentence(pairs)], pairs)


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


def _subject_sentence(result: PostHocResult) -> str:
    better = [p.second for p in result.comparisons if p.significant and p.rank_difference < 0]
    worse = [p.second for p in result.comparisons if p.significant and p.rank_difference > 0]
    outcomes = {"better than": better, "worse than": worse, "not told apart from": result.not_different_from_control}
    parts = [f"{words} {enumerate_names(names)}" for words, names in outcomes.items() if names]
    return (
        f"Bonferroni-Dunn's test of {result.control} (critical difference {result.critical_difference:.2f}): "
        f"{'; '.join(parts)}."
    )


def p_text(p: float) -> str:
    """A p-value as a reader needs it."""
    # Below the precision of floats digits mean nothing, and p is exactly 0 where all data sets agree.
    return f"p = {p:.3f}" if p >= 0.001 else f"p = {p:.0e}" if p >= 1e-16 else "p < 1e-16"
