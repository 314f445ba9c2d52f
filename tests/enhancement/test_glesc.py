"""gLESC: solver compared with a literal loop, dependence on the order of samples, reference
values."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from plain_versions import tensor_representations
from sjaffe import assert_recovery, sjaffe
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from ldlearn.core.simplex import softmax
from ldlearn.enhancement import GLESC


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("n", [15, 16])
@pytest.mark.parametrize("beta", [0.05, 10.0])
def test_representation_matches_the_literal_algorithm(n, beta):
    X, _, Y = make_problem(n=n)
    Z = tensor_representations([standardized(X).T, Y.T.astype(float)], beta)
    model = GLESC(beta=beta).fit(X, Y)
    np.testing.assert_allclose(model.representation_, Z.mean(axis=0), atol=1e-5)
    assert np.abs(Z[0] - Z[1]).max() > 1e-3
    assert np.abs(model.representation_).max() > 1e-2


def test_equal_views_have_equal_representations():
    _, _, Y = make_problem(n=15)
    view = Y.T.astype(float)
    Z = tensor_representations([view, view], 1.0)
    np.testing.assert_allclose(Z[0], Z[1], atol=1e-10)
    model = GLESC(beta=1.0, standardize=False).fit(Y, Y)
    np.testing.assert_allclose(model.representation_, Z[0], atol=1e-5)


@pytest.mark.parametrize("orientation", ["stated", "released"])
def test_scores_solve_the_second_problem(orientation):
    X, _, Y = make_problem()
    model = GLESC(lam=2.0, orientation=orientation).fit(X, Y)
    C = model.representation_.T if orientation == "stated" else model.representation_
    R = np.eye(len(X)) - C
    expected = softmax(np.linalg.solve(np.eye(len(X)) + 2.0 * R.T @ R, Y.astype(float)))
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-8)


def test_without_smoothing_it_is_the_softmax_of_the_labels():
    X, _, Y = make_problem()
    np.testing.assert_allclose(
        GLESC(lam=0.0).fit_enhance(X, Y), softmax(Y.astype(float)), atol=1e-12
    )


@pytest.mark.parametrize("orientation", ["stated", "released"])
def test_only_cyclic_shifts_of_the_samples_commute_with_the_fit(orientation):
    X, _, Y = make_problem()
    model = GLESC(orientation=orientation)
    straight = model.fit_enhance(X, Y)
    shifted = model.fit_enhance(np.roll(X, 7, axis=0), np.roll(Y, 7, axis=0))
    np.testing.assert_allclose(shifted, np.roll(straight, 7, axis=0), atol=1e-6)
    order = np.random.default_rng(0).permutation(len(X))
    assert np.abs(model.fit_enhance(X[order], Y[order]) - straight[order]).max() > 1e-3
    assert not get_tags(GLESC()).order_invariant


def test_memory_is_checked_first(monkeypatch):
    X, _, Y = make_problem()
    monkeypatch.setattr("ldlearn.core.resources.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"40 x 40 representations.*LESC"):
        GLESC().fit(X, Y)


def test_too_few_iterations_trigger_a_warning():
    X, _, Y = make_problem()
    with pytest.warns(ConvergenceWarning, match="GLESC stopped after 3 iterations"):
        GLESC(max_iter=3).fit(X, Y)


def test_reference_values_depend_on_the_order_of_samples():
    data = sjaffe()
    model = GLESC(orientation="released")
    assert_recovery(model.fit_enhance(data.X, data.Y), ".0752 .3057 .6305 .0349 .9677 .8951")
    order = np.random.default_rng(0).permutation(len(data.X))
    shuffled = np.empty_like(data.D)
    shuffled[order] = model.fit_enhance(data.X[order], data.Y[order])
    # Shuffled, most of the gain over softmax(Y) = .8711 is gone.
    assert np.minimum(shuffled, data.D).sum(axis=1).mean() < 0.882
