"""Defaults against the floors: what the docstrings say of them is what happens."""

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

MARGIN = 0.03  # of the mean intersection
METHODS = dict(all_estimators("enhancer")) | {name: cls for name, cls in all_estimators("joint") if name == "L2"}


@cache
def recovery(cls):
    """Mean intersection on 600 tweets, from the labels that anybody voted for."""
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
def test_a_docstring_says_whether_the_default_loses_to_the_floors(name):
    cls = METHODS[name]
    if cls in (UniformLE, PriorLE):
        pytest.skip("a floor to compare with")
    if name == "ProjectedPriorLE":
        pytest.skip("a floor that trades one kind of truth for another")
    loses = recovery(cls) < min(recovery(UniformLE), recovery(PriorLE)) - MARGIN
    assert loses == ("loses to equal shares" in cls.__doc__)
