"""Objects as JSON and arrays, and back: no pickle, no code, only classes from a fixed list.

JSON values stand for themselves, except that an object with the key ``"type"`` stands for something else: an array
(kept beside the JSON, by number), a sparse matrix, a tuple, a dict, a number of NumPy, the state of a random
generator, or an instance of an allowed class as the dict of its attributes.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections import UserList
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import all_estimators
from ldlearn.exceptions import ModelFileError
from ldlearn.tables import NamedEmbedding, TablePreprocessing

_ARRAY_KINDS = "biufcU"
_DEEPEST = 60  # no model is; a hostile file could exhaust the stack
_SPARSE = {"csr_array", "csr_matrix", "csc_array", "csc_matrix"}
# Attributes that would make a foreign object do more than compute: a cache folder, a number of processes.
_MUST_BE_NONE = ("memory", "n_jobs")
_ADDRESSES = ("_stop_words_id",)  # in memory, other in every process: vectorizers find them again


class Encoder:
    """Turns an object into JSON values; the arrays it meets are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def encode(self, value: Any, path: str = "model", depth: int = 0) -> Any:
        """JSON values of an object; ``path`` names it in errors."""
        if depth > _DEEPEST:
            raise ModelFileError(f"{path} is nested too deeply for a model file.")

        def inner(child: Any, name: str) -> Any:
            return self.encode(child, f"{path}.{name}", depth + 1)

        # By type, not isinstance: an instance of a subclass, such as a number of NumPy, would come back as something
        # else.
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
        if isinstance(value, UserList):  # scikit-learn 1.6 wraps a list of columns so that reading it warns
            value = value.data
        if type(value) is list:
            return [inner(child, str(k)) for k, child in enumerate(value)]
        if type(value) is tuple:
            return {"type": "tuple", "items": [inner(child, str(k)) for k, child in enumerate(value)]}
        if type(value) in (set, frozenset):
            # Sorted, so that the same model gives the same bytes.
            return {"type": "set", "items": [inner(child, "item") for child in sorted(value, key=repr)]}
        if type(value) is dict:
            # Pairs, because keys of JSON are texts only.
            pairs = [[inner(k, "key"), inner(child, str(k))] for k, child in value.items()]
            return {"type": "dict", "items": pairs}
        if type(value) is slice:
            return {"type": "slice", "items": [inner(part, "part") for part in (value.start, value.stop, value.step)]}
        return self._encode_other(value, path, inner)

    def _encode_other(self, value: Any, path: str, inner: Callable[[Any, str], Any]) -> Any:
        if isinstance(value, np.generic):
            return {"type": "scalar", "array": self._keep(np.asarray(value), path)}
        if type(value) is np.ndarray:
            return self._encode_array(value, path, inner)
        if sparse.issparse(value):
            if type(value).__name__ not in _SPARSE:
                value = sparse.csr_array(value)
            parts = {name: self._keep(getattr(value, name), path) for name in ("data", "indices", "indptr")}
            return {"type": "sparse", "class": type(value).__name__, "shape": list(value.shape), **parts}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            return {"type": "dtype", "name": np.dtype(value).name, "is_class": isinstance(value, type)}
        if isinstance(value, np.random.RandomState):
            return {"type": "RandomState", "state": inner(value.get_state(legacy=False), "state")}
        return self._encode_object(value, path, inner)

    def _encode_array(self, value: NDArray[Any], path: str, inner: Callable[[Any, str], Any]) -> Any:
        if value.dtype != object:
            return {"type": "array", "array": self._keep(value, path)}
        # NumPy would pickle them.
        items = [inner(child, str(k)) for k, child in enumerate(value.ravel().tolist())]
        return {"type": "objects", "shape": list(value.shape), "items": items}

    def _encode_object(self, value: Any, path: str, inner: Callable[[Any, str], Any]) -> Any:
        if isinstance(value, type) or callable(value) or not hasattr(value, "__dict__"):
            raise ModelFileError(f"{path} is {value!r:.60}, which a model file cannot hold; set it to None first.")
        try:
            name = name_of_class(type(value))
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        if isinstance(value, NearestNeighbors):
            # Its search tree is binary; the rows are enough to build it again.
            return {"type": "neighbors", "params": inner(value.get_params(), "params"), "X": inner(value._fit_X, "X")}
        if name.startswith("sklearn:"):
            _check_harmless(vars(value), f"{path}, a {type(value).__name__}")
        # What an estimator of ours would pickle: it may hold rows of its training, which it then lets go.
        held: Any = value.__getstate__() if isinstance(value, LabelEstimator) else vars(value)
        state = {key: inner(child, key) for key, child in held.items() if key not in _ADDRESSES}
        return {"type": "object", "class": name, "state": state}

    def _keep(self, array: NDArray[Any], path: str) -> int:
        if array.dtype.kind not in _ARRAY_KINDS:
            raise ModelFileError(f"{path} is an array of {array.dtype}, which a model file cannot hold.")
        # An array that several attributes share is stored once.
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)  # kept alive, so that no other object can get its id
        return self._numbers[id(array)]


class Decoder:
    """Turns JSON values back into objects."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays

    def decode(self, value: Any, depth: int = 0) -> Any:
        """The object that JSON values stand for."""
        if depth > _DEEPEST:
            raise ModelFileError("it is nested too deeply")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.decode(child, depth + 1) for child in value]
        make = _MAKERS.get(value["type"])
        if make is None:
            raise ModelFileError(f"it holds something of unknown type {value['type']!r:.40}")
        return make(self, value, lambda child: self.decode(child, depth + 1))

    def array(self, number: Any) -> NDArray[Any]:
        """One of the arrays beside the JSON."""
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise ModelFileError(f"it refers to the array {number!r:.40}, which it does not hold")
        return self._arrays[number]


_Inner = Callable[[Any], Any]


def _make_sparse(decoder: Decoder, value: Any, inner: _Inner) -> Any:
    if value["class"] not in _SPARSE:
        raise ModelFileError(f"it holds a sparse matrix of unknown kind {value['class']!r:.40}")
    parts = tuple(decoder.array(value[name]) for name in ("data", "indices", "indptr"))
    matrix = getattr(sparse, value["class"])(parts, shape=tuple(int(n) for n in value["shape"]))
    # scipy believes indices, and its compiled loops would go beyond the arrays.
    matrix.check_format(full_check=True)
    return matrix


def _make_object(decoder: Decoder, value: Any, inner: _Inner) -> Any:
    cls = class_of_name(str(value["class"]))
    # Without its constructor: attributes are all that a file may give.
    made: Any = object.__new__(cls)
    state = {}
    for key, child in value["state"].items():
        if not key.isidentifier() or key.startswith("__") or callable(getattr(cls, key, None)):
            raise ModelFileError(f"it sets the attribute {key!r:.40} of a {cls.__name__}, which no file may")
        state[key] = inner(child)
    if cls.__module__.startswith("sklearn."):
        _check_harmless(state, f"a {cls.__name__}")
    vars(made).update(_with_parameters_of_today(cls, state) if issubclass(cls, LabelEstimator) else state)
    return made


def _with_parameters_of_today(cls: type[LabelEstimator], state: dict[str, Any]) -> dict[str, Any]:
    """The state of an older file: parameters under their new names, and by default those that came later."""
    renamed = {cls._renamed_params.get(key, key): child for key, child in state.items()}
    signature = inspect.signature(cls.__init__).parameters.values()
    return {p.name: p.default for p in signature if p.default is not p.empty} | renamed


def _check_harmless(state: dict[str, Any], name: str) -> None:
    for key in _MUST_BE_NONE:
        if state.get(key) is not None:
            raise ModelFileError(f"{key} of {name} must be None in a model file")


def _make_neighbors(decoder: Decoder, value: Any, inner: _Inner) -> Any:
    params = inner(value["params"])
    _check_harmless(params, "a NearestNeighbors")
    return NearestNeighbors(**params).fit(inner(value["X"]))


def _make_objects(decoder: Decoder, value: Any, inner: _Inner) -> NDArray[np.object_]:
    items = [inner(child) for child in value["items"]]
    if not all(child is None or isinstance(child, str | float | int) for child in items):
        raise ModelFileError("it holds an array of objects")
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape([int(n) for n in value["shape"]])


def _make_random_state(decoder: Decoder, value: Any, inner: _Inner) -> np.random.RandomState:
    generator = np.random.RandomState()
    generator.set_state(inner(value["state"]))
    return generator


def _make_dtype(decoder: Decoder, value: Any, inner: _Inner) -> Any:
    dtype = np.dtype(str(value["name"]))
    if dtype.kind not in _ARRAY_KINDS and not dtype.hasobject:
        raise ModelFileError(f"it names the type {dtype}")
    return dtype.type if value["is_class"] else dtype


_MAKERS: dict[str, Callable[[Decoder, Any, _Inner], Any]] = {
    "float": lambda decoder, value, inner: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value["value"]],
    "tuple": lambda decoder, value, inner: tuple(inner(child) for child in value["items"]),
    "set": lambda decoder, value, inner: {inner(child) for child in value["items"]},
    "dict": lambda decoder, value, inner: {inner(key): inner(child) for key, child in value["items"]},
    "slice": lambda decoder, value, inner: slice(*(inner(child) for child in value["items"])),
    "scalar": lambda decoder, value, inner: decoder.array(value["array"])[()],
    "array": lambda decoder, value, inner: decoder.array(value["array"]),
    "objects": _make_objects,
    "sparse": _make_sparse,
    "dtype": _make_dtype,
    "RandomState": _make_random_state,
    "object": _make_object,
    "neighbors": _make_neighbors,
}


# Packages whose classes hold nothing but numbers; their modules are never imported for a file's sake.
_OWN_PACKAGES = ("joint", "uncertainty", "enhancement", "learning", "compose", "solvers", "core")
# By where they stood while 0.2.0 was made; files name them as they name estimators.
_FORMER_NAMES = {
    "ldlearn.tables.preprocessing:TablePreprocessing": "ldlearn:TablePreprocessing",
    "ldlearn.tables.embedding:NamedEmbedding": "ldlearn:NamedEmbedding",
}


# Transformers and models of scikit-learn that our estimators and the preprocessing, now or once, are made of.
_SKLEARN_CLASSES = {
    "cluster": ("KMeans",),
    "compose": ("ColumnTransformer",),
    "decomposition": ("PCA", "TruncatedSVD"),
    "feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "impute": ("SimpleImputer",),
    "kernel_approximation": ("Nystroem", "RBFSampler"),
    "linear_model": ("LinearRegression", "LogisticRegression", "Ridge"),
    "mixture": ("GaussianMixture",),
    "neighbors": ("NearestNeighbors",),
    "pipeline": ("FeatureUnion", "Pipeline"),
    "preprocessing": (
        "LabelBinarizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder", "PolynomialFeatures",
        "RobustScaler", "StandardScaler",
    ),
}  # fmt: skip


@cache
def _sklearn_classes() -> dict[str, type]:
    modules = {import_module(f"sklearn.{module}"): names for module, names in _SKLEARN_CLASSES.items()}
    return {name: getattr(module, name) for module, names in modules.items() for name in names}


@cache
def _own_classes() -> dict[str, type]:
    return {**dict(all_estimators()), "TablePreprocessing": TablePreprocessing, "NamedEmbedding": NamedEmbedding}


def name_of_class(cls: type) -> str:
    """The name by which a file refers to a class; a class that it may not name is an error."""
    # Without its module first: that may change between versions.
    for library in ("ldlearn", "sklearn", cls.__module__):
        name = f"{library}:{cls.__qualname__}"
        if _find_class(name) is cls:
            return name
    raise ModelFileError(
        f"Model files cannot hold a {cls.__module__}.{cls.__qualname__}; use joblib.dump if you trust every reader."
    )


def class_of_name(name: str) -> type:
    """The class a file refers to; names that are not allowed are refused without importing anything."""
    found = _find_class(_FORMER_NAMES.get(name, name))
    if found is None:
        raise ModelFileError(f"it names {name[:80]!r}, which is not among the classes a model file may hold")
    return found


def _find_class(name: str) -> type | None:
    library, _, class_name = name.partition(":")
    if library == "ldlearn":
        return _own_classes().get(class_name)
    if library == "sklearn":
        return _sklearn_classes().get(class_name)
    # A class of our own is looked up among the modules already imported.
    in_packages = library.startswith(tuple(f"ldlearn.{package}." for package in _OWN_PACKAGES))
    if library not in sys.modules or not in_packages:
        return None
    # Not what a module of ours merely imports.
    found = vars(sys.modules[library]).get(class_name)
    return found if isinstance(found, type) and found.__module__ == library else None
