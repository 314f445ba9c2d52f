"""DF-LDL: the prediction put together from other estimators, a step, and orders that never
occur."""

from itertools import combinations

import numpy as np
import pytest

from ldlearn.learning import AAKNN, DFLDL, SABFGS, MeanLDL


def make_problem(n=60, c=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    D = np.exp(X @ rng.normal(size=(2, c)) + 0.5 * rng.normal(size=(n, c)))
    return X, D / D.sum(axis=1, keepdims=True)


def test_prediction_matches_the_definition():
    X, D = make_problem()
    model = DFLDL(l2=0.5, n_neighbors=4, tol=1e-10).fit(X, D)
    near = AAKNN(n_neighbors=4).fit(X, D).predict(X)
    expected = np.zeros(D.shape)
    for i, j in combinations(range(3), 2):
        above, below = D[:, i] >= D[:, j], D[:, i] <= D[:, j]
        first, second = (
            SABFGS(l2=0.5, tol=1e-10).fit(X[rows], D[rows]).predict(X) for rows in (above, below)
        )
        expected += np.where((near[:, i] > near[:, j])[:, None], first, second) / 3
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


def test_ties_between_neighbours_use_both_learners():
    X = np.array([[-1.0], [1.0]])
    D = np.array([[0.2, 0.8], [0.8, 0.2]])
    assert DFLDL(n_neighbors=2).fit(X, D).predict([[0.0]])[0, 0] == pytest.approx(0.5)


def test_pairs_without_training_rows_are_skipped():
    X, D = make_problem()
    D = np.sort(D, axis=1)[:, ::-1] + [0.02, 0.01, 0.0]  # the first label is always the largest
    D /= D.sum(axis=1, keepdims=True)
    model = DFLDL(tol=1e-10).fit(X, D)
    assert not model.pair_coef_[[2, 4, 5]].any()  # pairs (1, 0), (2, 0), (2, 1)
    expected = SABFGS(tol=1e-10).fit(X, D).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)


def test_step_functions_are_learned():
    X = np.linspace(-1.0, 1.0, 80)[:, None]
    D = np.hstack([0.5 + 0.4 * np.sign(X), 0.5 - 0.4 * np.sign(X)])
    score = DFLDL().fit(X, D).score(X, D)
    assert score > SABFGS().fit(X, D).score(X, D) + 0.05 > MeanLDL().fit(X, D).score(X, D) + 0.2
