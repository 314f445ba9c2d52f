import dataclasses

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ldlearn.core.targets import find_row_problems
from ldlearn.datasets import DatasetError, LabelDataset, make_label_distributions


def small(**changes):
    fields = {
        "X": np.arange(12.0).reshape(6, 2),
        "D": np.array(
            [
                [1, 0, 0],
                [0.5, 0.5, 0],
                [0.2, 0.3, 0.5],
                [0, 0, 1],
                [0.005, 0.99, 0.005],
                [0.4, 0.3, 0.3],
            ]
        ),
        "label_names": ["a", "b", "c"],
        "name": "small",
    }
    return LabelDataset(**(fields | changes))


def test_fields_cannot_be_set():
    data = small()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.X = None
    assert [f.name for f in dataclasses.fields(data)][:3] == ["X", "D", "Y"]


def test_default_names():
    data = small(label_names=())
    assert data.label_names == ("label_0", "label_1", "label_2")
    assert data.feature_names == ("x0", "x1")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_of_data_frames_are_kept(library):
    frames = pytest.importorskip(library)
    data = LabelDataset(
        X=frames.DataFrame({"w": [1.0, 2.0]}), D=frames.DataFrame({"p": [0.5, 0], "q": [0.5, 1.0]})
    )
    assert data.feature_names == ("w",)
    assert data.label_names == ("p", "q")
    assert isinstance(data.X, np.ndarray)
    np.testing.assert_array_equal(data.D, [[0.5, 0.5], [0, 1]])
    assert LabelDataset(X=np.ones((2, 1)), Y=frames.DataFrame({"p": [1, 0]})).label_names == ("p",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": np.zeros(6)}, "2-D"),
        ({"X": np.array([["a"]] * 6)}, "numbers"),
        ({"D": np.ones(6)}, "2-D"),
        ({"D": None}, "needs D .* or Y"),
        ({"D": np.full((5, 3), 1 / 3)}, "6 rows but D has 5"),
        ({"Y": np.ones((6, 2))}, "one shape"),
        ({"Y": np.full((6, 3), 2)}, "row 0.*'a'.*0 or 1"),
        ({"label_names": ["a"]}, "1 label names were given for 3"),
        ({"texts": ["a"]}, "6 rows but there are 1 texts"),
        ({"feature_names": ["a"]}, "1 feature names were given for 2"),
    ],
)
def test_inconsistent_fields_raise(changes, message):
    with pytest.raises(DatasetError, match=message):
        small(**changes)


def test_invalid_rows_are_listed():
    D = np.full((6, 3), 1 / 3)
    D[1, 2] = np.nan
    D[2] = [1.1, -0.1, 0]
    D[3] = 0
    D[5] = [0.6, 0.6, 0]
    with pytest.raises(DatasetError) as caught:
        small(D=D)
    message = str(caught.value)
    for part in (
        "row 1: missing",
        "'c'",
        "row 2: negative degree, first -0.1",
        "'b'",
        "row 3",
        "sum to 1, first 1.2",
    ):
        assert part in message
    assert isinstance(caught.value, ValueError)


@settings(deadline=None, max_examples=50)
@given(
    arrays(
        np.float64, (5, 3), elements=st.sampled_from([0.0, 1.0, -1.0, 0.5, 0.25, np.nan, np.inf])
    )
)
def test_each_invalid_row_is_listed_once(D):
    listed = sorted(row for mark in find_row_problems(D).values() for row in np.flatnonzero(mark))
    expected = [
        i for i, d in enumerate(D) if not (np.isfinite(d).all() and (d >= 0).all() and d.sum() == 1)
    ]
    assert listed == expected


def test_float32_rounding_is_tolerated():
    D = np.random.default_rng(0).dirichlet(np.ones(200), size=50).astype(np.float32)
    assert small(X=np.zeros((50, 1)), D=D, label_names=()).D.dtype == np.float32


def test_logical_rules():
    data = small()
    np.testing.assert_array_equal(data.logical(), data.D > 0.01)
    np.testing.assert_array_equal(data.logical(delta=0.4), data.D > 0.4)
    np.testing.assert_array_equal(data.logical("top-k", k=1).argmax(axis=1), data.D.argmax(axis=1))
    np.testing.assert_array_equal(data.logical(rule="cumulative")[2], [0, 1, 1])
    with pytest.raises(ValueError, match="rule"):
        data.logical(rule="other")
    with pytest.raises(DatasetError, match="stores no logical labels"):
        data.logical(rule="stored")


def test_stored_labels_are_returned_unchanged():
    Y = np.array([[1, 0, 0]] * 6)
    np.testing.assert_array_equal(small(Y=Y).logical(rule="stored"), Y)
    np.testing.assert_array_equal(small(D=None, Y=Y).logical(), Y)
    assert (small(Y=Y).logical() != Y).any()


def test_constant_labels_trigger_a_warning_with_remedy():
    data = small(D=np.full((6, 3), 1 / 3))
    with pytest.warns(UserWarning, match=r"100.00% of the labels of 'small'.*cumulative"):
        data.logical()
    data.logical(rule="cumulative")


@settings(deadline=None, max_examples=30)
@given(n=st.integers(0, 40), seed=st.integers(0, 1000), cut=st.integers(0, 100))
def test_split_is_an_ordered_partition(n, seed, cut):
    data = LabelDataset(X=np.arange(n, dtype=float)[:, None], D=np.full((n, 2), 0.5))
    parts = data.split((cut, 100 - cut), seed)
    order = np.random.default_rng(seed).permutation(n)
    np.testing.assert_array_equal(np.concatenate([part.X[:, 0] for part in parts]), order)
    assert parts[0].n_samples == n * cut // 100


def test_split_keeps_all_fields():
    data = make_label_distributions(50, 3, 4)
    data = dataclasses.replace(data, Y=(data.D > 0.2).astype(int), counts=data.D * 20)
    train, valid, test = data.split(seed=3)
    assert [part.n_samples for part in (train, valid, test)] == [30, 10, 10]
    for part in (train, valid, test):
        np.testing.assert_array_equal(part.Y, part.D > 0.2)
        np.testing.assert_array_equal(part.counts, part.D * 20)
        assert part.label_names == data.label_names
    assert [p.n_samples for p in data.split("60/20/20")] == [
        p.n_samples for p in data.split([0.6, 0.2, 0.2])
    ]


@pytest.mark.parametrize("fractions", [(0.5, 0.6), (1.5, -0.5), "60/20", 0.15])
def test_invalid_split_fractions_raise(fractions):
    with pytest.raises(DatasetError, match="sum to 1 or to 100"):
        small().split(fractions)


def test_describe_counts():
    data = small(X=np.array([[0.0, 1], [2, 3], [0, 1], [-0.0, 1], [4, 5], [6, 7]]))
    D = data.D
    figures = data.describe()
    positives = (D > 0.01).sum(axis=1)
    expected = {
        "n_samples": 6,
        "n_features": 2,
        "n_labels": 3,
        "positives_mean": positives.mean(),
        "positives_min": 1,
        "positives_max": 3,
        "sparsity": (D == 0).mean(),
        "one_hot_share": 2 / 6,
        "duplicate_rows": 2,
    }
    assert {key: figures[key] for key in expected} == pytest.approx(expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(D > 0, D * np.log(D), 0).sum(axis=1).mean()
    assert figures["entropy"] == pytest.approx(entropy)
    assert figures["relative_entropy"] == pytest.approx(entropy / np.log(3))
    assert set(figures) == set(expected) | {"entropy", "relative_entropy"}


def test_describe_of_logical_and_of_sparse_data():
    Y = np.array([[1, 0, 0], [1, 1, 0]])
    X = scipy.sparse.csr_matrix(np.array([[0.0, 2.0], [0.0, 2.0]]))
    figures = LabelDataset(X=X, Y=Y).describe()
    assert figures["duplicate_rows"] == 1
    assert figures["positives_mean"] == 1.5
    assert figures["one_hot_share"] == 0.5
    assert "entropy" not in figures
    assert LabelDataset(X=np.zeros((0, 2)), D=np.zeros((0, 3))).describe()["n_samples"] == 0


def test_repr_contains_name_and_shape():
    text = repr(small(source="a book", licence="MIT"))
    assert (
        text.splitlines()[0] == "LabelDataset 'small': 6 rows, 2 features, 3 labels (distributions)"
    )
    assert "a, b, c" in text
    assert "a book" in text
    assert "MIT" in text
    many = LabelDataset(X=np.zeros((1, 1)), D=np.full((1, 50), 0.02))
    assert len(repr(many)) < 200
