"""Defaults are the published constants; docstrings state correctly whether they lose to the
baselines."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from ldlearn import all_estimators, metrics
from ldlearn.core import binarize
from ldlearn.datasets import load_vader_tweets
from ldlearn.enhancement import PriorLE, UniformLE

# The constants of the papers or of their released code; a changed default is another method
PUBLISHED = {
    "FCM": {"n_clusters": None, "b": 2.0},
    "FLE": {"alpha": 1.0, "beta": 1.0, "lam": 1.0, "gamma": 1.0},
    "GLESC": {"beta": 10.0, "lam": 10.0},
    "GLLE": {
        "lam": 0.01,
        "n_neighbors": 20,
        "sigma": 10.0,
        "max_iter": 300,
        "normalize": "softmax",
    },
    "KM": {"sigma": "mean", "normalize": "l1"},
    "L2": {"alpha": 1e-3, "beta": 1e-4, "gamma": 1e-3, "lam": 1e-3, "n_neighbors": 20},
    "LEMLL": {"eps": 0.2, "n_neighbors": 10},
    "LESC": {"beta": 0.001, "gamma": 1.0, "mu": 1e-6, "rho": 1.1},
    "LP": {"alpha": 0.5, "sigma": 1.0, "n_neighbors": None, "normalize": "l1"},
    "ML": {"lam": 1.0, "n_neighbors": None, "normalize": "shift_l1"},
}
MARGIN = 0.03  # difference of mean intersections
METHODS = dict(all_estimators("enhancer")) | {
    name: cls for name, cls in all_estimators("joint") if name == "L2"
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_defaults_are_the_published_constants(name):
    params = METHODS[name]().get_params()
    assert {key: params[key] for key in PUBLISHED[name]} == PUBLISHED[name]


@cache
def recovery(cls):
    """Mean intersection on 600 tweets, from labels with at least one vote."""
    data = load_vader_tweets()
    X = StandardScaler().fit_transform(np.asarray(data.X[:600], dtype=float))
    D = np.asarray(data.D[:600])
    model = cls()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The memberships of FCM collapsed")
        return metrics.intersection(D, model.fit_enhance(X, binarize(D)))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_docstring_states_whether_the_default_loses_to_baselines(name):
    cls = METHODS[name]
    if cls in (UniformLE, PriorLE):
        pytest.skip("a baseline to compare with")
    if name == "ProjectedPriorLE":
        pytest.skip("a baseline that trades one kind of truth for another")
    loses = recovery(cls) < min(recovery(UniformLE), recovery(PriorLE)) - MARGIN
    assert loses == ("loses to equal shares" in cls.__doc__)
