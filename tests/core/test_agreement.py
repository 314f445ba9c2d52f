"""Krippendorff's alpha for annotations with any number of labels."""

from itertools import combinations

import numpy as np
import pytest

from ldlearn.core.agreement import RaterVotes, krippendorff_alpha


def votes_of(annotations, n_labels):
    """The votes of ``{(item, rater): labels}``."""
    triples = []
    for (item, rater), labels in annotations.items():
        triples += [(item, rater, label) for label in labels or [-1]]
    item, rater, label = np.array(triples).T
    return RaterVotes(item, rater, label, item.max() + 1, rater.max() + 1, n_labels)


def by_loops(annotations):
    """Alpha with the symmetric difference as distance, over all pairs of annotations."""
    items = {}
    for (item, _), labels in annotations.items():
        items.setdefault(item, []).append(set(labels))
    compared = [sets for sets in items.values() if len(sets) > 1]
    pooled = [labels for sets in compared for labels in sets]
    n = len(pooled)
    observed = 0.0
    for sets in compared:
        pairs = [len(one ^ other) for one, other in combinations(sets, 2)]
        observed += 2 * sum(pairs) / (len(sets) - 1) / n
    expected = 2 * sum(len(one ^ other) for one, other in combinations(pooled, 2)) / (n * (n - 1))
    return 1 - observed / expected


def simulated(seed=0, n_items=12, n_labels=4, single=False):
    rng = np.random.default_rng(seed)
    annotations = {}
    for item in range(n_items):
        p = rng.dirichlet(np.full(n_labels, 0.5))
        for rater in rng.choice(6, size=rng.integers(1, 5), replace=False):
            if single:
                labels = [int(rng.choice(n_labels, p=p))]
            else:
                labels = np.flatnonzero(rng.random(n_labels) < 1.5 * p).tolist()
            annotations[item, int(rater)] = labels
    return annotations


PUBLISHED = {
    "two observers, binary": (["0100000010", "1110010000"], 0.095),
    "two observers, five values": (["aabbdcccedda", "babbbccceddd"], 0.692),
    "four observers, missing values": (
        ["123321412...", "1233224125.3", ".3332342251.", "12332441251."],
        0.743,
    ),
}


@pytest.mark.parametrize(("rows", "alpha"), PUBLISHED.values(), ids=PUBLISHED)
def test_published_examples(rows, alpha):
    """Examples A to C of Krippendorff (2011)."""
    values = sorted(set("".join(rows)) - {"."})
    annotations = {}
    for rater, row in enumerate(rows):
        for item, value in enumerate(row):
            if value != ".":
                annotations[item, rater] = [values.index(value)]
    assert krippendorff_alpha(votes_of(annotations, len(values))).overall == pytest.approx(
        alpha, abs=5e-4
    )


@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_all_pairs(seed):
    annotations = simulated(seed)
    alpha = krippendorff_alpha(votes_of(annotations, 4))
    assert alpha.overall == pytest.approx(by_loops(annotations))
    for label in range(4):
        given = {key: {label} & set(labels) for key, labels in annotations.items()}
        assert alpha.by_label[label] == pytest.approx(by_loops(given))


def test_single_labels_have_the_nominal_alpha():
    """The textbook formula with the matrix of coincidences."""
    annotations = simulated(5, n_items=40, single=True)
    items = {}
    for (item, _), (label,) in annotations.items():
        items.setdefault(item, []).append(label)
    coincidences = np.zeros((4, 4))
    for labels in items.values():
        for i, j in combinations(labels, 2):
            coincidences[i, j] += 1 / (len(labels) - 1)
            coincidences[j, i] += 1 / (len(labels) - 1)
    totals = coincidences.sum(axis=0)
    n = totals.sum()
    nominal = 1 - (n - 1) * (n - np.trace(coincidences)) / (n**2 - totals @ totals)
    assert krippendorff_alpha(votes_of(annotations, 4)).overall == pytest.approx(nominal)


def test_interval_is_that_of_the_jackknife():
    annotations = simulated(6, n_items=80)
    alpha = krippendorff_alpha(votes_of(annotations, 4))
    items = sorted({item for item, _ in annotations})
    without = []
    for left_out in items:
        rest = {key: labels for key, labels in annotations.items() if key[0] != left_out}
        found = krippendorff_alpha(votes_of(rest, 4))
        without.append([found.overall, *found.by_label])
    n = len(items)
    error = np.sqrt((n - 1) ** 2 / n) * np.std(without, axis=0, ddof=1)
    widths = np.append(alpha.high - alpha.low, alpha.high_by_label - alpha.low_by_label)
    assert widths / 4 == pytest.approx(error, rel=0.1)


def test_limits():
    same = {(item, rater): [item % 2] for item in range(20) for rater in range(3)}
    assert krippendorff_alpha(votes_of(same, 2))[:3] == (1, 1, 1)
    few = {key: labels for key, labels in same.items() if key[0] < 19}
    assert np.isnan(krippendorff_alpha(votes_of(few, 2)).low)
    rare = krippendorff_alpha(votes_of(same | {(0, 0): [2]}, 3))
    assert np.isnan(rare.low_by_label).tolist() == [False, False, True]
    assert rare.overall < rare.high == 1
    opposite = {(item, rater): [rater] for item in range(50) for rater in range(2)}
    assert krippendorff_alpha(votes_of(opposite, 2)).overall == pytest.approx(-0.98)
    for undefined in ({(0, 0): [0], (1, 1): [1]}, {(0, 0): [1], (0, 1): [1]}):
        alpha = krippendorff_alpha(votes_of(undefined, 2))
        assert np.isnan([alpha.overall, alpha.low, alpha.high, *alpha.by_label]).all()


def test_distinct_votes():
    votes = votes_of({(0, 0): [1, 0, 1], (0, 1): [], (2, 1): [1]}, 2)
    distinct = votes.distinct()
    assert len(distinct.label) == 4
    assert distinct.counts.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    item, rater, annotation = distinct.annotations
    assert (item.tolist(), rater.tolist()) == ([0, 0, 2], [0, 1, 1])
    assert (rater[annotation] == distinct.rater).all()
