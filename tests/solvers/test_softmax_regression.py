"""The W-step: gradient, optimum compared with scikit-learn, certificate, limit cases."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from ldlearn.core import resources, scaling, softmax
from ldlearn.solvers import softmax_objective
from ldlearn.solvers import softmax_regression as module
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.softmax_objective import LocalObjective, SparseObjective
from ldlearn.solvers.softmax_regression import SoftmaxFit, loss_and_gradient, softmax_regression


def problem(n=80, m=6, c=4, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.logspace(0, scale, m) + 3.0
    D = softmax(
        X @ rng.normal(size=(m, c)) / np.logspace(0, scale, m)[:, None].sum()
        + rng.normal(size=(n, c))
    )
    return X, D


def flat(features, D, l2):
    m, c = features.m, D.shape[1]

    def value(w):
        return loss_and_gradient(features, D, l2, w[: m * c].reshape(m, c), w[m * c :])[0]

    def gradient(w):
        _, gW, gb = loss_and_gradient(features, D, l2, w[: m * c].reshape(m, c), w[m * c :])
        return np.concatenate([gW.ravel(), gb])

    return value, gradient


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_by_finite_differences(fit_intercept):
    X, D = problem()
    features = CentredMatrix(X, fit_intercept)
    value, gradient = flat(features, D, 0.3)
    w = 0.1 * np.random.default_rng(1).normal(size=6 * 4 + 4)
    if not fit_intercept:
        w[-4:] = 0.0
        inner = slice(0, -4)
        numeric = [(value(w + e) - value(w - e)) / 2e-6 for e in 1e-6 * np.eye(len(w))[inner]]
        np.testing.assert_allclose(gradient(w)[inner], numeric, rtol=1e-5, atol=1e-4)
        return
    assert check_grad(value, gradient, w) < 1e-3 * np.linalg.norm(gradient(w))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l2", [0.05, 1.0, 20.0])
def test_one_hot_targets_equal_logistic_regression(fit_intercept, l2):
    X, D = problem(n=150)
    labels = D.argmax(axis=1)
    ours = softmax_regression(CentredMatrix(X, fit_intercept), np.eye(4)[labels], l2=l2, tol=1e-13)
    # scikit-learn's penalty is |W|^2 / (2 C)
    theirs = LogisticRegression(
        C=1 / (2 * l2), fit_intercept=fit_intercept, tol=1e-10, max_iter=10_000
    ).fit(X, labels)
    P = softmax(X @ ours.coef + ours.intercept)
    np.testing.assert_allclose(P, theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef.T, theirs.coef_, atol=1e-4)
    assert ours.converged


@pytest.mark.parametrize("l2", [1e-6, 1e-2, 1.0])
def test_gradient_vanishes_at_the_optimum_and_the_loss_is_reported(l2):
    X, D = problem(scale=3.0)
    features = CentredMatrix(X)
    fit = softmax_regression(features, D, l2=l2, tol=1e-15)
    loss, gW, gb = loss_and_gradient(
        features, D, l2, fit.coef, fit.intercept + features.mean @ fit.coef
    )
    assert loss == pytest.approx(fit.loss, rel=1e-12)
    scale = np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=0))[:, None]
    assert np.abs(gW / scale).max() < 1e-6
    assert np.abs(gb).max() < 1e-6
    np.testing.assert_allclose(X @ fit.coef + fit.intercept, fit.logits, atol=1e-8)


@pytest.mark.parametrize("kind", ["kronecker", "blocks", "diagonal"])
def test_every_preconditioner_finds_the_same_optimum(kind, monkeypatch):
    X, D = problem(n=60, m=8, scale=2.0)
    reference = softmax_regression(CentredMatrix(X), D, l2=0.01, tol=1e-15)
    if kind == "diagonal":
        monkeypatch.setattr(CentredMatrix, "max_factorised", 2)
    features = CentredMatrix(X)
    assert (features.spectrum(0.0).basis is None) == (kind == "diagonal")
    limits = (
        {"max_cg_steps": 0}
        if kind == "blocks"
        else {"max_block_entries": 0}
        if kind == "kronecker"
        else {}
    )
    fit = module.minimize_softmax(
        LocalObjective(features, D), l2=0.01, start=None, tol=1e-15, max_iter=500, **limits
    )
    np.testing.assert_allclose(softmax(fit.logits), softmax(reference.logits), atol=1e-6)


def test_weighted_scatter_is_that_of_the_centred_augmented_features():
    X, _ = problem()
    w = np.random.default_rng(2).random(len(X))
    for fit_intercept in (True, False):
        features = CentredMatrix(X, fit_intercept)
        Z = np.column_stack([X - features.mean, np.ones(len(X))])
        expected = Z.T @ (w[:, None] * Z)
        np.testing.assert_allclose(features.weighted_scatter(w), expected, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(
            CentredMatrix(sparse.csr_array(X), fit_intercept).weighted_scatter(w),
            Z.T @ (w[:, None] * Z),
            rtol=1e-9,
            atol=1e-7,
        )


def test_large_penalty_gives_the_mean():
    X, D = problem()
    fit = softmax_regression(CentredMatrix(X), D, l2=1e12, tol=1e-14)
    np.testing.assert_allclose(softmax(fit.logits), np.tile(D.mean(axis=0), (len(D), 1)), atol=1e-6)
    without = softmax_regression(CentredMatrix(X, fit_intercept=False), D, l2=1e12)
    np.testing.assert_allclose(softmax(without.logits), 0.25, atol=1e-6)


def dual_bound(X, D, l2, P):
    """``-sum Q ln Q - |X'(Q - D)|^2 / (4 l2)`` in extended precision, for predictions P with the
    column sums of D."""
    Q, D = P.astype(np.longdouble), D.astype(np.longdouble)
    Q = Q / Q.sum(axis=1, keepdims=True)
    centred = X.astype(np.longdouble)
    centred = centred - centred.mean(axis=0)
    pull = centred.T @ (Q - D)
    return float(-np.sum(Q * np.log(Q)) - np.sum(pull**2) / (4 * l2))


def primal(X, D, l2, W, b):
    """The stated objective in extended precision."""
    Z = X.astype(np.longdouble) @ W.astype(np.longdouble) + b
    top = Z.max(axis=1, keepdims=True)
    lse = np.log(np.exp(Z - top).sum(axis=1)) + top[:, 0]
    return float(lse.sum() - np.sum(D * Z) + l2 * np.sum(W.astype(np.longdouble) ** 2))


SCALES = np.array([1e-8, 1e-4, 1.0, 1e4, 1e8])
COLUMNS = {
    "plain": (np.ones(5), 0.0),
    "scales": (SCALES, 0.0),
    "offsets": (np.ones(5), 1e8),
    "both": (np.array([0.1, 1.0, 10.0, 1e4, 1e8]), 1e8),
}


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("l2", [1e-6, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("case", COLUMNS)
def test_certified_minimum_for_any_scale_and_offset(case, l2, container):
    scales, offset = COLUMNS[case]
    rng = np.random.default_rng(1)
    V = rng.normal(size=(120, 5))
    V[:, 1] += 0.5 * V[:, 0]
    D = softmax(V @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(120, 4)))
    X = V * scales + offset
    fit = softmax_regression(CentredMatrix(container(X)), D, l2=l2, tol=1e-7)
    assert fit.converged
    assert 0 <= fit.gap <= 1e-7 * len(X)
    bound = dual_bound(X, D, l2, softmax(fit.logits))
    assert primal(X, D, l2, fit.coef, fit.intercept) - bound <= 3e-7 * len(X)


def test_sparse_features_are_factorised_only_if_they_are_few():
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 150), density=0.03, rng=rng, format="csr")
    D = softmax(X.toarray() @ rng.normal(size=(150, 4)))
    assert CentredMatrix(X).spectrum(0.1).basis is None
    assert CentredMatrix(X[:, :10]).spectrum(0.1).basis is not None
    assert CentredMatrix(X.toarray()).spectrum(0.1).basis is not None
    found = softmax_regression(CentredMatrix(X), D, l2=0.1, tol=1e-9)
    expected = softmax_regression(CentredMatrix(X.toarray()), D, l2=0.1, tol=1e-9)
    assert found.converged
    np.testing.assert_allclose(softmax(found.logits), softmax(expected.logits), atol=1e-4)


@pytest.mark.parametrize(("container", "n_built"), [(sparse.csr_array, 0), (np.asarray, 1)])
def test_blocks_of_the_hessian_are_not_built_of_many_sparse_features(
    container, n_built, monkeypatch
):
    """A problem that takes many conjugate gradient steps."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 150), density=0.03, rng=rng).toarray()
    X *= 10.0 ** rng.uniform(-1.5, 1.5, size=150)
    D = softmax(3.0 * X @ rng.normal(size=(150, 4)))
    built = []
    build = module._SoftmaxProblem.block_preconditioner
    monkeypatch.setattr(
        module._SoftmaxProblem,
        "block_preconditioner",
        lambda *args: built.append(1) or build(*args),
    )
    fit = softmax_regression(CentredMatrix(container(X)), D, l2=1e-4, tol=1e-7)
    assert fit.converged
    assert min(len(built), 1) == n_built


def test_unpenalised_fit_is_invariant_to_column_scale():
    """Scaling a column scales its weights and changes nothing else if there is no penalty."""
    X, D = problem(n=100, m=5)
    plain = softmax_regression(CentredMatrix(X), D, tol=1e-13)
    scaled = softmax_regression(CentredMatrix(X * SCALES), D, tol=1e-13)
    assert scaled.loss == pytest.approx(plain.loss, rel=1e-11)
    np.testing.assert_allclose(scaled.coef * SCALES[:, None], plain.coef, atol=1e-4)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gap_is_the_difference_from_the_dual_bound(tol, fit_intercept):
    X, D = problem(scale=2.0)
    X = X - X.mean(axis=0)
    fit = softmax_regression(CentredMatrix(X, fit_intercept), D, l2=0.01, tol=tol)
    best = softmax_regression(CentredMatrix(X, fit_intercept), D, l2=0.01, tol=1e-14)
    P = softmax(X @ fit.coef + fit.intercept)
    if fit_intercept:
        np.testing.assert_allclose(P.sum(axis=0), D.sum(axis=0), rtol=1e-10)
    assert fit.gap == pytest.approx(fit.loss - dual_bound(X, D, 0.01, P), rel=1e-6, abs=1e-10)
    assert -1e-12 <= fit.loss - best.loss <= fit.gap


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_certificate_of_float32_coefficients(offset):
    X, D = problem(n=300, m=8, scale=1.0)
    X = (X + offset).astype(np.float32)
    fit = softmax_regression(CentredMatrix(X), D, l2=1e-3, tol=1e-9)
    assert fit.converged
    value = primal(X, D, 1e-3, fit.coef, fit.intercept)
    assert value == pytest.approx(fit.loss, rel=1e-11)
    gap = value - dual_bound(X, D, 1e-3, softmax(X.astype(float) @ fit.coef + fit.intercept))
    assert gap == pytest.approx(fit.gap, rel=1e-2, abs=1e-11)
    assert gap <= 1.1e-9 * len(X)


def test_no_certificate_without_penalty():
    X, D = problem()
    fit = softmax_regression(CentredMatrix(X), D, tol=1e-8)
    assert fit.gap == np.inf
    assert fit.converged
    best = softmax_regression(CentredMatrix(X), D, tol=1e-14)
    assert fit.loss - best.loss <= 1e-7 * len(X)


def test_early_stop_reports_the_gap():
    X, D = problem(n=150, scale=2.0)
    best = softmax_regression(CentredMatrix(X), D, l2=0.01, tol=1e-13)
    stopped = softmax_regression(CentredMatrix(X), D, l2=0.01, tol=1e-13, max_iter=1)
    assert not stopped.converged
    assert stopped.n_iter == 1
    assert stopped.gap >= stopped.loss - best.loss > 1e-3


def test_label_without_mass():
    X, D = problem()
    D = np.column_stack([D[:, :3] / D[:, :3].sum(axis=1, keepdims=True), np.zeros(len(D))])
    fit = softmax_regression(CentredMatrix(X), D, l2=0.1, tol=1e-9)
    alone = softmax_regression(CentredMatrix(X), D[:, :3], l2=0.1, tol=1e-12)
    assert fit.converged
    assert softmax(fit.logits)[:, 3].max() < 1e-20
    np.testing.assert_allclose(softmax(fit.logits)[:, :3], softmax(alone.logits), atol=1e-5)


@pytest.mark.parametrize("far", [3.0, 30.0])
def test_loss_never_increases_from_a_distant_start(far):
    """Where predictions are saturated a full Newton step overshoots by orders of magnitude."""
    X, D = problem(n=60, m=3, c=3, scale=0.5)
    features = CentredMatrix(X)
    W = far * np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])
    b = -features.mean @ W
    start = SoftmaxFit(W, b, X @ W + b)
    losses = [loss_and_gradient(features, D, 1e-3, W, np.zeros(3))[0]]
    losses += [
        softmax_regression(features, D, l2=1e-3, start=start, max_iter=k).loss for k in range(1, 12)
    ]
    assert (np.diff(losses) <= 1e-12 * losses[0]).all()
    end = softmax_regression(features, D, l2=1e-3, start=start)
    assert end.converged
    assert end.loss == pytest.approx(softmax_regression(features, D, l2=1e-3).loss, rel=1e-9)


def test_accuracy_of_newton_systems_increases():
    """Inexact solutions save products with X, accurate ones give quadratic convergence."""
    X, D = problem(n=200, m=10, scale=0.5)
    rough = softmax_regression(CentredMatrix(X), D, l2=1e-3, tol=1e-6)
    fine = softmax_regression(CentredMatrix(X), D, l2=1e-3, tol=1e-12)
    assert fine.n_iter <= rough.n_iter + 2
    assert fine.n_products <= 44
    assert softmax_regression(CentredMatrix(X), D, l2=1e-6, tol=1e-14).n_iter <= 7


def test_newton_systems_are_not_solved_beyond_the_tolerance():
    X, D = problem(n=300, m=10, c=5, scale=2.0)
    features = CentredMatrix(X)
    start = softmax_regression(features, D, l2=1e-3, tol=1e-4)
    perturbed = softmax_regression(features, 0.9 * D + 0.1 / 5, l2=1e-3, tol=1e-4, start=start)
    assert 1e-9 <= perturbed.gap / len(X) <= 1e-4


def test_inverse_of_a_hessian_block():
    X, _ = problem(scale=3.0)
    w = np.random.default_rng(0).random(len(X))
    scatter = CentredMatrix(X).weighted_scatter(w)
    scatter[:-1, :-1] += 2 * 0.1 * np.eye(6)
    g = np.random.default_rng(1).normal(size=7) * np.sqrt(np.diag(scatter))
    np.testing.assert_allclose(
        module._block_solver(CentredMatrix(X).weighted_scatter(w), 0.1)(g)
        * np.sqrt(np.diag(scatter)),
        np.linalg.solve(scatter, g) * np.sqrt(np.diag(scatter)),
        rtol=1e-6,
    )


def test_block_that_cannot_be_factorised_is_replaced_by_its_diagonal():
    """It is only a preconditioner."""
    indefinite = np.array([[1.0, 3.0], [3.0, 4.0]])
    np.testing.assert_allclose(
        module._block_solver(indefinite, 0.5)(np.array([2.0, 4.0])), [1.0, 1.0], rtol=1e-6
    )


def test_wide_float32_features_with_tiny_penalty():
    """Second derivatives of which all but a few are rounding: the blocks of the Hessian must stay
    definite."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(40, 100)) + 3.0).astype(np.float32)
    D = np.eye(3)[rng.integers(3, size=40)]
    features = CentredMatrix(X)
    P = softmax(rng.normal(size=(40, 3))).astype(np.float32)
    at = LocalObjective(features, D).at(np.zeros((100, 3)), np.zeros(3), logits=np.log(P))
    for scatter, p in zip(at.label_scatters(), at.P.astype(float).T, strict=True):
        np.testing.assert_allclose(
            scatter, features.weighted_scatter(p * (1.0 - p)), rtol=1e-12, atol=1e-12
        )
    assert np.isfinite(softmax_regression(features, D, l2=1e-5, tol=1e-6).loss)


def test_warm_start_never_increases_the_loss_and_saves_work():
    X, D = problem(n=200, m=10, scale=2.0)
    features = CentredMatrix(X)
    cold = softmax_regression(features, D, l2=0.1)
    perturbed = 0.98 * D + 0.02 / 4
    again = softmax_regression(features, perturbed, l2=0.1, start=cold)
    fresh = softmax_regression(features, perturbed, l2=0.1)
    assert again.loss == pytest.approx(fresh.loss, rel=1e-9)
    assert again.n_products < fresh.n_products
    done = softmax_regression(features, D, l2=0.1, start=cold)
    assert (done.n_iter, done.n_products) == (0, 2)  # two gradients: only the certificate


def test_separable_targets_without_penalty_trigger_no_warning():
    """There is no minimiser: the loss tends to 0 and every Newton step adds about 1 to the
    logits."""
    X = np.array([[-1.0], [1.0]])
    fit = softmax_regression(CentredMatrix(X), np.eye(2), l2=0.0, tol=1e-6, max_iter=50)
    assert np.isfinite(fit.coef).all()
    assert fit.converged
    assert fit.loss < 1e-5
    assert fit.gap == np.inf
    np.testing.assert_allclose(softmax(fit.logits), np.eye(2), atol=1e-5)


def test_float32_features_stay_float32():
    X, D = problem()
    wide = softmax_regression(CentredMatrix(X), D, l2=1.0)
    features = CentredMatrix(X.astype(np.float32))
    assert features.X.dtype == np.float32
    narrow = softmax_regression(features, D, l2=1.0, tol=1e-7)
    np.testing.assert_allclose(softmax(narrow.logits), softmax(wide.logits), atol=1e-3)


def many_rows(n=3000, m=6, c=4, seed=3):
    X, D = problem(n=n, m=m, c=c, seed=seed, scale=1.0)
    return X, 0.7 * D + 0.3 * np.eye(c)[D.argmax(axis=1)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_threads_and_samples_give_the_same_fit(container, dtype, weighted, monkeypatch):
    X, D = many_rows()
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
    X = X.astype(dtype)
    monkeypatch.setattr(CentredMatrix, "sampled_rows_per_feature", 10**6)
    plain = softmax_regression(
        CentredMatrix(container(X), sample_weight=weights), D, l2=0.1, tol=1e-9
    )
    monkeypatch.setattr(scaling, "_BLOCK_ENTRIES", 1000)
    monkeypatch.setattr(resources, "thread_count", lambda: 3)
    monkeypatch.setattr(CentredMatrix, "sampled_rows_per_feature", 40)
    features = CentredMatrix(container(X), sample_weight=weights)
    assert features.hessian_sample.n == 240
    fit = softmax_regression(features, D, l2=0.1, tol=1e-9)
    assert fit.converged
    assert fit.gap <= 1e-9 * features.total
    assert abs(fit.loss - plain.loss) <= 1e-9 * features.total
    np.testing.assert_allclose(softmax(fit.logits), softmax(plain.logits), atol=1e-4)
    assert fit.n_products < plain.n_products


def test_unrepresentative_sample_is_replaced_by_all_rows(monkeypatch):
    """Rows with the rare feature are outside the sample, which has no curvature along it."""
    X, D = many_rows()
    monkeypatch.setattr(CentredMatrix, "sampled_rows_per_feature", 40)
    inside = np.zeros(len(X), dtype=bool)
    inside[
        np.random.default_rng(0).choice(
            len(X), CentredMatrix(X).hessian_sample.n, replace=False, shuffle=False
        )
    ] = True
    X[:, 0] = 0.0
    X[np.flatnonzero(~inside)[::7], 0] = 1.0
    fit = softmax_regression(CentredMatrix(X), D, l2=1e-3, tol=1e-10)
    monkeypatch.setattr(CentredMatrix, "sampled_rows_per_feature", 10**6)
    plain = softmax_regression(CentredMatrix(X), D, l2=1e-3, tol=1e-10)
    assert fit.converged
    assert fit.loss == pytest.approx(plain.loss, rel=1e-9)


def test_secant_correction_of_the_newton_direction():
    """An inverse Hessian is symmetric, and the last secant's change of the gradient leads back
    along its step."""
    X, D = problem()
    rng = np.random.default_rng(0)
    state = module._SoftmaxProblem(LocalObjective(CentredMatrix(X), D), 0.1, 0.0)
    here = state.start(None)
    for _ in range(2):
        there = here.theta + rng.normal(size=here.theta.shape)
        state.add_secant(here, state.point(there, state.objective.at(there[:-1], there[-1])))

    def direction(g):
        return state.newton_direction(
            replace(here, gradient=-g), 1e-12, state.preconditioner(here)
        ).theta

    u, v = (module._subtract_label_means(rng.normal(size=here.theta.shape)) for _ in range(2))
    assert np.vdot(u, direction(v)) == pytest.approx(np.vdot(v, direction(u)), rel=1e-6)
    step, change, _ = state.secants[-1]
    np.testing.assert_allclose(direction(change), step, atol=1e-9)


def test_no_sample_if_float32_cannot_represent_the_columns(monkeypatch):
    X, D = many_rows()
    monkeypatch.setattr(CentredMatrix, "sampled_rows_per_feature", 40)
    for scale in (1e40, 1e-40):
        features = CentredMatrix(X * np.where(np.arange(X.shape[1]) == 0, scale, 1.0))
        assert features.hessian_sample is None
        assert np.isfinite(softmax_regression(features, D, l2=0.1, tol=1e-6).loss)


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_float32_columns_of_all_scales_are_certified(scale):
    """A large column makes the gap hard to close: single precision alone cannot."""
    X, D = many_rows()
    X = (X * np.geomspace(1.0 / scale, scale, X.shape[1])).astype(np.float32)
    fit = softmax_regression(CentredMatrix(X), D, l2=0.1, tol=1e-8)
    assert fit.converged
    assert fit.gap <= 1e-8 * len(X)


def test_loose_tolerance_is_met():
    X, D = many_rows()
    features = CentredMatrix(X)
    best = softmax_regression(features, D, l2=0.1, tol=1e-12)
    nothing = softmax_regression(features, D, l2=0.1, max_iter=0)
    rough = softmax_regression(features, D, l2=0.1, tol=1e-12, rtol=0.1)
    assert rough.n_products < best.n_products
    assert not rough.converged
    assert 0 <= rough.loss - best.loss <= 0.1 * (nothing.loss - rough.loss)
    assert rough.gap > 0.1 * (
        nothing.loss - rough.loss
    )  # the estimate was sufficient; the bound is far above


def sparse_degrees(n=300, m=4, c=40, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.array([1.0, 10.0, 0.1, 1.0]) + 2.0
    D = rng.random((n, c)) * (rng.random((n, c)) < 0.1)
    D[np.arange(n), rng.integers(c - 1, size=n)] += 0.5
    D[:, -1] = 0.0  # a label without mass
    return X, D / D.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_degrees_give_the_same_fit_and_a_valid_gap(
    fit_intercept, dtype, offset, monkeypatch
):
    X, D = sparse_degrees()
    X = (X + offset).astype(dtype)
    dense = softmax_regression(CentredMatrix(X, fit_intercept), D, l2=0.1, tol=1e-10)
    monkeypatch.setattr(SparseObjective, "block_entries", 1000)
    monkeypatch.setattr(SparseObjective, "max_cached", 0 if fit_intercept else 2**27)
    fit = softmax_regression(CentredMatrix(X, fit_intercept), sparse.csr_array(D), l2=0.1, tol=1e-8)
    assert fit.converged
    assert -1e-9 * len(X) <= fit.loss - dense.loss <= fit.gap <= 1e-8 * len(X)
    logP = np.log(softmax(X.astype(float) @ fit.coef + fit.intercept))
    np.testing.assert_allclose(fit.logits.data, logP[D > 0], atol=1e-4 if offset else 1e-8)
    np.testing.assert_allclose(np.exp(fit.logits.data), softmax(dense.logits)[D > 0], atol=1e-3)


def test_imbalance_is_added_to_the_gap(monkeypatch):
    """Without a single sweep the column sums differ, and the bound must still hold."""
    X, D = sparse_degrees()
    best = softmax_regression(CentredMatrix(X), D, l2=0.1, tol=1e-10)
    monkeypatch.setattr(SparseObjective, "balance_accuracy", np.inf)
    for n_steps in range(1, 5):
        rough = softmax_regression(
            CentredMatrix(X), sparse.csr_array(D), l2=0.1, tol=1e-8, max_iter=n_steps
        )
        assert rough.gap >= rough.loss - best.loss - 1e-9


@pytest.mark.parametrize(("off", "balances"), [(-5.0, True), (-800.0, False)])
def test_no_certificate_if_predictions_cannot_be_balanced(off, balances):
    """Predictions of exactly 0 have no curvature: Newton's method does not move their label."""
    X, D = problem()
    rows = LocalObjective(CentredMatrix(X), D)
    at, _, left = rows.at(np.zeros((6, 4)), np.array([off, 0.0, 0.0, 0.0])).balance(0.1, 1e-6)
    assert (np.abs(at.prediction_excess()).max() <= 1e-12 * rows.n) == balances
    assert left == (0.0 if balances else np.inf)


@pytest.mark.parametrize("seed", range(4))
def test_bound_is_valid_for_any_intercept(seed):
    """Optimal coefficients with a wrong intercept: the bound is reduced by the imbalance."""
    rng = np.random.default_rng(seed)
    X, l2 = rng.normal(size=(60, 3)), 10.0 ** rng.uniform(-1, 1)
    D = rng.dirichlet(np.full(4, 0.3), size=60) + 1e-9
    D /= D.sum(axis=1, keepdims=True)
    features = CentredMatrix(X)
    best = softmax_regression(features, D, l2=l2, tol=1e-12)
    rows = SparseObjective(features, sparse.csr_array(D))
    for off in (0.01, 0.1, 1.0, 5.0):
        b = best.intercept + features.mean @ best.coef + off * rng.normal(size=4)
        at, shift, left = rows.at(best.coef, b, exact=True).balance(l2, goal=np.inf)
        assert not shift.any()
        g = at.gradient()[0] + 2.0 * l2 * best.coef
        loss = at.loss + l2 * np.vdot(best.coef, best.coef)
        assert 0.0 < loss - best.loss <= np.vdot(g, g) / (4.0 * l2) + left + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_dual_point_of_unbalanced_predictions(seed):
    """Q = (1 - e) P + e E has the column sums of D; the dual at Q, with the bound of its entropy,
    gives the gap."""
    rng = np.random.default_rng(seed)
    X, D, l2 = rng.normal(size=(50, 3)), rng.dirichlet(np.ones(4), size=50), 0.3
    rows = SparseObjective(CentredMatrix(X), sparse.csr_array(D))
    W, b = rng.normal(size=(3, 4)), rng.normal(size=4)
    _, _, left = rows.at(W, b, exact=True).balance(l2, goal=np.inf)
    centred = X - X.mean(axis=0)
    P = softmax(centred @ W + b)
    e = np.max(1.0 - D.sum(axis=0) / P.sum(axis=0))
    E = (D.sum(axis=0) - (1.0 - e) * P.sum(axis=0)) / (e * len(X))
    assert E.min() >= -1e-12
    Q = (1.0 - e) * P + e * E
    np.testing.assert_allclose(Q.sum(axis=0), D.sum(axis=0))

    def gap(
        dual_entropy, dual
    ):  # of -<D, ln P> + l2 |W|^2; the entropy of Q is at least dual_entropy
        slope = centred.T @ (dual - D)
        return (
            -np.sum(D * np.log(P))
            + l2 * np.sum(W**2)
            - dual_entropy
            + np.sum(slope**2) / (4.0 * l2)
        )

    entropy = -np.sum(P * np.log(P))
    balanced = np.sum((centred.T @ (P - D) + 2.0 * l2 * W) ** 2) / (4.0 * l2)
    assert balanced + left == pytest.approx(gap((1.0 - e) * entropy, Q), rel=1e-6)


@pytest.mark.parametrize("scale", [1e39, 1e-39])
def test_many_labels_with_features_beyond_float32(scale):
    X, D = sparse_degrees()
    usual = softmax_regression(CentredMatrix(X), sparse.csr_array(D), l2=0.1, tol=1e-8)
    fit = softmax_regression(
        CentredMatrix(X * scale), sparse.csr_array(D), l2=0.1 * scale**2, tol=1e-8
    )
    assert fit.converged
    assert fit.loss == pytest.approx(usual.loss, abs=2e-8 * len(X))


def normal_features(n=1500, m=12, c=80, seed=0):
    """Features with the same variance within each label, and labels with distant means."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    P = softmax(X @ rng.standard_normal((m, c)) * 0.7)
    return X, sparse.csr_array(np.where(np.sort(P, axis=1)[:, [-4]] <= P, 0.25, 0.0))


def test_preconditioner_centres_features_per_label(monkeypatch):
    """Newton systems need half the products if the preconditioner couples coefficients and
    intercepts."""
    X, D = normal_features()
    centred = softmax_regression(CentredMatrix(X), D, l2=0.3, tol=1e-6)
    monkeypatch.setattr(softmax_objective, "reciprocal", np.zeros_like)  # no label is centred
    apart = softmax_regression(CentredMatrix(X), D, l2=0.3, tol=1e-6)
    assert centred.converged
    assert apart.converged
    assert centred.n_products < 0.7 * apart.n_products


@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_shift_balances_the_predictions(weighted):
    X, D = sparse_degrees()
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
    rows = SparseObjective(CentredMatrix(X, sample_weight=weights), sparse.csr_array(D))
    b = np.where(rows.degree_sums > 0, 0.0, -60.0)
    at = rows.at(np.random.default_rng(1).normal(size=(X.shape[1], len(b))) * 0.1, b, exact=True)
    balanced = at.along(None, at.balancing_shift(1e-12))(1.0)
    present = rows.degree_sums > 0
    assert np.abs(at.prediction_excess()[present] / at.sums[present]).max() > 0.1
    assert np.abs(balanced.prediction_excess()[present] / balanced.sums[present]).max() < 1e-5


def test_label_with_tiny_predictions_is_balanced_gradually():
    """The required factor overflows float32."""
    X, D = sparse_degrees()
    rows = SparseObjective(CentredMatrix(X), sparse.csr_array(D))
    b = np.where(rows.degree_sums > 0, 0.0, -60.0)
    b[:2] = (
        -120.0,
        -2000.0,
    )  # a factor of 1e52; predictions of exactly 0, which 30 rounds do not mend
    start = rows.at(np.zeros((X.shape[1], len(b))), b, exact=True)
    at, shift, left = start.balance(0.1, 1e-3)
    assert np.isfinite(shift).all()
    assert np.isfinite(left)
    assert at.sums[0] == pytest.approx(rows.degree_sums[0], rel=0.05)


def test_many_labels_reach_float64_accuracy():
    X, D = sparse_degrees()
    fit = softmax_regression(CentredMatrix(X), sparse.csr_array(D), l2=0.1, tol=1e-13)
    assert fit.converged
    assert fit.gap <= 1e-13 * len(X)
