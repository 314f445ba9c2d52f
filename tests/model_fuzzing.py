"""Model files taken apart, changed and signed again, and loaded in a process with limits."""

from __future__ import annotations

import copy
import json
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from estimator_cases import case_id, instances, make_problem, make_targets
from example_tables import LABELS, make_table, parts_of, with_text
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from ldlearn import DLDL, FromClassifier, StackedLDL, VoteLDL
from ldlearn.tables import ColumnOptions, TableModel, save_model
from ldlearn.tables.model_schema import _RECORDS, find_schema

MEGABYTES = 200
SECONDS = 5
LOADER = """
import json, re, resource, signal, sys, time, warnings
from pathlib import Path
from ldlearn.exceptions import LDLearnError
from ldlearn.tables import TableModel, load_model
from ldlearn.tables.description import describe_model

def megabytes(field):
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\\s+(\\d+) kB", status)[1]) / 1024

def load(path):
    model = load_model(path)
    if isinstance(model, TableModel):
        describe_model(model)

warnings.simplefilter("ignore")
first, seconds, *paths = sys.argv[1:]
load(first)  # imports what loading needs
limit = int(megabytes("VmSize") + 1000) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # protects the machine that runs the tests
for path in paths:
    Path("/proc/self/clear_refs").write_text("5")
    before, start = megabytes("VmRSS"), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, float(seconds))  # ends the process
    try:
        load(path)
        outcome = "loaded"
    except LDLearnError as error:
        outcome = str(error)
    except Exception as error:
        outcome = f"UNEXPECTED {error!r}"
    elapsed = time.process_time() - start
    print(json.dumps([outcome, elapsed, megabytes("VmHWM") - before]), flush=True)
"""


@dataclass
class ModelFile:
    """The JSON values and the arrays of a model file."""

    content: dict[str, Any]
    arrays: list[np.ndarray]

    @classmethod
    def from_bytes(cls, written: bytes) -> ModelFile:
        content, blob = parts_of(written)
        arrays = []
        for code, shape, columnwise in content.pop("arrays"):
            n_bytes = int(np.prod(shape)) * np.dtype(code).itemsize
            flat, blob = np.frombuffer(blob[:n_bytes], code), blob[n_bytes:]
            arrays.append(flat.reshape(shape[::-1]).T if columnwise else flat.reshape(shape))
        return cls(content, arrays)

    def to_bytes(self) -> bytes:
        """The file, with a valid checksum."""
        listed = [[array.dtype.str, list(array.shape), False] for array in self.arrays]
        text = json.dumps(self.content | {"arrays": listed}).encode()
        return with_text(
            text, b"".join(np.ascontiguousarray(array).tobytes() for array in self.arrays)
        )

    def copy(self) -> ModelFile:
        return ModelFile(copy.deepcopy(self.content), list(self.arrays))

    def objects(self) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Types and values of the attributes of each object, and of the stored predictions."""

        def search(value: Any) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
            if isinstance(value, dict) and "class" in value:
                yield find_schema(value["class"]).attributes, value["state"]
            for child in value.values() if isinstance(value, dict) else value:
                if isinstance(child, dict | list):
                    yield from search(child)

        yield from search(self.content["model"])
        yield _RECORDS["probe"], self.content["probe"]["dict"]

    def dimensions(self) -> Iterator[tuple[Any, Any, list[tuple[str, int]]]]:
        """Values that have lengths: where they are, and the names and values of their lengths."""
        for types, state in self.objects():
            for name, value in state.items():
                kinds = types.get(name, "any").split(" | ")
                found = next(filter(None, (self.lengths(kind, value) for kind in kinds)), None)
                if found:
                    yield state, name, found
                elif isinstance(value, list) or (isinstance(value, dict) and "class" not in value):
                    for part, key in json_locations(value):
                        if inner := self.lengths("any", part[key]):
                            yield part, key, inner

    def free_lengths(self) -> list[tuple[str, int]]:
        """All lengths by name, and by value for those that several names share."""
        named = {pair for *_, pairs in self.dimensions() for pair in pairs if not pair[0].isdigit()}
        values = Counter(length for _, length in named)
        return sorted(
            named | {("all", length) for length, n_names in values.items() if n_names > 1}
        )

    def lengths(self, kind: str, value: Any) -> list[tuple[str, int]]:
        """The lengths of a value of a type of the schema, with their names; none if it is of
        another type."""
        if kind.startswith("size ") and type(value) is int:
            return [(kind[5:], value)]
        match value:
            case {"array": position}:
                shape = self.arrays[position].shape
            case {"csr": _, "shape": shape}:
                pass
            case {"names": list(items)}:
                shape = (len(items),)
            case list(items) if "(" in kind:
                shape = (len(items),)
            case _:
                return []
        found = re.search(r"\((.*)\)", kind)
        names = found[1].split(", ") if found else [f"any {length}" for length in shape]
        return list(zip(names, shape, strict=True)) if len(names) == len(shape) else []

    def resize(self, length: tuple[str, int], new: int) -> None:
        """Give a length another value wherever it occurs; what is added is 0."""
        name, old = length
        for container, key, lengths in list(self.dimensions()):
            names = (
                [name] if name != "all" else [pair[0] for pair in lengths if not pair[0].isdigit()]
            )
            is_meant = [pair[0] in names and pair[1] == old for pair in lengths]
            if any(is_meant):
                shape = [
                    new if meant else pair[1] for meant, pair in zip(is_meant, lengths, strict=True)
                ]
                container[key] = self.resized(container[key], shape)

    def resized(self, value: Any, shape: list[int]) -> Any:
        if type(value) is int:
            return shape[0]
        if isinstance(value, list) or "names" in value:
            items = value if isinstance(value, list) else value["names"]
            items = items[: shape[0]] + [f"x{k}" for k in range(len(items), shape[0])]
            return items if isinstance(value, list) else {"names": items}
        if "csr" in value:
            indptr = self.arrays[value["csr"][2]]
            longer = np.append(
                indptr, np.full(max(shape[0] + 1 - len(indptr), 0), indptr[-1], indptr.dtype)
            )
            return {"csr": [*value["csr"][:2], self.add_array(longer)], "shape": shape}
        old = self.arrays[value["array"]]
        if np.prod(shape, dtype=float) > 5e5:
            raise OverflowError
        new = np.zeros(shape, old.dtype)
        kept = tuple(slice(min(pair)) for pair in zip(shape, old.shape, strict=True))
        new[kept] = old[kept]
        return {"array": self.add_array(new)}

    def add_array(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1

    def drop_unused(self) -> ModelFile:
        """Without the arrays that no value refers to, which the limits of a file count."""
        used: dict[int, int] = {}

        def renumber(value: Any) -> Any:
            match value:
                case {"array": int(position)}:
                    return {"array": used.setdefault(position, len(used))}
                case {"csr": list(parts), "shape": shape}:
                    return {
                        "csr": [used.setdefault(part, len(used)) for part in parts],
                        "shape": shape,
                    }
                case dict():
                    return {key: renumber(child) for key, child in value.items()}
                case list():
                    return [renumber(child) for child in value]
            return value

        content = renumber(self.content)
        return ModelFile(content, [self.arrays[position] for position in used])


@cache
def sound_models(folder: Path) -> dict[str, ModelFile]:
    """A model file of every estimator with each of its test settings, of feature maps, and of
    tables."""
    X, D, Y = make_problem()
    maps = [
        make_pipeline(StandardScaler(), RBFSampler(n_components=5, random_state=0)),
        make_pipeline(MinMaxScaler(), Nystroem(n_components=6, random_state=0)),
        make_pipeline(RobustScaler(), PCA(2)),
        make_pipeline(MaxAbsScaler(), TruncatedSVD(2)),
        Normalizer(),
    ]
    exact = {"beta": 10.0, "gamma": 1.0}
    columns = ColumnOptions(features=["height", "wet", "place", "key"], text=["key"])
    found = {}

    def add(name: str, model: Any, **options: Any) -> None:
        save_model(model, folder / "sound.ldl", **options)
        found[name] = ModelFile.from_bytes((folder / "sound.ldl").read_bytes())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for estimator in instances():
            add(case_id(estimator), estimator.fit(X, make_targets(estimator, D, Y)))
        for feature_map in maps:
            last = feature_map.steps[-1][1] if hasattr(feature_map, "steps") else feature_map
            add(f"{type(last).__name__} and DLDL", DLDL(**exact, feature_map=feature_map).fit(X, Y))
        for joint in (DLDL(**exact), VoteLDL()):
            add(f"{type(joint).__name__} with intervals", joint.fit(X, Y), intervals=True)
        for estimator in (DLDL(**exact), FromClassifier(), StackedLDL(teacher=DLDL(**exact))):
            model = TableModel.fit(make_table(), LABELS, columns=columns, estimator=estimator)
            add(f"table of {type(estimator).__name__}", model)
    return found


def load_all(folder: Path, sound: ModelFile, blobs: list[bytes]) -> list[tuple[str, float, float]]:
    """Outcome, seconds and megabytes of loading each file, in processes that may crash."""
    first, *paths = (folder / f"{k:05d}.ldl" for k in range(len(blobs) + 1))
    for path, blob in zip((first, *paths), (sound.to_bytes(), *blobs), strict=True):
        path.write_bytes(blob)
    results: list[tuple[str, float, float]] = []
    while len(results) < len(paths):
        command = [sys.executable, "-c", LOADER, first, str(SECONDS), *paths[len(results) :]]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        results += [tuple(json.loads(line)) for line in found.stdout.splitlines()]
        if len(results) < len(paths):
            results.append(
                (f"UNEXPECTED end with {found.returncode} {found.stderr[-500:]}", 0.0, 0.0)
            )
    return results


def find_harm(
    results: list[tuple[str, float, float]], names: Any
) -> list[tuple[str, str, float, float]]:
    """The files that ended otherwise than by loading or one sentence, or within more memory or
    time."""
    return [
        (name, outcome[:300], seconds, megabytes)
        for (outcome, seconds, megabytes), name in zip(results, names, strict=True)
        if re.search("UNEXPECTED|MemoryError|\n", outcome)
        or megabytes > MEGABYTES
        or seconds > SECONDS
    ]


def inflated(model: ModelFile, lengths: tuple[tuple[str, int], ...], new: int) -> ModelFile | None:
    """The model with larger lengths; None if an array of the file would have all of them."""
    changed = model.copy()
    try:
        for length in lengths:
            changed.resize(length, new)
    except OverflowError:
        return None
    return changed.drop_unused()


HOSTILE = (
    None,
    True,
    -1,
    0,
    1,
    2,
    10**9,
    10**30,
    0.5,
    1e308,
    1e-300,
    5e-324,
    "",
    "precomputed",
    [],
    {},
    {"dict": {}},
)
HOSTILE += (
    {"float": "nan"},
    {"float": "inf"},
    {"array": 0},
    {"array": 1},
    {"names": []},
    {"tuple": []},
)
HOSTILE += (
    {"csr": [0, 1, 2], "shape": [3, 10**6]},
    {"class": "Normalizer", "params": {}, "state": {}},
)
FILLS = (0, 1, -1, 2, 127, 0.5, 1e300, 1e-300, np.nan, np.inf)


def json_locations(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within JSON, with each of its keys."""
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(child, dict | list):
            yield from json_locations(child)


def mutate(model: ModelFile, others: list[ModelFile], rng: random.Random) -> ModelFile:
    """The model with one to three changes of its JSON values, lengths and arrays."""
    changed = model.copy()
    for _ in range(rng.randint(1, 3)):
        places = list(json_locations(changed.content))
        container, key = rng.choice(places)
        action = rng.randrange(9)
        if action <= 1:
            container[key] = copy.deepcopy(rng.choice(HOSTILE))
        elif action == 2:
            other, other_key = rng.choice(places)
            container[key] = copy.deepcopy(other[other_key])
        elif action == 3:
            del container[key]
        elif action == 4:  # a parameter
            objects = [part[k] for part, k in places if is_object(part[k])]
            params = [(value["params"], name) for value in objects for name in value["params"]]
            if params:
                container, key = rng.choice(params)
                container[key] = copy.deepcopy(rng.choice(HOSTILE))
        elif action == 5:  # an object of another model
            donor = rng.choice(others).copy()
            found = [
                part[k] for part, k in json_locations(donor.content["model"]) if is_object(part[k])
            ]
            own = [(part, k) for part, k in places if is_object(part[k])]
            if own:
                container, key = rng.choice(own)
                container[key] = shift_arrays(
                    rng.choice([*found, donor.content["model"]]), len(changed.arrays)
                )
                changed.arrays += donor.arrays
        elif action == 6:
            # An earlier change may have spoilt the part.
            with suppress(
                OverflowError, KeyError, AttributeError, TypeError, IndexError, ValueError
            ):
                changed.resize(
                    rng.choice(changed.free_lengths()), rng.choice([0, 1, 2, 3, 7, 1000])
                )
        elif changed.arrays:
            k = rng.randrange(len(changed.arrays))
            array = changed.arrays[k].copy()
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if action == 7:
                    array = array.astype(
                        rng.choice(["<f8", "<i8", ">f8", "<u8", "<f4", "<i1", "?"])
                    )
                elif array.size:
                    some = slice(None) if rng.random() < 0.5 else rng.randrange(array.size)
                    array = array.ravel()
                    array[some] = np.array(rng.choice(FILLS)).astype(array.dtype)
                    array = array.reshape(changed.arrays[k].shape)
            changed.arrays[k] = array
    return changed


def is_object(value: Any) -> bool:
    return isinstance(value, dict) and "class" in value and isinstance(value.get("params"), dict)


def shift_arrays(value: Any, offset: int) -> Any:
    """JSON values whose arrays are listed after others."""
    match value:
        case {"array": int(position)}:
            return {"array": position + offset}
        case {"csr": list(parts), "shape": shape}:
            return {"csr": [part + offset for part in parts], "shape": shape}
        case dict():
            return {key: shift_arrays(child, offset) for key, child in value.items()}
        case list():
            return [shift_arrays(child, offset) for child in value]
    return value
