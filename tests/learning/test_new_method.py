"""A new method needs one file and one line, as described in CONTRIBUTING.md."""

import numpy as np
import pandas as pd
import pytest
from added_to_package import add_to_package
from estimator_cases import instances
from example_tables import LABELS, make_table
from tiny_plans import tiny_plan

import ldlearn
from ldlearn import learning
from ldlearn.cli.main import main
from ldlearn.experiments import methods as methods_of_plans
from ldlearn.experiments import run_plan
from ldlearn.testing import check_estimator

FILE = '''
"""Ridge regression of degrees, projected onto the simplex."""

import numpy as np

from ldlearn.base import Learner
from ldlearn.base.parameters import Positive, estimator_dataclass
from ldlearn.core.simplex import project_simplex


@estimator_dataclass
class RidgeShares(Learner):
    """Linear regression of the degrees, and the nearest distribution.

    Parameters
    ----------
    gamma : float, default=1.0
        Penalty of the squared coefficients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: there is no paper.

    Examples
    --------
    >>> RidgeShares().fit([[0.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]]).predict([[1.0]])
    array([[0.25, 0.75]])
    """

    learned = {"coef_": "float (n_labels, n_features)"}
    _test_params = ({"gamma": 0.1},)

    gamma: Positive = 1.0

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
    fit = ["fit", "data.csv", "-l", ",".join(LABELS), "--id", "key", "-o", "m.ldl"]
    fit += ["--holdout", "0"]
    call(*fit, "--method", "ridgeshares", "--set", "gamma=2")
    call("predict", "data.csv", "-m", "m.ldl", "-o", "p.csv")
    np.testing.assert_allclose(pd.read_csv("p.csv")[list(LABELS)].sum(axis=1), 1.0, atol=1e-9)


def test_new_method_keeps_the_contract(new_method):
    check_estimator(new_method)


def test_new_method_in_a_plan(new_method, tmp_path):
    grid = {"grid": {"gamma": [0.1, 10.0]}}
    plan = tiny_plan(methods={"RidgeShares": grid}, protocol={"repeats": 1})
    (record,) = run_plan(plan, tmp_path).records
    assert record.is_ok
    assert record.estimator == "RidgeShares"
    assert len(record.grid) == 2


def test_new_method_has_a_default_grid_on_the_leaderboard(new_method):
    plans = pytest.importorskip("benchmarks.leaderboard.plans")
    found = plans.leaderboard_plans(["vader_tweets"], ["RidgeShares"])
    (method,) = found["degrees", "truth"].methods
    assert method.grid == {"gamma": [0.1, 1.0, 10.0, 100.0]}
