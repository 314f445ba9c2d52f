import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import StandardScaler

from ldlearn.core import knn_graph, laplacian
from ldlearn.core.graph import bandwidth, nearest_in_graph, neighbor_graph
from ldlearn.exceptions import InputError


def brute_force(X, k, sigma):
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    A = np.zeros_like(distances)
    for i, row in enumerate(distances):
        for j in np.argsort(row)[:k]:
            A[i, j] = np.exp(-(row[j] ** 2) / (2 * sigma**2))
    return np.maximum(A, A.T)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 30), st.integers(1, 5), st.integers(1, 10), st.integers(0, 1000))
def test_graph_and_laplacian(n, m, k, seed):
    k = min(k, n - 1)
    rng = np.random.default_rng(seed)
    X, D = rng.normal(size=(n, m)), rng.random((n, 3))
    A = knn_graph(X, k, sigma=1.5)
    assert sparse.issparse(A)
    np.testing.assert_allclose(A.toarray(), brute_force(X, k, 1.5), atol=1e-6)
    G = laplacian(A).toarray()
    np.testing.assert_allclose(G, G.T, atol=1e-12)
    np.testing.assert_allclose(G.sum(axis=1), 0, atol=1e-12)
    assert np.linalg.eigvalsh(G)[0] > -1e-10
    pairs = np.square(D[:, None] - D[None]).sum(axis=2)
    np.testing.assert_allclose(
        np.trace(D.T @ G @ D), 0.5 * np.sum(A.toarray() * pairs), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(("sigma", "statistic"), [("median", np.median), ("mean", np.mean)])
def test_sigma_is_a_statistic_of_the_distances(sigma, statistic):
    X = np.random.default_rng(0).normal(size=(40, 3))
    nearest = np.sort(cdist(X, X), axis=1)[:, 1:6]
    np.testing.assert_allclose(
        knn_graph(X, 5, sigma).toarray(), brute_force(X, 5, statistic(nearest)), atol=1e-6
    )


def test_duplicates_have_weight_one_and_no_self_edges():
    A = knn_graph(np.zeros((4, 2)), 2, "median").toarray()
    assert (np.diag(A) == 0).all()
    assert set(np.unique(A)) <= {0.0, 1.0}
    assert (A.sum(axis=1) >= 2).all()


def test_sparse_features_give_the_same_graph():
    X = np.random.default_rng(1).normal(size=(30, 6)) * (
        np.random.default_rng(2).random((30, 6)) < 0.9
    )
    np.testing.assert_allclose(
        knn_graph(X, 4, 1.0).toarray(), knn_graph(sparse.csr_array(X), 4, 1.0).toarray(), atol=1e-6
    )


@pytest.mark.parametrize("sigma", [0.0, -1.0, "wide"])
def test_invalid_sigma_raises(sigma):
    with pytest.raises(ValueError, match="sigma must be"):
        knn_graph(np.eye(5), 2, sigma)


def test_too_many_neighbours_raise_with_both_numbers():
    with pytest.raises(ValueError, match="n_neighbors=5 and n_samples=5"):
        knn_graph(np.eye(5), 5)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_width_scales_with_features_with_many_duplicates(unit):
    X = np.repeat(
        np.random.default_rng(0).normal(size=(6, 2)), 4, axis=0
    )  # three of four neighbours at distance 0
    nearest = np.sort(cdist(X, X), axis=1)[:, 1:5]
    assert np.median(nearest) == 0
    width = np.median(nearest[nearest > 0])
    np.testing.assert_allclose(bandwidth(unit * nearest, "median"), unit * width, rtol=1e-12)
    np.testing.assert_allclose(
        knn_graph(unit * X, 4).toarray(), knn_graph(X, 4).toarray(), rtol=1e-9
    )
    assert ((knn_graph(X, 4).toarray() > 0) & (knn_graph(X, 4).toarray() < 1)).any()


def graph_of(X, k=5):
    return KNeighborsTransformer(n_neighbors=k, mode="distance").fit_transform(X)


def test_precomputed_neighbours_give_the_exact_graph():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[7] = X[3]  # a duplicate: a stored distance of zero
    exact = neighbor_graph(X, 5, "median")
    for neighbors in (
        KNeighborsTransformer(n_neighbors=5, mode="distance"),
        graph_of(X),
        graph_of(X, 9),
    ):
        given = neighbor_graph(X, 5, "median", neighbors)
        np.testing.assert_allclose(given.A.toarray(), exact.A.toarray(), atol=1e-7)
        assert given.sigma == pytest.approx(exact.sigma, rel=1e-7)
        new = np.random.default_rng(1).normal(size=(8, 4))
        distances, indices = given.index.kneighbors(new)
        expected = exact.index.kneighbors(new)
        np.testing.assert_allclose(distances[:, :5], expected[0], rtol=1e-6)
        np.testing.assert_array_equal(np.sort(indices[:, :5]), np.sort(expected[1]))


@pytest.mark.parametrize("kind", ["csc", "coo", "lil", "dok", "dia"])
def test_graph_in_any_sparse_format(kind):
    X = np.random.default_rng(0).normal(size=(20, 4))
    graph = graph_of(X)
    given = neighbor_graph(X, 5, "median", graph.asformat(kind)).A
    np.testing.assert_array_equal(
        given.toarray(), neighbor_graph(X, 5, "median", graph).A.toarray()
    )


@pytest.mark.parametrize("itself", [False, True])
def test_nearest_columns_with_equal_and_unequal_row_lengths(itself):
    rng = np.random.default_rng(0)
    far = rng.permutation(144).reshape(12, 12) + 1.0
    even, uneven = (
        np.where(np.argsort(np.argsort(rng.random((12, 12)))) < 6, far, 0.0),
        far * (rng.random((12, 12)) < 0.5),
    )
    for graph in (even, uneven):
        distances, indices = nearest_in_graph(sparse.csr_array(graph), 4, exclude_self=not itself)
        stored = np.where((graph > 0) & (itself | ~np.eye(12, dtype=bool)), graph, np.inf)
        np.testing.assert_array_equal(distances, np.sort(stored, axis=1)[:, :4])
        there = np.isfinite(distances)
        np.testing.assert_array_equal(indices[there], np.argsort(stored, axis=1)[:, :4][there])


def test_rows_with_few_neighbours_have_few_edges():
    X = np.random.default_rng(0).normal(size=(6, 2))
    graph = sparse.csr_array(np.diag(np.full(5, 2.0), 1))  # each row is connected to the next one
    A = neighbor_graph(X, 3, 1.0, graph).A
    np.testing.assert_allclose(A.toarray(), np.exp(-2.0) * (np.eye(6, k=1) + np.eye(6, k=-1)))


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        (sparse.csr_array((5, 5)), "shape"),
        (sparse.csr_array((6, 6)), "no entry"),
        (sparse.csr_array(-np.eye(6)), "finite and not negative"),
        (sparse.csr_array(np.eye(6)), "joins no row with another"),
        (StandardScaler(), "sparse graph of distances"),
        (KNeighborsTransformer, "can clone, such as KNeighborsTransformer"),
        (KNeighborsTransformer(n_neighbors=50), "cannot work on these rows: Expected n_neighbors"),
    ],
)
def test_invalid_graphs_raise(neighbors, message):
    with pytest.raises(InputError, match=message):
        neighbor_graph(np.random.default_rng(0).normal(size=(6, 2)), 2, 1.0, neighbors)
