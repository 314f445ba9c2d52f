"""Metrics of predicted distributions against 0/1 labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from metric_ranges import value_range
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

from ldlearn.exceptions import InputError
from ldlearn.metrics import (
    CONVENTIONS,
    LABEL_METRICS,
    error_probability,
    intersection,
    per_row,
    score_all,
)

TOL = 1e-12
# Equal, or different by more than rounding: smaller differences are ties here but not in
# scikit-learn.
DEGREE = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5]) | st.integers(0, 10_000).map(
    lambda k: k / 10_000
)


@st.composite
def labelled(draw):
    """0/1 labels, and predictions with many ties."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(2, 6)))
    Y = draw(arrays(float, shape, elements=st.sampled_from([0.0, 1.0])))
    P = draw(arrays(float, shape, elements=DEGREE))
    P[P.sum(axis=1) == 0] = 1.0
    return Y, P / P.sum(axis=1, keepdims=True)


law = settings(deadline=None, max_examples=75)


@law
@given(labelled())
def test_ranking_metrics_match_scikit_learn(pair):
    Y, P = pair
    assert LABEL_METRICS["average_precision"].function(Y, P) == pytest.approx(
        label_ranking_average_precision_score(Y, P), abs=TOL
    )
    assert LABEL_METRICS["ranking_loss"].function(Y, P) == pytest.approx(
        label_ranking_loss(Y, P), abs=TOL
    )


@law
@given(labelled())
def test_relation_to_metrics_between_distributions(pair):
    """Labels read as a row of truth: the top label's error is an error probability, the mass an
    intersection.

    Rows with one label are distributions; others are refused by metrics between distributions.
    """
    Y, P = pair
    one_hot = np.eye(Y.shape[1])[Y.argmax(axis=1)]
    for metric, other in (("top_label_error", error_probability), ("positive_mass", intersection)):
        assert LABEL_METRICS[metric].function(one_hot, P) == pytest.approx(
            other(one_hot, P), abs=TOL
        )
    assert LABEL_METRICS["positive_mass"].function(Y, P) == pytest.approx(
        (Y * P).sum(axis=1).mean(), abs=TOL
    )


@law
@given(labelled())
def test_ranges_and_conventions(pair):
    for name in LABEL_METRICS:
        rows = per_row(name, *pair)
        low, high = value_range(name, pair[0].shape[1])
        assert (rows >= low - TOL).all()
        assert (rows <= high + TOL).all()
        for convention in CONVENTIONS:
            np.testing.assert_array_equal(per_row(name, *pair, convention=convention), rows)


def test_degrees_raise():
    with pytest.raises(InputError, match=r"must hold 0/1 labels, but row 1, column 0 holds 0\.5"):
        per_row("ranking_loss", [[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize("name", LABEL_METRICS)
def test_unknown_labels_are_ignored(name):
    rng = np.random.default_rng(0)
    P, Y = rng.dirichlet(np.ones(6), size=40), rng.integers(0, 2, size=(40, 6)).astype(float)
    without = (
        P[:, :4] / P[:, :4].sum(axis=1, keepdims=True) if name == "positive_mass" else P[:, :4]
    )
    expected = per_row(name, Y[:, :4], without)
    Y[:, 4:] = np.nan
    np.testing.assert_allclose(per_row(name, Y, P), expected, atol=1e-6)
    # Another unknown label in each row; a row without known labels has no value.
    Y[np.arange(40), np.arange(40) % 4] = np.nan
    Y[7] = np.nan
    found = per_row(name, Y, P)
    assert np.isnan(found[7])
    assert score_all(Y, P, [name])[name] == pytest.approx(np.nanmean(found))
    if name != "vote_likelihood":  # whose number of votes is that of all rows
        row = ~np.isnan(Y[0])
        share = P[0, row].sum() if name == "positive_mass" else 1.0
        assert found[0] == pytest.approx(per_row(name, Y[:1, row], P[:1, row])[0] / share)


def test_distances_between_distributions_reject_unknown_degrees():
    with pytest.raises(InputError, match="D_true must be finite"):
        score_all([[np.nan, 1.0]], [[0.5, 0.5]], ["chebyshev"])
