"""LDL forests: routing, gradients, leaf updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldlearn.learning import LDLForest, MeanLDL
from ldlearn.learning import ldl_forest as module
from ldlearn.learning.ldl_forest import _forest_loss, _leaf_probabilities, _update_leaves


def make_forest(n=9, c=3, depth=4, n_trees=2, seed=0):
    """Split logits with two unused outputs, degrees with zeros, nodes and leaves."""
    rng = np.random.default_rng(seed)
    n_leaves = 2 ** (depth - 1)
    F = rng.normal(size=(n, n_leaves + 1))
    D = rng.dirichlet(np.ones(c), size=n)
    D[0] = [1.0] + [0.0] * (c - 1)
    nodes = np.array([rng.permutation(n_leaves + 1)[: n_leaves - 1] for _ in range(n_trees)])
    return F, D, nodes, rng.dirichlet(np.ones(c), size=(n_trees, n_leaves))


def predict_tree_by_recursion(f, q):
    """Prediction for one row by recursion from the root."""

    def below(node, leaf_level):
        if node >= leaf_level:
            return q[node - leaf_level]
        left = 1.0 / (1.0 + np.exp(-f[node]))
        return left * below(2 * node + 1, leaf_level) + (1.0 - left) * below(
            2 * node + 2, leaf_level
        )

    return below(0, len(q) - 1)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(0, 1000))
def test_leaf_probabilities_sum_to_one(levels, seed):
    S = np.random.default_rng(seed).uniform(size=(2**levels - 1, 5))
    R = _leaf_probabilities(S)
    assert R.shape == (2**levels, 5)
    assert (R >= 0).all()
    np.testing.assert_allclose(R.sum(axis=0), 1.0, atol=1e-12)


def test_routing_matches_hand_computed_values():
    """Root 0 with children 1 (left) and 2 (right): four leaves from left to right."""
    R = _leaf_probabilities(np.array([[0.9], [0.8], [0.3]])).ravel()
    np.testing.assert_allclose(R, [0.9 * 0.8, 0.9 * 0.2, 0.1 * 0.3, 0.1 * 0.7])


@pytest.mark.parametrize("depth", [2, 3, 7])
def test_depth_counts_levels_of_nodes(depth):
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(20, 3)), rng.dirichlet(np.ones(3), size=20)
    model = LDLForest(max_depth=depth, tol=0.5, random_state=0).fit(X, D)
    assert model.leaves_.shape == (5, 2 ** (depth - 1), 3)
    assert model.nodes_.shape == (5, 2 ** (depth - 1) - 1)
    for nodes in model.nodes_:
        assert len(set(nodes)) == len(nodes)
        assert nodes.max() < len(model.output_coef_)
    np.testing.assert_allclose(model.leaves_.sum(axis=2), 1.0)


def test_prediction_is_the_mean_of_the_trees():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(15, 3)), rng.dirichlet(np.ones(4), size=15)
    model = LDLForest(n_estimators=3, max_depth=4, n_outputs=9, random_state=0).fit(X, D)
    F = X @ model.output_coef_.T + model.output_intercept_
    by_hand = [
        np.mean(
            [
                predict_tree_by_recursion(f[nodes], q)
                for nodes, q in zip(model.nodes_, model.leaves_, strict=True)
            ],
            axis=0,
        )
        for f in F
    ]
    np.testing.assert_allclose(model.predict(X), by_hand, atol=1e-12)


def test_loss_is_the_stated_one():
    F, D, nodes, leaves = make_forest()
    stated = -np.mean(
        [
            [
                (d * np.log(predict_tree_by_recursion(f[columns], q))).sum()
                for f, d in zip(F, D, strict=True)
            ]
            for columns, q in zip(nodes, leaves, strict=True)
        ]
    )
    assert _forest_loss(F, D, nodes, leaves)[0] == pytest.approx(stated)


@pytest.mark.parametrize("block", [8, 20_000])
def test_gradient_by_differences(block, monkeypatch):
    monkeypatch.setattr(module, "_MAX_PROBABILITIES", block)
    F, D, nodes, leaves = make_forest()
    _, gradient = _forest_loss(F, D, nodes, leaves)
    numeric, step = np.empty_like(F), 1e-6
    for index in np.ndindex(F.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = F.copy()
            moved[index] += sign * step
            ends.append(_forest_loss(moved, D, nodes, leaves)[0])
        numeric[index] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, atol=1e-8)
    assert np.abs(gradient).max() > 1e-3


def test_leaf_updates_never_increase_the_loss_and_reach_the_optimum():
    F, D, nodes, leaves = make_forest(n=25)
    losses = [_forest_loss(F, D, nodes, leaves)[0]]
    q = leaves
    for _ in range(30):
        q, loss = _update_leaves(F, D, nodes, q, 1)
        losses.append(loss)
        np.testing.assert_allclose(q.sum(axis=2), 1.0)
        assert loss == pytest.approx(_forest_loss(F, D, nodes, q)[0])
    assert np.all(np.diff(losses) <= 1e-12)
    # At the optimum no leaf gains by moving mass to any label: sum_i R_il D_ij / g_ij is at most
    # that leaf's mean.
    q, _ = _update_leaves(F, D, nodes, leaves, 200_000 // 25)
    for columns, tree in zip(nodes, q, strict=True):
        R = _leaf_probabilities(1.0 / (1.0 + np.exp(-F[:, columns].T)))
        gain = R @ (D / (R.T @ tree))
        attained = (gain * tree).sum(axis=1, keepdims=True)
        assert (gain <= attained + 1e-2).all()


def test_batched_updates_equal_single_updates():
    F, D, nodes, leaves = make_forest()
    at_once, _ = _update_leaves(F, D, nodes, leaves, 5)
    one_by_one = leaves
    for _ in range(5):
        one_by_one, _ = _update_leaves(F, D, nodes, one_by_one, 1)
    np.testing.assert_allclose(at_once, one_by_one)


def test_unreached_leaf_keeps_its_distribution():
    F, D, nodes, leaves = make_forest(depth=2, n_trees=1)
    updated, _ = _update_leaves(np.full_like(F, 1e4), D, nodes, leaves, 3)
    np.testing.assert_array_equal(updated[0, 1], leaves[0, 1])
    np.testing.assert_allclose(updated[0, 0], D.mean(axis=0))


def test_rounds_never_increase_the_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    D = np.exp(np.abs(X[:, :3]))
    D /= D.sum(axis=1, keepdims=True)
    model = LDLForest(max_depth=4, n_outputs=7, tol=1e-3, random_state=0).fit(X, D)
    assert len(model.objective_path_) == model.n_iter_
    assert np.all(np.diff(model.objective_path_) <= 0)
    assert model.score(X, D) > MeanLDL().fit(X, D).score(X, D) + 0.05


def test_invariant_to_feature_units():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(30, 3)), rng.dirichlet(np.ones(3), size=30)
    scaled = X * [1e3, 1e-3, 7.0] + [5.0, 0.0, -40.0]
    plain, other = (
        LDLForest(max_depth=3, random_state=0).fit(A, D).predict(A) for A in (X, scaled)
    )
    np.testing.assert_allclose(plain, other, atol=1e-5)


def test_published_form_has_no_intercept():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(30, 3)) + 2.0, rng.dirichlet(np.ones(3), size=30)
    model = LDLForest(max_depth=3, fit_intercept=False, random_state=0).fit(X, D)
    np.testing.assert_array_equal(model.output_intercept_, 0.0)
    assert np.abs(LDLForest(max_depth=3, random_state=0).fit(X, D).output_intercept_).max() > 0


def test_too_few_outputs_raise():
    with pytest.raises(ValueError, match=r"31 split nodes.*n_outputs=31 instead of n_outputs=30"):
        LDLForest(max_depth=6, n_outputs=30).fit(np.zeros((4, 2)), np.full((4, 2), 0.5))


def test_result_depends_on_the_seed():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(30, 3)), rng.dirichlet(np.ones(3), size=30)
    first, second, other = (
        LDLForest(max_depth=4, random_state=seed).fit(X, D).predict(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-6
