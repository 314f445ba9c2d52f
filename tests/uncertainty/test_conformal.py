"""Conformal intervals: coverage for any estimator."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldlearn import DLDL, SABFGS, ConformalIntervals, UniformLE, conformal_intervals
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import InputError, ParameterError


def degrees(rng, shape):
    D = rng.standard_gamma(0.7, size=shape) + 1e-9
    return D / D.sum(axis=-1, keepdims=True)


@settings(max_examples=12, deadline=None)
@given(
    n=st.integers(5, 60),
    coverage=st.floats(0.5, 0.95),
    simultaneous=st.booleans(),
    wrong=st.booleans(),
)
def test_empirical_coverage_matches_the_nominal_level(n, coverage, simultaneous, wrong):
    """For exchangeable rows and any predictor, coverage is at least nominal and not much larger."""
    rng = np.random.default_rng(0)
    repeats, c = 1500, 4
    D = degrees(rng, (repeats, n + 1, c))
    P = degrees(rng, D.shape) if wrong else 0.7 * D + 0.3 * degrees(rng, D.shape)
    covered = []
    for d, p in zip(D, P, strict=True):
        lower, upper = conformal_intervals(p[:n], d[:n], p[n:], coverage, simultaneous=simultaneous)
        inside = (lower <= d[n:]) & (d[n:] <= upper)
        covered.append(inside.all() if simultaneous else inside.mean())
    error = 3.5 * np.sqrt(coverage * (1 - coverage) / repeats)
    assert coverage - error < np.mean(covered)
    if (
        (n + 1) * coverage <= n and not wrong
    ):  # intervals of a bad predictor are clipped to [0, 1] and cover more
        assert np.mean(covered) < coverage + 1 / (n + 1) + error


def test_coverage_for_fitted_estimators():
    data = make_label_distributions(900, 8, 5, labels="votes", n_raters=5)
    known, new = slice(300, 500), slice(500, None)
    for model in (DLDL().fit(data.X[:300], data.Y[:300]), SABFGS().fit(data.X[:300], data.D[:300])):
        lower, upper = (
            ConformalIntervals(model)
            .fit(data.X[known], data.D[known])
            .predict_interval(data.X[new])
        )
        P = model.predict(data.X[new])
        assert (lower <= P).all()
        assert (upper >= P).all()
        assert 0.84 < ((lower <= data.D[new]) & (data.D[new] <= upper)).mean() < 0.96


def test_simultaneous_coverage():
    data = make_label_distributions(900, 8, 5, labels="votes", n_raters=5)
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X[:300], data.Y[:300])
    sure = ConformalIntervals(model, simultaneous=True).fit(data.X[300:500], data.D[300:500])
    lower, upper = sure.predict_interval(data.X[500:], coverage=0.8)
    assert 0.72 < ((lower <= data.D[500:]) & (data.D[500:] <= upper)).all(axis=1).mean() < 0.88


def test_label_names_unknown_rows_and_too_few_rows():
    data = make_label_distributions(120, 4, 3, labels="votes")
    names = ["a", "b", "c"]
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, pd.DataFrame(data.Y, columns=names))
    D = pd.DataFrame(data.D, columns=names)
    straight = ConformalIntervals(model).fit(data.X, D)
    turned = ConformalIntervals(model).fit(data.X, D[names[::-1]])
    np.testing.assert_allclose(straight.residuals_, turned.residuals_)
    partly = ConformalIntervals(model).fit(data.X, D.where(D.index.to_series() < 30))
    assert len(partly.residuals_) == 30
    few = ConformalIntervals(model).fit(data.X[:8], D[:8])
    for bound, value in zip(few.predict_interval(data.X, 0.9), (0.0, 1.0), strict=True):
        assert (bound == value).all()  # eight rows are too few for a coverage of 0.9
    assert (few.predict_interval(data.X, 8 / 9)[1] < 1.0).any()


def test_invalid_calibration_data_raise():
    data = make_label_distributions(60, 4, 3, labels="votes")
    model = DLDL(beta=1.0, gamma=1.0).fit(data.X, data.Y)
    with pytest.raises(InputError, match="the degrees of no row are known"):
        ConformalIntervals(model).fit(data.X, np.full((60, 3), np.nan))
    with pytest.raises(InputError, match=r"must have 60 rows and 3 columns, .* got 59 and 3"):
        ConformalIntervals(model).fit(data.X, data.D[:59])
    partly_known = data.D.copy()
    partly_known[:3], partly_known[5] = np.nan, 0.5
    with pytest.raises(
        InputError, match="row 5 of degrees"
    ):  # counted over all rows, not only the known ones
        ConformalIntervals(model).fit(data.X, partly_known)
    with pytest.raises(InputError, match="y must hold numbers only"):
        ConformalIntervals(model).fit(data.X, np.full((60, 3), "a"))
    with pytest.raises(ParameterError, match="UniformLE predicts nothing"):
        ConformalIntervals(UniformLE().fit(data.X, data.Y)).fit(data.X, data.D)
    with pytest.raises(InputError, match="got 60 and 2"):
        ConformalIntervals(model).fit(data.X, np.full((60, 2), 0.5))
    with pytest.raises(InputError, match="true ones of shape"):
        conformal_intervals(
            data.D, data.D[:, :2] / data.D[:, :2].sum(axis=1, keepdims=True), data.D
        )
    with pytest.raises(ParameterError, match="coverage must be above 0 and below 1, got 90"):
        ConformalIntervals(model).fit(data.X, data.D).predict_interval(data.X, 90)
    for coverage in ("a", None):
        with pytest.raises(
            ParameterError, match=f"coverage must be above 0 and below 1, got {coverage!r}"
        ):
            conformal_intervals(data.D, data.D, data.D, coverage)


def test_residuals_of_degrees_near_0_have_a_scale_of_at_least_a_tenth():
    """sqrt(p (1 - p)) itself would make the residual of a tiny degree huge, and every interval with
    it."""
    known, truth = np.array([[1e-6, 1.0 - 1e-6]] * 9), np.array([[0.05, 0.95]] * 9)
    lower, upper = conformal_intervals(known, truth, [[0.5, 0.5]], coverage=0.9)
    reach = (0.05 - 1e-6) / 0.1 * 0.5
    np.testing.assert_allclose([lower[0], upper[0]], [[0.5 - reach] * 2, [0.5 + reach] * 2])
