"""Row data of joint models: sample weights, unknown labels, known degrees."""

import numpy as np
import pandas as pd
import pytest
from estimator_cases import make_problem
from reference.admm import solve_by_admm
from scipy.special import xlogy
from sklearn.base import clone

from ldlearn import DLDL, FLE, GLLE, SABFGS, PriorLE, UniformLE, VoteLDL
from ldlearn.core import laplacian, normalize_rows
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError
from ldlearn.joint import dldl_steps
from ldlearn.metrics import intersection
from ldlearn.solvers.newton_simplex import newton_simplex

MODELS = [
    DLDL(),
    DLDL(beta=0.3, gamma=0.5, fit_intercept=False),
    DLDL(beta=0.3, init="pseudo"),
    VoteLDL(),
    VoteLDL(gamma=0.3),
]
EACH = pytest.mark.parametrize("model", MODELS, ids=repr)
WITHOUT_UNKNOWN_LABELS = pytest.mark.parametrize(
    "model", [DLDL(), DLDL(alpha=0.1, n_neighbors=5), VoteLDL()], ids=repr
)


def votes(n=120, c=4, raters=6, seed=0):
    """Rows with 0/1 labels from votes, true degrees, and sample weights."""
    data = make_label_distributions(
        n, n_labels=c, labels="votes", n_raters=raters, random_state=seed
    )
    return data.X, data.Y.astype(float), data.D, np.random.default_rng(seed).integers(0, 4, size=n)


@EACH
def test_sample_weights_equal_repeated_rows(model):
    X, Y, _, w = votes()
    weighted = clone(model).fit(X, Y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=2e-4)
    assert weighted.gamma_ == pytest.approx(repeated.gamma_)
    assert weighted.votes_per_row_ == pytest.approx(repeated.votes_per_row_, rel=1e-3)
    firsts = np.cumsum(w) - w
    counted = w > 0
    np.testing.assert_allclose(
        weighted.label_distributions_[counted],
        repeated.label_distributions_[firsts[counted]],
        atol=2e-4,
    )
    # Rows with weight 0 get the degrees of new rows.
    np.testing.assert_allclose(
        weighted.label_distributions_[~counted],
        repeated.enhance(X[~counted], Y[~counted]),
        atol=2e-4,
    )
    assert weighted.score(X, Y, sample_weight=w) == pytest.approx(
        repeated.score(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0)), rel=1e-3
    )


def test_selection_respects_sample_weights():
    """Half of the rows are votes, half have two positive labels; the half with the larger weights
    decides."""
    some = make_label_distributions(100, 3, labels="votes", n_raters=5, random_state=0)
    other = make_label_distributions(100, 3, labels="top-k", k=2, random_state=1)
    X, Y = np.vstack([some.X, other.X]), np.vstack([some.Y, other.Y])
    first = np.where(np.arange(200) < 100, 1.0, 0.001)
    assert "taken as votes" in DLDL().fit(X, Y, sample_weight=first).selection_summary_
    assert "equally many" in DLDL().fit(X, Y, sample_weight=first[::-1].copy()).selection_summary_


def stated_objective(model, X, D, G, w):
    P = model.predict(X)
    rows = xlogy(D, D).sum(axis=1) - (D * np.log(P)).sum(axis=1) + model.beta_ * (D**2).sum(axis=1)
    return w @ rows + model.alpha_ * np.vdot(D, G @ D) + model.gamma_ * np.sum(model.coef_**2)


@pytest.mark.parametrize("solver", [newton_simplex, solve_by_admm])
def test_sample_weights_do_not_apply_to_the_graph_term(solver, monkeypatch):
    monkeypatch.setattr(dldl_steps, "newton_simplex", solver)
    X, Y, _, w = votes(60)
    w = w + 0.5
    model = DLDL(alpha=0.1, beta=0.5, gamma=1.0, n_neighbors=4).fit(X, Y, sample_weight=w)
    G = laplacian(model.graph_)
    at = stated_objective(model, X, model.label_distributions_, G, w)
    assert model.objective_ == pytest.approx(at, rel=1e-6)
    rng = np.random.default_rng(0)
    for step in (1e-2, 1e-3):  # no other D on the support is lower
        other = normalize_rows(model.label_distributions_ * np.exp(step * rng.normal(size=Y.shape)))
        assert stated_objective(model, X, other, G, w) >= at - 1e-4


def test_rows_with_weight_zero_are_not_neighbours_of_new_rows():
    X, Y, _, w = votes(80)
    counted = w > 0
    settings = {"alpha": 0.2, "beta": 0.5, "gamma": 1.0, "n_neighbors": 4}
    weighted = DLDL(**settings).fit(X, Y, sample_weight=counted)
    without = DLDL(**settings).fit(X[counted], Y[counted])
    np.testing.assert_allclose(weighted.enhance(X, Y), without.enhance(X, Y), atol=1e-9)
    np.testing.assert_allclose(
        weighted.label_distributions_[counted], without.label_distributions_, atol=1e-9
    )


@pytest.mark.parametrize("model", [DLDL(beta=1.0, gamma=1.0), VoteLDL(gamma=1.0)], ids=repr)
def test_invalid_sample_weights_raise(model):
    X, Y, _, _ = votes(30)
    for weights, message in (
        (np.full(30, -1.0), "Negative"),
        (np.zeros(30), "at least one non-zero"),
        (np.ones(29), "sample_weight"),
        (np.where(np.arange(30) == 3, np.nan, 1.0), "NaN"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(X, Y, sample_weight=weights)


# True degrees for some rows


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_known_degrees_are_kept_and_the_others_optimal(alpha):
    cp = pytest.importorskip("cvxpy")
    X, Y, D, w = votes(40)
    w = w + 0.5
    degrees = np.where(np.arange(40)[:, None] % 3 == 0, D, np.nan)
    held = np.isfinite(degrees).all(axis=1)
    model = DLDL(alpha=alpha, beta=0.4, gamma=0.5, n_neighbors=4).fit(
        X, Y, sample_weight=w, degrees=degrees
    )
    np.testing.assert_allclose(model.label_distributions_[held], D[held], atol=1e-12)
    assert (model.gap_[held] == 0).all()
    # The last step was in D, so that D is optimal for the free rows.
    logP = np.log(model.predict(X))
    x = cp.Variable(Y.shape, nonneg=True)
    terms = [
        w[i] * (-cp.sum(cp.entr(x[i])) - logP[i] @ x[i] + 0.4 * cp.sum_squares(x[i]))
        for i in range(40)
    ]
    objective = sum(terms) + 0.5 * np.sum(model.coef_**2)
    if alpha:
        values, vectors = np.linalg.eigh(laplacian(model.graph_).toarray())
        objective += alpha * cp.sum_squares((np.sqrt(np.maximum(values, 0.0)) * vectors).T @ x)
    off = np.argwhere((Y == 0) & ~held[:, None])
    constraints = [
        cp.sum(x, axis=1) == 1,
        x[np.flatnonzero(held)] == D[held],
        x[off[:, 0], off[:, 1]] == 0,
    ]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(problem.value, abs=2e-4)
    np.testing.assert_allclose(model.label_distributions_, x.value, atol=5e-3)
    assert (np.diff(model.objective_path_) <= 1e-6).all()


def test_all_degrees_known_is_softmax_regression():
    X, Y, D, _ = votes()
    model = DLDL(beta=1.0, gamma=0.5, tol=1e-9).fit(X, Y, degrees=D)
    np.testing.assert_allclose(
        model.predict(X), SABFGS(l2=0.5, tol=1e-10).fit(X, D).predict(X), atol=1e-4
    )
    np.testing.assert_allclose(model.label_distributions_, D)


def test_all_degrees_unknown_equals_no_degrees():
    X, Y, _, _ = votes(60)
    plain = DLDL(beta=1.0).fit(X, Y)
    given = DLDL(beta=1.0).fit(X, Y, degrees=np.full(Y.shape, np.nan))
    np.testing.assert_allclose(plain.label_distributions_, given.label_distributions_, atol=1e-9)


def test_known_degrees_improve_the_predictor_and_work_in_paths():
    X, Y, D, _ = votes(200)
    degrees = np.where(np.arange(200)[:, None] < 100, D, np.nan)
    new = slice(100, 200)
    models = list(
        DLDL(gamma=0.5).fit_path(X, Y, [{"beta": b} for b in (0.1, 10.0)], degrees=degrees)
    )
    for model, beta in zip(models, (0.1, 10.0), strict=True):
        alone = DLDL(beta=beta, gamma=0.5).fit(X, Y, degrees=degrees)
        np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-3)
    without = DLDL(beta=10.0, gamma=0.5).fit(X, Y)
    nearness = [intersection(D[new], model.predict(X[new])) for model in (models[1], without)]
    assert nearness[0] > nearness[1] + 0.01


def test_degrees_are_matched_by_name_and_checked():
    X, Y, D, _ = votes(30)
    names = list("abcd")
    frame = pd.DataFrame(D[:, ::-1], columns=names[::-1])
    model = DLDL(beta=1.0, gamma=1.0).fit(X, pd.DataFrame(Y, columns=names), degrees=frame)
    np.testing.assert_allclose(model.label_distributions_, D)
    partly = D.copy()
    partly[2, 1] = np.nan
    for bad, message in (
        (partly, "as in row 2 of degrees"),
        (2 * D, "sum to 1: row 0"),
        (D[:5], "30 rows and 4 columns"),
    ):
        with pytest.raises(InputError, match=message):
            DLDL(beta=1.0, gamma=1.0).fit(X, Y, degrees=bad)
    with pytest.raises(InputError, match="VoteLDL cannot use 'degrees' in fit"):
        VoteLDL().fit_enhance(X, Y, degrees=D)


# Unknown labels


def hide_labels(Y, fraction, seed=1):
    """Labels with unknown entries, and the mask of observed ones."""
    observed = np.random.default_rng(seed).random(Y.shape) >= fraction
    return np.where(observed, Y, np.nan), observed


@WITHOUT_UNKNOWN_LABELS
def test_unknown_labels_are_better_than_imputed_zeros_or_ones(model):
    """Recovery and prediction are better than with unknown labels set to 0 or 1."""
    data = make_label_distributions(
        600, n_labels=6, labels="votes", n_raters=8, snr=100.0, random_state=3
    )
    Y, observed = hide_labels(data.Y.astype(float), 0.3)
    Y = np.where(observed.any(axis=1, keepdims=True), Y, np.nan)
    partial = clone(model).fit(data.X, Y)
    some = partial.label_distributions_[~observed]
    assert (some > 0).any()
    np.testing.assert_array_equal(partial.label_distributions_[observed & (data.Y == 0)], 0.0)
    for value in (0.0, 1.0):
        filled = np.where(observed, data.Y, value)
        filled[filled.sum(axis=1) == 0] = 1.0
        other = clone(model).fit(data.X, filled)
        for found, theirs in (
            (partial.label_distributions_, other.label_distributions_),
            (partial.predict(data.X), other.predict(data.X)),
        ):
            assert intersection(data.D, found) > intersection(data.D, theirs) + 0.005


def test_row_without_known_labels_gets_its_prediction():
    X, Y, _, _ = votes()
    Y[5] = np.nan
    Y[7] = np.where(np.arange(4) < 2, 0.0, np.nan)  # two labels are negative, the others unobserved
    for model in (DLDL(beta=0.0, gamma=1.0, tol=1e-10), VoteLDL()):
        model.fit(X, Y)
        P, D = model.predict(X), model.label_distributions_
        np.testing.assert_allclose(D[5], P[5], atol=1e-4)
        np.testing.assert_allclose(
            D[7], np.append([0.0, 0.0], P[7, 2:] / P[7, 2:].sum()), atol=1e-4
        )
        np.testing.assert_allclose(model.enhance(X[5:8], Y[5:8]), D[5:8], atol=1e-6)


@WITHOUT_UNKNOWN_LABELS
def test_fully_observed_mask_equals_no_mask(model):
    X, Y, _, _ = votes(60)
    partial = clone(model).fit(
        np.vstack([X, X[:1]]),
        np.vstack([Y, np.full((1, 4), np.nan)]),
        sample_weight=np.append(np.ones(60), 0),
    )
    plain = clone(model).fit(X, Y)
    np.testing.assert_allclose(partial.predict(X), plain.predict(X), atol=1e-5)


def test_certificate_with_unknown_labels():
    X, Y, _, _ = votes(60)
    Y, observed = hide_labels(Y, 0.3)
    model = DLDL(beta=0.4, gamma=0.5).fit(X, Y)
    D = model.label_distributions_
    assert model.objective_ == pytest.approx(
        stated_objective(model, X, D, np.zeros((60, 60)), np.ones(60)), rel=1e-9
    )
    slope = np.log(np.maximum(D, 1e-300)) - np.log(model.predict(X)) + 1 + 0.8 * D
    free = (Y == 1) | ~observed
    gap = (D * slope).sum(axis=1) - np.where(free, slope, np.inf).min(axis=1)
    np.testing.assert_allclose(gap, model.gap_, atol=1e-6)
    assert gap.sum() <= 1e-6 * 60 + 1e-9


@WITHOUT_UNKNOWN_LABELS
def test_score_uses_known_labels(model):
    X, Y, _, _ = votes()
    model = clone(model).fit(X[:80], Y[:80])
    partial, observed = hide_labels(Y[80:], 0.4)
    chance = np.clip(
        1 - np.exp(-model.votes_per_row_ * model.predict(X[80:])), 0.5 / 81, 1 - 0.5 / 81
    )
    each = np.where(Y[80:] == 1, np.log(chance), np.log(1 - chance))
    assert model.score(X[80:], partial) == pytest.approx((each * observed).sum(axis=1).mean())
    weights = np.arange(40.0)
    expected = np.average((each * observed).sum(axis=1), weights=weights)
    assert model.score(X[80:], partial, sample_weight=weights) == pytest.approx(expected)


def test_unsupported_row_data_raise():
    X, Y, D, _ = votes(30)
    Y[3, 2] = np.nan
    with pytest.raises(
        InputError, match=r"NaN \(first at row 3, column 2\); GLLE needs every label to be 0 or 1"
    ):
        GLLE().fit(X, Y)
    with pytest.raises(InputError, match="GLLE cannot use 'sample_weight' in fit"):
        GLLE().fit(X, np.nan_to_num(Y), sample_weight=np.ones(30))
    with pytest.raises(InputError, match="FLE cannot use 'degrees' in fit"):
        FLE().fit(X, np.nan_to_num(Y), degrees=D)
    Y[:, 1] = np.nan
    with pytest.raises(InputError, match=r"'label_1' \(column 1 of y\) is unknown in every row"):
        DLDL().fit(X, Y)
    with pytest.raises(InputError, match="NaN"):
        SABFGS().fit(X, np.where(Y == 1, np.nan, D))


def test_baselines_use_label_frequencies_for_unknown_labels():
    """Closed forms of the baselines."""
    Y = np.array([[1.0, np.nan], [1.0, 0.0], [0.0, 1.0]])
    X = np.zeros((3, 1))
    fraction = (1 + 0.5) / (2 + 1)
    expected = np.array([[1 / (1 + fraction), fraction / (1 + fraction)], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(UniformLE().fit_enhance(X, Y), expected)
    prior = PriorLE().fit(X, Y).prior_
    np.testing.assert_allclose(prior, expected.mean(axis=0))
    weighted = (2 * 1 + 0.5) / (3 + 1)
    shares = np.array([[1 / (1 + weighted), weighted / (1 + weighted)], [1.0, 0.0], [0.0, 1.0]])
    found = PriorLE().fit(X, Y, sample_weight=[1, 1, 2])
    np.testing.assert_allclose(found.prior_, np.average(shares, axis=0, weights=[1, 1, 2]))
    np.testing.assert_allclose(found.label_distributions_[0], found.prior_)


def test_nullable_pandas_labels():
    X, _, Y = make_problem()
    partial = Y.astype(float)
    partial[3, 2] = np.nan
    model = DLDL(beta=1.0, gamma=1.0)
    expected = model.fit(X, partial).label_distributions_
    for kind in ("boolean", "Int64", "Float64"):
        y = pd.DataFrame(partial).astype(kind)
        np.testing.assert_array_equal(model.fit(X, y).label_distributions_, expected)
        assert model.score(X, y) == pytest.approx(model.score(X, partial))


def test_vote_counts_raise_with_remedy():
    X, _, Y = make_problem()
    with pytest.raises(
        InputError, match=r"got 3 at row 0, column \d; counts of votes are for CountLDL"
    ):
        DLDL().fit(X, 3 * Y)
