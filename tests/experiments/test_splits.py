import numpy as np
import pytest
from tiny_plans import tiny_plan

from ldlearn.datasets import LabelDataset, make_label_distributions
from ldlearn.experiments.plan import Protocol
from ldlearn.experiments.sources import DatasetSpec
from ldlearn.experiments.splits import make_split, protocol_rows


def test_repeats_are_slices_of_the_seeded_permutation():
    order = np.random.default_rng(7 + 3).permutation(200)
    train, validation, test = protocol_rows(Protocol(seed=7), 3, 200)
    np.testing.assert_array_equal(train, order[:120])
    np.testing.assert_array_equal(validation, order[120:160])
    np.testing.assert_array_equal(test, order[160:])


def test_repeats_agree_with_dataset_split():
    data = make_label_distributions(n_samples=53, n_features=2, n_labels=3)
    parts = data.split("60/20/20", seed=5)
    rows = protocol_rows(Protocol(seed=5), 0, 53)
    for part, found in zip(parts, rows, strict=True):
        np.testing.assert_array_equal(part.X, data.X[found])


@pytest.mark.parametrize("n", [100, 103])
def test_folds_partition_the_rows_and_leave_a_validation_part(n):
    protocol = Protocol(split="k-fold", folds=10, repeats=2, validation=0.25)
    tests = []
    for repeat in range(10):
        train, validation, test = protocol_rows(protocol, repeat, n)
        assert sorted(np.concatenate([train, validation, test])) == list(range(n))
        assert abs(len(validation) - 0.225 * n) < 1
        tests.append(test)
    assert sorted(np.concatenate(tests)) == list(range(n))
    again = protocol_rows(protocol, 10, n)[2]
    assert set(again) != set(tests[0])  # the second shuffle


def test_scaling_is_fitted_on_the_training_part_alone():
    data = make_label_distributions(n_samples=100, n_features=3, n_labels=3)
    protocol = tiny_plan().protocol
    split = make_split(data, DatasetSpec("made"), protocol, 0)
    np.testing.assert_allclose(split.train.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.train.X.std(axis=0), 1)
    raw = data.X[split.train.rows]
    np.testing.assert_allclose(
        split.test.X, (data.X[split.test.rows] - raw.mean(axis=0)) / raw.std(axis=0)
    )
    unscaled = make_split(data, DatasetSpec("made"), Protocol(scaling="none"), 0)
    np.testing.assert_array_equal(unscaled.test.X, data.X[split.test.rows])


def test_data_set_may_override_the_label_rule():
    data = make_label_distributions(n_samples=50, n_features=3, n_labels=4)
    own = DatasetSpec("made", binarisation={"rule": "top-k", "k": 2})
    assert (make_split(data, own, Protocol(), 0).train.Y.sum(axis=1) == 2).all()


def test_votes_are_sampled_anew_for_each_repeat():
    data = make_label_distributions(n_samples=4000, n_features=3, n_labels=4)
    protocol = Protocol(rule="votes", k=5)
    labels = {}
    for repeat in range(2):
        split = make_split(data, DatasetSpec("made"), protocol, repeat)
        labels[repeat] = np.empty(data.D.shape)
        for part in (split.train, split.validation, split.test):
            labels[repeat][part.rows] = part.Y
        # A label gets one of five votes with probability 1 - (1 - d)^5.
        np.testing.assert_allclose(
            labels[repeat].mean(axis=0), (1 - (1 - data.D) ** 5).mean(axis=0), atol=0.03
        )
    assert (labels[0] != labels[1]).any()
    np.testing.assert_array_equal(
        make_split(data, DatasetSpec("made"), protocol, 1).train.Y, split.train.Y
    )


def test_rows_without_a_positive_label_are_an_error():
    data = LabelDataset(X=np.zeros((10, 1)), D=np.full((10, 2), 0.5))
    with pytest.raises(ValueError, match="10 rows of 'flat' have no positive label"):
        make_split(data, DatasetSpec("flat"), Protocol(threshold=0.6), 0)


def test_part_without_rows_is_an_error():
    data = LabelDataset(X=np.zeros((2, 1)), D=np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match="validation part of 'tiny' has no rows"):
        make_split(data, DatasetSpec("tiny"), Protocol(), 0)


def test_training_rows_are_described_by_texts_or_first_features(tmp_path):
    pd = pytest.importorskip("pandas")
    data = make_label_distributions(n_samples=20, n_features=6, n_labels=3)
    spec = DatasetSpec("set")
    split = make_split(data, spec, Protocol(), 0)
    row = data.X[split.train.rows[1]]
    assert split.texts[1] == ", ".join(f"x{j} {row[j]:g}" for j in range(4))
    texts = [f"the text of row {i} has some words" for i in range(20)]
    with_texts = LabelDataset(X=data.X, D=data.D, texts=texts)
    assert make_split(with_texts, spec, Protocol(), 0).texts[1] == texts[split.train.rows[1]]
    labels = pd.DataFrame(data.logical(), columns=["a", "b", "c"])
    table = pd.DataFrame({"size": np.arange(20) ** 2, "note": texts}).join(labels)
    for frame, descriptions in (
        (table, texts),
        (table.drop(columns="note"), [f"size {i**2}" for i in range(20)]),
    ):
        frame.to_csv(tmp_path / "table.csv", index=False)
        spec = DatasetSpec(
            "table",
            path=str(tmp_path / "table.csv"),
            preprocess=True,
            read={"labels": ["a", "b", "c"]},
        )
        assert (
            make_split(spec.load(needs_truth=False), spec, Protocol(), 0).texts[1]
            == descriptions[split.train.rows[1]]
        )
