import itertools

import numpy as np
import pytest
import scikit_posthocs
from scipy.stats import wilcoxon

from ldlearn.evaluation import TooFewDatasetsWarning, wilcoxon_holm
from ldlearn.evaluation.pairwise_tests import _paired_differences, _signed_rank_test

NORMAL = (
    "asymptotic" if "asymptotic" in wilcoxon.__doc__ else "approx"
)  # its name before scipy 1.13


@pytest.mark.parametrize("n", [5, 12, 50])
def test_exact_p_value_matches_scipy_without_ties(n):
    a, b = np.random.default_rng(n).normal(size=(2, n))
    assert _signed_rank_test(a, b) == pytest.approx(wilcoxon(a, b, method="exact"), rel=1e-9)


def test_normal_approximation_matches_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 300)).astype(float)  # ties and zeros
    statistic, p_value = _signed_rank_test(a, b)
    options = {"correction": False, "method": NORMAL}
    assert statistic == pytest.approx(wilcoxon(a, b, zero_method="zsplit", **options).statistic)
    # scipy's variance under "zsplit" includes the ranks of zeros; conditional on the zeros it is
    # that of "pratt".
    assert p_value == pytest.approx(wilcoxon(a, b, zero_method="pratt", **options).pvalue, rel=1e-9)


def test_exact_and_approximate_p_values_agree():
    a = np.random.default_rng(3).normal(0.1, 1, 200)
    approximate = wilcoxon(a, method=NORMAL).pvalue
    assert _signed_rank_test(a, np.zeros(200))[1] == pytest.approx(approximate, rel=5e-3)


def rank_sum_difference(a, b):
    """The statistic by definition: rank sum of |a - b| of wins minus that of losses."""
    d = [x - y for x, y in zip(a, b, strict=True)]
    sizes = sorted(abs(x) for x in d)
    rank = {
        size: np.mean([i + 1 for i, other in enumerate(sizes) if other == size]) for size in sizes
    }
    return sum(rank[abs(x)] for x in d if x > 0) - sum(rank[abs(x)] for x in d if x < 0)


@pytest.mark.parametrize("seed", range(8))
def test_exact_p_value_matches_all_permutations(seed):
    """Including ties and zeros; the statistic is computed for each of the 2^8 swapped tables."""
    a, b = np.random.default_rng(seed).integers(0, 4, size=(2, 8)).astype(float)
    observed = abs(rank_sum_difference(a, b))
    outcomes = []
    for swap in itertools.product([False, True], repeat=8):
        first, second = np.where(swap, b, a), np.where(swap, a, b)
        outcomes.append(abs(rank_sum_difference(first, second)) >= observed - 1e-9)
    assert _signed_rank_test(a, b)[1] == pytest.approx(np.mean(outcomes), rel=1e-12)


def test_zero_differences_have_no_sign():
    """Five wins and a draw: of the 64 swaps only those of all five give as much, 4 of them with the
    draw's."""
    assert _signed_rank_test(np.arange(6.0), np.zeros(6))[1] == 4 / 64


def test_zeros_match_hand_computed_values():
    a = np.array([1.0, 2.0, 5.0, 4.0])
    b = np.array([1.0, 2.0, 3.0, 5.0])  # differences 0, 0, 2, -1
    assert _signed_rank_test(a, b)[0] == 3 + 1.5
    assert _signed_rank_test(a, a)[1] == 1.0


def test_differences_within_rounding_error_tie():
    assert 0.3 - 0.2 != 0.2 - 0.1
    d = _paired_differences(np.array([0.3, 0.2, 0.1 + 0.2]), np.array([0.2, 0.1, 0.3]))
    assert d[0] == d[1]
    assert d[2] == 0


def test_all_pairs_against_scikit_posthocs():
    scores = np.random.default_rng(5).normal(size=(14, 4)) + np.arange(4) * 0.7
    expected = scikit_posthocs.posthoc_wilcoxon(scores.T.tolist(), p_adjust="holm").to_numpy()
    raw = scikit_posthocs.posthoc_wilcoxon(scores.T.tolist()).to_numpy()
    result = wilcoxon_holm(scores, greater_is_better=False)
    assert len(result.comparisons) == 6
    for pair in result.comparisons:
        i, j = int(pair.first), int(pair.second)
        assert pair.p_value == pytest.approx(raw[i, j], rel=1e-9)
        assert pair.adjusted_p_value == pytest.approx(expected[i, j], rel=1e-9)
        assert pair.significant == (expected[i, j] <= 0.05)
    assert any(pair.significant for pair in result.comparisons)


def test_control_counts_fewer_comparisons():
    scores = np.random.default_rng(5).normal(size=(14, 4)) + np.arange(4) * 0.7
    result = wilcoxon_holm(scores, 3, greater_is_better=True, methods=list("abcd"))
    assert [(pair.first, pair.second) for pair in result.comparisons] == [
        ("d", "a"),
        ("d", "b"),
        ("d", "c"),
    ]
    assert result.control == "d"
    smallest = min(result.comparisons, key=lambda pair: pair.p_value)
    assert smallest.adjusted_p_value == pytest.approx(3 * smallest.p_value)
    assert set(result.not_different_from_control) == {
        pair.second for pair in result.comparisons if pair.adjusted_p_value > 0.05
    }


def test_six_data_sets_can_never_be_significant_over_six_comparisons():
    """The smallest two-sided p is 1/32, and six times that is above 0.05: the paper's own case."""
    scores = np.tile(np.arange(7.0), (6, 1)) * (1 + np.arange(6)[:, np.newaxis] / 10)
    with pytest.warns(
        TooFewDatasetsWarning, match=r"6 data sets are too few for 6 comparisons.*0\.188"
    ):
        result = wilcoxon_holm(scores, 0, greater_is_better=False)
    assert result.comparisons[0].p_value == pytest.approx(1 / 32)
    assert not any(pair.significant for pair in result.comparisons)


def test_smallest_sufficient_number_of_data_sets_triggers_no_warning():
    scores = np.outer(1 + np.arange(6) / 10, [1.0, 2.0])
    result = wilcoxon_holm(scores, greater_is_better=False)  # 2^-5 < 0.05
    assert result.comparisons[0].significant
    with pytest.warns(TooFewDatasetsWarning):
        wilcoxon_holm(scores[:5], greater_is_better=False)  # 2^-4 > 0.05
