"""Sparse matrices in files stay sparse up to the degrees and give the results of dense tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from ldlearn.exceptions import TableError
from ldlearn.experiments import plan_for_table, run_plan
from ldlearn.tables import (
    ColumnOptions,
    ReadingOptions,
    WritingOptions,
    evaluate_table,
    explain_row,
    features,
    fit_enhance_table,
    fit_table,
    load_model,
    predict_table,
    prepare_table,
    save_model,
)
from ldlearn.tables.source import SparseTable

LABELS = ["calm", "glad", "upset"]
ROWS, WORDS = 300, 40


def write(path, X, Y, **others):
    parts = {
        "data": X.data,
        "indices": X.indices,
        "indptr": X.indptr,
        "shape": X.shape,
        "format": b"csr",
    }
    np.savez(path, **parts, Y=Y, label_names=LABELS, **others)


def make_sparse(rows, words, density, seed=0):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((rows, words), density=density, random_state=rng, format="csr")
    Y = (X[:, :3].toarray() + rng.random((rows, 3)) > 0.6).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    return X, Y


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse")
    X, Y = make_sparse(ROWS, WORDS, 0.1)
    X.data[X.indices == 7] = 0
    X.eliminate_zeros()
    keys, places = (
        [f"k{i:03d}" for i in range(ROWS)],
        np.array(["coast", "land"])[np.arange(ROWS) % 2],
    )
    names = [f"w{j}" for j in range(WORDS)]
    write(folder / "x.npz", X, Y, key=np.array(keys), feature_names=names)
    frame = pd.DataFrame(X.toarray(), columns=names).assign(
        **dict(zip(LABELS, Y.T, strict=True)), key=keys
    )
    frame.to_csv(folder / "x.csv", index=False)
    write(folder / "place.npz", X, Y, key=np.array(keys), feature_names=names, place=places)
    frame.assign(place=places).to_csv(folder / "place.csv", index=False)
    return folder


def degrees(data, model, folder):
    predict_table(str(data), str(model), str(folder / "out.csv"))
    return pd.read_csv(folder / "out.csv", index_col="key")


@pytest.mark.parametrize("features", [None, "w3:w20,place"])
def test_sparse_and_dense_files_give_the_same_degrees(files, tmp_path, features):
    name = "x" if features is None else "place"
    models = {}
    for ending in ("npz", "csv"):
        models[ending] = fit_table(
            str(files / f"{name}.{ending}"),
            LABELS,
            params={"beta": 1.0, "gamma": 0.1, "tol": 1e-8},
            columns=ColumnOptions(id="key", features=features),
        )
        save_model(models[ending], tmp_path / f"{ending}.ldl")
    assert models["npz"].preprocessing.sparse
    assert models["npz"].facts["columns"] == models["csv"].facts["columns"]
    assert models["npz"].facts["holdout"]["scores"][0]["model"] == pytest.approx(
        models["csv"].facts["holdout"]["scores"][0]["model"], abs=1e-3
    )
    expected = degrees(files / f"{name}.csv", tmp_path / "csv.ldl", tmp_path)
    for data in ("npz", "csv"):
        for model in ("npz", "csv"):
            found = degrees(files / f"{name}.{data}", tmp_path / f"{model}.ldl", tmp_path)
            pd.testing.assert_frame_equal(found, expected, atol=1e-4)
    assert evaluate_table(str(files / f"{name}.npz"), str(tmp_path / "npz.ldl")).rows == ROWS
    explained = explain_row(
        str(files / f"{name}.npz"), str(tmp_path / "npz.ldl"), 3
    )  # row numbers of arrays start at 1
    np.testing.assert_allclose(explained.degrees, expected.iloc[2], atol=1e-4)


def test_methods_without_sparse_support_get_dense_features(files):
    model = fit_table(
        str(files / "x.npz"), "Y", method="GLLE+PTSVM", holdout=0, columns=ColumnOptions(id="key")
    )
    assert not model.preprocessing.sparse
    assert model.preprocessing.means.any()


def test_sparse_matrices_are_not_densified(tmp_path, monkeypatch):
    X, Y = make_sparse(3000, 10_000, 2e-4)
    write(tmp_path / "x.npz", X, Y)
    dense = scipy.sparse.csr_array.toarray

    def check_size(matrix, *arguments, **options):
        assert np.prod(matrix.shape) <= X.shape[0] * X.shape[1] / 10
        return dense(matrix, *arguments, **options)

    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", check_size)
    names = [str(tmp_path / name) for name in ("x.npz", "m.ldl", "out.csv")]
    save_model(
        fit_table(names[0], "Y", params={"beta": 1.0, "gamma": 1e3, "max_iter": 1}, holdout=0),
        names[1],
    )
    assert predict_table(*names).rows == X.shape[0]
    assert len(load_model(names[1]).features) == len(np.unique(X.indices))


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_label_list_column_of_sparse_files_can_be_kept(tmp_path, ending):
    X, Y = make_sparse(ROWS, WORDS, 0.1)
    lists = np.array(["|".join(np.array(LABELS)[row > 0]) for row in Y])
    write(tmp_path / "x.npz", X, Y, tags=lists)
    pd.DataFrame(X.toarray()).add_prefix("X").assign(tags=lists).to_csv(
        tmp_path / "x.csv", index=False
    )
    notes = []
    fit_enhance_table(
        str(tmp_path / f"x.{ending}"),
        "tags",
        str(tmp_path / "out.csv"),
        method="UniformLE",
        columns=ColumnOptions(features="X0:X39"),
        writing=WritingOptions(keep="tags"),
        reading=ReadingOptions(on_message=notes.append),
    )
    assert "holds lists of labels, separated by '|'" in notes[0]
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["tags"].tolist() == lists.tolist()
    np.testing.assert_allclose(found[LABELS], Y / Y.sum(axis=1, keepdims=True))


def test_comparison_uses_sparse_features_where_supported(files, tmp_path, monkeypatch):
    plan, table = plan_for_table(
        str(files / "x.npz"),
        "Y",
        methods=["UniformLE", "GLLE+PTSVM"],
        repeats=1,
        columns={"id": "key"},
    )
    assert [method.takes_sparse for method in plan.methods] == [True, False]
    rows = np.arange(ROWS)
    sparse, dense = (
        table.features(rows[:200], rows[200:], sparse=sparse) for sparse in (True, False)
    )
    assert all(map(scipy.sparse.issparse, sparse))
    np.testing.assert_allclose(dense[0].mean(axis=0), 0, atol=1e-12)
    given, features = [], type(table).features

    def record_sparse(self, *rows, sparse):
        given.append(sparse)
        return features(self, *rows, sparse=sparse)

    monkeypatch.setattr(type(table), "features", record_sparse)
    found = run_plan(plan, tmp_path, loaded={plan.datasets[0].name: table})
    assert given == [True, False]
    assert all(record.is_ok for record in found.records)


def test_many_categories_stay_sparse_where_supported(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 30, size=200)
    frame = pd.DataFrame(
        {"street": [f"street {k}" for k in codes], "a": codes % 2, "b": 1 - codes % 2}
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    table, rows = prepare_table(str(tmp_path / "x.csv"), "a,b"), np.arange(200)
    (sparse,), (dense,) = (table.features(rows, sparse=sparse) for sparse in (True, False))
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), dense)


@pytest.mark.parametrize(
    ("value", "formatted"), [(np.nan, "nan"), (np.inf, "inf"), (1e200, "1e\\+200")]
)
def test_non_finite_sparse_cells_are_reported_with_row_and_column(tmp_path, value, formatted):
    X, Y = make_sparse(ROWS, WORDS, 0.1)
    X.data[50] = value
    row = int(np.searchsorted(X.indptr, 50, side="right"))
    write(tmp_path / "x.npz", X, Y)
    with pytest.raises(
        TableError, match=rf"x\.npz, row {row}, column 'X{X.indices[50]}': {formatted} is no number"
    ):
        fit_table(str(tmp_path / "x.npz"), "Y")


@pytest.mark.parametrize("offset", [-0.731750539540884, 1e8])
def test_sparse_and_dense_columns_are_scaled_alike(offset):
    """Also with a large offset, where squares lose all digits; constant columns have scale 1."""
    X = offset + np.column_stack([np.zeros(322), np.random.default_rng(0).normal(size=322)])
    table = SparseTable(pd.DataFrame(index=range(322)), scipy.sparse.csr_array(X), ["a", "b"])
    sparse, dense = map(features._median_mean_and_scale, (table.matrix, X))
    assert sparse[2, 0] == 1.0
    np.testing.assert_allclose(sparse[2], dense[2], rtol=1e-6)
