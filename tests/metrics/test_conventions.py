"""Conventions for zeros."""

import math

import numpy as np
import pytest

from ldlearn import metrics
from ldlearn.metrics import CONVENTIONS, METRICS

EPS = np.finfo(float).eps
CLIPPED = {
    "clark",
    "canberra",
    "kl_divergence",
    "jensen_shannon",
    "sorensen",
    "squared_chi2",
    "wave_hedges",
}
D = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
P = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]])


@pytest.mark.parametrize("name", METRICS)
def test_pyldl_clips_some_metrics_alone(name):
    measure = METRICS[name].function
    large = [[0.1, 4.0]]  # clipped from above to 1
    not_clipped = measure([[0.2, 0.8]], large, convention="dldl")
    changed = abs(measure([[0.2, 0.8]], large, convention="pyldl") - not_clipped) > 1e-6
    assert changed == (name in CLIPPED)


@pytest.mark.parametrize("name", METRICS)
def test_pyldl_is_exact_on_clipped_matrices(name):
    clipped = (np.clip(D, EPS, 1), np.clip(P, EPS, 1)) if name in CLIPPED else (D, P)
    measure = METRICS[name].function
    assert measure(D, P, convention="pyldl") == pytest.approx(measure(*clipped), rel=1e-14)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("convention", "shift"), [("dldl", 1), ("dldl-recovery", 2)])
def test_dldl_is_exact_on_shifted_matrices(name, convention, shift):
    measure = METRICS[name].function
    assert measure(D, P, convention=convention) == measure(D + EPS, P + shift * EPS)


def test_recovery_artefact_of_the_demo_is_one_ninth_per_common_zero():
    D = np.eye(8)
    assert metrics.clark(D, D, convention="dldl-recovery") ** 2 == pytest.approx(7 / 9)
    assert metrics.canberra(D, D, convention="dldl-recovery") == pytest.approx(7 / 3)
    for convention in ("exact", "pyldl", "dldl"):
        assert metrics.clark(D, D, convention=convention) == 0.0


def test_artefact_explains_a_printed_value():
    """With 6.5 common zeros of 8 a perfect recovery scores 0.85; the paper prints 0.8568 on
    Ren-CECps."""
    D = np.zeros((2, 8))
    D[0, :2], D[1, :1] = 0.5, 1.0
    assert metrics.clark(D, D, convention="dldl-recovery") == pytest.approx(0.85, abs=1e-3)


def test_kl_with_a_zero_prediction_is_large_but_finite():
    value = metrics.kl_divergence([[1.0, 0.0]], [[0.0, 1.0]], convention="pyldl")
    assert value == pytest.approx(-math.log(EPS), rel=1e-12)
    assert metrics.kl_divergence([[1.0, 0.0]], [[0.0, 1.0]], convention="dldl") == pytest.approx(
        value
    )


def test_conventions_agree_where_there_are_no_zeros():
    rng = np.random.default_rng(0)
    A, B = rng.dirichlet(np.ones(5), (2, 30))
    for metric in METRICS.values():
        values = [metric.function(A, B, convention=convention) for convention in CONVENTIONS]
        np.testing.assert_allclose(values, values[0], rtol=1e-9, err_msg=metric.name)


def test_pyldl_clips_degrees_above_one_too():
    assert metrics.canberra([[1.0]], [[4.0]], convention="pyldl") == 0.0
    assert metrics.canberra([[0.5, 0.5]], [[4.0, 0.5]], convention="pyldl") == pytest.approx(1 / 3)


def test_unknown_convention():
    with pytest.raises(ValueError, match="one of exact, pyldl, dldl, dldl-recovery, got 'matlab'"):
        metrics.clark(D, P, convention="matlab")
