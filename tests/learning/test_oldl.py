"""OLDL: losses equal metrics, gradients, effect of the label order."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from ldlearn.learning import OLDL, SABFGS, MeanLDL, ldl_hr
from ldlearn.metrics import METRICS, per_row

LOSSES = pytest.mark.parametrize("loss", ["cad", "qfd2", "cjs"])


def make_problem(n=80, m=3, c=5, seed=0):
    """A noisy unimodal distribution over ordered labels whose mode depends on the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    D = np.exp(-((np.arange(c) - c / 2 - X[:, [0]]) ** 2) + 0.5 * rng.normal(size=(n, c)))
    return X, D / D.sum(axis=1, keepdims=True)


@LOSSES
def test_loss_is_the_metric(loss, monkeypatch):
    monkeypatch.setattr(ldl_hr, "_KINK_WIDTH", 0.0)
    _, D = make_problem(seed=0)
    _, P = make_problem(seed=1)
    D[0] = [0.0, 0.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(
        OLDL(loss=loss)._row_losses(D, P)[0], per_row(loss, D, P), atol=1e-12
    )


@LOSSES
def test_gradient_by_differences(loss):
    _, D = make_problem(n=6)
    D[0] = [0.0, 0.0, 1.0, 0.0, 0.0]
    model, times = OLDL(loss=loss), np.linspace(0.5, 2.0, 6)[:, None]

    def at(flat):
        return model._loss(D, times, flat.reshape(6, 5))

    flat = np.random.default_rng(1).normal(size=30)
    error = check_grad(lambda v: at(v)[0], lambda v: at(v)[1].ravel(), flat)
    assert error < 1e-5 * np.linalg.norm(at(flat)[1])


def test_predictions_that_are_zero_have_a_finite_gradient():
    D, P = np.array([[0.5, 0.5, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    losses, slope = OLDL(loss="cjs")._row_losses(D, P)
    assert np.isfinite(losses).all()
    assert np.isfinite(slope).all()


@LOSSES
def test_own_metric_is_better_than_with_softmax_regression(loss):
    X, D = make_problem()
    fits = [
        model.fit(X, D).predict(X)
        for model in (OLDL(loss=loss, l2=1e-3), SABFGS(l2=1e-3), MeanLDL())
    ]
    own, other, constant = (METRICS[loss].function(D, P) for P in fits)
    assert own < other < 0.7 * constant


@LOSSES
def test_predictions_beat_the_mean(loss):
    X, D = make_problem(n=200)
    train, test = slice(0, 120), slice(120, 200)
    constant = MeanLDL().fit(X[train], D[train]).score(X[test], D[test])
    assert OLDL(loss=loss).fit(X[train], D[train]).score(X[test], D[test]) > constant + 0.05


@LOSSES
def test_order_of_labels_matters_but_not_its_direction(loss):
    X, D = make_problem(n=30)
    model = OLDL(loss=loss, tol=1e-12, max_iter=20_000)
    P = model.fit(X, D).predict(X)
    order = [2, 0, 4, 1, 3]
    assert np.abs(model.fit(X, D[:, order]).predict(X) - P[:, order]).max() > 1e-3
    if loss != "cjs":  # which compares sums from the first label on
        np.testing.assert_allclose(model.fit(X, D[:, ::-1]).predict(X), P[:, ::-1], atol=1e-3)
