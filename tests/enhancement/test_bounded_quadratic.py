"""Sign-constrained quadratic problems: L-BFGS-B and optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from ldlearn.enhancement.ml import _minimize_signed_quadratic


def problem(n, c, seed, decades=3):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = Q @ np.diag(np.logspace(-decades, 0, n)) @ Q.T
    return A, np.where(rng.random((n, c)) < 0.5, -1.0, 1.0)


@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 25), c=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_optimality_conditions(n, c, seed):
    A, signs = problem(n, c, seed)
    U, _, _ = _minimize_signed_quadratic(sparse.csr_array(A), signs, tol=1e-10)
    V, gradient = signs * U, signs * (A @ U)
    assert V.min() >= 1 - 1e-12
    assert gradient.min() > -1e-7
    np.testing.assert_allclose(gradient * (V - 1), 0.0, atol=1e-6)


def test_matches_a_generic_solver():
    A, signs = problem(60, 3, 0)
    U, n_iter, _ = _minimize_signed_quadratic(sparse.csr_array(A), signs, tol=1e-8)
    assert n_iter < 150  # steps along gradients that are not conjugate take twice that
    for j in range(3):
        H = signs[:, j, None] * A * signs[:, j]
        found = optimize.minimize(
            lambda v, H=H: (v @ H @ v, 2 * H @ v),
            np.ones(60),
            jac=True,
            method="L-BFGS-B",
            bounds=[(1, None)] * 60,
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
        )
        assert U[:, j] @ A @ U[:, j] == pytest.approx(found.fun, rel=1e-7)


def test_columns_do_not_influence_each_other():
    A, signs = problem(30, 3, 1)
    A = sparse.csr_array(A)
    together, _, _ = _minimize_signed_quadratic(A, signs, tol=1e-9)
    alone = np.column_stack(
        [_minimize_signed_quadratic(A, signs[:, [j]], tol=1e-9)[0][:, 0] for j in range(3)]
    )
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_unsolved_problem_is_not_converged():
    A, signs = problem(60, 2, 2)
    U, n_iter, converged = _minimize_signed_quadratic(
        sparse.csr_array(A), signs, tol=1e-12, max_iter=3
    )
    assert not converged
    assert n_iter == 3
    assert (signs * U >= 1).all()
    _, _, converged = _minimize_signed_quadratic(sparse.csr_array(A), signs)
    assert converged
