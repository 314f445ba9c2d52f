"""Discovery of the estimators of this library and of other packages, and of versions."""

import os
import platform
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from types import ModuleType

from ldlearn._messages import did_you_mean, nearest_names
from ldlearn.base.estimator import LabelEstimator
from ldlearn.base.kinds import KINDS
from ldlearn.exceptions import InputError, ParameterError

__all__ = ["all_estimators"]

_PACKAGES = ("joint", "enhancement", "learning", "compose", "uncertainty")
_ENTRY_POINTS = "ldlearn.methods"  # the group in which other packages name their methods


def estimator_packages() -> list[ModuleType]:
    """The packages whose public names are estimators."""
    return [import_module(f"ldlearn.{package}") for package in _PACKAGES]


def all_estimators(kind: str | None = None) -> list[tuple[str, type[LabelEstimator]]]:
    """Every public estimator as ``(name, class)``, sorted by name.

    Parameters
    ----------
    kind : {"enhancer", "learner", "joint"}, default=None
        Only the estimators of this kind.

    Examples
    --------
    >>> from ldlearn import all_estimators
    >>> dict(all_estimators("joint"))["DLDL"]
    <class 'ldlearn.joint.dldl.DLDL'>
    """
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)} or None, got {kind!r}.")
    found = []
    for module in estimator_packages():
        for name in module.__all__:
            entry = getattr(module, name)
            if isinstance(entry, type) and issubclass(entry, LabelEstimator):
                found.append((name, entry))
    return sorted((name, cls) for name, cls in found if kind in (None, cls.kind))


def external_methods() -> dict[str, EntryPoint]:
    """Methods of other installed packages, by the names of their entry points."""
    return {entry.name: entry for entry in entry_points(group=_ENTRY_POINTS)}


def find_estimator(name: str) -> type[LabelEstimator]:
    """The estimator of a name; letter case does not count.

    Parameters
    ----------
    name : str
        An estimator of this library, ``package.module:Class``, or the name of an entry point in the
        group ``ldlearn.methods``. Only what is named is imported.

    Examples
    --------
    >>> find_estimator("dldl")
    <class 'ldlearn.joint.dldl.DLDL'>
    >>> find_estimator("ldlearn.learning:SABFGS")
    <class 'ldlearn.learning.sa_bfgs.SABFGS'>
    """
    if ":" in name:
        return _import_estimator(name)
    for ours, cls in all_estimators():
        if ours.lower() == name.lower():
            return cls
    external = external_methods()
    for other, entry in external.items():
        if other.lower() == name.lower():
            return _import_estimator(entry.value)
    known = [*dict(all_estimators()), *external]
    advice = did_you_mean(nearest_names(name, known), "see them all with `ldlearn methods`.")
    raise ParameterError(f"there is no method {name!r}; {advice}")


def _import_estimator(path: str) -> type[LabelEstimator]:
    module, _, name = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file there replaces an installed module
    try:
        found = getattr(import_module(module), name, None)
    except (ImportError, ValueError) as error:
        raise ParameterError(f"the method {path!r} cannot be imported: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, LabelEstimator)):
        problem = "there is none of this name" if found is None else f"it is {found!r}"
        kinds = "Enhancer, Learner or JointModel of ldlearn.base"
        raise ParameterError(f"{path!r} is no subclass of {kinds}: {problem}.")
    return found


def estimator_name(cls: type[LabelEstimator]) -> str:
    """The name of a class under which `find_estimator` finds it."""
    is_ours = cls.__module__.startswith("ldlearn.")
    return cls.__name__ if is_ours else f"{cls.__module__}:{cls.__qualname__}"


@cache
def installed_versions() -> dict[str, str]:
    """Versions of Python, ldlearn, numpy, scipy and scikit-learn, for records and model files."""
    ours = {"python": platform.python_version(), "ldlearn": import_module("ldlearn").__version__}
    return ours | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
