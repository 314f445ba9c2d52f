"""Reference values of the baselines."""

from __future__ import annotations

import numpy as np
from sjaffe import assert_recovery, sjaffe

from ldlearn.enhancement import SoftmaxLE, UniformLE


def test_positive_label_gets_e_times_a_negative_one():
    D = SoftmaxLE().fit_enhance(
        np.zeros((2, 1)), [[1, 0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1]]
    )
    np.testing.assert_allclose(D[0, :2], [0.254, 0.093], atol=5e-4)
    np.testing.assert_allclose(D[0, 0] / D[0, 1], np.e)
    np.testing.assert_allclose(D[1], 1 / 9)


def test_features_are_ignored():
    Y = np.array([[1, 0], [1, 1], [0, 1]])
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(
        SoftmaxLE().fit_enhance(rng.normal(size=(3, 4)), Y),
        SoftmaxLE().fit_enhance(rng.normal(size=(3, 2)), Y),
    )


def test_reference_values():
    data = sjaffe()
    assert_recovery(SoftmaxLE().fit_enhance(data.X, data.Y), ".0873 .3788 .7858 .0499 .9573 .8711")
    assert_recovery(UniformLE().fit_enhance(data.X, data.Y), ".2134 1.8740 4.0105 - .8267 .5928")
    assert_recovery(np.full(data.D.shape, 1 / 6), ".1204 .4292 .9005 .0738 .9304 .8466")
