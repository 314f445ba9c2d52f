"""Hand-computed values, and every metric compared with a loop over its formula."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy, kendalltau, spearmanr, wasserstein_distance

from ldlearn import metrics
from ldlearn.metrics import LABEL_METRICS, METRICS, per_row

D_HAND = [[0.6, 0.4, 0.0]]
P_HAND = [[0.3, 0.3, 0.4]]

BY_HAND = {
    "chebyshev": 0.4,
    "clark": math.sqrt(1 / 9 + 1 / 49 + 1),
    "canberra": 1 / 3 + 1 / 7 + 1,
    "kl_divergence": 0.6 * math.log(2) + 0.4 * math.log(4 / 3),
    "cross_entropy": -math.log(0.3),
    "cosine": 0.30 / math.sqrt(0.52 * 0.34),
    "intersection": 0.6,
    "euclidean": math.sqrt(0.26),
    "sorensen": 0.4,
    "squared_chi2": 0.09 / 0.9 + 0.01 / 0.7 + 0.4,
    "fidelity": math.sqrt(0.18) + math.sqrt(0.12),
    "squared_chord": 2 - 2 * (math.sqrt(0.18) + math.sqrt(0.12)),
    "wave_hedges": 0.5 + 0.25 + 1,
    "jensen_shannon": 0.5 * (0.6 * math.log(0.6 / 0.45) + 0.4 * math.log(0.4 / 0.35))
    + 0.5 * (0.3 * math.log(0.3 / 0.45) + 0.3 * math.log(0.3 / 0.35) + 0.4 * math.log(2)),
    "po_jsd": 1.0
    - 0.5 * (0.6 * math.log2(0.6 / 0.45) + 0.4 * math.log2(0.4 / 0.35))
    - 0.5 * (0.3 * math.log2(0.3 / 0.45) + 0.3 * math.log2(0.3 / 0.35) + 0.4),
    "soft_micro_f1": 0.6,
    "manhattan": 0.8,
    "mean_squared_error": 0.26 / 3,
    "mean_absolute_error": 0.8 / 3,
    "zero_one_loss": 1.0,
    "error_probability": 1.0,
    "threshold_error": 1 / 3,
    "threshold_agreement": 2 / 3,
    "expected_label_absolute_error": 0.7,  # 2.1 against 1.4
    "expected_label_squared_error": 0.49,
    "wasserstein": 0.7,  # cumulative 0.6, 1, 1 against 0.3, 0.6, 1
    "cad": 0.7,
    "qfd2": 2 / 3 * (0.09 + 0.16),
    "cjs": 0.5
    * (
        0.6 * math.log(0.6 / 0.45)
        + 0.3 * math.log(0.3 / 0.45)
        + math.log(1 / 0.8)
        + 0.6 * math.log(0.6 / 0.8)
    ),
    "spearman": -math.sqrt(3) / 2,  # centred ranks (1, 0, -1) and (-.5, -.5, 1)
    "kendall": -2 / math.sqrt(6),  # 3 pairs untied in d, 2 in p, both discordant
}


def test_every_metric_has_a_hand_computed_value():
    """Either here or in the example of its docstring."""
    examples = {
        name for name, metric in METRICS.items() if ">>> " in (metric.function.__doc__ or "")
    }
    assert set(BY_HAND) <= set(METRICS) <= set(BY_HAND) | examples


@pytest.mark.parametrize("name", BY_HAND)
def test_matches_hand_computed_value(name):
    value = getattr(metrics, name)(D_HAND, P_HAND)
    assert isinstance(value, float)
    assert value == pytest.approx(BY_HAND[name], rel=1e-12)


def metrics_by_loops(d, p):
    """The formulas, one row at a time and without vectors."""
    c = len(d)
    pairs = list(zip(d, p, strict=True))

    def ratio(a, b):
        return a / b if b > 0 else 0.0

    def kl(a, b):
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    def js(a, b):
        middle = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
        return (kl(a, middle) + kl(b, middle)) / 2

    sums_d, sums_p = ([sum(row[: j + 1]) for j in range(c)] for row in (d, p))
    q = [x - y for x, y in pairs]
    divergence = kl(d, [max(y, np.finfo(float).eps) for y in p])
    top_d, top_p = list(d).index(max(d)), list(p).index(max(p))
    expected = sum((j + 1) * (x - y) for j, (x, y) in enumerate(pairs))
    disagree = sum((x > 0.01) != (y > 0.01) for x, y in pairs) / c
    return {
        "chebyshev": max(abs(x - y) for x, y in pairs),
        "clark": math.sqrt(sum(ratio((x - y) ** 2, (x + y) ** 2) for x, y in pairs)),
        "canberra": sum(ratio(abs(x - y), x + y) for x, y in pairs),
        "kl_divergence": divergence,
        "cross_entropy": divergence - sum(x * math.log(x) for x in d if x > 0),
        "cosine": sum(x * y for x, y in pairs)
        / math.sqrt(sum(x * x for x in d))
        / math.sqrt(sum(y * y for y in p)),
        "intersection": sum(min(x, y) for x, y in pairs),
        "euclidean": math.sqrt(sum((x - y) ** 2 for x, y in pairs)),
        "sorensen": sum(abs(x - y) for x, y in pairs) / sum(x + y for x, y in pairs),
        "squared_chi2": sum(ratio((x - y) ** 2, x + y) for x, y in pairs),
        "fidelity": sum(math.sqrt(x * y) for x, y in pairs),
        "squared_chord": sum((math.sqrt(x) - math.sqrt(y)) ** 2 for x, y in pairs),
        "wave_hedges": sum(ratio(abs(x - y), max(x, y)) for x, y in pairs),
        "jensen_shannon": js(d, p),
        "po_jsd": 1 - js(d, p) / math.log(2),
        "soft_micro_f1": 2 * sum(min(x, y) for x, y in pairs) / sum(x + y for x, y in pairs),
        "manhattan": sum(abs(x - y) for x, y in pairs),
        "mean_squared_error": sum((x - y) ** 2 for x, y in pairs) / c,
        "mean_absolute_error": sum(abs(x - y) for x, y in pairs) / c,
        "zero_one_loss": float(top_d != top_p),
        "error_probability": 1 - d[top_p],
        "threshold_error": disagree,
        "threshold_agreement": 1 - disagree,
        "expected_label_absolute_error": abs(expected),
        "expected_label_squared_error": expected**2,
        "wasserstein": wasserstein_distance(range(c), range(c), d, p),
        "cad": sum(abs(x - y) for x, y in zip(sums_d, sums_p, strict=True)),
        "qfd2": sum((1 - abs(j - k) / c) * q[j] * q[k] for j in range(c) for k in range(c)),
        "cjs": js(sums_d, sums_p),
        "spearman": spearmanr(d, p).statistic,
        "kendall": kendalltau(d, p).statistic,
    }


@pytest.fixture(scope="module")
def pair_with_zeros_and_ties():
    rng = np.random.default_rng(7)
    D, P = rng.integers(0, 5, (2, 60, 6)).astype(float)
    D[:, 0] += 1  # no empty and (with the next line) no constant rows: those have their own tests
    D[:, 1] = P[:, 2] = 0
    P[:, 3] += 1
    return D / D.sum(axis=1, keepdims=True), P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", BY_HAND)
def test_rows_and_mean_equal_the_loop(name, pair_with_zeros_and_ties):
    D, P = pair_with_zeros_and_ties
    expected = [metrics_by_loops(d, p)[name] for d, p in zip(D, P, strict=True)]
    np.testing.assert_allclose(per_row(name, D, P), expected, atol=1e-12)
    assert METRICS[name].function(D, P) == pytest.approx(np.mean(expected), abs=1e-12)


def test_matches_scipy(pair_with_zeros_and_ties):
    D, P = pair_with_zeros_and_ties
    np.testing.assert_allclose(
        per_row("jensen_shannon", D, P), jensenshannon(D, P, axis=1) ** 2, atol=1e-14
    )
    Q = (P + 0.1) / (P + 0.1).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(per_row("kl_divergence", D, Q), entropy(D, Q, axis=1), atol=1e-13)


def test_kendall_tau_a_counts_all_pairs():
    rng = np.random.default_rng(0)
    D, P = 1.0 + rng.integers(0, 3, (2, 40, 5))
    D /= D.sum(axis=1, keepdims=True)
    P /= P.sum(axis=1, keepdims=True)
    expected = [
        2
        * sum(np.sign(d[j] - d[k]) * np.sign(p[j] - p[k]) for j in range(5) for k in range(j))
        / 20
        for d, p in zip(D, P, strict=True)
    ]
    np.testing.assert_allclose(per_row("kendall", D, P, variant="a"), expected)
    with pytest.raises(ValueError, match="variant must be"):
        metrics.kendall(D, P, variant="c")


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_constant_rows_count(name):
    """Otherwise methods would be compared on different rows, and one with equal degrees on none."""
    equal = [1 / 3, 1 / 3, 1 / 3]
    D = [[0.25, 0.25, 0.5], equal, [0.1, 0.2, 0.7], equal]
    P = [[0.2, 0.2, 0.6], [0.2, 0.2, 0.6], equal, equal]
    assert per_row(name, D, P).tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0])
    assert METRICS[name].function(D, P) == pytest.approx(0.5)
    assert METRICS[name].function(D, D) == 1.0
    assert METRICS[name].function([[1.0]], [[1.0]]) == 1.0


def test_tau_a_of_a_constant_row_is_zero():
    assert metrics.kendall([[0.5, 0.5]], [[0.7, 0.3]], variant="a") == 0.0


def test_kl_is_infinite_only_on_request():
    D, P = [[0.5, 0.5]], [[1.0, 0.0]]
    eps = np.finfo(float).eps
    assert metrics.kl_divergence(D, P) == pytest.approx(
        0.5 * math.log(0.5) + 0.5 * math.log(0.5 / eps)
    )
    assert metrics.kl_divergence(D, P, eps=1e-3) == pytest.approx(
        0.5 * math.log(0.5) + 0.5 * math.log(500)
    )
    assert metrics.kl_divergence(D, P, eps=0) == math.inf
    with pytest.raises(ValueError, match="eps must be"):
        metrics.kl_divergence(D, P, eps=-1.0)


def test_zero_over_zero_counts_as_zero():
    D = P = [[1.0, 0.0, 0.0]]
    for name in (
        "clark",
        "canberra",
        "wave_hedges",
        "squared_chi2",
        "sorensen",
        "kl_divergence",
        "jensen_shannon",
    ):
        assert METRICS[name].function(D, P) == 0.0, name


def test_rows_without_mass_are_compared_without_nan():
    some, empty = [[0.5, 0.5]], [[0.0, 0.0]]
    assert metrics.cosine(some, empty, convention="pyldl") == 0.0
    assert metrics.sorensen(some, empty, convention="dldl") == pytest.approx(1.0)


def test_threshold_is_strict_and_adjustable():
    D, P = [[0.01, 0.99]], [[0.02, 0.98]]
    assert metrics.threshold_error(D, P) == 0.5
    assert metrics.threshold_error(D, P, delta=0.005) == 0.0
    assert metrics.threshold_agreement(D, P) == 0.5


def test_one_error_of_all_positive_predictions():
    D = np.array([[0.5, 0.5, 0.0, 0.0], [0.97, 0.01, 0.01, 0.01]])
    assert metrics.threshold_error(D, np.full((2, 4), 0.25)) == (D <= 0.01).mean()


def test_first_of_equal_degrees_is_the_top_label():
    assert metrics.zero_one_loss([[0.5, 0.5]], [[1.0, 0.0]]) == 0.0
    assert metrics.error_probability([[0.25, 0.75]], [[0.5, 0.5]]) == 0.75


def test_positions_of_ordinal_labels():
    D, P = [[1.0, 0.0, 0.0]], [[0.0, 0.5, 0.5]]
    assert metrics.expected_label_absolute_error(D, P, positions=[-4, 0, 4]) == 6.0
    assert metrics.expected_label_squared_error(D, P, positions=[-4, 0, 4]) == 36.0
    for positions in ([4, -3, 0], [0, 0, 7]):
        work = wasserstein_distance(positions, positions, D[0], P[0])
        assert metrics.wasserstein(D, P, positions=positions) == pytest.approx(work)
    for positions in ([1, 2], [1, 2, np.nan], [[1, 2, 3]]):
        for metric in (metrics.expected_label_absolute_error, metrics.wasserstein):
            with pytest.raises(ValueError, match="positions must hold 3 finite numbers"):
                metric(D, P, positions=positions)


def test_micro_average_of_f1_adds_up_all_rows(pair_with_zeros_and_ties):
    D, P = pair_with_zeros_and_ties
    assert metrics.soft_micro_f1(D, P) == pytest.approx(2 * np.minimum(D, P).sum() / (D + P).sum())


def test_quadratic_form_distance_is_that_of_cumulative_distributions(pair_with_zeros_and_ties):
    D, P = pair_with_zeros_and_ties
    squares = (np.cumsum(D - P, axis=1) ** 2).sum(axis=1)
    np.testing.assert_allclose(per_row("qfd2", D, P), 2 / D.shape[1] * squares, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_cosine_does_not_depend_on_scale(scale):
    assert metrics.cosine(
        np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]]) * scale, convention="pyldl"
    ) == pytest.approx(0.6)


def test_unnormalised_predictions():
    D, P = [[0.75, 0.25]], [[0.5, 1.0]]
    assert metrics.intersection(D, P, convention="pyldl") == 0.75
    assert metrics.sorensen(D, P, convention="pyldl") == pytest.approx(1 / 2.5)
    with pytest.raises(
        ValueError, match=r"prediction must hold distributions, but row 0 sums to 1\.5"
    ):
        metrics.intersection(D, P)


def test_cosine_never_exceeds_one_by_rounding():
    P = np.random.default_rng(0).dirichlet(np.ones(7), size=2000)
    products, lengths = (P * P).sum(axis=1), np.linalg.norm(P, axis=1) ** 2
    assert (products / lengths > 1).any()  # without a bound it would
    values = per_row("cosine", P, P)
    assert values.max() == 1.0
    np.testing.assert_allclose(values, 1.0, rtol=1e-12)


ORDER = (
    "zero_one_loss",
    "error_probability",
    "spearman",
    "kendall",
    "average_precision",
    "ranking_loss",
    "top_label_error",
)


@pytest.mark.parametrize("name", ORDER)
def test_differences_within_rounding_error_are_ties(name):
    """Labels that are always positive get equal degrees up to the last digit, which differs between
    processors."""
    truth = np.array([[0.4, 0.2, 0.3, 0.1]])
    if name in LABEL_METRICS:
        truth = (truth > 0.25).astype(float)
    tied = np.array([[0.3, 0.3, 0.3, 0.1]])
    last_digit = (
        np.finfo(float).eps
        * np.array([[1, 0, -1, 0], [-1, 1, 0, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
        / 4
    )
    for moved in tied + last_digit:
        assert (moved != tied).any()
        np.testing.assert_array_equal(per_row(name, truth, moved[None]), per_row(name, truth, tied))
    tiny = np.array(
        [[1.0, 2e-15, 1e-15, 0.0]]
    )  # of many labels most degrees are; they are not equal
    assert per_row(name, truth, tiny) == per_row(name, truth, np.array([[0.7, 0.2, 0.1, 0.0]]))
