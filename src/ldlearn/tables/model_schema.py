"""Which classes a model file may hold, and what each of them: the reader of
``model_schema.toml``."""

import dataclasses
import inspect
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import all_estimators, estimator_name, find_estimator
from ldlearn.base.sklearn_private import InvalidParameterError, validate_parameter_constraints
from ldlearn.exceptions import ModelFileError, ParameterError
from ldlearn.uncertainty.intervals import TrainingRows

_SCALARS: dict[str, tuple[type, ...]] = {
    "None": (type(None),), "bool": (bool,), "int": (int,), "float": (float, int), "str": (str,)
}  # fmt: skip
_ARRAY_KINDS = {"bool": "b", "int": "iu", "float": "f"}
_RECORDS = ("facts", "holdout", "score", "probe")
_EXTERNAL_TYPES = "None | bool | int | float | str | array"
# Methods of other packages that the user has named in this process: no others are imported.
_trusted_methods: dict[str, type] = {}


def import_method(name: str) -> set[str]:
    """Import the methods of other packages in a name, as ``package.module:Class``, and allow files
    to hold them."""
    found = {estimator_name(cls): cls for cls in map(find_estimator, name.split("+"))}
    external = {name: cls for name, cls in found.items() if ":" in name}
    _trusted_methods.update(external)
    return set(external)


@dataclass(frozen=True)
class Schema:
    """The attributes that instances of a class may have in a file, and their types.

    Attributes
    ----------
    name : str
    cls : type
    attributes : dict of str to str
        Types, in the notation of ``model_schema.toml``.
    params : list of str or None
        Parameters of the constructor that are stored; None for all.
    """

    name: str
    cls: Any
    attributes: Mapping[str, str]
    params: list[str] | None = None

    @property
    def is_record(self) -> bool:
        """Whether instances are made of their fields alone; estimators, some of them dataclasses,
        learn attributes."""
        return dataclasses.is_dataclass(self.cls) and not hasattr(self.cls, "get_params")

    def split_state(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and attributes of an instance that a file stores."""
        if self.is_record:
            names = [field.name for field in dataclasses.fields(value) if field.init]
            return {}, {name: getattr(value, name) for name in names}
        given: Any = value.get_params(deep=False) if hasattr(value, "get_params") else {}
        params = {
            name: given[name]
            for name in (given if self.params is None else self.params)
            if name in given
        }
        # The state that an estimator would pickle; of scikit-learn's classes only what predictions
        # need.
        is_method = isinstance(value, LabelEstimator)
        held = value.__getstate__() if is_method else vars(value)
        stored = held if is_method else [name for name in self.attributes if name in held]
        # Training rows are kept in memory only, until the posterior is computed from them.
        is_stored = {
            name: name not in given and not isinstance(held[name], TrainingRows) for name in stored
        }
        return params, {name: held[name] for name in stored if is_stored[name]}

    def check(self, params: dict[str, Any], state: dict[str, Any]) -> None:
        """Refuse parameters and attributes that no instance has; called before one is made."""
        sizes: dict[str, int] = {}
        for name, value in state.items():
            is_external = ":" in self.name and not callable(getattr(self.cls, name, None))
            if not _fits_any_type(
                value, self.attributes.get(name, _EXTERNAL_TYPES if is_external else ""), sizes
            ):
                rule = (
                    "; of other packages it holds arrays, numbers and texts" if is_external else ""
                )
                raise ModelFileError(f"{self.name}.{name} is not what a model file may hold{rule}")
        allowed = inspect.signature(self.cls).parameters if self.params is None else self.params
        if not params.keys() <= set(allowed):
            raise ModelFileError(f"{self.name} has other parameters than a model file may hold")
        try:
            constraints = getattr(self.cls, "_parameter_constraints", {})
            validate_parameter_constraints(constraints, params, caller_name=self.name)
        except InvalidParameterError as error:
            raise ModelFileError(" ".join(str(error).split())[:300].rstrip(".")) from None

    def build(self, params: dict[str, Any], state: dict[str, Any]) -> Any:
        """An instance with parameters and attributes that were checked."""
        made: Any = self.cls(**state) if self.is_record else self.cls(**params)
        if self.name == "NearestNeighbors":
            return made.fit(state["_fit_X"])
        if not self.is_record:
            vars(made).update(state)
        return made


def schema_of(cls: type) -> Schema:
    """The schema of a class; one that a file may not hold is an error."""
    schema = find_schema(cls.__name__)
    if schema is not None and schema.cls is cls:
        return schema
    if issubclass(cls, LabelEstimator) and ":" in (name := estimator_name(cls)):
        with suppress(ParameterError):
            if find_estimator(name) is cls:  # otherwise users could not name it
                return Schema(name, cls, _schema_tables()["estimator"])
    raise ModelFileError(
        f"Model files cannot hold a {cls.__module__}.{cls.__qualname__}; use joblib.dump if you trust every reader."
    )


def find_schema(name: str) -> Schema | None:
    """The schema of the class of this name, if a file may hold it and, of another package, the user
    has named it."""
    if name in _trusted_methods:
        return Schema(name, _trusted_methods[name], _schema_tables()["estimator"])
    if name not in _schema_tables() or name in ("estimator", *_RECORDS):
        return None
    table = dict(_schema_tables()[name])
    module, params = table.pop("module", None), table.pop("params", None)
    if module is None:
        return Schema(
            name, dict(all_estimators())[name], _schema_tables()["estimator"] | table, params
        )
    return Schema(name, getattr(import_module(module), name), table, params)


@cache
def _schema_tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(
        files("ldlearn.tables").joinpath("model_schema.toml").read_text(encoding="utf-8")
    )


def _fits_any_type(value: Any, types: str, sizes: dict[str, int]) -> bool:
    return any(_fits_type(value, name.strip(), sizes) for name in types.split("|"))


def _fits_type(value: Any, name: str, sizes: dict[str, int]) -> bool:
    """Whether a value is of a type; sizes that the type names become known, or agree with what is
    known."""
    first, _, rest = name.partition(" ")
    if name == "any":
        return True
    if name in _SCALARS:
        return type(value) in _SCALARS[name]
    if first == "size":
        return type(value) is int and value >= 0 and sizes.setdefault(rest, value) == value
    if name.startswith("list of "):
        return isinstance(value, list | tuple) and all(
            _fits_type(child, name[8:], sizes) for child in value
        )
    if name.startswith("dict of "):
        return isinstance(value, dict) and all(
            _fits_type(child, name[8:], sizes) for child in value.values()
        )
    if name in _RECORDS:
        return is_record(value, name, sizes)
    if name == "array":
        return any(_is_array(value, kind) for kind in ("csr", "names", *_ARRAY_KINDS))
    if not rest:
        return type(value).__name__ == name  # nothing is made that is not listed
    return _is_array(value, first) and _has_shape(np.shape(value), rest[1:-1].split(", "), sizes)


def is_record(value: Any, name: str, sizes: dict[str, int] | None = None) -> bool:
    """Whether a value is a dict with the keys of a record of the schema, and values of their
    types."""
    types, sizes = _schema_tables()[name], {} if sizes is None else sizes
    known = isinstance(value, dict) and value.keys() <= types.keys()
    return bool(known) and all(_fits_any_type(value.get(key), types[key], sizes) for key in types)


def _is_array(value: Any, kind: str) -> bool:
    if kind == "csr":
        return bool(sparse.issparse(value))
    if kind == "names":
        listed = isinstance(value, list | tuple) or (
            isinstance(value, np.ndarray) and value.dtype == object
        )
        # Larger integers may have equal hashes, which makes a set of them slow.
        return listed and all(
            type(name) in (str, float) or (type(name) is int and abs(name) < 2**53)
            for name in value
        )
    return isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS[kind]


def _has_shape(shape: tuple[int, ...], names: list[str], sizes: dict[str, int]) -> bool:
    def agrees(size: int, name: str) -> bool:
        return size == (int(name) if name.isdigit() else sizes.setdefault(name, size))

    return len(shape) == len(names) and all(
        agrees(*pair) for pair in zip(shape, names, strict=True)
    )
