"""The released code does not solve the problem that the paper states; DLDL does."""

import numpy as np
import pytest
from reference.released_code import (
    first_distributions,
    laplacian,
    projected,
    released_code,
    softmax,
)
from scipy.optimize import minimize
from shared_data import shared_file

from ldlearn import DLDL
from ldlearn.core import binarize
from ldlearn.datasets import make_label_distributions, read_dataset
from ldlearn.metrics import chebyshev, intersection

WEIGHTS = {"alpha": 0.1, "beta": 0.1, "gamma": 1.0}
N_NEIGHBORS, SIGMA = 20, 20.0
DATA = make_label_distributions(240, 8, 6, sparsity=0.4, imbalance=4.0, random_state=0)
X, D = DATA.X, DATA.D
Y = binarize(D).astype(float)
ORDER = np.random.default_rng(0).permutation(len(X))


def stated_problem(X, Y):
    """DLDL in the setting of the paper."""
    model = DLDL(
        **WEIGHTS,
        n_neighbors=N_NEIGHBORS,
        sigma=SIGMA,
        fit_intercept=False,
        init="pseudo",
        tol=1e-9,
    )
    return model.fit(X, Y)


@pytest.fixture(scope="module")
def released():
    return released_code(X, Y, **WEIGHTS)


@pytest.fixture(scope="module")
def ours():
    return stated_problem(X, Y)


def optimality(D, W, G):
    """Largest violation of the conditions of the D-step: D is the row-wise softmax of ln P - 2
    alpha G D - 2 beta D over the positive labels.
    """
    logits = np.log(softmax(X @ W)) - 2 * WEIGHTS["alpha"] * G @ D - 2 * WEIGHTS["beta"] * D
    return np.abs(D - softmax(np.where(Y > 0, logits, -np.inf))).max()


def dense_laplacian(A):
    A = A.toarray()
    return np.diag(A.sum(axis=1)) - A


class TestEmulation:
    def test_projection_is_the_nearest_distribution(self):
        rng = np.random.default_rng(1)
        for _ in range(5):
            point, allowed = rng.normal(size=4), np.array([1.0, 0.0, 1.0, 1.0])
            found = projected(point, allowed)
            best = minimize(
                lambda p, point=point: ((p - point) ** 2).sum(),
                allowed / 3,
                bounds=[(0, a) for a in allowed],
                constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
                method="SLSQP",
                options={"ftol": 1e-12},
            )
            np.testing.assert_allclose(found, best.x, atol=1e-4)

    def test_first_distributions_are_projected_label_counts(self):
        """Closed form of its start: class counts over 3001, twice, independent of the features."""
        found = first_distributions(laplacian(X, N_NEIGHBORS, SIGMA), Y, WEIGHTS["alpha"])
        expected = [projected(2 * Y.sum(axis=0) / 3001, y) for y in Y]
        np.testing.assert_allclose(found, expected, atol=1e-3)

    def test_recovers_what_the_original_recovers(self):
        """A run of the original under Octave on these rows gave 0.2766 and 0.7003."""
        data = read_dataset(shared_file("datasets/SCUT_FBP.mat"))
        X, D = data.X[:900], data.D[:900]
        found = released_code(
            X, binarize(D).astype(float), alpha=0.1, beta=0.001, gamma=0.01
        ).recovered
        assert chebyshev(D, found) == pytest.approx(0.2766, abs=5e-4)
        assert intersection(D, found) == pytest.approx(0.7003, abs=5e-4)


class TestReleasedCode:
    def test_hardly_depends_on_the_features(self, released):
        shuffled = released_code(X[ORDER], Y, **WEIGHTS).recovered
        assert np.abs(shuffled - released.recovered).max() < 0.01
        assert abs(intersection(D, shuffled) - intersection(D, released.recovered)) < 0.002

    def test_depends_on_the_order_of_rows(self, released):
        reordered = released_code(X[ORDER], Y[ORDER], **WEIGHTS).recovered
        assert np.abs(reordered - released.recovered[ORDER]).max() > 2e-4

    def test_is_not_optimal(self, released):
        assert (
            optimality(released.recovered, released.weights, laplacian(X, N_NEIGHBORS, SIGMA)) > 0.1
        )

    def test_two_copies_of_the_degrees_differ(self, released):
        """The stated stopping rule is a largest difference of 0.001."""
        assert np.abs(released.recovered - released.target).max() > 0.1


class TestOurs:
    def test_depends_on_the_features(self, ours):
        shuffled = stated_problem(X[ORDER], Y).label_distributions_
        assert np.abs(shuffled - ours.label_distributions_).max() > 0.1
        assert intersection(D, ours.label_distributions_) > intersection(D, shuffled) + 0.05

    def test_does_not_depend_on_the_order_of_rows(self, ours):
        reordered = stated_problem(X[ORDER], Y[ORDER]).label_distributions_
        np.testing.assert_allclose(reordered, ours.label_distributions_[ORDER], atol=1e-6)

    def test_is_optimal(self, ours):
        assert (
            optimality(ours.label_distributions_, ours.coef_.T, dense_laplacian(ours.graph_)) < 1e-5
        )
        assert ours.gap_.sum() < 1e-6
        np.testing.assert_array_equal(ours.label_distributions_[Y == 0], 0)
