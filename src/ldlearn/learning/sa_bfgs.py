"""SA-BFGS: softmax regression on label distributions."""

from typing import Any, Literal

import numpy as np

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.simplex import Array, SampleWeight
from ldlearn.learning.linear_softmax import LinearSoftmaxMixin
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.softmax_regression import loss_and_gradient, softmax_regression


@estimator_dataclass
class SABFGS(LinearSoftmaxMixin, Learner):
    r"""Softmax regression on label distributions (SA-BFGS).

    Assumes that the logarithms of the degrees are linear in the features, up to a constant per row;
    recovers the maximum entropy model. The first learner to try.

    .. math:: \min_{W, b}\; KL(D, P) + l_2 |W|^2, \qquad P = softmax(X W + b)

    Parameters
    ----------
    l2 : float, default=1.0
        Weight of the penalty; sums over rows, so the same number means less as n grows. 0 is the
        published form, which may have no finite minimiser when degrees are zero.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    solver : {"newton", "lbfgs"}, default="newton"
        How the convex problem is solved. "lbfgs" starts at the identity as published; with
        ``l2=0``, where there may be no finite minimiser, its result is that of stopping after
        ``max_iter`` iterations.
    tol : float, default=1e-8
        Stop when the loss per row is certified to be this close to its minimum (with ``l2=0``:
        estimated, by the Newton decrement); for "lbfgs" when an iteration lowers the loss by a
        smaller part.
    max_iter : int, default=100
        Iterations at most; 400 in the published form.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    objective_ : float
        Without its constant: ``-sum D ln P + l2 |W|^2``.
    coef_gap_ : float
        Duality gap: a bound from above of how far the objective is from its minimum. Infinite
        (nothing is certain) if l2 is 0 or the solver "lbfgs".
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: Newton's method instead of BFGS (the same convex problem, solved
    further); an unpenalised intercept and ``l2 > 0`` by default.
    ``l2=0, fit_intercept=False, solver="lbfgs", max_iter=400`` is the published form. Without an
    intercept centred features cannot express the mean distribution. Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import SABFGS
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> SABFGS(l2=0.0).fit(X, D).predict(X).round(3)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    learned = {"coef_gap_": "float"}

    _test_params = ({}, {"solver": "lbfgs", "max_iter": 1000, "fit_intercept": False})

    l2: NonNegative = 1.0
    fit_intercept: bool = True
    solver: Literal["newton", "lbfgs"] = "newton"
    tol: Positive = 1e-8
    max_iter: PositiveInt = 100

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # The published start, an identity, treats labels unequally, and a fit stopped early depends
        # on it.
        tags.label_invariant = self.solver == "newton"
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        features = CentredMatrix(X, self.fit_intercept, sample_weight)
        if self.solver == "lbfgs":
            self._fit_from_identity(features, D)
            return
        fit = softmax_regression(features, D, l2=self.l2, tol=self.tol, max_iter=self.max_iter)
        self.coef_ = fit.coef.T
        self.intercept_ = fit.intercept
        self.objective_ = fit.loss
        self.coef_gap_ = fit.gap
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged

    def _fit_from_identity(self, features: CentredMatrix, D: Array) -> None:
        def loss(W: Array, b: Array) -> tuple[float, list[Array]]:
            value, *gradients = loss_and_gradient(features, D, self.l2, W, b)
            return value, gradients

        # The published start and memory. Stopped early, the result remembers both.
        start = [np.eye(features.m, D.shape[1]), np.zeros(D.shape[1])]
        W, b = self._minimize_lbfgs(loss, start, memory=20).arrays
        self.coef_ = W.T
        self.intercept_ = b - features.mean @ W  # b is the intercept of centred features
        self.coef_gap_ = np.inf  # stopped early: nothing certifies how far the minimum is
