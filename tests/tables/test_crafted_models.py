"""Maliciously crafted model files are rejected with a one-line error, within a second and 200 MB.

By default a sample is loaded; ``make fuzz`` loads all crafted files and 2,000 random mutants.
"""

import copy
import itertools
import json
import os
import random
import subprocess
import sys
import warnings

import numpy as np
import pytest
from estimator_cases import make_problem
from example_tables import LABELS, make_table, parts_of, with_text
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ldlearn import AAKNN, DLDL, MLPLDL, PTSVM, FromClassifier, MeanLDL
from ldlearn.tables import TableModel, save_model

EVERYTHING = bool(os.environ.get("LDLEARN_FUZZ"))
N_MUTANTS = 2000 if EVERYTHING else 50
MEGABYTES = 200
LOADER = """
import json, re, resource, sys, time, warnings
from pathlib import Path
from ldlearn.exceptions import ModelFileError
from ldlearn.tables import load_model

def megabytes(field):
    return int(re.search(rf"{field}:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024

warnings.simplefilter("ignore")
first, *paths = sorted(Path(sys.argv[1]).iterdir())
load_model(first)  # imports what loading needs
limit = int(megabytes("VmSize") + 1000) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # protects the machine that runs the tests
for path in paths:
    Path("/proc/self/clear_refs").write_text("5")
    before, start = megabytes("VmRSS"), time.process_time()
    try:
        load_model(path)
        outcome = "loaded"
    except ModelFileError as error:
        outcome = str(error)
    print(json.dumps([outcome, time.process_time() - start, megabytes("VmHWM") - before]), flush=True)
"""


@pytest.fixture(scope="module")
def valid_models(tmp_path_factory):
    """Valid models as (JSON, bytes of the arrays)."""
    X, D, Y = make_problem()
    feature_map = make_pipeline(StandardScaler(), RBFSampler(n_components=5, random_state=0))
    options = {"features": ["height", "wet", "place", "key"], "text": ["key"]}
    path = tmp_path_factory.mktemp("valid") / "m.ldl"
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            MeanLDL().fit(X, D),
            AAKNN(3).fit(X, D),
            MLPLDL(**MLPLDL._test_params[0]).fit(X, D),
            PTSVM(**PTSVM._test_params[0]).fit(X, D),
            FromClassifier().fit(X, Y),
            DLDL(beta=10.0, gamma=1.0, feature_map=feature_map).fit(X, Y),
            TableModel.fit(make_table(), LABELS, **options, estimator=DLDL(beta=10.0, gamma=1.0)),
        ]
    for model in models:
        save_model(model, path)
        found[type(model).__name__] = parts_of(path.read_bytes())
    return found


def load_all(folder, valid_models, blobs):
    """Outcome, seconds and megabytes of loading each file, in a separate process that may crash."""
    for k, blob in enumerate([encode_model(valid_models["TableModel"]), *blobs]):
        (folder / f"{k:05d}.ldl").write_bytes(blob)
    found = subprocess.run([sys.executable, "-c", LOADER, folder], capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in found.stdout.splitlines()]
    assert (len(results), found.returncode) == (len(blobs), 0), found.stderr[-2000:]
    return results


def check_harmless(results, names):
    for (outcome, seconds, megabytes), name in zip(results, names, strict=True):
        assert "\n" not in outcome, name
        assert "MemoryError" not in outcome, name
        assert megabytes < MEGABYTES, (name, megabytes)
        assert not EVERYTHING or seconds < 1, (name, seconds)


def encode_model(parts):
    content, arrays = parts
    return with_text(json.dumps(content, ensure_ascii=False).encode(), arrays)


def crafted_files(valid_models):
    """Names and bytes of files, each of which must be rejected."""

    def edit(name, change):
        content, arrays = copy.deepcopy(valid_models[name])
        more = change(content["model"]["state"], content)
        return encode_model((content, arrays + (more or b"")))

    def add_arrays(content, *arrays):
        """Positions of new arrays; their bytes."""
        start = len(content["arrays"])
        content["arrays"] += [[array.dtype.str, list(array.shape), False] for array in arrays]
        return list(range(start, start + len(arrays))), b"".join(array.tobytes() for array in arrays)

    def wide_probe(state, content):
        state["n_features_in_"] = 10**8
        positions, more = add_arrays(content, np.empty(0), np.empty(0, "i4"), np.zeros(4, "i4"))
        content["probe"]["dict"]["X"] = {"csr": positions, "shape": [3, 10**8]}
        return more

    def networks_without_units(state, content):
        n = 10_000
        state["label_names_"] = {"names": [f"l{k}" for k in range(n)]}
        shapes = [(n, 4, 0), (n, 0), (n, 0, n), (n, 0)]
        start = len(content["arrays"])
        content["arrays"] += [["<f8", shape, False] for shape in shapes]
        for k, name in enumerate(("hidden_coef_", "hidden_intercept_", "output_coef_", "output_intercept_")):
            state[name] = {"array": start + k}

    def many_matrices(state, content):
        n = 100_000
        positions, more = add_arrays(content, np.ones(n), np.arange(n, dtype="i4"), np.array([0, n], "i4"))
        state["made_up_"] = [{"csr": positions, "shape": [1, n]}] * 40_000
        return more

    def many_classifiers(state, content):
        state["classifier_"] = state["classifier_"][:1] * 10_000

    def many_indices(state, content):
        state["_index"] = [state["_index"]] * 1000

    def indices_of_large_rows(state, content):
        positions, more = add_arrays(content, np.zeros((20_000, 10)))
        state["_index"]["state"]["_fit_X"] = {"array": positions[0]}
        state["made_up_"] = [state["_index"]] * 4
        return more * 3

    def many_steps(state, content):
        steps = content["model"]["params"]["feature_map"]["params"]["steps"]
        steps[:] = steps * 3000

    def colliding(names):
        return {"names": [sign * k * (2**61 - 1) for k in range(1, 10_000) for sign in (1, -1)][:names]}

    def text(values):
        return with_text(b'{"model": [' + values + b'0], "probe": 1, "arrays": []}')

    encoder = ("preprocessing", "state", "encoders", "dict", "key", "state")

    def in_encoder(name, value):
        def change(state, content):
            for step in encoder:
                state = state[step]
            state[name] = value

        return edit("TableModel", change)

    def with_state(model, **parts):
        return edit(model, lambda state, content: state.update(parts))

    generator = {"RandomState": {"pos": 10**8, "keys": {"array": 0}}}
    hashing = {"class": "HashingVectorizer", "params": {"n_features": 2**26}, "state": {}}
    yield from {
        "vocabulary with an index out of range": in_encoder("vocabulary", {"dict": {"r1": 10**9}}),
        "vocabulary that is too short": in_encoder("vocabulary", {"names": ["r1"]}),
        "vocabulary_": in_encoder("vocabulary_", {"dict": {"r1": 10**9}}),
        "token_pattern": in_encoder("token_pattern", "(a+)+$"),
        "hashing vectoriser": with_state("TableModel", preprocessing=hashing),
        "hashing encoder": in_encoder("vocabulary", hashing),
        "RandomState far": with_state("MeanLDL", random_state=generator),
        "RandomState before": with_state("MeanLDL", random_state={"RandomState": {"pos": -200}}),
        "120,000 generators": with_state("MeanLDL", made_up_=[{"RandomState": {}}] * 120_000),
        "100,000,000 features": with_state("MeanLDL", n_features_in_=10**8),
        "100,000,000 features of a sparse probe": edit("MeanLDL", wide_probe),
        "60 MB of lists": text(b"[]," * 20_000_000),
        "7 MB of lists": text(b"[]," * 2_300_000),
        "7 MB of numbers": text(b"1.5," * 1_900_000),
        "7 MB of words": text(b'"ab",' * 1_500_000),
        "most values": text(b'"ab",' * 499_000),
        "most dicts": text(b'{"dict": {"a": 1}},' * 99_000),
        "a long text of wide characters": text(b'"' + b"a" * 7_900_000 + "\N{GRINNING FACE}".encode() + b'",'),
        "many empty arrays": with_text(
            b'{"model": 1, "probe": 1, "arrays": [' + b'["<f8", [0], false],' * 60_000 + b'["<f8", [0], false]]}'
        ),
        "a long number": text(b"9" * 5000 + b","),
        "a number in every place": text(b"9" * 4000 + b",") * 3,
        "depth": text(b"[" * 190_000),
        "a set": with_state("MeanLDL", label_names_={"set": colliding(9000)["names"]}),
        "colliding features": with_state("MeanLDL", feature_names_in_=colliding(4)),
        "colliding labels": with_state("AAKNN", label_names_=colliding(3)),
        "colliding table labels": with_state("TableModel", labels=colliding(3)["names"]),
        "1,000 neighbour indices": edit("AAKNN", many_indices),
        "neighbour indices of large rows": edit("AAKNN", indices_of_large_rows),
        "matrices that share arrays": edit("MeanLDL", many_matrices),
        "10,000 classifiers": edit("FromClassifier", many_classifiers),
        "6,000 steps": edit("DLDL", many_steps),
        "networks without units": edit("MLPLDL", networks_without_units),
        "a very wide matrix": with_state("AAKNN", _rows={"csr": [0, 0, 0], "shape": [2, 10**12]}),
        "10,000 labels of a support vector machine": with_state(
            "PTSVM", _n_labels=10_000, label_names_={"names": [f"l{k}" for k in range(10_000)]}
        ),
    }.items()
    deep = json.loads("[" * 30 + "]" * 30)
    wrong = itertools.cycle([
        deep,
        {"array": 10**6},
        {"array": -1},
        {"csr": [0, 0, 0], "shape": [2, 10**9]},
        {"class": "FunctionTransformer", "params": {}, "state": {}},
        {"class": "StandardScaler", "params": {}, "state": {"mean_": {"array": 0}, "predict": 1}},
        {"pickle": "gASVJAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAl0b3VjaCBvb3BzlIWUUpQu"},
        {"dict": {"": [{}]}},
    ])  # fmt: skip
    for model, (content, _) in valid_models.items():
        names = [*content["model"]["state"], *(f"params.{name}" for name in content["model"]["params"]), "__class__"]
        for name, _round in itertools.product(names, range(2)):
            value = next(wrong)
            key, part = name.removeprefix("params."), "params" if name.startswith("params.") else "state"
            changed = edit(model, lambda state, content: content["model"][part].update({key: value}))  # noqa: B023
            yield f"{model}.{name} = {str(value)[:40]}", changed


def test_crafted_files_are_rejected(valid_models, tmp_path):
    names, blobs = zip(*crafted_files(valid_models), strict=True)
    assert len(blobs) >= 150
    if not EVERYTHING:  # the named cases and a tenth of the others
        names, blobs = names[:36] + names[36::10], blobs[:36] + blobs[36::10]
    results = load_all(tmp_path, valid_models, blobs)
    assert [name for name, (outcome, *_) in zip(names, results, strict=True) if outcome == "loaded"] == []
    check_harmless(results, names)


HOSTILE = (None, True, -1, 0, 10**9, 10**30, 1e308, 5e-324, {"float": "nan"}, "", "precomputed", [], {}, {"dict": {}})
HOSTILE += ({"array": 0}, {"array": 1}, {"names": []}, {"tuple": []}, {"csr": [0, 1, 2], "shape": [3, 10**6]})


def json_locations(value):
    """Every container within JSON, with each of its keys."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(child, dict | list):
            yield from json_locations(child)


def mutate(parts, rng):
    """A file with one to three changes: values, keys, parts in place of each other, types and bytes of arrays."""
    content, arrays = copy.deepcopy(parts[0]), bytearray(parts[1])
    for _ in range(rng.randint(1, 3)):
        found = list(json_locations(content))
        container, key = rng.choice(found)
        other, other_key = rng.choice(found)
        match rng.randrange(6):
            case 0 | 1:
                container[key] = rng.choice(HOSTILE)
            case 2:
                container[key] = copy.deepcopy(other[other_key])
            case 3:
                del container[key]
            case 4 if isinstance(listed := content.get("arrays"), list) and listed:
                k = rng.randrange(len(listed))
                shape, order = rng.choice(parts[0]["arrays"])[1:]
                listed[k] = [rng.choice(["<f8", "<i8", ">f8", "<u8", "<f4"]), shape, order]
            case 5 if arrays:
                start = rng.randrange(len(arrays))
                arrays[start : start + 8] = rng.randbytes(len(arrays[start : start + 8]))
    return encode_model((content, bytes(arrays)))


def test_random_mutants_are_harmless(valid_models, tmp_path):
    rng = random.Random(0)
    blobs = [mutate(valid_models[rng.choice(list(valid_models))], rng) for _ in range(N_MUTANTS)]
    results = load_all(tmp_path, valid_models, blobs)
    check_harmless(results, range(N_MUTANTS))
    assert sum(outcome != "loaded" for outcome, *_ in results) > N_MUTANTS / 2
