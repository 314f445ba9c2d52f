"""ML: quadratic programmes compared with a generic solver, optimality, reference values."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from estimator_cases import make_problem
from sjaffe import assert_recovery, sjaffe

from ldlearn.core.reconstruction import reconstruction_laplacian, reconstruction_weights
from ldlearn.enhancement import ML


def test_agrees_with_a_generic_solver():
    X, _, Y = make_problem(n=30, c=3)
    signs = 2.0 * Y - 1
    M = reconstruction_laplacian(reconstruction_weights(X, 4)).toarray()
    U = cp.Variable(Y.shape)
    root = np.linalg.cholesky(M + 1e-8 * np.eye(30)).T
    cp.Problem(cp.Minimize(cp.sum_squares(root @ U)), [cp.multiply(signs, U) >= 1]).solve(
        solver=cp.CLARABEL
    )
    model = ML(tol=1e-9).fit(X, Y)
    assert model.objective_ == pytest.approx(np.sum((root @ U.value) ** 2), rel=1e-6)
    np.testing.assert_allclose(model.scores_, U.value, atol=1e-3)


def test_optimality():
    X, _, Y = make_problem(n=80)
    signs = 2.0 * Y - 1
    model = ML(n_neighbors=6, tol=1e-9).fit(X, Y)
    M = reconstruction_laplacian(reconstruction_weights(X, 6))
    gradient = signs * (M @ model.scores_)
    free = signs * model.scores_ > 1 + 1e-6
    assert free.any()
    assert not free.all()
    np.testing.assert_allclose(gradient[free], 0.0, atol=1e-6)
    assert gradient[~free].min() > -1e-6


def test_signs_and_margins_are_those_of_the_labels():
    X, _, Y = make_problem()
    for lam in (0.2, 3.0):
        U = ML(lam=lam).fit(X, Y).scores_
        np.testing.assert_array_equal(U > 0, Y == 1)
        np.testing.assert_allclose(np.abs(U).min(axis=0), lam)


def test_scores_are_proportional_to_lam():
    X, _, Y = make_problem()
    one, five = ML().fit(X, Y), ML(lam=5.0).fit(X, Y)
    np.testing.assert_allclose(five.scores_, 5 * one.scores_, rtol=1e-12)
    np.testing.assert_allclose(five.label_distributions_, one.label_distributions_, rtol=1e-9)
    assert (
        np.abs(ML(lam=5.0, normalize="softmax").fit_enhance(X, Y) - one.label_distributions_).max()
        > 0.1
    )


def test_label_of_all_rows_or_of_none_gets_the_margin():
    X, _, Y = make_problem()
    Y[:, 1], Y[:, 3] = 1, 0
    U = ML(lam=2.0).fit(X, Y).scores_
    np.testing.assert_allclose(U[:, 1], 2.0)
    np.testing.assert_allclose(U[:, 3], -2.0)


def test_recovers_labels_linear_in_the_features():
    X = np.linspace(0, 1, 30)[:, None]
    U = (
        ML(n_neighbors=2, reg=1e-9, tol=1e-10)
        .fit(X, (X > 0.4).astype(int) @ [[1, 0]] | [0, 1])
        .scores_[:, 0]
    )
    np.testing.assert_allclose(np.diff(U), np.diff(U).mean(), rtol=1e-3)


def test_too_many_neighbours_are_rejected():
    X, _, Y = make_problem(n=5)
    with pytest.raises(ValueError, match="n_neighbors=6"):
        ML().fit(X, Y)


def test_reference_values():
    # The reference run used a tiny regularisation (reg) and stopped earlier, hence the second
    # tolerance.
    data = sjaffe()
    recovered = ML(reg=1e-6).fit_enhance(data.X, data.Y)
    assert_recovery(recovered, ".1857 1.5082 - - .8579 .6655")
    assert_recovery(recovered, "- - 3.0892 - - -", tolerance=1.5e-3)
    softmax = ML(reg=1e-6, normalize="softmax").fit_enhance(data.X, data.Y)
    assert_recovery(softmax, ".1850 1.0504 2.2880 .3082 .8758 .7111")
