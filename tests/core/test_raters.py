"""Raters compared with the other raters of the same items."""

import numpy as np
import pytest
from scipy.stats import pearson3, ttest_1samp

from ldlearn.core import raters as module
from ldlearn.core.agreement import RaterVotes
from ldlearn.core.raters import compare_raters


def simulate(behaviours, annotations_each, seed=0, per_item=3, n_labels=4, clarity=0.1):
    """One label from each of some raters of every item; who is not honest ignores it."""
    rng = np.random.default_rng(seed)
    n_raters = len(behaviours)
    n_items = annotations_each * n_raters // per_item
    D = rng.dirichlet(np.full(n_labels, clarity), size=n_items)
    chosen = rng.random((n_items, n_raters)).argsort(axis=1)[:, :per_item]
    item = np.repeat(np.arange(n_items), per_item)
    rater = chosen.ravel()
    honest = (D.cumsum(axis=1)[item] < rng.random((len(item), 1))).sum(axis=1)
    clicks = rng.integers(n_labels, size=len(item))
    given = {
        "honest": honest,
        "random": clicks,
        "noisy": np.where(rng.random(len(item)) < 0.5, clicks, honest),
        "one label": np.zeros(len(item), dtype=int),
        "adversary": (honest + 1) % n_labels,
    }
    behaviour = np.array(behaviours)[rater]
    label = np.select([behaviour == name for name in given], list(given.values()))
    return RaterVotes(item, rater, label, n_items, n_raters, n_labels)


def several_labels(seed=0, n_items=15, n_raters=4, n_labels=3):
    rng = np.random.default_rng(seed)
    given = np.argwhere(rng.random((n_items, n_raters, n_labels)) < 0.5)
    return RaterVotes(*given.T, n_items, n_raters, n_labels)


def by_loops(votes, smoothing):
    """Agreement and chance of each rater, and the moments of the gain of each annotation."""
    triples = list(zip(votes.item, votes.rater, votes.label, strict=True))
    shares = np.bincount(votes.label, minlength=votes.n_labels) / len(triples)
    agreement, chance, moments = [], [], []
    for rater in range(votes.n_raters):
        probabilities = {}
        labels = {}
        for item in range(votes.n_items):
            others = [t[2] for t in triples if t[0] == item and t[1] != rater]
            own = [t[2] for t in triples if t[:2] == (item, rater)]
            if own and others:
                counts = np.bincount(others, minlength=votes.n_labels)
                probabilities[item] = (counts + smoothing * shares) / (len(others) + smoothing)
                labels[item] = own
        scores = {(i, j): probabilities[i][labels[j]].mean() for i in labels for j in labels}
        agreement.append(np.mean([scores[i, i] for i in labels]))
        chance.append(np.mean([scores[i, j] for i in labels for j in labels if i != j]))
        for p in probabilities.values():
            moments.append([p @ (p - shares) ** power for power in (1, 2, 3)])
    return agreement, chance, np.array(moments)


def test_agreement_chance_and_moments_are_those_of_loops():
    votes = several_labels()
    found = compare_raters(votes)
    compared = module._Comparison(votes)
    smoothing = compared.find_smoothing()
    agreement, chance, moments = by_loops(votes, smoothing)
    assert found.agreement == pytest.approx(agreement)
    assert found.chance == pytest.approx(chance)
    for power in (1, 2, 3):
        assert compared.moment(power, smoothing) == pytest.approx(moments[:, power - 1])


def test_smoothing_makes_the_votes_of_others_keep_their_promise():
    compared = module._Comparison(simulate(["honest"] * 10, 100, clarity=0.3))
    smoothing = compared.find_smoothing()
    assert compared.gains(smoothing).mean() == pytest.approx(
        compared.moment(1, smoothing).mean(), rel=1e-3
    )
    # The concentration of the distribution that the degrees are drawn from.
    assert smoothing == pytest.approx(4 * 0.3, rel=0.3)


def test_one_vote_is_no_certainty():
    items = np.repeat(np.arange(20), 2)
    votes = RaterVotes(items, np.tile([0, 1], 20), items % 2, 20, 2, 2)
    assert 0.9 < compare_raters(votes).agreement[0] < 1


def test_probability_is_that_of_a_simulation():
    """Labels of the first rater are drawn from the distribution that the votes of others give."""
    votes = simulate(["honest"] * 4, 20, seed=3)
    compared = module._Comparison(votes)
    shares = np.bincount(votes.label, minlength=4) / len(votes.label)
    counts = votes.counts.toarray()
    gains = []
    rng = np.random.default_rng(0)
    for item, rater, label in zip(votes.item, votes.rater, votes.label, strict=True):
        if rater == 0:
            p = (counts[item] - np.eye(4)[label] + shares) / 3
            gains.append(rng.choice(p - shares, size=20000, p=p))
    sums = np.sum(gains, axis=0)
    observed = compared.gains(1.0)[compared.rater == 0].sum()
    p_value = module._like_the_others(compared, 1.0)[0]
    assert p_value == pytest.approx(np.mean(sums <= observed), abs=0.02)
    # The tail matters most: 1 % of the simulated sums have a probability below 1 %.
    compared.gains = lambda smoothing: np.where(
        compared.rater == 0, np.quantile(sums, 0.01) / len(gains), 0.0
    )
    assert 0.005 < module._like_the_others(compared, 1.0)[0] < 0.02


def test_probability_is_that_of_a_pearson_distribution():
    compared = module._Comparison(simulate(["honest"] * 4, 20, seed=3))
    first, second, third = (compared.moment(power, 1.0) for power in (1, 2, 3))
    by_rater = compared.sum_by_rater
    deviation = np.sqrt(by_rater(second - first**2))
    skewness = by_rater(third - 3 * first * second + 2 * first**3) / deviation**3
    z = by_rater(compared.gains(1.0) - first) / deviation
    expected = pearson3.cdf(z, skewness)
    assert module._like_the_others(compared, 1.0) == pytest.approx(expected)


def test_interval_is_that_of_a_mean():
    votes = simulate(["honest"] * 3, 12)
    compared = module._Comparison(votes)
    smoothing = compared.find_smoothing()
    scores = compared.scores(smoothing)
    differences = scores - compared.chance(smoothing, scores)
    found = compare_raters(votes)
    for rater in range(3):
        interval = ttest_1samp(differences[compared.rater == rater], 0).confidence_interval()
        assert found.low[rater] - found.chance[rater] == pytest.approx(interval.low)
        assert found.high[rater] - found.chance[rater] == pytest.approx(interval.high)


def test_raters_who_are_merely_worse_are_not_found():
    found = compare_raters(simulate(["honest"] * 8 + ["noisy"] * 2, 300))
    assert not found.no_better_than_chance.any()
    assert found.above_chance.all()


BEHAVIOURS = ["honest"] * 9 + ["random", "one label", "adversary"]


@pytest.mark.parametrize("per_item", [3, 5])
def test_raters_who_ignore_the_items_are_found(per_item):
    found = compare_raters(simulate(BEHAVIOURS, 150, per_item=per_item))
    assert found.no_better_than_chance.tolist() == [False] * 9 + [True] * 3
    assert found.above_chance.tolist() == [True] * 9 + [False] * 3
    assert found.high[-1] < found.chance[-1]  # the adversary
    assert found.low[-2] < found.chance[-2] < found.high[-2]
    assert (found.annotations > 120).all()


def test_nothing_is_said_of_few_annotations():
    votes = simulate(BEHAVIOURS, 80)
    number = np.zeros(len(votes.item), dtype=int)
    for rater in range(12):
        number[votes.rater == rater] = np.arange((votes.rater == rater).sum())
    votes = votes.take((votes.rater < 9) | (number < 5))
    found = compare_raters(votes)
    assert not found.no_better_than_chance.any()
    assert np.isnan(found.low[9:]).all()


def test_nobody_is_blamed_if_nobody_agrees():
    found = compare_raters(simulate(["random"] * 8, 200))
    assert not found.no_better_than_chance.any()


@pytest.mark.parametrize("clarity", [0.02, 0.3])
def test_honest_raters_are_rarely_found(clarity):
    tables = 0
    for seed in range(40):
        votes = simulate(["honest"] * 30, 12, seed=seed, n_labels=2, clarity=clarity)
        tables += compare_raters(votes).no_better_than_chance.any()
    assert tables <= 6  # of 40 at 5 %: more has a probability of 0.3 %


def test_items_of_one_rater_and_annotations_without_labels_are_ignored():
    votes = simulate(BEHAVIOURS, 40)
    more = RaterVotes(
        np.append(votes.item, [votes.n_items, 0, 1]),
        np.append(votes.rater, [0, 11, 11]),
        np.append(votes.label, [0, -1, -1]),
        votes.n_items + 1,
        12,
        4,
    )
    compared, of_all = compare_raters(votes), compare_raters(more)
    for one, other in zip(compared, of_all, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_to_compare():
    votes = RaterVotes(np.arange(3), np.zeros(3, int), np.array([0, 1, -1]), 3, 2, 2)
    found = compare_raters(votes)
    assert found.annotations.tolist() == [0, 0]
    assert np.isnan(found.agreement).all()
    assert not (found.above_chance | found.no_better_than_chance).any()


def test_blocks_of_raters_change_nothing(monkeypatch):
    votes = simulate(BEHAVIOURS, 20)
    whole = compare_raters(votes)
    monkeypatch.setattr(module, "_BLOCK_CELLS", 8)
    for one, other in zip(whole, compare_raters(votes), strict=True):
        np.testing.assert_allclose(one, other)
