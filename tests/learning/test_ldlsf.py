"""LDLSF: steps compared with linear algebra and a convex solver, convergence to the stated
minimum."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ldlearn.learning import LDLSF
from ldlearn.learning.ldlsf import _label_coupling, _split_coefficients, _WStep


def make_problem(n=30, m=6, c=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)) * np.linspace(0.5, 3.0, m) + 1.0, rng.dirichlet(
        np.ones(c), size=n
    )


def penalty_scale(model, X):
    """Scale in which coefficients are penalised."""
    spread = X.std(axis=0) if model.fit_intercept else np.sqrt(np.mean(X**2, axis=0))
    return (spread if model.standardize else np.ones(X.shape[1]))[:, None]


def objective(model, X, D):
    F = X @ model.coef_.T + model.intercept_
    Q = _label_coupling(D, model.correlation)
    S, C = model.specific_ * penalty_scale(model, X), model.common_ * penalty_scale(model, X)
    penalty = model.lam1 * np.abs(S).sum() + model.lam2 * np.linalg.norm(C, axis=1).sum()
    return 0.5 * ((F - D) ** 2).sum() + penalty + model.lam3 * np.trace(F @ Q @ F.T)


def solve_by_cvxpy(model, X, D):
    """Solve the stated problem; the sum constraint is relaxed to least squares if infeasible."""
    (n, m), c = X.shape, D.shape[1]
    S, C, b = cp.Variable((m, c)), cp.Variable((m, c)), cp.Variable((1, c))
    F = X @ (S + C) + (np.ones((n, 1)) @ b if model.fit_intercept else 0)
    root = np.linalg.cholesky(0.5 * np.eye(c) + model.lam3 * _label_coupling(D, model.correlation))
    smooth = cp.sum_squares(F @ root) - cp.sum(cp.multiply(F, D)) + 0.5 * (D**2).sum()
    scale = penalty_scale(model, X) * np.ones((1, c))
    penalty = model.lam1 * cp.sum(cp.abs(cp.multiply(S, scale)))
    penalty += model.lam2 * cp.sum(cp.norm(cp.multiply(C, scale), 2, axis=1))
    excess = F @ np.ones(c) - 1
    rows = excess == 0 if model.fit_intercept else X.T @ excess == 0
    problem = cp.Problem(cp.Minimize(smooth + penalty), [rows])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, S.value + C.value


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("correlation", ["laplacian", "code"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("shape", [(30, 6), (12, 9)])
def test_limit_is_the_minimum_of_the_stated_problem(shape, standardize, correlation, fit_intercept):
    X, D = make_problem(*shape)
    form = {"correlation": correlation, "fit_intercept": fit_intercept, "standardize": standardize}
    model = LDLSF(lam1=0.3, lam2=0.5, lam3=0.05, **form, tol=1e-7, max_iter=5000).fit(X, D)
    value, W = solve_by_cvxpy(model, X, D)
    assert objective(model, X, D) == pytest.approx(value, rel=1e-5)
    assert model.objective_ == pytest.approx(objective(model, X, D), rel=1e-9)
    np.testing.assert_allclose(model.coef_.T, W, atol=1e-4)


@pytest.mark.parametrize(("n", "m"), [(30, 6), (5, 9)])
def test_w_step_is_the_linear_solve(n, m):
    """All entries of W and the multipliers solved as one dense system."""
    X, D = make_problem(n, m)
    rng = np.random.default_rng(1)
    B = np.eye(4) + 0.1 * _label_coupling(D, "laplacian")
    G, rho = rng.normal(size=(m, 4)), 0.7
    W = _WStep(X, D, B).solve(G, rho)
    _, lengths, directions = np.linalg.svd(X, full_matrices=False)
    constraint = np.kron(directions, np.ones(4))  # on W stored row by row
    target = directions @ X.T @ D.sum(axis=1) / lengths**2
    hessian = np.kron(X.T @ X, B) + rho * np.eye(4 * m)
    k = len(constraint)
    system = np.block([[hessian, constraint.T], [constraint, np.zeros((k, k))]])
    solved = np.linalg.solve(system, np.concatenate([(X.T @ D + G).ravel(), target]))
    np.testing.assert_allclose(W, solved[: 4 * m].reshape(m, 4), atol=1e-8)


@example([0.0, 0.5245045494398459], 0.01, 0.01)
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=6),
    st.floats(0.01, 3.0),
    st.floats(0.01, 3.0),
)
def test_split_satisfies_its_optimality_conditions(row, box, ball):
    """The remainder is at the box bound where S is not zero, and parallel to C with the radius
    where C is not."""
    R = np.array([row])
    S, C = _split_coefficients(R, np.array([[box]]), np.array([[ball]]))
    left = R - S - C
    assert np.abs(left).max() <= box + 1e-9
    assert np.linalg.norm(left) <= ball + 1e-9
    np.testing.assert_allclose(left[S != 0], box * np.sign(S[S != 0]), atol=1e-9)
    if np.linalg.norm(C) > 0:
        np.testing.assert_allclose(left, ball * C / np.linalg.norm(C), atol=1e-7)


def test_split_agrees_with_a_convex_solver():
    R = np.random.default_rng(0).normal(size=(4, 5))
    S, C = cp.Variable(R.shape), cp.Variable(R.shape)
    box, ball = np.array([[0.4], [0.1], [1.0], [0.4]]), np.array([[0.7], [0.2], [1.3], [0.5]])
    penalty = cp.sum(cp.multiply(box @ np.ones((1, 5)), cp.abs(S))) + ball[:, 0] @ cp.norm(
        C, 2, axis=1
    )
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(R - S - C) + penalty)).solve(solver=cp.CLARABEL)
    ours = _split_coefficients(R, box, ball)
    np.testing.assert_allclose(ours[0] + ours[1], S.value + C.value, atol=1e-5)


@pytest.mark.parametrize(("box", "ball"), [(0.0, 1.0), (1.0, 0.0)])
def test_unpenalised_part_takes_everything(box, ball):
    R = np.random.default_rng(0).normal(size=(3, 4))
    S, C = _split_coefficients(R, np.full((3, 1), box), np.full((3, 1), ball))
    np.testing.assert_array_equal(S if box == 0.0 else C, R)
    np.testing.assert_array_equal(C if box == 0.0 else S, 0.0)


def test_penalties_determine_the_used_part():
    X, D = make_problem()
    assert not LDLSF(lam1=0.1, lam2=0.201).fit(X, D).common_.any()  # sqrt(c) is 2
    assert not LDLSF(lam1=0.1, lam2=0.099).fit(X, D).specific_.any()
    between = LDLSF(lam1=0.1, lam2=0.15).fit(X, D)
    assert between.common_.any()
    assert between.specific_.any()


def test_without_penalties_it_is_least_squares():
    X, D = make_problem()
    model = LDLSF(lam1=0.0, lam2=0.0, lam3=0.0, tol=1e-8).fit(X, D)
    ones = np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(ones, D, rcond=None)[0]
    np.testing.assert_allclose(model.coef_.T, expected[:-1], atol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected[-1], atol=1e-5)


def test_difference_of_nearly_equal_features_is_used():
    """The degrees depend on the difference of two columns, a thousandth of their size."""
    rng = np.random.default_rng(0)
    common, difference = rng.normal(size=(2, 200))
    X = np.column_stack([common, common + 1e-3 * difference])
    share = 0.5 + 0.1 * np.clip(difference, -2.0, 2.0)
    model = LDLSF(lam1=0.0, lam2=0.0, lam3=0.0, tol=1e-8).fit(
        X, np.column_stack([share, 1.0 - share])
    )
    assert np.abs(model.predict(X)[:, 0] - share).mean() < 0.02


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 1.0, 1e6])
def test_solution_does_not_depend_on_the_initial_rho(rho):
    """With a large rho steps are short, which a residual without rho would take for convergence."""
    X, D = make_problem()
    reference = LDLSF(lam1=0.3, lam2=0.4, lam3=0.01, tol=1e-8, max_iter=20_000).fit(X, D)
    model = LDLSF(lam1=0.3, lam2=0.4, lam3=0.01, rho=rho, max_iter=20_000).fit(X, D)
    assert model.converged_
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=2e-3)


@pytest.mark.parametrize("standardize", [True, False])
def test_time_stamps_and_large_offsets(standardize):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    share = np.clip(0.5 + 0.1 * X[:, 0], 0.0, 1.0)
    D = np.column_stack([share, 1.0 - share])
    stamp = 1.7e9 + rng.uniform(0.0, 3e7, size=300)
    plain = LDLSF(standardize=standardize).fit(X, D).score(X, D)
    beside = np.column_stack([X, stamp])
    assert plain > 0.98
    assert LDLSF(standardize=standardize).fit(beside, D).score(beside, D) > plain - 0.005
    far = LDLSF(standardize=standardize).fit(X + 1e6, D).predict(X + 1e6)
    np.testing.assert_allclose(far, LDLSF(standardize=standardize).fit(X, D).predict(X), atol=1e-6)


def test_large_penalties_give_the_mean():
    X, D = make_problem()
    model = LDLSF(lam1=1e3, lam2=1e3, lam3=0.0).fit(X, D)
    assert not model.coef_.any()
    assert model.n_iter_ < 200
    np.testing.assert_allclose(model.predict(X), np.tile(D.mean(axis=0), (len(X), 1)), atol=1e-12)


def test_rows_sum_to_one_before_clipping():
    X, D = make_problem()
    model = LDLSF(lam1=0.3, lam2=0.5, lam3=0.05, tol=1e-8, max_iter=5000).fit(X, D)
    np.testing.assert_allclose((X @ model.coef_.T + model.intercept_).sum(axis=1), 1.0, atol=1e-6)


def test_row_without_positive_scores_becomes_uniform():
    X, D = make_problem()
    model = LDLSF().fit(X, D)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.full(4, -1.0)
    np.testing.assert_array_equal(model.predict(X), 0.25)


def test_both_correlations_match_hand_computed_values():
    """Three labels: the second rises as the first falls, the third is constant and correlates with
    none."""
    D = np.array([[0.1, 0.5, 0.4], [0.2, 0.4, 0.4], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(
        _label_coupling(D, "laplacian"), [[-1, 1, 0], [1, -1, 0], [0, 0, 0]], atol=1e-12
    )
    np.testing.assert_allclose(
        _label_coupling(D, "code"), [[-1, -1, 0], [-1, -1, 0], [0, 0, 0]], atol=1e-12
    )
    D = make_problem(n=50)[1]
    R = np.corrcoef(D.T)
    np.testing.assert_allclose(
        _label_coupling(D, "laplacian"), np.diag(R.sum(axis=1)) - R, atol=1e-12
    )
    off = R - np.eye(4)
    np.testing.assert_allclose(
        _label_coupling(D, "code"), off + np.diag(off.sum(axis=1)), atol=1e-12
    )


def test_nonconvex_problem_raises_with_the_bound():
    X, D = make_problem()
    smallest = np.linalg.eigvalsh(_label_coupling(D, "laplacian"))[0]
    assert smallest < 0
    limit = -0.5 / smallest
    with pytest.raises(ValueError, match=f"below {limit:.3g}"):
        LDLSF(lam3=1.01 * limit).fit(X, D)
    assert np.isfinite(LDLSF(lam3=0.9 * limit).fit(X, D).predict(X)).all()


def test_informative_features_are_selected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    D = (
        np.full((200, 3), 1 / 3)
        + X[:, [0, 0, 0]] * [0.05, -0.05, 0.0]
        + X[:, [1, 1, 1]] * [0.03, 0.03, -0.06]
    )
    model = LDLSF(lam1=1.0, lam2=1.5, lam3=0.0).fit(
        X, np.clip(D, 0, 1) / np.clip(D, 0, 1).sum(axis=1, keepdims=True)
    )
    used = np.flatnonzero(np.abs(model.coef_).sum(axis=0) > 1e-3)
    np.testing.assert_array_equal(used, [0, 1])
    assert np.abs(model.coef_[:, 0]).argmin() == 2
