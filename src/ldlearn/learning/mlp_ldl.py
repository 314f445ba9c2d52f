"""MLPLDL: an ensemble of small softmax networks trained on label distributions."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_mean_distribution,
    log_softmax,
    row_weights,
    softmax,
)
from ldlearn.learning.networks import LayerSizes, check_single_layer
from ldlearn.solvers.lbfgs import minimize_lbfgs


@estimator_dataclass
class MLPLDL(Learner):
    r"""An ensemble of networks with one hidden layer, trained on label distributions.

    Assumes that the logarithms of the degrees are a smooth function of the features. Use it if the
    linear `SABFGS` underfits; `StackedLDL` uses it by default.

    .. math::

        \min_{V, a, W, b}\; KL(D, P) + l_2 (m |V|^2 + h |W|^2), \qquad
        P = softmax(\tanh(X V + a) W + b)

    for m standardised features and h hidden units: the penalty of a layer grows with the number of
    its inputs, so that the scale of its outputs does not depend on this number. The prediction is
    the mean of the networks' predictions.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of one int, default=(64,)
        h.
    n_networks : int, default=2
        Number of networks, which differ in their random initial coefficients.
    l2 : float, default=0.03
        Penalty; the loss is a sum over rows, so that the same value has less influence if there are
        more rows.
    max_iter : int, default=80
        L-BFGS iterations. Stopping early is part of the method: it regularises.
    tol : float, default=1e-5
        Stop when an iteration lowers the objective per row by less than this, relatively.
    random_state : int, RandomState instance or None, default=0
        Seed of the initial coefficients.

    Attributes
    ----------
    hidden_coef_ : ndarray of shape (n_networks, n_features, h)
        V, for features as given.
    hidden_intercept_ : ndarray of shape (n_networks, h)
        a.
    output_coef_ : ndarray of shape (n_networks, h, n_labels)
        W.
    output_intercept_ : ndarray of shape (n_networks, n_labels)
        b.
    objective_ : float
        Mean of the networks' objectives per row, without the entropy of D.
    n_iter_ : int
        Largest number of iterations of a network.
    converged_ : bool
        Whether all networks reached ``tol``. Usually False, without a warning.
    steps_converged_ : bool
        Always True, so that `fit` does not warn.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Ours, with a standard architecture. Departures from the paper: not applicable. Computed in
    single precision. Initial coefficients depend on the order of the labels, and rounding errors
    grow during training: permuted data give another, equally good ensemble.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import MLPLDL
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> D = np.hstack([X**2, 1 - X**2])
    >>> P = MLPLDL(l2=1e-5).fit(X, D).predict(X)
    >>> bool(np.abs(P - D).max() < 0.1)
    True
    """

    learned = {
        "hidden_coef_": "float (n_networks, n_features, n_hidden)",
        "hidden_intercept_": "float (n_networks, n_hidden)",
        "output_coef_": "float (n_networks, n_hidden, n_labels)",
        "output_intercept_": "float (n_networks, n_labels)",
        "steps_converged_": "bool",
    }

    float32_tolerance = 1e-2
    _test_params = ({"hidden_layer_sizes": (3,), "max_iter": 5},)

    hidden_layer_sizes: LayerSizes = (64,)
    n_networks: PositiveInt = 2
    l2: NonNegative = 0.03
    max_iter: PositiveInt = 80
    tol: NonNegative = 1e-5
    random_state: RandomState = 0

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Initial coefficients depend on the order of labels; a fit stopped early depends on
        # rounding errors.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        counts = row_weights(D, sample_weight)
        weights = counts / counts.sum()
        scaling = feature_scaling(X, weights=sample_weight)
        # Single precision takes half the time, and early stopping needs no more.
        standardised = scaling.apply(X).astype(np.float32)
        loss = partial(_ensemble_loss, standardised, D, weights, self.l2 / counts.sum())
        rng = check_random_state(self.random_state)
        fits = []
        for _ in range(self.n_networks):
            start = self._initial_layers(X.shape[1], D, weights, rng)
            fits.append(minimize_lbfgs(loss, start, max_iter=self.max_iter, tol=self.tol))
        layers = zip(*[fit.arrays for fit in fits], strict=True)
        V, a, self.output_coef_, self.output_intercept_ = map(np.stack, layers)
        self.hidden_coef_, self.hidden_intercept_ = scaling.undo(V, a)
        self.objective_ = float(np.mean([fit.loss for fit in fits]))
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.converged_ = all(fit.converged for fit in fits)
        self.steps_converged_ = True

    def _initial_layers(self, m: int, D: Array, weights: SampleWeight, rng: Any) -> list[Array]:
        """Hidden units of unit variance, and a prediction near the mean distribution."""
        h = check_single_layer(self.hidden_layer_sizes)
        return [
            rng.normal(size=(m, h)) / np.sqrt(m),
            rng.normal(size=h),
            0.1 * rng.normal(size=(h, D.shape[1])) / np.sqrt(h),
            log_mean_distribution(D, weights),
        ]

    def _predict(self, X: Any) -> Array:
        hidden = zip(self.hidden_coef_, self.hidden_intercept_, strict=True)
        H = [np.tanh(X @ V + a) for V, a in hidden]
        outputs = zip(H, self.output_coef_, self.output_intercept_, strict=True)
        return np.mean([softmax(units @ W + b) for units, W, b in outputs], axis=0)


def _ensemble_loss(
    X: Array,
    D: Array,
    weights: SampleWeight,
    penalty: float,
    V: Array,
    a: Array,
    W: Array,
    b: Array,
) -> tuple[float, list[Array]]:
    """The objective of a network and its gradient, in the precision of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    D : ndarray of shape (n_samples, n_labels)
    weights : ndarray of shape (n_samples,)
    penalty : float
        Penalty of each squared coefficient, per input of its layer.
    V, a, W, b : ndarrays
        Coefficients and intercepts of the hidden layer and of the output layer.
    """
    m, h = V.shape
    H = X @ V.astype(X.dtype)
    H += a.astype(X.dtype)
    np.tanh(H, out=H)
    short_W = W.astype(X.dtype)
    log_P = log_softmax((H @ short_W).astype(np.float64) + b)
    delta = (weights[:, None] * (np.exp(log_P) - D)).astype(X.dtype)
    hidden_delta = delta @ short_W.T * (1.0 - H * H)  # the derivative of tanh
    squares = m * np.vdot(V, V) + h * np.vdot(W, W)
    loss = penalty * squares - weights @ np.einsum("ij,ij->i", D, log_P)
    in_V = X.T @ hidden_delta + 2.0 * penalty * m * V
    in_W = H.T @ delta + 2.0 * penalty * h * W
    return loss, [in_V, hidden_delta.sum(axis=0), in_W, delta.sum(axis=0)]
