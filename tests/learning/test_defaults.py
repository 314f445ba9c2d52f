"""What a user meets first: every learner as it comes, on real tables and on tables with awkward columns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from protocol import EMBEDDED, load
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from ldlearn import all_estimators
from ldlearn.datasets import load_vader_tweets
from ldlearn.learning import MeanLDL

BESIDE = ("SCUT_FBP", "Natural_Scene", "SJAFFE", "SBU_3DFE", "Yeast_spo5")
LEARNERS = {name: cls for name, cls in all_estimators("learner") if name != "FromDistributions" and not cls.is_baseline}
SLOW = {"PTSVM": 150, "DFLDL": 150}  # rows; the others get 500
# Distances and margins weigh features as they are: a column of huge numbers is all they see.
SEES_UNITS = {"AAKNN", "DFLDL", "LDSVR", "PTSVM"}
# How far a default may be below the mean distribution; where it is more than 0.01, the class says so.
MARGINS = {("DFLDL", "Yeast_spo5"): 0.02}

EVERY = pytest.mark.parametrize("name", LEARNERS)


def as_it_comes(name):
    learner = LEARNERS[name]()
    return learner.set_params(random_state=0) if "random_state" in learner.get_params() else learner


def quietly(learner, X, D):
    """Fit a learner that is allowed to need more iterations than it has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(X, D)


def assert_no_worse_than_the_mean(name, X, D, margin):
    order = np.random.default_rng(0).permutation(len(X))
    n = min(SLOW.get(name, 500), int(0.6 * len(X)))
    train, test = order[:n], order[n : n + 800]
    scaler = StandardScaler().fit(X[train])
    baseline = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    model = quietly(as_it_comes(name), scaler.transform(X[train]), D[train])
    assert model.score(scaler.transform(X[test]), D[test]) > baseline - margin


@EVERY
@pytest.mark.parametrize("data", [*EMBEDDED, *BESIDE])
def test_no_default_loses_to_the_mean_distribution(name, data):
    assert_no_worse_than_the_mean(name, *load(data), MARGINS.get((name, data), 0.01))


def planted(n=200):
    """Two features that decide, and the degrees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    Z = X @ [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    D = np.exp(Z)
    return X, D / D.sum(axis=1, keepdims=True)


@EVERY
def test_a_column_of_time_stamps_does_not_hide_the_others(name):
    if name in SEES_UNITS:
        pytest.skip(f"{name} measures distances between rows in the units of the features")
    X, D = planted()
    stamps = 1.7e9 + np.random.default_rng(1).uniform(0.0, 3e7, size=len(X))
    beside = np.column_stack([X, stamps])
    tame = np.column_stack([X, (stamps - stamps.mean()) / stamps.std()])
    plain = quietly(as_it_comes(name), tame, D).score(tame, D)
    assert plain > MeanLDL().fit(X, D).score(X, D) + 0.03
    assert quietly(as_it_comes(name), beside, D).score(beside, D) > plain - 0.02


@EVERY
def test_where_the_origin_lies_does_not_matter(name):
    X, D = planted(120)
    # Numbers that do not change when the offset is added: what differs is what a method does with them.
    X = np.round(X * 2.0**12) / 2.0**12
    near = quietly(as_it_comes(name), X, D).predict(X)
    for offset in (1e4, 1e6):
        there = X + offset * np.array([1.0, -0.5])
        far = quietly(as_it_comes(name), there, D).predict(there)
        np.testing.assert_allclose(far, near, atol=2e-3)


@EVERY
def test_a_default_fit_of_real_rows_converges(name):
    """A user who changes nothing hears no warning; warnings are errors here."""
    table = load_vader_tweets()
    as_it_comes(name).fit(StandardScaler().fit_transform(table.X[:300]), table.D[:300])
