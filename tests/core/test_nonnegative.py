from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from ldlearn.core.nonnegative import nonnegative_quadratic


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


def test_pivots_that_would_cycle_still_end():
    # A matrix with large off-diagonal entries, on which full exchanges alone are known to be fragile.
    rng = np.random.default_rng(1)
    A = rng.normal(size=(400, 10, 10)) + 3.0
    C, B = A.transpose(0, 2, 1) @ A + 1e-6 * np.eye(10), rng.normal(size=(400, 10)) + 1.0
    V = nonnegative_quadratic(C, B)
    gradient = np.einsum("ijl,il->ij", C, V) - B
    assert (gradient >= -1e-5).all()
    assert np.abs(V * gradient).max() <= 1e-3


def test_guess_of_the_support_does_not_change_the_answer_and_is_not_written_to():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(12, 6))
    B = rng.normal(size=(30, 6))
    V = nonnegative_quadratic(A.T @ A, B)
    empty = np.zeros(B.shape, dtype=bool)
    for guess in (V > 0, V == 0, empty):
        np.testing.assert_allclose(nonnegative_quadratic(A.T @ A, B, guess), V, atol=1e-10)
    assert not empty.any()
