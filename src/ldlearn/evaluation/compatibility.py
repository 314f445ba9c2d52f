"""Plans and records of version 0.1.0 in the terms of today: names of parameters, and which methods are baselines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import all_estimators


@cache
def _estimator(name: str | None) -> type[LabelEstimator]:
    """The class of a name; the base class, which has no facts, if there is none of that name any more."""
    return dict(all_estimators()).get(name or "", LabelEstimator)


def _renamed(estimator: str | None) -> Mapping[str, str]:
    return _estimator(estimator)._renamed_params


def all_baselines(estimator: str, learner: str | None) -> bool:
    """Whether every step of a method is a baseline."""
    return all(_estimator(step).is_baseline for step in (estimator, learner) if step is not None)


def current_names(params: Mapping[str, Any], estimator: str | None, learner: str | None = None) -> dict[str, Any]:
    """Parameters under the names that they have today, without those that are gone.

    Parameters
    ----------
    params : mapping
        Of an estimator by name, or of a pair as ``enhancer__name`` and ``learner__name``.
    estimator : str or None
        Whose parameters they are.
    learner : str or None
        The second step of a pair.
    """
    names = dict(_renamed(estimator))
    # Records of pairs name the parameters of both steps, told apart by these prefixes.
    names |= {f"enhancer__{old}": f"enhancer__{new}" for old, new in _renamed(estimator).items()}
    names |= {f"learner__{old}": f"learner__{new}" for old, new in _renamed(learner).items()}
    removed = _estimator(estimator)._removed_params
    gone = {*removed, *(f"enhancer__{name}" for name in removed)}
    gone |= {f"learner__{name}" for name in _estimator(learner)._removed_params}
    return {names.get(name, name): value for name, value in params.items() if name not in gone}


def first_names(params: Mapping[str, Any], estimator: str | None) -> dict[str, Any]:
    """Parameters under the names that they had in version 0.1.0, which the keys of its records were made of."""
    names = {new: old for old, new in _renamed(estimator).items()}
    return {names.get(name, name): value for name, value in params.items()}
