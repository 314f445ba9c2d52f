import math

import numpy as np
import pytest
from scipy.stats import chi2, f, friedmanchisquare

from ldlearn.evaluation import TooFewDatasetsWarning, friedman


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [4, 10**6])  # many ties, no ties
def test_matches_scipy(seed, levels):
    scores = np.random.default_rng(seed).integers(0, levels, (11, 5)).astype(float)
    result = friedman(scores, greater_is_better=seed % 2 == 0)
    expected = friedmanchisquare(*scores.T)
    assert result.chi2 == pytest.approx(expected.statistic)
    assert result.p_value == pytest.approx(expected.pvalue)


def test_textbook_formulas_without_ties():
    scores = np.random.default_rng(1).normal(size=(9, 4))
    n, k = scores.shape
    result = friedman(scores, greater_is_better=False)
    R = np.array(list(result.average_ranks.values()))
    statistic = 12 * n / (k * (k + 1)) * ((R**2).sum() - k * (k + 1) ** 2 / 4)
    assert result.chi2 == pytest.approx(statistic)
    assert result.f == pytest.approx((n - 1) * statistic / (n * (k - 1) - statistic))
    assert result.f_p_value == pytest.approx(f.sf(result.f, k - 1, (k - 1) * (n - 1)))
    assert result.kendall_w == pytest.approx(statistic / (n * (k - 1)))


@pytest.mark.parametrize(("n", "k"), [(5, 3), (7, 7), (30, 11)])
def test_perfect_agreement_has_p_zero(n, k):
    result = friedman(np.tile(np.arange(k) / 10, (n, 1)), greater_is_better=False)
    assert result.chi2 == pytest.approx(n * (k - 1))
    assert result.kendall_w == pytest.approx(1)
    assert (result.f, result.f_p_value) == (math.inf, 0.0)
    assert result.significant


def test_perfect_agreement_with_ties_has_p_zero():
    result = friedman(np.tile([0.1, 0.1, 0.2, 0.3, 0.3, 0.3], (7, 1)), greater_is_better=True)
    assert (result.chi2, result.f, result.f_p_value) == (35, math.inf, 0.0)


def test_all_tied_has_p_one():
    result = friedman(np.ones((6, 4)), greater_is_better=False)
    assert (result.chi2, result.p_value, result.f, result.f_p_value) == (0, 1, 0, 1)
    assert not result.significant
    assert set(result.average_ranks.values()) == {2.5}


def test_direction_mirrors_ranks_and_keeps_the_statistic():
    scores = np.random.default_rng(2).normal(size=(8, 4))
    down, up = (friedman(scores, greater_is_better=better) for better in (False, True))
    assert down.chi2 == pytest.approx(up.chi2)
    for method in "0123":
        assert down.average_ranks[method] + up.average_ranks[method] == pytest.approx(5)


def test_two_data_sets_are_too_few_for_three_methods():
    assert chi2.sf(4, 2) > 0.05
    with pytest.warns(TooFewDatasetsWarning, match="2 data sets are too few for 3 methods"):
        friedman([[0.1, 0.2, 0.3]] * 2, greater_is_better=False)
    friedman([[0.1, 0.2, 0.3]] * 4, greater_is_better=False)


def test_repr_of_the_result():
    result = friedman([[0.1, 0.2]] * 5, greater_is_better=False, methods=["DLDL", "GLLE"])
    assert repr(result) == str(result)
    assert "2 methods on 5 data sets differ" in repr(result)
    assert "DLDL 1.000, GLLE 2.000" in repr(result)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 5])
def test_invalid_alpha_raises(alpha):
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        friedman([[0.1, 0.2]] * 5, greater_is_better=False, alpha=alpha)
