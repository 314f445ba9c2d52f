"""Model files: `save_model` and `load_model`.

A file is a line with the format and its version, a line with the SHA-256 of the rest, the length of
a JSON text, that text, and the arrays that it lists. Nothing is compressed, so a file can never ask
for more memory than a small multiple of its own size. JSON values stand for themselves, except that
objects with a single key such as ``"array"`` or ``"class"`` stand for what JSON lacks. What each
class may hold, it declares itself: see `ldlearn.tables.model_schema`.
"""

import hashlib
import json
import math
import os
import re
import warnings
from collections import UserList
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import installed_versions
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import Array
from ldlearn.exceptions import FileError, ModelFileError
from ldlearn.tables.column_types import CellReport
from ldlearn.tables.columns import ColumnType
from ldlearn.tables.files import FilePath, atomic_write, convert_os_errors
from ldlearn.tables.model_schema import find_schema, import_method, is_record, schema_of
from ldlearn.tables.table_model import TableModel
from ldlearn.tables.values import import_pandas
from ldlearn.tables.writing import check_gives_intervals

_MAGIC = b"ldlearn-model "
_FORMAT_VERSION = 1
_MAX_JSON_BYTES = 8 << 20  # 140,000 columns
# Lists and dicts, and values of the JSON: each takes far more memory than its few bytes of text.
_MAX_CONTAINERS = 200_000
_MAX_VALUES = 500_000
_MAX_OBJECTS = 5_000
_MAX_DEPTH = 20
_MAX_USES = 10  # of an array, on average
_ARRAY_KINDS = "biuf"


def save_model(model: Any, path: FilePath, *, intervals: bool = False) -> None:
    """Write a fitted model to a file that is safe to share.

    Loading the file runs no code of it. It holds the fitted attributes: for most methods that
    includes the degrees of the training rows, for methods that look up neighbours also their
    features. A random generator is stored as None.

    Parameters
    ----------
    model : TableModel or fitted estimator of this library
    path : str or path-like
        By custom it ends in ``.ldl``. An existing file is replaced once the new one is complete.
    intervals : bool, default=False
        Whether the loaded model gives intervals and `far_from_training`. If they were not asked for
        yet, the posterior is computed now, which takes about the time of the fit.

    Raises
    ------
    ModelFileError
        If the model holds something that a file cannot, such as a function.
    """
    if not isinstance(model, TableModel | LabelEstimator):
        wanted = "Only a TableModel or an estimator of ldlearn can be saved"
        raise ModelFileError(f"{wanted}, not {type(model).__name__}.")
    if intervals:
        estimator = _estimator_of(model)
        check_gives_intervals(estimator)
        # Without this method, the fit has computed all that intervals need.
        if hasattr(estimator, "compute_posterior"):
            estimator.compute_posterior()
    encoder = _Encoder()
    content = {
        "made_with": installed_versions(),
        "model": encoder.encode(model, type(model).__name__),
        "probe": encoder.encode(_probe_predictions(model), "probe"),
    }
    with atomic_write(path) as file:
        _write_content(file, content, encoder.arrays)


def load_model(path: FilePath, method: str | None = None) -> Any:
    """Read a model from a file that `save_model` has written.

    No pickle is read, no code of the file runs, no module is imported for its sake; the memory
    needed is bounded by the size of the file. After loading, the model must reproduce a few
    predictions stored with it.

    Parameters
    ----------
    path : str or path-like
    method : str, optional
        A method of another package that the model was fitted with, ``package.module:Class``. It is
        imported, which runs its code; a file that holds a method that you do not name is refused.

    Returns
    -------
    model : TableModel or estimator
        Predicts the same numbers, to the last bit, as the one that was saved.

    Raises
    ------
    ModelFileError
        If the file is truncated, changed, from a newer version, hostile, or no model file at all.
    """
    imported = set() if method is None else import_method(method)
    try:
        with convert_os_errors(path, "read"), Path(path).open("rb") as file:
            content, arrays = _read_content(file)
        decoder = _Decoder(arrays)
        model = decoder.decode(content["model"])
        expected = decoder.decode(content["probe"])
        _check_consistency(model, expected)
        if method is not None and not (imported and imported <= decoder.names):
            problem = f"it was not fitted with {method}, a method of another package"
            raise ModelFileError(f"{problem}; leave that out")
        _check_probe_predictions(model, expected, content.get("made_with"))
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {str(error).rstrip('.')}.") from None
    except FileError:
        raise
    # Whatever a damaged file makes the decoder stumble over.
    except Exception as error:
        problem = f"it is damaged ({type(error).__name__})"
        raise ModelFileError(f"{path} cannot be loaded: {problem}.") from None
    return model


def load_table_model(path: FilePath | TableModel, method: str | None = None) -> TableModel:
    """The model of a file, which must be one for tables; a model in memory comes back as it is."""
    loaded = path if isinstance(path, TableModel) else load_model(path, method)
    if not isinstance(loaded, TableModel):
        problem = f"it holds a bare {type(loaded).__name__} without column names"
        advice = "use it from Python by ldlearn.tables.load_model"
        raise ModelFileError(f"{path}: {problem}; {advice}.")
    return loaded


def _check_consistency(model: Any, probe: Any) -> None:
    """Refuse a model whose parts, each sound in itself, do not belong together."""
    estimator = _estimator_of(model)
    if not isinstance(estimator, LabelEstimator) or not is_record(probe, "probe", {}):
        raise ModelFileError("it holds no estimator of ldlearn, or no predictions of it")
    if isinstance(model, TableModel):
        labels = list(model.labels)
        same = labels == list(estimator.label_names_) == list(model.facts["label_means"])
        same &= len(model.facts["mean_distribution"]) == len(labels)
        same &= set(model.types.columns.values()) <= set(ColumnType)
        if model.classifier is not None:
            same &= len(model.classifier.label_names_) == len(labels)
        if not same or not hasattr(estimator, "predict"):
            raise ModelFileError("its parts are not those of a table model")


class _Encoder:
    """Turns an object into JSON values; the arrays it meets are collected in ``arrays``."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._positions: dict[int, int] = {}

    def encode(self, value: Any, path: str) -> Any:
        """JSON values of an object; ``path`` names it in errors."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        # scikit-learn 1.6 wraps a list of columns so that reading it warns.
        if type(value) in (list, UserList):
            return [self.encode(child, path) for child in value]
        if type(value) is tuple:
            return {"tuple": self.encode(list(value), path)}
        if type(value) is dict and all(type(key) is str for key in value):
            return {"dict": self._encode_items(value, path)}
        if type(value) is np.ndarray and value.dtype.kind in "OU":
            return {"names": value.tolist()}
        if type(value) is np.ndarray:
            return {"array": self._add_array(value, path)}
        if sparse.issparse(value):
            rows = sparse.csr_array(value)
            parts = [self._add_array(part, path) for part in (rows.data, rows.indices, rows.indptr)]
            return {"csr": parts, "shape": list(rows.shape)}
        if isinstance(value, np.random.RandomState):
            return None
        return self._encode_object(value, path)

    def _encode_items(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        return {name: self.encode(child, f"{path}.{name}") for name, child in values.items()}

    def _encode_object(self, value: Any, path: str) -> Any:
        try:
            schema = schema_of(type(value))
            params, state = schema.split_state(value)
            coded = self._encode_items(params, path)
            coded_state = self._encode_items(state, path)
            schema.check(params, state)
        except ModelFileError as error:
            if str(error).startswith(path):
                raise
            raise ModelFileError(f"{path}: {error}") from None
        return {
            "class": schema.name,
            "params": coded,
            "state": coded_state,
        }

    def _add_array(self, array: Array, path: str) -> int:
        if array.dtype.kind not in _ARRAY_KINDS:
            problem = f"an array of {array.dtype}, which a model file cannot hold"
            raise ModelFileError(f"{path} is {problem}.")
        # An array that several attributes share is stored once.
        if id(array) not in self._positions:
            self._positions[id(array)] = len(self.arrays)
            self.arrays.append(array)  # kept alive, so that no other object can get its id
        return self._positions[id(array)]


class _Decoder:
    """Turns JSON values back into objects."""

    def __init__(self, arrays: list[Array]) -> None:
        self._arrays = arrays
        self._n_objects = 0
        self._n_indices = 0
        self._n_bytes = sum(array.nbytes for array in arrays)
        self._bytes_left = _MAX_USES * self._n_bytes
        self.names: set[str] = set()

    def decode(self, value: Any, depth: int = 0) -> Any:
        """The object that JSON values stand for."""
        if depth > _MAX_DEPTH:
            raise ModelFileError("it is nested too deeply")
        match value:
            case list(items):
                return [self.decode(child, depth + 1) for child in items]
            case {"class": name, "params": dict(params), "state": dict(state)}:
                return self._make_object(str(name), params, state, depth)
            case {"tuple": list(items)}:
                return tuple(self.decode(items, depth))
            case {"dict": dict(items)}:
                return self._decode_items(items, depth)
            case {"names": list(names)}:
                return np.fromiter(names, dtype=object, count=len(names))
            case {"array": int(position)}:
                return self._take_array(position)
            case {"csr": [data, indices, indptr], "shape": [int(n), int(m)]}:
                # A vector of such a length is among the arrays of every model.
                if max(n, m) > self._n_bytes:
                    raise ModelFileError("it holds a matrix of an impossible shape")
                parts = tuple(map(self._take_array, (data, indices, indptr)))
                matrix = sparse.csr_array(parts, shape=(n, m))
                matrix.check_format(full_check=True)  # compiled loops would go beyond the arrays
                return matrix
            case {"float": "nan" | "inf" | "-inf" as name}:
                return float(name)
            case dict():
                kind = next(iter(value), "")
                raise ModelFileError(f"it holds something of unknown type {kind!r:.40}")
        return value

    def _decode_items(self, values: dict[str, Any], depth: int) -> dict[str, Any]:
        return {key: self.decode(child, depth + 1) for key, child in values.items()}

    def _make_object(
        self, name: str, params: dict[str, Any], state: dict[str, Any], depth: int
    ) -> Any:
        schema = find_schema(name)
        self.names.add(name)
        if schema is None and re.fullmatch(r"[\w.]{1,99}:\w{1,99}", name):
            raise ModelFileError(
                f"it was fitted with {name}, a method of another package, which is imported only "
                f"if you name it; if you know and trust that code, use --method {name} "
                "(method= of load_model)"
            )
        if schema is None:
            problem = "which is not among the classes a model file may hold"
            raise ModelFileError(f"it names {name[:80]!r}, {problem}")
        self._n_objects += 1
        self._n_indices += name == "NearestNeighbors"  # built again from its rows
        if self._n_objects > _MAX_OBJECTS or self._n_indices > 4:
            raise ModelFileError("it holds more objects than any model needs")
        given = self._decode_items(params, depth)
        attributes = self._decode_items(state, depth)
        schema.check(given, attributes)
        return schema.build(given, attributes)

    def _take_array(self, position: Any) -> Array:
        if type(position) is not int or not 0 <= position < len(self._arrays):
            raise ModelFileError(f"it refers to the array {position!r:.40}, which it does not hold")
        self._bytes_left -= self._arrays[position].nbytes
        # Sparse matrices are checked, and neighbour indices built, each time.
        if self._bytes_left < 0:
            raise ModelFileError("it refers to its arrays more often than any model needs")
        return self._arrays[position]


def _check_json(text: bytes) -> None:
    n_containers = text.count(b"[") + text.count(b"{")
    is_small = len(text) <= _MAX_JSON_BYTES and n_containers <= _MAX_CONTAINERS
    if not is_small or text.count(b",") > _MAX_VALUES:
        raise ModelFileError("it has more names and values than a model file may hold")


def _write_content(file: IO[bytes], content: dict[str, Any], arrays: list[Array]) -> None:
    listed = []
    blobs = []
    for array in arrays:
        listed.append([array.dtype.str, list(array.shape), np.isfortran(array)])
        blobs.append(array.ravel(order="A").data)
    text = json.dumps(content | {"arrays": listed}, allow_nan=False, ensure_ascii=False).encode()
    _check_json(text)
    parts: list[Any] = [len(text).to_bytes(8, "little"), text, *blobs]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    file.write(_MAGIC + b"%d\n%s\n" % (_FORMAT_VERSION, digest.hexdigest().encode()))
    file.writelines(parts)


def _read_content(file: BufferedReader) -> tuple[dict[str, Any], list[Array]]:
    """The JSON values and arrays of a file.

    Raises
    ------
    ModelFileError
        If it is no model file, comes from a newer version, or is not whole.
    """
    first = file.readline(64)
    version = first.removeprefix(_MAGIC).strip()
    if not first.startswith(_MAGIC) or not version.isdigit():
        raise ModelFileError("it is no ldlearn model file")
    if int(version) > _FORMAT_VERSION:
        formats = f"format {int(version)}, this one reads up to {_FORMAT_VERSION}"
        raise ModelFileError(f"it was written by a newer ldlearn ({formats}); upgrade ldlearn")
    expected = file.readline(65).strip().decode("ascii")
    start = file.tell()
    if hashlib.file_digest(file, "sha256").hexdigest() != expected:
        raise ModelFileError(
            "its checksum is wrong: it is truncated, or was changed or damaged after it was saved"
        )
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    length = int.from_bytes(file.read(8), "little")
    text = file.read(min(length, _MAX_JSON_BYTES + 1))
    _check_json(text)
    content = json.loads(text)
    arrays = [_read_array(file, end, *listed) for listed in content["arrays"]]
    if file.tell() != end:
        raise ModelFileError("it has bytes that belong to no part of it")
    return content, arrays


def _read_array(
    file: BufferedReader, end: int, code: str, shape: list[int], columnwise: bool
) -> Array:
    is_possible = len(code) <= len("<f16") and all(type(n) is int and n >= 0 for n in shape)
    # An array without numbers may not have lengths that the others cannot have: results would have
    # them.
    is_possible = is_possible and math.prod(n or 1 for n in shape) <= end
    if not is_possible or np.dtype(code).kind not in _ARRAY_KINDS:
        raise ModelFileError("it holds a non-numeric array, or one of an impossible shape")
    n_bytes = math.prod(shape) * np.dtype(code).itemsize
    if n_bytes > end - file.tell():
        raise ModelFileError("it lists arrays of more bytes than it has")
    found = np.frombuffer(bytearray(file.read(n_bytes)), code)
    return found.reshape(shape[::-1]).T if columnwise else found.reshape(shape)


def _estimator_of(model: Any) -> Any:
    return model.estimator if isinstance(model, TableModel) else model


def _probe_predictions(model: Any, X: Any = None) -> dict[str, Array]:
    """A few made-up rows (or ``X``), and what the model predicts, and enhances, for them."""
    estimator = _estimator_of(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A named embedding is not there at loading.
        if isinstance(model, TableModel) and not model.preprocessing.embedded:
            X = model.transform(_made_up_table(model), CellReport())
        elif X is None:
            X = np.random.default_rng(0).normal(size=(3, estimator.n_features_in_))
        X = to_dense(X)
        found = {"X": X}
        if hasattr(estimator, "predict"):
            found["predict"] = np.asarray(estimator.predict(X))
        if hasattr(estimator, "enhance"):
            # Of a single positive label there would be nothing to recover.
            first_two = np.zeros((len(X), len(estimator.label_names_)))
            first_two[:, :2] = 1
            found["enhance"] = np.asarray(estimator.enhance(X, first_two))
        return found


def _made_up_table(model: TableModel) -> Any:
    """Rows with missing, ordinary and unseen values in every column."""
    others: dict[str, list[str | None]] = {}
    units = model.types.units or {}
    for name, type_ in model.types.columns.items():
        if type_ != ColumnType.NUMERIC:
            others[name] = [None, "never seen", "0"]
        elif units.get(name) == "%":
            others[name] = [None, "0%", "100%"]
    names = [name for name in model.features if name not in others]
    pandas = import_pandas()
    # Thousands of columns are made at once.
    numbers = pandas.DataFrame(np.tile([[np.nan], [0.0], [1.0]], len(names)), columns=names)
    return numbers.join(pandas.DataFrame(others, dtype=object), how="outer")


def _check_probe_predictions(model: Any, expected: Any, made_with: Any) -> None:
    problem = "gives other predictions than when it was saved"
    try:
        found = _probe_predictions(model, expected["X"])
        # Another processor or BLAS sums in another order; a wrong model is farther off.
        same = [np.allclose(found[name], expected[name], rtol=1e-6, atol=1e-9) for name in found]
        if found.keys() == expected.keys() and all(same):
            return
    except Exception as error:
        problem = f"cannot predict ({type(error).__name__})"
    versions = f"{made_with!r:.200}, here {installed_versions()}"
    raise ModelFileError(
        f"the model {problem}, so that it is damaged, or was saved with other versions "
        f"({versions}): install them, or fit again."
    )
