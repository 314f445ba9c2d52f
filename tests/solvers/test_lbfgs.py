"""L-BFGS over several arrays: minimum, monotone loss, iteration limit."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.solvers.lbfgs import minimize_lbfgs


def quadratic(seed=0):
    """A strictly convex quadratic of a (2, 3) and a (4,) array, and its minimiser."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(10, 10))
    A = A @ A.T + np.eye(10)
    b = rng.normal(size=10)

    def loss_and_gradient(M, v):
        x = np.concatenate([M.ravel(), v])
        gradient = A @ x - b
        return 0.5 * x @ A @ x - b @ x, [gradient[:6].reshape(2, 3), gradient[6:]]

    return loss_and_gradient, np.linalg.solve(A, b)


def test_minimum_of_a_quadratic_in_the_shapes_given():
    loss_and_gradient, minimiser = quadratic()
    fit = minimize_lbfgs(
        loss_and_gradient, [np.zeros((2, 3)), np.zeros(4)], max_iter=200, tol=1e-14
    )
    assert [array.shape for array in fit.arrays] == [(2, 3), (4,)]
    np.testing.assert_allclose(
        np.concatenate([array.ravel() for array in fit.arrays]), minimiser, atol=1e-5
    )
    assert fit.converged
    assert fit.loss == pytest.approx(loss_and_gradient(*fit.arrays)[0])


def test_loss_never_increases_and_start_is_not_modified():
    loss_and_gradient, _ = quadratic(1)
    start = [np.ones((2, 3)), np.ones(4)]
    losses = [
        minimize_lbfgs(loss_and_gradient, start, max_iter=k, tol=0.0).loss for k in range(1, 12)
    ]
    assert np.all(np.diff([loss_and_gradient(*start)[0], *losses]) <= 0)
    np.testing.assert_array_equal(start[0], 1.0)


def test_iteration_limit_is_reported():
    loss_and_gradient, _ = quadratic(2)
    fit = minimize_lbfgs(loss_and_gradient, [np.ones((2, 3)), np.ones(4)], max_iter=2, tol=0.0)
    assert fit.n_iter == 2
    assert not fit.converged
