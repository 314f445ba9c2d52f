"""Stored results of each estimator on a small real problem, rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from estimator_cases import case_id, instances, make_targets
from sklearn.base import clone

from ldlearn.base import LabelEstimator
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets

GOLDEN = Path(__file__).parent / "golden"
ROWS = 6


# Test settings that reduce work for frequent fits are replaced by the defaults here.
DEFAULTS: dict[str, dict[str, Any]] = {
    "DLDL-0": {"max_iter": 5},
    "L2-0": {"tol": 1e-3},
    "LDLSCL": {"tol": 1e-10},  # the default stops where rounding still changes degrees by 0.01
    "VoteLDL-2": {"gamma": None},
}


def golden_cases() -> dict[str, LabelEstimator]:
    cases = {case_id(estimator): estimator for estimator in instances()}
    return {
        key: clone(estimator).set_params(**DEFAULTS.get(key, {}))
        for key, estimator in cases.items()
    }


def golden_result(estimator: LabelEstimator) -> dict[str, list[list[float]]]:
    """First rows of recovery and prediction for 80 embedded tweets."""
    data = load_vader_tweets()
    X, D = np.asarray(data.X[:120, :12], dtype=float), np.asarray(data.D[:120])
    X = 5.0 * X / np.abs(X).max()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    estimator.fit(X[:80], make_targets(estimator, D[:80], binarize(D[:80])))
    found = {}
    if hasattr(estimator, "label_distributions_"):
        found["recovered"] = estimator.label_distributions_[:ROWS]
    if hasattr(estimator, "predict"):
        found["predicted"] = estimator.predict(X[80:])[:ROWS]
    return {name: np.round(values, 6).tolist() for name, values in found.items()}
