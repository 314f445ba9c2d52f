"""Identities and inequalities between the metrics."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from metric_ranges import value_range

from ldlearn.metrics import METRICS, per_row

TOL = 1e-9
DEGREE = st.just(0.0) | st.floats(1e-300, 1.0) | st.sampled_from([0.25, 0.5, 1.0])
DISTANCES = [
    "chebyshev",
    "clark",
    "canberra",
    "kl_divergence",
    "euclidean",
    "sorensen",
    "squared_chi2",
    "squared_chord",
    "wave_hedges",
    "jensen_shannon",
    "mean_squared_error",
    "mean_absolute_error",
    "threshold_error",
    "expected_label_absolute_error",
    "expected_label_squared_error",
    "manhattan",
    "wasserstein",
    "cad",
    "qfd2",
    "cjs",
]
ASYMMETRIC = ("kl_divergence", "cross_entropy", "error_probability")
SYMMETRIC = [name for name in METRICS if name not in ASYMMETRIC]
ORDER_FREE = [name for name, metric in METRICS.items() if not metric.ordinal_only]
NO_TOP_LABEL = [name for name in ORDER_FREE if name not in ("zero_one_loss", "error_probability")]


@st.composite
def pairs(draw, max_labels=7):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, max_labels)))
    D, P = draw(arrays(float, (2, *shape), elements=DEGREE))
    D[D.sum(axis=1) == 0] = P[P.sum(axis=1) == 0] = 1.0
    return D / D.sum(axis=1, keepdims=True), P / P.sum(axis=1, keepdims=True)


law = settings(deadline=None, max_examples=100)


def rows_of(D, P, names=METRICS):
    return {name: per_row(name, D, P) for name in names}


def assert_same(found, expected):
    """Compare all metrics at once, which is faster than one by one."""
    names = list(expected)
    np.testing.assert_allclose(
        [found[name] for name in names],
        [expected[name] for name in names],
        atol=TOL,
        err_msg=f"a row each: {names}",
    )


@law
@given(pairs())
def test_identities_and_inequalities(pair):
    D, P = pair
    c = D.shape[1]
    v = rows_of(D, P)
    l1 = np.abs(D - P).sum(axis=1)

    np.testing.assert_allclose(v["intersection"], 1 - l1 / 2, atol=TOL)
    np.testing.assert_allclose(v["sorensen"], 1 - v["intersection"], atol=TOL)
    np.testing.assert_allclose(v["squared_chord"], 2 - 2 * v["fidelity"], atol=TOL)
    np.testing.assert_allclose(v["mean_squared_error"], v["euclidean"] ** 2 / c, atol=TOL)
    np.testing.assert_allclose(v["mean_absolute_error"], l1 / c, atol=TOL)
    np.testing.assert_allclose(v["manhattan"], l1, atol=TOL)
    np.testing.assert_allclose(v["soft_micro_f1"], v["intersection"], atol=TOL)
    np.testing.assert_allclose(v["po_jsd"], 1 - v["jensen_shannon"] / math.log(2), atol=TOL)
    np.testing.assert_allclose(v["wasserstein"], v["cad"], atol=TOL)
    np.testing.assert_allclose(v["threshold_agreement"], 1 - v["threshold_error"], atol=TOL)
    np.testing.assert_allclose(
        v["expected_label_squared_error"], v["expected_label_absolute_error"] ** 2, atol=TOL
    )
    chain = [
        (v["chebyshev"], 1 - v["intersection"]),
        (1 - v["intersection"], (c // 2) * v["chebyshev"]),
        (1 - c / 2 * v["chebyshev"], v["intersection"]),
        (v["clark"] ** 2, v["canberra"]),
        (v["canberra"], math.sqrt(c) * v["clark"]),
        (l1**2 / 2, v["kl_divergence"]),  # Pinsker
        (v["kl_divergence"], v["cross_entropy"]),
        (v["squared_chi2"], l1),
        (v["canberra"], v["wave_hedges"]),
        (v["wave_hedges"], 2 * v["canberra"]),
        (v["jensen_shannon"], math.log(2) * l1 / 2),
        (v["squared_chord"], l1),
        (v["squared_chi2"] / 4, v["jensen_shannon"]),
        (l1 / 2, v["wasserstein"]),
        (v["expected_label_absolute_error"], v["wasserstein"]),
        (v["qfd2"], 2 / c * v["cad"]),
    ]
    for small, large in chain:
        assert (small <= large + TOL).all()


@law
@given(pairs())
def test_values_stay_in_their_range(pair):
    for name, values in rows_of(*pair).items():
        low, high = value_range(name, pair[0].shape[1])
        defined = values[~np.isnan(values)]
        assert (defined >= low - TOL).all(), name
        assert (defined <= high + TOL).all(), name


@law
@given(pairs())
def test_perfect_prediction_has_the_best_value(pair):
    D, P = pair
    same, other = rows_of(D, D), rows_of(D, P)
    for name in DISTANCES:
        # KL raises a predicted degree below machine epsilon, so it may miss 0 by about that much.
        assert (np.abs(same[name]) <= (TOL if name == "kl_divergence" else 0.0)).all(), name
    similarities = ("cosine", "intersection", "fidelity", "spearman", "kendall")
    assert_same(same, dict.fromkeys(similarities, np.ones(len(D))))
    for name, metric in METRICS.items():
        better = same[name] - other[name] if metric.greater_is_better else other[name] - same[name]
        assert not (better < -TOL).any(), name


@law
@given(pairs())
def test_symmetry(pair):
    D, P = pair
    assert_same(rows_of(D, P, SYMMETRIC), rows_of(P, D, SYMMETRIC))


@law
@given(pairs(), st.randoms(use_true_random=False))
def test_label_order_does_not_matter(pair, random):
    D, P = pair
    order = random.sample(range(D.shape[1]), D.shape[1])
    assert_same(rows_of(D[:, order], P[:, order], NO_TOP_LABEL), rows_of(D, P, NO_TOP_LABEL))


@law
@given(pairs())
def test_rows_are_measured_one_by_one(pair):
    D, P = pair
    alone = [rows_of(D[[i]], P[[i]]) for i in range(len(D))]
    assert_same(
        rows_of(D, P), {name: np.concatenate([row[name] for row in alone]) for name in METRICS}
    )


@law
@given(pairs())
def test_every_exact_zero_of_the_truth_costs_one_in_clark_and_canberra(pair):
    D, P = pair
    assume((P > 0).all())
    zeros = (D == 0).sum(axis=1)
    assert (per_row("clark", D, P) >= np.sqrt(zeros) - TOL).all()
    assert (per_row("canberra", D, P) >= zeros - TOL).all()


@pytest.mark.parametrize("c", [2, 3, 6])
def test_upper_bounds_are_attained(c):
    D, P = np.eye(c)[[0]], np.eye(c)[[c - 1]]
    for name in (
        "chebyshev",
        "euclidean",
        "sorensen",
        "squared_chi2",
        "squared_chord",
        "jensen_shannon",
    ):
        assert METRICS[name].function(D, P) == pytest.approx(value_range(name, c)[1]), name
    for name in ("mean_squared_error", "mean_absolute_error", "expected_label_absolute_error"):
        assert METRICS[name].function(D, P) == pytest.approx(value_range(name, c)[1]), name
    for name in ("manhattan", "wasserstein", "cad", "qfd2", "cjs"):
        assert METRICS[name].function(D, P) == pytest.approx(value_range(name, c)[1], rel=1e-9), (
            name
        )
    if c % 2 == 0:
        half = np.repeat([[2.0 / c, 0.0]], c // 2, axis=0).ravel()[np.newaxis]
        for name in ("clark", "canberra", "wave_hedges"):
            assert METRICS[name].function(half, half[:, ::-1]) == pytest.approx(
                value_range(name, c)[1]
            ), name
