"""Crafted, inflated and mutated model files are loaded or rejected with one sentence, in bounded
time and memory.

By default a sample is loaded; ``make fuzz`` loads all, and 4,000 random mutants of files of all
estimators. The number in ``LDLEARN_FUZZ`` is their seed.
"""

import itertools
import os
import random

import numpy as np
import pytest
from example_tables import with_text
from model_fuzzing import find_harm, inflated, load_all, mutate, sound_models

SEED = int(os.environ.get("LDLEARN_FUZZ") or 0)
EVERYTHING = SEED > 0
N_MUTANTS = 4000 if EVERYTHING else 60
INFLATED_LENGTH = 8000  # of two lengths: a matrix of 512 MB


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return sound_models(tmp_path_factory.mktemp("sound"))


def check_harmless(folder, models, names, files):
    """Load files; fail if one does harm. Return the outcomes."""
    results = load_all(folder, models["MeanLDL"], files)
    assert find_harm(results, names) == []
    return [outcome for outcome, *_ in results]


def crafted_files(models):
    """Files by name, each of which must be rejected."""

    def edit(name, change):
        model = models[name].copy()
        change(model.content["model"]["state"], model)
        return model.to_bytes()

    def wide_probe(state, model):
        state["n_features_in_"] = 10**8
        positions = [
            model.add_array(array) for array in (np.empty(0), np.empty(0, "i4"), np.zeros(4, "i4"))
        ]
        model.content["probe"]["dict"]["X"] = {"csr": positions, "shape": [3, 10**8]}

    def long_probe(state, model):
        for name, value in model.content["probe"]["dict"].items():
            rows = model.arrays[value["array"]]
            model.content["probe"]["dict"][name] = {"array": model.add_array(rows[[0, 1, 2, 0]])}

    def networks_without_units(state, model):
        n = 10_000
        state["label_names_"] = {"names": [f"l{k}" for k in range(n)]}
        shapes = [(n, 4, 0), (n, 0), (n, 0, n), (n, 0)]
        names = ("hidden_coef_", "hidden_intercept_", "output_coef_", "output_intercept_")
        for name, shape in zip(names, shapes, strict=True):
            state[name] = {"array": model.add_array(np.empty(shape))}

    def many_concentrations(state, model):
        model.resize(("n_labels", 5), 700)
        (length,) = (pair for pair in model.free_lengths() if "concentrations" in pair[0])
        model.resize(length, 60_000)

    def concentrations_without_probabilities(state, model):
        state["concentrations_"] = {"array": model.add_array(np.ones(3))}

    def negative_classes(state, model):
        state["class_parameters_"] = {"array": model.add_array(-np.ones((5, 5)))}

    def many_matrices(state, model):
        n = 100_000
        parts = (np.ones(n), np.arange(n, dtype="i4"), np.array([0, n], "i4"))
        positions = [model.add_array(part) for part in parts]
        state["made_up_"] = [{"csr": positions, "shape": [1, n]}] * 40_000

    def many_classifiers(state, model):
        state["classifier_"] = state["classifier_"][:1] * 10_000

    def many_indices(state, model):
        state["_index"] = [state["_index"]] * 1000

    def indices_of_large_rows(state, model):
        state["_index"]["state"]["_fit_X"] = {"array": model.add_array(np.zeros((20_000, 10)))}
        state["made_up_"] = [state["_index"]] * 4

    def many_steps(state, model):
        steps = model.content["model"]["params"]["feature_map"]["params"]["steps"]
        steps[:] = steps * 3000

    def colliding(names):
        return {
            "names": [sign * k * (2**61 - 1) for k in range(1, 10_000) for sign in (1, -1)][:names]
        }

    def text(values):
        return with_text(b'{"model": [' + values + b'0], "probe": 1, "arrays": []}')

    encoder = ("preprocessing", "state", "encoders", "dict", "key", "state")

    def in_encoder(name, value):
        def change(state, model):
            for step in encoder:
                state = state[step]
            state[name] = value

        return edit("table of DLDL", change)

    def with_state(model, **parts):
        return edit(model, lambda state, model: state.update(parts))

    generator = {"RandomState": {"pos": 10**8, "keys": {"array": 0}}}
    hashing = {"class": "HashingVectorizer", "params": {"n_features": 2**26}, "state": {}}
    return {
        "vocabulary with an index out of range": in_encoder("vocabulary", {"dict": {"r1": 10**9}}),
        "vocabulary that is too short": in_encoder("vocabulary", {"names": ["r1"]}),
        "vocabulary_": in_encoder("vocabulary_", {"dict": {"r1": 10**9}}),
        "token_pattern": in_encoder("token_pattern", "(a+)+$"),
        "hashing vectoriser": with_state("table of DLDL", preprocessing=hashing),
        "hashing encoder": in_encoder("vocabulary", hashing),
        "RandomState far": with_state("MeanLDL", random_state=generator),
        "RandomState before": with_state("MeanLDL", random_state={"RandomState": {"pos": -200}}),
        "120,000 generators": with_state("MeanLDL", made_up_=[{"RandomState": {}}] * 120_000),
        "four stored predictions": edit("MeanLDL", long_probe),
        "100,000,000 features": with_state("MeanLDL", n_features_in_=10**8),
        "100,000,000 features of a sparse probe": edit("MeanLDL", wide_probe),
        "60 MB of lists": text(b"[]," * 20_000_000),
        "7 MB of lists": text(b"[]," * 2_300_000),
        "7 MB of numbers": text(b"1.5," * 1_900_000),
        "7 MB of words": text(b'"ab",' * 1_500_000),
        "most values": text(b'"ab",' * 499_000),
        "most dicts": text(b'{"dict": {"a": 1}},' * 99_000),
        "a long text of wide characters": text(
            b'"' + b"a" * 7_900_000 + "\N{GRINNING FACE}".encode() + b'",'
        ),
        "many empty arrays": with_text(
            b'{"model": 1, "probe": 1, "arrays": ['
            + b'["<f8", [0], false],' * 60_000
            + b'["<f8", [0], false]]}'
        ),
        "a long number": text(b"9" * 5000 + b","),
        "a number in every place": text(b"9" * 4000 + b",") * 3,
        "depth": text(b"[" * 190_000),
        "a set": with_state("MeanLDL", label_names_={"set": colliding(9000)["names"]}),
        "colliding features": with_state("MeanLDL", feature_names_in_=colliding(4)),
        "colliding labels": with_state("AAKNN-0", label_names_=colliding(3)),
        "colliding table labels": with_state("table of DLDL", labels=colliding(3)["names"]),
        "1,000 neighbour indices": edit("AAKNN-0", many_indices),
        "neighbour indices of large rows": edit("AAKNN-0", indices_of_large_rows),
        "matrices that share arrays": edit("MeanLDL", many_matrices),
        "10,000 classifiers": edit("FromClassifier-0", many_classifiers),
        "6,000 steps": edit("RBFSampler and DLDL", many_steps),
        "networks without units": edit("MLPLDL", networks_without_units),
        "60,000 concentrations of 700 labels": edit("CountLDL-0", many_concentrations),
        "concentrations without probabilities": edit(
            "CountLDL-0", concentrations_without_probabilities
        ),
        "negative parameters of classes": edit("CountLDL-0", negative_classes),
        "a very wide matrix": with_state("AAKNN-0", _rows={"csr": [0, 0, 0], "shape": [2, 10**12]}),
        "10,000 labels of a support vector machine": with_state(
            "PTSVM", label_names_={"names": [f"l{k}" for k in range(10_000)]}
        ),
    }


def test_crafted_files_are_rejected(models, tmp_path):
    files = crafted_files(models)
    outcomes = check_harmless(tmp_path, models, files, list(files.values()))
    assert [
        name for name, outcome in zip(files, outcomes, strict=True) if outcome == "loaded"
    ] == []


def inflated_files(models):
    """Files of all models in which one or two lengths have grown, wherever they occur."""
    rng = random.Random(SEED)
    for name, model in models.items():
        lengths = model.free_lengths()
        chosen = [*itertools.combinations(lengths, 1), *itertools.combinations(lengths, 2)]
        for grown in chosen if EVERYTHING else rng.sample(chosen, 1):
            changed = inflated(model, grown, INFLATED_LENGTH)
            if changed is not None:
                yield (name, grown), changed.to_bytes()


def test_memory_is_bounded_by_the_file(models, tmp_path):
    files = inflated_files(models)
    while batch := list(itertools.islice(files, 300)):
        check_harmless(tmp_path, models, *zip(*batch, strict=True))


def test_random_mutants_are_harmless(models, tmp_path):
    rng = random.Random(SEED)
    others = list(models.values())
    n_rejected = 0
    for start in range(0, N_MUTANTS, 400):
        names = rng.choices(list(models), k=min(400, N_MUTANTS - start))
        files = [mutate(models[name], others, rng).to_bytes() for name in names]
        numbered = [f"mutant {k} of seed {SEED}: {name}" for k, name in enumerate(names, start)]
        outcomes = check_harmless(tmp_path, models, numbered, files)
        n_rejected += sum(outcome != "loaded" for outcome in outcomes)
    assert n_rejected > N_MUTANTS / 2
