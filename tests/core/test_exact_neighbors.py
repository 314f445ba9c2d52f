"""The quick search finds what a comparison of all rows in double precision finds."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from ldlearn.core import exact_neighbors as module
from ldlearn.core import knn_graph, resources
from ldlearn.core.exact_neighbors import exact_neighbors
from ldlearn.core.neighbors import neighbor_index, own_neighbors, subtract_offsets


def all_compared(X, k):
    distances = cdist(np.asarray(X, dtype=float), np.asarray(X, dtype=float))
    np.fill_diagonal(distances, np.inf)
    indices = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, indices, axis=1), indices


@pytest.fixture
def small_blocks(monkeypatch):
    """Many blocks of few rows, so that bounds are tightened and every shift is taken."""
    monkeypatch.setattr(module, "_BLOCK_ROWS", 16)
    monkeypatch.setattr(module, "_STRIP_ROWS", 5)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 150),
    m=st.integers(1, 40),
    k=st.integers(1, 6),
    block=st.sampled_from([8, 20, 1024]),
    scale=st.sampled_from([1e-25, 1.0, 1e20]),
)
def test_it_is_the_exact_search(seed, n, m, k, block, scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * scale + rng.choice([0.0, 10.0, 1e6]) * scale
    k = min(k, n - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_ROWS", block)
        patch.setattr(module, "_STRIP_ROWS", 1 + block // 3)
        distances, indices = exact_neighbors(X, k)
    expected = all_compared(X, k)
    np.testing.assert_allclose(distances, expected[0], rtol=1e-12)
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_that_single_precision_cannot_see_decide(small_blocks, dtype):
    """Rows in pairs and triples that differ by less than the rounding of |x|^2 in float32, one far away."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 20))
    X = np.repeat(centres, 3, axis=0) + 1e-5 * rng.normal(size=(120, 20))
    X[7] = 1e5
    X = X.astype(dtype)
    distances, indices = exact_neighbors(X, 2)
    expected = all_compared(X, 2)
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-12)


def test_of_equally_near_rows_the_first_are_taken(small_blocks):
    X = np.repeat(np.random.default_rng(0).integers(0, 3, size=(30, 20)), 2, axis=0).astype(float)
    np.testing.assert_array_equal(exact_neighbors(X, 3)[1], all_compared(X, 3)[1])


def test_rows_that_are_all_alike_are_left_to_another_search(small_blocks):
    """Every pair would be a candidate; the graph is there all the same."""
    X = np.zeros((900, 20))
    X[0, 0] = 1.0
    assert exact_neighbors(X, 2) is None
    assert knn_graph(X, 2).nnz > 0


def far_clusters(rng):
    return rng.choice([0.0, 100.0], size=(300, 1)) + 1e-2 * rng.normal(size=(300, 20))


def mostly_equal(rng):
    return np.where(rng.random((300, 1)) < 0.6, 1.0, rng.normal(size=(300, 20)))


CROWDS = {
    "constant": lambda rng: np.full((300, 20), 3.0),
    "mostly equal": mostly_equal,
    "far clusters": far_clusters,
    "rare features": lambda rng: (rng.random((300, 20)) < 0.01).astype(float),
    "too short to be squared": lambda rng: 1e-170 * rng.normal(size=(300, 20)),
}


@pytest.mark.parametrize("block", [40, 1536])
@pytest.mark.parametrize("crowd", CROWDS)
def test_crowds_are_left_to_another_search(crowd, block, monkeypatch):
    """Already the first blocks that meet may have too many candidates, so that none are kept."""
    monkeypatch.setattr(module, "_BLOCK_ROWS", block)
    X = CROWDS[crowd](np.random.default_rng(0))
    assert exact_neighbors(X, 5) is None
    index, offsets = neighbor_index(X, 5)
    distances, _ = own_neighbors(index, subtract_offsets(X, offsets))
    np.testing.assert_allclose(distances, all_compared(X, 5)[0], rtol=1e-5, atol=1e-7)


def test_threads_change_nothing(small_blocks, monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 20))
    alone = exact_neighbors(X, 4)
    monkeypatch.setattr(resources, "thread_count", lambda: 3)
    for one, other in zip(alone, exact_neighbors(X, 4), strict=True):
        np.testing.assert_array_equal(one, other)


def test_sorted_rows_are_no_worse(small_blocks):
    X = np.sort(np.random.default_rng(0).normal(size=(300, 1)), axis=0) * np.ones(20)
    np.testing.assert_array_equal(exact_neighbors(X, 4)[1], all_compared(X, 4)[1])


def peak_memory(X):
    tracemalloc.start()
    try:
        exact_neighbors(X, 5)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_row_far_from_all_others_does_not_widen_what_they_need(monkeypatch):
    """In single precision all rows are as near to it; no other row has so many candidates."""
    monkeypatch.setattr(module, "_BLOCK_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(1000, 20))
    usual = peak_memory(X)
    X[5] = 1e6
    assert peak_memory(X) < 2.0 * usual
    expected = all_compared(X, 5)
    distances, indices = exact_neighbors(X, 5)
    np.testing.assert_array_equal(indices, expected[1])
    np.testing.assert_allclose(distances, expected[0], rtol=1e-12)


def test_too_many_neighbours_or_features_are_left_to_another_search():
    X = np.random.default_rng(0).normal(size=(30, 20))
    assert exact_neighbors(X, 2, max_features=19) is None
    assert exact_neighbors(X, 2, max_neighbors=1) is None


@pytest.mark.parametrize("m", [1, 30, 500])
def test_closeness_is_between_its_bounds(m):
    """Never below the true value; a bound from some of the others never above what a neighbour has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, m)) * np.exp(2 * rng.normal(size=(80, 1)))
    closeness = module._Closeness(X)
    everything = slice(0, 80)
    C = closeness.between(everything, everything).astype(float)
    unit = np.linalg.norm(X - np.median(X, axis=0), axis=1).max()
    true = -0.5 * cdist(X[closeness.order], X[closeness.order]) ** 2 / unit**2
    error = 2 * closeness.error * np.add.outer(closeness.halves, closeness.halves)
    assert (true <= C).all()
    assert (true + 3 * error >= C).all()
    bounds = closeness.bounds(everything, np.partition(C, 70, axis=1)[:, 70].astype(np.float32))
    assert (bounds <= np.partition(true, 70, axis=1)[:, 70]).all()
