"""Standardised coordinates must not change what a linear model says."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.core.scaling import feature_scaling


@pytest.mark.parametrize("center", [True, False])
def test_weights_mean_the_same_in_both_units(center):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 3.0, 1.0, -50.0]
    W, b = rng.normal(size=(4, 2)), rng.normal(size=2)
    scaling = feature_scaling(X, center)
    coef, intercept = scaling.undo(W, b)
    np.testing.assert_allclose(X @ coef + intercept, scaling.apply(X) @ W + b)
    np.testing.assert_allclose((scaling.apply(X) ** 2).mean(axis=0), 1.0)
    if not center:
        np.testing.assert_array_equal(intercept, b)


def test_a_column_that_never_varies_gets_no_weight():
    X = np.column_stack([np.full(7, 0.1), np.arange(7.0)])
    scaling = feature_scaling(X)
    np.testing.assert_array_equal(scaling.apply(X)[:, 0], 0.0)
    coef, intercept = scaling.undo(np.ones((2, 1)), np.zeros(1))
    assert coef[0, 0] == 0.0
    assert intercept[0] == pytest.approx(-1.5)


def test_rounding_errors_of_the_mean_are_not_spread():
    X = np.tile([0.1, 1 / 3, 1e9 + 0.1], (1001, 1))
    assert (X.mean(axis=0) != X[0]).any()
    np.testing.assert_array_equal(feature_scaling(X).scale, np.inf)


def test_without_centring_a_constant_column_is_kept_and_a_zero_one_is_not():
    X = np.column_stack([np.full(7, 0.1), np.zeros(7)])
    Z = feature_scaling(X, center=False).apply(X)
    np.testing.assert_allclose(Z[:, 0], 1.0)
    np.testing.assert_array_equal(Z[:, 1], 0.0)
