import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from ldlearn.evaluation import friedman, ranks
from research.paper.ranks import paper_ranks

TABLES = arrays(
    float,
    st.tuples(st.integers(2, 6), st.integers(2, 6)),
    elements=st.sampled_from([0.1, 0.2, 0.3, 0.4]),
)
law = settings(deadline=None, max_examples=60)


@law
@given(TABLES)
def test_average_ranks_match_scipy(scores):
    k = scores.shape[1]
    r = ranks(scores, greater_is_better=False)
    np.testing.assert_array_equal(r, rankdata(scores, axis=1))
    np.testing.assert_allclose(r.sum(axis=1), k * (k + 1) / 2)
    np.testing.assert_allclose(ranks(scores, greater_is_better=True), k + 1 - r)


@law
@given(TABLES, st.data())
def test_paper_rule_is_competition_ranking_of_mean_then_std(scores, data):
    std = data.draw(arrays(float, scores.shape, elements=st.sampled_from([0.01, 0.02])))
    expected = [
        [1 + sum(other < mine for other in row) for mine in row]
        for row in (
            [(-s, d) for s, d in zip(*pair, strict=True)] for pair in zip(scores, std, strict=True)
        )
    ]
    np.testing.assert_array_equal(paper_ranks(scores, std, greater_is_better=True), expected)


def test_paper_rule_without_std_gives_ties_the_smallest_rank():
    # One-error on SCUT in table S5
    scores = np.array([[0.2940, 0.2940, 0.2960, 0.2960, 0.3020, 0.2940, 0.2940]] * 2)
    assert paper_ranks(scores, np.zeros_like(scores), greater_is_better=False)[0].tolist() == [
        1,
        1,
        5,
        5,
        7,
        1,
        1,
    ]
    assert ranks(scores, greater_is_better=False)[0].tolist() == [2.5, 2.5, 5.5, 5.5, 7, 2.5, 2.5]


def test_scores_within_rounding_error_tie():
    scores = [[0.1 + 0.2, 0.3], [1e-9 * (0.1 + 0.2), 1e-9 * 0.3]]
    assert ranks(scores, greater_is_better=False).tolist() == [[1.5, 1.5]] * 2
    assert ranks([[1.0, 1.0 + 1e-9]] * 2, greater_is_better=False).tolist() == [[1, 2]] * 2
    assert ranks([[0.0, 0.0], [0.0, 1e-30]], greater_is_better=False).tolist() == [
        [1.5, 1.5],
        [1, 2],
    ]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_method_names_of_data_frames(library):
    frame = pytest.importorskip(library).DataFrame(
        {"ours": [0.9, 0.8] * 3, "theirs": [0.7, 0.8] * 3}
    )
    assert friedman(frame, greater_is_better=True).average_ranks == {"ours": 1.25, "theirs": 1.75}
    assert list(friedman(frame, greater_is_better=True, methods=["a", "b"]).average_ranks) == [
        "a",
        "b",
    ]
    assert list(friedman(frame.to_numpy(), greater_is_better=True).average_ranks) == ["0", "1"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2], r"scores must be 2-D .* got shape \(2,\)"),
        ([[0.1, 0.2]], "at least 2 data sets and 2 methods, got 1 and 2"),
        ([[0.1], [0.2]], "at least 2 data sets and 2 methods, got 2 and 1"),
        ([[0.1, 0.2], [np.nan, 0.1]], "score of method '0' on data set 1 is nan; leave out"),
    ],
)
def test_invalid_scores_raise(scores, message):
    with pytest.raises(ValueError, match=message):
        ranks(scores, greater_is_better=False)


@pytest.mark.parametrize("names", [["a"], ["a", "a"]])
def test_invalid_names_raise(names):
    with pytest.raises(ValueError, match="methods must be 2 different names"):
        friedman([[0.1, 0.2]] * 2, greater_is_better=False, methods=names)
