import errno
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mat73_files import write_mat73

from ldlearn.datasets import (
    DatasetError,
    LabelDataset,
    load_uk_budget_shares,
    make_label_distributions,
    read_dataset,
    write_dataset,
)
from ldlearn.exceptions import FileError
from ldlearn.tables.columns import strip_mark

KEEP_ALL = [".npz", ".mat", "-7.3.mat", ".parquet", ".feather"]
TEXTS = ("name", "source", "licence", "citation", "description")

name_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=8
).filter(lambda name: name == name.strip())
numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@st.composite
def datasets(draw, labels=("D", "Y", "counts", "DY"), sparse=False):
    n, m, c = draw(st.integers(0, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    X = draw(arrays(draw(st.sampled_from([np.float32, np.float64])), (n, m), elements=numbers))
    if sparse:
        X = scipy.sparse.csr_matrix(np.where(np.isfinite(X), X, 0))
    votes = draw(arrays(np.int64, (n, c), elements=st.integers(0, 9)))
    votes[:, 0] += 1
    logical = (votes > 3).astype(draw(st.sampled_from([np.int8, np.float64, bool])))
    fields = {
        "D": {"D": votes / votes.sum(axis=1, keepdims=True)},
        "Y": {"Y": logical},
        "counts": {"D": votes / votes.sum(axis=1, keepdims=True), "counts": votes},
        "DY": {"D": votes / votes.sum(axis=1, keepdims=True), "Y": logical},
    }[draw(st.sampled_from(labels))]
    names = draw(st.lists(name_text, min_size=m + c, max_size=m + c, unique=True))
    texts = {key: draw(name_text) for key in TEXTS}
    return LabelDataset(X=X, **fields, feature_names=names[:m], label_names=names[m:], **texts)


def round_trip(data, suffix, **choice):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        (write_mat73 if suffix.startswith("-") else lambda path, data: write_dataset(data, path))(
            path, data
        )
        assert len(list(Path(folder).iterdir())) == 1
        return read_dataset(path, **choice)


def dense(X):
    return X.toarray() if scipy.sparse.issparse(X) else X


def assert_same_numbers(left, right):
    np.testing.assert_array_equal(dense(left.X), dense(right.X))
    for field in ("D", "Y", "counts"):
        ours, theirs = getattr(left, field), getattr(right, field)
        assert (ours is None) == (theirs is None), field
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs)


marked = LabelDataset(
    X=np.ones((2, 1)),
    D=np.full((2, 2), 0.5),
    feature_names=["X:"],
    label_names=["D:", "D:a"],
    name="marked",
)
float_labels = LabelDataset(
    X=np.array([[1.0], [-0.0]]), Y=np.eye(2), feature_names=["x"], label_names=["votes:", "Y:"]
)


@pytest.mark.parametrize("suffix", KEEP_ALL)
@example(data=marked)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets())
def test_array_formats_keep_all_fields(suffix, data):
    back = round_trip(data, suffix)
    assert_same_numbers(back, data)
    assert back.X.dtype == data.X.dtype
    assert back.label_names == data.label_names
    assert back.feature_names == data.feature_names
    for key in TEXTS:
        if getattr(data, key):
            assert getattr(back, key) == getattr(data, key)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets(labels=("D", "Y", "counts")))
def test_text_tables_keep_numbers_and_names(suffix, data):
    assume(
        data.n_features + data.n_labels > 2 or data.label_names != ("",)
    )  # "a," above two columns would be a title
    kind = "votes" if data.counts is not None else "logical" if data.D is None else "distribution"
    back = round_trip(data, suffix, labels=slice(-data.n_labels, None), kind=kind)
    assert_same_numbers(back, data)
    if not any(
        name.startswith(("D:", "Y:", "votes:")) for name in back.label_names
    ):  # marked if necessary
        assert back.label_names == data.label_names
    assert [strip_mark(name, "X") for name in back.feature_names] == [
        strip_mark(n, "X") for n in data.feature_names
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets(labels=("DY",)))
def test_text_tables_mark_two_label_matrices(suffix, data):
    back = round_trip(data, suffix)
    assert_same_numbers(back, data)
    assert back.label_names == data.label_names
    assert back.feature_names == data.feature_names


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_label_with_empty_name_round_trips(tmp_path, suffix):
    """A header of one name and an empty name would be parsed as a title."""
    data = LabelDataset(
        X=np.eye(3)[:, :1],
        Y=np.ones((3, 1), dtype=np.int8),
        feature_names=["a"],
        label_names=[""],
        name="x",
    )
    write_dataset(data, tmp_path / f"x.{suffix}")
    back = read_dataset(tmp_path / f"x.{suffix}")
    assert (list(back.feature_names), list(back.label_names)) == (["a"], [""])
    np.testing.assert_array_equal(back.X, data.X)


def test_headers_are_the_plain_names(tmp_path):
    data = load_uk_budget_shares()
    write_dataset(data, tmp_path / "b.csv")
    header = (tmp_path / "b.csv").read_text().partition("\n")[0]
    assert (
        header == "total_expenditure,income,age,children,food,fuel,clothes,alcohol,transport,other"
    )
    back = read_dataset(tmp_path / "b.csv", labels="food:other")
    assert_same_numbers(back, data)


def test_tables_with_marked_label_columns(tmp_path):
    (tmp_path / "old.csv").write_text("x,X:D:y,D:food,D:fuel\n1,2,0.5,0.5\n")
    data = read_dataset(tmp_path / "old.csv")
    assert data.label_names == ("food", "fuel")
    assert data.feature_names == ("x", "D:y")


def test_json_lines_round_trip(tmp_path):
    data = make_label_distributions(20_000, 2, 3)
    write_dataset(data, tmp_path / "x.jsonl")
    back = read_dataset(tmp_path / "x.jsonl", labels="label_*")
    assert_same_numbers(back, data)
    assert back.label_names == data.label_names


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets(labels=("D", "Y", "counts")))
@example(marked)
@example(float_labels)
def test_arff_keeps_numbers_and_names(data):
    broken = [
        name
        for name in (*data.feature_names, *data.label_names, data.name)
        if set("\r\n") & set(name)
    ]
    if broken:
        with pytest.raises(DatasetError, match="line break"):
            round_trip(data, ".arff")
        return
    back = round_trip(data, ".arff")
    assert_same_numbers(back, data)
    assert back.label_names == data.label_names
    assert back.feature_names == data.feature_names


@pytest.mark.parametrize("suffix", [".npz", ".mat", "-7.3.mat", ".arff", ".svm"])
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(data=datasets(labels=("Y",), sparse=True))
def test_sparse_features_stay_sparse(suffix, data):
    assume(
        not any(
            set("\r\n") & set(name) for name in (*data.feature_names, *data.label_names, data.name)
        )
    )
    assume(data.n_samples or suffix not in (".arff", ".svm"))
    back = round_trip(data, suffix)
    assert scipy.sparse.issparse(back.X)
    if suffix == ".svm":  # scikit-learn writes sixteen digits
        np.testing.assert_allclose(dense(back.X), dense(data.X).astype(float), rtol=1e-15)
        np.testing.assert_array_equal(back.Y, data.Y)
    else:
        assert_same_numbers(back, data)
    assert back.label_names == data.label_names
    assert back.feature_names == data.feature_names


@settings(deadline=None, max_examples=20)
@given(data=datasets())
def test_pairs_of_npy_files_keep_numbers(data):
    with tempfile.TemporaryDirectory() as folder:
        write_dataset(data, Path(folder) / "data.npy")
        back = read_dataset(Path(folder) / "data.npy")
    assert_same_numbers(back, data)


def test_feature_named_like_a_label_stays_a_feature():
    data = LabelDataset(
        X=np.ones((2, 4)),
        D=np.eye(2),
        feature_names=["D:a", "X:b", "votes:c", "a"],
        label_names=["a", "X:b"],
    )
    for suffix in (".csv", ".parquet"):
        back = round_trip(data, suffix)
        assert back.feature_names == data.feature_names
        assert back.label_names == data.label_names


def test_ambiguous_duplicate_names_are_rejected(tmp_path):
    data = LabelDataset(X=np.ones((2, 2)), D=np.eye(2), feature_names=["a", "a"])
    for name in ("x.csv", "x.parquet", "x.arff"):
        with pytest.raises(DatasetError, match="'a': two columns"):
            write_dataset(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_failed_write_keeps_the_existing_file(tmp_path):
    good = make_label_distributions(5, 2, 2)
    write_dataset(good, tmp_path / "x.csv")
    before = (tmp_path / "x.csv").read_bytes()
    bad = LabelDataset(X=np.ones((2, 2)), D=np.eye(2), feature_names=["a", "a"])
    with pytest.raises(DatasetError):
        write_dataset(bad, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes() == before
    write_dataset(good, tmp_path / "x.csv")


def test_failed_write_keeps_existing_npy_files(tmp_path, monkeypatch):
    good = make_label_distributions(5, 2, 2)
    write_dataset(good, tmp_path / "x.npy")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(before) == {"x_X.npy", "x_D.npy"}
    real = np.save

    def fail_at_the_labels(file, array, **options):
        real(file, array, **options)
        if array.shape[1] == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", fail_at_the_labels)
    with pytest.raises(FileError, match=r"x_D\.npy: it cannot be written \(no space"):
        write_dataset(make_label_distributions(7, 2, 3), tmp_path / "x.npy")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_unsupported_content_is_rejected(tmp_path):
    data = make_label_distributions(5, 2, 2)
    with pytest.raises(DatasetError, match="logical labels only"):
        write_dataset(data, tmp_path / "x.svm")
    sparse = LabelDataset(X=scipy.sparse.eye(2, format="csr"), D=np.eye(2))
    for suffix in (".csv", ".parquet", ".npy"):
        with pytest.raises(DatasetError, match="no sparse features"):
            write_dataset(sparse, tmp_path / f"x{suffix}")
    large = LabelDataset(
        X=np.broadcast_to(0.0, (1 << 15, 1 << 13)), D=np.ones((1 << 15, 1))
    )  # no memory is allocated
    with pytest.raises(DatasetError, match="2 GB or more"):
        write_dataset(large, tmp_path / "x.mat")


def test_other_libraries_read_the_written_files(tmp_path):
    pandas, scipy_io = pytest.importorskip("pandas"), pytest.importorskip("scipy.io")
    data = make_label_distributions(7, 3, 2)
    for suffix, read in (
        (".csv", pandas.read_csv),
        (".parquet", pandas.read_parquet),
        (".feather", pandas.read_feather),
    ):
        write_dataset(data, tmp_path / f"x{suffix}")
        frame = read(tmp_path / f"x{suffix}")
        assert list(frame.columns) == ["x0", "x1", "x2", "label_0", "label_1"]
        np.testing.assert_allclose(frame.to_numpy(), np.hstack([data.X, data.D]))
    write_dataset(data, tmp_path / "x.mat")
    np.testing.assert_array_equal(scipy_io.loadmat(tmp_path / "x.mat")["D"], data.D)
    with np.load(write_and_return(data, tmp_path / "x.npz"), allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["D"], data.D)


def write_and_return(data, path):
    write_dataset(data, path)
    return path
