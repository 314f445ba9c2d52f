from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.extra.numpy import arrays

from ldlearn.core import log_softmax, normalize_rows, project_simplex, softmax
from ldlearn.core.simplex import OUTPUT_MAPS, to_distributions

scores = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 7)),
    elements=st.floats(-1e3, 1e3, allow_subnormal=False),
)


def random_support(shape, seed):
    rng = np.random.default_rng(seed)
    support = rng.random(shape) < 0.5
    support[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    return support


@settings(deadline=None, max_examples=100)
@given(scores, st.integers(0, 100))
def test_projection_is_the_nearest_point(V, seed):
    support = random_support(V.shape, seed)
    B = project_simplex(V, support)
    assert (B >= 0).all()
    assert (B[~support] == 0).all()
    np.testing.assert_allclose(B.sum(axis=1), 1.0, atol=1e-9)
    # Variational inequality: <v - b, z - b> <= 0 for every vertex z, hence for every feasible z.
    inner = np.einsum("ij,ij->i", V - B, B)
    best = np.where(support, V - B, -np.inf).max(axis=1)
    assert (best - inner <= 1e-6 * (1 + np.abs(V).max())).all()
    np.testing.assert_allclose(project_simplex(B, support), B, atol=1e-9)


def test_projection_is_the_quadratic_programme_of_the_paper():
    """min |b - v|^2 with 0 <= b <= y, sum b = 1: the upper bound never binds."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(0)
    V, support = rng.normal(size=(5, 4)) * 2, random_support((5, 4), 1)
    B = cp.Variable((5, 4))
    constraints = [B >= 0, support.astype(float) >= B, cp.sum(B, axis=1) == 1]
    cp.Problem(cp.Minimize(cp.sum_squares(B - V)), constraints).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(project_simplex(V, support), B.value, atol=1e-5)


def test_projection_of_large_numbers_is_accurate():
    V = 1e15 + np.array([[0.25, 0.0, 0.0]])
    np.testing.assert_array_equal(project_simplex(V), [[0.5, 0.25, 0.25]])


def test_projection_on_empty_support_raises():
    with pytest.raises(ValueError, match="at least one allowed entry"):
        project_simplex(np.ones((2, 2)), np.array([[True, True], [False, False]]))


@settings(deadline=None, max_examples=60)
@given(scores, st.integers(0, 100), st.floats(-500, 500))
def test_softmax_on_a_support(Z, seed, shift):
    support = random_support(Z.shape, seed)
    P = softmax(Z, support)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert (P[~support] == 0).all()
    np.testing.assert_allclose(softmax(Z + shift, support), P, atol=1e-9)
    np.testing.assert_allclose(np.exp(log_softmax(Z, support)), P, atol=1e-12)


def test_softmax_never_overflows():
    P = softmax(np.array([[1e300, -1e300], [-1e5, -1e5 - 1]]))
    np.testing.assert_allclose(P, [[1, 0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e)]])


def test_normalize_rows():
    tiny = np.array([[1e-320, 3e-320], [0.0, 0.0]])
    np.testing.assert_allclose(normalize_rows(tiny), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-2)
    np.testing.assert_allclose(
        normalize_rows(np.array([[1e308, 1e308]])), [[0.5, 0.5]]
    )  # their sum overflows
    shifted = normalize_rows(np.array([[-1.0, 0.0, 1.0], [9.0, 5.0, 6.0]]), shift=True)
    np.testing.assert_allclose(shifted, [[0, 1 / 3, 2 / 3], [0.8, 0, 0.2]])
    np.testing.assert_allclose(normalize_rows(np.array([[2.0, 2.0]]), shift=True), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="shift=True"):
        normalize_rows(np.array([[-1.0, 2.0]]))


"""Output maps: distributions whatever the scores."""


@settings(deadline=None, max_examples=50)
@given(
    F=arrays(float, (4, 3), elements=st.floats(-1e3, 1e3)), normalize=st.sampled_from(OUTPUT_MAPS)
)
def test_rows_are_distributions_in_the_order_of_the_scores(F, normalize):
    D = to_distributions(F, normalize)
    assert (D >= 0).all()
    np.testing.assert_allclose(D.sum(axis=1), 1.0)
    order = np.argsort(F, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(D, order, axis=1), axis=1) >= 0).all() or normalize == "l1"


def test_invariances_of_the_maps():
    F = np.random.default_rng(0).normal(size=(5, 4))
    shift, scale = np.arange(5.0)[:, None], np.arange(1.0, 6.0)[:, None]
    np.testing.assert_allclose(
        to_distributions(F + shift, "softmax"), to_distributions(F, "softmax")
    )
    np.testing.assert_allclose(
        to_distributions(scale * F + shift, "shift_l1"), to_distributions(F, "shift_l1")
    )
    np.testing.assert_allclose(to_distributions(scale * F, "l1"), to_distributions(F, "l1"))


@pytest.mark.parametrize("normalize", OUTPUT_MAPS)
def test_constant_rows_become_uniform(normalize):
    np.testing.assert_allclose(to_distributions(np.array([[0.0] * 4, [3.0] * 4]), normalize), 0.25)
    np.testing.assert_allclose(to_distributions(np.full((1, 4), -3.0), normalize), 0.25)


def test_negative_scores_are_clipped_or_shifted():
    F = np.array([[3.0, 1.0, -1.0]])
    np.testing.assert_allclose(to_distributions(F, "l1"), [[0.75, 0.25, 0.0]])
    np.testing.assert_allclose(to_distributions(F, "shift_l1"), [[2 / 3, 1 / 3, 0.0]])


def test_unknown_map_raises():
    with pytest.raises(ValueError, match="softmax, l1, shift_l1"):
        to_distributions(np.ones((1, 2)), "l2")
