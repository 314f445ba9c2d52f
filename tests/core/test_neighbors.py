"""Neighbours do not depend on where the data lie."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from ldlearn.core import knn_graph
from ldlearn.core.neighbors import neighbor_index, subtract_offsets
from ldlearn.core.reconstruction import reconstruction_weights

CONTAINERS = [np.asarray, sparse.csr_array]


def rows(m=30):
    """On a grid of 2^-10, so that adding an offset rounds nothing; many columns, so that the search is by products."""
    return np.rint(1024 * np.random.default_rng(0).normal(size=(60, m))) / 1024


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_an_offset_changes_neither_graph_nor_reconstruction(container, offset):
    X = rows()
    far = container(X + offset)
    np.testing.assert_allclose(knn_graph(far, 5).toarray(), knn_graph(X, 5).toarray(), rtol=1e-9)
    near, there = (reconstruction_weights(each, 5).toarray() for each in (X, far))
    np.testing.assert_allclose(there, near, atol=1e-9)


def test_an_offset_in_float32_changes_no_neighbour():
    far = (rows() + 1e4).astype(np.float32)
    index, _ = neighbor_index(far, 5)
    distances = cdist(far.astype(float), far.astype(float))
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(
        np.sort(index.kneighbors(return_distance=False), axis=1), np.sort(np.argsort(distances, axis=1)[:, :5], axis=1)
    )
    assert index._fit_X.dtype == np.float32


def test_new_rows_are_moved_with_the_index():
    X = rows()
    index, offsets = neighbor_index(X + 1e8, 3)
    new = X[:5] + 1e-3
    found = index.kneighbors(subtract_offsets(new + 1e8, offsets), return_distance=False)
    np.testing.assert_array_equal(found[:, 0], np.arange(5))
