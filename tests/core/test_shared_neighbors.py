"""Neighbours that are shared are those that would be found anew."""

import threading

import numpy as np
import pytest
from scipy import sparse

from ldlearn import DLDL, GLLE, L2, LEMLL
from ldlearn.core import knn_graph
from ldlearn.core.reconstruction import nearest_rows
from ldlearn.core.shared_neighbors import SharedNeighbors

X = np.random.default_rng(0).normal(size=(40, 4))
Y = np.random.default_rng(1).random((40, 3)) < 0.5
Y[:, 0] |= ~Y.any(axis=1)


def test_methods_and_grid_points_share_one_search_and_nothing_changes():
    models = [
        DLDL(alpha=0.1, beta=1.0, gamma=1.0, n_neighbors=5),
        DLDL(alpha=1.0, beta=1.0, gamma=1.0, n_neighbors=5, sigma=2.0),
        GLLE(n_neighbors=5),
        LEMLL(n_neighbors=5),
        L2(n_neighbors=5),
    ]
    alone = [model.fit_enhance(X, Y) for model in models]
    with SharedNeighbors() as shared:
        together = [model.fit_enhance(X, Y) for model in models]
    assert shared.n_searches == 1
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_rows_other_numbers_and_other_kinds_of_matrix_are_told_apart():
    changed = X.copy()
    changed[7] += 1.0
    with SharedNeighbors() as shared:
        for matrix, k in ((X, 5), (X, 6), (changed, 5), (X.astype(np.float32), 5), (sparse.csr_array(X), 5)):
            found = nearest_rows(matrix, k)
            assert found.shape == (40, k)
        np.testing.assert_array_equal(nearest_rows(changed.copy(), 5), nearest_rows(changed, 5))
    assert shared.n_searches == 5


def test_memory_is_bounded_and_the_latest_is_kept():
    with SharedNeighbors(most_bytes=5 * 40 * 16 + 1) as shared:
        for k in (5, 4, 5, 5):
            nearest_rows(X, k)
    assert shared.n_searches == 3


def test_what_is_shared_cannot_be_written_to_and_outside_nothing_is_shared():
    with SharedNeighbors() as shared:
        with pytest.raises(ValueError, match="read-only"):
            nearest_rows(X, 5)[0, 0] = 3
        other = threading.Thread(target=lambda: knn_graph(X, 7))
        other.start()
        other.join()
    knn_graph(X, 8)
    assert shared.n_searches == 1
    nearest_rows(X, 5)[0, 0] = 3
