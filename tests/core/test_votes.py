"""The vote model of single labels: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from ldlearn.core.votes import expected_votes


@pytest.mark.parametrize("theta", [-20.0, -1.0, 0.0, 2.0, 5.0])
def test_expected_votes_are_those_of_a_poisson_number(theta):
    """A positive label has at least one vote, a negative one none, an unknown one exp(theta)."""
    scores = np.full((1, 3), theta)
    Y = np.array([[True, False, True]])
    observed = np.array([[True, True, False]])
    rate = np.exp(theta)
    positive = rate / -np.expm1(-rate)
    np.testing.assert_allclose(expected_votes(scores, Y), [[positive, 0.0, positive]])
    np.testing.assert_allclose(expected_votes(scores, Y, observed), [[positive, 0.0, rate]])


def test_expected_votes_of_a_huge_score_are_finite():
    assert np.isfinite(expected_votes(np.array([[1e4]]), np.array([[True]]))).all()
