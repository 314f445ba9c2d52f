"""Features and labels in two NumPy files; columns by position; identifiers that are not unique."""

import numpy as np
import pandas as pd
import pytest
from example_tables import make_table

from ldlearn.tables import ColumnOptions, fit_table, load_model

FIT = ("fit", "emb.npy", "--labels", "labels.npy", "-o", "m.ldl", "--method", "PriorLE+SABFGS")


@pytest.fixture
def arrays(tmp_path, monkeypatch):
    """An embedding and its 0/1 labels as emb.npy and labels.npy, and both side by side as
    both.npy."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)).astype(np.float32)
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(np.int8)
    Y[~Y.any(axis=1), 0] = 1
    for name, array in {"emb": X, "labels": Y, "both": np.hstack([X, Y])}.items():
        np.save(f"{name}.npy", array)
    return X, Y


def test_features_and_labels_in_two_arrays(arrays, run):
    assert run(*FIT).code == 0
    assert run("fit", "both.npy", "-l", "5:7", *FIT[4:5], "b.ldl", *FIT[6:]).code == 0
    model = load_model("m.ldl")
    assert model.labels == ("label0", "label1", "label2")
    assert model.features == tuple(f"column{i}" for i in range(5))
    for name, source in (("two", ("emb.npy", "-m", "m.ldl")), ("one", ("both.npy", "-m", "b.ldl"))):
        assert run("predict", *source, "-o", f"{name}.npy").code == 0
    np.testing.assert_allclose(np.load("two.npy"), np.load("one.npy"), atol=1e-6)
    scores = [run("evaluate", "emb.npy", "-m", "m.ldl", "--labels", "labels.npy", "--json")]
    scores.append(run("evaluate", "both.npy", "-m", "b.ldl", "--json"))
    assert scores[0].code == 0
    assert scores[0].out.replace("emb.npy is", "both.npy is") == scores[1].out


@pytest.mark.parametrize("method", [(), ("--method", "PriorLE")])
def test_enhance_two_arrays_by_model_or_method(arrays, run, method):
    assert run("fit", "emb.npy", "-l", "labels.npy", "-o", "m.ldl", "--set", "beta=1").code == 0
    by = method or ("--model", "m.ldl")
    done = run("enhance", "emb.npy", "--labels", "labels.npy", *by, "-o", "degrees.npy")
    assert done.code == 0
    # A method is fitted, so that the meaning of 0 is reported; a fitted model has one.
    assert "0" in done.message if method else done.message == ""
    degrees = np.load("degrees.npy")
    np.testing.assert_allclose(degrees.sum(axis=1), 1)
    assert (degrees[arrays[1] == 0] == 0).all()


def test_label_file_path_is_relative_to_the_features(arrays, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    assert (
        fit_table(str(tmp_path / "emb.npy"), "labels.npy", method="PriorLE+SABFGS").facts["rows"]
        == 60
    )


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        (
            "short.npy",
            np.ones((50, 3)),
            "emb.npy: the array 'column' has 60 rows, but 'label' has 50",
        ),
        (
            "flat.npy",
            np.ones(60),
            "flat.npy: a matrix with a column for each label is needed, not the shape (60,)",
        ),
        ("gone.npy", None, "gone.npy: there is no such file"),
        ("damaged.npy", b"nothing", "damaged.npy: it cannot be read as a NumPy array"),
    ],
)
def test_invalid_label_files_are_rejected(arrays, run, name, array, message):
    if isinstance(array, bytes):
        with open(name, "wb") as file:
            file.write(array)
    elif array is not None:
        np.save(name, array)
    done = run("fit", "emb.npy", "--labels", name, "-o", "m.ldl")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert message in done.message


def test_label_file_with_a_model_is_not_overwritten(arrays, run):
    assert run(*FIT[:6], "--set", "beta=1").code == 0
    for command in ("evaluate", "enhance"):
        done = run(command, "both.npy", "-m", "m.ldl", "--labels", "column5:column7")
        assert done.code == 2
        assert "NumPy file" in done.message or "give either" in done.message
    done = run("enhance", "emb.npy", "-m", "m.ldl", "--labels", "labels.npy", "-o", "labels.npy")
    assert done.code == 2
    assert "same file as the input" in done.message


def test_column_positions_start_at_0(arrays, run):
    assert run("fit", "both.npy", "--labels", "5:7", *FIT[4:]).code == 0
    assert load_model("m.ldl").labels == ("column5", "column6", "column7")
    assert fit_table("both.npy", "5:", method="PriorLE+SABFGS").labels == (
        "column5",
        "column6",
        "column7",
    )
    assert (
        fit_table(
            "both.npy", "5:7", method="PriorLE+SABFGS", columns=ColumnOptions(features="0:2")
        ).features[0]
        == "column0"
    )
    done = run("fit", "both.npy", "--labels", "5:8", *FIT[4:])
    assert done.code == 2
    assert "no column '8'" in done.message


DUPLICATES_MESSAGE = (
    "Column 'key': the identifier 'r2' is not unique: rows 4, 7, 11 (2 such identifiers)."
)


@pytest.fixture
def duplicate_identifiers(workspace, model):
    """The table with two duplicate identifiers and two missing identifiers."""
    table = make_table()
    table.loc[[5, 9], "key"] = "r2"
    table.loc[20, "key"] = "r21"
    table.loc[[30, 31], "key"] = None
    table.to_csv("data.csv", index=False)
    return model


def test_duplicate_identifiers_trigger_a_warning(duplicate_identifiers, run, monkeypatch):
    arguments = ("data.csv", "-l", "sky,mountain,sea", "--id", "key")
    done = run("fit", *arguments, "-o", "m.ldl", "--set", "beta=1")
    assert (done.code, done.message.count(DUPLICATES_MESSAGE)) == (0, 1)
    assert DUPLICATES_MESSAGE in load_model("m.ldl").facts["warnings"]
    assert (
        run("enhance", *arguments, "--method", "PriorLE", "-o", "out.csv").message.count(
            DUPLICATES_MESSAGE
        )
        == 1
    )
    monkeypatch.setattr("ldlearn.tables.source.CHUNK_ROWS", 4)  # in different chunks
    done = run("enhance", "data.csv", "-m", duplicate_identifiers, "-o", "out.csv")
    assert (done.code, done.message.count(DUPLICATES_MESSAGE)) == (0, 1)
    assert (
        "not unique"
        not in run("predict", "data.csv", "-m", duplicate_identifiers, "-o", "out.csv").message
    )


def test_unique_identifiers_trigger_no_warning(model, run):
    for arguments in (
        ("-m", model),
        ("-l", "sky,mountain,sea", "--id", "key", "--method", "PriorLE"),
    ):
        assert "unique" not in run("enhance", "data.csv", *arguments, "-o", "out.csv").message
    pd.DataFrame({"key": ["a", "a"], "x": [1, 0], "y": [0, 1]}).to_csv("one.csv", index=False)
    done = run("compare", "one.csv", "one.csv", "--id", "key")
    assert "one.csv: Column 'key': the identifier 'a' is not unique: rows 2, 3." in done.message
