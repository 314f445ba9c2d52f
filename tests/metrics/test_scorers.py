"""Scorers in scikit-learn's model selection."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, cross_validate

from ldlearn.metrics import METRICS, SCORERS, clark, get_scorer


class Blend(RegressorMixin, BaseEstimator):
    """Mixture of the mean training distribution and the uniform one."""

    def __init__(self, uniform=0.0):
        self.uniform = uniform

    def fit(self, X, y):
        self.mean_ = np.mean(y, axis=0)
        return self

    def predict(self, X):
        row = (1 - self.uniform) * self.mean_ + self.uniform / len(self.mean_)
        return np.tile(row, (len(X), 1))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 2)), rng.dirichlet([8.0, 2.0, 1.0], size=40)


@pytest.mark.parametrize("name", METRICS)
def test_sign_follows_the_direction(name, data):
    X, D = data
    model = Blend(uniform=0.5).fit(X, D)
    value = METRICS[name].function(D, model.predict(X))
    sign = 1 if METRICS[name].greater_is_better else -1
    assert SCORERS[name](model, X, D) == pytest.approx(sign * value)


@pytest.mark.parametrize("name", ["clark", "intersection", "kl_divergence"])
def test_grid_search_finds_the_better_model(name, data):
    X, D = data
    search = GridSearchCV(
        Blend(), {"uniform": [0.0, 0.5, 1.0]}, scoring=SCORERS[name], cv=4, error_score="raise"
    )
    assert search.fit(X, D).best_params_ == {"uniform": 0.0}


def test_several_scorers_at_once(data):
    scoring = {
        name: SCORERS[name] for name in ("chebyshev", "cosine", "expected_label_absolute_error")
    }
    scores = cross_validate(Blend(), *data, scoring=scoring, cv=4, error_score="raise")
    assert (scores["test_chebyshev"] < 0).all()
    assert (scores["test_cosine"] > 0).all()


def test_options_reach_the_metric(data):
    X, D = data
    D = np.where(D < 0.1, 0, D)
    D /= D.sum(axis=1, keepdims=True)
    few = D * [1, 1, 0] + [0.01, 0, 0]
    model = Blend().fit(X, few / few.sum(axis=1, keepdims=True))
    scorer = get_scorer("clark", convention="dldl-recovery")
    expected = clark(D, model.predict(X), convention="dldl-recovery")
    assert scorer(model, X, D) == pytest.approx(-expected)
    assert scorer(model, X, D) != pytest.approx(SCORERS["clark"](model, X, D))


@pytest.mark.parametrize("name", METRICS)
def test_scorers_can_be_pickled(name, data):
    X, D = data
    model = Blend(uniform=0.5).fit(X, D)
    again = pickle.loads(pickle.dumps(SCORERS[name]))
    assert again(model, X, D) == SCORERS[name](model, X, D)


def test_scorers_come_from_the_registry():
    assert list(SCORERS) == list(METRICS)
    with pytest.raises(ValueError, match="did you mean intersection"):
        get_scorer("intersecton")
