"""Linear softmax learners: stated objectives, gradients, limit cases, effects of the terms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from ldlearn.exceptions import InputError
from ldlearn.learning import (
    LDLDPA,
    LDLHR,
    LDLLC,
    LDLLCLR,
    LDLLRR,
    LDLM,
    LDLSCL,
    SABFGS,
    MeanLDL,
    ldl_hr,
    ldl_lclr,
)

ALL = (LDLDPA, LDLHR, LDLLC, LDLLCLR, LDLLRR, LDLM, LDLSCL)


def make_problem(n=30, m=3, c=4, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * [1.0, 3.0, 0.3][:m]
    Z = X @ rng.normal(size=(m, c)) + noise * rng.normal(size=(n, c))
    D = np.exp(Z - Z.max(axis=1, keepdims=True))
    return X, D / D.sum(axis=1, keepdims=True)


def with_ties():
    """Distributions with ties and zeros, and predictions."""
    D = np.array(
        [[0.4, 0.4, 0.2, 0.0], [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]
    )
    return D, np.random.default_rng(1).dirichlet(np.ones(4), size=4)


def ranking(D, P, lam, sigma):
    total, c = 0.0, D.shape[1]
    for d, p in zip(D, P, strict=True):
        for u in range(c):
            for v in range(c):
                truth = 0.5 if d[u] == d[v] else float(d[u] > d[v])
                q = 1.0 / (1.0 + np.exp(-sigma * (p[u] - p[v])))
                total -= (d[u] - d[v]) ** 2 * (truth * np.log(q) + (1.0 - truth) * np.log(1.0 - q))
    return lam / (2 * c**2) * total


def percentile_average(D, P, alpha, beta):
    total, c = 0.0, D.shape[1]
    for d, p in zip(D, P, strict=True):
        ranks = [sum(d < x) + (sum(d == x) + 1) / 2 for x in d]
        total += beta * (np.var(p) - np.var(d)) ** 2 - alpha / c * np.dot(ranks, p)
    return total


def highest_and_rest(D, P, lam2, lam3, rho, adaptive=False):
    total = 0.0
    for d, p in zip(D, P, strict=True):
        top = np.flatnonzero(d == d.max())
        rest = [j for j in range(len(d)) if j not in top]
        fit = sum(abs(p[j] - 1.0 / len(top)) for j in top) + sum(p[rest])
        others = sum(abs(p[j] - d[j]) for j in rest)
        if adaptive:
            second, third = sorted([*d[rest], 0.0, 0.0])[-1:-3:-1]
            fit, others = max(fit - rho, 0.0), max(others - (second - third), 0.0)
        total += (
            fit + lam3 * others + lam2 * sum(max(rho - np.mean(p[top]) + p[j], 0.0) for j in rest)
        )
    return total


ROWS = [
    (LDLLRR(lam=2.0, sigma=7.0), lambda D, P: ranking(D, P, 2.0, 7.0)),
    (LDLDPA(alpha=2.0, beta=3.0), lambda D, P: percentile_average(D, P, 2.0, 3.0)),
    (LDLHR(lam2=2.0, lam3=3.0, rho=0.3), lambda D, P: highest_and_rest(D, P, 2.0, 3.0, 0.3)),
    (
        LDLM(lam2=2.0, lam3=3.0, rho=0.3),
        lambda D, P: highest_and_rest(D, P, 2.0, 3.0, 0.3, adaptive=True),
    ),
]
BY_ROWS = pytest.mark.parametrize(("model", "stated"), ROWS, ids=lambda each: type(each).__name__)


@BY_ROWS
def test_row_losses_match_the_documented_formulas(model, stated, monkeypatch):
    monkeypatch.setattr(ldl_hr, "_KINK_WIDTH", 1e-12)
    D, P = with_ties()
    losses, _ = model._row_losses(D, P)
    assert losses.sum() == pytest.approx(stated(D, P), rel=1e-9)
    for row in range(len(D)):
        assert losses[row] == pytest.approx(stated(D[[row]], P[[row]]), rel=1e-9, abs=1e-11)


@BY_ROWS
def test_gradients_of_rows_by_differences(model, stated):
    D, P = with_ties()
    slopes = approx_fprime(
        P.ravel(), lambda p: model._row_losses(D, p.reshape(P.shape))[0].sum(), 1e-7
    )
    np.testing.assert_allclose(model._row_losses(D, P)[1].ravel(), slopes, atol=2e-4)


def test_penalty_of_correlated_labels_is_the_stated_one_with_its_gradient():
    W = np.random.default_rng(0).normal(size=(5, 4))
    model = LDLLC(lam=3.0, l2=0.2)

    def stated(W):
        pairs = [(j, k) for j in range(4) for k in range(j)]
        related = sum(
            np.corrcoef(W[:, j], W[:, k])[0, 1] * np.linalg.norm(W[:, j] - W[:, k])
            for j, k in pairs
        )
        return 0.2 * (W**2).sum() + 3.0 * related

    penalty, gradient = model._penalty(W)
    assert penalty == pytest.approx(stated(W), rel=1e-10)
    np.testing.assert_allclose(
        gradient.ravel(), approx_fprime(W.ravel(), lambda w: stated(w.reshape(5, 4))), atol=1e-5
    )
    same = np.repeat(W[:, :1], 4, axis=1)  # zero distance: no gradient
    assert np.isfinite(model._penalty(same)[1]).all()


def plain_low_rank(model, D, M, times, Z, S):
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    columns = sum(np.sqrt((times[:, 0] * e**2).sum()) for e in (D - P @ S).T)
    fit = -(times * D * np.log(P)).sum()
    return (
        fit
        + model.lam2 * columns
        + model.lam3 * np.linalg.norm(S, "nuc")
        - model.lam4 * (M * S).sum()
    )


def plain_local(model, D, times, Z, V, roots):
    total = model.lam2 * (V**2).sum()
    for i, d in enumerate(D):
        scores = np.exp(Z[i] + roots[i] ** 2 @ V)
        p = scores / scores.sum()
        away = [
            model.lam3 * roots[i, k] ** 2 * ((p - g) ** 2).sum()
            for k, g in enumerate(model.cluster_centers_)
        ]
        total += times[i, 0] * (sum(away) - d @ np.log(p))
    return total


@pytest.mark.parametrize("method", ["low rank", "local"])
def test_losses_with_further_arrays_by_loops_and_differences(method, monkeypatch):
    monkeypatch.setattr(ldl_lclr, "_ROUNDED_LENGTH", 1e-9)
    rng = np.random.default_rng(0)
    D, (times, Z) = (
        rng.dirichlet(np.ones(3), size=5),
        (rng.uniform(0.5, 2.0, size=(5, 1)), rng.normal(size=(5, 3))),
    )
    if method == "low rank":
        model, M = LDLLCLR(lam2=0.7, lam3=0.6, lam4=0.3), rng.uniform(size=(3, 3))
        arrays = [Z, rng.normal(size=(3, 3))]
        found, plain = (
            (lambda *a: model._low_rank_loss(M, D, times, *a)),
            (lambda *a: plain_low_rank(model, D, M, times, *a)),
        )
    else:
        model = LDLSCL(lam2=0.7, lam3=0.6)
        model.cluster_centers_ = rng.dirichlet(np.ones(3), size=2)
        arrays = [Z, rng.normal(size=(2, 3)), rng.uniform(0.2, 1.0, size=(5, 2))]
        found, plain = (
            (lambda *a: model._local_loss(D, times, *a)),
            (lambda *a: plain_local(model, D, times, *a)),
        )
    value, *gradients = found(*arrays)
    assert value == pytest.approx(plain(*arrays), rel=1e-9)
    for k, gradient in enumerate(gradients):
        others = list(arrays)

        def along(flat, k=k, others=others):
            others[k] = flat.reshape(arrays[k].shape)
            return plain(*others)

        np.testing.assert_allclose(
            gradient.ravel(), approx_fprime(arrays[k].ravel(), along), atol=1e-5
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "more"),
    [
        *(
            (
                model,
                lambda D, P, w, W, stated=stated: sum(
                    wi * stated(D[[i]], P[[i]]) for i, wi in enumerate(w)
                ),
            )
            for model, stated in ROWS[:2]
        ),
        (LDLLC(lam=0.2), lambda D, P, w, W: LDLLC(lam=0.2)._penalty(W)[0] - (W**2).sum()),
    ],
    ids=["LDLLRR", "LDLDPA", "LDLLC"],
)
def test_fit_is_stationary_in_the_stated_objective(model, more, weighted):
    X, D = make_problem(n=12)
    w = np.arange(1.0, 13.0) if weighted else np.ones(12)
    model = type(model)(**model.get_params()).set_params(tol=1e-15)
    model.fit(X, D, sample_weight=w if weighted else None)

    def stated(flat):
        W, b = flat[:12].reshape(3, 4), flat[12:]
        P = np.exp(X @ W + b)
        P /= P.sum(axis=1, keepdims=True)
        return -(w[:, None] * D * np.log(P)).sum() + (W**2).sum() + more(D, P, w, W)

    at = np.concatenate([model.coef_.T.ravel(), model.intercept_])
    assert stated(at) == pytest.approx(model.objective_, rel=1e-9)
    assert np.abs(approx_fprime(at, stated, 1e-6)).max() < 1e-3


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        LDLLRR(lam=0.0),
        LDLDPA(alpha=0.0, beta=0.0),
        LDLLC(lam=0.0),
        LDLLCLR(lam2=0.0, lam4=0.0),
        LDLSCL(lam2=1e9, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_without_its_term_each_method_is_softmax_regression(model, fit_intercept):
    X, D = make_problem()
    params = {"l2": 0.3, "fit_intercept": fit_intercept, "tol": 1e-14}
    found = type(model)(**model.get_params()).set_params(**params).fit(X, D)
    np.testing.assert_allclose(found.predict(X), SABFGS(**params).fit(X, D).predict(X), atol=1e-5)


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_predictions_beat_the_mean(cls):
    X, D = make_problem(n=200, noise=0.1)
    model = cls(random_state=0) if cls is LDLSCL else cls()
    assert (
        model.fit(X[:150], D[:150]).score(X[150:], D[150:])
        > MeanLDL().fit(X, D).score(X[150:], D[150:]) + 0.2
    )


def test_ranking_loss_improves_the_order():
    X, D = make_problem(n=80, noise=1.5)

    def ordered(lam):
        P = LDLLRR(lam=lam).fit(X, D).predict(X)
        pairs = [(D[:, u] - D[:, v], P[:, u] - P[:, v]) for u in range(4) for v in range(u)]
        return sum((abs(d) * (d * p > 0)).sum() for d, p in pairs)

    assert ordered(10.0) > ordered(0.0) + 1.0


def test_ranks_and_variances_move_degrees_to_the_highest_label():
    X, D = make_problem(n=80, noise=1.5)
    degrees = [
        LDLDPA(**params).fit(X, D).predict(X) for params in ({}, {"alpha": 1.0}, {"beta": 100.0})
    ]
    plain, ranked, varied = (P[np.arange(80), D.argmax(axis=1)].mean() for P in degrees)
    assert min(ranked, varied) > plain + 0.01


def test_small_weight_of_the_rest_gives_sharp_predictions():
    """Degree moved to the highest label saves 2 and costs lam3."""
    X, D = make_problem(n=80, noise=0.1)
    for cls in (LDLHR, LDLM):
        published, ours = (
            cls(lam3=lam3, l2=1e-3).fit(X, D).predict(X).max(axis=1).mean() for lam3 in (0.1, 10.0)
        )
        assert published > 0.97
        assert ours == pytest.approx(D.max(axis=1).mean(), abs=0.08)


def test_errors_within_the_margins_have_no_loss(monkeypatch):
    monkeypatch.setattr(ldl_hr, "_KINK_WIDTH", 1e-12)
    D = np.array([[0.5, 0.3, 0.1, 0.1]])  # the second label is 0.2 ahead of the third
    rest = LDLM(lam2=0.0, lam3=1.0, rho=2.0)  # no error exceeds 2
    assert rest._row_losses(D, np.array([[0.6, 0.25, 0.05, 0.1]]))[0] == pytest.approx(
        0.0, abs=1e-9
    )
    assert rest._row_losses(D, np.array([[0.8, 0.1, 0.05, 0.05]]))[0] == pytest.approx(
        0.3 - 0.2, abs=1e-9
    )


def test_without_margins_the_loss_is_that_of_ldlhr(monkeypatch):
    monkeypatch.setattr(ldl_hr, "_KINK_WIDTH", 1e-12)
    D, P = np.array([[0.6, 0.2, 0.2]]), np.array([[0.3, 0.3, 0.4]])
    params = {"lam2": 2.0, "lam3": 3.0, "rho": 0.0}
    assert LDLM(**params)._row_losses(D, P)[0] == pytest.approx(
        LDLHR(**params)._row_losses(D, P)[0]
    )


def test_correlations_of_labels_have_the_rank_that_their_penalty_allows():
    X, D = make_problem(n=80)
    ranks = [
        np.linalg.matrix_rank(LDLLCLR(lam2=1.0, lam3=lam3).fit(X, D).correlations_, tol=0.05)
        for lam3 in (0.01, 2.0, 9.0)
    ]
    assert ranks[0] == 4
    assert ranks[1:] == [2, 0]


def test_unbounded_problem_raises():
    X, D = make_problem()
    with pytest.raises(InputError, match=r"lam4=1 is so large .* give a lam4 below 0\.\d"):
        LDLLCLR(lam3=0.1, lam4=1.0).fit(X, D)


def test_number_of_clusters_is_limited_by_distinct_distributions():
    X, D = make_problem()
    D = D[np.arange(30) % 2]
    assert LDLSCL(random_state=0).fit(X, D).cluster_centers_.shape == (2, 4)


def test_clusters_add_nonlinearity():
    """Two groups with different distributions that are not linearly separable."""
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    D = np.where(np.abs(X) > 0.5, [[0.8, 0.1, 0.1]], [[0.1, 0.1, 0.8]])
    X = np.column_stack([X, np.abs(X) + 0.3 * np.random.default_rng(0).normal(size=X.shape)])
    local, linear = LDLSCL(n_clusters=2, random_state=0).fit(X, D), SABFGS().fit(X, D)
    assert local.score(X, D) > linear.score(X, D) + 0.01
