"""CPNN: gradients by differences, the network by loops, ordered labels."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from ldlearn.learning import CPNN, MeanLDL
from ldlearn.learning import cpnn as module
from ldlearn.learning.cpnn import _network_loss


def make_problem(n=40, m=3, c=6, seed=0):
    """A unimodal distribution over ordered labels whose mode depends on the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(-((np.arange(c) - c / 2 - X[:, [0]] * X[:, [1]]) ** 2))
    return X, D / D.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("block", [1, 100_000])
def test_gradient_by_differences(block, monkeypatch):
    monkeypatch.setattr(module, "CACHED_ENTRIES", block)
    X, D = make_problem(n=8)
    shapes, weights = [(3, 4), (4,), (4,), (4,)], np.linspace(0.5, 2.0, 8)
    cuts = np.cumsum([12, 4, 4])

    def at(flat):
        arrays = [
            part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)
        ]
        return _network_loss(X, D, weights, 0.3, *arrays)

    flat = np.random.default_rng(1).normal(size=24)
    gradient = np.concatenate([part.ravel() for part in at(flat)[1]])
    error = check_grad(
        lambda v: at(v)[0], lambda v: np.concatenate([part.ravel() for part in at(v)[1]]), flat
    )
    assert error < 1e-5 * np.linalg.norm(gradient)


def test_prediction_is_a_network_of_row_and_label():
    X, D = make_problem()
    model = CPNN(hidden_layer_sizes=5, random_state=0).fit(X, D)
    P = model.predict(X)
    positions = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0]
    for i in (0, 7):
        degrees = []
        for t in positions:
            hidden = np.tanh(
                X[i] @ model.hidden_coef_ + t * model.label_coef_ + model.hidden_intercept_
            )
            degrees.append(np.exp(hidden @ model.output_coef_))
        np.testing.assert_allclose(P[i], np.array(degrees) / np.sum(degrees), rtol=1e-9)
    entropy = -np.mean(np.sum(D * np.log(P), axis=1))
    assert entropy < model.objective_ < entropy + 1.0  # the remainder is the penalty


def test_interactions_are_learned():
    X, D = make_problem(n=300)
    train, test = slice(0, 200), slice(200, 300)
    constant = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    model = CPNN(hidden_layer_sizes=16, random_state=0).fit(X[train], D[train])
    assert model.score(X[test], D[test]) > constant + 0.1
    again = CPNN(hidden_layer_sizes=16, random_state=0).fit(X[train], D[train])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
