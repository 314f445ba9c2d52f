from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ldlearn.core import scaling as module
from ldlearn.core.scaling import column_moments, feature_scaling, removable_offsets, without_offsets

"""Standardised coordinates must not change what a linear model says."""


@pytest.mark.parametrize("center", [True, False])
def test_coefficients_are_equivalent_in_both_units(center):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 3.0, 1.0, -50.0]
    W, b = rng.normal(size=(4, 2)), rng.normal(size=2)
    scaling = feature_scaling(X, center)
    coef, intercept = scaling.undo(W, b)
    np.testing.assert_allclose(X @ coef + intercept, scaling.apply(X) @ W + b)
    np.testing.assert_allclose((scaling.apply(X) ** 2).mean(axis=0), 1.0)
    if not center:
        np.testing.assert_array_equal(intercept, b)


def test_constant_column_gets_coefficient_zero():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    scaling = feature_scaling(X)
    np.testing.assert_array_equal(scaling.apply(X)[:, 0], 0.0)
    coef, intercept = scaling.undo(np.ones((2, 1)), np.zeros(1))
    assert coef[0, 0] == 0.0
    assert intercept[0] == pytest.approx(-1.5)


def test_rounding_errors_of_the_mean_are_not_variance():
    X = np.tile([0.1, 1 / 3, 1e9 + 0.1], (1001, 1))
    assert (X.mean(axis=0) != X[0]).any()
    np.testing.assert_array_equal(feature_scaling(X).scale, np.inf)


def test_constant_columns_without_centring():
    X = np.column_stack([np.full(7, 0.1), np.zeros(7)])
    Z = feature_scaling(X, center=False).apply(X)
    np.testing.assert_allclose(Z[:, 0], 1.0)
    np.testing.assert_array_equal(Z[:, 1], 0.0)


"""Moments without cancellation, and offsets that cost no digit."""


CONTAINERS = [np.asarray, sparse.csr_array]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("rows_at_a_time", [None, 7])
def test_moments_match_exact_arithmetic(container, rows_at_a_time, monkeypatch):
    if rows_at_a_time:
        monkeypatch.setattr(module, "_BLOCK_ENTRIES", 4 * rows_at_a_time)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * np.array([1.0, 1e-8, 1e8, 1.0]) + np.array([1e8, 0.0, -1e8, 0.0])
    X[rng.random(X.shape) < 0.3] = 0.0
    X[:, 0] = 1e8 + rng.normal(size=50)
    exact = X.astype(np.longdouble)
    mean, squares = column_moments(container(X))
    np.testing.assert_allclose(mean, exact.mean(axis=0).astype(float), rtol=1e-14)
    np.testing.assert_allclose(
        squares, ((exact - exact.mean(axis=0)) ** 2).sum(axis=0).astype(float), rtol=1e-8
    )


@pytest.mark.parametrize("container", CONTAINERS)
def test_float32_is_summed_in_float64(container):
    X = (1e4 + np.random.default_rng(0).normal(size=(20_000, 2))).astype(np.float32)
    mean, squares = column_moments(container(X))
    np.testing.assert_allclose(mean, X.astype(float).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(squares, len(X) * X.astype(float).var(axis=0), rtol=1e-7)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_constant_column_has_zero_variance(container, dtype):
    values = np.array([0.1, 1e8 + 0.3, -1e-30, -53566937.316111095, 1.2573e-4])
    assert not column_moments(container(np.tile(values, (44310, 1)).astype(dtype)))[1].any()


@given(
    st.integers(0, 1000),
    st.sampled_from([0.0, 1.0, 1e4, -3e7, 1e8]),
    st.sampled_from([1e-3, 1.0, 1e4]),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_differences_of_rows_are_exact(seed, offset, scale, is_sparse):
    X = scale * np.random.default_rng(seed).normal(size=(20, 3)) + offset
    given_X = sparse.csr_array(X) if is_sparse else X
    mean, squares = column_moments(given_X)
    moved = without_offsets(given_X, removable_offsets(given_X, mean, squares))
    moved = moved.toarray() if is_sparse else moved
    np.testing.assert_array_equal(moved[1:] - moved[0], X[1:] - X[0])
    assert (np.abs(moved.mean(axis=0)) <= 33 * X.std(axis=0)).all()


def test_columns_near_zero_are_not_shifted():
    X = np.random.default_rng(0).normal(size=(30, 4)) + np.array([0.0, 1.0, -3.0, 5.0])
    offsets = removable_offsets(X, *column_moments(X))
    assert not offsets.any()
    assert without_offsets(X, offsets) is X


def test_sparse_zeros_stay_zeros():
    X = 1e6 + np.random.default_rng(0).normal(size=(1000, 2))
    X[4, 0] = 0.0
    rows = sparse.csr_array(X)
    offsets = removable_offsets(rows, *column_moments(rows))
    assert offsets[0] == 0.0
    assert offsets[1] == pytest.approx(1e6, rel=1e-4)
    assert without_offsets(rows, offsets).toarray()[4, 0] == 0.0


def test_new_sparse_rows_may_have_additional_zeros():
    rows = sparse.csr_array(np.array([[0.0, 2.0], [1024.5, 0.0]]))
    np.testing.assert_array_equal(
        without_offsets(rows, np.array([1024.0, 0.0])).toarray(), [[-1024.0, 2.0], [0.5, 0.0]]
    )
