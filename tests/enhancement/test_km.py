"""KM: loops over the kernel, limit cases, reference values."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from plain_versions import kernel_memberships
from sjaffe import assert_recovery, sjaffe

from ldlearn.core import resources
from ldlearn.enhancement import KM


@pytest.mark.parametrize("delta", [1e-7, 0.3])
def test_agrees_with_the_definition(delta):
    X, _, Y = make_problem()
    Y[:, 2] = 0
    Y[Y.sum(axis=1) == 0, 0] = 1
    model = KM(delta=delta).fit(X, Y)
    expected = kernel_memberships(X, Y, delta)
    np.testing.assert_allclose(model.scores_, expected, atol=1e-10)
    shares = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, shares, atol=1e-6)
    assert model.radii_[2] == 0


def test_memberships_lie_in_the_unit_interval_and_on_the_support():
    X, _, Y = make_problem(seed=3)
    F = KM().fit(X, Y).scores_
    assert (F >= 0).all()
    assert (F <= 1).all()
    assert (F[Y == 0] == 0).all()
    assert (
        F.min(axis=0, where=Y == 1, initial=1.0) < 1e-6
    ).all()  # the most distant row of each label


def test_label_of_one_row_has_membership_one():
    X, _, Y = make_problem(n=10)
    Y[:, 4] = np.arange(10) == 3
    assert KM().fit(X, Y).scores_[3, 4] == 1.0


def test_identical_rows_get_equal_shares():
    np.testing.assert_allclose(KM().fit_enhance(np.ones((4, 2)), np.ones((4, 5))), 0.2)


def test_kernel_is_not_stored(monkeypatch):
    X, _, Y = make_problem()
    monkeypatch.setattr(resources, "available_memory", lambda: 0)
    KM().fit(X, Y)


def test_reference_values():
    data = sjaffe()
    assert_recovery(KM().fit_enhance(data.X, data.Y), ".2316 1.8807 4.0325 - .8192 .5854")
