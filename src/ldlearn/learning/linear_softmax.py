"""What linear softmax models share: their prediction, and L-BFGS for their losses and penalties."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_mean_distribution,
    log_softmax,
    positive_or_one,
    row_weights,
)
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.linear_predictor import linear_softmax

# Shapes: X (n, m), D, P and logits Z (n, c), W (m, c), b (c,), `times` (n, 1): how often each row
# counts.


class LinearSoftmaxMixin:
    """Predicts ``softmax(X W + b)``."""

    learned: ClassVar[Mapping[str, str]] = {
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
    }

    coef_: Array
    intercept_: Array

    def _predict(self, X: Any) -> Array:
        return linear_softmax(X, self.coef_.T, self.intercept_)


@estimator_dataclass
class LinearSoftmaxLearner(LinearSoftmaxMixin, Learner):
    """Minimises a loss of ``P = softmax(X W + b)`` and a penalty of W by L-BFGS.

    The start is the mean distribution. A method defines ``_row_losses(D, P)`` or ``_penalty(W)``,
    or calls ``_minimize`` with a loss of its own.
    """

    _fits_degrees = True  # whether the cross-entropy of D and P is part of the loss

    l2: NonNegative = 1.0
    fit_intercept: bool = True
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 2000

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Absolute differences alone are nearly flat at their kinks: the order of sums decides where
        # the solver stops.
        tags.order_invariant = self._fits_degrees
        tags.label_invariant = self._fits_degrees
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        self._minimize(X, D, sample_weight, self._loss)

    def _loss(self, D: Array, times: Array, Z: Array) -> tuple[float, Array]:
        log_P = log_softmax(Z)
        P = np.exp(log_P)
        losses, in_P = self._row_losses(D, P)
        in_Z = logit_gradient(P, in_P)
        if self._fits_degrees:
            losses = losses - np.sum(D * log_P, axis=1)
            in_Z = in_Z + P - D
        return float(losses @ times[:, 0]), times * in_Z

    def _row_losses(self, D: Array, P: Array) -> tuple[Array, Array]:
        """What each row adds to the loss beside its cross-entropy, and its gradient in P."""
        return np.zeros(len(D)), np.zeros_like(P)

    def _penalty(self, W: Array) -> tuple[float, Array]:
        """The penalty and its gradient."""
        return self.l2 * np.vdot(W, W), 2.0 * self.l2 * W

    def _minimize(
        self,
        X: Any,
        D: Array,
        sample_weight: SampleWeight | None,
        loss: Callable[..., Any],
        *others: tuple[Array, float],
    ) -> list[Array]:
        """Learn W and b, and return further arrays of the loss; ``others`` are starts and units.

        ``loss`` is called with D, times, Z and the other arrays; it returns its value and the
        gradients in Z and in them.
        """
        times = row_weights(D, sample_weight)[:, None]
        features = CentredMatrix(X, self.fit_intercept, sample_weight)
        c = D.shape[1]
        # The solver sees every array in a unit of about its curvature, so that none slows the
        # others down.
        in_features = positive_or_one(np.sqrt(features.spread / c + 2.0 * self.l2))
        intercept = self.fit_intercept * log_mean_distribution(D, sample_weight)
        starts = [
            (np.zeros((features.m, c)), in_features[:, None]),
            (intercept, np.sqrt(features.total / c)),
            *others,
        ]
        units = [unit for _, unit in starts]

        def objective(*scaled: Array) -> tuple[float, list[Array]]:
            W, b, *arrays = map(np.divide, scaled, units)
            Z = features.linear_predictor(W, b, exact=True)
            value, in_Z, *gradients = loss(D, times, Z, *arrays)
            in_W, in_b = features.transpose_product(in_Z, exact=True)
            penalty, slope = self._penalty(W)
            gradients = [in_W + slope, in_b, *gradients]
            return value + penalty, list(map(np.divide, gradients, units))

        fit = self._minimize_lbfgs(objective, [array * unit for array, unit in starts])
        W, b, *arrays = map(np.divide, fit.arrays, units)
        self.coef_ = W.T
        self.intercept_ = b - features.mean @ W  # b is the intercept of centred features
        return arrays


def logit_gradient(P: Array, in_P: Array) -> Array:
    """The gradient in the logits, given that in the predictions P."""
    return P * (in_P - np.sum(P * in_P, axis=1, keepdims=True))
