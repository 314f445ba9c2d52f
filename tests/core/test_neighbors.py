import threading

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from ldlearn import DLDL, GLLE, L2, LEMLL
from ldlearn.core import knn_graph
from ldlearn.core.graph import SharedNeighbors, neighbor_index, subtract_offsets
from ldlearn.core.reconstruction import nearest_rows, reconstruction_weights

"""Neighbours do not depend on where the data lie."""


CONTAINERS = [np.asarray, sparse.csr_array]


def rows(m=30):
    """Rows on a grid of 2^-10, so that adding an offset is exact; many columns, so that the search
    uses products."""
    return np.rint(1024 * np.random.default_rng(0).normal(size=(60, m))) / 1024


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_graph_and_reconstruction_are_invariant_to_offset(container, offset):
    X = rows()
    far = container(X + offset)
    np.testing.assert_allclose(knn_graph(far, 5).toarray(), knn_graph(X, 5).toarray(), rtol=1e-9)
    near, there = (reconstruction_weights(each, 5).toarray() for each in (X, far))
    np.testing.assert_allclose(there, near, atol=1e-9)


def test_neighbours_are_invariant_to_float32_offset():
    far = (rows() + 1e4).astype(np.float32)
    index, _ = neighbor_index(far, 5)
    distances = cdist(far.astype(float), far.astype(float))
    np.fill_diagonal(distances, np.inf)
    np.testing.assert_array_equal(
        np.sort(index.kneighbors(return_distance=False), axis=1),
        np.sort(np.argsort(distances, axis=1)[:, :5], axis=1),
    )
    assert index._fit_X.dtype == np.float32


def test_offset_of_the_index_is_subtracted_from_new_rows():
    X = rows()
    index, offsets = neighbor_index(X + 1e8, 3)
    new = X[:5] + 1e-3
    found = index.kneighbors(subtract_offsets(new + 1e8, offsets), return_distance=False)
    np.testing.assert_array_equal(found[:, 0], np.arange(5))


"""Neighbours that are shared are those that would be found anew."""


X = np.random.default_rng(0).normal(size=(40, 4))
Y = np.random.default_rng(1).random((40, 3)) < 0.5
Y[:, 0] |= ~Y.any(axis=1)


def test_shared_search_gives_the_same_results():
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


def test_shared_search_distinguishes_rows_neighbours_and_dtypes():
    changed = X.copy()
    changed[7] += 1.0
    with SharedNeighbors(max_searches=5) as shared:
        for matrix, k in (
            (X, 5),
            (X, 6),
            (changed, 5),
            (X.astype(np.float32), 5),
            (sparse.csr_array(X), 5),
        ):
            found = nearest_rows(matrix, k)
            assert found.shape == (40, k)
        np.testing.assert_array_equal(nearest_rows(changed.copy(), 5), nearest_rows(changed, 5))
    assert shared.n_searches == 5


def test_cache_is_limited_and_keeps_the_latest_entry():
    with SharedNeighbors(max_searches=1) as shared:
        for k in (5, 4, 5, 5):
            nearest_rows(X, k)
    assert shared.n_searches == 3


def test_shared_arrays_are_read_only_and_sharing_ends_with_the_block():
    with SharedNeighbors() as shared:
        with pytest.raises(ValueError, match="read-only"):
            nearest_rows(X, 5)[0, 0] = 3
        other = threading.Thread(target=lambda: knn_graph(X, 7))
        other.start()
        other.join()
    knn_graph(X, 8)
    assert shared.n_searches == 1
    nearest_rows(X, 5)[0, 0] = 3
