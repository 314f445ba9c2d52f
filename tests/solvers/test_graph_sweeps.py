"""Sweeps over the rows: what they promise on every graph, and that they end where Newton's method ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import xlogy

from ldlearn.core import knn_graph, laplacian, log_softmax, normalize_rows, resources
from ldlearn.core.logical import Support
from ldlearn.solvers import graph_sweeps, newton_simplex
from ldlearn.solvers.graph_sweeps import GraphSweeps, is_graph_laplacian


def problem(seed, n=25, c=4, scale=2.0):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, c)) < 0.6
    Y[:, 0] |= ~Y.any(axis=1)
    L = log_softmax(scale * rng.normal(size=(n, c)))
    return L, Y, laplacian(knn_graph(rng.normal(size=(n, 2)), 4)), rng


def sweeps_of(L, Y, G, alpha, beta, weights):
    return GraphSweeps(newton_simplex._by_multipliers, L, Support(Y), G, alpha, beta, weights)


def value(D, L, G, alpha, beta, weights):
    rows = (xlogy(D, D) - D * L + beta * D**2).sum(axis=1)
    return float(weights @ rows + alpha * np.vdot(D, G @ D))


def frank_wolfe_gap(D, Y, L, G, alpha, beta, weights):
    gradient = weights[:, None] * (np.log(np.maximum(D, 1e-300)) - L + 1.0 + 2 * beta * D) + 2 * alpha * (G @ D)
    return np.array([g[y] @ d[y] - g[y].min() for g, d, y in zip(gradient, D, Y, strict=True)])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1e-3, 0.1, 1.0, 100.0]), st.sampled_from([0.0, 0.1, 10.0]))
def test_no_sweep_raises_the_objective_and_the_certificate_holds(seed, alpha, beta):
    L, Y, G, rng = problem(seed)
    weights = rng.random(len(L)) + 0.2
    args = (L, G, alpha, beta, weights)
    D = normalize_rows(Y * rng.random(Y.shape))
    values = [value(D, *args)]
    for tol in (1e-2, 1e-4, 1e-10):
        sweep = sweeps_of(L, Y, G, alpha, beta, weights)
        sweep.run(D, tol)  # each run ends after a sweep or a few
        D = sweep.D.copy()
        values.append(value(D, *args))
        assert sweep.objective == pytest.approx(values[-1], rel=1e-10, abs=1e-10)
        assert (sweep.gap >= frank_wolfe_gap(D, Y, *args) - 1e-10 * (1.0 + alpha)).all()
        np.testing.assert_allclose(D.sum(axis=1), 1.0, atol=1e-12)
        assert (D[~Y] == 0).all()
    assert (np.diff(values) <= 1e-10 * (1.0 + np.abs(values[0]))).all()


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_they_end_where_newtons_method_ends(alpha, weighted, monkeypatch):
    L, Y, G, rng = problem(3)
    options = {"laplacian": G, "alpha": alpha, "beta": 0.3, "weights": rng.random(len(L)) + 0.2 if weighted else None}
    swept = newton_simplex.newton_simplex(L, Y, **options, tol=1e-10)
    with monkeypatch.context() as patch:
        patch.setattr(newton_simplex, "is_graph_laplacian", lambda G: False)
        newton = newton_simplex.newton_simplex(L, Y, **options, tol=1e-10)
    assert swept.converged
    assert newton.converged
    assert swept.objective == pytest.approx(newton.objective, abs=1e-9 * len(L))
    np.testing.assert_allclose(swept.D, newton.D, atol=1e-5)
    monkeypatch.setattr(resources, "thread_count", lambda: 3)
    monkeypatch.setattr(graph_sweeps, "thread_count", lambda: 3)
    np.testing.assert_allclose(newton_simplex.newton_simplex(L, Y, **options, tol=1e-10).D, swept.D, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.csc_array, sparse.lil_array, sparse.csr_array.toarray])
def test_the_laplacian_may_have_any_format(kind, monkeypatch):
    monkeypatch.setattr(graph_sweeps, "thread_count", lambda: 2)
    L, Y, G, _ = problem(4)
    expected = newton_simplex.newton_simplex(L, Y, laplacian=G, alpha=0.1).D
    np.testing.assert_allclose(
        newton_simplex.newton_simplex(L, Y, laplacian=kind(G), alpha=0.1).D, expected, atol=1e-12
    )


def test_a_weak_graph_takes_a_few_products_and_a_strong_one_is_left_to_newton():
    """A sweep is one product, and its certificate none."""
    L, Y, G, _ = problem(5)
    weak, strong = sweeps_of(L, Y, G, 1e-3, 1.0, None), sweeps_of(L, Y, G, 1e3, 0.0, None)
    assert weak.run(None, 1e-8)
    assert weak.n_products <= 5
    assert not strong.run(None, 1e-8)
    assert strong.n_products <= 4
    assert newton_simplex.newton_simplex(L, Y, laplacian=G, alpha=1e3, tol=1e-8).converged


def test_only_laplacians_of_graphs_are_swept():
    """For others rows that move at once may move too far; Newton's method takes them."""
    L, Y, G, rng = problem(7)
    B = sparse.csr_array(rng.normal(size=G.shape))
    dense = sparse.csr_array(B @ B.T)
    assert is_graph_laplacian(G)
    assert is_graph_laplacian(sparse.csr_array((5, 5)))
    assert not is_graph_laplacian(dense)
    assert not is_graph_laplacian(abs(G))
    assert not is_graph_laplacian(sparse.csr_array(G - 0.1 * sparse.eye_array(len(L))))
    found = newton_simplex.newton_simplex(L, Y, laplacian=dense, alpha=1.0, tol=1e-9)
    assert found.converged
    gap = frank_wolfe_gap(found.D, Y, L, dense, 1.0, 0.0, np.ones(len(L)))
    np.testing.assert_allclose(found.gap, gap, atol=1e-9)
