"""Model files that are truncated, modified, of a newer version or malicious are rejected."""

from __future__ import annotations

import io
import json
import os
import pickle
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from example_tables import LABELS, content_of, edited, make_table, parts_of, with_text
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from ldlearn import AAKNN, DLDL, MeanLDL
from ldlearn.exceptions import ModelFileError
from ldlearn.tables import ColumnOptions, TableModel, load_model, save_model
from ldlearn.tables.model_files import _FORMAT_VERSION

QUICK = DLDL(beta=10.0, gamma=1.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.ldl"
    columns = ColumnOptions(features=["height", "wet", "place", "key"], text=["key"])
    save_model(TableModel.fit(make_table(), LABELS, columns=columns, estimator=QUICK), path)
    return path.read_bytes()


def check_rejected(blob: bytes, tmp_path, match: str) -> None:
    path = tmp_path / "bad.ldl"
    path.write_bytes(blob)
    start = time.process_time()
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert time.process_time() - start < 5
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Bomb:
    """Creates a folder if unpickled."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_pickles_are_never_loaded(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_rejected(pickle.dumps(Bomb()), tmp_path, "no ldlearn model file")
    array = io.BytesIO()
    np.save(array, np.array([Bomb()], dtype=object), allow_pickle=True)
    content = content_of(model)
    content["arrays"][0][0] = "|O"
    check_rejected(
        with_text(json.dumps(content).encode(), array.getvalue()), tmp_path, "non-numeric"
    )
    assert not os.path.exists("executed")


@pytest.mark.parametrize(
    "name", ["harm:Method", "os:system", "harm.x:Method.y", "../harm:Method", "harm", ":"]
)
def test_foreign_classes_are_never_imported(model, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "harm.py").write_text("import os\nos.mkdir('executed')\n")
    content = content_of(model)
    content["model"]["state"]["estimator"]["class"] = name
    check_rejected(
        edited(model, content), tmp_path, "imported only if you name it|not among the classes"
    )
    assert not os.path.exists("executed")


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_truncated_files_are_rejected(model, tmp_path, fraction):
    check_rejected(model[: int(fraction * len(model))], tmp_path, "no ldlearn model file|truncated")


@pytest.mark.parametrize("added", [b"\0", b"text after the end", bytes(100_000)])
def test_trailing_bytes_are_rejected(model, tmp_path, added):
    check_rejected(model + added, tmp_path, "checksum is wrong")
    text, arrays = parts_of(model)
    check_rejected(
        with_text(json.dumps(text).encode(), arrays + added), tmp_path, "belong to no part of it"
    )


def test_bit_flips_are_detected(model, tmp_path):
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(model), size=30):
        changed = bytearray(model)
        changed[position] ^= 1 << int(rng.integers(8))
        check_rejected(bytes(changed), tmp_path, "damaged|checksum|no ldlearn model file|newer")


def test_unknown_versions_are_rejected(model, tmp_path):
    first = b"ldlearn-model "
    check_rejected(
        model.replace(first + b"1", first + b"%d" % (_FORMAT_VERSION + 1), 1),
        tmp_path,
        "newer ldlearn .* upgrade ldlearn",
    )
    check_rejected(
        model.replace(first + b"1", first + b"one", 1), tmp_path, "no ldlearn model file"
    )
    check_rejected(b"PK\x03\x04" + model, tmp_path, "no ldlearn model file")


@pytest.mark.parametrize(
    ("listed", "match"),
    [
        (["<f8", [10**12], False], "more bytes|impossible shape"),
        (["<f8", [0, 10**12], False], "impossible shape"),
        (["<f8", [-1, 2], False], "impossible shape"),
        (["<f8", [True], False], "impossible shape"),
        (["|O", [1], False], "non-numeric"),
        (["<M8[s]", [1], False], "non-numeric"),
        (["nonsense", [1], False], "non-numeric"),
        ([[["a", "<f8"]], [1], False], "damaged|non-numeric"),
        (["<f8", [10**6, 0, 10**6], False], "impossible shape"),
        (["<f8", ["a", 10**9], False], "impossible shape"),
        (["<f8", [[1], 10**9], False], "impossible shape"),
        (["f8," * 100_000, [1], False], "impossible shape"),
    ],
)
def test_invalid_array_headers_are_rejected(model, tmp_path, listed, match):
    content = content_of(model)
    content["arrays"][0] = listed
    check_rejected(edited(model, content), tmp_path, match)


def change(model: bytes, **parts) -> bytes:
    content = content_of(model)
    content["model"]["state"] |= parts
    return edited(model, content)


def instance(name: str, state: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    return {"class": name, "params": params, "state": state or {}}


@pytest.mark.parametrize(
    "name",
    [
        "system",
        "eval",
        "Popen",
        "FunctionTransformer",
        "HashingVectorizer",
        "all_estimators",
        "estimator",
        "facts",
        "",
    ],
)
def test_only_listed_classes_are_instantiated(model, tmp_path, name):
    check_rejected(change(model, estimator=instance(name)), tmp_path, "not among the classes")


def test_unknown_attributes_and_parameters_are_rejected(model, tmp_path):
    def refuse(match: str, **parts: Any) -> None:
        check_rejected(change(model, **parts), tmp_path, match)

    refuse("no estimator of ldlearn", estimator=instance("StandardScaler"))
    for name in ("predict", "__class__", "__dict__", "made_up_"):
        refuse(f"DLDL.{name} is not", estimator=instance("DLDL", {name: 1}))
    refuse("other parameters", estimator=instance("Pipeline", steps=[], memory="cache"))
    refuse("other parameters", estimator=instance("Nystroem", n_jobs=10_000))
    refuse("'max_iter' parameter", estimator=instance("DLDL", max_iter=-1))
    refuse("TableModel.preprocessing is not", preprocessing=instance("StandardScaler"))
    refuse("TableModel.labels is not", labels="sky")
    refuse("not those of a table model", labels=["sky", "sea", "mountain"])
    refuse("unknown type 'nonsense'", facts={"nonsense": 1})
    refuse("array 10000", facts={"array": 10_000})
    refuse("TableModel.facts is not", facts={"dict": {}})
    refuse("unknown type ''", facts={})


def edit(path: str, value: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Replace the JSON at a path, relative to the state of the table model."""

    def apply(model: bytes) -> bytes:
        content = content_of(model)
        *parents, last = path.split(".")
        inner = content["model"]["state"]
        for step in parents:
            inner = inner[step]["state"] if "state" in inner[step] else inner[step]
        inner[last] = value(inner.get(last))
        return edited(model, content)

    return apply


ENCODER = "preprocessing.encoders.dict.key"
CRAFTED = {
    "a vocabulary of positions": (
        edit(f"{ENCODER}.vocabulary", lambda old: {"dict": {"r1": 10**9}}),
        "is not",
    ),
    "a longer vocabulary": (
        edit(f"{ENCODER}.vocabulary", lambda old: [*old, "more"]),
        "TfidfEncoder.idf is not",
    ),
    "a slow pattern": (
        edit(f"{ENCODER}.token_pattern", lambda old: "(a+)+$"),
        "token_pattern is not",
    ),
    "a random generator": (
        edit("estimator._random", lambda old: {"RandomState": {"pos": 10**9}}),
        "unknown type",
    ),
    "features beyond all measure": (
        edit("estimator.n_features_in_", lambda old: 10**12),
        "cannot predict",
    ),
    "labels of another width": (
        edit("estimator.label_names_", lambda old: {"names": ["a"]}),
        "DLDL.* is not",
    ),
    "a set": (
        edit("facts", lambda old: {"set": [k * (2**61 - 1) for k in range(1000)]}),
        "unknown type",
    ),
    "an object in place of a number": (
        edit("estimator.beta_", lambda old: {"array": 0}),
        "beta_ is not",
    ),
    "a sparse matrix with indices beyond its columns": (
        edit("estimator.graph_", lambda old: {"csr": [0, 0, 0], "shape": [2, 2]}),
        "damaged| is not",
    ),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_crafted_values_are_rejected(model, tmp_path, case):
    craft, match = CRAFTED[case]
    check_rejected(craft(model), tmp_path, match)


def test_huge_number_of_features_is_rejected(tmp_path):
    X, D = np.arange(10.0)[:, None], np.full((10, 2), 0.5)
    save_model(MeanLDL().fit(X, D), tmp_path / "m.ldl")
    model = (tmp_path / "m.ldl").read_bytes()
    content = content_of(model)
    content["model"]["state"]["n_features_in_"] = 10**12
    check_rejected(edited(model, content), tmp_path, "cannot predict")


def test_stored_predictions_are_dense_arrays(model, tmp_path):
    content = content_of(model)
    for name, value in (
        ("X", {"csr": [0, 0, 0], "shape": [0, 0]}),
        ("X", [[1.0]]),
        ("predict", 1),
        ("made_up", 1),
    ):
        changed = content | {"probe": {"dict": content["probe"]["dict"] | {name: value}}}
        check_rejected(edited(model, changed), tmp_path, "no predictions of it|damaged")
    check_rejected(
        edited(model, content | {"probe": {"dict": {}}}), tmp_path, "no predictions of it"
    )


def test_resource_limits(model, tmp_path):
    content = content_of(model)
    uses = [{"array": k} for k in range(len(content["arrays"]))]
    check_rejected(change(model, facts=uses * 11), tmp_path, "refers to its arrays more often")
    check_rejected(
        change(model, facts={"csr": [0, 0, 0], "shape": [1, 10**9]}),
        tmp_path,
        "matrix of an impossible shape",
    )
    for sign in (1, -1):
        check_rejected(
            change(model, labels=[sign * 2**61, "mountain", "sea"]),
            tmp_path,
            "TableModel.labels is not",
        )
    for values in (b"1," * 600_000, b"[]," * 250_000):
        text = b'{"model": [' + values + b'0], "probe": 1, "arrays": []}'
        check_rejected(with_text(text), tmp_path, "more names and values")
    check_rejected(
        change(model, estimator=instance("DLDL", tol=[["a"] * 3] * 9)), tmp_path, "'tol' parameter"
    )


def test_repeated_neighbour_indices_are_rejected(tmp_path):
    X, D = np.random.default_rng(0).normal(size=(50, 2)), np.full((50, 2), 0.5)
    save_model(AAKNN(n_neighbors=3).fit(X, D), tmp_path / "m.ldl")
    model = (tmp_path / "m.ldl").read_bytes()
    content = content_of(model)
    content["model"]["state"]["_index"] = [content["model"]["state"]["_index"]] * 1000
    check_rejected(edited(model, content), tmp_path, "more objects than any model needs")


@pytest.mark.parametrize(
    "text", [b'{"arrays": [' + b"[]," * 20_000_000, b"[" * 30_000_000], ids=["lists", "depth"]
)
def test_json_bombs_are_rejected_within_memory(tmp_path, text):
    blob = with_text(text)
    tracemalloc.start()
    try:
        check_rejected(blob, tmp_path, "more names and values")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * len(text)


def test_nesting_is_limited(model, tmp_path):
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    check_rejected(change(model, facts=deep), tmp_path, "nested too deeply")
    check_rejected(with_text(b"[" * 100_000), tmp_path, "damaged")


def test_columns_of_an_unknown_type_are_rejected(model, tmp_path):
    content = content_of(model)
    types = content["model"]["state"]["types"]["state"]
    types["columns"]["dict"]["another"] = "image"
    check_rejected(edited(model, content), tmp_path, "not those of a table model")


def test_model_with_changed_predictions_is_rejected(model, tmp_path):
    content = content_of(model)
    content["model"]["state"]["preprocessing"]["state"]["means"] = content["model"]["state"][
        "preprocessing"
    ]["state"]["medians"]
    check_rejected(
        edited(model, content),
        tmp_path,
        "other predictions than when it was saved, so that it is damaged",
    )
    content = content_of(model)
    content["made_with"]["scikit-learn"] = "0.1"
    content["model"]["state"]["estimator"]["state"].pop("coef_")
    check_rejected(edited(model, content), tmp_path, r"'scikit-learn': '0.1'.*here.*install them")


def test_unsupported_objects_are_rejected_when_saving(tmp_path):
    X, Y = np.arange(10.0)[:, None], np.tile([[1, 0], [1, 1]], (5, 1))
    with pytest.raises(ModelFileError, match="FunctionTransformer"):
        save_model(DLDL(feature_map=FunctionTransformer()).fit(X, Y), tmp_path / "m.ldl")
    with pytest.raises(ModelFileError, match="not StandardScaler"):
        save_model(StandardScaler().fit(X), tmp_path / "m.ldl")
    assert list(tmp_path.iterdir()) == []


FEATURE_MAPS = [
    make_pipeline(
        StandardScaler(), RBFSampler(n_components=7, random_state=np.random.RandomState(3))
    ),
    make_pipeline(RobustScaler(), PCA(2, whiten=True)),
    MinMaxScaler(feature_range=(-1, 1)),
    MaxAbsScaler(),
]


@pytest.mark.parametrize("feature_map", FEATURE_MAPS, ids=lambda given: type(given).__name__)
def test_custom_feature_maps_round_trip(tmp_path, feature_map):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), np.tile([[1, 0], [1, 1], [0, 1]], (10, 1))
    model = DLDL(beta=10.0, gamma=1.0, feature_map=feature_map).fit(X, Y)
    save_model(model, tmp_path / "m.ldl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.ldl").predict(X), model.predict(X))


def test_saving_is_deterministic(tmp_path):
    for name in ("a.ldl", "b.ldl"):
        columns = ColumnOptions(features=["height", "wet", "place", "key"], text=["key"])
        save_model(
            TableModel.fit(make_table(), LABELS, columns=columns, estimator=QUICK), tmp_path / name
        )
    assert (tmp_path / "a.ldl").read_bytes() == (tmp_path / "b.ldl").read_bytes()
