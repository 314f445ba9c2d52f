"""AA-BP: a neural network that outputs label distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.scaling import Scaling, feature_scaling
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    normalize_rows,
    positive_or_one,
    row_weights,
    softmax,
)
from ldlearn.exceptions import InputError
from ldlearn.learning.linear_softmax import logit_gradient
from ldlearn.learning.networks import LayerSizes, check_layer_sizes

# Weights (inputs, outputs) and biases of each layer in turn, the first layer first.
_Layers = list[Array]


@estimator_dataclass
class AABP(Learner):
    r"""A multi-layer perceptron, trained by back-propagation on squared errors (AA-BP).

    Assumes a smooth non-linear relation. Use it where the linear `SABFGS` falls short and there are
    enough rows.

    .. math::

        \min_{W, b}\; \frac{1}{n c} \sum_{ij} (z_{ij} - d_{ij})^2 + l_2 \sum |W|^2, \qquad
        Z = o(\tanh(\cdots \tanh(X W_1 + b_1) \cdots) W_L + b_L)

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(60,)
        Units of the hidden layers; the published code has (24, 60).
    output : {"softmax", "linear-abs"}, default="softmax"
        The function o. ``"softmax"``: the outputs are distributions while training.
        ``"linear-abs"``: they may have any sign; their absolute values, divided by their sum, are
        predicted.
    solver : {"lbfgs", "gd"}, default="lbfgs"
        ``"lbfgs"`` works on standardised features, so their scale does not matter; ``"gd"`` is
        gradient descent over all rows with the constant step ``learning_rate`` on the features as
        they are.
    l2 : float, default=3e-4
        Penalty of all weights, but not of the biases; 0 is the published form.
    learning_rate : float, default=0.05
        Step of ``"gd"``.
    max_iter : int, default=1000
        Iterations at most; the published code runs ``"gd"`` for 6000.
    goal : float, default=1e-4
        ``"gd"`` stops when the mean squared error is this small.
    tol : float, default=1e-5
        ``"lbfgs"`` stops when an iteration lowers the objective by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights.

    Attributes
    ----------
    coefs_ : list of ndarray
        Weights :math:`W_1, \dots, W_L` of the layers, each (inputs, outputs).
    intercepts_ : list of ndarray
        Biases :math:`b_1, \dots, b_L`.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each iteration.
    objective_ : float
        The objective at the end.
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` or ``goal`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Hidden layers start as Nguyen and Widrow propose, from the ranges of their inputs. The initial
    weights depend on the order of the labels, and rounding errors grow in training: permuted data
    gives another, equally good network.

    Departures from the paper: L-BFGS on standardised features, a small penalty by default.
    ``AABP(hidden_layer_sizes=(24, 60), output="linear-abs", solver="gd", l2=0, max_iter=6000)`` is
    the published code (whose momentum setting has no effect). Confidence: certain for
    ``"linear-abs"``; reconstructed for ``"softmax"``, the version of the paper's text.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.
    D. Nguyen, B. Widrow, "Improving the learning speed of 2-layer neural networks", IJCNN 1990.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import AABP
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> D = np.hstack([X**2, 1 - X**2])
    >>> P = AABP(hidden_layer_sizes=8, l2=1e-5, random_state=0).fit(X, D).predict(X)
    >>> bool(np.abs(P - D).max() < 0.1)
    True
    """

    learned = {"coefs_": "any", "intercepts_": "any"}

    float32_tolerance = 1e-2
    _convergence_advice = "raise max_iter, or loosen tol (goal with solver='gd')."
    _test_params = (
        {"hidden_layer_sizes": (5,), "tol": 1e-3, "random_state": 0},
        {
            "hidden_layer_sizes": (4, 5),
            "output": "linear-abs",
            "solver": "gd",
            "goal": 0.15,
            "random_state": 0,
        },
    )

    hidden_layer_sizes: LayerSizes = (60,)
    output: Literal["softmax", "linear-abs"] = "softmax"
    solver: Literal["lbfgs", "gd"] = "lbfgs"
    l2: NonNegative = 3e-4
    learning_rate: Positive = 0.05
    max_iter: PositiveInt = 1000
    goal: NonNegative = 1e-4
    tol: NonNegative = 1e-5
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # The random start treats labels unequally, and the fit, stopped early, depends on rounding.
        tags.order_invariant = False
        tags.label_invariant = False
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        m = X.shape[1]
        scaling = Scaling(np.zeros(m), np.ones(m))
        if self.solver == "lbfgs":
            scaling = feature_scaling(X, weights=sample_weight)
        X = scaling.apply(X)
        is_softmax = self.output == "softmax"
        network = _Network(X, D, row_weights(D, sample_weight), is_softmax, self.l2)
        sizes = check_layer_sizes(self.hidden_layer_sizes)
        rng = check_random_state(self.random_state)
        layers = _initial_layers(X, sizes, D.shape[1], rng, is_softmax)
        if self.solver == "gd":
            layers = self._descend(network, layers)
        else:
            fit = self._minimize_lbfgs(network.loss_and_gradient, layers, memory=20)
            layers = fit.arrays
            self.objective_path_ = fit.path
        # Only the first layer sees features: with its weights in the user's units predictions need
        # no scaling.
        layers[:2] = scaling.undo(*layers[:2])
        self.coefs_ = layers[::2]
        self.intercepts_ = layers[1::2]

    def _descend(self, network: "_Network", layers: _Layers) -> _Layers:
        path: list[float] = []
        loss, gradients = network.loss_and_gradient(*layers)
        while network.error > self.goal and len(path) < self.max_iter:
            for k, gradient in enumerate(gradients):
                layers[k] = layers[k] - self.learning_rate * gradient
            # Too long a step overflows, which raises the error below.
            with np.errstate(over="ignore", invalid="ignore"):
                loss, gradients = network.loss_and_gradient(*layers)
            path.append(loss)
            if not np.isfinite(loss):
                raise InputError(
                    f"Gradient descent diverged with learning_rate={self.learning_rate:g}; "
                    "lower it, scale the features, or use solver='lbfgs'."
                )
        self.objective_ = float(loss)
        self.objective_path_ = np.array(path)
        self.n_iter_ = len(path)
        self.converged_ = bool(network.error <= self.goal)
        return layers

    def _predict(self, X: Array) -> Array:
        *_, Z = _activations(X, self.coefs_, self.intercepts_)
        return softmax(Z) if self.output == "softmax" else normalize_rows(np.abs(Z))


@dataclass
class _Network:
    """The objective on one training set."""

    X: Array
    D: Array
    weights: SampleWeight
    is_softmax: bool
    l2: float
    error: float = np.inf  # mean squared error at the last weights asked for

    def loss_and_gradient(self, *layers: Array) -> tuple[float, _Layers]:
        weights = layers[::2]
        *hidden, P = _activations(self.X, weights, layers[1::2])
        if self.is_softmax:
            P = softmax(P)
        residual = P - self.D
        slope = residual * (self.weights / self.weights.sum() / P.shape[1])[:, None]
        self.error = np.vdot(residual, slope)
        delta = 2.0 * slope
        if self.is_softmax:
            delta = logit_gradient(P, delta)
        loss = self.error
        gradient: _Layers = []
        for W, inputs in zip(weights[::-1], hidden[::-1], strict=True):
            loss = loss + self.l2 * np.vdot(W, W)
            in_W = inputs.T @ delta + 2.0 * self.l2 * W
            gradient = [in_W, delta.sum(axis=0), *gradient]
            if inputs is not self.X:  # the derivative of tanh, from its value
                delta = delta @ W.T * (1.0 - inputs * inputs)
        return loss, gradient


def _activations(X: Array, weights: Sequence[Array], biases: Sequence[Array]) -> list[Array]:
    """The inputs of each layer, X first, and the linear outputs of the last one."""
    values = [X, X @ weights[0] + biases[0]]
    for W, b in zip(weights[1:], biases[1:], strict=True):
        values[-1] = np.tanh(values[-1])
        values.append(values[-1] @ W + b)
    return values


def _initial_layers(
    X: Array,
    hidden: list[int],
    n_labels: int,
    rng: Any,
    is_softmax: bool,
) -> _Layers:
    """Nguyen and Widrow's hidden layers; uniform output weights as in the published code."""
    low = X.min(axis=0)
    high = X.max(axis=0)
    layers: _Layers = []
    for size in hidden:
        layers += _nguyen_widrow(low, high, size, rng)
        high = np.ones(size)
        low = -high
    # Squared errors of a saturated softmax have no slope.
    reach = hidden[-1] ** -0.5 if is_softmax else 1.0
    W = rng.uniform(-reach, reach, (hidden[-1], n_labels))
    return [*layers, W, rng.uniform(-reach, reach, n_labels)]


def _nguyen_widrow(low: Array, high: Array, size: int, rng: Any) -> tuple[Array, Array]:
    """Weights that spread the active regions of the units over the box from ``low`` to ``high``."""
    # Each unit is active in a slice of the box, across a random direction: tanh is active on
    # [-2, 2]. With weights of this length the slices of all units cover the box and overlap a
    # little.
    reach = 2.0 * 0.7 * size ** (1.0 / len(low))
    W = rng.normal(size=(len(low), size))
    W *= reach / np.linalg.norm(W, axis=0)
    b = np.zeros(1)
    if size > 1:
        b = reach * np.linspace(-1.0, 1.0, size) * np.sign(W[0])
    # The box onto [-1, 1].
    varies = high > low
    scale = varies * 2.0 / positive_or_one(high - low)
    shift = varies * (1.0 - high * scale)
    return W * scale[:, None], b + shift @ W
