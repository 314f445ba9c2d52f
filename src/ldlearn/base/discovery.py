"""Discovery: every estimator, found from the import lines of its package, and the versions of what computes."""

import platform
from functools import cache
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

from ldlearn.base.estimator import LabelEstimator
from ldlearn.base.kinds import KINDS
from ldlearn.exceptions import InputError, ParameterError, did_you_mean, nearest_names

__all__ = ["all_estimators"]

_PACKAGES = ("joint", "enhancement", "learning", "compose", "uncertainty")


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
    found = {name: getattr(module, name) for module in estimator_packages() for name in module.__all__}
    return sorted(
        (name, entry)
        for name, entry in found.items()
        if isinstance(entry, type) and issubclass(entry, LabelEstimator) and kind in (None, entry.kind)
    )


def find_estimator(name: str) -> type[LabelEstimator]:
    """The estimator of a name; letter case does not count.

    Examples
    --------
    >>> find_estimator("dldl")
    <class 'ldlearn.joint.dldl.DLDL'>
    """
    estimators = dict(all_estimators())
    for other, cls in estimators.items():
        if other.lower() == name.lower():
            return cls
    advice = did_you_mean(nearest_names(name, estimators), "see them all with `ldlearn methods`.")
    raise ParameterError(f"there is no method {name!r}; {advice}")


@cache
def installed_versions() -> dict[str, str]:
    """Versions of Python, this package, numpy, scipy and scikit-learn, for records and model files."""
    ours = {"python": platform.python_version(), "ldlearn": import_module("ldlearn").__version__}
    return ours | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
