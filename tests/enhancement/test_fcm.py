"""FCM: the clustering's optimality, the composition and the warning of collapse."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.spatial.distance import cdist
from sjaffe import assert_recovery, sjaffe

from ldlearn.enhancement import FCM


def fitted(X, Y, **params):
    return FCM(**{"n_clusters": 4, "b": 1.5, "random_state": 0, "max_iter": 2000, **params}).fit(X, Y)


@pytest.mark.parametrize("b", [1.3, 2.0])
def test_memberships_and_centres_minimise_the_objective_over_each_other(b):
    X, _, Y = make_problem()
    model = fitted(X, Y, b=b, n_clusters=3)
    U, centres = model.memberships_, model.cluster_centers_
    assert model.n_iter_ < 2000
    np.testing.assert_allclose(U.sum(axis=1), 1.0)
    # Stationarity under sum_k u_ik = 1: the derivatives b u^(b-1) |x - mu|^2 of a row are equal.
    slope = U ** (b - 1) * cdist(X, centres, "sqeuclidean")
    np.testing.assert_allclose(slope, np.broadcast_to(slope[:, :1], slope.shape), rtol=1e-5)
    weights = U**b
    np.testing.assert_allclose(weights.T @ X / weights.sum(axis=0)[:, None], centres, atol=1e-5)
    assert model.objective_ == pytest.approx(np.sum(weights * cdist(X, centres, "sqeuclidean")))


def test_the_objective_never_rises():
    X, _, Y = make_problem()
    found = [fitted(X, Y, max_iter=k).objective_ for k in range(1, 30)]
    assert (np.diff(found) <= 1e-12 * found[0]).all()
    assert found[-1] < 0.9 * found[0]


def test_associations_and_max_product_by_loops():
    X, _, Y = make_problem()
    model = fitted(X, Y)
    U = model.memberships_
    A = Y.T @ U
    A = A / A.sum(axis=0)
    A = A / A.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.associations_, A)
    F = [[max(A[label, k] * U[i, k] for k in range(4)) for label in range(5)] for i in range(len(X))]
    np.testing.assert_allclose(model.scores_, F)


def test_one_cluster_gives_uniform_degrees_not_label_frequencies():
    X, _, Y = make_problem()
    np.testing.assert_allclose(fitted(X, Y, n_clusters=1).label_distributions_, 0.2)


def test_a_label_that_never_occurs_gets_nothing():
    X, _, Y = make_problem()
    Y[:, 2] = 0
    Y[Y.sum(axis=1) == 0, 0] = 1
    assert (fitted(X, Y).label_distributions_[:, 2] == 0).all()


def test_a_row_on_a_centre_belongs_to_it_alone():
    X = np.array([[0.0], [0.0], [0.0], [9.0], [9.0]])
    U = fitted(X, np.ones((5, 2)), n_clusters=2).memberships_
    np.testing.assert_allclose(np.sort(U, axis=1), [[0, 1]] * 5, atol=1e-9)


def test_clusters_are_found():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.repeat(centres, 20, axis=0) + 0.3 * rng.normal(size=(60, 2))
    Y = np.repeat(np.eye(3, dtype=int), 20, axis=0)
    D = fitted(X, Y, n_clusters=3, random_state=1).label_distributions_
    assert (D[Y == 1] > 0.99).all()


def test_default_number_of_clusters_is_ten_a_label():
    X, _, Y = make_problem(c=2)
    assert FCM(random_state=0, b=1.2).fit(X, Y).memberships_.shape == (40, 20)


def test_collapse_is_told():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 200)), np.ones((60, 3))
    with pytest.warns(UserWarning, match=r"memberships of FCM collapsed .* b nearer to 1 than 2"):
        D = FCM(random_state=0).fit_enhance(X, Y)
    np.testing.assert_allclose(D, 1 / 3, atol=1e-3)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_identical_rows_do_not_warn(n_clusters):
    np.testing.assert_allclose(
        fitted(np.ones((4, 2)), np.ones((4, 2)), n_clusters=n_clusters).label_distributions_, 0.5
    )


def test_reference_numbers():
    # Depends on the seed: what is tested is that it is near the reference, itself near uniform.
    data = sjaffe()
    recovered = FCM(n_clusters=60, random_state=0).fit_enhance(data.X, data.Y)
    assert_recovery(recovered, ".119 .421 .884 .072 .932 .849", tolerance=0.02)
