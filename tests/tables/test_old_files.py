"""Model files that version 0.1.0 has written still load and say the same; one for every estimator it had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldlearn.learning import AAKNN
from ldlearn.tables import NamedEmbedding, load_model
from ldlearn.tables.encoding import Decoder, Encoder

FOLDER = Path(__file__).parent / "data" / "version_0_1_0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
NEW, KNOWN = np.array(EXPECTED["new"]), np.array(EXPECTED["known"])
NAMES = sorted(path.stem for path in FOLDER.glob("*.ldl"))


def test_there_are_files_to_try():
    assert {"DLDL", "EnhanceThenLearn", "AAKNN", "LDLForest", "AABP", "table"} <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "table"])
def test_an_old_file_predicts_and_enhances_the_same(name):
    model = load_model(FOLDER / f"{name}.ldl")
    assert type(model).__name__ == name
    if name in EXPECTED["predict"]:
        np.testing.assert_allclose(model.predict(NEW), EXPECTED["predict"][name], rtol=1e-6, atol=1e-9)
    if name in EXPECTED["enhance"]:
        np.testing.assert_allclose(model.enhance(NEW, KNOWN), EXPECTED["enhance"][name], rtol=1e-6, atol=1e-9)
    model.get_params()  # every parameter of today has a value
    assert not set(vars(model)) & set(model._renamed_params)


@pytest.mark.parametrize(("name", "value"), [("AAKNN", 3), ("LDLForest", 2), ("AABP", 0.1)])
def test_the_parameters_of_an_old_file_are_kept(name, value):
    assert value in load_model(FOLDER / f"{name}.ldl").get_params().values()


def test_a_table_model_with_texts_predicts_the_same():
    model = load_model(FOLDER / "table.ldl")
    assert (model.numeric, model.categorical, model.id) == (("height", "wet"), ("place",), "key")
    found = model.predict(pd.DataFrame(EXPECTED["table"]["rows"]))
    np.testing.assert_allclose(found, EXPECTED["predict"]["table"], rtol=1e-6, atol=1e-9)


def test_renamed_and_later_parameters_are_set(monkeypatch):
    encoder = Encoder()
    content = encoder.encode(AAKNN())
    parameter = next(iter(AAKNN().get_params()))
    value = content["state"].pop(parameter)
    assert getattr(Decoder(encoder.arrays).decode(content), parameter) == value  # the default, where there is none
    monkeypatch.setattr(AAKNN, "_renamed_params", {"former": parameter})
    content["state"]["former"] = 17
    assert getattr(Decoder(encoder.arrays).decode(content), parameter) == 17


@pytest.mark.parametrize("module", ["preprocessing:TablePreprocessing", "embedding:NamedEmbedding"])
def test_classes_that_files_name_by_a_former_place_are_found(module):
    content = Encoder().encode(NamedEmbedding("own:letters"))
    assert content["class"] == "ldlearn:NamedEmbedding"  # no place, which may change again
    found = Decoder([np.empty((1, 0))]).decode(content | {"class": f"ldlearn.tables.{module}"})
    assert type(found).__name__ == module.partition(":")[2]
