"""What all models of counts of votes share, by the simplest one."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ldlearn import EnhanceThenLearn, VoteShares
from ldlearn.exceptions import InputError

X = np.zeros((4, 1))
VOTES = np.array([[3, 0], [1, 1], [0, 1], [0, 0]])


def test_votes_per_row_is_the_mean_of_rows_with_votes():
    assert VoteShares().fit(X, VOTES).votes_per_row_ == 2.0
    assert VoteShares().fit(X, VOTES, sample_weight=[1, 3, 0, 1]).votes_per_row_ == 9 / 4


def test_score_is_the_mean_log_probability_of_a_vote():
    model = VoteShares().fit(X, VOTES)
    expected = (3 * np.log(4 / 6) + np.log(2 / 6)) / 4
    assert model.score(X[:2], [[2, 0], [1, 1]]) == pytest.approx(expected)


def test_score_is_finite_for_a_label_that_got_no_vote():
    model = VoteShares().fit(X[:2], [[2, 0], [1, 0]])
    # 3 votes cannot show that a degree is below 0.5 / (3 + 1).
    assert model.score(X[:1], [[0, 1]]) == pytest.approx(np.log(0.125))


@pytest.mark.parametrize("method", ["fit", "score"])
def test_no_votes_at_all_are_refused(method):
    model = VoteShares().fit(X, VOTES)
    with pytest.raises(InputError, match="no votes"):
        getattr(model, method)(X, np.zeros((4, 2)))


def test_weights_are_numbers_of_rows():
    weights = np.array([2.0, 1.0, 0.0, 3.0])
    rows = np.repeat(np.arange(4), weights.astype(int))
    weighted = VoteShares(smoothing=1).fit(X, VOTES, sample_weight=weights)
    repeated = VoteShares(smoothing=1).fit(X[rows], VOTES[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X))
    assert weighted.votes_per_row_ == repeated.votes_per_row_
    found = weighted.score(X, VOTES, sample_weight=weights)
    assert found == pytest.approx(repeated.score(X[rows], VOTES[rows]))


def test_a_predicted_zero_counts_as_what_all_votes_can_show():
    """Weighted ones, too."""
    weights = np.array([1.0, 3.0])
    model = VoteShares().fit(X[:2], [[2, 0], [1, 0]], sample_weight=weights)
    # 2 and 3 times 1 vote.
    assert model.score(X[:1], [[0, 1]]) == pytest.approx(np.log(0.5 / (5 + 1)))


def test_weighted_votes():
    model = VoteShares().fit(X[:2], [[0.5, 1.0], [0.25, 0.0]])
    np.testing.assert_allclose(model.label_distributions_, [[1 / 3, 2 / 3], [1, 0]])
    assert model.votes_per_row_ == pytest.approx(1.75 / 2)


@pytest.mark.parametrize("method", ["enhance", "score"])
def test_new_rows_are_checked(method):
    with pytest.raises(NotFittedError):
        getattr(VoteShares(), method)(X, VOTES)
    model = VoteShares().fit(X, VOTES)
    with pytest.raises(InputError, match=r"inconsistent numbers of samples: \[4, 3\]"):
        getattr(model, method)(X, VOTES[:3])
    with pytest.raises(InputError, match="VoteShares needs every label counted"):
        getattr(model, method)(X, VOTES * np.nan)


def test_two_steps_take_counts_only_if_the_first_does():
    """Otherwise they are an ordinary joint model, whose number of votes is estimated."""
    model = EnhanceThenLearn(enhancer=VoteShares(smoothing=1)).fit(X[:3], VOTES[:3])
    assert model.votes_per_row_ == 2.0
    predicted = model.predict(X[:1])[0]
    assert model.score(X[:1], [[1, 2]]) == pytest.approx(np.log(predicted) @ [1 / 3, 2 / 3])
    ordinary = EnhanceThenLearn().fit(X[:3], VOTES[:3] > 0)
    # Two thirds of the labels are positive: 1 - exp(-votes / 2).
    assert ordinary.votes_per_row_ == pytest.approx(2 * np.log(3))
    assert ordinary.score(X[:3], VOTES[:3] > 0) < 0
    with pytest.raises(InputError, match="only 0 and 1"):
        ordinary.fit(X[:3], VOTES[:3])
    with pytest.raises(InputError, match="0/1 labels"):
        ordinary.score(X[:3], VOTES[:3])


def test_votes_in_rows_of_weight_zero_are_none():
    model = EnhanceThenLearn(enhancer=VoteShares())
    with pytest.raises(InputError, match="no votes"):
        model.fit(X, VOTES, sample_weight=[0, 0, 0, 1])
