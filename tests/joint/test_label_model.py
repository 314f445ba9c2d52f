"""The test of competing against independent labels: folds, size, power, results on real labels."""

import numpy as np
import pandas as pd
import pytest
from protocol import Split as PaperSplit
from protocol import load
from scipy import sparse

from ldlearn.core import binarize, resources
from ldlearn.core.targets import RowTargets
from ldlearn.core.votes import competing_votes
from ldlearn.datasets import load_uk_budget_shares, make_label_distributions
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.joint import competition_test, label_model
from ldlearn.joint.label_model import (
    compare_models,
    paired_z_score,
    validate_vote_model,
    validation_splits,
)
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import Features
from ldlearn.solvers.folds import validation_folds
from ldlearn.solvers.vote_regression import vote_regression


def test_folds_cover_the_rows_and_do_not_depend_on_their_order():
    X = np.random.default_rng(0).normal(size=(103, 4))
    folds = validation_folds(Features(X))
    assert len(folds) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(103))
    for fold in folds:
        assert not set(fold.train) & set(fold.test)
        assert len(fold.train) + len(fold.test) == 103
    order = np.random.default_rng(1).permutation(103)
    for fold, moved in zip(folds, validation_folds(Features(X[order])), strict=True):
        np.testing.assert_array_equal(np.sort(order[moved.test]), fold.test)
    for fold, same in zip(folds, validation_folds(Features(sparse.csr_array(X))), strict=True):
        np.testing.assert_array_equal(fold.test, same.test)
    shifted = 2.0 * np.rint(1024 * X) + np.array([0.0, 1e8, -1e6, 3.0])  # nothing is rounded
    for container in (np.asarray, sparse.csr_array):
        plain = validation_folds(Features(np.rint(1024 * X)))
        for fold, moved in zip(plain, validation_folds(Features(container(shifted))), strict=True):
            np.testing.assert_array_equal(fold.test, moved.test)


def test_many_rows_are_sampled_and_split_in_half():
    folds = validation_folds(Features(np.random.default_rng(0).normal(size=(10_000, 2))))
    assert [len(fold.test) for fold in folds] == [1000, 1000]


def test_few_rows_are_no_evidence():
    data = make_label_distributions(9, 3, 4, labels="presence")
    result = competition_test(data.X, data.Y)
    assert result.competing
    assert result.n_samples == 0
    assert validate_vote_model(validation_splits(Features(data.X), RowTargets(data.Y > 0))).penalty_ratio == 1


def test_input_validation_is_that_of_fit():
    data = make_label_distributions(40, 3, 4, labels="votes")
    X, Y = data.X, data.Y
    found = competition_test(X, Y)
    for other in (X.tolist(), pd.DataFrame(X), sparse.csc_matrix(X)):
        assert competition_test(other, pd.DataFrame(Y)).z == pytest.approx(found.z, abs=1e-6)
    for wrong, message in (((X[:5], Y), "inconsistent numbers"), ((np.where(X > 1, np.nan, X), Y), "NaN")):
        with pytest.raises(InputError, match=message):
            competition_test(*wrong)
    with pytest.raises(ParameterError, match="level must be above 0 and below 1, got 5"):
        competition_test(X, Y, level=5)


def test_held_out_rows_are_not_used_for_training():
    """Features do not improve the prediction of random labels, even with a small penalty."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 50)), rng.random((400, 4)) < 0.4
    Y[~Y.any(axis=1), 0] = True
    found = validate_vote_model(validation_splits(Features(X), RowTargets(Y)))
    assert found.penalty_ratio >= 100
    assert len(found.log_likelihoods) == 400


def test_penalties_reach_a_tenth_of_the_default():
    """Few features that determine the degrees."""
    data = make_label_distributions(200, 2, 3, snr=np.inf, sharpness=4.0, labels="votes", n_raters=10)
    splits = validation_splits(Features(data.X), RowTargets(data.Y > 0))
    assert validate_vote_model(splits).penalty_ratio == pytest.approx(0.1)


def _generated(seed, **options):
    return make_label_distributions(300, 10, 6, random_state=seed, **options)


def competition_tests(n_sets, **options):
    found = []
    for seed in range(n_sets):
        data = make_label_distributions(500, 10, 6, random_state=seed, **options)
        found.append(competition_test(data.X, data.Y))
    return found


def test_size_if_features_are_uninformative():
    """5 % of 60 is 3. benchmarks/competition_test.py has more simulations of more settings."""
    wrong = sum(not result.competing for result in competition_tests(60, snr=0.0, labels="votes", n_raters=5))
    assert wrong <= 6


def test_independence_needs_both_priors():
    """Nearly all labels are positive: under the weak prior alone, a difference of 0.001 per row would decide."""
    split = PaperSplit("SCUT_FBP", 0)
    assert competition_test(split.X, split.Y).competing


def test_size_if_degrees_are_imbalanced():
    """Both models are constant then, at a penalty far above the default."""
    options = {"sharpness": 0.0, "imbalance": 100.0, "labels": "votes", "n_raters": 20}
    found = [competition_test(data.X, data.Y) for data in (_generated(seed, **options) for seed in range(30))]
    assert sum(not result.competing for result in found) <= 3


@pytest.mark.parametrize(("n_noise", "missing"), [(100, 0.0), (10, 0.3)])
def test_models_are_compared_at_the_penalty_of_the_vote_model(n_noise, missing):
    """In wide data, a smaller penalty would make independent labels look better than votes."""
    data = make_label_distributions(120, 4, 4, labels="votes", n_raters=8, random_state=1)
    rng = np.random.default_rng(1)
    X = np.hstack([data.X, rng.normal(size=(120, n_noise))])
    Y, observed = data.Y.astype(bool), rng.random(data.Y.shape) >= missing
    splits = validation_splits(Features(X), RowTargets(Y & observed, observed))
    votes = validate_vote_model(splits)
    statistics = []
    for weak_prior in (True, False):
        expected = []
        for split in splits:
            options = {"l2": votes.penalty_ratio * default_gamma(split.features), "observed": split.labels.observed}
            competing, independent = (
                vote_regression(split.features, split.labels.values, competing=c, weak_prior=weak_prior, **options)
                for c in (True, False)
            )
            Z = [split.X_test @ fit.coef + fit.intercept for fit in (competing, independent)]
            theta = competing_votes(Z[0], competing.log_rate)
            expected.append(split.log_likelihoods(Z[1]) - split.log_likelihoods(theta))
        difference = np.concatenate(expected)
        statistics.append(difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference))))
    z = min(statistics)
    assert abs(statistics[0] - statistics[1]) > 0.03  # otherwise one of them would be sufficient
    assert competition_test(X, np.where(observed, Y, np.nan)).z == pytest.approx(z, abs=0.02)


def test_sample_weight_two_equals_a_duplicate_row():
    data = make_label_distributions(60, 3, 4, labels="presence", random_state=1)
    repeats, Y = np.random.default_rng(1).integers(1, 4, size=60), data.Y.astype(bool)
    weights = repeats.astype(float)
    weighted = validation_splits(Features(data.X, sample_weight=weights), RowTargets(Y, sample_weight=weights))
    repeated_X, repeated_Y = (np.repeat(each, repeats, axis=0) for each in (data.X, Y))
    repeated = validation_splits(Features(repeated_X), RowTargets(repeated_Y))
    found, expected = (compare_models(splits, validate_vote_model(splits)) for splits in (weighted, repeated))
    assert found.z == pytest.approx(expected.z, abs=0.02)


def test_penalties_stop_at_the_first_decrease_of_the_likelihood(monkeypatch):
    data = make_label_distributions(100, 5, 3, labels="votes", n_raters=5, random_state=2)
    splits = validation_splits(Features(data.X), RowTargets(data.Y.astype(bool)))
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
    """One negative label among thousands: both models are the same constant but for the tolerance of the fits."""
    Y = np.ones((600, 3))
    Y[0, 0] = 0
    assert abs(competition_test(np.random.default_rng(0).normal(size=(600, 4)), Y).z) < 1.0
    assert abs(paired_z_score(np.full(50, 1e-5), np.ones(50))) < 0.2
    difference = np.random.default_rng(0).normal(size=50)
    expected = difference.mean() / (difference.std(ddof=1) / np.sqrt(50))
    assert paired_z_score(difference, np.ones(50)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"labels": "votes", "n_raters": 20},
        {"labels": "votes", "n_raters": 5, "snr": 1.0},
        {"labels": "votes", "n_raters": 20, "concentration": 5.0},
        {"labels": "threshold", "threshold": 0.05},
        {"labels": "top-k", "k": 2},
    ],
    ids=str,
)
def test_competing_labels_are_detected(options):
    assert all(result.competing for result in competition_tests(8, **options))


def test_power_against_presence():
    found = competition_tests(8, labels="presence")
    assert sum(not result.competing for result in found) >= 7
    assert "independent of each other" in found[0].message
    assert all(result.z > 0 for result in found)


def test_threads_do_not_change_results(monkeypatch):
    data = make_label_distributions(120, 4, 3, labels="votes", n_raters=5, random_state=0)
    splits = validation_splits(Features(data.X), RowTargets(data.Y.astype(bool)))
    found = []
    for count in (1, 3):
        monkeypatch.setattr(resources, "thread_count", lambda count=count: count)
        found.append(validate_vote_model(splits))
    assert found[0].penalty_ratio == found[1].penalty_ratio
    np.testing.assert_array_equal(found[0].log_likelihoods, found[1].log_likelihoods)


def test_message_agrees_with_statistics():
    votes = competition_tests(1, labels="votes", n_raters=20)[0]
    assert votes.z < -2
    assert votes.p_value > 0.97
    assert votes.message.startswith("labels compete, as votes do")
    assert f"{votes.z:+.1f}" in votes.message
    undecided = competition_test(*_random_labels())
    assert undecided.competing
    assert "undecided" in undecided.message


def _random_labels():
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 4)) < 0.5).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    return rng.normal(size=(200, 3)), Y


@pytest.mark.parametrize(
    ("z", "term"), [(-1.7, "compete, as votes do"), (-1.6, "undecided"), (1.6, "undecided"), (1.7, "independent of")]
)
def test_one_sided_test_at_the_level(z, term, monkeypatch):
    """The quantile of 0.95 is 1.645."""
    monkeypatch.setattr(label_model, "paired_z_score", lambda *_: z)
    result = competition_test(*_random_labels())
    assert term in result.message
    assert result.competing == (z < 1.645)


@pytest.mark.parametrize(("n_other", "fixed"), [(4, True), (15, False)])
def test_fixed_cardinality_is_detected_by_the_variance(n_other, fixed):
    """Two of four labels in nearly all of 100 rows: independent labels would have a variance of about 1."""
    rng = np.random.default_rng(0)
    Y = rng.permuted(np.tile([1, 1, 0, 0], (100, 1)), axis=1)
    Y[:n_other] = [1, 1, 1, 0]
    frequency = Y.mean(axis=0)
    ratio = Y.sum(axis=1).var() / (frequency * (1.0 - frequency)).sum()
    assert (ratio < 0.05) if fixed else (0.1 < ratio < 0.15)
    assert competition_test(rng.normal(size=(100, 2)), Y).fixed_cardinality == fixed


def test_all_positive_labels_are_uninformative():
    X, _ = _random_labels()
    result = competition_test(X, np.ones((200, 4)))
    assert result.competing
    assert result.z == 0


def test_budget_shares_compete():
    data = load_uk_budget_shares()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    assert competition_test(X, binarize(data.D)).competing


@pytest.mark.parametrize(("name", "competing"), [("vader_tweets", True), ("SCUT_FBP", True), ("Natural_Scene", False)])
def test_results_on_real_data_sets(name, competing):
    X, D = load(name)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    result = competition_test(X, binarize(D))
    assert result.competing == competing
    if not competing:
        assert result.z > 3


def test_duplicate_rows_are_in_the_same_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7))
    copies = rng.integers(1, 4, size=40)
    once = validation_folds(Features(X, sample_weight=copies.astype(float)))
    for container in (np.asarray, sparse.csr_array):
        many = validation_folds(Features(container(np.repeat(X, copies, axis=0))))
        assert len(many) == len(once)
        for fold, repeated in zip(once, many, strict=True):
            rows = np.repeat(np.arange(40), copies)
            np.testing.assert_array_equal(np.unique(rows[repeated.test]), fold.test)
            assert not set(rows[repeated.test]) & set(rows[repeated.train])


def test_duplicate_rows_are_split_only_if_frequent():
    kinds = np.eye(5)
    assert validation_folds(Features(np.repeat(kinds, 4, axis=0))) == []
    assert len(validation_folds(Features(np.repeat(kinds, 40, axis=0)))) == 5
