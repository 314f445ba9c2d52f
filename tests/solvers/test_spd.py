"""Conjugate gradients for several right-hand sides, compared with dense factorisations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, sparse
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from ldlearn.core import knn_graph, laplacian
from ldlearn.joint import L2
from ldlearn.solvers.low_rank import smooth_by_representation
from ldlearn.solvers.spd import solve_operator, solve_spd


def random_spd(n: int, seed: int, condition: float = 1e3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return Q @ np.diag(np.geomspace(1.0, condition, n)) @ Q.T


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 30), c=st.integers(1, 5), seed=st.integers(0, 10_000))
def test_agrees_with_a_dense_solve(n, c, seed):
    A = random_spd(n, seed)
    B = np.random.default_rng(seed).normal(size=(n, c))
    expected = linalg.solve(A, B, assume_a="pos")
    for matrix in (A, sparse.csr_array(A)):
        np.testing.assert_allclose(solve_spd(matrix, B), expected, atol=1e-7)


def test_every_column_meets_its_own_tolerance():
    X = np.random.default_rng(0).normal(size=(300, 3))
    A = sparse.csr_array(sparse.eye_array(300) + 50.0 * laplacian(knn_graph(X, 8)))
    B = np.random.default_rng(1).normal(size=(300, 4)) * np.array([1e-6, 1.0, 1e6, 0.0])
    D = solve_spd(A, B)
    residual = np.linalg.norm(A @ D - B, axis=0)
    assert (residual <= 1.01e-10 * np.linalg.norm(B, axis=0)).all()
    assert (D[:, 3] == 0).all()


def test_columns_do_not_influence_each_other():
    A = random_spd(25, 3)
    B = np.random.default_rng(4).normal(size=(25, 3))
    together = solve_spd(A, B)
    alone = np.column_stack([solve_spd(A, B[:, [j]])[:, 0] for j in range(3)])
    np.testing.assert_allclose(together, alone, rtol=1e-7)


def test_indefinite_matrix_triggers_a_warning():
    with pytest.warns(LinAlgWarning, match="not solved"):
        solve_spd(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0], [-1.0]]))


def test_unsolved_operator_triggers_a_warning():
    A = random_spd(40, 0)
    B = np.ones((40, 2))
    np.testing.assert_allclose(
        solve_operator(lambda V: A @ V, np.diag(A)[:, None], B), linalg.solve(A, B), rtol=1e-7
    )
    with pytest.warns(LinAlgWarning, match="not solved"):
        solve_operator(lambda V: A @ V - 2.0 * V, np.diag(A)[:, None], B)


def test_methods_report_a_system_that_is_too_ill_conditioned():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.random((40, 4)) < 0.5
    Y[:, 0] = True
    with pytest.warns(LinAlgWarning, match="not solved"), pytest.warns(ConvergenceWarning):
        L2(alpha=1e16, n_neighbors=3, max_iter=2).fit(X, Y)
    with pytest.warns(LinAlgWarning, match="not solved"):
        smooth_by_representation(Y, np.full((40, 40), np.nan), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_zero_column_of_a_coupled_system_need_not_be_exact(seed):
    rng = np.random.default_rng(seed)
    R = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.1], [0.3, 0.1, 1.0]])
    weights = rng.uniform(1.0, 1e4, size=(20, 1))
    B = rng.normal(size=(20, 3)) * [1.0, 1.0, 0.0]
    n_products = 0

    def product(X):
        nonlocal n_products
        n_products += 1
        return weights * X + X @ R

    X = solve_operator(product, weights + 1.0, B)
    assert n_products < 15
    np.testing.assert_allclose(product(X), B, atol=1e-8)
