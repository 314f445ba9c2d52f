"""AA-BP: gradient, initialisation, both solvers."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_cases import make_problem
from scipy.optimize import approx_fprime

from ldlearn.core.simplex import row_weights
from ldlearn.learning import AABP, CPNN, MLPLDL, SABFGS, SCELDL, MeanLDL
from ldlearn.learning.aa_bp import _initial_layers, _Network, _nguyen_widrow

PUBLISHED = {
    "hidden_layer_sizes": (24, 60),
    "output": "linear-abs",
    "solver": "gd",
    "l2": 0.0,
    "random_state": 0,
}
STOPPED_EARLY = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def _flat(layers):
    return np.concatenate([part.ravel() for part in layers])


@pytest.mark.parametrize("is_softmax", [True, False])
@pytest.mark.parametrize("hidden", [[6], [3, 4]])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_gradient_by_finite_differences(is_softmax, hidden, l2):
    X, D, _ = make_problem(n=15)
    layers = _initial_layers(X, hidden, 5, np.random.RandomState(0), is_softmax)
    network = _Network(X, D, np.ones(len(D)), is_softmax, l2)
    _, gradient = network.loss_and_gradient(*layers)
    shapes = [part.shape for part in layers]
    cuts = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def loss(flat):
        parts = [
            part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)
        ]
        return network.loss_and_gradient(*parts)[0]

    numeric = approx_fprime(_flat(layers), loss, 1e-7)
    np.testing.assert_allclose(_flat(gradient), numeric, atol=2e-7)


def test_softmax_delta_matches_the_paper():
    """``z_j [(z_j - d_j) - sum_k z_k (z_k - d_k)]`` at the output, for E = sum of squares / 2."""
    X, D, _ = make_problem(n=1)
    layers = _initial_layers(X, [4], 5, np.random.RandomState(0), True)
    _, gradient = _Network(X, D, np.ones(1), True, 0.0).loss_and_gradient(*layers)
    model = AABP(hidden_layer_sizes=(4,), max_iter=1, random_state=0)
    model.coefs_, model.intercepts_ = layers[::2], layers[1::2]
    z, d = model._predict(X)[0], D[0]
    delta = z * ((z - d) - np.sum(z * (z - d)))
    np.testing.assert_allclose(gradient[-1], delta * 2.0 / 5.0, atol=1e-15)


def test_nguyen_widrow_initialisation():
    low, high = np.array([10.0, -1e-3, 4.0]), np.array([30.0, 1e-3, 4.0])
    W, b = _nguyen_widrow(low, high, 8, np.random.RandomState(0))
    assert (W[2] == 0).all()  # a constant feature
    # With features scaled to [-1, 1] the weights have the prescribed norm, up to the third
    # feature's.
    inside = W * ((high - low) / 2)[:, None]
    length = 2 * 0.7 * 8 ** (1 / 3)
    assert (np.linalg.norm(inside, axis=0) <= length + 1e-12).all()
    centre = b + (high + low)[:2] / 2 @ W[:2]
    np.testing.assert_allclose(np.abs(centre), length * np.abs(np.linspace(-1, 1, 8)), atol=1e-9)
    W, _ = _nguyen_widrow(low[:2], high[:2], 8, np.random.RandomState(0))
    np.testing.assert_allclose(
        np.linalg.norm(W * ((high - low) / 2)[:2, None], axis=0), 1.4 * 8**0.5
    )


@STOPPED_EARLY
@pytest.mark.parametrize("m", [4, 60])  # fewer and more features than rows
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_descent_takes_the_published_steps(m, weighted):
    X, D, _ = make_problem(m=m)
    weights = np.linspace(0.5, 2.0, len(X)) if weighted else None
    layers = _initial_layers(X, [24, 60], 5, np.random.RandomState(0), False)
    network = _Network(X, D, row_weights(D, weights), False, 0.0)
    for _ in range(3):
        loss, gradient = network.loss_and_gradient(*layers)
        layers = [array - 0.05 * slope for array, slope in zip(layers, gradient, strict=True)]
    model = AABP(**PUBLISHED, max_iter=3).fit(X, D, sample_weight=weights)
    for fitted, expected in zip(
        model.coefs_ + model.intercepts_, layers[::2] + layers[1::2], strict=True
    ):
        np.testing.assert_allclose(fitted, expected, atol=1e-12)
    assert model.objective_path_[1] == pytest.approx(loss)
    assert model.objective_ == pytest.approx(network.loss_and_gradient(*layers)[0])


@STOPPED_EARLY
def test_gradient_descent_lowers_the_error_and_stops_at_the_goal():
    X, D, _ = make_problem()
    errors = [AABP(**PUBLISHED, max_iter=k).fit(X, D).objective_ for k in (1, 10, 100, 1000)]
    assert errors == sorted(errors, reverse=True)
    again = AABP(**PUBLISHED, max_iter=100).fit(X, D).objective_path_
    np.testing.assert_allclose(again[[0, 9, 99]], errors[:3], rtol=1e-12)
    model = AABP(**PUBLISHED, max_iter=6000, goal=0.05).fit(X, D)
    assert model.objective_ <= 0.05
    assert model.n_iter_ < 6000
    assert model.converged_
    assert AABP(**PUBLISHED, max_iter=model.n_iter_ - 1, goal=0.05).fit(X, D).objective_ > 0.05


def test_absolute_values_are_divided_by_their_sum():
    model = AABP(**PUBLISHED, max_iter=1)
    model.coefs_, model.intercepts_ = (
        [np.zeros((1, 1)), np.zeros((1, 3))],
        [np.zeros(1), np.array([1.0, -2.0, 1.0])],
    )
    np.testing.assert_allclose(model._predict(np.zeros((1, 1))), [[0.25, 0.5, 0.25]])
    model.intercepts_[1][:] = 0.0
    np.testing.assert_allclose(model._predict(np.zeros((1, 1))), [[1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("output", ["softmax", "linear-abs"])
def test_learns_nonlinear_relations(output):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 2))
    share = 0.1 + 0.8 * (X[:, 0] * X[:, 1] > 0)
    D = np.column_stack([share, 1 - share])
    network = AABP(hidden_layer_sizes=(20,), output=output, random_state=0).fit(X[:200], D[:200])
    assert SABFGS().fit(X[:200], D[:200]).score(X[200:], D[200:]) < 0.7
    assert network.score(X[200:], D[200:]) > 0.85


@STOPPED_EARLY
def test_lbfgs_is_invariant_to_feature_units():
    X, D, _ = make_problem()
    moved = X * [1e-4, 1.0, 1e5, 3.0] + [0.0, 50.0, -1e6, 2.0]
    straight = AABP(max_iter=20, random_state=0).fit(X, D).predict(X)
    np.testing.assert_allclose(
        AABP(max_iter=20, random_state=0).fit(moved, D).predict(moved), straight, atol=1e-4
    )


def test_large_penalty_gives_the_mean():
    X, D, _ = make_problem()
    P = AABP(l2=1.0, tol=1e-14, random_state=0).fit(X, D).predict(X)
    np.testing.assert_allclose(P, MeanLDL().fit(X, D).predict(X), atol=1e-3)


def test_divergence_raises():
    X, D, _ = make_problem()
    with pytest.raises(ValueError, match=r"diverged with learning_rate=1000; lower it"):
        AABP(**PUBLISHED, learning_rate=1000.0, max_iter=2000).fit(1e3 * X, D)


@pytest.mark.parametrize("sizes", [(), (0,), (2.5,)])
def test_invalid_layer_sizes_raise(sizes):
    with pytest.raises(ValueError, match="hidden_layer_sizes must hold one or more integers"):
        AABP(hidden_layer_sizes=sizes).fit(np.zeros((3, 1)), np.ones((3, 1)))


@STOPPED_EARLY
@pytest.mark.parametrize("network", [AABP, CPNN, MLPLDL, SCELDL])
def test_one_layer_is_an_integer_or_a_sequence(network):
    X, D, _ = make_problem()
    models = [network(hidden_layer_sizes=size, max_iter=2, random_state=0) for size in (3, [3])]
    plain, sequence = (model.fit(X, D).predict(X) for model in models)
    np.testing.assert_array_equal(plain, sequence)


@pytest.mark.parametrize("network", [CPNN, MLPLDL, SCELDL])
def test_second_hidden_layer_raises(network):
    with pytest.raises(ValueError, match=r"must hold one integer, got \[3, 4\]"):
        network(hidden_layer_sizes=(3, 4)).fit(np.zeros((3, 1)), np.ones((3, 1)))
