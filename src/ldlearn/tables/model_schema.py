"""Which classes a model file may hold, and the attributes of each.

A class declares its attributes in ``learned``: names and types, to which those of its bases are
added. A type is a scalar (bool, int, float, str, None), an array with its shape
(``"float (n_labels, n_features)"``, ``"csr (...)"``, ``"names (n_labels)"`` for texts),
``"list of TYPE"``, ``"dict of TYPE"``, the name of a class or of a record of this file, or several
of these between bars. ``"size NAME"`` is an integer that is a size. Sizes of the same name agree
within an object; ``"NAME at most 64"`` limits one, where arrays are made whose size is a product.
``"any"`` is whatever a file may hold.
"""

import dataclasses
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import all_estimators, estimator_name, find_estimator
from ldlearn.base.sklearn_private import InvalidParameterError, validate_parameter_constraints
from ldlearn.compose.from_classifier import ValidatedLogisticRegression
from ldlearn.core.trees import Trees
from ldlearn.exceptions import ModelFileError, ParameterError
from ldlearn.tables.column_types import ColumnTypes
from ldlearn.tables.embedding import NamedEmbedding
from ldlearn.tables.features import TablePreprocessing, TfidfEncoder
from ldlearn.tables.table_model import TableModel
from ldlearn.uncertainty.intervals import PosteriorState
from ldlearn.uncertainty.leverage import LeverageModel
from ldlearn.uncertainty.vote_intervals import FullCovariance, KroneckerCovariance, VotePosterior
from ldlearn.uncertainty.vote_misfit import Misfit

_SCALARS: dict[str, tuple[type, ...]] = {
    "None": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "str": (str,),
}
_DTYPE_KINDS = {"bool": "b", "int": "iu", "float": "f"}
# What estimators and table models are made of; each class declares what it holds.
_PARTS: tuple[type, ...] = (
    TableModel,
    ColumnTypes,
    TablePreprocessing,
    TfidfEncoder,
    NamedEmbedding,
    Trees,
    ValidatedLogisticRegression,
    PosteriorState,
    LeverageModel,
    VotePosterior,
    FullCovariance,
    KroneckerCovariance,
    Misfit,
)
# Classes of scikit-learn, which declare nothing: the parameters and attributes that predictions
# need. Transformers are those that ``feature_map`` may be, if the model is to be saved.
_SKLEARN: dict[type, tuple[tuple[str, ...], dict[str, str]]] = {
    Pipeline: (("steps",), {}),
    MaxAbsScaler: (("clip",), {"max_abs_": "float (n_features)", "scale_": "float (n_features)"}),
    MinMaxScaler: (
        ("feature_range", "clip"),
        {"min_": "float (n_features)", "scale_": "float (n_features)"},
    ),
    Normalizer: (("norm",), {}),
    RobustScaler: (
        ("with_centering", "with_scaling"),
        {"center_": "float (n_features) | None", "scale_": "float (n_features) | None"},
    ),
    StandardScaler: (
        ("with_mean", "with_std"),
        {"mean_": "float (n_features) | None", "scale_": "float (n_features) | None"},
    ),
    PCA: (
        ("whiten",),
        {
            "mean_": "float (n_features)",
            "components_": "float (n_components, n_features)",
            "explained_variance_": "float (n_components)",
        },
    ),
    TruncatedSVD: ((), {"components_": "float (n_components, n_features)"}),
    Nystroem: (
        ("kernel", "gamma", "coef0", "degree", "n_components", "random_state"),
        {
            "components_": "float (n_components, n_features) | csr (n_components, n_features)",
            "component_indices_": "int (n_components)",
            "normalization_": "float (n_components, n_components)",
            "_n_features_out": "size n_components",
        },
    ),
    RBFSampler: (
        ("gamma", "n_components", "random_state"),
        {
            "_gamma": "float",
            "random_weights_": "float (n_features, n_components)",
            "random_offset_": "float (n_components)",
            "_n_features_out": "size n_components",
        },
    ),
    LogisticRegression: (
        ("C", "fit_intercept", "solver"),
        {
            "classes_": "int (n_classes)",
            "coef_": "float (n_rows, n_features)",
            "intercept_": "float (n_rows)",
            "n_iter_": "int (n_runs)",
        },
    ),
    # Only its rows are stored, and it is fitted on them again.
    NearestNeighbors: (
        ("n_neighbors", "metric"),
        {"_fit_X": "float (n_samples, n_features) | csr (n_samples, n_features)"},
    ),
}
# Dicts with these keys, all of them unless they may be None.
_RECORDS = {
    "facts": {
        "rows": "int",
        "transformed_features": "int",
        "label_kind": "str",
        "label_means": "dict of float",
        "positives_per_row": "float",
        "mean_distribution": "list of float",
        "missing": "dict of int",
        "repeated_rows": "int | None",
        "holdout": "holdout | None",
        "warnings": "list of str",
        "columns": "dict of str",
        "source": "dict of str",
        "label_list": "dict of str | None",
        "votes": "votes | None",
    },
    "votes": {
        "total": "float",
        "voted_rows": "int",
        "single_vote_rows": "int",
    },
    "holdout": {
        "rows": "int",
        "groups": "int",
        "votes": "float | None",
        "recovery": "recovery | None",
        "share": "float",
        "seed": "int",
        "scores": "list of score",
        "advantage": "float",
        "standard_error": "float",
        "better_than_baselines": "bool",
        "likelihood_gain": "float | None",
        "likelihood_error": "float | None",
        "classifier_gain": "float | None",
        "classifier_error": "float | None",
    },
    "score": {
        "name": "str",
        "title": "str",
        "greater_is_better": "bool",
        "model": "float",
        "mean": "float",
        "uniform": "float",
        "classifier": "float | None",
    },
    "recovery": {
        "rows": "int",
        "groups": "int",
        "votes": "float",
        "recovered": "float",
        "prediction": "float",
        "raw_shares": "float",
        "smoothed_shares": "float",
        "advantage": "float",
        "standard_error": "float",
    },
    # Made-up rows, and what the model predicts and enhances for them.
    "probe": {
        "X": "float (3, n_features)",
        "predict": "float (3, n_labels) | None",
        "enhance": "float (3, n_labels) | None",
    },
}
# What a method of another package may hold in attributes that it does not declare.
_UNDECLARED = "None | bool | int | float | str | array"
# Methods of other packages that the user has named in this process: no others are imported.
_trusted_methods: dict[str, type] = {}


def import_method(name: str) -> set[str]:
    """Import methods of other packages, ``package.module:Class``, and allow files to hold them."""
    external = set()
    for part in name.split("+"):
        cls = find_estimator(part)
        if ":" in estimator_name(cls):
            external.add(estimator_name(cls))
            _trusted_methods[estimator_name(cls)] = cls
    return external


@dataclass(frozen=True)
class _Schema:
    """The parameters and attributes that instances of a class may have in a file.

    Attributes
    ----------
    name : str
    cls : type
    attributes : dict of str to str
        Their types.
    params : tuple of str
        Parameters of the constructor that are stored.
    """

    name: str
    cls: Any
    attributes: Mapping[str, str]
    params: tuple[str, ...]

    @property
    def is_made_of_fields(self) -> bool:
        """Whether it is a plain dataclass; estimators, some of them dataclasses, learn."""
        return dataclasses.is_dataclass(self.cls) and not hasattr(self.cls, "get_params")

    def split_state(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and attributes of an instance that a file stores."""
        if self.is_made_of_fields:
            names = [field.name for field in dataclasses.fields(value) if field.init]
            return {}, {name: getattr(value, name) for name in names}
        params = value.get_params(deep=False)
        if isinstance(value, LabelEstimator):
            state: Any = value.__getstate__()  # all that it would pickle
            return params, {name: state[name] for name in state if name not in params}
        state = vars(value)
        params = {name: params[name] for name in self.params if name in params}
        return params, {name: state[name] for name in state if name in self.attributes}

    def check(self, params: dict[str, Any], state: dict[str, Any]) -> None:
        """Refuse parameters and attributes that no instance has; called before one is made."""
        sizes: dict[str, int] = {}
        for name, value in state.items():
            problem = f"{self.name}.{name} is not what a model file may hold"
            types = self.attributes.get(name)
            if types is None:
                if ":" not in self.name or callable(getattr(self.cls, name, None)):
                    raise ModelFileError(f"{problem}: `learned` of the class does not declare it")
                problem += "; undeclared, it holds arrays, numbers and texts"
                types = _UNDECLARED
            if not _fits_any_type(value, types, sizes):
                raise ModelFileError(problem)
        if not params.keys() <= set(self.params):
            raise ModelFileError(f"{self.name} has other parameters than a model file may hold")
        try:
            constraints = getattr(self.cls, "_parameter_constraints", {})
            validate_parameter_constraints(constraints, params, caller_name=self.name)
        except InvalidParameterError as error:
            raise ModelFileError(" ".join(str(error).split())[:300].rstrip(".")) from None

    def build(self, params: dict[str, Any], state: dict[str, Any]) -> Any:
        """An instance with parameters and attributes that were checked."""
        if self.is_made_of_fields:
            return self.cls(**state)
        made = self.cls(**params)
        if self.cls is NearestNeighbors:
            return made.fit(state["_fit_X"])
        vars(made).update(state)
        return made


def schema_of(cls: type) -> _Schema:
    """The schema of a class; one that a file may not hold is an error."""
    schema = find_schema(cls.__name__)
    if schema is not None and schema.cls is cls:
        return schema
    if issubclass(cls, LabelEstimator) and ":" in (name := estimator_name(cls)):
        with suppress(ParameterError):
            if find_estimator(name) is cls:  # otherwise users could not name it
                return _make_schema(name, cls)
    raise ModelFileError(
        f"Model files cannot hold a {cls.__module__}.{cls.__qualname__}; "
        "use joblib.dump if you trust every reader."
    )


def find_schema(name: str) -> _Schema | None:
    """The schema of a class that a file may hold; of another package, if the user has named it."""
    known = {cls.__name__: cls for cls in (*_PARTS, *_SKLEARN)}
    known |= dict(all_estimators()) | _trusted_methods
    return _make_schema(name, known[name]) if name in known else None


def _make_schema(name: str, cls: type) -> _Schema:
    if cls in _SKLEARN:
        params, attributes = _SKLEARN[cls]
        return _Schema(name, cls, {"n_features_in_": "size n_features"} | attributes, params)
    attributes = {}
    for base in reversed(cls.__mro__):
        attributes |= vars(base).get("learned", {})
    return _Schema(name, cls, attributes, tuple(inspect.signature(cls).parameters))


def _fits_any_type(value: Any, types: str, sizes: dict[str, int]) -> bool:
    return any(_fits_type(value, name, sizes) for name in types.split(" | "))


def _fits_type(value: Any, name: str, sizes: dict[str, int]) -> bool:
    """Whether a value has a type; sizes that it names become known, or agree with those known."""
    if name == "any":
        return True
    if name in _SCALARS:
        plain = value.item() if isinstance(value, np.generic) else value
        return type(plain) in _SCALARS[name]
    if name in _RECORDS:
        return is_record(value, name, sizes)
    if name == "array":
        return any(_is_array(value, kind) for kind in ("csr", "names", *_DTYPE_KINDS))
    kind, _, rest = name.partition(" ")
    if kind == "size":
        return type(value) is int and value >= 0 and sizes.setdefault(rest, value) == value
    if kind == "list" and isinstance(value, list | tuple):
        return all(_fits_type(child, rest.removeprefix("of "), sizes) for child in value)
    if kind == "dict" and isinstance(value, dict):
        return all(_fits_type(child, rest.removeprefix("of "), sizes) for child in value.values())
    if not rest:
        return type(value).__name__ == name  # nothing is made that is not listed
    return _is_array(value, kind) and _has_shape(np.shape(value), rest[1:-1].split(", "), sizes)


def is_record(value: Any, name: str, sizes: dict[str, int]) -> bool:
    """Whether a value is a dict with the keys of a record, and values of their types."""
    types = _RECORDS[name]
    if not isinstance(value, dict) or not value.keys() <= types.keys():
        return False
    return all(_fits_any_type(value.get(key), types[key], sizes) for key in types)


def _is_array(value: Any, kind: str) -> bool:
    if kind == "csr":
        return sparse.issparse(value)
    if kind == "names":
        is_object_array = isinstance(value, np.ndarray) and value.dtype == object
        is_listed = is_object_array or isinstance(value, list | tuple)
        return is_listed and all(map(_is_name, value))
    return isinstance(value, np.ndarray) and value.dtype.kind in _DTYPE_KINDS.get(kind, "")


def _is_name(value: Any) -> bool:
    if type(value) is int:
        # Larger integers may have equal hashes, which makes a set of them slow.
        return abs(value) < 2**53
    return type(value) in (str, float)


def _has_shape(shape: tuple[int, ...], names: list[str], sizes: dict[str, int]) -> bool:
    if len(shape) != len(names):
        return False
    for size, entry in zip(shape, names, strict=True):
        name, _, most = entry.partition(" at most ")
        known = int(name) if name.isdigit() else sizes.setdefault(name, size)
        if size != known or (most and size > int(most)):
            return False
    return True
