import struct
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from mat73_files import write_mat73

from ldlearn.datasets import DatasetError, LabelDataset, read_dataset, write_dataset
from ldlearn.exceptions import FileError, ParameterError
from ldlearn.tables.files import Budget, TableInput
from ldlearn.tables.formats import open_table
from ldlearn.tables.mat import read_mat

TABLE = """id,emo_joy,emo_fear,width,height
0,3,1,1.5,10
1,0,4,2.5,20
2,2,2,3.5,30
"""
JOY_FEAR = np.array([[0.75, 0.25], [0, 1], [0.5, 0.5]])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "labels",
    [
        ["emo_joy", "emo_fear"],
        "emo_*",
        "emo_joy:emo_fear",
        "emo_joy,emo_fear",
        slice(1, 3),
        [1, 2],
        [-4, 2],
        ["emo_joy", 2],
        (1, "emo_f*"),
    ],
)
def test_label_selection_by_name_prefix_or_index(table, labels):
    data = read_dataset(table, features=["width", "height"], labels=labels)
    np.testing.assert_array_equal(data.D, JOY_FEAR)
    np.testing.assert_array_equal(data.counts, [[3, 1], [0, 4], [2, 2]])
    np.testing.assert_array_equal(data.X, [[1.5, 10], [2.5, 20], [3.5, 30]])
    assert data.label_names == ("emo_joy", "emo_fear")
    assert data.feature_names == ("width", "height")
    assert data.name == "table"
    assert data.checksum.startswith("sha256:")


def test_name_selects_only_the_exact_column(tmp_path):
    path = write(tmp_path, "joy,joyful,fear,x\n3,9,1,0\n1,9,1,0\n")
    data = read_dataset(path, features=["x"], labels=["joy", "fear"])
    assert data.label_names == ("joy", "fear")
    path = write(tmp_path, "joyful,fear,x\n3,1,0\n")
    with pytest.raises(DatasetError, match="there is no column 'joy'; did you mean joyful"):
        read_dataset(path, labels=["joy", "fear"])


def test_selection_order_is_kept(table):
    data = read_dataset(table, features=["height", 3], labels=["emo_fear", "emo_joy"])
    assert data.feature_names == ("height", "width")
    np.testing.assert_array_equal(data.X[0], [10, 1.5])
    np.testing.assert_array_equal(data.D, JOY_FEAR[:, ::-1])


def test_features_default_to_the_other_columns(table):
    assert read_dataset(table, labels="emo_*").feature_names == ("id", "width", "height")


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (None, None, "name the labels"),
        (None, "joy", "labels: there is no column 'joy'; did you mean emo_joy"),
        (None, [7], "no column 7; there are 5"),
        (None, ["emo_joy", 1], "labels names the column 'emo_joy' twice"),
        ("emo_joy", "emo_*", "as a feature and as a label"),
        (None, slice(9, 12), "names no column"),
        (None, [1.5], "by name, prefix, range or position"),
        (None, [True], "by name, prefix, range or position"),
        (None, slice(None), "no column is left"),
    ],
)
def test_invalid_selections_raise(table, features, labels, message):
    with pytest.raises(DatasetError, match=message):
        read_dataset(table, features, labels)


def test_duplicate_names_are_selected_by_index(tmp_path):
    path = write(tmp_path, "a,a,b\n0.5,0.5,7\n")
    with pytest.raises(DatasetError, match="2 columns are named 'a'; choose by position"):
        read_dataset(path, labels="a")
    np.testing.assert_array_equal(read_dataset(path, labels=[0, 1]).D, [[0.5, 0.5]])


@pytest.mark.parametrize("cell", ["tall", "1,5", "0x10"])
def test_text_in_a_numeric_column_raises(tmp_path, cell):
    path = write(tmp_path, TABLE.replace("2.5,", f'"{cell}",'))
    with pytest.raises(
        DatasetError, match=f"row 3, column 'width': '{cell}' is not a finite number"
    ):
        read_dataset(path, labels="emo_*")


def test_text_in_unselected_columns_is_ignored(tmp_path):
    path = write(tmp_path, TABLE.replace("\n0,", "\nfirst,"))
    assert read_dataset(path, features=["width"], labels="emo_*").n_samples == 3


@pytest.mark.parametrize("line", ["0,3,1,1.5", "0,3,1,1.5,10,11"])
def test_rows_of_wrong_length_raise(tmp_path, line):
    path = write(tmp_path, TABLE + line + "\n")
    with pytest.raises(DatasetError, match=r"row 5: it has [46] values for 5 columns"):
        read_dataset(path, labels="emo_*")


def test_tables_without_header_and_with_byte_order_mark(tmp_path):
    path = write(tmp_path, "1.0\t0.25\t0.75\n2.0\t0.5\t0.5\n", "bare.tsv")
    data = read_dataset(path, labels=slice(-2, None))
    np.testing.assert_array_equal(data.X, [[1], [2]])
    assert data.label_names == ("column1", "column2")
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbfx,p,q\r\n1,0.5,0.5\r\n")
    assert read_dataset(marked, labels=["p", "q"]).feature_names == ("x",)


@pytest.mark.parametrize("missing", ["", "NA", "nan"])
def test_missing_features_are_nan_and_missing_degrees_are_an_error(tmp_path, missing):
    path = write(tmp_path, f"x,p,q\n{missing},0.5,0.5\n")
    assert np.isnan(read_dataset(path, labels=["p", "q"]).X[0, 0])
    path = write(tmp_path, f"x,p,q\n1,0.5,0.5\n1,{missing},0.5\n")
    with pytest.raises(DatasetError, match=r"row 3: missing .*label 'p'"):
        read_dataset(path, labels=["p", "q"])


PROBLEMS = "x,p,q\n1,0.5,0.5\n1,1.1,-0.1\n1,0,0\n1,0.6,0.6\n1,nan,1\n1,0.3,0.3\n"


def test_row_problems_are_listed_with_row_numbers(tmp_path):
    path = write(tmp_path, PROBLEMS)
    with pytest.raises(DatasetError) as caught:
        read_dataset(path, labels=["p", "q"])
    for part in (
        str(path),
        "row 6: missing",
        "row 3: negative degree",
        "row 4",
        "rows 5, 7",
        "normalise=True",
    ):
        assert part in str(caught.value)


def test_normalise_repairs_only_sums(tmp_path):
    path = write(tmp_path, PROBLEMS)
    with pytest.raises(DatasetError, match="does not repair") as caught:
        read_dataset(path, labels=["p", "q"], normalise=True)
    for part in ("row 6: missing", "row 3: negative degree", "row 4: degrees that sum to 0"):
        assert part in str(caught.value)
    assert "rows 5, 7" not in str(caught.value)
    path = write(tmp_path, "x,p,q\n1,0.5,0.5\n1,0.6,0.6\n1,0.3,0.1\n")
    D = read_dataset(path, labels=["p", "q"], normalise=True).D
    np.testing.assert_allclose(D, [[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]])


def test_long_lists_of_invalid_rows_are_abbreviated(tmp_path):
    path = write(tmp_path, "x,p,q\n" + "1,0.7,0.7\n" * 1000)
    with pytest.raises(DatasetError, match="and 995 more") as caught:
        read_dataset(path, labels=["p", "q"])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("rows", "field", "expected"),
    [
        ("0,1\n1,1\n", "Y", [[0, 1], [1, 1]]),
        ("-1,1\n1,1\n", "Y", [[0, 1], [1, 1]]),
        ("3,1\n0,2\n", "counts", [[3, 1], [0, 2]]),
        ("0.5,0.5\n1,0\n", "D", [[0.5, 0.5], [1, 0]]),
    ],
)
def test_kind_of_labels_is_detected(tmp_path, rows, field, expected):
    lines = "".join(f"9,{row}\n" for row in rows.split())
    data = read_dataset(write(tmp_path, "x,p,q\n" + lines), labels=["p", "q"])
    np.testing.assert_array_equal(getattr(data, field), expected)
    assert (data.D is None) == (field == "Y")


def test_kind_of_labels_can_be_given(tmp_path):
    path = write(tmp_path, "x,p,q\n1,0,1\n1,1,0\n")
    np.testing.assert_array_equal(
        read_dataset(path, labels=[1, 2], kind="distribution").D, [[0, 1], [1, 0]]
    )
    np.testing.assert_array_equal(
        read_dataset(path, labels=[1, 2], kind="votes").counts, [[0, 1], [1, 0]]
    )
    path = write(tmp_path, "x,p,q\n1,2,1\n1,0,0\n")
    with pytest.raises(DatasetError, match=r"row 3: degrees that sum to 0"):
        read_dataset(path, labels=[1, 2])
    with pytest.raises(DatasetError, match=r"row 2, column 'p': 2 is neither 0 nor 1"):
        read_dataset(path, labels=[1, 2], kind="logical")
    with pytest.raises(ParameterError, match="kind must be one of"):
        read_dataset(path, labels=[1, 2], kind="other")


def test_arrays_are_found_by_common_names(tmp_path):
    X, D = np.arange(6.0).reshape(3, 2), np.full((3, 4), 0.25)
    path = tmp_path / "usual.mat"
    scipy.io.savemat(path, {"features": X, "label_distribution": D, "logical_label": D > 0})
    data = read_dataset(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.D, D)
    np.testing.assert_array_equal(data.Y, D > 0)
    np.savez(tmp_path / "own.npz", inputs=X, outcome=D)
    with pytest.raises(DatasetError, match=r"name the labels.*'inputs0', 'inputs1', 'outcome0'"):
        read_dataset(tmp_path / "own.npz")
    data = read_dataset(tmp_path / "own.npz", features="inputs", labels="outcome")
    np.testing.assert_array_equal(data.D, D)
    with pytest.raises(DatasetError, match="labels: there is no column 'votes'"):
        read_dataset(tmp_path / "own.npz", features="inputs", labels="votes")


def test_columns_of_a_single_matrix(tmp_path):
    matrix = np.array([[7, 8, 0.5, 0.5], [9, 1, 0.25, 0.75]])
    np.savez(tmp_path / "one.npz", whatever=matrix)
    np.save(tmp_path / "one.npy", matrix)
    for name in ("one.npz", "one.npy"):
        data = read_dataset(tmp_path / name, features=[0, 1], labels=slice(2, None))
        np.testing.assert_array_equal(np.hstack([data.X, data.D]), matrix)


def test_pairs_of_npy_files(tmp_path):
    X, D = np.arange(6.0).reshape(3, 2), np.full((3, 4), 0.25)
    np.save(tmp_path / "inputs.npy", X)
    np.save(tmp_path / "outcome.npy", D)
    for labels in ("outcome.npy", str(tmp_path / "outcome.npy"), tmp_path / "outcome.npy"):
        data = read_dataset(tmp_path / "inputs.npy", labels=labels)
        np.testing.assert_array_equal(data.D, D)
    np.save(tmp_path / "faces_X.npy", X)
    np.save(tmp_path / "faces_Y.npy", (D > 0).astype(int))
    for name in ("faces.npy", "faces_X.npy"):
        np.testing.assert_array_equal(read_dataset(tmp_path / name).Y, np.ones((3, 4)))
    with pytest.raises(DatasetError, match="name the labels"):
        read_dataset(tmp_path / "inputs.npy")


@pytest.mark.parametrize("compressed", [True, False])
def test_matlab_reader_agrees_with_scipy(tmp_path, compressed):
    rng = np.random.default_rng(0)
    arrays = {
        f"a_{dtype}": (rng.random((3, 4)) * 100).astype(dtype)
        for dtype in ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "bool")
    }
    arrays |= {"empty": np.zeros((0, 3)), "deep": rng.random((2, 3, 4)), "text": "häß"}
    arrays |= {
        "cell": np.array([1, "x"], dtype=object),
        "struct": {"a": 1},
        "last": rng.random((2, 2)),
    }
    arrays |= {"sparse": scipy.sparse.random(6, 5, 0.4, random_state=0, format="csc")}
    path = tmp_path / "many.mat"
    scipy.io.savemat(path, arrays, do_compression=compressed)
    ours, theirs = (
        read_mat(path, Budget(path.stat().st_size)),
        scipy.io.loadmat(path, chars_as_strings=True),
    )
    for name, array in ours.items():
        if name == "text":
            assert array == "häß"
        elif name == "sparse":
            np.testing.assert_array_equal(array.toarray(), theirs[name].toarray())
        else:
            np.testing.assert_array_equal(array, theirs[name])
            assert array.dtype == (np.uint8 if name == "a_bool" else theirs[name].dtype)
    assert set(ours) == set(arrays) - {"cell", "struct"}


def test_objects_in_matlab_files_are_skipped(tmp_path):
    path = tmp_path / "object.mat"
    scipy.io.savemat(path, {"X": np.ones((2, 1)), "D": np.ones((2, 1))})
    word = lambda text: struct.pack("<I", 1 | len(text) << 16) + text.ljust(4)  # noqa: E731
    opaque = struct.pack("<IIII", 6, 8, 17, 0) + word(b"s") + word(b"MCOS") + word(b"str")
    path.write_bytes(path.read_bytes() + struct.pack("<II", 14, len(opaque)) + opaque)
    assert read_dataset(path).n_samples == 2


def test_big_endian_matlab_files(tmp_path):
    path = tmp_path / "big.mat"
    scipy.io.savemat(
        path, {"features": np.arange(4.0).reshape(2, 2), "labels": np.full((2, 2), 0.5)}
    )
    content = path.read_bytes()
    assert content[126:128] == b"IM"
    swapped = bytearray(content[:124] + b"\x01\x00MI")
    words = np.frombuffer(content[128:], dtype="<u4")
    # every 4-byte word of these two matrices is an integer, half of a double or part of a name
    position, body = 0, bytearray()
    while position < len(words):
        body += b"\x00\x00\x00\x0e" + int(words[position + 1]).to_bytes(4, "big")
        stop, at = position + 2 + int(words[position + 1]) // 4, position + 2
        while at < stop:
            kind, length = int(words[at]), int(words[at + 1])
            if kind >> 16:  # small element
                body += kind.to_bytes(4, "big")
                data = words[at + 1 : at + 2].tobytes()
                body += data if kind & 0xFFFF in (1, 2) else data[::-1]
                at += 2
                continue
            body += kind.to_bytes(4, "big") + length.to_bytes(4, "big")
            padded = words[at + 2 : at + 2 + -(-length // 8) * 2].tobytes()
            width = {1: 1, 5: 4, 6: 4, 9: 8}[kind]
            body += b"".join(padded[i : i + width][::-1] for i in range(0, len(padded), width))
            at += 2 + -(-length // 8) * 2
        position = stop
    path.write_bytes(swapped + body)
    np.testing.assert_array_equal(
        scipy.io.loadmat(path)["features"], np.arange(4.0).reshape(2, 2)
    )  # the forged file is valid
    np.testing.assert_array_equal(read_dataset(path).X, np.arange(4.0).reshape(2, 2))


def test_matlab_73_files_are_transposed(tmp_path):
    h5py = pytest.importorskip("h5py")
    X, D = np.arange(6.0).reshape(3, 2), np.full((3, 4), 0.25)
    path = tmp_path / "new.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["features"], file["labels"] = X.T, D.T
    data = read_dataset(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.D, D)


def test_parquet_of_pandas_with_an_index(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"x": [1.0, 2.0], "p": [0.5, 1.0], "q": [0.5, 0.0], "n": [1, 2]}, index=["a", "b"]
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.reset_index().to_feather(tmp_path / "t.feather")
    data = read_dataset(tmp_path / "t.parquet", labels=["p", "q"])
    assert data.feature_names == ("x", "n")
    np.testing.assert_array_equal(data.X, [[1, 1], [2, 2]])
    with pytest.raises(DatasetError, match=r"row 1, column 'index': 'a' is not a finite number"):
        read_dataset(tmp_path / "t.feather", labels=["p", "q"])
    data = read_dataset(tmp_path / "t.feather", features=["x", "n"], labels=["p", "q"])
    np.testing.assert_array_equal(data.D, frame[["p", "q"]])


def test_missing_values_and_booleans_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"x": [1.0, None], "b": [True, False], "p": [0.5, 1.0], "q": [0.5, 0.0]}
    pandas.DataFrame(columns).to_parquet(tmp_path / "t.parquet")
    data = read_dataset(tmp_path / "t.parquet", labels=["p", "q"])
    np.testing.assert_array_equal(data.X, [[1, 1], [np.nan, 0]])


MULAN = """@relation genes
% a comment
@attribute 'gene one' numeric
@attribute two {0,1}
@attribute joy {0,1}
@attribute "don't" {0, 1}

@data
0.5,1,0,1
?,0,1,1
"""
NAMES_XML = '<labels xmlns="x"><label name="joy"></label>\n<label name=\'don&apos;t\'/></labels>'


def test_arff_of_mulan(tmp_path):
    path = write(tmp_path, MULAN, "genes.arff")
    with pytest.raises(DatasetError, match="name the labels"):
        read_dataset(path)
    write(tmp_path, NAMES_XML, "genes.xml")
    data = read_dataset(path)
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(data.X, [[0.5, 1], [np.nan, 0]])
    assert data.label_names == ("joy", "don't")
    assert data.feature_names == ("gene one", "two")
    assert data.name == "genes"


@pytest.mark.parametrize(("count", "labels"), [("2", ["a", "b"]), ("-2", ["b", "c"])])
def test_arff_of_meka(tmp_path, count, labels):
    text = (
        f"@RELATION 'Music: -C {count}'\n@ATTRIBUTE a {{0,1}}\n@attribute b "
        f"{{0,1}}\n@attribute c {{0,1}}\n@DATA\n"
    )
    data = read_dataset(write(tmp_path, text + "1,0,1\n", "music.arff"))
    assert list(data.label_names) == labels
    assert data.name == "Music"


def test_sparse_arff(tmp_path):
    text = (
        "@relation 'x: -C 2'\n"
        + "".join(f"@attribute a{i} numeric\n" for i in range(5))
        + "@data\n"
    )
    data = read_dataset(write(tmp_path, text + "{0 1, 3 2.5}\n{}\n{1 1,4 -1}\n", "s.arff"))
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(data.X.toarray(), [[0, 2.5, 0], [0, 0, 0], [0, 0, -1]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.5,1,0,1", "0.5,1,0", "row 1: it has 3 values for 4 attributes"),
        ("0.5,1,0,1", "tall,1,0,1", "row 1, column 'gene one': 'tall' is not a finite number"),
        ("0.5,1,0,1", "0.5,1,0,2", "'2' is no value"),
        ("two {0,1}", "two {1,yes}", "row 2, column 'two': '0' is no value"),
        ("two {0,1}", "two string", "of type 'string'"),
        ("@data", "@date", "'@date' stands before @data"),
        ("% a comment", "nonsense", "'nonsense' stands before @data"),
        (MULAN[MULAN.index("@data") :], "", "no line @data"),
    ],
)
def test_broken_arff(tmp_path, old, new, message):
    path = write(tmp_path, MULAN.replace(old, new), "genes.arff")
    with pytest.raises(DatasetError, match=message):
        read_dataset(path, labels=slice(-2, None))


def test_libsvm_with_comments_and_selected_columns(tmp_path):
    path = write(tmp_path, "2,7 1:0.5 3:1\n 2:4\n7 3:2 # note\n", "x.svm")
    data = read_dataset(path)
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0], [0, 1]])
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 1], [0, 4, 0], [0, 0, 2]])
    assert data.label_names == ("2", "7")
    data = read_dataset(path, features=[0, 2], labels="7")
    assert data.feature_names == ("x0", "x2")
    assert data.label_names == ("7",)
    write_dataset(data, tmp_path / "own.svm")
    with open_table(TableInput(str(tmp_path / "own.svm"))) as source:
        assert source.names == ["x0", "x2", "7"]


def test_missing_files_and_unknown_formats_raise(tmp_path):
    with pytest.raises(FileError, match=r"none\.csv: there is no such file"):
        read_dataset(tmp_path / "none.csv")
    with pytest.raises(
        DatasetError, match=r"the ending '.docx' is not supported; supported are .csv, "
    ):
        read_dataset(tmp_path / "none.docx")
    with pytest.raises(DatasetError, match="is not supported"):
        write_dataset(LabelDataset(X=[[0.0]], D=[[1.0]]), tmp_path / "none.docx")


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [
        ("pyarrow", "a.parquet", "tables"),
        ("pandas", "a.csv", "tables"),
        ("h5py", "a.mat", "tables"),
    ],
)
def test_missing_package_is_named_in_the_error(tmp_path, monkeypatch, module, name, extra):
    path = tmp_path / name
    data = LabelDataset(X=[[0.0]], D=[[1.0]])
    (write_mat73 if module == "h5py" else lambda path, data: write_dataset(data, path))(path, data)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install {module}.*\[{extra}\]"):
        read_dataset(path)


def test_label_list_column(tmp_path):
    path = tmp_path / "photos.csv"
    path.write_text("width,tags\n1.5,sky|sea\n2.5,\n3.5,hill\n")
    data = read_dataset(path, labels="tags", separator="|")
    assert list(data.label_names) == ["hill", "sea", "sky"]
    np.testing.assert_array_equal(data.Y, [[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(data.X, [[1.5], [2.5], [3.5]])
    path.write_text("width,height\n1.5,2\n2.5,3\n")
    with pytest.raises(DatasetError, match="separator is for one label column"):
        read_dataset(path, labels="width", separator="|")
