"""The Gaussian kernel and its width against scipy's distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist

from ldlearn.core import resources, scaling
from ldlearn.core.kernels import mean_distance, rbf_blocks, rbf_kernel


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(2, 40),
    m=st.integers(1, 6),
    offset=st.sampled_from([0.0, 1e4]),
    seed=st.integers(0, 10_000),
)
def test_kernel_matches_scipy_for_any_offset(n, m, offset, seed):
    X = np.random.default_rng(seed).normal(size=(n, m)) + offset
    width = mean_distance(X)
    assert width == pytest.approx(pdist(X).mean(), rel=1e-9)
    np.testing.assert_allclose(
        rbf_kernel(X, width=width), np.exp(-cdist(X, X, "sqeuclidean") / (2 * width**2))
    )
    Z = X[: n // 2] + 0.5
    np.testing.assert_allclose(
        rbf_kernel(Z, X, width=2.0), np.exp(-cdist(Z, X, "sqeuclidean") / 8), atol=1e-9
    )


def test_blocks_equal_the_full_kernel(monkeypatch):
    X = np.random.default_rng(0).normal(size=(23, 3))
    whole, width = rbf_kernel(X, width=1.3), mean_distance(X)
    monkeypatch.setattr(scaling, "_BATCH_ENTRIES", 23 * 4)
    pieces = list(rbf_blocks(X, width=1.3))
    assert [rows.stop - rows.start for rows, _ in pieces] == [4, 4, 4, 4, 4, 3]
    np.testing.assert_allclose(np.vstack([block for _, block in pieces]), whole, rtol=1e-12)
    assert mean_distance(X) == pytest.approx(width, rel=1e-12)


def test_sample_weight_two_equals_a_duplicate_row(monkeypatch):
    monkeypatch.setattr(scaling, "_BATCH_ENTRIES", 12 * 5)
    X, w = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 4
    assert mean_distance(X, w * 1.0) == pytest.approx(mean_distance(np.repeat(X, w, axis=0)))
    # Weights with a sum below 1 still define a mean, that of different rows.
    pairs = np.triu(np.outer(w, w), 1)
    between = (pairs * cdist(X, X)).sum() / pairs.sum()
    assert mean_distance(X, w * 1e-3) == pytest.approx(between)


def test_identical_rows_and_single_rows():
    same = np.full((7, 3), 0.1)
    assert mean_distance(same) == 0.0
    assert mean_distance(same[:1]) == 0.0
    np.testing.assert_array_equal(rbf_kernel(same, width=0.0), np.ones((7, 7)))
    np.testing.assert_array_equal(rbf_kernel(np.array([[0.0], [1.0]]), width=0.0), np.eye(2))


def test_diagonal_is_one_and_the_kernel_positive_definite():
    X = np.random.default_rng(1).normal(size=(30, 4))
    K = rbf_kernel(X, width=mean_distance(X))
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > 0


def test_too_large_kernel_raises_before_allocation(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="20 x 20 kernel needs"):
        rbf_kernel(np.zeros((20, 1)), width=1.0)
