"""The D-step: generic convex solver, certificate, limit cases."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.admm import admm_simplex
from scipy import sparse
from scipy.special import wrightomega, xlogy

from ldlearn.core import knn_graph, laplacian, log_softmax, normalize_rows, resources, softmax
from ldlearn.solvers import newton_simplex as newton_simplex_module
from ldlearn.solvers.newton_simplex import Support, _log_omega, newton_simplex


def random_problem(seed, n=12, c=5, scale=2.0):
    """Rows with one positive, with all, isolated nodes and a hub."""
    rng = np.random.default_rng(seed)
    L = log_softmax(scale * rng.normal(size=(n, c)))
    Y = rng.random((n, c)) < 0.6
    Y[np.arange(n), rng.integers(c, size=n)] = True
    Y[0] = False
    Y[0, rng.integers(c)] = True
    Y[1] = True
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    A[2, 3:] = rng.random(n - 3)  # a hub
    A[:, -1] = A[-1, :] = 0.0  # an isolated node
    A = A + A.T
    return L, Y, laplacian(sparse.csr_array(A))


def graph_penalty(G, alpha):
    return alpha * G if alpha > 0 else None


def objective(D, L, G, alpha, beta):
    return float(
        xlogy(D, D).sum()
        - np.sum(D * L)
        + alpha * np.sum(D * (G @ D))
        + np.sum(beta * (D * D).sum(axis=1))
    )


def clarabel(L, Y, G, alpha, beta):
    """The same problem in the entries of the support alone, by an interior-point method."""
    cp = pytest.importorskip("cvxpy")
    rows, _ = np.nonzero(Y)
    x = cp.Variable(len(rows), nonneg=True)
    row_sums = sparse.csr_array(
        (np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(len(L), len(rows))
    )
    value = -cp.sum(cp.entr(x)) - L[Y] @ x + beta * cp.sum_squares(x)
    if alpha > 0:
        values, vectors = np.linalg.eigh(
            np.kron(G.toarray(), np.eye(L.shape[1]))[np.ix_(Y.ravel(), Y.ravel())]
        )
        value += alpha * cp.sum_squares((np.sqrt(np.maximum(values, 0.0)) * vectors).T @ x)
    problem = cp.Problem(cp.Minimize(value), [row_sums @ x == 1])
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # its accuracy depends on the processor and is checked below
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    D = np.zeros_like(L)
    D[Y] = np.maximum(x.value, 0.0)
    return normalize_rows(D)


GRID = [(a, b) for a in (0.0, 1e-3, 1e-1, 1.0, 1e2) for b in (0.0, 1e-3, 1.0, 10.0)]


@pytest.mark.parametrize(("alpha", "beta"), GRID)
def test_equals_a_generic_convex_solver(alpha, beta):
    """By Pinsker's inequality a row's distance to the optimum is at most sqrt(2 (U - min U)) in the
    sum of entries."""
    for seed in range(2):
        L, Y, G = random_problem(seed + 17)
        found = newton_simplex(L, Y, laplacian=graph_penalty(G, alpha), beta=beta, tol=1e-10)
        theirs = clarabel(L, Y, G, alpha, beta)
        excess = objective(theirs, L, G, alpha, beta) - found.objective
        assert -found.gap.sum() - 1e-12 * abs(found.objective) <= excess <= 1e-5 * (1.0 + alpha)
        apart = np.abs(found.D - theirs).sum(axis=1)
        assert (apart**2).sum() <= 4.0 * (max(excess, 0.0) + 2.0 * found.gap.sum()) + 1e-12
        assert found.converged
        assert (found.D[~Y] == 0).all()
        np.testing.assert_allclose(found.D.sum(axis=1), 1.0, atol=1e-12)
        assert found.objective == pytest.approx(
            objective(found.D, L, G, alpha, beta), rel=1e-10, abs=1e-9
        )


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.0, 1e-3, 0.1, 1.0, 100.0]),
    st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    st.integers(0, 6),
)
def test_gap_bounds_the_suboptimality_at_every_iterate(seed, alpha, beta, n_steps):
    L, Y, G = random_problem(seed, scale=5.0)
    problem = {"laplacian": graph_penalty(G, alpha), "beta": beta}
    best = newton_simplex(L, Y, **problem, tol=1e-12)
    start = normalize_rows(Y * np.random.default_rng(seed).random(Y.shape))
    stopped = newton_simplex(L, Y, **problem, tol=1e-15, max_iter=n_steps, start=start)
    assert best.gap.sum() <= 1e-8
    assert (stopped.gap >= -1e-12).all()
    assert stopped.gap.sum() >= stopped.objective - best.objective - 1e-10
    assert stopped.objective <= objective(start, L, G, alpha, beta) + 1e-10


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    st.sampled_from([0.0, 0.1, 10.0]),
)
def test_optimality_condition_and_iteration_count(seed, alpha, beta):
    """D = rownorm(Y * P * exp(-(2 alpha G D + 2 beta D))), reached in a few iterations however hard
    the problem."""
    L, Y, G = random_problem(seed, n=30, scale=4.0)
    found = newton_simplex(L, Y, laplacian=graph_penalty(G, alpha), beta=beta, tol=1e-10)
    fixed_point = softmax(L - 2 * alpha * (G @ found.D) - 2 * beta * found.D, Y)
    np.testing.assert_allclose(found.D, fixed_point, atol=1e-4)
    assert found.converged
    assert found.n_iter <= 15


def frank_wolfe_gap(D, Y, L, G, alpha, beta):
    """``<g, d> - min g`` over the support of each row, from the definition."""
    gradient = np.log(np.maximum(D, 1e-300)) - L + 1.0 + 2.0 * alpha * (G @ D) + 2.0 * beta * D
    return np.array([g[y] @ d[y] - g[y].min() for g, d, y in zip(gradient, D, Y, strict=True)])


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (0.0, 2.0), (0.5, 0.1)])
def test_gap_is_the_frank_wolfe_gap(alpha, beta):
    L, Y, G = random_problem(4)
    start = normalize_rows(Y * np.random.default_rng(4).random(Y.shape))
    for n_steps in (0, 1):
        problem = {"laplacian": graph_penalty(G, alpha), "beta": beta, "start": start}
        found = newton_simplex(L, Y, **problem, max_iter=n_steps, tol=1e-15)
        np.testing.assert_allclose(
            found.gap, frank_wolfe_gap(found.D, Y, L, G, alpha, beta), rtol=1e-9, atol=1e-13
        )


def test_better_of_start_and_prior_is_used():
    L, Y, G = random_problem(6, scale=3.0)
    prior = normalize_rows(np.exp(L) * Y)
    bad = normalize_rows(np.exp(-3.0 * L) * Y)
    good = newton_simplex(L, Y, laplacian=G, beta=1.0).D
    for start, expected in ((bad, prior), (good, good)):
        found = newton_simplex(L, Y, laplacian=G, beta=1.0, start=start, max_iter=0)
        np.testing.assert_allclose(found.D, expected, atol=1e-12)
        assert found.objective <= objective(start, L, G, 1.0, 1.0) + 1e-9


def test_better_start_is_chosen_per_row_without_graph():
    L, Y, _ = random_problem(6, scale=3.0)
    prior, bad = normalize_rows(np.exp(L) * Y), normalize_rows(np.exp(-3.0 * L) * Y)
    good = newton_simplex(L, Y, beta=1.0).D
    alternating = np.arange(len(L))[:, None] % 2 == 1
    found = newton_simplex(L, Y, beta=1.0, start=np.where(alternating, bad, good), max_iter=0)
    np.testing.assert_allclose(found.D, np.where(alternating, prior, good), atol=1e-12)


# Seed, rows, labels, scale of the logarithms, alpha, beta, power of the start: a full step from
# there goes up.
STEEP = [
    (594556, 4, 12, 200.0, 1000.0, 0.0, 40),
    (123594, 4, 12, 30.0, 1000.0, 0.0, 5),
    (447311, 4, 12, 30.0, 1000.0, 0.1, 40),
    (893200, 6, 5, 30.0, 100.0, 0.1, 5),
    (819987, 12, 12, 200.0, 0.0, 300.0, 5),
    (53338, 6, 5, 200.0, 0.0, 300.0, 40),
]


def steep_problem(seed, n, c, scale, power):
    L, Y, G = random_problem(seed, n=n, c=c, scale=scale)
    return L, Y, G, normalize_rows(Y * np.random.default_rng(seed).random(Y.shape) ** power)


@pytest.mark.parametrize(("seed", "n", "c", "scale", "alpha", "beta", "power"), STEEP)
def test_objective_never_increases(seed, n, c, scale, alpha, beta, power):
    L, Y, G, start = steep_problem(seed, n, c, scale, power)
    values = [
        newton_simplex(
            L, Y, laplacian=graph_penalty(G, alpha), beta=beta, start=start, tol=1e-10, max_iter=k
        ).objective
        for k in range(15)
    ]
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()


def test_rows_are_independent_without_graph():
    """Some rows need shorter steps, which must not affect the others."""
    L, Y, _, start = steep_problem(819987, 12, 12, 200.0, 5)
    for k in range(1, 4):
        together = newton_simplex(L, Y, beta=300.0, start=start, tol=1e-15, max_iter=k)
        for i in range(len(L)):
            alone = newton_simplex(
                L[[i]], Y[[i]], beta=300.0, start=start[[i]], tol=1e-15, max_iter=k
            )
            np.testing.assert_allclose(together.D[i], alone.D[0], atol=1e-9)


@pytest.mark.parametrize("beta", [1e4, 1e6, 1e8])
def test_large_beta_is_solved_to_tolerance(beta):
    L, Y, _ = random_problem(2)
    found = newton_simplex(L, Y, beta=beta, tol=1e-6)
    assert found.converged
    # To first order in 1 / beta: equal shares plus the deviation of L from its mean over the
    # support, over 2 beta.
    shares = normalize_rows(Y.astype(float))
    deviation = np.where(Y, L - (L * shares).sum(axis=1, keepdims=True), 0.0)
    np.testing.assert_allclose(
        found.D - shares, deviation / (2 * beta), atol=20 / beta**1.5 + 1e-14
    )


def test_no_penalty_gives_the_masked_renormalised_prior():
    L, Y, _ = random_problem(3)
    found = newton_simplex(L, Y)
    np.testing.assert_allclose(found.D, normalize_rows(np.exp(L) * Y), atol=1e-14)
    assert found.n_iter == 0


def test_rows_with_one_positive_label_are_unchanged():
    rng = np.random.default_rng(0)
    Y = np.eye(4, dtype=bool)[rng.integers(4, size=20)]
    G = laplacian(knn_graph(rng.normal(size=(20, 2)), 3))
    found = newton_simplex(log_softmax(rng.normal(size=(20, 4))), Y, laplacian=G, beta=1.0)
    np.testing.assert_array_equal(found.D, Y.astype(float))


def test_beta_per_row():
    """Without a graph each row solves ln d + 2 b d = l + nu: a Wright omega function of one
    unknown."""
    rng = np.random.default_rng(5)
    L, Y = log_softmax(3 * rng.normal(size=(15, 4))), np.ones((15, 4), dtype=bool)
    beta = rng.random(15) * 10 + 0.01
    found = newton_simplex(L, Y, beta=beta, tol=1e-13)
    nu = (np.log(found.D) + 2 * beta[:, None] * found.D - L).mean(axis=1, keepdims=True)
    q = 2 * beta[:, None]
    np.testing.assert_allclose(found.D, wrightomega(L + nu + np.log(q)) / q, atol=1e-7)


def test_inner_equation_is_solved_to_machine_precision():
    z = np.concatenate(
        [
            np.linspace(-700.0, 700.0, 20_001),
            np.linspace(-5.0, 5.0, 20_001),
            np.logspace(3, 12, 1000),
        ]
    )
    u = _log_omega(z)
    np.testing.assert_allclose(u, np.log(wrightomega(z)), rtol=1e-14, atol=1e-14)
    assert _log_omega(np.array([-1e4])) == -1e4


def test_extreme_priors_converge_without_overflow():
    L = np.array([[0.0, -1e4, -1e4], [0.0, -800.0, -3.0], [-5e3, -5e3, 0.0]])
    Y = np.array([[True, True, True], [True, True, False], [True, True, False]])
    for beta in (0.0, 0.5):
        found = newton_simplex(L, Y, beta=beta, tol=1e-10)
        assert found.converged
        assert np.isfinite(found.D).all()
        np.testing.assert_allclose(found.D.sum(axis=1), 1.0)
    np.testing.assert_allclose(newton_simplex(L, Y).D[2], [0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.0, 0.0), (0.0, 1.0), (0.01, 0.001), (1.0, 0.1), (10.0, 10.0)]
)
def test_admm_reaches_the_same_point(alpha, beta):
    L, Y, G = random_problem(8)
    D, _, converged = admm_simplex(L, Y, laplacian=graph_penalty(G, alpha), beta=beta)
    assert converged
    np.testing.assert_allclose(
        D, newton_simplex(L, Y, laplacian=graph_penalty(G, alpha), beta=beta).D, atol=1e-4
    )


def test_admm_with_the_printed_schedule_does_not_converge():
    """tau <= 0.002, as printed: far from feasible after hundreds of exact steps."""
    L, Y, G = random_problem(8)
    exact = newton_simplex(L, Y, laplacian=0.1 * G, beta=0.1).D
    D, n_iter, converged = admm_simplex(L, Y, laplacian=0.1 * G, beta=0.1, tau=0.002, max_iter=200)
    assert (n_iter, converged) == (200, False)
    assert np.abs(D - exact).max() > 1e-2


def many_rows(seed=0, n=400, c=9):
    rng = np.random.default_rng(seed)
    Y = rng.random((n, c)) < 0.4
    Y[np.arange(n), rng.integers(c, size=n)] = True
    return (
        log_softmax(3.0 * rng.normal(size=(n, c))),
        Y,
        rng.random(n) * 3.0,
        normalize_rows(Y * rng.random((n, c))),
    )


@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_threads_and_sparse_entries_give_the_same_result(n_threads, monkeypatch):
    """Row by row by the formulas for all labels at once, masked, is the plain version."""
    L, Y, beta, start = many_rows()
    problem = newton_simplex_module._SimplexProblem(L, Y, None, beta, None)
    plain = problem.solve(start, tol=1e-12, max_iter=100)
    monkeypatch.setattr(resources, "thread_count", lambda: n_threads)
    monkeypatch.setattr(newton_simplex_module, "_MAX_POSITIVES", 40)
    support = Support(Y)
    dense = newton_simplex(L, Y, beta=beta, start=start, tol=1e-12)
    few = newton_simplex(
        support.to_csr(L[Y]), support, beta=beta, start=support.to_csr(start[Y]), tol=1e-12
    )
    np.testing.assert_allclose(dense.D, plain.D, atol=1e-6)
    np.testing.assert_allclose(
        dense.gap,
        frank_wolfe_gap(dense.D, Y, L, sparse.eye_array(len(L)), 0.0, beta[:, None]),
        atol=1e-12,
    )
    assert dense.objective == pytest.approx(plain.objective, rel=1e-12)
    assert dense.converged
    np.testing.assert_array_equal(few.D.toarray(), dense.D)
    np.testing.assert_array_equal(few.gap, dense.gap)
    assert (few.objective, few.n_iter, few.converged) == (dense.objective, dense.n_iter, True)
    assert few.D.nnz == Y.sum()


@pytest.mark.parametrize("beta", [0.0, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_independent_rows_converge_quickly_from_any_start(beta, scale):
    rng = np.random.default_rng(0)
    L = log_softmax(scale * rng.normal(size=(200, 12)))
    everything = np.ones_like(L, dtype=bool)
    plain = newton_simplex(L, everything, beta=beta, tol=1e-9)
    far = normalize_rows(rng.random((200, 12)) ** 40)
    one = np.eye(12)[rng.integers(12, size=200)]  # zeros, which have no logarithm
    for start in (None, np.full((200, 12), 1 / 12), far, one):
        found = newton_simplex(L, everything, beta=beta, start=start, tol=1e-9)
        assert found.n_iter <= 15
        assert found.gap.max() <= 1e-9
        np.testing.assert_allclose(found.D, plain.D, atol=1e-4)
        assert found.objective == pytest.approx(
            objective(found.D, L, 0.0 * sparse.eye_array(200), 0.0, beta), abs=1e-8
        )
        gap = frank_wolfe_gap(found.D, everything, L, sparse.eye_array(200), 0.0, beta)
        np.testing.assert_allclose(found.gap, gap, atol=1e-9 + 1e-14 * beta)


def test_solution_of_a_row_is_independent_of_other_rows():
    L, Y, beta, start = many_rows(n=60)
    together = newton_simplex(L, Y, beta=beta, start=start, tol=1e-4).D
    for i in range(len(L)):
        alone = newton_simplex(L[[i]], Y[[i]], beta=beta[[i]], start=start[[i]], tol=1e-4).D[0]
        np.testing.assert_allclose(together[i], alone, atol=1e-12)


def test_large_beta_is_solved_to_machine_precision():
    L, Y, _, _ = many_rows()
    assert newton_simplex(L, Y, beta=1e9, tol=1e-12).gap.max() <= 1e-5


def test_unconverged_block_is_reported():
    L, Y, _, start = many_rows()
    assert not newton_simplex(L, Y, beta=1.0, start=start, tol=1e-14, max_iter=1).converged


def test_prepared_support_with_graph():
    L, Y, G = random_problem(3)
    found = newton_simplex(L, Support(Y), laplacian=G, beta=0.1)
    np.testing.assert_array_equal(found.D, newton_simplex(L, Y, laplacian=G, beta=0.1).D)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_bitwise_independent_without_graph(weighted):
    rng = np.random.default_rng(0)
    L = log_softmax(rng.normal(size=(300, 4)) * np.linspace(0.1, 8.0, 300)[:, None])
    Y = rng.random(L.shape) < 0.6
    Y[:, 0] = True
    w = rng.choice([0.5, 2.0], size=300) if weighted else None
    together = newton_simplex(L, Y, beta=2.0, sample_weight=w, tol=1e-4)
    assert together.converged
    for rows in (*(slice(k, k + 1) for k in range(0, 300, 10)), slice(0, 40), slice(40, 300)):
        alone = newton_simplex(
            L[rows], Y[rows], beta=2.0, sample_weight=None if w is None else w[rows], tol=1e-4
        )
        np.testing.assert_allclose(alone.D, together.D[rows], atol=1e-12)


@pytest.mark.parametrize(
    "kind", [sparse.coo_array, sparse.csc_array, sparse.lil_array, sparse.csr_array.toarray]
)
def test_laplacian_in_any_sparse_format(kind):
    rng = np.random.default_rng(4)
    Y = rng.random((25, 4)) < 0.6
    Y[:, 0] |= ~Y.any(axis=1)
    L, G = (
        log_softmax(2.0 * rng.normal(size=Y.shape)),
        laplacian(knn_graph(rng.normal(size=(25, 2)), 4)),
    )
    expected = newton_simplex(L, Y, laplacian=0.1 * G).D
    np.testing.assert_allclose(
        newton_simplex(L, Y, laplacian=0.1 * kind(G)).D, expected, atol=1e-12
    )
