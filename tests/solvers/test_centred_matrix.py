"""Products and scatter matrices of columns of any scale and offset, against extended precision."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from ldlearn.core import scaling
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.spd import reciprocal

CONTAINERS = [np.asarray, sparse.csr_array]
SCALES = np.array([1e-8, 1e-3, 1.0, 1e4, 1e8])
CASES = {
    "near zero": (np.ones(5), 0.0),
    "offsets": (np.ones(5), 1e8),
    "scales": (SCALES, 0.0),
    "both": (np.array([0.1, 1.0, 10.0, 1e4, 1e8]), -1e8),
}


def columns(case, n=40, seed=0):
    scales, offset = CASES[case]
    return np.random.default_rng(seed).normal(size=(n, 5)) * scales + offset


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_products_match_centred_columns(case, container, fit_intercept, monkeypatch):
    monkeypatch.setattr(scaling, "_BLOCK_ENTRIES", 60)  # several blocks
    X = columns(case)
    exact = X.astype(np.longdouble)
    features = CentredMatrix(container(X), fit_intercept)
    # The mean is rounded; any centre is valid if it is the same everywhere.
    centre = exact.mean(axis=0) if fit_intercept else np.zeros(5)
    assert (np.abs(features.mean - centre) <= 1e-15 * (np.abs(centre) + X.std(axis=0))).all()
    Z = exact - features.mean
    lengths = np.sqrt((Z**2).sum(axis=0)).astype(float)
    rng = np.random.default_rng(1)
    W, b = rng.normal(size=(5, 3)) / lengths[:, None], rng.normal(size=3)
    R, w = rng.normal(size=(40, 3)), rng.random(40)
    np.testing.assert_allclose(
        features.linear_predictor(W, b), (Z @ W + b).astype(float), atol=1e-12
    )
    product, sums = features.transpose_product(R)
    np.testing.assert_allclose(
        product / lengths[:, None], (Z.T @ R).astype(float) / lengths[:, None], atol=1e-12
    )
    np.testing.assert_allclose(sums, R.sum(axis=0) if fit_intercept else 0.0)
    np.testing.assert_allclose(features.spread, lengths**2, rtol=1e-10)
    augmented = np.column_stack([Z, np.ones(40)])
    units = np.append(lengths, 1.0)
    expected = (augmented.T @ (w[:, None] * augmented)).astype(float)
    scaled = features.weighted_scatter(w) / units[:, None] / units
    np.testing.assert_allclose(scaled, expected / units[:, None] / units, atol=1e-11)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_exact_products_of_float32(container, offset):
    X = (np.random.default_rng(0).normal(size=(500, 6)) + offset).astype(np.float32)
    features, wide = CentredMatrix(container(X)), X.astype(np.float64)
    wide -= wide.mean(axis=0)
    W, R = (
        np.random.default_rng(1).normal(size=(6, 3)),
        np.random.default_rng(2).normal(size=(500, 3)),
    )
    np.testing.assert_allclose(
        features.linear_predictor(W, np.zeros(3), exact=True), wide @ W, atol=1e-11
    )
    np.testing.assert_allclose(features.transpose_product(R, exact=True)[0], wide.T @ R, atol=1e-10)
    np.testing.assert_allclose(features.linear_predictor(W, np.zeros(3)), wide @ W, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ridge", [0.0, 1e-3, 10.0])
def test_spectrum_of_the_ridge_scatter_matrix(case, ridge):
    X = columns(case)
    features = CentredMatrix(X)
    scale, basis, scatter, identity = features.spectrum(ridge)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-12)
    Z = (X.astype(np.longdouble) - X.astype(np.longdouble).mean(axis=0)).astype(float) * scale
    # In the basis both matrices have the stated diagonals, and their sum is diagonal.
    A, B = basis.T @ (Z.T @ Z) @ basis, basis.T @ np.diag(scale**2) @ basis
    np.testing.assert_allclose(np.diag(A), scatter, atol=1e-10)
    np.testing.assert_allclose(np.diag(B), identity, rtol=1e-8)
    both = A + ridge * B
    np.testing.assert_allclose(both, np.diag(np.diag(both)), atol=1e-10)
    diagonal = np.square(Z).sum(axis=0) + ridge * scale**2
    if case in ("near zero", "offsets"):  # one scale and one basis for all columns and ridges
        np.testing.assert_allclose(scale, scale[0])
        assert np.square(Z).sum(axis=0).max() == pytest.approx(1.0)
    else:
        np.testing.assert_allclose(diagonal, 1.0, rtol=1e-8)


def test_factorisation_is_shared_for_similar_columns():
    alike, unequal = CentredMatrix(columns("near zero")), CentredMatrix(columns("scales"))
    assert alike.spectrum(0.1) is alike.spectrum(7.0)
    assert unequal.spectrum(0.1) is unequal.spectrum(0.1)
    assert unequal.spectrum(0.1) is not unequal.spectrum(7.0)


def test_reciprocals_of_values_within_rounding_error_are_zero():
    np.testing.assert_array_equal(
        reciprocal(np.array([4.0, 1e-12, 1e-16, 0.0])), [0.25, 1e12, 0.0, 0.0]
    )
    np.testing.assert_array_equal(reciprocal(np.zeros(2)), 0.0)


def mirrored_rows():
    half = np.random.default_rng(0).normal(size=(40, 6))
    return np.vstack([half, -half])


def factorial_design(copies=4):
    return np.tile(np.array(list(product([-1.0, 1.0], repeat=5))), (copies, 1))


def one_hot(copies=5):
    """Categories of equal frequency: every row has the same values in other columns."""
    return np.tile(np.eye(12), (copies, 1))


@pytest.mark.parametrize("container", CONTAINERS)
def test_first_sampling_key_matches_its_formula(container):
    X = np.random.default_rng(0).normal(size=(9, 4)) * [1.0, 10.0, 0.1, 0.0]
    deviations = X.std(axis=0)
    z = (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, np.inf)
    expected = (z / (1 + (z - 0.7318) ** 2)).sum(axis=1)
    found = CentredMatrix(container(X)).sampling_keys()[:, 0]
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "make", [lambda: columns("near zero", n=200), mirrored_rows, factorial_design, one_hot]
)
def test_sorted_rows_do_not_depend_on_the_columns(make, container):
    X = make()
    rng = np.random.default_rng(1)
    order, starts = CentredMatrix(container(X)).sort_rows()
    assert len(starts) == len(np.unique(X, axis=0))
    for block in np.split(order, starts[1:]):
        assert (X[block] == X[block[0]]).all()
    changes = {
        "order": X[:, rng.permutation(X.shape[1])],
        "scale": X * rng.uniform(0.1, 10.0, size=X.shape[1]),
        "offset": X + 2.0 ** np.arange(X.shape[1]),
        "constant": np.insert(X, 2, 7.0, axis=1),
    }
    for name, changed in changes.items():
        np.testing.assert_array_equal(
            CentredMatrix(container(changed)).sort_rows()[0], order, err_msg=name
        )


@pytest.mark.parametrize("container", CONTAINERS)
def test_sorted_rows_do_not_depend_on_their_order(container):
    X = np.vstack([mirrored_rows(), mirrored_rows()[:10]])
    moved = np.random.default_rng(1).permutation(len(X))
    order, starts = CentredMatrix(container(X)).sort_rows()
    again, same = CentredMatrix(container(X[moved])).sort_rows()
    np.testing.assert_array_equal(X[moved][again], X[order])
    np.testing.assert_array_equal(same, starts)
    weights = np.repeat([2.0, 1.0], [10, 70])
    once, _ = CentredMatrix(container(mirrored_rows()), sample_weight=weights).sort_rows()
    np.testing.assert_array_equal(X[once], X[order[starts]])


def test_mirrored_columns_do_not_cancel():
    """As the two columns of a category with two values."""
    x = np.random.default_rng(0).normal(size=(50, 1))
    order, _ = CentredMatrix(np.hstack([x, -x])).sort_rows()
    assert not np.array_equal(order, np.arange(50))


def test_sampled_rows_do_not_depend_on_their_order():
    X = np.random.default_rng(0).normal(size=(3000, 3)) * np.tile([1.0, 5.0, 20.0], 1000)[:, None]
    sample = CentredMatrix(X).sample_rows(900)
    assert len(np.unique(sample)) == 900
    assert np.bincount(sample % 3).min() > 250
    moved = np.random.default_rng(1).permutation(3000)
    np.testing.assert_array_equal(np.sort(moved[CentredMatrix(X[moved]).sample_rows(900)]), sample)
    np.testing.assert_array_equal(CentredMatrix(X[:900]).sample_rows(900), np.arange(900))
