"""Generation of logical labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldlearn.core import normalize_rows
from ldlearn.datasets import DatasetError, make_label_distributions, make_logical_labels
from ldlearn.datasets.generated import _LABEL_MODES, LabelSampler

ANY_MODE = pytest.mark.parametrize("mode", _LABEL_MODES)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(_LABEL_MODES),
    st.integers(1, 6),
    st.floats(0, 1),
    st.floats(0, 3),
    st.integers(0, 1000),
)
def test_every_row_has_a_positive_label_and_features_do_not_change(
    mode, c, missing, sharpness, seed
):
    options = {"n_labels": c, "sharpness": sharpness, "random_state": seed}
    data = make_label_distributions(50, 3, labels=mode, missing=missing, k=1, **options)
    assert data.Y.shape == data.D.shape == (50, c)
    assert data.Y.dtype == np.int8
    assert data.Y.any(axis=1).all()
    plain = make_label_distributions(50, 3, **options)
    np.testing.assert_array_equal(data.X, plain.X)
    if mode != "presence":
        np.testing.assert_array_equal(data.D, plain.D)
        assert plain.Y is None


@ANY_MODE
def test_labels_depend_on_the_seed_not_on_the_number_of_rows(mode):
    few, many = (
        make_label_distributions(n, 4, 5, labels=mode, missing=0.2, random_state=3).Y
        for n in (100, 2100)
    )
    np.testing.assert_array_equal(few, many[:100])
    other = make_label_distributions(100, 4, 5, labels=mode, missing=0.2, random_state=4).Y
    assert not np.array_equal(few, other)


def test_threshold_and_top_k_are_deterministic_rules():
    data = make_label_distributions(200, 4, 5, labels="threshold", threshold=0.3)
    expected = data.D > 0.3
    expected[np.arange(200), data.D.argmax(axis=1)] = True
    np.testing.assert_array_equal(data.Y, expected)
    top = make_label_distributions(200, 4, 5, labels="top-k", k=3)
    assert (top.Y.sum(axis=1) == 3).all()
    assert (np.where(top.Y, top.D, 1).min(axis=1) >= np.where(top.Y, 0, top.D).max(axis=1)).all()


@pytest.mark.parametrize(("n_raters", "concentration"), [(5, np.inf), (12, 3.0)])
def test_votes_have_the_beta_binomial_probability_of_a_positive_label(n_raters, concentration):
    p = np.array([0.5, 0.3, 0.2])
    Y = make_logical_labels(np.tile(p, (40_000, 1)), n_raters=n_raters, concentration=concentration)
    if np.isinf(concentration):
        none = (1 - p) ** n_raters
    else:  # the beta-binomial probability of no vote
        steps = np.arange(n_raters)[:, None]
        none = np.prod((concentration * (1 - p) + steps) / (concentration + steps), axis=0)
    np.testing.assert_allclose(1 - Y.mean(axis=0), none, atol=0.012)


def test_presence_is_independent_and_degrees_are_equal_shares():
    logits = np.tile([[0.0, -1.0, -2.0]], (60_000, 1))
    Y = LabelSampler("presence").draw_presence(logits, np.random.default_rng(0))
    chance = 1 / (1 + np.exp(-logits[0]))
    any_positive = 1 - np.prod(1 - chance)
    np.testing.assert_allclose(Y.mean(axis=0), chance / any_positive, atol=0.01)
    both = (Y[:, 0] & Y[:, 1]).mean()
    assert both == pytest.approx(chance[0] * chance[1] / any_positive, abs=0.01)
    data = make_label_distributions(300, 4, 5, labels="presence")
    np.testing.assert_allclose(data.D, normalize_rows(data.Y.astype(float)))


def test_missing_positives_are_removed_at_the_stated_rate():
    whole = make_label_distributions(5000, 4, 6, labels="votes", n_raters=30)
    seen = make_label_distributions(5000, 4, 6, labels="votes", n_raters=30, missing=0.3)
    assert (seen.Y <= whole.Y).all()
    many = whole.Y.sum(axis=1) >= 5
    lost = 1 - seen.Y[many].sum() / whole.Y[many].sum()
    assert lost == pytest.approx(0.3, abs=0.02)
    assert (
        make_label_distributions(100, 4, 6, labels="votes", missing=1.0).Y.sum(axis=1) == 1
    ).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "vote"}, "labels cannot be .* did you mean votes"),
        ({"labels": 3}, "labels cannot be 3; known are"),
        ({"labels": "votes", "n_raters": 0}, "n_raters must be a whole number, at least 1"),
        (
            {"labels": "votes", "n_raters": 2.5},
            r"n_raters must be a whole number, at least 1, got 2\.5",
        ),
        ({"labels": "top-k", "k": 9}, "k must lie between 1 and 5"),
        ({"labels": "threshold", "threshold": 1.0}, "threshold must lie"),
        ({"labels": "votes", "concentration": 0.0}, "concentration must be positive"),
        ({"labels": "votes", "missing": 1.5}, "missing must lie"),
    ],
)
def test_invalid_options_raise(options, message):
    with pytest.raises(DatasetError, match=message):
        make_label_distributions(10, **options)


def test_make_logical_labels_checks_its_arguments():
    with pytest.raises(DatasetError, match="2-D"):
        make_logical_labels([0.5, 0.5])
    with pytest.raises(DatasetError, match="known are 'threshold', 'votes', 'top-k'"):
        make_logical_labels([[0.5, 0.5]], "presence")
