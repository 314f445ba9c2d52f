"""The classes a model file may name; every other name is refused."""

from __future__ import annotations

import sys
from functools import cache

from ldlearn.discovery import all_estimators
from ldlearn.errors import ModelFileError

# Packages whose classes hold nothing but numbers; their modules are never imported for a file's sake.
_OWN_PACKAGES = ("joint", "enhancement", "learning", "compose", "solvers", "core")


@cache
def _sklearn_classes() -> dict[str, type]:
    """Transformers and models of scikit-learn that our estimators and the preprocessing are made of."""
    from sklearn.cluster import KMeans
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import NearestNeighbors
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import (
        LabelBinarizer,
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        OneHotEncoder,
        PolynomialFeatures,
        RobustScaler,
        StandardScaler,
    )

    known = [
        KMeans, ColumnTransformer, PCA, TruncatedSVD, SimpleImputer, Nystroem, RBFSampler, LinearRegression,
        LogisticRegression, Ridge, GaussianMixture, NearestNeighbors, FeatureUnion, Pipeline, LabelBinarizer,
        MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, PolynomialFeatures, RobustScaler, StandardScaler,
    ]  # fmt: skip
    return {cls.__name__: cls for cls in known}


@cache
def _public_estimators() -> dict[str, type]:
    return dict(all_estimators())


def name_of_class(cls: type) -> str:
    """The name by which a file refers to a class; a class that it may not name is an error."""
    if _public_estimators().get(cls.__name__) is cls:
        return f"ldlearn:{cls.__name__}"
    if _sklearn_classes().get(cls.__name__) is cls:
        return f"sklearn:{cls.__name__}"
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _own_class(name) is cls:
        return name
    raise ModelFileError(
        f"Model files cannot hold a {cls.__module__}.{cls.__qualname__}; use joblib.dump if you trust every reader."
    )


def class_of_name(name: str) -> type:
    """The class a file refers to; names that are not allowed are refused without importing anything."""
    library, _, short = name.partition(":")
    if library == "ldlearn":
        found = _public_estimators().get(short)
    elif library == "sklearn":
        found = _sklearn_classes().get(short)
    else:
        found = _own_class(name)
    if found is None:
        raise ModelFileError(f"it names {name[:80]!r}, which is not among the classes a model file may hold")
    return found


def _own_class(name: str) -> type | None:
    """A class defined in one of our method packages, looked up among the modules already imported."""
    module_name, _, class_name = name.partition(":")
    if not module_name.startswith(tuple(f"ldlearn.{package}." for package in _OWN_PACKAGES)):
        return None
    found = vars(sys.modules.get(module_name, object())).get(class_name) if module_name in sys.modules else None
    return found if isinstance(found, type) and found.__module__ == module_name else None
