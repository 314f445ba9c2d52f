"""LSE-LDL (a reconstruction): gradients and linear algebra of each step, feature selection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.learning import LSELDL, SABFGS
from ldlearn.learning.lse_ldl import _LatentProblem, _LatentState


def make_problem(n=40, m=6, c=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(X @ rng.normal(size=(m, c)))
    return X - X.mean(axis=0), D / D.sum(axis=1, keepdims=True)


def make_state(n=40, m=6, c=4, K=3, seed=1):
    rng = np.random.default_rng(seed)
    return _LatentState(*(rng.normal(size=shape) for shape in ((m, K), (n, K), (K, c), (c,))))


def make_latent_problem(n=40, m=6):
    X, D = make_problem(n, m)
    return _LatentProblem(X, D, laplacian(knn_graph(X, 5)), 0.7, 0.3, 2.0, 0.1)


def test_objective_matches_the_documented_formula():
    problem, s = make_latent_problem(), make_state()
    Z = s.V @ s.theta + s.b
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    kl = (problem.D * np.log(problem.D / P)).sum()
    encoding = 0.7 * np.linalg.norm(problem.X @ s.W - s.V) ** 2 + 0.3 * np.trace(
        s.V.T @ problem.L @ s.V
    )
    selection = 2.0 * np.linalg.norm(s.W, axis=1).sum() + 0.1 * np.linalg.norm(s.theta) ** 2
    assert problem.objective(s) == pytest.approx(kl + encoding + selection)


def test_gradient_in_v_by_differences():
    problem, s = make_latent_problem(), make_state()
    encoded = problem.X @ s.W
    direction = np.random.default_rng(2).normal(size=s.V.shape)
    _, (gradient,) = problem.latent_loss(s.V, encoded, s.theta, s.b)
    ends = [
        problem.latent_loss(s.V + step * direction, encoded, s.theta, s.b)[0]
        for step in (1e-5, -1e-5)
    ]
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(
        float((gradient * direction).sum()), rel=1e-7
    )
    # The loss of V differs from the objective by terms without V.
    rest = problem.objective(s) - problem.latent_loss(s.V, encoded, s.theta, s.b)[0]
    moved = _LatentState(s.W, s.V + direction, s.theta, s.b)
    assert problem.objective(moved) - problem.latent_loss(moved.V, encoded, s.theta, s.b)[
        0
    ] == pytest.approx(rest)


@pytest.mark.parametrize(("n", "m"), [(40, 6), (9, 14)])
def test_encoding_solves_the_reweighted_system(n, m):
    problem, s = make_latent_problem(n, m), make_state(n, m)
    X, W = problem.X, problem.encode(s).W
    weights = np.diag(2.0 / np.linalg.norm(s.W, axis=1))
    expected = np.linalg.solve(2 * 0.7 * X.T @ X + weights, 2 * 0.7 * X.T @ s.V)
    np.testing.assert_allclose(W, expected, atol=1e-9)


def test_repeated_encoding_converges_to_the_optimum():
    """Where a row of W is not zero, the gradient of the smooth part is minus gamma times its
    direction."""
    problem, s = make_latent_problem(), make_state()
    for _ in range(500):
        s = problem.encode(s)
    smooth = 2 * 0.7 * problem.X.T @ (problem.X @ s.W - s.V)
    lengths = np.linalg.norm(s.W, axis=1, keepdims=True)
    np.testing.assert_allclose(smooth, -2.0 * s.W / lengths, atol=1e-6)


def test_regression_step_is_stationary():
    problem, s = make_latent_problem(), make_state()
    s = problem.regress(s)
    Z = s.V @ s.theta + s.b
    G = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True) - problem.D
    np.testing.assert_allclose(s.V.T @ G + 2 * 0.1 * s.theta, 0.0, atol=1e-2)
    np.testing.assert_allclose(G.sum(axis=0), 0.0, atol=1e-2)


def test_rescaling_is_optimal():
    problem, s = make_latent_problem(), make_state()
    best = problem.objective(problem.rescale(s))
    for t in np.geomspace(0.01, 10.0, 200):
        other = _LatentState(t * s.W, t * s.V, s.theta / t, s.b)
        assert best <= problem.objective(other) + 1e-9


@pytest.mark.parametrize("step", ["rescale", "improve_latent", "encode", "regress", "improve"])
def test_steps_never_increase_the_objective(step):
    problem = make_latent_problem()
    for seed in range(5):
        s = make_state(seed=seed)
        assert getattr(problem, step)(s).W.shape == s.W.shape
        assert problem.objective(getattr(problem, step)(s)) <= problem.objective(s) * (1 + 1e-12)


STOPPED_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@STOPPED_EARLY
def test_rounds_never_increase_the_objective():
    X, D = make_problem()
    model = LSELDL(n_neighbors=5, tol=0.0, max_iter=30).fit(X, D)
    assert len(model.objective_path_) == model.n_iter_
    assert np.all(np.diff(model.objective_path_) <= 1e-9)
    assert model.objective_path_[-1] < 0.99 * model.objective_path_[0]


def informative_problem(seed=0, n=300, m=30):
    """Features 2, 11 and 23 are informative; the other 27 are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(1.5 * X[:, [2, 11, 23]] @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(n, 4)))
    return X, D / D.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_informative_features_are_ranked_first(seed):
    X, D = informative_problem(seed)
    model = LSELDL(gamma=10.0, n_kept=3).fit(X, D)
    assert set(np.argsort(-model.feature_scores_)[:3]) == {2, 11, 23}
    assert set(np.flatnonzero(np.abs(model.coef_).sum(axis=0))) == {2, 11, 23}
    noise = np.delete(model.feature_scores_, [2, 11, 23])
    assert noise.max() < 0.05 * model.feature_scores_.max()
    assert model.score(X, D) > 0.9


def test_larger_penalty_selects_fewer_features():
    X, D = informative_problem()
    used = []
    for gamma in (0.01, 1.0, 20.0):
        scores = LSELDL(gamma=gamma).fit(X, D).feature_scores_
        used.append(int((scores > 0.01 * scores.max()).sum()))
    assert used[0] > used[1] > used[2] >= 3


def test_more_latent_features_than_labels_have_no_effect():
    """Their number is limited to c. Additional small random ones do not lower the objective."""
    problem = make_latent_problem()
    enough = problem.initial_state(4)
    rng = np.random.default_rng(3)
    more = _LatentState(
        *(
            np.hstack([part, 0.1 * rng.normal(size=(len(part), 3))])
            for part in (enough.W, enough.V)
        ),
        np.vstack([enough.theta, 0.1 * rng.normal(size=(3, 4))]),
        enough.b,
    )
    for _ in range(150):
        enough, more = problem.improve(enough), problem.improve(more)
    assert problem.objective(more) == pytest.approx(problem.objective(enough), rel=1e-3)
    P, Q = (np.exp(s.V @ s.theta + s.b) for s in (enough, more))
    np.testing.assert_allclose(
        P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True), atol=0.01
    )
    X, D = make_problem()
    assert LSELDL(n_latent=40, n_neighbors=5).fit(X, D).latent_.shape == (40, 4)


@STOPPED_EARLY
def test_tight_encoding_without_penalties_is_softmax_regression():
    """With alpha large V is X W, and with the other weights small what remains is the regression on
    X."""
    X, D = make_problem(n=60, m=3)
    model = LSELDL(alpha=100.0, beta=0.0, gamma=1e-5, l2=1e-5, max_iter=200, tol=1e-9).fit(X, D)
    np.testing.assert_allclose(model.predict(X), SABFGS(l2=1e-6).fit(X, D).predict(X), atol=1e-3)


def test_graph_term_smooths_latent_features():
    X, D = make_problem()
    L = laplacian(knn_graph(X, 5))

    def roughness(beta):
        V = LSELDL(alpha=0.1, beta=beta, n_neighbors=5).fit(X, D).latent_
        return np.trace(V.T @ (L @ V)) / np.trace(V.T @ V)

    assert roughness(10.0) < 0.95 * roughness(1.0) < 0.95**2 * roughness(0.0)


def test_too_many_neighbours_raise():
    X, D = make_problem(n=8)
    with pytest.raises(
        ValueError, match="n_neighbors=8 must be less than the number of rows, got n_samples=8"
    ):
        LSELDL(n_neighbors=8).fit(X, D)
    assert sparse.issparse(LSELDL(n_neighbors=7)._graph(X))


def test_sample_weights_apply_to_all_terms_but_the_graph():
    rng = np.random.default_rng(0)
    X, D, w = rng.normal(size=(8, 3)), rng.dirichlet(np.ones(4), size=8), rng.integers(1, 4, size=8)
    none, twice = sparse.csr_array((8, 8)), sparse.csr_array((w.sum(), w.sum()))
    weighted = _LatentProblem(X, D, none, 1.3, 0.0, 0.7, 0.2, w.astype(float))
    repeated = _LatentProblem(
        np.repeat(X, w, axis=0), np.repeat(D, w, axis=0), twice, 1.3, 0.0, 0.7, 0.2
    )
    state = _LatentState(
        rng.normal(size=(3, 2)),
        rng.normal(size=(8, 2)),
        rng.normal(size=(2, 4)),
        rng.normal(size=4),
    )
    many = state._replace(V=np.repeat(state.V, w, axis=0))
    assert weighted.objective(state) == pytest.approx(repeated.objective(many))
    np.testing.assert_allclose(weighted.encode(state).W, repeated.encode(many).W, atol=1e-10)
    np.testing.assert_allclose(weighted.initial_state(2).W, repeated.initial_state(2).W, atol=1e-10)
    loss, (gradient,) = weighted.latent_loss(state.V, X @ state.W, state.theta, state.b)
    other, (many_gradient,) = repeated.latent_loss(many.V, repeated.X @ many.W, many.theta, many.b)
    assert loss == pytest.approx(other)
    np.testing.assert_allclose(gradient, w[:, None] * many_gradient[np.cumsum(w) - 1], atol=1e-10)
