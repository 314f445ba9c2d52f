"""FCM: optimality of the clustering, composition, warning about collapse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from ldlearn.enhancement import FCM


def fitted(X, Y, **params):
    return FCM(
        **{"n_clusters": 4, "b": 1.5, "random_state": 0, "tol": 1e-8, "max_iter": 2000, **params}
    ).fit(X, Y)


def by_loops(X, Y, n_clusters, b, n_iter):
    """The definition by loops, from the initial memberships of seed 0."""
    U = np.random.RandomState(0).uniform(size=(len(X), n_clusters))
    U = U / U.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        centres = np.array([np.average(X, axis=0, weights=U[:, k] ** b) for k in range(n_clusters)])
        distances = cdist(X, centres)
        for i in range(len(X)):
            for k in range(n_clusters):
                U[i, k] = 1.0 / sum(
                    (distances[i, k] / other) ** (2.0 / (b - 1.0)) for other in distances[i]
                )
    A = Y.T @ U
    A = A / A.sum(axis=0)
    A = A / A.sum(axis=1, keepdims=True)
    F = [
        [max(A[label, k] * U[i, k] for k in range(n_clusters)) for label in range(Y.shape[1])]
        for i in range(len(X))
    ]
    return U, A, np.array(F)


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


def test_objective_never_increases():
    X, _, Y = make_problem()
    path = fitted(X, Y).objective_path_
    assert (np.diff(path) <= 1e-12 * path[0]).all()
    assert path[-1] < 0.9 * path[0]


@pytest.mark.parametrize(("n_clusters", "b", "n_iter"), [(4, 1.5, 1), (3, 2.0, 7), (6, 1.2, 12)])
def test_iterations_match_the_definition(n_clusters, b, n_iter):
    X, _, Y = make_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FCM(n_clusters=n_clusters, b=b, max_iter=n_iter, tol=0.0, random_state=0).fit(
            X + 3.0, Y
        )
    U, A, F = by_loops(X + 3.0, Y, n_clusters, b, n_iter)
    np.testing.assert_allclose(model.memberships_, U, atol=1e-8)
    np.testing.assert_allclose(model.associations_, A, atol=1e-8)
    np.testing.assert_allclose(model.scores_, F, atol=1e-8)


def test_one_cluster_gives_uniform_degrees_not_label_frequencies():
    X, _, Y = make_problem()
    np.testing.assert_allclose(fitted(X, Y, n_clusters=1).label_distributions_, 0.2)


def test_label_that_never_occurs_gets_degree_zero():
    X, _, Y = make_problem()
    Y[:, 2] = 0
    Y[Y.sum(axis=1) == 0, 0] = 1
    assert (fitted(X, Y).label_distributions_[:, 2] == 0).all()


def test_row_on_a_centre_belongs_only_to_it():
    X = np.array([[0.0], [0.0], [0.0], [9.0], [9.0]])
    U = fitted(X, np.ones((5, 2)), n_clusters=2).memberships_
    np.testing.assert_allclose(np.sort(U, axis=1), [[0, 1]] * 5, atol=1e-9)


def test_separated_clusters_are_found():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.repeat(centres, 20, axis=0) + 0.3 * rng.normal(size=(60, 2))
    Y = np.repeat(np.eye(3, dtype=int), 20, axis=0)
    D = fitted(X, Y, n_clusters=3, random_state=1).label_distributions_
    assert (D[Y == 1] > 0.99).all()


def test_default_is_ten_clusters_per_label():
    X, _, Y = make_problem(c=2)
    assert FCM(random_state=0, b=1.2).fit(X, Y).memberships_.shape == (40, 20)


def test_collapse_triggers_a_warning():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 200)), np.ones((60, 3))
    with pytest.warns(UserWarning, match=r"memberships of FCM collapsed .* b nearer to 1 than 2"):
        D = FCM(random_state=0).fit_enhance(X, Y)
    np.testing.assert_allclose(D, 1 / 3, atol=1e-3)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_identical_rows_trigger_no_warning(n_clusters):
    np.testing.assert_allclose(
        fitted(np.ones((4, 2)), np.ones((4, 2)), n_clusters=n_clusters).label_distributions_, 0.5
    )


def test_more_clusters_than_rows():
    """Each row has its own centre; empty clusters must not cause 0 / 0."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        model = FCM(random_state=0).fit(rng.normal(size=(5, 4)), np.eye(3)[rng.integers(0, 3, 5)])
        assert np.isfinite(model.memberships_).all()
        assert np.isfinite(model.cluster_centers_).all()


def test_recovery_of_clustered_rows_beats_equal_degrees():
    """Each cluster has a distribution from which the labels of its rows are sampled."""
    rng = np.random.default_rng(0)
    truth = np.array([[0.8, 0.2, 0.0], [0.0, 0.7, 0.3], [0.3, 0.0, 0.7]])
    cluster = np.repeat([0, 1, 2], 60)
    X = 8.0 * np.eye(3)[cluster] + rng.normal(size=(180, 3))
    Y = np.array(
        [np.isin(np.arange(3), rng.choice(3, size=2, p=truth[k])) for k in cluster]
    ).astype(int)
    D = fitted(X, Y, n_clusters=3, b=1.5).label_distributions_
    error = np.abs(D - truth[cluster]).sum(axis=1).mean()
    assert error < 0.6 * np.abs(1 / 3 - truth).sum(axis=1).mean()


def test_tolerance_bounds_the_last_change_of_memberships():
    X, _, Y = make_problem()
    stopped = fitted(X, Y, tol=1e-3)
    before, after = (by_loops(X, Y, 4, 1.5, k)[0] for k in (stopped.n_iter_ - 1, stopped.n_iter_))
    assert np.abs(after - before).max() <= 1e-3
    earlier = by_loops(X, Y, 4, 1.5, stopped.n_iter_ - 2)[0]
    assert np.abs(before - earlier).max() > 1e-3


def test_sample_weights_equal_repeated_rows():
    """Three distant groups: the clusters do not depend on the initial memberships."""
    rng = np.random.default_rng(0)
    group = np.arange(30) % 3
    X = 20.0 * np.eye(3)[group] + rng.normal(size=(30, 3))
    Y = np.eye(3, dtype=int)[group] | (rng.random((30, 3)) < 0.3)
    w = np.arange(30) % 4
    weighted = FCM(n_clusters=3, tol=1e-10, random_state=0).fit(X, Y, sample_weight=w)
    repeated = FCM(n_clusters=3, tol=1e-10, random_state=1).fit(
        np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0)
    )
    np.testing.assert_allclose(
        np.repeat(weighted.label_distributions_, w, axis=0),
        repeated.label_distributions_,
        atol=1e-6,
    )
    assert weighted.objective_ == pytest.approx(repeated.objective_)
