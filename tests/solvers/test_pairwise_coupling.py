"""Platt's sigmoid and pairwise coupling: generic solvers, linear system, exact case."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldlearn.solvers.pairwise_coupling import couple_pairs, platt_sigmoid


def pairwise(n, c, seed, edge=1e-7):
    """Random pairwise probabilities, many of them close to 0 or 1."""
    rng = np.random.default_rng(seed)
    R = np.clip(rng.beta(0.3, 0.3, size=(n, c, c)), edge, 1 - edge)
    upper = np.triu(np.ones((c, c), dtype=bool), 1)
    R = np.where(upper, R, 0.0)
    return R + np.where(upper.T, 1.0 - R.transpose(0, 2, 1), 0.0)


def quadratic(R):
    c = len(R)
    Q = -R.T * R
    Q[np.arange(c), np.arange(c)] = [
        sum(R[j, t] ** 2 for j in range(c) if j != t) for t in range(c)
    ]
    return Q


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_coupling_solves_the_linear_system(seed, c):
    R = pairwise(3, c, seed, edge=1e-3)
    for r, p in zip(R, couple_pairs(R), strict=True):
        system = np.block([[quadratic(r), np.ones((c, 1))], [np.ones((1, c)), np.zeros((1, 1))]])
        np.testing.assert_allclose(p, np.linalg.solve(system, np.eye(c + 1)[-1])[:c], atol=1e-7)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8))
def test_consistent_pairs_are_recovered_exactly(strengths):
    """Bradley and Terry: r_ij = p_i / (p_i + p_j) belongs to p."""
    p = np.array(strengths) / np.sum(strengths)
    np.testing.assert_allclose(couple_pairs((p[:, None] / (p[:, None] + p))[None])[0], p, atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_extreme_pairs_give_distributions(seed, c):
    P = couple_pairs(pairwise(20, c, seed))
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_coupling_minimises_its_objective(seed):
    R = pairwise(1, 5, seed, edge=1e-2)[0]
    p = cp.Variable(5)
    terms = [R[j, i] * p[i] - R[i, j] * p[j] for i in range(5) for j in range(5) if i != j]
    cp.Problem(cp.Minimize(cp.sum_squares(cp.hstack(terms))), [cp.sum(p) == 1, p >= 0]).solve(
        solver=cp.CLARABEL
    )
    np.testing.assert_allclose(couple_pairs(R[None])[0], p.value, atol=1e-5)


def test_coupling_is_the_fixed_point_of_the_published_iteration():
    R = pairwise(1, 4, 7, edge=1e-2)[0]
    Q, p = quadratic(R), np.full(4, 0.25)
    for _ in range(500):
        for t in range(4):
            p[t] = (-(Q[t] @ p - Q[t, t] * p[t]) + p @ Q @ p) / Q[t, t]
            p /= p.sum()
    np.testing.assert_allclose(couple_pairs(R[None])[0], p, atol=1e-6)


def test_two_labels_keep_their_probability():
    R = np.array([[[0.0, 0.8], [0.2, 0.0]]])
    np.testing.assert_allclose(couple_pairs(R), [[0.8, 0.2]])


@pytest.mark.parametrize("seed", range(4))
def test_sigmoid_matches_a_generic_minimiser(seed):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=60)
    positive, negative = rng.poisson(1.0 + 2.0 * (f > 0)), rng.poisson(1.5, size=60)
    high, low = (positive.sum() + 1) / (positive.sum() + 2), 1 / (negative.sum() + 2)

    def loss(v):
        p = 1 / (1 + np.exp(v[0] * f + v[1]))
        return -np.sum(positive * (high * np.log(p) + (1 - high) * np.log(1 - p))) - np.sum(
            negative * (low * np.log(p) + (1 - low) * np.log(1 - p))
        )

    best = minimize(
        loss,
        np.zeros(2),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000},
    )
    np.testing.assert_allclose(platt_sigmoid(f, positive, negative), best.x, atol=1e-4)


def test_counts_equal_repeated_examples():
    f = np.array([-1.0, 0.2, 0.5, 2.0])
    positive, negative = np.array([0, 1, 2, 3]), np.array([2, 2, 0, 1])
    repeated = np.concatenate([np.repeat(f, positive), np.repeat(f, negative)])
    is_positive = np.repeat([1, 0], [positive.sum(), negative.sum()])
    np.testing.assert_allclose(
        platt_sigmoid(f, positive, negative),
        platt_sigmoid(repeated, is_positive, 1 - is_positive),
        atol=1e-6,
    )


def test_separable_scores_reach_the_smoothed_targets():
    f = np.array([-5.0, 5.0])
    A, B = platt_sigmoid(f, np.array([0, 20]), np.array([10, 0]))
    p = 1 / (1 + np.exp(A * f + B))
    np.testing.assert_allclose(p, [1 / 12, 21 / 22], atol=1e-6)
    assert A < 0


def test_equal_scores_give_class_frequencies():
    A, B = platt_sigmoid(np.zeros(3), np.array([3, 3, 2]), np.array([1, 1, 0]))
    mean_target = (8 * 9 / 10 + 2 / 4) / 10
    assert 1 / (1 + np.exp(B)) == pytest.approx(mean_target, abs=1e-6)
    assert A == 0.0
