"""The default penalty: its value and its robustness to outlying rows and columns."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from ldlearn import DLDL, VoteLDL
from ldlearn.datasets import make_label_distributions
from ldlearn.metrics import intersection
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.row_space import reduce_to_row_space

CONTAINERS = pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"]
)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(100, 6)) * np.arange(1, 7)


@CONTAINERS
def test_gamma_is_proportional_to_the_total_variance(X, container):
    expected = 0.03 * X.var(axis=0).sum()
    assert default_gamma(CentredMatrix(container(X))) == pytest.approx(expected)
    weights = np.random.default_rng(1).integers(1, 4, size=100)
    repeated = default_gamma(CentredMatrix(container(np.repeat(X, weights, axis=0))))
    assert default_gamma(
        CentredMatrix(container(X), sample_weight=weights.astype(float))
    ) == pytest.approx(repeated)
    assert default_gamma(CentredMatrix(container(3.0 * X))) == pytest.approx(9.0 * expected)


def test_features_in_their_row_space_have_the_same_penalty():
    X = np.random.default_rng(0).normal(size=(20, 90))
    for scale in (1.0, 40.0):
        X[:, 4] *= scale
        wide = CentredMatrix(X)
        reduced = reduce_to_row_space(wide)
        assert reduced is not wide
        assert default_gamma(reduced) == pytest.approx(default_gamma(wide))


def test_overflowing_squares_raise(X):
    with pytest.raises(OverflowError), np.errstate(over="ignore", invalid="ignore"):
        default_gamma(CentredMatrix(1e200 * X))


@CONTAINERS
@pytest.mark.parametrize("columns", [slice(None), 2], ids=["row", "cell"])
def test_outlying_row_is_ignored(X, container, columns):
    weights = np.random.default_rng(2).integers(1, 4, size=100).astype(float)
    expected = default_gamma(
        CentredMatrix(np.delete(X, 7, axis=0), sample_weight=np.delete(weights, 7))
    )
    X[7, columns] = 1e6
    order = np.random.default_rng(1).permutation(100)
    for rows in (np.arange(100), order):
        given = CentredMatrix(container(X[rows]), sample_weight=weights[rows])
        with pytest.warns(
            UserWarning, match=rf"Row {np.flatnonzero(rows == 7)[0]} of X .*far from all others"
        ):
            assert default_gamma(given, warn=True) == pytest.approx(expected)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_many_outlying_rows_are_ignored(X, fit_intercept):
    X += 5.0
    outlying = np.arange(0, 60, 2)
    expected = default_gamma(CentredMatrix(np.delete(X, outlying, axis=0), fit_intercept))
    X[outlying] = 1e6
    with pytest.warns(UserWarning, match="Row 0 and 29 more of X"):
        assert default_gamma(CentredMatrix(X, fit_intercept), warn=True) == pytest.approx(expected)


def test_threshold_for_outlying_rows():
    X = np.zeros((23, 2))
    X[:11, 0], X[11:21, 0] = -1.0, 1.0  # medians 0, median distance 1
    X[22] = 30.0, 10.0
    assert default_gamma(CentredMatrix(X)) == pytest.approx(0.03 * X.var(axis=0).sum())
    X[22] = 30.0, 10.1
    assert default_gamma(CentredMatrix(X)) == pytest.approx(0.03 * X[:22].var(axis=0).sum())


def test_outlying_sparse_rows():
    X = np.vstack([np.eye(40), np.full(40, 6.0)])
    with pytest.warns(UserWarning, match="Row 40 of X"):
        default_gamma(CentredMatrix(sparse.csr_array(X)), warn=True)


def test_outlying_rows_with_large_offset(X):
    expected = default_gamma(CentredMatrix(np.delete(X, 7, axis=0)))
    X[7] = -400.0
    assert default_gamma(CentredMatrix(X + 1e4)) == pytest.approx(expected, rel=1e-6)
    X[7] = 100.0  # less than 30 times the typical distance
    assert default_gamma(CentredMatrix(X)) == pytest.approx(0.03 * X.var(axis=0).sum())


def test_variances_are_clipped_at_a_thousand_times_the_median(X):
    X[:, 4] *= 1e4
    variances = X.var(axis=0)
    expected = 0.03 * (np.delete(variances, 4).sum() + 1000.0 * np.median(variances))
    with pytest.warns(UserWarning, match="Column 4 of X .*larger scale"):
        assert default_gamma(CentredMatrix(X), warn=True) == pytest.approx(expected)
    X[:, 1] *= 1e4
    with pytest.warns(UserWarning, match="Column 1 and 1 more of X"):
        default_gamma(CentredMatrix(X), warn=True)


@pytest.mark.parametrize("factor", [900.0, 1100.0])
def test_columns_are_reported_above_a_thousand_times_the_median_variance(X, factor):
    X /= X.std(axis=0)
    X[:, 4] *= np.sqrt(factor)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        default_gamma(CentredMatrix(X), warn=True)
    assert ["Column 4" in str(warning.message) for warning in found] == [True] * (factor > 1000.0)


def test_constant_and_rare_features_are_not_outlying(X):
    X[:, 0] = 3.0
    X[:, 1] = np.arange(100) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert default_gamma(CentredMatrix(X), warn=True) == pytest.approx(
            0.03 * X.var(axis=0).sum()
        )
        assert default_gamma(CentredMatrix(np.full((10, 2), 5.0)), warn=True) == 0.0
        default_gamma(CentredMatrix(sparse.csr_array(np.eye(50)[:, :3])), warn=True)


@pytest.mark.parametrize("model", [DLDL(), VoteLDL()], ids=["DLDL", "VoteLDL"])
def test_outliers_hardly_affect_the_fit_and_are_reported(model):
    data = make_label_distributions(300, 6, 4, labels="votes", n_raters=10)
    X, Y, new, truth = data.X[:150].copy(), data.Y[:150], data.X[150:], data.D[150:]
    plain = intersection(truth, model.fit(X, Y).predict(new))
    scale = np.where(np.arange(6) == 3, 100.0, 1.0)
    with pytest.warns(UserWarning, match="Column 3 of X"):
        assert intersection(truth, model.fit(X * scale, Y).predict(new * scale)) > plain - 0.05
    X[3] = 1e6
    with pytest.warns(UserWarning, match="Row 3 of X"):
        assert intersection(truth, model.fit(X, Y).predict(new)) > plain - 0.12
    model.set_params(gamma=1.0).fit(X, Y)  # no penalty is selected: no warning
    model.set_params(gamma=None)


def test_penalty_of_alternating_kinds_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_002, 2))
    X[::3] += 100.0
    shuffled = rng.permutation(X)
    assert default_gamma(CentredMatrix(X)) == pytest.approx(default_gamma(CentredMatrix(shuffled)))
