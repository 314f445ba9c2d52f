"""The D-step with a quadratic between the labels of a row, against a generic convex solver."""

import numpy as np
import pytest

from ldlearn.core import knn_graph, laplacian, log_softmax, normalize_rows
from ldlearn.solvers.newton_simplex import newton_simplex


def second_differences(c):
    """The matrix of the quadratic form ``|second differences of d|^2``."""
    S = np.diff(np.eye(c), n=2, axis=0)
    return S.T @ S


@pytest.mark.parametrize("weight", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_equals_a_generic_convex_solver(weight, alpha):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    n, c = 10, 6
    L = log_softmax(2.0 * rng.normal(size=(n, c)))
    Y = rng.random((n, c)) < 0.7
    Y[np.arange(n), rng.integers(c, size=n)] = True
    w = rng.choice([0.5, 1.0, 2.0], size=n)
    G = laplacian(knn_graph(rng.normal(size=(n, 2)), 3))
    x = cp.Variable((n, c), nonneg=True)
    S = np.diff(np.eye(c), n=2, axis=0)
    rows = [
        w[i]
        * (
            -cp.sum(cp.entr(x[i]))
            - L[i] @ x[i]
            + 0.2 * cp.sum_squares(x[i])
            + weight * cp.sum_squares(S @ x[i])
        )
        for i in range(n)
    ]
    values, vectors = np.linalg.eigh(G.toarray())
    graph = cp.sum_squares((np.sqrt(np.maximum(values, 0.0)) * vectors).T @ x)
    problem = cp.Problem(
        cp.Minimize(sum(rows) + alpha * graph), [cp.sum(x, axis=1) == 1, x[~Y] == 0]
    )
    problem.solve(solver=cp.CLARABEL)
    graph = {"laplacian": alpha * G} if alpha else {}
    found = newton_simplex(
        L,
        Y,
        **graph,
        beta=0.2,
        sample_weight=w,
        between_labels=weight * second_differences(c),
        tol=1e-10,
    )
    assert found.converged
    assert found.objective == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(found.D, normalize_rows(np.maximum(x.value, 0.0) * Y), atol=3e-3)
    assert (found.D[~Y] == 0).all()


def test_rows_are_independent():
    rng = np.random.default_rng(1)
    L, Y = log_softmax(rng.normal(size=(8, 5))), np.ones((8, 5), dtype=bool)
    together = newton_simplex(L, Y, between_labels=3.0 * second_differences(5), tol=1e-12).D
    for i in range(8):
        alone = newton_simplex(
            L[[i]], Y[[i]], between_labels=3.0 * second_differences(5), tol=1e-12
        ).D
        np.testing.assert_allclose(together[[i]], alone, atol=1e-5)


def test_large_penalty_makes_degrees_linear_in_the_label_position():
    L = np.log(np.array([[0.1, 0.6, 0.1, 0.2]]))
    d = newton_simplex(
        L, np.ones((1, 4), dtype=bool), between_labels=1e6 * second_differences(4), tol=1e-12
    ).D[0]
    np.testing.assert_allclose(np.diff(d, n=2), 0.0, atol=1e-4)
