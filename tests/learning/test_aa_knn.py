"""AA-kNN compared with brute force and a stable sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ldlearn.learning import AAKNN


def brute_force(X, D, queries, k, metric):
    P = []
    for q in queries:
        if metric == "euclidean":
            distances = np.sqrt(((X - q) ** 2).sum(axis=1))
        elif metric == "manhattan":
            distances = np.abs(X - q).sum(axis=1)
        else:
            cosines = X @ q / (np.linalg.norm(X, axis=1) * np.linalg.norm(q))
            distances = np.arccos(np.clip(np.round(cosines, 12), -1.0, 1.0))
        P.append(D[np.argsort(np.round(distances, 9), kind="stable")[:k]].mean(axis=0))
    return np.array(P)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "angle"])
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 20), grid=st.booleans())
def test_agrees_with_brute_force_ties_included(metric, seed, k, grid):
    rng = np.random.default_rng(seed)

    def draw(rows):
        return (
            rng.integers(1, 4, size=(rows, 3)).astype(float) if grid else rng.normal(size=(rows, 3))
        )

    X, queries, D = draw(20), draw(9), rng.dirichlet(np.ones(4), size=20)
    expected = brute_force(X, D, queries, k, metric)
    np.testing.assert_allclose(
        AAKNN(n_neighbors=k, metric=metric).fit(X, D).predict(queries), expected, atol=1e-12
    )
    thin = AAKNN(n_neighbors=k, metric=metric).fit(sparse.csr_array(X), D)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(queries)), expected, atol=1e-12)


def test_first_rows_are_used_among_duplicates():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 40)), 5, axis=0)
    P = AAKNN(n_neighbors=2).fit(X, np.eye(15)).predict(X[[0, 5, 10]])
    assert [np.flatnonzero(row).tolist() for row in P] == [[0, 1], [5, 6], [10, 11]]


def test_all_rows_give_the_mean():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(7, 2)), rng.dirichlet(np.ones(3), size=7)
    np.testing.assert_allclose(
        AAKNN(n_neighbors=7).fit(X, D).predict(X[:2]), np.tile(D.mean(axis=0), (2, 1))
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_neighbours_are_invariant_to_offset(metric):
    rng = np.random.default_rng(0)
    X, D = rng.integers(0, 9, size=(60, 20)).astype(float), rng.dirichlet(np.ones(3), size=60)
    queries = rng.integers(0, 9, size=(15, 20)) + 0.5
    near = AAKNN(n_neighbors=3, metric=metric).fit(X, D).predict(queries)
    far = AAKNN(n_neighbors=3, metric=metric).fit(X + 1e9, D).predict(queries + 1e9)
    np.testing.assert_allclose(near, far, atol=1e-12)


def test_more_neighbours_than_rows_raise():
    with pytest.raises(ValueError, match=r"n_neighbors=10 training rows but got n_samples=3"):
        AAKNN().fit(np.zeros((3, 1)), np.ones((3, 1)))
