"""CDL-LD: degrees together with a background concentration."""

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from ldlearn.base import (
    Learner,
    NonNegative,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    normalize_rows,
    row_weights,
)


@estimator_dataclass
class CDLLD(Learner):
    r"""Concentration distribution learning from label distributions (CDL-LD).

    A linear model gives every label an evidence, which is not negative. The degrees are the mean of
    the Dirichlet distribution with these evidences plus 1 as parameters, and the less evidence
    there is in all, the larger is the background concentration: the part of the row that no label
    describes.

    .. math::

        \min_{W, b}\; \sum_i \Big[ |d_i - p_i|^2 + \frac{1 - |p_i|^2}{S_i + 1} \Big]
        + l_2 (m |W|^2 + |b|^2), \qquad
        p_{ij} = \frac{1 + e_{ij}}{S_i}, \quad e_i = \ln(1 + e^{x_i W + b}), \quad
        S_i = c + \sum_j e_{ij}

    X has m standardised features; the second term is the variance of the Dirichlet distribution.
    The background concentration of a row is c / S.

    Parameters
    ----------
    l2 : float, default=0.01
        Penalty; the loss is a sum over rows, so that the same value has less influence if there are
        more rows. The released code has a weight decay between 1e-5 and 1, chosen for each data
        set, whatever m is.
    max_iter : int, default=500
        L-BFGS iterations at most.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this, relatively.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        W, transposed, for features as given.
    intercept_ : ndarray of shape (n_labels,)
        b.
    objective_ : float
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: L-BFGS on all rows from coefficients 0 instead of 20 epochs of Adam
    from random ones; standardised features. Confidence: certain for the objective (released code).

    References
    ----------
    J. Tang, Y. Jia, "Concentration Distribution Learning from Label Distributions", ICML 2025, pp.
    58832-58841.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import CDLLD
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> D = np.hstack([0.5 - 0.4 * X, 0.5 + 0.4 * X])
    >>> model = CDLLD().fit(X, D)
    >>> model.predict([[-1.0], [1.0]]).round(1)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    >>> model.predict_background([[-1.0], [0.0]]).round(2)
    array([0.21, 0.24])
    """

    learned = {
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
    }

    l2: NonNegative = 0.01
    max_iter: PositiveInt = 500
    tol: NonNegative = 1e-6

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        weights = row_weights(D, sample_weight)
        scaling = feature_scaling(X, weights=sample_weight)
        loss = partial(self._loss, scaling.apply(X), D, weights)
        c = D.shape[1]
        start = [np.zeros((X.shape[1], c)), np.zeros(c)]
        fit = self._minimize_lbfgs(loss, start)
        coef, self.intercept_ = scaling.undo(*fit.arrays)
        self.coef_ = coef.T

    def _loss(
        self,
        Z: Array,
        D: Array,
        weights: SampleWeight,
        W: Array,
        b: Array,
    ) -> tuple[float, list[Array]]:
        """The objective with features Z and rows of these weights, and its gradient."""
        scores = Z @ W + b
        alpha = 1.0 + np.logaddexp(0.0, scores)
        S = alpha.sum(axis=1, keepdims=True)
        P = alpha / S
        variance = (1.0 - np.sum(P**2, axis=1, keepdims=True)) / (S + 1.0)
        losses = np.sum((D - P) ** 2, axis=1) + variance[:, 0]
        in_P = 2.0 * (P - D) - 2.0 * P / (S + 1.0)  # S being constant
        inner = np.sum(in_P * P, axis=1, keepdims=True)
        in_alpha = (in_P - inner) / S - variance / (S + 1.0)
        in_scores = weights[:, None] * expit(scores) * in_alpha
        penalty = self.l2 * len(W)
        loss = weights @ losses + penalty * np.vdot(W, W) + self.l2 * b @ b
        in_b = in_scores.sum(axis=0) + 2.0 * self.l2 * b
        return loss, [Z.T @ in_scores + 2.0 * penalty * W, in_b]

    def _evidence(self, X: Array) -> Array:
        return np.logaddexp(0.0, X @ self.coef_.T + self.intercept_)

    def _predict(self, X: Array) -> Array:
        return normalize_rows(1.0 + self._evidence(X))

    def predict_background(self, X: Any) -> Array:
        """Background concentrations of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        concentrations : ndarray of shape (n_samples,)
            Between 0 and 1: one if nothing speaks for any label.
        """
        check_is_fitted(self)
        evidence = self._evidence(self._validate_features(X))
        return 1.0 / (1.0 + evidence.mean(axis=1))
