"""What learners of linear softmax models share: their losses and penalties differ."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldlearn.base import Capabilities, Learner, SampleWeightMixin
from ldlearn.base.parameters import NonNegative, PositiveInt, estimator_dataclass
from ldlearn.core.simplex import Array, SampleWeight, log_softmax, mean_logits
from ldlearn.solvers.features import Features, linear_softmax
from ldlearn.solvers.lbfgs import minimize_lbfgs

# Shapes: X (n, m), D, P and logits Z (n, c), W (m, c), b (c,), `times` (n, 1): how often each row counts.
Loss = Callable[..., tuple[Any, ...]]  # of times, Z and further arrays: the value, its gradients in Z and in these


@estimator_dataclass
class LinearSoftmaxLearner(SampleWeightMixin, Learner):
    """Minimises a loss of ``P = softmax(X W + b)`` and a penalty of W by L-BFGS, which starts at the mean distribution.

    A method defines ``_row_losses(D, P)`` or ``_penalty(W)``, or calls ``_minimize`` with a loss of its own.
    """

    _fits_degrees = True  # whether the cross-entropy of D and P is part of the loss

    _: KW_ONLY
    l2: NonNegative = 1.0
    fit_intercept: bool = True
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 2000

    def capabilities(self) -> Capabilities:
        """Absolute differences are nearly flat at their kinks: where the solver stops depends on the order of sums."""
        smooth = self._fits_degrees
        return super().capabilities()._replace(sparse=True, order_invariant=smooth, label_invariant=smooth)

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        self._minimize(X, D, sample_weight, lambda times, Z: self._loss(D, times, Z))

    def _loss(self, D: Array, times: Array, Z: Array) -> tuple[float, Array]:
        log_P = log_softmax(Z)
        P = np.exp(log_P)
        losses, in_P = self._row_losses(D, P)
        in_Z = logit_gradient(P, in_P)
        if self._fits_degrees:
            losses, in_Z = losses - np.sum(D * log_P, axis=1), in_Z + P - D
        return float(losses @ times[:, 0]), times * in_Z

    def _row_losses(self, D: Array, P: Array) -> tuple[Array, Array]:
        """What each row adds to the loss beside its cross-entropy, and the gradient of this in P."""
        return np.zeros(len(D)), np.zeros_like(P)

    def _penalty(self, W: Array) -> tuple[float, Array]:
        """The penalty and its gradient."""
        return self.l2 * float(np.vdot(W, W)), 2.0 * self.l2 * W

    def _minimize(
        self, X: Any, D: Array, sample_weight: SampleWeight | None, loss: Loss, *others: tuple[Array, float]
    ) -> list[NDArray[np.float64]]:
        """Learn W and b. ``others`` are starts and units of further arrays of the loss; those at the minimum return."""
        times = np.ones((len(D), 1)) if sample_weight is None else sample_weight[:, None]
        features = Features(X, self.fit_intercept, sample_weight)
        starts, other_units = zip(*others, strict=True) if others else ((), ())
        logits = mean_logits(D, sample_weight) if self.fit_intercept else np.zeros(D.shape[1])
        # The solver sees every array in a unit of about its curvature, so that none slows the others down.
        in_features = np.sqrt(features.spread / D.shape[1] + 2.0 * self.l2)[:, None]
        units = [np.where(in_features > 0.0, in_features, 1.0), np.sqrt(features.total / D.shape[1]), *other_units]

        def objective(*scaled: Array) -> tuple[float, list[Array]]:
            W, b, *arrays = (array / unit for array, unit in zip(scaled, units, strict=True))
            value, in_Z, *gradients = loss(times, features.times(W, b, exact=True), *arrays)
            in_W, in_b = features.transpose_times(in_Z, exact=True)
            penalty, slope = self._penalty(W)
            gradients = [in_W + slope, in_b, *gradients]
            return value + penalty, [gradient / unit for gradient, unit in zip(gradients, units, strict=True)]

        start = [np.zeros((features.m, D.shape[1])), logits * units[1], *map(np.multiply, starts, other_units)]
        fit = minimize_lbfgs(objective, start, max_iter=self.max_iter, tol=self.tol)
        W, b, *arrays = (array / unit for array, unit in zip(fit.arrays, units, strict=True))
        self.coef_, self.intercept_ = W.T, b - features.mean @ W  # b is the intercept of centred features
        self.objective_, self.n_iter_, self.converged_ = fit.loss, fit.n_iter, fit.converged
        return arrays

    def _predict(self, X: Any) -> Array:
        return linear_softmax(X, self.coef_.T, self.intercept_)


def logit_gradient(P: Array, in_P: Array) -> Array:
    """The gradient in the logits, given that in the predictions P."""
    return np.asarray(P * (in_P - np.sum(P * in_P, axis=1, keepdims=True)))
