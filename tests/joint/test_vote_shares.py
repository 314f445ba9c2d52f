"""The baseline of counts of votes, and what all models of counts share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from ldlearn import VoteShares
from ldlearn.exceptions import InputError

X = np.zeros((4, 1))
VOTES = np.array([[3, 0], [1, 1], [0, 1], [0, 0]])


def test_raw_shares_and_the_share_of_all_votes_for_rows_without():
    model = VoteShares().fit(X, VOTES)
    np.testing.assert_allclose(
        model.label_distributions_, [[1, 0], [0.5, 0.5], [0, 1], [4 / 6, 2 / 6]]
    )
    np.testing.assert_allclose(model.predict(X[:1]), [[4 / 6, 2 / 6]])
    assert model.votes_per_row_ == 2.0


def test_smoothing_adds_votes_to_every_label():
    model = VoteShares(smoothing=1).fit(X, VOTES)
    expected = [[4 / 5, 1 / 5], [0.5, 0.5], [1 / 3, 2 / 3], [5 / 8, 3 / 8]]
    np.testing.assert_allclose(model.label_distributions_, expected)
    np.testing.assert_allclose(model.enhance(X[:1], [[0, 2]]), [[1 / 4, 3 / 4]])


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


def test_capabilities():
    assert get_tags(VoteShares()).counts
    assert get_tags(VoteShares()).keeps_zeros
    assert not get_tags(VoteShares(smoothing=0.5)).keeps_zeros
    model = VoteShares().fit(sparse.csr_array(X), VOTES)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X))[3], [4 / 6, 2 / 6])


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
