"""Correlation matrices compared with the semidefinite programme."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from ldlearn.enhancement.glle import _align_unit_rows


def problem(g=3, c=5, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.random((g, 12, c))
    Z = rng.normal(size=(g, c, c))
    return Z / np.linalg.norm(Z, axis=2, keepdims=True), D.transpose(0, 2, 1) @ D


def test_reaches_the_minimum_over_correlation_matrices():
    Z, C = problem()
    Z = _align_unit_rows(Z, C, sweeps=500)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=2), 1.0)
    for i in range(3):
        R = cp.Variable((5, 5), PSD=True)
        lowest = cp.Problem(cp.Minimize(cp.trace(C[i] @ R)), [cp.diag(R) == 1]).solve(
            solver=cp.CLARABEL
        )
        assert np.sum(C[i] * (Z[i] @ Z[i].T)) == pytest.approx(lowest, rel=1e-4)


def test_objective_never_increases():
    Z, C = problem(seed=1)
    values = [np.sum(C * (Z @ Z.transpose(0, 2, 1)))]
    for _ in range(10):
        Z = _align_unit_rows(Z, C, sweeps=1)
        values.append(np.sum(C * (Z @ Z.transpose(0, 2, 1))))
    assert (np.diff(values) <= 1e-12).all()


def test_rows_with_zero_gradient_are_unchanged():
    Z, C = problem()
    C[:, 2], C[:, :, 2] = 0.0, 0.0
    np.testing.assert_array_equal(_align_unit_rows(Z, C)[:, 2], Z[:, 2])
