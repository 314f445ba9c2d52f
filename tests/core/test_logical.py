from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

from ldlearn.core import binarize
from ldlearn.core.logical import draw_labels
from ldlearn.core.simplex import clip_degrees
from ldlearn.core.targets import check_logical, check_some_degrees, split_votes
from ldlearn.exceptions import InputError


def distributions(seed, n=20, c=6):
    return np.random.default_rng(seed).dirichlet(np.full(c, 0.5), size=n)


def test_threshold_is_strict():
    assert binarize([[0.01, 0.0100001, 0.9799999]]).tolist() == [[0, 1, 1]]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.floats(0.0, 0.99))
def test_cumulative_includes_the_label_that_crosses_the_threshold(seed, total):
    D = distributions(seed)
    Y = binarize(D, rule="cumulative", total=total)
    for d, y in zip(D, Y, strict=True):
        chosen = np.sort(d[y == 1])[::-1]
        assert chosen.sum() > total
        assert chosen[:-1].sum() <= total
        assert (y == 1).sum() == 0 or d[y == 1].min() >= d[y == 0].max(initial=0.0)


def test_cumulative_matches_hand_computed_values():
    # 0.3 + 0.3 = 0.6 > 0.5: two labels, ties in order.
    assert binarize([[0.3, 0.3, 0.3, 0.1]], rule="cumulative").tolist() == [[1, 1, 0, 0]]


def test_top_k_and_ties():
    assert binarize([[0.25, 0.25, 0.5]], rule="top-k", k=2).tolist() == [[1, 0, 1]]
    assert (binarize(distributions(0), rule="top-k", k=3).sum(axis=1) == 3).all()


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([["a"]], "numbers only"),
        ([[1.0], [0.5, 0.5]], "equally many"),
        ([[0.5, 0.5], [np.nan, 1]], "NaN in row 1"),
    ],
)
def test_invalid_degrees_raise(D, message):
    with pytest.raises(InputError, match=message):
        binarize(D)


@pytest.mark.parametrize("k", [None, 0, 7, 1.5, "1"])
def test_invalid_k_raises(k):
    with pytest.raises(InputError, match="a whole k from 1 to the number of labels 6"):
        binarize(distributions(0), rule="top-k", k=k)


def test_unknown_rule_and_wrong_shape_raise():
    with pytest.raises(ValueError, match="threshold, cumulative, top-k"):
        binarize(distributions(0), rule="median")
    with pytest.raises(ValueError, match="2-D"):
        binarize([0.5, 0.5])


@pytest.mark.parametrize("dtype", [bool, np.uint8, int, float])
@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, sparse.coo_array, sparse.csc_array]
)
def test_labels_of_any_container_and_dtype_are_equal(container, dtype):
    Y = np.random.default_rng(0).random((40, 5)) < 0.4
    Y[:, 2] = True
    given = container(Y.astype(dtype))
    checked = check_logical(given)
    assert checked.dtype == bool
    np.testing.assert_array_equal(checked, Y)
    checked[:] = False  # the result may be modified
    np.testing.assert_array_equal(given if container is np.asarray else given.toarray(), Y)


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([[2, 1]]),
        np.array([[-1, 1]], dtype=np.int8),
        sparse.csr_array([[0.5, 1.0]]),
        sparse.coo_array((np.ones(2), ([0, 0], [0, 0])), shape=(1, 2)),  # the same entry twice
    ],
)
def test_other_values_raise_for_every_container(wrong):
    with pytest.raises(InputError, match="only 0 and 1"):
        check_logical(wrong)


def test_float_frames_are_not_modified():
    degrees = pd.DataFrame([[0.3, 0.7005], [np.nan, np.nan]])
    assert check_some_degrees(degrees, ["label_0", "label_1"], 2)[0].sum() == pytest.approx(1.0)
    assert degrees.loc[0].tolist() == [0.3, 0.7005]


"""Draws of single-label examples, and the baseline."""


@pytest.mark.parametrize("generator", [np.random.RandomState, np.random.default_rng])
def test_samples_have_the_stated_probabilities(generator):
    D = np.random.default_rng(0).dirichlet(np.ones(4), size=6)
    counts = draw_labels(D, 50_000, generator(1))
    assert counts.sum() == 50_000
    assert chisquare(counts.ravel(), 50_000 * D.ravel() / 6).pvalue > 1e-3


def test_sampling_at_once_equals_sampling_row_by_row():
    D = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    rng = np.random.default_rng(0)
    one_by_one = np.zeros_like(D)
    for _ in range(20_000):
        row = rng.integers(2)
        one_by_one[row, np.searchsorted(np.cumsum(D[row]), rng.random(), side="right")] += 1
    at_once = draw_labels(D, 20_000, rng)
    np.testing.assert_allclose(at_once / 20_000, one_by_one / 20_000, atol=0.02)


def test_labels_of_degree_zero_are_never_sampled():
    D = np.tile([0.0, 1.0, 0.0], (50, 1))
    assert (draw_labels(D, 1000, np.random.default_rng(0))[:, [0, 2]] == 0).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_clipped_degrees_are_positive_and_sum_to_one(seed, c):
    P = np.random.default_rng(seed).dirichlet(0.05 * np.ones(c), size=8)
    F = clip_degrees(P)
    np.testing.assert_allclose(F.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert F.min() >= 1e-9 / (1 + c * 1e-9)
    np.testing.assert_allclose(F, P, atol=c * 1e-9)


def test_only_degrees_below_the_smallest_are_raised():
    np.testing.assert_allclose(
        clip_degrees(np.array([[0.75, 0.25, 0.0]]), smallest=0.25), [[0.6, 0.2, 0.2]]
    )


def test_split_votes_halves_each_row_without_replacement():
    counts = np.array([[4.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 1.0]])
    splits = [split_votes(counts, np.random.default_rng(seed)) for seed in range(2000)]
    for kept, held_out in splits[:20]:
        np.testing.assert_array_equal(kept + held_out, counts)
        assert min(kept.min(), held_out.min()) >= 0
        np.testing.assert_array_equal(held_out.sum(axis=1), [3, 0, 0, 2])
    # Of each label the same share is held out on average, with the hypergeometric variance.
    drawn = np.array([held_out for _, held_out in splits])
    np.testing.assert_allclose(drawn.mean(axis=0)[0], [2.0, 1.0, 0.0], atol=0.06)
    np.testing.assert_allclose(drawn.var(axis=0)[0], [0.4, 0.4, 0.0], atol=0.05)
