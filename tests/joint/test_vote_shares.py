"""The baseline of counts of votes."""

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from ldlearn import VoteShares

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


def test_capabilities():
    assert get_tags(VoteShares()).counts
    assert get_tags(VoteShares()).keeps_zeros
    assert not get_tags(VoteShares(smoothing=0.5)).keeps_zeros
    model = VoteShares().fit(sparse.csr_array(X), VOTES)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X))[3], [4 / 6, 2 / 6])
