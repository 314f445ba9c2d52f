"""The registry of formats: each entry works in read_dataset, write_dataset and every command."""

import errno
import io
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from example_tables import LABELS, make_table

from ldlearn.cli.main import main
from ldlearn.datasets import (
    DatasetError,
    LabelDataset,
    load_uk_budget_shares,
    make_label_distributions,
    read_dataset,
    write_dataset,
)
from ldlearn.exceptions import FileError, TableError
from ldlearn.tables import load_model
from ldlearn.tables.files import ReadingOptions, TableInput
from ldlearn.tables.formats import (
    _FORMAT_BY_ENDING,
    Format,
    check_output,
    format_of,
    open_table,
    write_table,
)
from ldlearn.tables.source import Source, columns_to_frame

KNOWN = {"csv", "tsv", "jsonl", "json", "parquet", "feather", "npz", "npy", "mat", "xlsx", "arff"}
KNOWN |= {"svm", "libsvm", "svmlight"}


class ToySource(Source):
    """Columns separated by bars: the reader of a new format."""

    def __init__(self, input):
        super().__init__(input)
        self.names = input.file.readline().decode().rstrip("\n").split("|")

    def blocks(self, kinds):
        rows = [
            line.decode().rstrip("\n").split("|") for line in iter(self.opened.file.readline, b"")
        ]
        for start in range(0, len(rows), 50):
            piece = list(zip(*rows[start : start + 50], strict=True))
            yield columns_to_frame({i: np.array(piece[i], dtype=object) for i in kinds}, start + 1)


def write_bars(output, tables):
    """The writer of the new format."""
    for k, table in enumerate(tables):
        lines = ["|".join(table)] if k == 0 else []
        rows = zip(*table.values(), strict=True)
        lines += ["|".join("" if cell != cell else str(cell) for cell in row) for row in rows]
        output.file.write("".join(line + "\n" for line in lines).encode())


TOY = Format("bars", ToySource, write_bars)


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Register the new format with one line; return the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "toy_format", sys.modules[__name__])
    monkeypatch.setitem(_FORMAT_BY_ENDING, "toy", "toy_format:TOY")
    return tmp_path


def ldlearn(*words, stdin=b"", monkeypatch=None):
    if monkeypatch is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    with pytest.raises(SystemExit) as exit_info:
        main([str(word) for word in words])
    assert exit_info.value.code == 0


def write_toy(table, path="data.toy"):
    write_table(path, [table])


def test_new_format_in_python(toy):
    data = make_label_distributions(120, 3, 2)
    write_dataset(data, "x.toy")
    back = read_dataset("x.toy", labels="label_*")
    np.testing.assert_array_equal(back.X, data.X)
    np.testing.assert_array_equal(back.D, data.D)
    assert back.feature_names == data.feature_names


def test_new_format_in_every_command(toy, monkeypatch):
    write_toy(make_table().fillna({"place": ""}))
    ldlearn("fit", "data.toy", "-l", ",".join(LABELS), "--id", "key", "-o", "m.ldl")
    model = load_model("m.ldl")
    assert model.features == ("height", "wet", "place")
    ldlearn("predict", "data.toy", "-m", "m.ldl", "-o", "p.toy")
    ldlearn("predict", "-", "--from", "toy", "-m", "m.ldl", "-o", "piped.toy",
            stdin=(toy / "data.toy").read_bytes(), monkeypatch=monkeypatch)  # fmt: skip
    assert (toy / "p.toy").read_bytes() == (toy / "piped.toy").read_bytes()
    predicted = pd.read_csv("p.toy", sep="|")
    assert list(predicted["key"]) == list(make_table()["key"])
    np.testing.assert_allclose(predicted[LABELS], model.predict(make_table()), atol=1e-12)
    ldlearn("enhance", "data.toy", "-m", "m.ldl", "-o", "e.toy")
    ldlearn(
        "enhance",
        "data.toy",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "--method",
        "PriorLE",
        "-o",
        "e2.toy",
    )
    ldlearn("evaluate", "data.toy", "-m", "m.ldl")
    ldlearn("compare", "e.toy", "p.toy", "--labels", ",".join(LABELS))
    ldlearn("datasets", "fetch", "uk_budget_shares", "-o", "b.toy")
    assert (toy / "b.toy").read_text().startswith("total_expenditure|income|age|children|food|")
    (toy / "plan.toml").write_text(
        '[datasets.budget]\npath = "b.toy"\nlabels = '
        '"food:other"\n[methods.PriorLE]\n[protocol]\nrepeats = 1\n'
    )
    ldlearn("run", "plan.toml", "-o", "run")
    assert '"status": "ok"' in (toy / "run" / "records.jsonl").read_text()


@pytest.mark.parametrize(
    "suffix",
    ["npz", "csv", "csv.gz", "tsv", "jsonl", "parquet", "feather", "mat", "arff", "npy", "xlsx"],
)
def test_fit_uses_names_stored_in_dataset_files(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ldlearn("datasets", "fetch", "uk_budget_shares", "-o", f"b.{suffix}")
    labels = "D" if suffix == "npy" else "food,fuel,clothes,alcohol,transport,other"
    ldlearn(
        "fit", f"b.{suffix}", "-l", labels, "--method", "SABFGS", "--holdout", "0", "-o", "m.ldl"
    )
    model, data = load_model("m.ldl"), load_uk_budget_shares()
    if suffix != "npy":  # which holds no names
        assert model.labels == data.label_names
        assert model.features == data.feature_names
    frame = pd.DataFrame(data.X, columns=list(model.features))
    frame[list(model.labels)] = data.D
    ldlearn("predict", f"b.{suffix}", "-m", "m.ldl", "-o", f"p.{suffix}")
    ldlearn("evaluate", f"b.{suffix}", "-m", "m.ldl")
    with open_table(TableInput(f"p.{suffix}")) as table:
        found = table.read(dict.fromkeys(table.names, "any")).to_numpy()
    np.testing.assert_allclose(found, model.predict(frame), atol=1e-9)


def test_fit_reads_logical_labels_of_libsvm_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_table()
    X = table[["height", "wet"]].fillna(0).to_numpy()
    data = LabelDataset(
        X=X, Y=table[LABELS].to_numpy(), feature_names=["height", "wet"], label_names=LABELS
    )
    write_dataset(data, "b.svm")
    ldlearn("fit", "b.svm", "-l", ",".join(LABELS), "-o", "m.ldl", "--holdout", "0")
    assert load_model("m.ldl").features == ("height", "wet")


def test_scipy_sparse_npz_with_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = scipy.sparse.random(40, 30, 0.2, format="csr", random_state=0)
    Y = (np.random.default_rng(0).random((40, 3)) < 0.6).astype(int)
    Y[:, 0] |= ~Y.any(axis=1)
    scipy.sparse.save_npz("x.npz", X)
    with np.load("x.npz") as parts:
        np.savez("x.npz", **parts, Y=Y, label_names=np.array(LABELS))
    data = read_dataset("x.npz")
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    assert data.label_names == tuple(LABELS)
    ldlearn("fit", "x.npz", "-l", "Y", "-o", "m.ldl", "--holdout", "0")
    assert load_model("m.ldl").labels == tuple(LABELS)
    scipy.sparse.save_npz("c.npz", X.tocsc())
    with pytest.raises(DatasetError, match="stored as b'csc'; save it as CSR"):
        read_dataset("c.npz", labels="Y")


def test_labels_of_another_kind_are_not_features_by_default(tmp_path, monkeypatch):
    """A file with degrees and 0/1 labels: either would leak the other."""
    monkeypatch.chdir(tmp_path)
    data = make_label_distributions(60, 3, 2)
    data = LabelDataset(X=data.X, D=data.D, Y=data.logical(delta=0.3))
    for suffix in ("npz", "mat", "parquet", "csv"):
        write_dataset(data, f"b.{suffix}")
        with open_table(TableInput(f"b.{suffix}")) as table:
            assert [table.names[i] for i in table.default_features(set(table.labels["D"]))] == [
                "x0",
                "x1",
                "x2",
            ]


def test_unsupported_values_raise_when_writing(tmp_path):
    rows = {
        "key": np.array(["a", "b"], dtype=object),
        "sky": np.array([0.5, 1.0]),
        "sea": np.array([0.5, 0.0]),
    }
    for suffix, problem in {
        "mat": "numbers only",
        "arff": "numbers only",
        "npy": "numbers only",
    }.items():
        path = tmp_path / f"x.{suffix}"
        with pytest.raises(TableError, match=f"column 'key': this format holds {problem}"):
            write_rows(path, rows)
    with pytest.raises(TableError, match="logical labels only"):
        write_rows(tmp_path / "x.svm", rows)
    with pytest.raises(TableError, match="no infinite numbers"):
        write_rows(tmp_path / "x.jsonl", {"sky": np.array([np.inf])})
    assert list(tmp_path.iterdir()) == []


def write_rows(path, rows):
    write_table(str(path), [rows], ["sky", "sea"])


def test_format_of():
    assert set(_FORMAT_BY_ENDING) >= KNOWN
    assert [format_of(name) for name in ("a.CSV", "b.tar.npz", "-")] == ["csv", "npz", "csv"]
    assert format_of("/dev/stdout", "tsv") == "tsv"
    with pytest.raises(
        TableError, match=r"a\.xls: the ending '\.xls' is not supported; supported are \.csv"
    ):
        format_of("a.xls")
    with pytest.raises(TableError, match="/dev/stdout: its name has no ending that shows a format"):
        format_of("/dev/stdout")
    with pytest.raises(FileError, match="it is a folder"):
        format_of("/")


def test_read_errors_name_the_file(tmp_path, monkeypatch):
    for suffix in _FORMAT_BY_ENDING:
        name = str(tmp_path / f"none.{suffix}")
        with (
            pytest.raises(FileError, match=f"none.{suffix}: there is no such file"),
            open_table(TableInput(name)),
        ):
            pass
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    monkeypatch.setattr(Path, "open", raise_permission_error)
    with pytest.raises(FileError, match=r"secret\.csv: it cannot be read \(permission denied\)"):
        read_dataset(tmp_path / "secret.csv", labels="b")


def raise_permission_error(*_, **__):
    raise PermissionError(errno.EACCES, "Permission denied", "secret.csv")


def test_table_without_header(tmp_path):
    (tmp_path / "bare.csv").write_text("1.5,0.25,0.75\n2,0.5,0.5\n")
    (tmp_path / "counted.csv").write_text("0,1,2\n1.5,0.25,0.75\n2,0.5,0.5\n")
    for name, names in (
        ("bare.csv", ["column0", "column1", "column2"]),
        ("counted.csv", ["0", "1", "2"]),
    ):
        with open_table(TableInput(str(tmp_path / name))) as table:
            assert table.names == names
            assert table.read(dict.fromkeys(names, "any")).to_numpy().tolist() == [
                [1.5, 0.25, 0.75],
                [2, 0.5, 0.5],
            ]


def test_file_of_standard_input_is_not_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    with path.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        check_output(str(tmp_path / "y.csv"), ["-"])
        with pytest.raises(FileError, match="same file as the input -"):
            check_output(str(path), ["-"])
    for unusable_stdin in (stdin, None, io.StringIO()):  # closed, absent, no file
        monkeypatch.setattr("sys.stdin", unusable_stdin)
        check_output(str(path), ["-"])


def test_progress_counts_all_bytes(tmp_path):
    frame = pd.DataFrame({"a": np.arange(20_000.0), "b": 1.0})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        totals, amounts = [], []

        def progress(task, total, *, is_bytes, totals=totals, amounts=amounts):
            totals.append(total)
            return nullcontext(amounts.append)

        with open_table(
            TableInput(str(tmp_path / name), ReadingOptions(progress=progress))
        ) as table:
            assert len(table.read({"a": "any"})) == 20_000
        size = (tmp_path / name).stat().st_size
        assert totals == [size]
        assert 0.99 * size <= sum(amounts) <= size


def test_nested_parquet_columns_are_rejected_by_name(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    point = pa.array([{"x": 1, "y": "n"}, {"x": 2, "y": "s"}])
    tags = pa.array([["sky", "sea"], ["sky"]])
    parquet.write_table(
        pa.table({"point": point, "a": [1.5, 2.5], "v": [[1.0, 2.0]] * 2, "tags": tags}),
        tmp_path / "x.parquet",
    )
    with open_table(TableInput(str(tmp_path / "x.parquet"))) as source:
        frame = source.read(dict.fromkeys(["a", "v_1", "tags"], "any"))
        assert frame["a"].tolist() == [1.5, 2.5]
        assert frame["v_1"].tolist() == [2.0, 2.0]
        assert frame["tags"].tolist() == [["sky", "sea"], ["sky"]]
        with pytest.raises(
            TableError,
            match=r"column 'point': its type is struct<.*; convert it .*, or leave it out",
        ):
            source.read({"point": "any"})
