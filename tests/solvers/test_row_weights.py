"""Sample weights and unknown labels in the solvers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from ldlearn.core import knn_graph, laplacian, log_softmax, normalize_rows, softmax
from ldlearn.core.scaling import column_moments
from ldlearn.core.votes import (
    competing_votes,
    expected_votes,
    label_weights,
    log_likelihood,
    profile_log_rate,
)
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import loss_and_gradient, softmax_regression
from ldlearn.solvers.vote_regression import vote_regression

CONTAINERS = pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"]
)


def weighted_rows(seed=0, n=40, m=4, c=5):
    """Features, distributions, labels, and integer sample weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * [1.0, 1.0, 0.1, 10.0] + [0.0, 3.0, 0.0, 1e4]
    X[:, 2] *= rng.random(n) < 0.4
    Z = np.column_stack([X[:, 0], X[:, 1] - 3.0, X[:, 2], (X[:, 3] - 1e4) / 10.0]) @ rng.normal(
        size=(m, c)
    )
    D = softmax(Z + rng.normal(size=(n, c)))
    Y = rng.random((n, c)) < np.minimum(2.0 * D, 1.0)
    Y[np.arange(n), D.argmax(axis=1)] = True
    return X, D, Y, rng.integers(1, 4, size=n)


@CONTAINERS
def test_weighted_moments_equal_those_of_repeated_rows(container):
    X, _, _, w = weighted_rows()
    mean, squares = column_moments(container(X), w.astype(float))
    repeated = np.repeat(X, w, axis=0)
    np.testing.assert_allclose(mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        squares, ((repeated - repeated.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-9
    )


@CONTAINERS
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l2", [0.5, 0.0])
def test_softmax_regression_with_weights_is_that_of_repeated_rows(container, fit_intercept, l2):
    X, D, _, w = weighted_rows()
    if not fit_intercept:
        X = X / [1.0, 1.0, 1.0, 1e4]
    given = softmax_regression(
        CentredMatrix(container(X), fit_intercept, w.astype(float)), D, l2=l2, tol=1e-12
    )
    again = CentredMatrix(container(np.repeat(X, w, axis=0)), fit_intercept)
    repeated = softmax_regression(again, np.repeat(D, w, axis=0), l2=l2, tol=1e-12)
    assert given.converged
    assert given.loss == pytest.approx(repeated.loss, rel=1e-10)
    np.testing.assert_allclose(
        softmax(given.logits), softmax(X @ repeated.coef + repeated.intercept), atol=1e-6
    )
    if l2:
        # The certificate is of the weighted problem: it bounds the distance to the other solution.
        assert 0.0 <= given.gap <= 1e-12 * w.sum()


def test_gradient_of_the_weighted_loss():
    X, D, _, w = weighted_rows()
    features = CentredMatrix(X, True, w.astype(float))
    rng = np.random.default_rng(1)
    W, b, dW, db = (
        rng.normal(size=(4, 5)),
        rng.normal(size=5),
        rng.normal(size=(4, 5)),
        rng.normal(size=5),
    )
    _, gW, gb = loss_and_gradient(features, D, 0.3, W, b)
    ahead, behind = (
        loss_and_gradient(features, D, 0.3, W + s * dW, b + s * db)[0] for s in (1e-6, -1e-6)
    )
    assert (ahead - behind) / 2e-6 == pytest.approx(np.vdot(gW, dW) + gb @ db, rel=1e-6)


def test_vote_regression_with_weights_is_that_of_repeated_rows():
    X, _, Y, w = weighted_rows()
    offset = np.log(np.random.default_rng(2).integers(1, 9, size=len(X)))
    many = np.repeat(offset, w)
    options = {"l2": 0.5, "tol": 1e-13}
    given = vote_regression(CentredMatrix(X, True, w.astype(float)), Y, offset=offset, **options)
    repeated = vote_regression(
        CentredMatrix(np.repeat(X, w, axis=0)), np.repeat(Y, w, axis=0), offset=many, **options
    )
    assert given.loss == pytest.approx(repeated.loss, rel=1e-10)
    assert given.log_rate == pytest.approx(repeated.log_rate, abs=1e-5)
    np.testing.assert_allclose(given.coef, repeated.coef, atol=1e-5)


def test_unknown_labels_are_left_out_of_the_vote_likelihood():
    """The stated objective over the known entries alone, by a generic solver."""
    X, _, Y, w = weighted_rows(n=60)
    X = X / [1.0, 1.0, 1.0, 1e4]
    observed = np.random.default_rng(3).random(Y.shape) < 0.7
    centred, c, m = X - np.average(X, axis=0, weights=w), Y.shape[1], X.shape[1]

    def objective(v):
        W, b, rate = v[: m * c].reshape(m, c), v[m * c : -1], v[-1]
        votes = [np.exp(rate) * softmax(R) for R in (centred @ W + b, b[None])]
        logs = np.where(Y, np.log1p(-np.exp(-votes[0])), -votes[0])
        half = 0.5 * np.log1p(-np.exp(-votes[1])) - 0.5 * votes[1]
        return -float((w[:, None] * observed * logs).sum() + half.sum()) + 0.5 * float(np.sum(W**2))

    features = CentredMatrix(X, True, w.astype(float))
    fit, other = (
        vote_regression(features, stored, l2=0.5, observed=observed, tol=1e-13)
        for stored in (Y, Y ^ ~observed)
    )
    found = minimize(objective, np.zeros(m * c + c + 1), method="BFGS", options={"gtol": 1e-4})
    assert fit.loss == pytest.approx(found.fun, rel=1e-5)
    assert fit.loss <= found.fun + 1e-6
    np.testing.assert_array_equal(fit.coef, other.coef)  # independent of the stored value


def test_rate_of_known_labels():
    _, D, Y, w = weighted_rows()
    observed = np.random.default_rng(3).random(Y.shape) < 0.7
    rate = profile_log_rate(np.log(D), Y, weights=label_weights(w.astype(float), observed))
    values = [
        w @ log_likelihood(np.log(D) + rate + s, Y, observed=observed) for s in (-1e-3, 0.0, 1e-3)
    ]
    assert values[1] > max(values[0], values[2])
    everywhere = profile_log_rate(np.log(D), Y, weights=label_weights(w.astype(float), None))
    assert everywhere == pytest.approx(
        profile_log_rate(*(np.repeat(A, w, axis=0) for A in (np.log(D), Y))), abs=1e-6
    )
    assert everywhere != pytest.approx(rate, abs=1e-3)


def test_expected_votes_of_an_unknown_label_are_those_without_its_label():
    rng = np.random.default_rng(0)
    theta = competing_votes(rng.normal(size=(1, 3)), np.log(4.0))
    draws = rng.poisson(np.exp(theta), size=(200_000, 3))
    seen = draws[(draws[:, 0] > 0) & (draws[:, 1] == 0)]  # the third is unknown
    votes = expected_votes(theta, np.array([[True, False, False]]), np.array([[True, True, False]]))
    np.testing.assert_allclose(votes[0], seen.mean(axis=0), atol=0.05)
    assert votes[0, 1] == 0.0


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_weighted_d_step_matches_a_generic_convex_solver(alpha):
    cp = pytest.importorskip("cvxpy")
    X, _, Y, _ = weighted_rows(n=12)
    rng = np.random.default_rng(0)
    L, G = log_softmax(2.0 * rng.normal(size=Y.shape)), laplacian(knn_graph(X[:, :2], 3))
    w = rng.choice([0.2, 1.0, 3.0], size=len(L))
    x = cp.Variable(L.shape, nonneg=True)
    row_terms = [
        w[i] * (-cp.sum(cp.entr(x[i])) - L[i] @ x[i] + 0.7 * cp.sum_squares(x[i]))
        for i in range(len(L))
    ]
    values, vectors = np.linalg.eigh(G.toarray())
    graph = cp.sum_squares((np.sqrt(np.maximum(values, 0.0)) * vectors).T @ x)
    constraints = [cp.sum(x, axis=1) == 1, x[~Y] == 0]
    problem = cp.Problem(cp.Minimize(sum(row_terms) + alpha * graph), constraints)
    problem.solve(solver=cp.CLARABEL)
    found = newton_simplex(
        L, Y, laplacian=alpha * G if alpha else None, beta=0.7, sample_weight=w, tol=1e-10
    )
    assert found.converged
    assert found.objective == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(found.D, normalize_rows(np.maximum(x.value, 0.0) * Y), atol=2e-3)
    if alpha == 0.0:  # then weights equal repeated rows
        np.testing.assert_allclose(found.D, newton_simplex(L, Y, beta=0.7, tol=1e-10).D, atol=1e-4)
