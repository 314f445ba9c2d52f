"""IncomLDL and WInLDL: generic convex solver, missing degrees, invalid input."""

import cvxpy
import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from ldlearn.exceptions import InputError
from ldlearn.learning import SABFGS, IncomLDL, MeanLDL, WInLDL

BOTH = pytest.mark.parametrize("cls", [IncomLDL, WInLDL])


def make_problem(n=60, missing=0.4, noise=0.02, seed=0):
    """Degrees linear in the features, some of them missing, and the complete ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Z = 0.25 + 0.05 * X @ rng.normal(size=(3, 4)) + noise * rng.normal(size=(n, 4))
    D = np.maximum(Z, 0.0)
    D /= D.sum(axis=1, keepdims=True)
    partial = np.where(rng.uniform(size=D.shape) < missing, np.nan, D)
    single = np.isnan(partial).sum(axis=1) == 1
    partial[single] = D[single]  # a single missing degree would follow from the others
    return X, D, partial


def minimum(X, D, weights, penalty):
    W, b = cvxpy.Variable((X.shape[1], D.shape[1])), cvxpy.Variable((1, D.shape[1]))
    Z = X @ W + np.ones((len(X), 1)) @ b
    squares = cvxpy.sum(cvxpy.multiply(weights, cvxpy.square(Z - np.nan_to_num(D))))
    constraints = [Z >= 0, cvxpy.sum(Z, axis=1) == 1]
    return cvxpy.Problem(cvxpy.Minimize(squares / 2 + penalty(X, W)), constraints).solve(
        solver=cvxpy.CLARABEL
    )


# Noise of 0.3 gives degrees of 0: there the constraints of the simplex are active.
@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize(
    ("model", "penalty"),
    [
        (IncomLDL(alpha=0.1, l2=0.0, tol=1e-9), lambda X, W: 0.1 * cvxpy.normNuc(X @ W)),
        (
            IncomLDL(alpha=0.1, l2=2.0, tol=1e-9),
            lambda X, W: 0.1 * cvxpy.normNuc(cvxpy.vstack([X @ W, 6**0.5 * W])),
        ),
        (WInLDL(l2=0.05, tol=1e-9), lambda X, W: 0.05 * 3 * cvxpy.sum_squares(W)),
    ],
    ids=["IncomLDL without l2", "IncomLDL", "WInLDL"],
)
def test_minimum_matches_a_convex_solver(model, penalty, noise):
    X, _, D = make_problem(n=20, noise=noise)
    X = StandardScaler().fit_transform(X)
    known = ~np.isnan(D)
    weights = (
        np.where(known, 4.0 ** (1.0 - np.nan_to_num(D)), 0.0)
        if isinstance(model, WInLDL)
        else known
    )
    model.fit(X, D)
    assert model.objective_ == pytest.approx(minimum(X, D, weights, penalty), rel=1e-5)
    Z = X @ model.coef_.T + model.intercept_
    assert Z.min() > -1e-6
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=1e-6)


def test_default_penalty_is_the_largest_singular_value_of_noise():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(200, 30)), rng.dirichlet(np.full(5, 20.0), size=200)
    model = IncomLDL(l2=0.0).fit(X, D)
    basis = np.linalg.svd(StandardScaler().fit_transform(X), full_matrices=False)[0]
    assert model.alpha_ == pytest.approx(
        np.linalg.norm(basis.T @ (D - D.mean(axis=0)), 2), rel=0.15
    )
    D[::2, 1:4] = np.nan
    known = ~np.isnan(D)
    E = np.where(known, D - np.nanmean(D, axis=0), 0.0)
    assert IncomLDL(l2=0.0).fit(X, D).alpha_ == pytest.approx(
        np.linalg.norm(basis.T @ E, 2), rel=0.15
    )


@BOTH
def test_incomplete_degrees_are_nearly_as_good_as_complete_ones(cls):
    X, D, partial = make_problem(n=300)
    train, test = slice(0, 200), slice(200, 300)
    constant = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    complete, incomplete = (
        cls().fit(X[train], T[train]).score(X[test], D[test]) for T in (D, partial)
    )
    assert incomplete > constant + 0.03
    assert incomplete == pytest.approx(complete, abs=0.01)


@BOTH
def test_single_missing_degree_follows_from_the_others(cls):
    X, D, _ = make_problem(n=30)
    single = D.copy()
    single[np.arange(30), np.arange(30) % 4] = np.nan
    np.testing.assert_allclose(
        cls().fit(X, single).predict(X), cls().fit(X, D).predict(X), atol=1e-9
    )


@BOTH
def test_known_degrees_that_sum_to_one_raise(cls):
    X, D, _ = make_problem(n=30)
    D[4] = [0.9, 0.6, np.nan, np.nan]
    with pytest.raises(InputError, match=r"row 4 of y .*sums to 1\.5"):
        cls().fit(X, D)
    D[4] = [-0.1, 0.6, np.nan, np.nan]
    with pytest.raises(InputError, match="must not be negative"):
        cls().fit(X, D)


def test_other_learners_raise_and_suggest_alternatives():
    X, _, partial = make_problem(n=30)
    with pytest.raises(InputError, match=r"SABFGS needs every degree.* IncomLDL"):
        SABFGS().fit(X, partial)


def test_small_known_degrees_have_larger_weights():
    """Two equal rows disagree: their weighted mean is predicted, weights 4^(1 - d)."""
    X, D = np.zeros((2, 1)), np.array([[0.0, 1.0], [0.6, 0.4]])
    weights = 4.0 ** (1.0 - D)
    # On the simplex z_2 = 1 - z_1: the residuals of both labels are those of the first.
    expected = np.average(D[:, 0], weights=weights.sum(axis=1))
    assert WInLDL(tol=1e-9).fit(X, D).predict(X)[0, 0] == pytest.approx(expected, abs=1e-6)
