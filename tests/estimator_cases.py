"""Every estimator with each of its test settings, and suitable targets."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone

from ldlearn import DLDL, SABFGS, EnhanceThenLearn, FromDistributions, VoteLDL, all_estimators
from ldlearn.base import LabelEstimator
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.testing import make_problem as make_problem
from ldlearn.testing import make_targets as make_targets


def instances(kind: str | None = None) -> list[LabelEstimator]:
    return [cls(**params) for _, cls in all_estimators(kind) for params in cls._test_params]


EXACT: dict[type, dict[str, Any]] = {
    DLDL: {"tol": 1e-12},
    VoteLDL: {"tol": 1e-12},
    SABFGS: {"tol": 1e-12},
    FromDistributions: {"estimator": DLDL(tol=1e-12)},
    EnhanceThenLearn: {"learner": SABFGS(tol=1e-12)},
}


def solved_exactly(estimator: LabelEstimator) -> LabelEstimator:
    """A copy with strict tolerances, so that differences between fits do not come from early
    stopping."""
    return clone(estimator).set_params(**EXACT.get(type(estimator), {}))


@cache
def case_id(estimator: Any) -> str:
    name = type(estimator).__name__
    settings = type(estimator)._test_params
    if len(settings) == 1:
        return name
    known = (k for k, s in enumerate(settings) if repr(type(estimator)(**s)) == repr(estimator))
    return f"{name}-{next(known, 'more')}"


def tweets(n: int = 120) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised features, distributions and logical labels of a few embedded tweets."""
    data = load_vader_tweets()
    X, D = np.asarray(data.X[:n], dtype=float), np.asarray(data.D[:n])
    return (X - X.mean(axis=0)) / X.std(axis=0), D, binarize(D)


def valid_targets(estimator: LabelEstimator, y: np.ndarray, n_labels: int = 3) -> np.ndarray:
    """Turn the 1-D targets of scikit-learn's checks into logical labels or distributions of three
    labels.

    A pure function of the values, so that transformations of rows by a check apply to the targets,
    too.
    """
    if np.ndim(y) == 2:
        return y  # some checks call the hook twice
    if not np.issubdtype(np.asarray(y).dtype, np.number) or not np.isfinite(y).all():
        return np.reshape(y, (-1, 1))  # invalid targets stay invalid
    patterns = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
    Y = patterns[np.unique(y, return_inverse=True)[1] % 3]
    if n_labels == 1:
        Y = np.ones((len(Y), 1))
    return Y / Y.sum(axis=1, keepdims=True) if estimator.kind == "learner" else Y
