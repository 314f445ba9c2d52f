"""DLDL: the stated problem is solved, convergence, invariances, and predictive quality."""

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest
from estimator_cases import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from protocol import Split
from reference.admm import solve_by_admm
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import PolynomialFeatures

from ldlearn import DLDL, SABFGS, EnhanceThenLearn, PriorLE, ProjectedPriorLE, UniformLE, VoteLDL
from ldlearn.core import knn_graph, laplacian, log_softmax, normalize_rows, softmax
from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.datasets import make_label_distributions
from ldlearn.joint import dldl as module
from ldlearn.joint import dldl_path, dldl_steps
from ldlearn.metrics import intersection
from ldlearn.solvers.newton_simplex import newton_simplex


def printed_objective(model, X):
    """KL(D, P) + alpha tr(D'GD) + beta |D|^2 + gamma |W|^2, term by term."""
    D = model.label_distributions_
    P = softmax(X @ model.coef_.T + model.intercept_)
    G = 0.0 if model.graph_ is None else laplacian(model.graph_).toarray()
    graph_term = 0.0 if model.graph_ is None else np.trace(D.T @ G @ D)
    return (
        xlogy(D, D).sum()
        - xlogy(D, P).sum()
        + model.alpha_ * graph_term
        + model.beta_ * np.sum(D**2)
        + model.gamma_ * np.sum(model.coef_**2)
    )


@settings(deadline=None, max_examples=30)
@given(
    st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    st.sampled_from([0.0, 1e-3, 0.1, 10.0]),
    st.sampled_from([1e-3, 0.1, 100.0]),
    st.booleans(),
    st.sampled_from(["uniform", "pseudo"]),
    st.integers(0, 100),
)
def test_objective_is_the_printed_one_and_never_increases(
    alpha, beta, gamma, fit_intercept, init, seed
):
    X, _, Y = make_problem(seed=seed)
    model = DLDL(
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        n_neighbors=5,
        fit_intercept=fit_intercept,
        init=init,
        tol=1e-9,
    ).fit(X, Y)
    assert len(model.objective_path_) == 2 * model.n_iter_
    assert (
        np.diff(model.objective_path_) <= 1e-12 * (len(X) + np.abs(model.objective_path_[1:]))
    ).all()
    assert model.objective_ == model.objective_path_[-1]
    assert model.objective_ == pytest.approx(printed_objective(model, X), rel=1e-8, abs=1e-8)
    if not fit_intercept:
        assert (model.intercept_ == 0).all()


def stated_objective(X, D, W, b, G, alpha, beta, gamma):
    """The objective of the docstring at any D, W, b."""
    P = softmax(X @ W + b)
    return (
        xlogy(D, D).sum()
        - xlogy(D, P).sum()
        + alpha * np.trace(D.T @ G @ D)
        + beta * np.sum(D**2)
        + gamma * np.sum(W**2)
    )


@pytest.mark.parametrize("init", ["uniform", "pseudo"])
@pytest.mark.parametrize(
    ("alpha", "beta", "gamma"), [(0.0, 0.0, 1.0), (0.0, 2.0, 0.1), (0.7, 0.0, 0.1), (0.3, 0.5, 2.0)]
)
def test_objective_path_has_every_half_step(alpha, beta, gamma, init):
    """A fit of k iterations gives W_k and D_k; with D_(k-1) these determine the objective of both
    half-steps."""
    X, _, Y = make_problem()
    settings = {"n_neighbors": 4, "init": init, "tol": 1e-13}
    fits = [
        DLDL(alpha=alpha, beta=beta, gamma=gamma, max_iter=k, **settings).fit(X, Y)
        for k in (1, 2, 3)
    ]
    G = laplacian(knn_graph(X, 4)).toarray()
    D = normalize_rows(
        Y.astype(float) if init == "uniform" else pseudo_distributions(X, Y.astype(bool)) * Y
    )
    path = []
    for model in fits:
        W, b = model.coef_.T, model.intercept_
        path.append(stated_objective(X, D, W, b, G, alpha, beta, gamma))
        D = model.label_distributions_
        path.append(stated_objective(X, D, W, b, G, alpha, beta, gamma))
    # Intermediate W-steps are solved less accurately than the last one, which is that of the
    # shorter fit.
    np.testing.assert_allclose(fits[-1].objective_path_, path, rtol=1e-6)


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
def test_iteration_stops_when_degrees_are_expected_to_change_little(tol):
    X, _, Y = make_problem()
    settings = {"beta": 0.5, "gamma": 0.5, "tol": tol}
    model = DLDL(**settings, max_iter=500).fit(X, Y)
    fits = [DLDL(**settings, max_iter=k).fit(X, Y) for k in range(1, model.n_iter_)] + [model]
    changes = np.array(
        [np.abs(a.label_distributions_ - b.label_distributions_).max() for a, b in pairwise(fits)]
    )
    expected = changes[1:] / np.maximum(1 - changes[1:] / changes[:-1], np.sqrt(tol))
    assert expected[-1] <= 1.2 * np.sqrt(tol)  # last W-steps are more accurate than others
    assert not (expected[:-1] <= np.sqrt(tol) / 1.2).any()
    assert model.converged_
    assert not fits[-2].converged_


def test_slow_changes_are_not_convergence():
    """Degrees that change by less than sqrt(tol) in each of hundreds of iterations still move
    far."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(100, 6))
    D = softmax(X @ rng.normal(size=(6, 4)) * rng.choice([0.3, 1, 2]))
    model = DLDL(beta=0.0, gamma=0.01, max_iter=2000).fit(X, D > 0.15)
    longer = clone(model).set_params(tol=1e-11, max_iter=5000).fit(X, D > 0.15)
    assert model.converged_
    assert longer.converged_
    np.testing.assert_allclose(model.label_distributions_, longer.label_distributions_, atol=0.1)


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_last_coefficients_are_accurate_when_iteration_stops_early(ratio):
    """W-steps in between are solved less accurately; iteration may end after one of them."""
    data = make_label_distributions(900, 15, 6, labels="presence")
    gamma = ratio * 0.03 * data.X[:600].var(axis=0).sum()
    model = DLDL(beta=10.0, gamma=gamma, tol=1e-4).fit(data.X[:600], data.Y[:600])
    assert model.steps_converged_
    assert model.n_iter_ < 5
    assert model.coef_gap_ <= 1e-4 * 600


def test_early_stopping_triggers_no_convergence_warning():
    split = Split("vader_tweets")
    model = DLDL(beta=0.3, gamma=1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        early, late = (
            clone(model).set_params(max_iter=k).fit(split.X[:500], split.Y[:500]) for k in (5, 1000)
        )
    assert np.abs(early.label_distributions_ - late.label_distributions_).max() > 0.5
    assert (early.n_iter_, early.steps_converged_, early.converged_) == (5, True, False)
    assert late.n_iter_ < 1000
    assert late.converged_


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_final_degrees_are_optimal_with_certificate(alpha):
    X, _, Y = make_problem()
    model = DLDL(alpha=alpha, beta=0.3, gamma=0.5, n_neighbors=5, tol=1e-5).fit(X, Y)
    G = None if model.graph_ is None else alpha * laplacian(model.graph_)
    logP = log_softmax(X @ model.coef_.T + model.intercept_)
    best = newton_simplex(logP, Y.astype(bool), laplacian=G, beta=0.3, tol=1e-13)
    gamma_term = 0.5 * np.sum(model.coef_**2)
    assert model.gap_.shape == (len(X),)
    assert model.gap_.sum() <= 1e-5 * len(X)
    assert model.gap_.sum() >= model.objective_ - (best.objective + gamma_term) - 1e-10
    np.testing.assert_allclose(model.label_distributions_, best.D, atol=1e-2)


def test_first_w_step_is_softmax_regression_on_initial_degrees():
    X, _, Y = make_problem()
    model = DLDL(alpha=0.0, beta=0.1, gamma=2.0, max_iter=1, tol=1e-12).fit(X, Y)
    reference = SABFGS(l2=2.0, tol=1e-12).fit(X, normalize_rows(Y.astype(float)))
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-7)
    pseudo = DLDL(alpha=0.0, beta=0.1, gamma=2.0, max_iter=1, tol=1e-12, init="pseudo").fit(X, Y)
    start = normalize_rows(pseudo_distributions(X, Y.astype(bool)) * Y)
    np.testing.assert_allclose(
        pseudo.predict(X), SABFGS(l2=2.0, tol=1e-12).fit(X, start).predict(X), atol=1e-7
    )


def test_large_gamma_gives_the_baselines():
    X, _, Y = make_problem()
    prior = DLDL(beta=0.0, gamma=1e9, max_iter=1).fit_enhance(X, Y)
    np.testing.assert_allclose(prior, PriorLE().fit_enhance(X, Y), atol=1e-4)
    # Later iterations keep the form of a prior restricted to the positives, only another prior.
    later = DLDL(beta=0.0, gamma=1e9, max_iter=5).fit(X, Y)
    p = later.predict(X[:1])[0]
    np.testing.assert_allclose(later.label_distributions_, normalize_rows(Y * p), atol=1e-4)
    uniform = DLDL(beta=1e6, gamma=1e9).fit_enhance(X, Y)
    np.testing.assert_allclose(uniform, UniformLE().fit_enhance(X, Y), atol=1e-5)


def test_one_hot_rows_are_kept_and_absent_labels_get_degree_zero():
    X, _, Y = make_problem()
    Y[:, 2] = 0
    Y[Y.sum(axis=1) == 0, 0] = 1
    Y[:5] = np.eye(5, dtype=int)[0]
    D = DLDL(alpha=0.1, n_neighbors=3).fit_enhance(X, Y)
    np.testing.assert_array_equal(D[:5], Y[:5])
    assert (D[:, 2] == 0).all()


def test_graph_is_built_only_for_positive_alpha():
    X, _, Y = make_problem()
    without = DLDL(alpha=0.0, n_neighbors=15).fit(
        X[:10], Y[:10]
    )  # fewer rows than n_neighbors: no graph, no error
    assert without.graph_ is None
    assert without.sigma_ is None
    model = DLDL(alpha=0.1, n_neighbors=4, sigma="mean").fit(X, Y)
    assert sparse.issparse(model.graph_)
    np.testing.assert_allclose(model.graph_.toarray(), knn_graph(X, 4, "mean").toarray())


def test_matches_admm_of_the_paper(monkeypatch):
    X, _, Y = make_problem()
    newton = DLDL(alpha=0.05, beta=0.2, gamma=0.5, n_neighbors=4, max_iter=3, tol=1e-9).fit(X, Y)
    monkeypatch.setattr(dldl_steps, "newton_simplex", solve_by_admm)
    admm = DLDL(alpha=0.05, beta=0.2, gamma=0.5, n_neighbors=4, max_iter=3, tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(admm.label_distributions_, newton.label_distributions_, atol=1e-4)
    assert (np.diff(admm.objective_path_) <= 1e-4).all()


def enhance_with_generic_solver(model, X_train, X_new, Y_new, alpha, beta):
    """The problem in the docstring of `enhance`, row by row, by a generic solver."""
    cp = pytest.importorskip("cvxpy")
    rows = []
    for x, y, p in zip(X_new, Y_new, model.predict(X_new), strict=True):
        distances = np.linalg.norm(X_train - x, axis=1)
        nearest = np.argsort(distances)[: model.n_neighbors]
        support = np.flatnonzero(y)
        d = cp.Variable(len(support), nonneg=True)
        value = -cp.sum(cp.entr(d)) - np.log(p[support]) @ d + beta * cp.sum_squares(d)
        for j in nearest:
            weight = np.exp(-0.5 * (distances[j] / model.sigma_) ** 2)
            value += alpha * weight * cp.sum_squares(d - model.label_distributions_[j][support])
        cp.Problem(cp.Minimize(value), [cp.sum(d) == 1]).solve(solver=cp.CLARABEL)
        row = np.zeros(len(y))
        row[support] = d.value
        rows.append(row)
    return np.array(rows)


def test_enhance_solves_the_documented_problem():
    X, _, Y = make_problem(n=50)
    model = DLDL(alpha=0.7, beta=0.2, gamma=0.5, n_neighbors=4, tol=1e-10).fit(X[:40], Y[:40])
    # Neighbours may have mass on negative labels of a new row; that part of |d - d_j|^2 is
    # constant.
    np.testing.assert_allclose(
        model.enhance(X[40:], Y[40:]),
        enhance_with_generic_solver(model, X[:40], X[40:], Y[40:], 0.7, 0.2),
        atol=1e-4,
    )


def test_enhance_of_training_rows_equals_recovery_without_graph():
    X, _, Y = make_problem()
    model = DLDL(tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.enhance(X, Y), model.label_distributions_, atol=1e-5)


def test_enhance_validates_labels():
    X, _, Y = make_problem()
    model = DLDL().fit(X, Y)
    with pytest.raises(ValueError, match="3 label columns, but DLDL was fitted with 5"):
        model.enhance(X, Y[:, :3] | 1)
    with pytest.raises(ValueError, match="inconsistent"):
        model.enhance(X, Y[:-1])
    with pytest.raises(ValueError, match="rows 0, 1"):
        model.enhance(X, np.where(np.arange(len(Y))[:, None] < 2, 0, Y))


def test_default_fit_is_invariant_to_feature_units():
    X, _, Y = make_problem()
    small, large = DLDL(tol=1e-10).fit(X, Y), DLDL(tol=1e-10).fit(1000 * X, Y)
    assert large.gamma_ == pytest.approx(1e6 * small.gamma_)
    np.testing.assert_allclose(small.predict(X), large.predict(1000 * X), atol=1e-4)
    np.testing.assert_allclose(small.label_distributions_, large.label_distributions_, atol=1e-4)


def test_rbf_features_fit_nonlinear_problems():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    radius = np.linalg.norm(X, axis=1)
    D = softmax(np.column_stack([4 * (radius - 1.2), np.zeros(400), -4 * (radius - 1.2)]))
    Y = (D > 0.1).astype(int)
    line = DLDL().fit(X[:300], Y[:300])
    curve = DLDL(feature_map=Nystroem(n_components=50, random_state=0)).fit(X[:300], Y[:300])
    squares = DLDL(feature_map=PolynomialFeatures(2, include_bias=False)).fit(X[:300], Y[:300])
    assert (
        intersection(D[300:], curve.predict(X[300:]))
        > intersection(D[300:], line.predict(X[300:])) + 0.15
    )
    assert (
        intersection(D[300:], squares.predict(X[300:]))
        > intersection(D[300:], line.predict(X[300:])) + 0.15
    )
    assert curve.coef_.shape == (3, 50)
    assert squares.feature_map_ is not squares.feature_map


def test_default_gamma_scales_with_the_variance():
    X, _, Y = make_problem()

    def ratio(data):
        return DLDL().fit(data, Y).gamma_ / (0.03 * data.astype(float).var(axis=0).sum())

    plain = ratio(X)
    assert ratio(1024 * X) == pytest.approx(plain, rel=1e-4)
    for found in (plain, ratio(X + 1e8), ratio((X + 1e4).astype(np.float32))):
        assert 0.0999 < found < 31.7


@pytest.mark.parametrize("params", [{}, {"alpha": 0.3, "n_neighbors": 4}, {"feature_map": "rbf"}])
def test_invariant_to_feature_offset(params):
    X, _, Y = make_problem(m=20)
    X = np.rint(1024 * X) / 1024  # so that adding the offset is exact
    near = DLDL(tol=1e-9, **params).fit(X, Y)
    for container in (np.asarray, sparse.csr_array):
        far = DLDL(tol=1e-9, **params).fit(container(X + 1e8), Y)
        np.testing.assert_allclose(far.label_distributions_, near.label_distributions_, atol=1e-4)
        np.testing.assert_allclose(far.predict(container(X + 1e8)), near.predict(X), atol=1e-4)
        np.testing.assert_allclose(
            far.enhance(container(X[:9] + 1e8), Y[:9]), near.enhance(X[:9], Y[:9]), atol=1e-4
        )


@pytest.mark.parametrize("gamma", [1e-6, 1e-4, 1.0])
def test_coefficients_have_a_certificate(gamma):
    X, _, Y = make_problem(n=150)
    model = DLDL(alpha=0.0, beta=0.3, gamma=gamma, max_iter=1, tol=1e-5).fit(X, Y)
    start = normalize_rows(Y.astype(float))
    best = SABFGS(l2=gamma, tol=1e-13).fit(X, start).objective_
    found = model.objective_path_[0] - xlogy(start, start).sum() - 0.3 * np.sum(start**2)
    assert 0 <= model.coef_gap_ <= 1e-5 * len(X)
    assert -1e-10 <= found - best <= model.coef_gap_ + 1e-10
    assert model.steps_converged_
    assert DLDL(gamma=0.0, max_iter=1).fit(X, Y).coef_gap_ == np.inf


def record_starts(monkeypatch, module, name):
    """Record the initial value and the result of each call of one of DLDL's two solvers."""
    seen = []
    solver = getattr(module, name)

    def spy(*args, start=None, **options):
        found = solver(*args, start=start, **options)
        seen.append((start, found))
        return found

    monkeypatch.setattr(module, name, spy)
    return seen


def test_steps_are_warm_started(monkeypatch):
    X, _, Y = make_problem()
    W, D = (
        record_starts(monkeypatch, dldl_steps, "softmax_regression"),
        record_starts(monkeypatch, dldl_steps, "newton_simplex"),
    )
    model = DLDL(alpha=0.1, beta=0.3, gamma=0.1, n_neighbors=4).fit(X, Y)
    assert len(W) == len(D) == model.n_iter_ == 5
    assert W[0][0] is None
    for k in range(1, 5):
        assert W[k][0] is W[k - 1][1]
        np.testing.assert_array_equal(D[k][0], D[k - 1][1].D)
    assert W[-1][1].n_products < W[0][1].n_products


@pytest.mark.parametrize(
    ("module", "step"), [(dldl_steps, "softmax_regression"), (dldl_steps, "newton_simplex")]
)
def test_step_that_misses_tol_triggers_a_warning(monkeypatch, module, step):
    X, _, Y = make_problem()
    solver = getattr(module, step)
    monkeypatch.setattr(
        module, step, lambda *args, **options: solver(*args, **options | {"max_iter": 1})
    )
    with pytest.warns(
        ConvergenceWarning, match=r"DLDL stopped after 1 iteration before it converged; loosen tol"
    ):
        model = DLDL(alpha=0.5, beta=0.1, gamma=0.01, n_neighbors=4, max_iter=1, tol=1e-12).fit(
            X, Y
        )
    assert not model.steps_converged_
    assert not model.converged_


@pytest.mark.parametrize("weights", [{"beta": 1e8}, {"alpha": 1e6}, {"alpha": 1e9, "beta": 1e-3}])
def test_extreme_penalties_converge_or_warn(weights):
    X, _, Y = make_problem()
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        model = DLDL(**weights, n_neighbors=4).fit(X, Y)
    solved = model.gap_.sum() <= model.tol * len(X) and model.coef_gap_ <= model.tol * len(X)
    assert model.steps_converged_ == solved
    assert [w.category for w in records] == ([] if solved else [ConvergenceWarning])


def test_path_equals_separate_fits():
    X, _, Y = make_problem()
    grid = {"alpha": [0.0, 0.1], "beta": [None, 0.5], "gamma": [0.3, None]}
    models = list(dldl_path(X, Y, **grid, n_neighbors=4, tol=1e-10))
    assert len(models) == 8
    points = [(a, b, g) for g in grid["gamma"] for a in grid["alpha"] for b in grid["beta"]]
    for model, (a, b, g) in zip(models, points, strict=True):
        alone = DLDL(alpha=a, beta=b, gamma=g, n_neighbors=4, tol=1e-10).fit(X, Y)
        assert (model.alpha_, model.beta_, model.gamma_) == (
            alone.alpha_,
            alone.beta_,
            alone.gamma_,
        )
        assert (model.graph_ is None) == (a == 0)
        np.testing.assert_allclose(
            model.label_distributions_, alone.label_distributions_, atol=1e-4
        )
        np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-4)
        np.testing.assert_allclose(model.enhance(X, Y), alone.enhance(X, Y), atol=1e-4)


def test_fit_path_shares_graph_features_and_first_step(monkeypatch):
    X, _, Y = make_problem()
    W = record_starts(monkeypatch, dldl_steps, "softmax_regression")
    points = [{"alpha": 0.1, "beta": b, "gamma": 0.3} for b in (0.1, 1.0)]
    first, second = DLDL(n_neighbors=4, max_iter=1).fit_path(X, Y, points)
    assert first.graph_ is second.graph_
    assert W[1][0] is W[0][1]
    assert W[1][1].n_iter == 0
    assert (first.beta_, second.beta_) == (0.1, 1.0)


def test_unknown_keyword_of_fit_path_raises():
    X, _, Y = make_problem()
    with pytest.raises(TypeError, match="raters"):
        list(DLDL().fit_path(X, Y, [{"beta": 1.0}], raters=3))


def test_fit_path_accepts_any_parameter():
    X, _, Y = make_problem()
    points = [{"alpha": 0.1, "n_neighbors": k} for k in (2, 6)]
    few, many = DLDL().fit_path(X, Y, points)
    assert few.graph_.nnz < many.graph_.nnz
    np.testing.assert_array_equal(
        few.label_distributions_, DLDL(alpha=0.1, n_neighbors=2).fit(X, Y).label_distributions_
    )
    with pytest.raises(ValueError, match="beta"):
        list(DLDL().fit_path(X, Y, [{"beta": -1.0}]))


def test_progress_is_logged(caplog):
    X, _, Y = make_problem()
    with caplog.at_level("INFO", "ldlearn.joint"):
        model = DLDL().fit(X, Y)
    choice, *steps = caplog.messages
    assert choice == model.selection_summary_
    assert [float(step.split()[-1]) for step in steps] == pytest.approx(
        model.objective_path_[1::2], abs=1e-6
    )


def test_interrupted_fit_leaves_the_object_unfitted(monkeypatch):
    X, _, Y = make_problem()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(dldl_steps, "newton_simplex", interrupt)
    model = DLDL()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_rows_without_a_positive_label():
    X, _, Y = make_problem()
    Y[[3, 7]] = 0
    for model in (DLDL(), VoteLDL(), UniformLE()):
        with pytest.raises(ValueError, match="none is in rows 3, 7 of y: drop such rows"):
            model.fit(X, Y)


@pytest.mark.parametrize(
    "name", ["solver", "tau", "callback", "n_components", "empty_rows", "kappa", "verbose"]
)
def test_unknown_parameters_raise(name):
    with pytest.raises(TypeError, match=name):
        DLDL(**{name: 1})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"beta": -0.1}, "beta"),
        ({"gamma": -1}, "gamma"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": "widest"}, "sigma"),
        ({"init": "zeros"}, "init"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"max_iter": 0}, "max_iter"),
        ({"feature_map": "poly"}, "feature_map"),
        ({"alpha": 0.1, "n_neighbors": 40}, "n_neighbors=40 and n_samples=40"),
    ],
)
def test_invalid_parameters_raise(params, message):
    X, _, Y = make_problem()
    model = DLDL(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_invalid_features_raise(value):
    X, _, Y = make_problem()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        DLDL().fit(X, Y)


def test_memory_has_no_dense_square_array():
    """8 n^2 bytes would be 72 MB here."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 4)), (rng.random((3000, 4)) < 0.5).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    tracemalloc.start()
    DLDL(alpha=0.1, n_neighbors=5, max_iter=2).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_prediction_does_not_copy_float32_features():
    """A float64 copy would be 16 MB."""
    X, _, Y = make_problem(m=50)
    model = DLDL(beta=0.1).fit(X.astype(np.float32), Y)
    rows = np.zeros((40_000, 50), dtype=np.float32)
    tracemalloc.start()
    model.predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6


def recovery_and_prediction(estimator, split):
    estimator.fit(split.X, split.Y)
    recovery = intersection(split.D, estimator.label_distributions_)
    return recovery, intersection(split.D_test, estimator.predict(split.X_test))


@pytest.mark.parametrize("name", ["vader_tweets", "SCUT_FBP", "Natural_Scene"])
def test_defaults_beat_baselines_and_two_steps(name):
    splits = [Split(name, seed) for seed in range(3)]
    recovery, prediction = np.mean(
        [recovery_and_prediction(DLDL(), split) for split in splits], axis=0
    )
    baselines = {
        type(baseline).__name__: np.mean(
            [intersection(s.D, baseline.fit_enhance(s.X, s.Y)) for s in splits]
        )
        for baseline in (UniformLE(), PriorLE(), ProjectedPriorLE())
    }
    two_steps = np.mean([recovery_and_prediction(EnhanceThenLearn(), split)[1] for split in splits])
    assert prediction > two_steps
    # On SCUT_FBP a baseline is nearly as good as any DLDL. The labels of Natural Scene mark
    # presence: the known loss.
    margin = {"vader_tweets": 0.0, "SCUT_FBP": 0.01, "Natural_Scene": 0.04}[name]
    assert recovery > max(baselines.values()) - margin


def test_features_improve_recovery():
    """With shuffled rows of X, recovery falls to that without features (unlike the released
    code)."""
    split = Split("vader_tweets")
    true = intersection(split.D, DLDL().fit_enhance(split.X, split.Y))
    shuffled_X = split.X[np.random.default_rng(0).permutation(len(split.X))]
    model = DLDL().fit(shuffled_X, split.Y)
    shuffled = intersection(split.D, model.label_distributions_)
    # An intercept-only model with the same beta lies between the two baselines.
    no_features = DLDL(beta=model.beta_, gamma=1.0).fit_enhance(
        np.zeros((len(split.X), 1)), split.Y
    )
    baseline = max(
        intersection(split.D, estimator.fit_enhance(split.X, split.Y))
        for estimator in (UniformLE(), PriorLE())
    )
    assert true > baseline + 0.03
    assert baseline - 0.03 < shuffled < intersection(split.D, no_features) + 0.005


def test_enhancing_new_rows_beats_the_baselines():
    split = Split("vader_tweets")
    model = DLDL().fit(split.X, split.Y)
    enhanced = intersection(split.D_test, model.enhance(split.X_test, split.Y_test))
    uniform = intersection(split.D_test, normalize_rows(split.Y_test.astype(float)))
    assert enhanced > uniform + 0.03
    assert enhanced > intersection(split.D_test, model.predict(split.X_test)) + 0.03


def many_labels(n=400, m=5, c=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    scores = X @ rng.normal(size=(m, c)) + rng.gumbel(size=(n, c))
    Y = np.zeros((n, c), dtype=int)
    np.put_along_axis(Y, np.argsort(-scores, axis=1)[:, :4], 1, axis=1)
    return X, Y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_sparse_degrees_give_the_same_model(container, weighted, monkeypatch):
    X, Y = many_labels()
    weights = np.random.default_rng(1).integers(1, 3, len(X)) if weighted else None
    model = DLDL(beta=0.5, gamma=0.3, tol=1e-9)
    few = clone(model).fit(container(X), Y, sample_weight=weights)
    monkeypatch.setattr(module, "has_few_positives", lambda *_: False)
    plain = clone(model).fit(container(X), Y, sample_weight=weights)
    np.testing.assert_allclose(few.label_distributions_, plain.label_distributions_, atol=1e-3)
    np.testing.assert_allclose(few.predict(X), plain.predict(X), atol=1e-3)
    assert few.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    np.testing.assert_allclose(few.objective_path_, plain.objective_path_, rtol=1e-4)
    assert few.steps_converged_
    assert few.coef_gap_ <= 1e-9 * (len(X) if weights is None else weights.sum())
    assert (few.label_distributions_[Y == 0] == 0).all()
    np.testing.assert_allclose(few.label_distributions_.sum(axis=1), 1.0)


def test_predictions_have_the_dtype_of_the_features():
    X, _, Y = make_problem()
    model = DLDL(beta=0.5, gamma=0.3).fit(X, Y)
    narrow = model.predict(X.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, model.predict(X), atol=1e-5)


def test_precomputed_neighbours():
    X, _, Y = make_problem()
    model = DLDL(alpha=0.5, beta=0.3, gamma=0.1, n_neighbors=4)
    exact = clone(model).fit(X[:-5], Y[:-5])
    transformer = KNeighborsTransformer(n_neighbors=6, mode="distance")
    for neighbors in (transformer, transformer.fit_transform(X[:-5])):
        given = clone(model).set_params(neighbors=neighbors).fit(X[:-5], Y[:-5])
        np.testing.assert_allclose(
            given.label_distributions_, exact.label_distributions_, atol=1e-6
        )
        np.testing.assert_allclose(
            given.enhance(X[-5:], Y[-5:]), exact.enhance(X[-5:], Y[-5:]), atol=1e-6
        )


def test_path_with_a_feature_map_keeps_the_offsets_of_the_features():
    X, _, Y = make_problem()
    points = [{"beta": 1.0, "gamma": 1.0}, {"beta": 3.0, "gamma": 1.0}]
    for model in DLDL(feature_map="rbf").fit_path(X + 1e8, Y, points):
        alone = clone(model).fit(X + 1e8, Y)
        np.testing.assert_allclose(model.predict(X + 1e8), alone.predict(X + 1e8), atol=1e-3)
