"""Named embeddings: imported by name, stored by name, never imported because of a model file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from example_tables import LABELS, make_table

from ldlearn.cli.main import main
from ldlearn.exceptions import MissingDependencyError, ParameterError, TableError
from ldlearn.tables import (
    ColumnOptions,
    TableModel,
    embedding,
    import_embedding,
    load_model,
    save_model,
)

MODULE = """
import numpy as np
from pathlib import Path
Path("imported").touch()

def lengths(texts):
    return np.array([[len(text), text.count("e")] for text in texts], dtype=float)

class Halves:
    def transform(self, texts):
        return lengths(texts) / 2

fails = np.zeros
flat = len
nothing = 3
"""


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(embedding, "_imported", {})
    monkeypatch.delitem(sys.modules, "own_letters", raising=False)
    (tmp_path / "own_letters.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    table = make_table(90)
    table["note"] = [
        " ".join(rng.choice(["tree", "wind and rain", "house", "sand"], 6)) for _ in range(90)
    ]
    table.to_csv("data.csv", index=False)
    return table


def command(*arguments):
    with pytest.raises(SystemExit) as exit_info:
        main(list(arguments))
    return exit_info.value.code


def test_embedding_option_of_the_commands(workspace, monkeypatch, capfd):
    fit = [
        "fit",
        "data.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "--text",
        "note",
        "-o",
        "m.ldl",
        "--holdout",
        "0",
    ]
    assert command(*fit, "--embedding", "own_letters:lengths") == 0
    monkeypatch.setattr(embedding, "_imported", {})
    Path("imported").unlink()
    del sys.modules["own_letters"]
    model = load_model("m.ldl")
    assert "own_letters" not in sys.modules
    assert not Path("imported").exists()
    with pytest.raises(
        TableError, match=r"the model needs the embedding 'own_letters:lengths'.*name it again"
    ):
        model.predict(workspace)
    assert command("predict", "data.csv", "-m", "m.ldl", "-o", "out.csv") == 2
    assert "--embedding" in capfd.readouterr().err
    assert (
        command(
            "predict",
            "data.csv",
            "-m",
            "m.ldl",
            "-o",
            "out.csv",
            "--embedding",
            "own_letters:lengths",
        )
        == 0
    )
    assert command("evaluate", "data.csv", "-m", "m.ldl", "--embedding", "own_letters:lengths") == 0
    np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], model.predict(workspace), atol=1e-12)
    assert model.preprocessing.feature_names()[-2:] == ["note: 0", "note: 1"]


def test_unused_embedding_is_rejected(workspace, capfd):
    named, saved = ["--embedding", "own_letters:lengths"], ["-o", "m.ldl", "--holdout", "0"]
    fit = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "--ignore", "note", *saved]
    assert command(*fit, *named) == 2
    assert "no column is prose" in capfd.readouterr().err
    assert command(*fit) == 0
    for verb in ("predict", "evaluate", "enhance"):
        assert command(verb, "data.csv", "-m", "m.ldl", *named) == 2
        assert "was fitted without an embedding" in capfd.readouterr().err
    assert command("enhance", "data.csv", "-l", ",".join(LABELS), *named) == 2


def test_features_are_the_output_of_the_embedding(workspace):
    named = TableModel.fit(
        workspace,
        LABELS,
        embedding=import_embedding("own_letters:Halves"),
        columns=ColumnOptions(id="key", text=["note"]),
    )
    expected = np.array([[len(text), text.count("e")] for text in workspace["note"]]) / 2
    np.testing.assert_array_equal(np.asarray(named.transform(workspace))[:, -2:], expected)


def test_changed_embedding_is_rejected(workspace, monkeypatch):
    lengths_embedding = import_embedding("own_letters:lengths")
    model = TableModel.fit(
        workspace,
        LABELS,
        embedding=lengths_embedding,
        columns=ColumnOptions(id="key", text=["note"]),
    )
    save_model(model, "m.ldl")
    monkeypatch.setitem(
        embedding._imported, "own_letters:lengths", lambda texts: 2.0 * np.ones((len(texts), 2))
    )
    with pytest.raises(TableError, match="gives other numbers than at the fit"):
        load_model("m.ldl").predict(workspace)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("own_letters", ParameterError, "is named as module:attribute"),
        ("own_letters:none", ParameterError, "'own_letters:none' cannot be imported"),
        ("own_letters:nothing", ParameterError, "no function, and has no method"),
        ("own_letters:fails", TableError, "fails on a list of texts"),
        ("own_letters:flat", TableError, "a row of finite numbers for each text"),
        ("no_such:thing", ParameterError, "'no_such:thing' cannot be imported"),
        ("sentence-transformers:mini", MissingDependencyError, "pip install sentence-transformers"),
    ],
)
def test_invalid_embedding_names_raise(workspace, monkeypatch, name, error, message):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(error, match=message):
        import_embedding(name)


class SentenceTransformer:
    """The constructor and `encode` of sentence-transformers 5, with its positional and keyword-only
    arguments."""

    def __init__(self, model_name_or_path=None, *, modules=None, device=None, cache_folder=None):
        if model_name_or_path != "mini":
            raise OSError(
                "We couldn't connect to 'https://huggingface.co' to load the files,\nand found "
                "none here."
            )

    def encode(self, sentences, *, batch_size=32, show_progress_bar=None, convert_to_numpy=True):
        assert isinstance(sentences, list)
        return np.ones((len(sentences), 5), dtype=np.float32)


def test_sentence_transformers_embedding(workspace, monkeypatch, capfd):
    library = SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    assert import_embedding("sentence-transformers:mini").probe.shape == (1, 5)
    fit = [
        "fit",
        "data.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "--text",
        "note",
        "-o",
        "m.ldl",
    ]
    assert command(*fit, "--embedding", "sentence-transformers:maxi") == 2
    message = " ".join(capfd.readouterr().err.split())
    assert (
        "The model 'maxi' of sentence-transformers cannot be loaded (OSError: We couldn't connect"
        in message
    )
