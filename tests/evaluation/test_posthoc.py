import numpy as np
import pytest
import scikit_posthocs
from scipy.stats import norm

from ldlearn.evaluation import (
    TooFewDatasetsWarning,
    adjust_p_values,
    bonferroni_dunn,
    critical_difference,
    nemenyi,
)

K = range(2, 11)
NEMENYI = {
    0.05: [1.9600, 2.3437, 2.5690, 2.7278, 2.8497, 2.9483, 3.0309, 3.1017, 3.1637],
    0.10: [1.6449, 2.0523, 2.2913, 2.4595, 2.5885, 2.6927, 2.7799, 2.8546, 2.9199],
}
DUNN = {
    0.05: [1.9600, 2.2414, 2.3940, 2.4977, 2.5758, 2.6383, 2.6901, 2.7344, 2.7729],
    0.10: [1.6449, 1.9600, 2.1280, 2.2414, 2.3263, 2.3940, 2.4500, 2.4977, 2.5392],
}


@pytest.mark.parametrize("alpha", [0.05, 0.10])
@pytest.mark.parametrize(("test", "table"), [("nemenyi", NEMENYI), ("bonferroni-dunn", DUNN)])
def test_critical_values_match_published_tables(test, table, alpha):
    """With 6 N = k (k + 1) the standard error is 1 and the critical difference is q itself."""
    for k, q in zip(K, table[alpha], strict=True):
        error = np.sqrt(k * (k + 1) / 6)  # one data set
        assert critical_difference(k, 1, alpha, test) / error == pytest.approx(q, abs=6e-5)


@pytest.mark.parametrize(
    ("n_datasets", "test", "printed"),
    [
        (12, "bonferroni-dunn", 2.3267),
        (12, "nemenyi", 2.6002),
        (6, "bonferroni-dunn", 3.2905),
        (6, "nemenyi", 3.6772),
    ],
)
def test_critical_differences_of_seven_methods(n_datasets, test, printed):
    assert round(critical_difference(7, n_datasets, test=test), 4) == printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 5), "at least 2 methods and 1 data set, got 1 and 5"),
        ((3, 0), "at least 2 methods and 1 data set, got 3 and 0"),
        ((3, 5, 1.5), "alpha must lie between 0 and 1"),
        ((3, 5, 0.05, "tukey"), "test must be one of nemenyi, bonferroni-dunn, got 'tukey'"),
    ],
)
def test_invalid_arguments_raise(arguments, message):
    with pytest.raises(ValueError, match=message):
        critical_difference(*arguments)


@pytest.fixture(scope="module", params=[0, 1])
def scores(request):
    rng = np.random.default_rng(request.param)
    return np.round(
        rng.normal(size=(15, 5)) + np.linspace(0, 1.5, 5), request.param
    )  # 0: with ties


def test_nemenyi_against_scikit_posthocs(scores):
    expected = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    result = nemenyi(scores, greater_is_better=False)
    assert len(result.comparisons) == 10
    for pair in result.comparisons:
        p = expected[int(pair.first), int(pair.second)]
        assert pair.adjusted_p_value == pytest.approx(p, abs=1e-6)
        assert pair.significant == (p < 0.05)
        assert pair.significant == (abs(pair.rank_difference) > result.critical_difference)


def test_control_tests_against_scikit_posthocs(scores):
    import pandas as pd

    frame = pd.DataFrame(scores, columns=list("abcde"))
    expected = scikit_posthocs.posthoc_demsar(frame, control="b", p_adjust="bonferroni")
    result = bonferroni_dunn(frame, "b", greater_is_better=False)
    assert [pair.second for pair in result.comparisons] == list("acde")
    for pair in result.comparisons:
        assert pair.first == result.control == "b"
        assert pair.adjusted_p_value == pytest.approx(expected.loc["b", pair.second], rel=1e-9)
        assert pair.significant == (pair.adjusted_p_value < 0.05)
        assert pair.p_value == pytest.approx(2 * norm.sf(abs(pair.statistic)))
    assert result.critical_difference is not None


def test_control_by_position_or_name(scores):
    by_number = bonferroni_dunn(scores, 2, greater_is_better=True, methods=list("vwxyz"))
    assert by_number == bonferroni_dunn(scores, "x", greater_is_better=True, methods=list("vwxyz"))
    for wrong in ("q", 5, -1):
        with pytest.raises(
            ValueError, match=r"There is no method .*; the columns are v, w, x, y, z"
        ):
            bonferroni_dunn(scores, wrong, greater_is_better=True, methods=list("vwxyz"))


def test_holm_rejects_at_least_as_many_hypotheses(scores):
    comparisons = bonferroni_dunn(scores, 0, greater_is_better=False).comparisons
    bonferroni = np.array([pair.adjusted_p_value for pair in comparisons])
    holm = adjust_p_values([pair.p_value for pair in comparisons])
    assert (holm <= bonferroni).all()


def test_adjusted_p_values_match_hand_computed_values():
    p = [0.01, 0.04, 0.03, 0.5]
    assert adjust_p_values(p) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_p_values([0.1, 1.1])


def test_too_few_data_sets_trigger_a_warning():
    scores = np.tile(np.arange(7.0), (2, 1))
    with pytest.warns(
        TooFewDatasetsWarning, match="at most 6 apart, and the critical difference is 6.369"
    ):
        assert not any(
            pair.significant for pair in nemenyi(scores, greater_is_better=False).comparisons
        )
    with pytest.warns(TooFewDatasetsWarning, match="1 apart"):
        bonferroni_dunn([[0.1, 0.2]] * 3, 0, greater_is_better=False)
    assert (
        nemenyi(np.tile(np.arange(7.0), (3, 1)), greater_is_better=False).comparisons[5].significant
    )


def test_difference_equal_to_the_critical_one_is_not_significant(monkeypatch):
    """As in the diagram, in which a bar of that length connects the two methods."""
    scores = [[0.1, 0.2, 0.3]] * 4 + [[0.2, 0.1, 0.3]] * 4  # average ranks 1.5, 1.5, 3
    for limit, found in ((1.5, 0), (1.499, 2)):
        monkeypatch.setattr(
            "ldlearn.evaluation.pairwise_tests.critical_difference", lambda *_, limit=limit: limit
        )
        for result in (
            nemenyi(scores, greater_is_better=False),
            bonferroni_dunn(scores, "2", greater_is_better=False),
        ):
            assert sum(pair.significant for pair in result.comparisons) == found


def test_repr_of_the_result(scores):
    result = nemenyi(scores, greater_is_better=False, methods=list("abcde"))
    assert repr(result).startswith(
        "Nemenyi, all pairs, 15 data sets, alpha = 0.05\n  critical difference 1.57"
    )
    assert result.comparison("a", "b") is result.comparison("b", "a")
    assert sorted(result.methods_by_rank) == list("abcde")
    assert result.average_ranks[result.methods_by_rank[0]] == min(result.average_ranks.values())
    assert result.not_different_from_control == ()
    control = bonferroni_dunn(scores, "a", greater_is_better=False, methods=list("abcde"))
    assert control.groups == ()
    assert "against a" in repr(control)
    with pytest.raises(ValueError, match="Bonferroni-Dunn did not compare 'b' with 'c'"):
        control.comparison("b", "c")
