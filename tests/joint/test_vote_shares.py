"""The baseline of counts of votes, and what all models of counts share."""

import numpy as np
import pytest

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
