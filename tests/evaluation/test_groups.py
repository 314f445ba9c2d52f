import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldlearn.evaluation import PairComparison, PostHocResult, nemenyi

NAMES = "abcdef"


def from_pairs(pairs):
    different = {frozenset(pair) for pair in pairs}
    return lambda first, second: frozenset((first, second)) in different


def maximal_runs(names, differ):
    """Groups of a test in which the pairs differ as told, with the names in the order of rank."""
    pairs = [
        PairComparison(a, b, 0.0, 0.0, 0.0, 0.0, differ(a, b))
        for a, b in itertools.combinations(names, 2)
    ]
    ranks = {name: float(place) for place, name in enumerate(names, 1)}
    return PostHocResult("test", ranks, 10, 0.05, tuple(pairs)).groups


DIFFERENCES = st.sets(st.sampled_from(list(itertools.combinations(NAMES, 2)))).map(from_pairs)


def test_groups_of_methods_that_do_not_differ():
    ranks = dict(zip(NAMES, [1.0, 1.5, 2.4, 4.0, 4.2, 6.0], strict=True))

    def differ(a, b):
        return abs(ranks[a] - ranks[b]) > 1.0

    assert maximal_runs(NAMES, differ) == (("a", "b"), ("b", "c"), ("d", "e"))


def test_no_difference_and_all_different():
    assert maximal_runs(NAMES, lambda a, b: True) == ()
    assert maximal_runs(NAMES, lambda a, b: False) == (tuple(NAMES),)


def test_groups_contain_only_adjacent_methods():
    assert maximal_runs("abc", from_pairs(["ab", "bc"])) == ()


@settings(deadline=None, max_examples=80)
@given(DIFFERENCES)
def test_groups_match_enumeration(differ):
    def alike(group):
        return not any(differ(a, b) for a, b in itertools.combinations(group, 2))

    def largest(groups):
        return {g for g in groups if not any(set(g) < set(h) for h in groups)}

    subsets = [g for size in range(2, 7) for g in itertools.combinations(NAMES, size) if alike(g)]
    adjacent_runs = [g for g in subsets if "".join(g) in NAMES]
    assert set(maximal_runs(NAMES, differ)) == largest(adjacent_runs)
    assert len(maximal_runs(NAMES, differ)) == len(largest(adjacent_runs))


@pytest.mark.parametrize("seed", range(4))
def test_nemenyi_groups_are_within_the_critical_difference(seed):
    scores = np.random.default_rng(seed).normal(size=(10, 6)) + np.arange(6) * 0.5
    result = nemenyi(scores, greater_is_better=False)
    ordered = result.methods_by_rank
    within = [
        ordered[i:j]
        for i in range(6)
        for j in range(i + 2, 7)
        if result.average_ranks[ordered[j - 1]] - result.average_ranks[ordered[i]]
        <= result.critical_difference
    ]
    assert set(result.groups) == {g for g in within if not any(set(g) < set(h) for h in within)}
