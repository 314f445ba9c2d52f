"""Transport plans: marginals, cost compared with a linear programme, both domains of the
iteration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from ldlearn.solvers import sinkhorn as module
from ldlearn.solvers.sinkhorn import sinkhorn, total_plan, transport_cost


def make_problem(seed=0, n=6, c=4, zeros=True):
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.ones(c), size=n)
    D = rng.dirichlet(np.ones(c), size=n)
    if zeros:
        D[::2, 0] = 0.0
        D /= D.sum(axis=1, keepdims=True)
    points = rng.normal(size=(c, 2))
    M = ((points[:, None] - points) ** 2).sum(axis=2)
    return H, D, M / M.max()


def plans(found, M, lam):
    return np.exp(found.log_u[:, :, None] - lam * M + found.log_v[:, None, :])


@pytest.mark.parametrize("lam", [0.2, 5.0, 30.0, 200.0])
def test_marginals(lam):
    H, D, M = make_problem()
    found = sinkhorn(H, D, M, lam)
    P = plans(found, M, lam)
    np.testing.assert_allclose(P.sum(axis=2), H, atol=1e-8)
    np.testing.assert_allclose(P.sum(axis=1), D, atol=1e-12)
    assert found.error <= 1e-8
    np.testing.assert_allclose(total_plan(found, M, lam), P.sum(axis=0), atol=1e-12)
    weights = np.arange(1.0, len(P) + 1.0)
    weighted = np.einsum("i,ijk->jk", weights, P)
    np.testing.assert_allclose(total_plan(found, M, lam, weights), weighted, atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 3.0, 40.0, 300.0]), st.integers(1, 6))
def test_any_problem_is_solved(seed, lam, c):
    H, D, M = (
        make_problem(seed, n=3, c=c, zeros=c > 1)
        if c > 1
        else (np.ones((3, 1)), np.ones((3, 1)), np.zeros((1, 1)))
    )
    assert sinkhorn(H, D, M, lam).error <= 1e-8


def test_cost_is_the_primal_objective_at_the_plan():
    H, D, M = make_problem()
    lam = 4.0
    found = sinkhorn(H, D, M, lam)
    P = plans(found, M, lam)
    entropy = np.where(P > 0, P * (np.log(np.where(P > 0, P, 1.0)) - 1.0), 0.0).sum(axis=(1, 2))
    np.testing.assert_allclose(
        transport_cost(found, H, D, lam), (P * M).sum(axis=(1, 2)) + entropy / lam, atol=1e-8
    )


def test_plan_minimises_the_cost():
    """A generic solver over the free entries of a 2 x 2 plan finds the same minimum."""
    H, D, M = np.array([[0.3, 0.7]]), np.array([[0.6, 0.4]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    lam = 3.0

    def primal(p):
        P = np.array([[p, 0.3 - p], [0.6 - p, 0.1 + p]])
        return float((P * M).sum() + (P * (np.log(P) - 1)).sum() / lam)

    best = minimize(lambda x: primal(x[0]), [0.15], bounds=[(1e-9, 0.3 - 1e-9)], tol=1e-14).fun
    assert transport_cost(sinkhorn(H, D, M, lam), H, D, lam)[0] == pytest.approx(best, abs=1e-7)


def test_limit_of_large_lam_is_the_linear_programme():
    H, D, M = make_problem(n=1)
    c = len(M)
    rows, columns = np.kron(np.eye(c), np.ones(c)), np.kron(np.ones(c), np.eye(c))
    exact = linprog(
        M.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([H[0], D[0]])
    ).fun
    lam = 2000.0
    plan = total_plan(sinkhorn(H, D, M, lam), M, lam)
    assert (plan * M).sum() == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("lam", [8.0, 40.0])
def test_plans_match_plain_sinkhorn_iterations(lam):
    H, D, M = make_problem(seed=3, n=20, c=6)
    G, U = np.exp(-lam * M), np.ones_like(H)
    for _ in range(50_000):
        V = D / (U @ G)
        U = H / (V @ G.T)
    expected = U[:, :, None] * G * (D / (U @ G))[:, None, :]
    np.testing.assert_allclose(plans(sinkhorn(H, D, M, lam), M, lam), expected, atol=1e-7)


def test_blocks_and_warm_start_give_the_same_result(monkeypatch):
    H, D, M = make_problem(n=9)
    whole = sinkhorn(H, D, M, 60.0)
    monkeypatch.setattr(module, "CACHED_ENTRIES", 40)
    pieces = sinkhorn(H, D, M, 60.0, start=np.random.default_rng(0).normal(size=H.shape))
    np.testing.assert_allclose(plans(whole, M, 60.0), plans(pieces, M, 60.0), atol=1e-8)
    np.testing.assert_allclose(total_plan(whole, M, 60.0), total_plan(pieces, M, 60.0), atol=1e-7)


def test_cost_has_the_dual_variable_as_its_derivative():
    """Along a direction that keeps the sum of h, W changes at the rate <log u / lam, direction>."""
    H, D, M = make_problem(n=1)
    lam, step = 6.0, 1e-5
    direction = np.array([[1.0, -2.0, 0.5, 0.5]])
    ends = [
        transport_cost(
            sinkhorn(H + s * direction, D, M, lam, tol=1e-12), H + s * direction, D, lam
        )[0]
        for s in (step, -step)
    ]
    rate = (sinkhorn(H, D, M, lam, tol=1e-12).log_u / lam * direction).sum()
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(rate, rel=1e-6)
