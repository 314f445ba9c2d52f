"""A new method needs one file and one line, as described in CONTRIBUTING.md."""

import numpy as np
import pandas as pd
import pytest
from added_to_package import add_to_package
from estimator_cases import instances
from example_tables import LABELS, make_table

import ldlearn
from ldlearn import learning
from ldlearn.cli.main import main
from ldlearn.experiments import methods as methods_of_plans

FILE = '''
"""Ridge regression of degrees, projected onto the simplex."""

import numpy as np

from ldlearn.base import Learner
from ldlearn.core.simplex import project_simplex


class RidgeShares(Learner):
    """Linear regression of the degrees, and the nearest distribution."""

    learned = {"coef_": "float (n_labels, n_features)"}
    _test_params = ({"gamma": 0.1},)

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _fit(self, X, D):
        self.coef_ = np.linalg.solve(X.T @ X + self.gamma * np.eye(X.shape[1]), X.T @ D).T

    def _predict(self, X):
        return project_simplex(X @ self.coef_.T)
'''


@pytest.fixture
def new_method(tmp_path, monkeypatch):
    method = add_to_package(monkeypatch, tmp_path, learning, "ridge_shares", FILE, "RidgeShares")
    clear_caches()
    yield method
    vars(ldlearn).pop("RidgeShares", None)
    clear_caches()


def clear_caches():
    """Clear the caches of discovered methods."""
    methods_of_plans.estimators.cache_clear()


def call(*words):
    with pytest.raises(SystemExit) as exit_info:
        main(list(words))
    assert exit_info.value.code == 0, words


def test_new_method_is_discovered_checked_and_exported(new_method):
    assert (
        dict(ldlearn.all_estimators("learner"))["RidgeShares"] is ldlearn.RidgeShares is new_method
    )
    assert [case.gamma for case in instances() if isinstance(case, new_method)] == [0.1]
    assert "RidgeShares" in methods_of_plans.estimators()


def test_new_method_on_the_command_line(new_method, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    call("methods", "--kind", "learner")
    assert "RidgeShares  " in capsys.readouterr().out
    fit = [
        "fit",
        "data.csv",
        "-l",
        ",".join(LABELS),
        "--id",
        "key",
        "-o",
        "m.ldl",
        "--holdout",
        "0",
    ]
    call(*fit, "--method", "ridgeshares", "--set", "gamma=2")
    call("predict", "data.csv", "-m", "m.ldl", "-o", "p.csv")
    np.testing.assert_allclose(pd.read_csv("p.csv")[list(LABELS)].sum(axis=1), 1.0, atol=1e-9)
