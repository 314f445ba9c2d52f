"""LP: limit of the iteration, closed forms, reference values."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from plain_versions import propagated
from sjaffe import assert_recovery, sjaffe

from ldlearn.core import resources
from ldlearn.enhancement import LP


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.95])
def test_is_the_limit_of_the_propagation(alpha):
    X, _, Y = make_problem()
    np.testing.assert_allclose(
        LP(alpha=alpha).fit(X, Y).scores_, propagated(X, Y, alpha), atol=1e-8
    )


def test_without_propagation_labels_are_unchanged():
    X, _, Y = make_problem()
    np.testing.assert_allclose(LP(alpha=0.0).fit(X, Y).scores_, Y, atol=1e-12)


def test_two_rows_in_closed_form():
    Y = np.array([[1, 0, 1], [0, 1, 1]])
    for alpha in (0.2, 0.5, 0.9):
        F = LP(alpha=alpha).fit([[0.0], [2.0]], Y).scores_
        np.testing.assert_allclose(
            F, np.array([[1, alpha], [alpha, 1]]) @ Y / (1 + alpha), atol=1e-9
        )


@pytest.mark.parametrize("sigma", [0.7, 1.0])
def test_sparse_graph_of_all_neighbours_is_the_dense_one(sigma):
    X, _, Y = make_problem()
    dense = LP(sigma=sigma).fit(X, Y).scores_
    np.testing.assert_allclose(
        LP(sigma=sigma, n_neighbors=len(X) - 1).fit(X, Y).scores_, dense, atol=1e-8
    )


@pytest.mark.parametrize("n_neighbors", [None, 1])
def test_row_far_from_all_others_keeps_its_labels(n_neighbors):
    X, _, Y = make_problem()
    X[5] = 1e3
    D = LP(n_neighbors=n_neighbors).fit_enhance(X, Y)
    np.testing.assert_allclose(D[5], Y[5] / Y[5].sum(), atol=1e-9)


def test_mean_width_gives_invariance_to_units():
    X, _, Y = make_problem()
    for n_neighbors in (None, 5):
        model = LP(sigma="mean", n_neighbors=n_neighbors)
        np.testing.assert_allclose(
            model.fit_enhance(X, Y), model.fit_enhance(1e3 * X, Y), atol=1e-8
        )
    assert np.abs(LP().fit_enhance(X, Y) - LP().fit_enhance(3 * X, Y)).max() > 0.01


def test_too_large_dense_graph_error_suggests_the_sparse_one(monkeypatch):
    X, _, Y = make_problem()
    monkeypatch.setattr(resources, "available_memory", lambda: 10_000)
    with pytest.raises(
        MemoryError, match=r"40 x 40 graph of LP .* n_neighbors=20 keeps the graph sparse"
    ):
        LP().fit(X, Y)
    LP(n_neighbors=5).fit(X, Y)


def test_reference_values():
    data = sjaffe()
    assert_recovery(LP().fit_enhance(data.X, data.Y), ".1068 .5015 1.0637 .0798 .9414 .8368")
    assert_recovery(
        LP(normalize="softmax").fit_enhance(data.X, data.Y), ".0810 .2868 .5865 .0331 .9671 .8991"
    )
