"""Low-rank steps compared with decompositions, dense systems and optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from ldlearn.solvers.low_rank import (
    shrinkage,
    singular_value_threshold,
    smooth_by_representation,
    thin_factors,
)


def threshold_by_svd(A, tau):
    U, s, V = np.linalg.svd(A, full_matrices=False)
    return (U * np.maximum(s - tau, 0.0)) @ V


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 9), st.floats(0.0, 6.0))
@settings(deadline=None, max_examples=60)
def test_threshold_matches_svd(seed, rows, columns, tau):
    A = np.random.default_rng(seed).normal(size=(rows, columns))
    np.testing.assert_allclose(
        singular_value_threshold(A, tau), threshold_by_svd(A, tau), atol=1e-7
    )


def test_threshold_limits():
    A = np.random.default_rng(0).normal(size=(6, 3))
    assert (singular_value_threshold(A, np.linalg.norm(A)) == 0).all()
    np.testing.assert_allclose(singular_value_threshold(A, 0.0), A, atol=1e-10)


def test_rank_deficient_input():
    rng = np.random.default_rng(1)
    A = np.outer(rng.normal(size=8), rng.normal(size=5))
    np.testing.assert_allclose(
        singular_value_threshold(A, 0.5), threshold_by_svd(A, 0.5), atol=1e-7
    )


def test_shrinkage_of_row_norms():
    norms = np.array([0.0, 0.5, 1.0, 4.0])
    np.testing.assert_allclose(norms * shrinkage(norms, 1.0), [0.0, 0.0, 0.0, 3.0])
    np.testing.assert_allclose(norms * shrinkage(norms, 0.0), norms)
    np.testing.assert_allclose(
        shrinkage(norms, np.array([1.0, 0.25, 1.0, 1.0])), [0.0, 0.5, 0.0, 0.75]
    )


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
def test_coordinates_keep_inner_products_without_null_space(shape):
    X = np.random.default_rng(2).normal(size=shape)
    X[:, -1] = X[:, 0] - 2.0 * X[:, 1]
    space = thin_factors(X)
    rank = np.linalg.matrix_rank(X)
    assert space.basis.shape == (shape[0], rank)
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(space.coordinates.T @ space.coordinates, X @ X.T, atol=1e-10)
    assert thin_factors(np.zeros(shape)).basis.shape == (shape[0], 0)


@pytest.mark.parametrize("weight", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("transposed", [False, True])
def test_smoothing_solves_the_normal_equations(weight, transposed):
    rng = np.random.default_rng(3)
    left, right, Y = (
        rng.normal(size=(12, 3)) / 3,
        rng.normal(size=(3, 12)) / 3,
        rng.normal(size=(12, 4)),
    )
    Z, dense = aslinearoperator(left) @ aslinearoperator(right), left @ right
    C = dense.T if transposed else dense
    R = np.eye(12) - C
    expected = np.linalg.solve(np.eye(12) + weight * R.T @ R, Y)
    np.testing.assert_allclose(
        smooth_by_representation(Y, Z.T if transposed else Z, weight), expected, atol=1e-7
    )
    np.testing.assert_allclose(smooth_by_representation(Y, C, weight), expected, atol=1e-7)
