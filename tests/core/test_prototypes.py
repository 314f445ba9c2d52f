from __future__ import annotations

import numpy as np
from scipy import sparse

from ldlearn.core.prototypes import class_prototypes, pseudo_distributions
from ldlearn.core.simplex import softmax


def problem():
    rng = np.random.default_rng(0)
    Y = rng.random((40, 5)) < 0.4
    Y[~Y.any(axis=1), 0] = True
    Y[:, 3] = False  # a label that never occurs
    Y[~Y.any(axis=1), 1] = True
    return rng.normal(size=(40, 6)), Y


def test_prototype_is_the_mean_of_the_first_group_that_is_not_empty():
    X, Y = problem()
    Q = class_prototypes(X, Y)
    sizes = Y.sum(axis=1)
    for label in range(5):
        groups = [np.flatnonzero(Y[:, label] & (sizes == size)) for size in range(1, 6)]
        first = next((group for group in groups if len(group)), None)
        expected = np.zeros(6) if first is None else X[first].mean(axis=0)
        np.testing.assert_allclose(Q[label], expected, atol=1e-14)
    assert (Q[3] == 0).all()


def test_similarities_are_cosines():
    X, Y = problem()
    X[7] = 0.0
    Q = class_prototypes(X, Y)
    S = np.zeros((40, 5))
    for i in range(40):
        for label in range(5):
            length = np.linalg.norm(X[i]) * np.linalg.norm(Q[label])
            S[i, label] = X[i] @ Q[label] / length if length else 0.0
    np.testing.assert_allclose(pseudo_distributions(X, Y), softmax(S + Y), atol=1e-12)


def test_matches_hand_computed_value():
    P = pseudo_distributions(np.eye(2), np.array([[1, 0], [1, 1]]))
    np.testing.assert_allclose(P, [[0.8808, 0.1192], [0.2689, 0.7311]], atol=5e-5)


def test_collinear_features_give_equal_similarities():
    _, Y = problem()
    X = np.outer(np.arange(1.0, 41.0), [1.0, 2.0])
    Y[:, 3] = Y[:, 4]  # the cosine with an absent label would be 0, not 1
    np.testing.assert_allclose(pseudo_distributions(X, Y), softmax(Y.astype(float)), atol=1e-12)


def test_sparse_and_single_precision_features_agree_with_dense():
    X, Y = problem()
    X[np.abs(X) < 0.5] = 0.0
    expected = pseudo_distributions(X, Y)
    np.testing.assert_allclose(pseudo_distributions(sparse.csr_array(X), Y), expected, atol=1e-12)
    narrow = pseudo_distributions(X.astype(np.float32), Y)
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow, expected, atol=1e-6)


def test_rows_of_weight_zero_are_left_out():
    X, Y = problem()
    weights = np.arange(40) % 3.0
    kept = weights > 0
    expected = class_prototypes(X[kept], Y[kept], weights[kept])
    np.testing.assert_allclose(class_prototypes(X, Y, weights), expected, atol=1e-14)
