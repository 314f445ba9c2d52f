import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ldlearn.core import knn_graph, softmax
from ldlearn.theory import (
    corrected_bound,
    free_rows_complexity,
    paper_bound,
    recovery_conditions,
    row_error,
    row_minimiser,
)


def test_theorem_1_fails_on_its_counterexample():
    """W = 0 and rows of D in {e_1, uniform}, chosen by the signs: the complexity stays at ln(c) / 2."""
    rng = np.random.default_rng(0)
    n, c = 10_000, 5
    signs = rng.choice([-1, 1], size=n)
    D = np.where(signs[:, None] > 0, np.eye(c)[0], 1 / c)
    losses = np.sum(np.where(D > 0, D * np.log(np.maximum(D, 1e-300) * c), 0.0), axis=1)
    attained = np.mean(signs * losses)
    assert attained == pytest.approx(free_rows_complexity(c), abs=0.02)
    printed = paper_bound(np.zeros((4, c)), rng.uniform(-1, 1, size=(n, 4)), D)
    assert 10**printed.log10_complexity < 0.1 < attained


def test_the_confidence_term_of_theorem_2_grows_with_n():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(3, 4))
    X, D = rng.uniform(-1, 1, size=(4000, 3)), np.full((4000, 4), 0.25)
    X[0], X[1] = 1.0, -1.0  # the same extremes for both sizes
    small, large = paper_bound(W, X[:1000], D[:1000]), paper_bound(W, X, D)
    assert large.confidence_term == pytest.approx(2 * small.confidence_term)


def test_the_corrected_bound_holds_and_shrinks():
    rng = np.random.default_rng(2)
    W, X = rng.normal(size=(5, 3)) * 0.2, rng.normal(size=(4000, 5))
    small, large = corrected_bound(W, X[:1000], 3), corrected_bound(W, X, 3)
    assert large.slack < 0.7 * small.slack
    assert np.linalg.norm(W) <= large.radius < 2 * np.linalg.norm(W)
    # No target can cost more than theta.
    worst = -np.log(softmax(X @ W)).min(axis=1).max()
    assert -np.log(softmax(X @ W)).max() <= large.theta
    assert worst <= large.theta


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=5), st.floats(0.0, 20.0))
def test_the_row_problem_has_the_closed_form(k, penalty):
    k = np.array(k)

    def value(z):
        d = np.exp(z - z.max())
        d /= d.sum()
        return np.sum(k * np.square(d - np.eye(len(k))).sum(axis=1)) + penalty * np.sum(d**2)

    found = minimize(value, np.log(k / k.sum()), tol=1e-14)
    d = row_minimiser(k, penalty)
    assert d.sum() == pytest.approx(1.0)
    assert value(np.log(d)) <= found.fun + 1e-9
    np.testing.assert_allclose(row_error(k, penalty), np.abs(d - k / k.sum()), atol=1e-12)


def test_the_printed_counterexample():
    np.testing.assert_allclose(row_minimiser([9, 1], 10), [0.7, 0.3])
    np.testing.assert_allclose(row_error([9, 1], 10), 0.2)
    assert (np.diff([row_error([9, 1], p)[0] for p in (0.0, 1.0, 10.0, 100.0)]) > 0).all()


def test_conditions_are_measured_on_the_graph():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    Y = np.array([[1, 0], [1, 1], [0, 1], [1, 1], [1, 1]])
    A = knn_graph(X, 2, sigma=1.0).toarray()
    found = recovery_conditions(Y, A, alpha=2.0, beta=1.0)
    assert found.strong_share == 0.4
    assert found.penalty == 0.5
    np.testing.assert_allclose(found.weight_to_strong, A[[1, 3, 4]][:, [0, 2]].sum(axis=1))
    np.testing.assert_allclose(found.ratio[0], A[1, [3, 4]].sum() / A[1, [0, 2]].sum())
