"""CPNN: a neural network whose input is a row together with a label."""

from collections.abc import Iterator
from functools import partial

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
from ldlearn.core.scaling import (
    CACHED_ENTRIES,
    feature_scaling,
    row_batches,
)
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_softmax,
    row_weights,
    softmax,
)
from ldlearn.learning.networks import LayerSizes, check_single_layer


@estimator_dataclass
class CPNN(Learner):
    r"""Conditional probability neural network (CPNN).

    A network with one hidden layer gets the features and the number of a label, and gives the
    logarithm of the label's degree. Neighbouring labels have similar inputs: it is meant for
    ordered labels such as ages. For unordered ones take `MLPLDL` or `AABP`.

    .. math::

        \min_{V, u, a, w}\; KL(D, P) + l_2 (m |V|^2 + |u|^2 + h |w|^2), \qquad
        P_{ij} \propto \exp\Big( \sum_{r=1}^{h} w_r \tanh(x_i V_r + t_j u_r + a_r) \Big)

    for m standardised features, h hidden units and label positions t from -1 to 1: the penalty of a
    layer grows with the number of its inputs.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of one int, default=(64,)
        h.
    l2 : float, default=0.03
        Penalty; the loss is a sum over rows, so that the same value has less influence if there are
        more rows. 0 is the published form.
    max_iter : int, default=500
        L-BFGS iterations at most.
    tol : float, default=1e-4
        Stop when an iteration lowers the objective per row by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial coefficients.

    Attributes
    ----------
    hidden_coef_ : ndarray of shape (n_features, h)
        V, for features as given.
    label_coef_ : ndarray of shape (h,)
        u.
    hidden_intercept_ : ndarray of shape (h,)
        a.
    output_coef_ : ndarray of shape (h,)
        w.
    objective_ : float
        Per row, without the entropy of D.
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: L-BFGS instead of resilient propagation; standardised features, label
    positions scaled to [-1, 1]; a penalty. Confidence: inferred (from a close reading published by
    others).

    References
    ----------
    X. Geng, C. Yin, Z.-H. Zhou, "Facial Age Estimation by Learning from Label Distributions", IEEE
    TPAMI 35(10), 2013, pp. 2401-2412.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import CPNN
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> D = np.exp(-((np.arange(5) - 2 - 1.5 * X) ** 2))  # a bump that moves along the labels
    >>> D /= D.sum(axis=1, keepdims=True)
    >>> model = CPNN(l2=1e-5, tol=1e-6, random_state=0).fit(X, D)
    >>> bool(np.abs(model.predict(X) - D).max() < 0.05)
    True
    """

    learned = {
        "hidden_coef_": "float (n_features, n_hidden)",
        "label_coef_": "float (n_hidden)",
        "hidden_intercept_": "float (n_hidden)",
        "output_coef_": "float (n_hidden)",
        "_label_offsets": "float (n_labels, n_hidden)",
    }

    float32_tolerance = 1e-2
    _test_params = ({"hidden_layer_sizes": (4,), "random_state": 0},)

    hidden_layer_sizes: LayerSizes = (64,)
    l2: NonNegative = 0.03
    max_iter: PositiveInt = 500
    tol: NonNegative = 1e-4
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # Labels are numbered, and rounding errors grow during training.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        weights = row_weights(D, sample_weight)
        total = weights.sum()
        scaling = feature_scaling(X, weights=sample_weight)
        rng = check_random_state(self.random_state)
        m = X.shape[1]
        h = check_single_layer(self.hidden_layer_sizes)
        start = [
            rng.normal(size=(m, h)) / np.sqrt(m),
            rng.normal(size=h),
            rng.normal(size=h),
            rng.normal(size=h) / h,
        ]
        Z = scaling.apply(X)
        loss = partial(_network_loss, Z, D, weights / total, self.l2 / total)
        V, self.label_coef_, a, self.output_coef_ = self._minimize_lbfgs(loss, start).arrays
        self.hidden_coef_, self.hidden_intercept_ = scaling.undo(V, a)
        self._label_offsets = _label_positions(D.shape[1])[:, None] * self.label_coef_

    def _predict(self, X: Array) -> Array:
        F = X @ self.hidden_coef_ + self.hidden_intercept_
        scores = [H @ self.output_coef_ for _, H in _hidden_units(F, self._label_offsets)]
        return softmax(np.concatenate(scores))


def _hidden_units(F: Array, offsets: Array) -> Iterator[tuple[slice, Array]]:
    for rows in row_batches(len(F), offsets.size, CACHED_ENTRIES):
        yield rows, np.tanh(F[rows, None] + offsets)


def _label_positions(n_labels: int) -> Array:
    """From -1 for the first label to 1 for the last."""
    return np.linspace(-1.0, 1.0, n_labels)


def _network_loss(
    Z: Array,
    D: Array,
    weights: SampleWeight,
    penalty: float,
    V: Array,
    u: Array,
    a: Array,
    w: Array,
) -> tuple[float, list[Array]]:
    """Weighted cross-entropy of D and the prediction for features Z plus the penalty; gradient."""
    m, h = V.shape
    t = _label_positions(D.shape[1])
    F = Z @ V + a
    squares = m * np.vdot(V, V) + u @ u + h * w @ w
    loss = penalty * squares
    gF = np.empty_like(F)
    gu = 2.0 * penalty * u
    gw = 2.0 * penalty * h * w
    for rows, H in _hidden_units(F, t[:, None] * u):
        log_P = log_softmax(H @ w)
        times = weights[rows, None]
        loss -= np.vdot(times * D[rows], log_P)
        delta = times * (np.exp(log_P) - D[rows])
        gw += np.tensordot(delta, H, axes=2)
        G = delta[:, :, None] * (1.0 - H * H) * w  # the derivative of tanh
        gF[rows] = G.sum(axis=1)
        gu += t @ G.sum(axis=0)
    gV = Z.T @ gF + 2.0 * penalty * m * V
    return loss, [gV, gu, gF.sum(axis=0), gw]
