"""Validation folds, the penalty of the vote model, and the detection of a fixed number of positive
labels."""

import numpy as np
import pytest
from scipy import sparse

from ldlearn.core import resources
from ldlearn.core.targets import RowTargets
from ldlearn.datasets import make_label_distributions
from ldlearn.joint import label_model
from ldlearn.joint.label_model import (
    has_fixed_cardinality,
    paired_z_score,
    validate_vote_model,
    validation_splits,
    validation_weights,
)
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.folds import validation_folds


def test_folds_cover_the_rows_and_do_not_depend_on_their_order():
    X = np.random.default_rng(0).normal(size=(103, 4))
    folds = validation_folds(CentredMatrix(X))
    assert len(folds) == 5
    np.testing.assert_array_equal(
        np.sort(np.concatenate([fold.test for fold in folds])), np.arange(103)
    )
    for fold in folds:
        assert not set(fold.train) & set(fold.test)
        assert len(fold.train) + len(fold.test) == 103
    order = np.random.default_rng(1).permutation(103)
    for fold, moved in zip(folds, validation_folds(CentredMatrix(X[order])), strict=True):
        np.testing.assert_array_equal(np.sort(order[moved.test]), fold.test)
    for fold, same in zip(folds, validation_folds(CentredMatrix(sparse.csr_array(X))), strict=True):
        np.testing.assert_array_equal(fold.test, same.test)
    shifted = 2.0 * np.rint(1024 * X) + np.array([0.0, 1e8, -1e6, 3.0])  # nothing is rounded
    for container in (np.asarray, sparse.csr_array):
        plain = validation_folds(CentredMatrix(np.rint(1024 * X)))
        for fold, moved in zip(
            plain, validation_folds(CentredMatrix(container(shifted))), strict=True
        ):
            np.testing.assert_array_equal(fold.test, moved.test)


def test_many_rows_are_sampled_and_split_in_half():
    folds = validation_folds(CentredMatrix(np.random.default_rng(0).normal(size=(10_000, 2))))
    assert [len(fold.test) for fold in folds] == [1000, 1000]


def test_few_rows_are_no_evidence():
    data = make_label_distributions(9, 3, 4, labels="presence")
    assert (
        validate_vote_model(
            validation_splits(CentredMatrix(data.X), RowTargets(data.Y > 0))
        ).penalty_ratio
        == 1
    )


def test_held_out_rows_are_not_used_for_training():
    """Features do not improve the prediction of random labels, even with a small penalty."""
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(400, 50)), rng.random((400, 4)) < 0.4
    Y[~Y.any(axis=1), 0] = True
    found = validate_vote_model(validation_splits(CentredMatrix(X), RowTargets(Y)))
    assert found.penalty_ratio >= 1000  # practically a constant model
    assert len(found.log_likelihoods) == 400


def test_penalties_reach_a_tenth_of_the_default():
    """Few features that determine the degrees."""
    data = make_label_distributions(
        200, 2, 3, snr=np.inf, sharpness=4.0, labels="votes", n_raters=10
    )
    splits = validation_splits(CentredMatrix(data.X), RowTargets(data.Y > 0))
    assert validate_vote_model(splits).penalty_ratio == pytest.approx(0.1)


def test_sample_weight_two_equals_a_duplicate_row():
    data = make_label_distributions(60, 3, 4, labels="presence", random_state=1)
    repeats, Y = np.random.default_rng(1).integers(1, 4, size=60), data.Y.astype(bool)
    weights = repeats.astype(float)
    weighted = validation_splits(
        CentredMatrix(data.X, sample_weight=weights), RowTargets(Y, sample_weight=weights)
    )
    repeated_X, repeated_Y = (np.repeat(each, repeats, axis=0) for each in (data.X, Y))
    repeated = validation_splits(CentredMatrix(repeated_X), RowTargets(repeated_Y))
    found, expected = (validate_vote_model(splits) for splits in (weighted, repeated))
    assert found.penalty_ratio == expected.penalty_ratio
    mean = np.average(found.log_likelihoods, weights=validation_weights(weighted))
    assert mean == pytest.approx(expected.log_likelihoods.mean(), abs=1e-3)


def test_unknown_labels_are_ignored():
    data = make_label_distributions(80, 3, 4, labels="votes", n_raters=5)
    Y, observed = data.Y > 0, np.random.default_rng(0).random(data.Y.shape) < 0.7
    found, other = (
        validate_vote_model(validation_splits(CentredMatrix(data.X), RowTargets(stored, observed)))
        for stored in (Y, Y ^ ~observed)
    )
    np.testing.assert_array_equal(found.log_likelihoods, other.log_likelihoods)


def test_penalties_stop_at_the_first_decrease_of_the_likelihood(monkeypatch):
    data = make_label_distributions(100, 5, 3, labels="votes", n_raters=5, random_state=2)
    splits = validation_splits(CentredMatrix(data.X), RowTargets(data.Y.astype(bool)))
    chosen = validate_vote_model(splits)
    means = []
    for ratio in label_model._PENALTY_RATIOS:
        monkeypatch.setattr(label_model, "_PENALTY_RATIOS", (ratio,))
        means.append(validate_vote_model(splits).log_likelihoods.mean())
    monkeypatch.undo()
    first = int(np.argmax(np.diff(means) < 0))
    assert chosen.penalty_ratio == label_model._PENALTY_RATIOS[first]
    assert chosen.log_likelihoods.mean() == pytest.approx(means[first], abs=1e-3)


def test_differences_below_the_fit_tolerance_are_no_evidence():
    assert abs(paired_z_score(np.full(50, 1e-5), np.ones(50))) < 0.2
    difference = np.random.default_rng(0).normal(size=50)
    expected = difference.mean() / (difference.std(ddof=1) / np.sqrt(50))
    assert paired_z_score(difference, np.ones(50)) == pytest.approx(expected, rel=1e-6)


def test_threads_do_not_change_results(monkeypatch):
    data = make_label_distributions(120, 4, 3, labels="votes", n_raters=5, random_state=0)
    splits = validation_splits(CentredMatrix(data.X), RowTargets(data.Y.astype(bool)))
    found = []
    for count in (1, 3):
        monkeypatch.setattr(resources, "thread_count", lambda count=count: count)
        found.append(validate_vote_model(splits))
    assert found[0].penalty_ratio == found[1].penalty_ratio
    np.testing.assert_array_equal(found[0].log_likelihoods, found[1].log_likelihoods)


@pytest.mark.parametrize(("n_other", "fixed"), [(4, True), (15, False)])
def test_fixed_cardinality_is_detected_by_the_variance(n_other, fixed):
    """Two of four labels in nearly all of 100 rows: independent labels would have a variance of
    about 1."""
    rng = np.random.default_rng(0)
    Y = rng.permuted(np.tile([1, 1, 0, 0], (100, 1)), axis=1)
    Y[:n_other] = [1, 1, 1, 0]
    frequency = Y.mean(axis=0)
    ratio = Y.sum(axis=1).var() / (frequency * (1.0 - frequency)).sum()
    assert (ratio < 0.05) if fixed else (0.1 < ratio < 0.15)
    splits = validation_splits(CentredMatrix(rng.normal(size=(100, 2))), RowTargets(Y > 0))
    assert has_fixed_cardinality(splits) == fixed


def test_fixed_cardinality_is_that_of_weighted_rows():
    rng = np.random.default_rng(0)
    Y = rng.permuted(np.tile([1, 1, 0, 0], (100, 1)), axis=1)
    Y[:50] = [1, 1, 1, 0]
    weights = np.repeat([0.001, 1.0], 50)
    splits = validation_splits(
        CentredMatrix(rng.normal(size=(100, 2)), sample_weight=weights),
        RowTargets(Y > 0, None, weights),
    )
    assert has_fixed_cardinality(splits)


def test_folds_of_many_rows_are_a_random_sample():
    X = np.random.default_rng(0).normal(size=(4000, 1))
    used = np.concatenate([fold.test for fold in validation_folds(CentredMatrix(X))])
    assert len(used) == 2000
    assert (
        abs(X[used].mean() - X.mean()) < 0.1
    )  # four standard errors; the rows with the smallest keys differ by 0.8


def test_duplicate_rows_are_in_the_same_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7))
    copies = rng.integers(1, 4, size=40)
    once = validation_folds(CentredMatrix(X, sample_weight=copies.astype(float)))
    for container in (np.asarray, sparse.csr_array):
        many = validation_folds(CentredMatrix(container(np.repeat(X, copies, axis=0))))
        assert len(many) == len(once)
        for fold, repeated in zip(once, many, strict=True):
            rows = np.repeat(np.arange(40), copies)
            np.testing.assert_array_equal(np.unique(rows[repeated.test]), fold.test)
            assert not set(rows[repeated.test]) & set(rows[repeated.train])


def test_duplicate_rows_are_split_only_if_frequent():
    kinds = np.eye(5)
    assert validation_folds(CentredMatrix(np.repeat(kinds, 4, axis=0))) == []
    assert len(validation_folds(CentredMatrix(np.repeat(kinds, 40, axis=0)))) == 5
