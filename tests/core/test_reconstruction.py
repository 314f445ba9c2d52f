from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls
from sklearn.manifold._locally_linear import barycenter_weights
from sklearn.neighbors import NearestNeighbors

from ldlearn.core.reconstruction import (
    affine_weights,
    local_grams,
    nearest_rows,
    nonnegative_quadratic,
    reconstruction_laplacian,
    reconstruction_weights,
    simplex_weights,
    weights_to_csr,
)


def features(n=60, m=8, seed=0):
    return np.random.default_rng(seed).normal(size=(n, m))


def simplex_graph(X, n_neighbors):
    """As `reconstruction_weights`, but no weight is negative."""
    indices = nearest_rows(X, n_neighbors)
    return weights_to_csr(simplex_weights(local_grams(X, indices)), indices)


KINDS = pytest.mark.parametrize("graph", [reconstruction_weights, simplex_graph])


def frank_wolfe_gap(C, w):
    """The Frank-Wolfe gap of w for the minimum of w'Cw on the simplex."""
    gradient = C @ w
    return w @ gradient - gradient.min()


def test_affine_weights_match_locally_linear_embedding():
    X = features()
    indices = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[1]
    expected = barycenter_weights(X, X, indices, reg=1e-3)
    W = reconstruction_weights(X, 5)
    np.testing.assert_allclose(
        np.take_along_axis(W.toarray(), indices, axis=1), expected, atol=1e-12
    )
    assert W.nnz == 60 * 5


def test_row_in_the_span_of_its_neighbours_is_reconstructed():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.9, 0.9]])
    W = reconstruction_weights(X, 3, reg=1e-12).toarray()
    np.testing.assert_allclose(W @ X, X, atol=1e-6)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    assert (W < 0).any()
    assert (np.diag(W) == 0).all()


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 15))
@settings(deadline=None, max_examples=40)
def test_simplex_weights_meet_the_kkt_conditions(seed, k, m):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(7, k, m)) * 10.0 ** rng.integers(-4, 5) + rng.normal()
    C = Z @ Z.transpose(0, 2, 1)
    W = simplex_weights(C)
    assert (W >= 0).all()
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    for gram, w in zip(C, W, strict=True):
        assert frank_wolfe_gap(gram, w) <= 1e-7 * np.trace(gram)


def test_simplex_weights_equal_penalised_least_squares():
    Z = np.random.default_rng(3).normal(size=(20, 6, 9)) + 0.7
    W = simplex_weights(Z @ Z.transpose(0, 2, 1))
    for differences, w in zip(Z, W, strict=True):
        heavy = 1e4
        v, _ = nnls(np.vstack([differences.T, heavy * np.ones(6)]), np.append(np.zeros(9), heavy))
        np.testing.assert_allclose(w, v / v.sum(), atol=1e-5)
    assert (W == 0).any()


def test_initial_support_does_not_change_the_weights():
    Z = np.random.default_rng(4).normal(size=(50, 10, 12)) + 0.5
    C = Z @ Z.transpose(0, 2, 1)
    W = simplex_weights(C)
    nothing = np.zeros(W.shape, dtype=bool)
    for guess in (W > 0, W == 0, nothing):
        np.testing.assert_allclose(simplex_weights(C, guess), W, atol=1e-10)
    assert not nothing.any()  # the initial support is not modified


def test_gram_matrices_do_not_depend_on_the_block_size(monkeypatch):
    X, D = features(), features(m=3, seed=1)
    indices = NearestNeighbors(n_neighbors=6).fit(X).kneighbors()[1]
    whole = local_grams(np.hstack([X, D]), indices)
    np.testing.assert_allclose(local_grams(X, indices) + local_grams(D, indices), whole, atol=1e-12)
    i, j, h = 3, 2, 4
    a, b = X[indices[i, j]] - X[i], X[indices[i, h]] - X[i]
    assert local_grams(X, indices)[i, j, h] == pytest.approx(a @ b)
    straight = reconstruction_weights(X, 6).toarray()
    monkeypatch.setattr("ldlearn.core.scaling._BATCH_ENTRIES", 100)
    np.testing.assert_array_equal(local_grams(np.hstack([X, D]), indices), whole)
    np.testing.assert_allclose(reconstruction_weights(X, 6).toarray(), straight, atol=1e-12)


@KINDS
def test_duplicates_and_constant_columns_give_finite_weights(graph):
    X = features(30, 3)
    X[:, 1] = 2.0
    X[:15] = X[0]
    W = graph(X, 6)
    assert np.isfinite(W.data).all()
    np.testing.assert_allclose(np.asarray(W.sum(axis=1)).ravel(), 1.0)
    np.testing.assert_allclose((W @ X)[:15], X[:15], atol=1e-6)


@KINDS
def test_sparse_and_single_precision_features_agree_with_dense(graph):
    X = features()
    X[np.abs(X) < 0.5] = 0.0
    expected = graph(X, 5).toarray()
    np.testing.assert_allclose(graph(sparse.csr_array(X), 5).toarray(), expected, atol=1e-10)
    narrow = graph(X.astype(np.float32), 5)
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow.toarray(), expected, atol=1e-3)


def test_laplacian_is_the_reconstruction_error():
    X, D = features(), features(m=3, seed=1)
    W = reconstruction_weights(X, 5)
    M = reconstruction_laplacian(W)
    assert np.trace(D.T @ (M @ D)) == pytest.approx(np.sum((D - W @ D) ** 2))
    np.testing.assert_allclose(M @ np.ones(60), 0.0, atol=1e-10)
    np.testing.assert_allclose(M.toarray(), M.toarray().T, atol=1e-12)
    assert np.linalg.eigvalsh(M.toarray()).min() > -1e-10


def test_affine_weights_of_coincident_neighbours_are_equal():
    np.testing.assert_allclose(affine_weights(np.zeros((1, 4, 4))), 0.25)
    np.testing.assert_allclose(simplex_weights(np.zeros((1, 4, 4))), 0.25)


@pytest.mark.parametrize("k", [0, 60])
def test_invalid_number_of_neighbours_raises(k):
    with pytest.raises(ValueError, match=f"n_neighbors={k} and n_samples=60"):
        reconstruction_weights(features(), k)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(deadline=None, max_examples=40)
def test_kkt_conditions(seed, k):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(9, k + 2, k))
    C, B = A.transpose(0, 2, 1) @ A + 1e-3 * np.eye(k), rng.normal(size=(9, k))
    V = nonnegative_quadratic(C, B)
    gradient = np.einsum("ijl,il->ij", C, V) - B
    assert (V >= 0).all()
    assert (gradient >= -1e-6).all()
    assert np.abs(V * gradient).max() <= 1e-6


def test_one_matrix_for_all_rows_gives_non_negative_least_squares():
    rng = np.random.default_rng(0)
    A, T = rng.normal(size=(12, 6)), rng.normal(size=(50, 12))
    V = nonnegative_quadratic(A.T @ A, T @ A)
    np.testing.assert_allclose(V, [nnls(A, t)[0] for t in T], atol=1e-8)
    assert (V == 0).any(axis=1).mean() > 0.5
    assert (V > 0).any()


def test_cycling_pivots_terminate():
    # A matrix with large off-diagonal entries, on which full exchanges alone are known to be
    # fragile.
    rng = np.random.default_rng(1)
    A = rng.normal(size=(400, 10, 10)) + 3.0
    C, B = A.transpose(0, 2, 1) @ A + 1e-6 * np.eye(10), rng.normal(size=(400, 10)) + 1.0
    V = nonnegative_quadratic(C, B)
    gradient = np.einsum("ijl,il->ij", C, V) - B
    assert (gradient >= -1e-5).all()
    assert np.abs(V * gradient).max() <= 1e-3


def test_initial_support_does_not_change_the_solution_and_is_not_modified():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(12, 6))
    B = rng.normal(size=(30, 6))
    V = nonnegative_quadratic(A.T @ A, B)
    empty = np.zeros(B.shape, dtype=bool)
    for guess in (V > 0, V == 0, empty):
        np.testing.assert_allclose(nonnegative_quadratic(A.T @ A, B, guess), V, atol=1e-10)
    assert not empty.any()
