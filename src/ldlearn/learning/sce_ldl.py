"""SCE-LDL: an energy model with sparse binary hidden units."""

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
    log_mean_distribution,
    log_softmax,
    row_weights,
    softmax,
)
from ldlearn.learning.networks import LayerSizes, check_single_layer

# Shapes: F (n, R), U and E rows (c, R), scores (n, c); R hidden units.


@estimator_dataclass
class SCELDL(Learner):
    r"""Sparsity conditional energy model (SCE-LDL).

    A layer of binary hidden units, each a linear extractor :math:`\omega_r` shared by all labels
    with a threshold :math:`u_{jr}` of its own for every label, stands between features and labels;
    summed out, it leaves a model that is not linear in the features. Assumes that degrees depend on
    a few things that are present or absent. To be tried where `SABFGS` is too stiff and there are
    more rows than features.

    .. math::

        \min_{\omega, u, b}\; -\sum_{ij} D_{ij} \Big[ \ln P_{ij}
        + \lambda \sum_{r=1}^{R} \sigma(-a_{ijr}) \Big] + l_2 \sum_r |\omega_r|^2, \qquad
        P_{ij} \propto \exp\Big( b_j + \sum_{r=1}^{R} \ln(1 + e^{a_{ijr}}) \Big), \quad
        a_{ijr} = \omega_r^T x_i + u_{jr}

    The term with :math:`\lambda` (``lam``) is the expected number of hidden units that are off. The
    penalty counts the weights of standardised features.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of one int, default=(50,)
        R. The paper finds results flat from 50 to 175.
    lam : float, default=5e-3
        Reward for hidden units that are off. 0 is the paper's "CE-LDL".
    l2 : float, default=10.0
        Weight of the penalty on the extractors; sums over rows, so the same number means less as n
        grows. 0, the published form, learns the training rows by heart unless it is stopped early
        (there after 30 epochs).
    max_iter : int, default=500
        L-BFGS iterations at most.
    tol : float, default=1e-3
        Stop when an iteration lowers the objective by less than this, relatively.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, which must differ between hidden units.

    Attributes
    ----------
    hidden_coef_ : ndarray of shape (R, n_features)
        The extractors, one per row.
    hidden_intercept_ : ndarray of shape (R,)
        What centring the features leaves behind; could be added to every row of ``thresholds_``.
    thresholds_ : ndarray of shape (n_labels, R)
        u.
    intercept_ : ndarray of shape (n_labels,)
        b.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each iteration; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether the objective settled within ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: L-BFGS on all rows, to convergence, instead of 30 epochs of
    mini-batch gradient descent; a penalty takes the place of that early stop; features are
    standardised within the solver, and the weights given in the user's units. The first weights of
    the paper are not known. The thresholds and b are intercepts, so there is no ``fit_intercept``.
    The result depends on the order of the labels through the random start. Confidence: inferred
    (model and gradients from a close reading published by others, checked by differences).

    References
    ----------
    X. Yang, X. Geng, D. Zhou, "Sparsity Conditional Energy Label Distribution Learning for Age
    Estimation", IJCAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import SCELDL
    >>> X = np.linspace(-1.0, 1.0, 21)[:, None]
    >>> D = np.hstack([X**2, 1.0 - X**2])
    >>> model = SCELDL(hidden_layer_sizes=10, l2=0.0, tol=1e-5, random_state=0).fit(X, D)
    >>> model.predict([[-0.5], [0.0], [0.5]]).round(1)
    array([[0.2, 0.8],
           [0. , 1. ],
           [0.2, 0.8]])
    """

    learned = {
        "thresholds_": "float (n_labels, n_hidden)",
        "intercept_": "float (n_labels)",
        "hidden_coef_": "float (n_hidden, n_features)",
        "hidden_intercept_": "float (n_hidden)",
    }

    _test_params = ({"hidden_layer_sizes": (5,), "random_state": 0},)

    hidden_layer_sizes: LayerSizes = (50,)
    lam: NonNegative = 5e-3
    l2: NonNegative = 10.0
    max_iter: PositiveInt = 500
    tol: NonNegative = 1e-3
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.label_invariant = False  # the random start depends on their order
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        scaling = feature_scaling(X, weights=sample_weight)
        rng = check_random_state(self.random_state)
        m = X.shape[1]
        n_hidden = check_single_layer(self.hidden_layer_sizes)
        spread = 0.5  # of the first hidden activations; much smaller ones begin on a plateau
        start = [
            rng.normal(scale=spread / np.sqrt(m), size=(m, n_hidden)),
            rng.normal(scale=spread, size=(D.shape[1], n_hidden)),
            # Hidden units need not learn the mean distribution.
            log_mean_distribution(D, sample_weight),
        ]
        Z = scaling.apply(X)
        weights = row_weights(D, sample_weight)
        fit = self._minimize_lbfgs(partial(self._loss, Z, D, weights), start)
        W, self.thresholds_, self.intercept_ = fit.arrays
        coef, self.hidden_intercept_ = scaling.undo(W, np.zeros(n_hidden))
        self.hidden_coef_ = coef.T
        self.objective_path_ = fit.path

    def _loss(
        self,
        Z: Array,
        D: Array,
        weights: SampleWeight,
        W: Array,
        U: Array,
        b: Array,
    ) -> tuple[float, list[Array]]:
        """The objective with features Z, and its gradient in W, U and b."""
        F = Z @ W
        loss = self.l2 * np.vdot(W, W)
        in_F = np.empty_like(F)
        in_U = np.zeros_like(U)
        in_b = np.zeros_like(b)
        for rows, E in _exponentials(F, U):
            w = weights[rows, None]
            d = w * D[rows]
            on = E / (1.0 + E)  # S = sigmoid(F + U)
            off = 1.0 - on
            log_P = log_softmax(np.log1p(E).sum(axis=2) + b)
            loss -= np.vdot(d, log_P + self.lam * off.sum(axis=2))
            G = w * np.exp(log_P) - d
            # G S + lam d S (1 - S).
            Q = on * (self.lam * d[:, :, None] * off + G[:, :, None])
            in_F[rows] = Q.sum(axis=1)
            in_U += Q.sum(axis=0)
            in_b += G.sum(axis=0)
        return loss, [Z.T @ in_F + 2.0 * self.l2 * W, in_U, in_b]

    def _predict(self, X: Array) -> Array:
        F = X @ self.hidden_coef_.T + self.hidden_intercept_
        blocks = [np.log1p(E).sum(axis=2) for _, E in _exponentials(F, self.thresholds_)]
        return softmax(np.concatenate(blocks) + self.intercept_)


def _exponentials(F: Array, U: Array) -> Iterator[tuple[slice, Array]]:
    """``exp(F_ir + U_jr)`` in blocks of rows: a product of two small sets of exponentials.

    F beyond the bound needs no care: there every label's unit is fully on (or off), so its terms
    are the same for all labels and cancel in the softmax, as does their gradient.
    """
    # Bounded such that products are finite.
    exp_F = np.exp(np.clip(F, -300.0, 300.0))
    exp_U = np.exp(np.clip(U, -300.0, 300.0))
    for rows in row_batches(len(F), U.size, CACHED_ENTRIES):
        yield rows, exp_F[rows, None, :] * exp_U
