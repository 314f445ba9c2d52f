"""Embeddings that the user names: found by name, kept by name, and never imported for a file's sake."""

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
from ldlearn.tables import TableModel, embedding, import_embedding, load_model, save_model

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
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(embedding, "_imported", {})
    monkeypatch.delitem(sys.modules, "own_letters", raising=False)
    (tmp_path / "own_letters.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    table = make_table(90)
    table["note"] = [" ".join(rng.choice(["tree", "wind and rain", "house", "sand"], 6)) for _ in range(90)]
    table.to_csv("data.csv", index=False)
    return table


def command(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_from_the_command_line(here, monkeypatch, capfd):
    fit = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "--text", "note", "-o", "m.ldl", "--holdout", "0"]
    assert command(*fit, "--embedding", "own_letters:lengths") == 0
    monkeypatch.setattr(embedding, "_imported", {})
    Path("imported").unlink()
    del sys.modules["own_letters"]
    model = load_model("m.ldl")
    assert "own_letters" not in sys.modules
    assert not Path("imported").exists()
    with pytest.raises(TableError, match=r"the model needs the embedding 'own_letters:lengths'.*name it again"):
        model.predict(here)
    assert command("predict", "data.csv", "-m", "m.ldl", "-o", "out.csv") == 2
    assert "--embedding" in capfd.readouterr().err
    assert command("predict", "data.csv", "-m", "m.ldl", "-o", "out.csv", "--embedding", "own_letters:lengths") == 0
    assert command("evaluate", "data.csv", "-m", "m.ldl", "--embedding", "own_letters:lengths") == 0
    np.testing.assert_allclose(pd.read_csv("out.csv")[LABELS], model.predict(here), atol=1e-12)
    assert model.preprocessing.feature_names()[-2:] == ["note: 0", "note: 1"]


def test_an_embedding_without_any_use_is_refused(here, capfd):
    named, saved = ["--embedding", "own_letters:lengths"], ["-o", "m.ldl", "--holdout", "0"]
    fit = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "--ignore", "note", *saved]
    assert command(*fit, *named) == 2
    assert "no column is prose" in capfd.readouterr().err
    assert command(*fit) == 0
    for verb in ("predict", "evaluate", "enhance"):
        assert command(verb, "data.csv", "-m", "m.ldl", *named) == 2
        assert "was fitted without an embedding" in capfd.readouterr().err
    assert command("enhance", "data.csv", "-l", ",".join(LABELS), *named) == 2


def test_numbers_are_those_of_the_embedding(here):
    named = TableModel.fit(here, LABELS, id="key", text=["note"], embedding=import_embedding("own_letters:Halves"))
    expected = np.array([[len(text), text.count("e")] for text in here["note"]]) / 2
    np.testing.assert_array_equal(np.asarray(named.transform(here))[:, -2:], expected)


def test_another_version_is_noticed(here, monkeypatch):
    made = import_embedding("own_letters:lengths")
    model = TableModel.fit(here, LABELS, id="key", text=["note"], embedding=made)
    save_model(model, "m.ldl")
    monkeypatch.setitem(embedding._imported, "own_letters:lengths", lambda texts: 2.0 * np.ones((len(texts), 2)))
    with pytest.raises(TableError, match="gives other numbers than at the fit"):
        load_model("m.ldl").predict(here)


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
def test_names_that_will_not_do(here, monkeypatch, name, error, message):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(error, match=message):
        import_embedding(name)


class SentenceTransformer:
    """Called as the documentation of version 5 has it: what is passed by position, and what by name only."""

    def __init__(self, model_name_or_path=None, *, modules=None, device=None, cache_folder=None):
        if model_name_or_path != "mini":
            raise OSError("We couldn't connect to 'https://huggingface.co' to load the files,\nand found none here.")

    def encode(self, sentences, *, batch_size=32, show_progress_bar=None, convert_to_numpy=True):
        assert isinstance(sentences, list)
        return np.ones((len(sentences), 5), dtype=np.float32)


def test_a_sentence_model(here, monkeypatch, capfd):
    library = SimpleNamespace(SentenceTransformer=SentenceTransformer)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    assert import_embedding("sentence-transformers:mini").probe.shape == (1, 5)
    fit = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "--text", "note", "-o", "m.ldl"]
    assert command(*fit, "--embedding", "sentence-transformers:maxi") == 2
    said = " ".join(capfd.readouterr().err.split())
    assert "The model 'maxi' of sentence-transformers cannot be loaded (OSError: We couldn't connect" in said
