import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldlearn.evaluation import effect_sizes

PAIRS = arrays(
    float, st.tuples(st.just(2), st.integers(2, 8)), elements=st.integers(-3, 3).map(float)
)


def test_effect_matches_hand_computed_values():
    # advantages of the first when smaller is better: 2, -1, 0, 6 -> ranks 2, 1, -, 3
    first, second = [1.0, 5.0, 2.0, 1.0], [3.0, 4.0, 2.0, 7.0]
    (effect,) = effect_sizes(
        np.transpose([first, second]), greater_is_better=False, methods=["A", "B"]
    )
    assert (effect.wins, effect.ties, effect.losses) == (2, 1, 1)
    assert effect.rank_biserial == pytest.approx((5 - 1) / 6)
    assert effect.median_advantage == pytest.approx(1.0)  # their mean is 1.75
    assert str(effect).startswith("A - B: wins 2, ties 1, losses 1, rank-biserial +0.667")


def rank_biserial(first, second, greater_is_better):
    (effect,) = effect_sizes(np.transpose([first, second]), greater_is_better=greater_is_better)
    return effect.rank_biserial


@settings(deadline=None, max_examples=60)
@given(PAIRS)
def test_rank_biserial_properties(pair):
    a, b = pair
    value = rank_biserial(a, b, True)
    assert -1 <= value <= 1
    assert rank_biserial(b, a, True) == pytest.approx(-value)
    assert rank_biserial(a, b, False) == pytest.approx(-value)
    if (a > b).all():
        assert value == 1
    if (a == b).all():
        assert value == 0


def test_all_pairs_or_pairs_with_the_control():
    scores = np.random.default_rng(0).normal(size=(6, 4))
    all_pairs = effect_sizes(scores, greater_is_better=True, methods=list("abcd"))
    assert [(e.first, e.second) for e in all_pairs] == [
        tuple(p) for p in ("ab", "ac", "ad", "bc", "bd", "cd")
    ]
    against_c = effect_sizes(scores, "c", greater_is_better=True, methods=list("abcd"))
    assert [(e.first, e.second) for e in against_c] == [("c", "a"), ("c", "b"), ("c", "d")]
    for effect in (*all_pairs, *against_c):
        assert effect.wins + effect.ties + effect.losses == 6
