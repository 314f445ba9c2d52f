"""Model files that are truncated, changed, from the future or made to do harm."""

from __future__ import annotations

import copy
import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from example_tables import LABELS, content_of, edited, make_table, repacked
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ldlearn import DLDL
from ldlearn.exceptions import ModelFileError
from ldlearn.tables import TableModel, load_model, save_model
from ldlearn.tables.model_files import VERSION


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.ldl"
    save_model(TableModel.fit(make_table(), LABELS, features=["height", "wet", "place"]), path)
    return path.read_bytes()


def refused(blob: bytes, tmp_path, match: str) -> None:
    path = tmp_path / "bad.ldl"
    path.write_bytes(blob)
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Bomb:
    """What pickle would run."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def test_a_pickle_is_never_loaded(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(pickle.dumps(Bomb()), tmp_path, "pickle, which can run code")
    array = io.BytesIO()
    np.save(array, np.array([Bomb()], dtype=object), allow_pickle=True)
    changed = repacked(model, {"arrays/0.npy": array.getvalue()})
    refused(changed, tmp_path, "checksum")
    content = content_of(model)
    import hashlib

    content["arrays"][0] = hashlib.sha256(array.getvalue()).hexdigest()
    refused(edited(changed, content), tmp_path, r"objects \(pickles\), which are never loaded")
    assert not os.path.exists("executed")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_truncated(model, tmp_path, share):
    refused(model[: int(share * len(model))], tmp_path, "no ldlearn model file|truncated or damaged")


@pytest.mark.parametrize("junk", [b"\0", b"junk after the end", bytes(100_000), b"PK\x05\x06" + bytes(18)])
def test_bytes_after_the_end(model, tmp_path, junk):
    refused(model + junk, tmp_path, "bytes after its end|damaged|no ldlearn model file")


def test_the_last_bytes_again(model, tmp_path):
    refused(model + model[-22:], tmp_path, "bytes after its end|damaged|no ldlearn model file")
    commented = model[:-2] + b"\x05\0hello"
    refused(commented, tmp_path, "bytes after its end")


def test_every_changed_byte_of_an_array_is_noticed(model, tmp_path):
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        member = max(archive.infolist(), key=lambda m: m.file_size if m.filename.startswith("arrays") else 0)
    start = model.index(b"\x93NUMPY", member.header_offset)
    for position in rng.integers(start, start + member.file_size, size=20):
        changed = bytearray(model)
        changed[position] ^= 1 << int(rng.integers(8))
        refused(bytes(changed), tmp_path, "damaged|checksum")


def test_a_newer_version_and_one_that_never_was(model, tmp_path):
    content = content_of(model)
    refused(edited(model, content | {"version": VERSION + 1}), tmp_path, "newer ldlearn .* upgrade ldlearn")
    refused(edited(model, content | {"version": VERSION + 1, "arrays": "elsewhere"}), tmp_path, "newer ldlearn")
    refused(edited(model, content | {"version": "one"}), tmp_path, "never existed")
    refused(edited(model, content | {"format": "else"}), tmp_path, "no ldlearn model file")


def test_json_changed_without_its_checksum(model, tmp_path):
    content = content_of(model)
    import json

    text = json.dumps(content | {"kind": "estimator"}).encode()
    refused(repacked(model, {"model.json": text}), tmp_path, "checksum is wrong")


def test_compressed_members_and_strangers_are_refused(model, tmp_path):
    refused(repacked(model, {}, zipfile.ZIP_DEFLATED), tmp_path, "compressed or encrypted")
    refused(repacked(model, {"../../evil.py": b"print(1)"}), tmp_path, "does not hold the arrays that it lists")


def test_a_bomb_costs_no_memory(tmp_path):
    """64 MB of zeros in a file of less than 1 MB."""
    path = tmp_path / "bomb.ldl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("model.json", bytes(64 << 20))
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="compressed"):
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


def npy_header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("blob", "match"),
    [
        (npy_header((10**12,)), "announces 8,000,000,000,000 bytes and holds 0"),
        (npy_header((0, 10**12)), "impossible shape"),
        (npy_header((-1, 2)), "impossible shape"),
        (npy_header((1,), "|O") + b"x" * 8, r"objects \(pickles\), which are never loaded"),
        (npy_header((1,), "<M8[s]") + b"x" * 8, "not numbers"),
        (b"\x93NUMPY\x03\x00" + b"x" * 20, "cannot be read"),
        (b"junk", "cannot be read"),
    ],
)
def test_arrays_that_lie(model, tmp_path, blob, match):
    import hashlib

    content = content_of(model)
    content["arrays"][0] = hashlib.sha256(blob).hexdigest()
    refused(edited(repacked(model, {"arrays/0.npy": blob}), content), tmp_path, match)


def change(model: bytes, **parts) -> bytes:
    content = copy.deepcopy(content_of(model))
    content["model"] |= parts
    return edited(model, content)


@pytest.mark.parametrize(
    "name",
    [
        "os:system", "builtins:eval", "subprocess:Popen", "sklearn:FunctionTransformer", "ldlearn:all_estimators",
        "ldlearn.tables.model_files:Path", "ldlearn.joint.dldl:NearestNeighbors", "ldlearn.joint.dldl:Nystroem.fit", "",
    ],
)  # fmt: skip
def test_only_listed_classes_are_made(model, tmp_path, name):
    refused(change(model, estimator={"type": "object", "class": name, "state": {}}), tmp_path, "not among the classes")


def test_classes_and_attributes_that_could_do_more_than_compute(model, tmp_path):
    def of(name, state):
        return {"type": "object", "class": name, "state": state}

    refused(change(model, estimator=of("sklearn:StandardScaler", {})), tmp_path, "no estimator of ldlearn")
    refused(change(model, estimator=of("ldlearn:DLDL", {"predict": 1})), tmp_path, "'predict' of a DLDL")
    refused(change(model, estimator=of("ldlearn:DLDL", {"__class__": 1})), tmp_path, "__class__")
    pipeline = of("sklearn:Pipeline", {"steps": [], "memory": "cache"})
    refused(change(model, preprocessing=pipeline), tmp_path, "memory of a Pipeline must be None")
    scaler = of("sklearn:Nystroem", {"n_jobs": 10_000})
    refused(change(model, preprocessing=scaler), tmp_path, "n_jobs")
    refused(change(model, preprocessing=of("sklearn:StandardScaler", {})), tmp_path, "not those of a table model")
    refused(change(model, labels=["sky"]), tmp_path, "not those of a table model")
    refused(change(model, facts={"type": "nonsense"}), tmp_path, "unknown type")
    refused(change(model, facts={"type": "array", "array": 10_000}), tmp_path, "array 10000")
    refused(change(model, facts={"no": "type"}), tmp_path, "damaged")


def test_a_model_that_no_longer_gives_its_predictions_is_refused(model, tmp_path):
    content = content_of(model)
    estimator = content["model"]["estimator"]
    first, second = estimator["state"]["coef_"], estimator["state"]["intercept_"]
    estimator["state"]["coef_"], estimator["state"]["intercept_"] = second, first
    refused(edited(model, content), tmp_path, "other predictions than when it was saved; it is damaged")
    content = content_of(model)
    content["made_with"]["scikit-learn"] = "0.1"
    content["model"]["preprocessing"]["state"].pop("medians")
    refused(edited(model, content), tmp_path, r"saved with scikit-learn 0.1 \(here")


def test_nesting_is_limited(model, tmp_path):
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    refused(change(model, facts=deep), tmp_path, "nested too deeply")
    text = b'{"format": "ldlearn-model", "version": 1, "x": ' + b"[" * 100_000
    refused(repacked(model, {"model.json": text}), tmp_path, "no JSON")


def test_what_a_file_cannot_hold_is_refused_when_saving(tmp_path):
    X, Y = np.arange(10.0)[:, None], np.tile([[1, 0], [1, 1]], (5, 1))
    with pytest.raises(ModelFileError, match="FunctionTransformer"):
        save_model(DLDL(feature_map=FunctionTransformer()).fit(X, Y), tmp_path / "m.ldl")
    with pytest.raises(ModelFileError, match="not StandardScaler"):
        save_model(StandardScaler().fit(X), tmp_path / "m.ldl")
    assert list(tmp_path.iterdir()) == []


def test_a_feature_map_given_by_the_user_is_kept(tmp_path):
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), np.tile([[1, 0], [1, 1], [0, 1]], (10, 1))
    chain = make_pipeline(StandardScaler(), RBFSampler(n_components=7, random_state=np.random.RandomState(3)))
    model = DLDL(feature_map=chain).fit(X, Y)
    save_model(model, tmp_path / "m.ldl")
    np.testing.assert_array_equal(load_model(tmp_path / "m.ldl").predict(X), model.predict(X))


def test_the_same_model_gives_the_same_bytes(tmp_path):
    said = {"features": ["height", "wet", "place", "key"], "text": ["key"]}
    for name in ("a.ldl", "b.ldl"):
        model = TableModel.fit(make_table(), LABELS, **said, estimator=DLDL(beta=10.0, gamma=1.0))
        for thing in model.preprocessing.words.values():  # the address of something, other in every process
            thing._stop_words_id = id(name)
        save_model(model, tmp_path / name)
    assert (tmp_path / "a.ldl").read_bytes() == (tmp_path / "b.ldl").read_bytes()
