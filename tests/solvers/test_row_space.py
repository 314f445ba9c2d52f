"""Wide features reduced to their row space give the same fits and intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from ldlearn import DLDL
from ldlearn.core import softmax
from ldlearn.exceptions import InputError
from ldlearn.joint import VoteLDL, dldl, vote_ldl
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.row_space import RowSpace, reduce_to_row_space
from ldlearn.solvers.softmax_regression import softmax_regression
from ldlearn.solvers.vote_regression import vote_regression
from ldlearn.uncertainty import vote_posterior as module


def wide_rows(n=60, m=200, c=3, rank=None, seed=0):
    """Features, degrees and 0/1 labels; with a given rank, columns are combinations of a few
    others."""
    rng = np.random.default_rng(seed)
    X = (
        rng.normal(size=(n, m))
        if rank is None
        else rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    )
    X = X * rng.uniform(0.5, 2.0, size=m) + rng.normal(size=m)
    scores = (X - X.mean(axis=0)) @ rng.normal(size=(m, c))
    P = softmax(scores / scores.std(axis=0))
    votes = rng.multinomial(8, P)
    return X, P, votes > 0


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 12), st.integers(0, 3), st.integers(0, 10), st.booleans(), st.integers(0, 100)
)
def test_inner_products_and_scores_are_kept(n, copies, constant, fit_intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40)) + 3.0
    X = np.hstack([np.vstack([X, X[:copies]]), np.full((n + min(copies, n), constant), 2.0)])
    weights = rng.uniform(0.5, 3.0, size=len(X))
    whole = CentredMatrix(X, fit_intercept, weights)
    rows = RowSpace(whole)
    centred = X - whole.mean
    np.testing.assert_allclose(rows.X @ rows.X.T, centred @ centred.T, atol=1e-9)
    scatter = rows.X.T @ (weights[:, None] * rows.X)
    np.testing.assert_allclose(scatter, np.diag(rows.spread + rows.total * rows.mean**2), atol=1e-8)
    V, b = rng.normal(size=(rows.m, 2)), rng.normal(size=2)
    W, intercept = rows.to_original(V, b)
    np.testing.assert_allclose(X @ W + intercept, rows.X @ V + b, atol=1e-8)
    np.testing.assert_allclose(np.sum(W**2), np.sum(V**2), rtol=1e-8)
    Q = rows.largest_directions(rows.m)
    np.testing.assert_allclose(Q.T @ Q, np.eye(rows.m), atol=1e-7)


def test_directions_of_single_precision_rows_are_computed_in_double_precision():
    X = np.random.default_rng(0).normal(size=(12, 60)).astype(np.float32)
    directions = RowSpace(CentredMatrix(X)).largest_directions(5)
    same = RowSpace(CentredMatrix(X.astype(np.float64))).largest_directions(5)
    np.testing.assert_allclose(np.abs(directions), np.abs(same), atol=1e-12)


@pytest.mark.parametrize("rank", [None, 5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_in_the_row_space_matches_full_features(rank, fit_intercept, weighted):
    X, D, Y = wide_rows(rank=rank)
    weights = np.random.default_rng(0).uniform(0.2, 4.0, size=len(X)) if weighted else None
    whole = CentredMatrix(X, fit_intercept, weights)
    rows = RowSpace(whole)
    for regression, y in ((softmax_regression, D), (vote_regression, Y)):
        long, short = (regression(features, y, l2=2.0, tol=1e-12) for features in (whole, rows))
        assert short.loss == pytest.approx(long.loss, rel=1e-9)
        coef, intercept = rows.to_original(short.coef, short.intercept)
        np.testing.assert_allclose(X @ coef + intercept, X @ long.coef + long.intercept, atol=1e-4)
        np.testing.assert_allclose(coef, long.coef, atol=1e-5)


@pytest.mark.parametrize(
    "estimator", [DLDL(beta=1.0, gamma=5.0, tol=1e-10), VoteLDL(gamma=5.0, tol=1e-10)]
)
def test_estimators_match_fits_with_full_features(estimator, monkeypatch):
    X, _, Y = wide_rows()
    short = clone(estimator).fit(X, Y)
    for method in (dldl, vote_ldl):
        monkeypatch.setattr(method, "reduce_to_row_space", lambda features, *_: features)
    long = clone(estimator).fit(X, Y)
    for name in ("coef_", "intercept_", "label_distributions_", "objective_"):
        np.testing.assert_allclose(getattr(short, name), getattr(long, name), atol=1e-4)


def test_other_features_are_not_reduced():
    X, _, _ = wide_rows()
    assert isinstance(reduce_to_row_space(CentredMatrix(X)), RowSpace)
    large, uneven = X.copy(), X.copy()
    large[:, 0] *= 300.0  # different scales, although rows keep their digits
    uneven[:, 0] *= 1e6  # would dominate the rounding errors
    weighted = CentredMatrix(X, sample_weight=np.arange(60.0))  # one has weight 0
    others = [
        CentredMatrix(other) for other in (X[:, :100], large, uneven, sparse.csr_array(X), X[:1])
    ]
    for features in (*others, weighted):
        assert reduce_to_row_space(features) is features
        assert features.original_matrix is features


def test_rows_that_would_lose_precision_are_not_reduced():
    """Rows of very large norm or weight would leave only rounding errors of the others."""
    X, _, _ = wide_rows()
    far = X.copy()
    far[0] = 1e7
    often = np.append(1e12, np.ones(len(X) - 1))
    for features in (
        CentredMatrix(far),
        CentredMatrix(X, sample_weight=often),
        CentredMatrix(X + 1e7, fit_intercept=False),
    ):
        assert reduce_to_row_space(features) is features
    assert isinstance(reduce_to_row_space(CentredMatrix(X + 1e7)), RowSpace)
    middle = np.vstack([X + 1e3, X.mean(axis=0) + 1e3])  # a row of zeros
    assert isinstance(reduce_to_row_space(CentredMatrix(middle)), RowSpace)


def test_outlying_row_does_not_affect_the_others():
    X, _, Y = wide_rows(n=20, m=80)
    X[0] = 1e8
    model = DLDL(beta=1.0, gamma=3.0)
    beside, without = (
        clone(model).fit(X[first:], Y[first:]).label_distributions_[-19:] for first in (0, 1)
    )
    assert np.abs(beside - without).mean() < 0.005


@pytest.mark.parametrize("estimator", [DLDL(beta=1.0, gamma=5.0), VoteLDL(gamma=5.0)])
def test_float32_gives_the_same_intervals(estimator):
    X, _, Y = wide_rows()
    narrow = X.astype(np.float32)
    one, two = clone(estimator).fit(X, Y), clone(estimator).fit(narrow, Y)
    assert two.label_distributions_.dtype == np.float32
    found, same_rows = one.enhance_interval(X[:9], Y[:9]), two.enhance_interval(narrow[:9], Y[:9])
    for bound, same in zip(found, same_rows, strict=True):
        np.testing.assert_allclose(bound, same, atol=1e-3)


def test_covariance_matches_that_of_all_coefficients(monkeypatch):
    """Against the inverse of ``scatter (x) C + 2 l2 I`` as a matrix of all weights."""
    X, _, Y = wide_rows(n=20, m=50)
    rows, l2 = RowSpace(CentredMatrix(X)), 3.0
    fit = vote_regression(rows, Y, l2=l2)
    information = module._Information.from_fit(
        rows, fit, False, {"Y": Y, "observed": None, "offset": 0.0}
    )
    centred = X - X.mean(axis=0)
    bend = np.kron(
        centred.T @ centred, information.mean_information()[:-1, :-1]
    ) + 2.0 * l2 * np.eye(150)
    matrix = np.linalg.inv(bend).reshape(50, 3, 50, 3)
    new = np.random.default_rng(1).normal(size=(5, 50))
    exact = np.einsum("ni,ijkl,nk->njl", new, matrix, new)
    found = information.row_space_covariance(rows, l2)
    np.testing.assert_allclose(
        found.score_covariance(new) - found.intercept, exact, rtol=1e-4, atol=1e-6
    )
    monkeypatch.setattr(module, "_MAX_BASIS_ENTRIES", 10 * 50)  # fewer directions: never narrower
    fewer = information.row_space_covariance(rows, l2)
    assert fewer.basis.shape == (50, 10)
    more = np.einsum("njj->nj", fewer.score_covariance(new) - found.score_covariance(new))
    assert (more > 0).all()


@pytest.mark.parametrize("rank", [None, 20])
def test_coverage_with_wide_features(rank):
    X, P, Y = wide_rows(n=700, m=800, c=4, rank=rank, seed=3)
    model = VoteLDL().fit(X[:300], Y[:300])
    if rank is None:  # as many directions as rows: the labels determine the coefficients too poorly
        with pytest.raises(InputError, match="too poorly"):
            model.predict_interval(X[300:], 0.9)
        return
    low, high = model.predict_interval(X[300:], 0.9)
    assert 0.83 < ((low <= P[300:]) & (P[300:] <= high)).mean() < 0.97
    assert (high - low).mean() < 0.7
