"""Tests with reference values on data that may not be redistributed, repeated on embedded data.

Instead of values of other implementations on SJAFFE, direct implementations on household budgets
are the reference; the quality required on real data sets is required here, too. So all mathematics
is tested in a clone without those files.
"""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import plain_versions as plain
import pytest
from estimator_cases import make_problem
from protocol import Split
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ldlearn import EnhanceThenLearn, MeanLDL
from ldlearn.core import binarize
from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.datasets import load_uk_budget_shares
from ldlearn.enhancement import (
    FCM,
    GLESC,
    GLLE,
    KM,
    LESC,
    LP,
    ML,
    PriorLE,
    ProjectedPriorLE,
    SoftmaxLE,
    UniformLE,
)
from ldlearn.joint import DLDL, L2
from ldlearn.learning import AABP, AAKNN, PTSVM, SABFGS, SAIIS, PTBayes
from ldlearn.metrics import intersection


@cache
def budgets(n=80):
    """Standardised features, distributions and cumulative labels of n distinct households."""
    data = load_uk_budget_shares()
    rows = np.sort(np.unique(data.X, axis=0, return_index=True)[1])[:n]
    X, D = data.X[rows], data.D[rows]
    D = (D + 1e-3) / (1 + 6e-3)  # no degree is 0, as on SJAFFE
    return (X - X.mean(axis=0)) / X.std(axis=0), D, binarize(D, rule="cumulative")


def test_baselines():
    X, _, Y = budgets()
    np.testing.assert_allclose(SoftmaxLE().fit_enhance(X, Y), plain.softmax(Y), atol=1e-12)
    np.testing.assert_allclose(UniformLE().fit_enhance(X, Y), plain.shares(Y), atol=1e-12)


def test_kernel_memberships():
    X, _, Y = budgets()
    np.testing.assert_allclose(
        KM().fit_enhance(X, Y), plain.shares(plain.kernel_memberships(X, Y)), atol=1e-8
    )


def test_label_propagation():
    X, _, Y = budgets()
    F = plain.propagated(X, Y)
    np.testing.assert_allclose(LP().fit_enhance(X, Y), plain.shares(F), atol=1e-8)
    np.testing.assert_allclose(
        LP(normalize="softmax").fit_enhance(X, Y), plain.softmax(F), atol=1e-8
    )


def test_manifold():
    X, _, Y = budgets()
    U = plain.manifold_scores(X, Y, k=7, reg=0.1)
    shifted = U - U.min(axis=1, keepdims=True)
    np.testing.assert_allclose(
        ML(reg=0.1, tol=1e-9).fit_enhance(X, Y), plain.shares(shifted), atol=1e-4
    )
    softmax = ML(reg=0.1, tol=1e-9, normalize="softmax").fit_enhance(X, Y)
    np.testing.assert_allclose(softmax, plain.softmax(U), atol=1e-4)


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_graph_laplacian(lam):
    X, _, Y = budgets()
    expected = plain.softmax(plain.smoothed(X, Y, lam, 19, 10.0))
    np.testing.assert_allclose(GLLE(lam=lam, n_neighbors=19).fit_enhance(X, Y), expected, atol=1e-8)


def test_graph_laplacian_stopped_early():
    X, _, Y = budgets()
    D = plain.smoothed(X, Y, 0.01, 19, 10.0)
    lowest = np.sum((D - Y) ** 2) + 0.01 * np.vdot(D, plain.laplacian(X, 19, 10.0) @ D)
    model = GLLE(n_neighbors=19, solver="lbfgs", max_iter=300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is the method
        scores = model.fit(X, Y).scores_
    reached = np.sum((scores - Y) ** 2) + 0.01 * np.vdot(
        scores, plain.laplacian(X, 19, 10.0) @ scores
    )
    assert model.objective_ == pytest.approx(reached)
    assert lowest < reached < 0.85 * np.sum((Y - Y.mean(axis=0)) ** 2)


def test_pseudo_distributions():
    X, _, Y = budgets()
    np.testing.assert_allclose(
        pseudo_distributions(X, Y == 1), plain.pseudo_distributions(X, Y), atol=1e-10
    )


def test_fuzzy_clusters():
    X, _, Y = budgets()
    model = FCM(n_clusters=5, b=1.5, tol=0.0, max_iter=12, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        recovered = model.fit_enhance(X, Y)
    start = np.random.RandomState(3).uniform(size=(80, 5))
    F = plain.fuzzy_clusters(X, Y, start, b=1.5, n_iter=12)
    np.testing.assert_allclose(recovered, plain.shares(F), atol=1e-8)


@pytest.mark.parametrize("orientation", ["stated", "released"])
def test_low_rank_representation(orientation):
    X, _, Y = budgets(30)
    U = np.linalg.svd((X - X.mean(axis=0)) / X.std(axis=0), full_matrices=False)[0]
    expected = plain.softmax(plain.represented(Y, U @ U.T, 2.0))
    found = LESC(beta=100.0, gamma=2.0, orientation=orientation).fit_enhance(X, Y)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("orientation", ["stated", "released"])
def test_tensor_representation(orientation):
    X, _, Y = budgets(20)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = plain.tensor_representations([Z.T, Y.T.astype(float)], beta=10.0).mean(axis=0)
    expected = plain.softmax(plain.represented(Y, C.T if orientation == "stated" else C, 10.0))
    np.testing.assert_allclose(
        GLESC(orientation=orientation).fit_enhance(X, Y), expected, atol=1e-5
    )


def test_unified_framework():
    """The degrees of L2 solve their linear system for the graph and the predictor that it ends
    with."""
    X, _, Y = budgets()
    model = L2(n_neighbors=7, fit_intercept=False, tol=1e-4, max_iter=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y)
    S, D, P = model.weights_.toarray(), model.scores_, model.predict(X)
    R = D - S @ D
    gradient = model.beta * (D - P) + model.alpha * (R - S.T @ R) + model.lam * (D - Y)
    np.testing.assert_allclose(gradient / (model.alpha + model.beta + model.lam), 0.0, atol=2e-3)
    np.testing.assert_allclose(model.label_distributions_, plain.softmax(D), atol=1e-9)


def test_maximum_entropy():
    X, D, _ = budgets()
    expected = plain.maximum_entropy(X, D)
    quick = SABFGS(l2=0.0, fit_intercept=False, tol=1e-10).fit(X, D)
    slow = SAIIS(max_iter=3000, tol=1e-12, fit_intercept=False, init="eye").fit(X, D)
    np.testing.assert_allclose(quick.predict(X), expected, atol=1e-4)
    np.testing.assert_allclose(slow.predict(X), expected, atol=1e-3)


def test_neighbours():
    X, D, _ = budgets()
    found = AAKNN(n_neighbors=4).fit(X[:60], D[:60]).predict(X[60:])
    np.testing.assert_allclose(found, plain.neighbour_means(X[:60], D[:60], X[60:], 4), atol=1e-12)


def test_gaussian_classes():
    X, D, _ = budgets()
    found = PTBayes(ridge=0.1, relative=False).fit(X, D).predict(X)
    np.testing.assert_allclose(found, plain.gaussian_classes(X, D, 0.1), atol=1e-8)


PUBLISHED = {
    "SABFGS": SABFGS(l2=0.0),
    "SAIIS": SAIIS(),
    "AAKNN": AAKNN(n_neighbors=20),
    "AABP": AABP(random_state=0),
    "PTBayes": PTBayes(),
    "PTSVM": PTSVM(random_state=0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_learner_predicts_better_than_the_mean(name):
    X, D, _ = make_problem(n=240)
    gains = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        predicted, mean = (
            m.fit(X[train], D[train]).predict(X[test]) for m in (PUBLISHED[name], MeanLDL())
        )
        gains.append(intersection(D[test], predicted) - intersection(D[test], mean))
    assert np.mean(gains) > 0.1, gains


def test_dldl_beats_the_baselines_and_two_steps_on_budgets():
    split = Split("uk_budget_shares")
    baselines = [
        baseline.fit_enhance(split.X, split.Y)
        for baseline in (UniformLE(), PriorLE(), ProjectedPriorLE())
    ]
    model, two_steps = DLDL().fit(split.X, split.Y), EnhanceThenLearn().fit(split.X, split.Y)
    recovery = intersection(split.D, model.label_distributions_)
    assert recovery > max(intersection(split.D, baseline) for baseline in baselines)
    gain = [intersection(split.D_test, m.predict(split.X_test)) for m in (model, two_steps)]
    assert gain[0] > gain[1]
