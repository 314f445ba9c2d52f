"""Rows grouped by their number of positive labels."""

import numpy as np
import pytest

from ldlearn.solvers import newton_simplex as module
from ldlearn.solvers.newton_simplex import Support, has_few_positives


def random_labels(n=200, c=7, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, c)) < 0.4
    Y[np.arange(n), rng.integers(c, size=n)] = True
    return Y


@pytest.mark.parametrize("entries", [1, 50, 2**14])
def test_every_row_is_in_the_block_of_its_cardinality(entries, monkeypatch):
    monkeypatch.setattr(module, "_MAX_POSITIVES", entries)
    Y = random_labels()
    support = Support(Y)
    np.testing.assert_array_equal(np.sort(np.concatenate(support.blocks)), np.arange(len(Y)))
    for rows in support.blocks:
        counts = Y[rows].sum(axis=1)
        assert (counts == counts[0]).all()
        assert len(rows) * counts[0] <= max(entries, counts[0])
        np.testing.assert_array_equal(
            support.indices[support.entry_positions(rows)].T.ravel(), np.nonzero(Y[rows])[1]
        )
    np.testing.assert_array_equal(support.mask(), Y)


def test_positions_of_block_entries():
    Y = random_labels()
    A = np.random.default_rng(1).normal(size=Y.shape)
    support = Support(Y)
    for _ in range(2):  # cached on the second call
        for k, rows in enumerate(support.blocks):
            np.testing.assert_array_equal(
                A.ravel(order="F")[support.flat_positions[k]].T.ravel(), A[rows][Y[rows]]
            )


def test_sparse_storage_for_few_positives_of_many_labels():
    assert not has_few_positives(np.eye(10, dtype=bool))
    assert has_few_positives(np.eye(100, dtype=bool))
    assert not has_few_positives(np.ones((3, 100), dtype=bool))


def test_equal_degrees_match_dense_labels():
    Y = random_labels()
    np.testing.assert_allclose(
        Support(Y).equal_shares().toarray(), Y / Y.sum(axis=1, keepdims=True)
    )
