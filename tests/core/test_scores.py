"""Output maps: distributions whatever the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldlearn.core.scores import OUTPUT_MAPS, to_distributions


@settings(deadline=None, max_examples=50)
@given(F=arrays(float, (4, 3), elements=st.floats(-1e3, 1e3)), normalize=st.sampled_from(OUTPUT_MAPS))
def test_rows_are_distributions_in_the_order_of_the_scores(F, normalize):
    D = to_distributions(F, normalize)
    assert (D >= 0).all()
    np.testing.assert_allclose(D.sum(axis=1), 1.0)
    order = np.argsort(F, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(D, order, axis=1), axis=1) >= 0).all() or normalize == "l1"


def test_shifts_and_scales_that_change_nothing():
    F = np.random.default_rng(0).normal(size=(5, 4))
    shift, scale = np.arange(5.0)[:, None], np.arange(1.0, 6.0)[:, None]
    np.testing.assert_allclose(to_distributions(F + shift, "softmax"), to_distributions(F, "softmax"))
    np.testing.assert_allclose(to_distributions(scale * F + shift, "shift_l1"), to_distributions(F, "shift_l1"))
    np.testing.assert_allclose(to_distributions(scale * F, "l1"), to_distributions(F, "l1"))


@pytest.mark.parametrize("normalize", OUTPUT_MAPS)
def test_constant_rows_become_uniform(normalize):
    np.testing.assert_allclose(to_distributions(np.array([[0.0] * 4, [3.0] * 4]), normalize), 0.25)
    np.testing.assert_allclose(to_distributions(np.full((1, 4), -3.0), normalize), 0.25)


def test_negative_scores_get_nothing_or_are_shifted():
    F = np.array([[3.0, 1.0, -1.0]])
    np.testing.assert_allclose(to_distributions(F, "l1"), [[0.75, 0.25, 0.0]])
    np.testing.assert_allclose(to_distributions(F, "shift_l1"), [[2 / 3, 1 / 3, 0.0]])


def test_an_unknown_map_is_refused():
    with pytest.raises(ValueError, match="softmax, l1, shift_l1"):
        to_distributions(np.ones((1, 2)), "l2")
