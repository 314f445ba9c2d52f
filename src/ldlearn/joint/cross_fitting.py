"""Softmax regression on all rows, and on those that are not held out."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ldlearn.core.simplex import Array, Indices, SampleWeight, clip_degrees, softmax
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.folds import Fold
from ldlearn.solvers.row_space import reduce_to_row_space
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression

# To the default penalty, the cheapest fit first. With an infinite penalty no feature is used.
_RATIOS = np.append(np.inf, 10.0 ** np.arange(3.0, -1.5, -0.5))
_SELECTION_TOL = 1e-5  # accuracy per row of fits that are only compared with each other
_TOL = 1e-9

# The scores of some rows, given predictions of their distributions.
_Score = Callable[[Indices, Array], Array]


class CrossFitting:
    """Softmax regressions on all rows or on some, with predictions of the others.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n_samples, n_features)
    sample_weight : ndarray of shape (n_samples,)
        Positive.
    smallest : float
        Predicted degrees are raised to at least this.
    """

    def __init__(self, X: Any, sample_weight: SampleWeight, smallest: float) -> None:
        self._features = reduce_to_row_space(CentredMatrix(X, sample_weight=sample_weight))
        self._smallest = smallest

    def select_gamma(self, T: Array, folds: list[Fold], score: _Score) -> float:
        """The penalty with the greatest score of held-out rows.

        It is infinite if predictions without features are as good, if there are no folds, and if
        all features are constant. Smaller penalties are not tried once the score is below the best
        by more than a standard error: their fits take the longest.
        """
        default = default_gamma(self._features, warn=True)
        if default == 0.0 or not folds:
            return np.inf
        gammas = default * _RATIOS
        parts = [self._features.subset(fold.train) for fold in folds]
        fits: list[SoftmaxFit | None] = [None] * len(folds)
        best = np.inf
        best_scores = np.full(sum(len(fold.test) for fold in folds), -np.inf)
        for gamma in gammas:
            of_folds = []
            for k, (train, test) in enumerate(folds):
                fit = self._fit(parts[k], T[train], gamma, fits[k], _SELECTION_TOL)
                of_folds.append(score(test, self.predict(fit, test)))
                fits[k] = fit
            scores = np.concatenate(of_folds)
            gain = scores - best_scores
            if gain.sum() > 0:
                best = gamma
                best_scores = scores
            elif gain.sum() < -np.sqrt(len(gain)) * gain.std():
                break
        return float(best)

    def fit(self, T: Array, gamma: float, start: SoftmaxFit | None = None) -> SoftmaxFit:
        """Fit on all rows; T are their targets."""
        return self._fit(self._features, T, gamma, start, _TOL)

    def fit_part(self, rows: Indices, T: Array, gamma: float, start: SoftmaxFit) -> SoftmaxFit:
        """Fit on some rows; T are their targets."""
        return self._fit(self._features.subset(rows), T, gamma, start, _TOL)

    def predict(self, fit: SoftmaxFit, rows: Any = slice(None)) -> Array:
        """Predictions of some of the rows."""
        X, _ = self._features.take_rows(rows)
        scores = np.asarray(X @ fit.coef + fit.intercept, dtype=np.float64)
        return clip_degrees(softmax(scores), self._smallest)

    def to_original(self, fit: SoftmaxFit) -> tuple[Array, Array]:
        """Coefficients and intercept of the features as they were given."""
        return self._features.to_original(fit.coef, fit.intercept)

    def _fit(
        self,
        features: CentredMatrix,
        T: Array,
        gamma: float,
        start: SoftmaxFit | None,
        tol: float,
    ) -> SoftmaxFit:
        if np.isinf(gamma):
            mean = np.average(T, axis=0, weights=features.sample_weight)
            coef = np.zeros((features.m, T.shape[1]))
            return SoftmaxFit(coef, np.log(np.maximum(mean, self._smallest)), np.empty(0))
        if start is not None:
            # The scores of these rows, which need not be those of the start.
            centred = start.intercept + features.mean @ start.coef
            start = replace(start, logits=features.linear_predictor(start.coef, centred))
        return softmax_regression(features, T, l2=gamma, start=start, tol=tol)
