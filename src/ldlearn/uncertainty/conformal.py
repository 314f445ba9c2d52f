"""Split conformal prediction for any estimator, from rows with true degrees."""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldlearn.base.output import set_output, wrap_output
from ldlearn.core.simplex import Array
from ldlearn.core.targets import check_distributions, check_some_degrees
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.uncertainty.intervals import check_fraction
from ldlearn.uncertainty.vote_intervals import Bounds


class ConformalIntervals(BaseEstimator):
    """Intervals around predicted degrees, calibrated on rows with true degrees.

    Split conformal prediction: if calibration rows and new rows are exchangeable, and the estimator
    was not fitted on the calibration rows, the intervals of a label contain its true degree with a
    probability of at least ``coverage``, whatever the estimator. This coverage is an average over
    rows: for some kinds of rows it may be lower.

    Parameters
    ----------
    estimator : fitted estimator
        Anything of the library with ``predict``.
    simultaneous : bool, default=False
        Whether the coverage holds for all degrees of a row at once; by default it holds for each
        label separately.

    Attributes
    ----------
    residuals_ : ndarray of shape (n_samples, n_labels) or (n_samples, 1)
        ``|d - p| / sqrt(p (1 - p))`` of the calibration rows, sorted in each column; the square
        root is at least 0.1, its value at p = 0.01. If ``simultaneous``, the largest of each row.
    label_names_ : ndarray of shape (n_labels,)
        Those of the estimator.

    Examples
    --------
    >>> from ldlearn import ConformalIntervals, DLDL
    >>> from ldlearn.datasets import make_label_distributions
    >>> data = make_label_distributions(900, 10, 4, labels="votes")
    >>> model = DLDL().fit(data.X[:300], data.Y[:300])
    >>> conformal = ConformalIntervals(model).fit(data.X[300:500], data.D[300:500])
    >>> lower, upper = conformal.predict_interval(data.X[500:], coverage=0.9)
    >>> bool(0.85 < ((lower <= data.D[500:]) & (data.D[500:] <= upper)).mean() < 0.95)
    True
    """

    set_output = set_output

    def __init__(self, estimator: Any, *, simultaneous: bool = False) -> None:
        self.estimator = estimator
        self.simultaneous = simultaneous

    def fit(self, X: Any, y: Any) -> Self:
        """Calibrate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the estimator was not fitted on.
        y : array-like or data frame of shape (n_samples, n_labels)
            Their true degrees; the columns of a data frame are matched by name. Rows of NaN are
            left out.
        """
        if not hasattr(self.estimator, "predict"):
            raise ParameterError(
                f"{type(self.estimator).__name__} predicts nothing to put an interval around."
            )
        check_is_fitted(self.estimator)
        self.label_names_ = self.estimator.label_names_
        predicted = np.asarray(self.estimator.predict(X), dtype=np.float64)
        truth = check_some_degrees(y, self.label_names_, len(predicted))
        known = ~np.isnan(truth).any(axis=1)
        if not known.any():
            raise InputError(
                "the degrees of no row are known; conformal intervals need some to calibrate on."
            )
        self.residuals_ = _scaled_residuals(predicted[known], truth[known], self.simultaneous)
        return self

    @wrap_output
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Bounds:
        """Intervals for the degrees of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            Nominal coverage. With fewer than ``coverage / (1 - coverage)`` calibration rows
            intervals are [0, 1].

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples, n_labels)
            ``0 <= lower <= predict(X) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        check_is_fitted(self, "residuals_")
        predicted = np.asarray(self.estimator.predict(X), dtype=np.float64)
        return _conformal_bounds(self.residuals_, predicted, coverage)


def conformal_intervals(
    known: ArrayLike,
    truth: ArrayLike,
    new: ArrayLike,
    coverage: float = 0.9,
    *,
    simultaneous: bool = False,
) -> Bounds:
    """Intervals around any degrees, predicted or recovered, from rows whose true degrees are known.

    `ConformalIntervals` does this for the predictions of an estimator.

    Parameters
    ----------
    known, truth : array-like of shape (n_samples, n_labels)
        Degrees of calibration rows according to a method, and the true ones.
    new : array-like of shape (n_new, n_labels)
        Degrees of other rows according to the method.
    coverage, simultaneous
        As for `ConformalIntervals`.

    Returns
    -------
    lower, upper : ndarrays of shape (n_new, n_labels)

    Examples
    --------
    >>> known, truth = [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.9, 0.1], [0.3, 0.7]]
    >>> lower, upper = conformal_intervals(known, truth, [[0.5, 0.5]], coverage=0.75)
    >>> lower.round(3), upper.round(3)
    (array([[0.375, 0.375]]), array([[0.625, 0.625]]))
    """
    old = np.asarray(known, dtype=np.float64)
    residuals = _scaled_residuals(old, check_distributions(truth), simultaneous)
    return _conformal_bounds(residuals, np.asarray(new, dtype=np.float64), coverage)


def _degree_scale(P: Array) -> Array:
    """Standard deviation of a degree up to a factor: degrees near 0 and 1 vary less."""
    return np.sqrt(np.maximum(P * (1.0 - P), 0.01))


def _scaled_residuals(P: Array, D: Array, simultaneous: bool) -> Array:
    if P.shape != D.shape:
        raise InputError(f"there are degrees of shape {P.shape}, but true ones of shape {D.shape}.")
    residuals = np.abs(D - P) / _degree_scale(P)
    if simultaneous:
        residuals = residuals.max(axis=1, keepdims=True)
    return np.sort(residuals, axis=0)


def _conformal_bounds(residuals: Array, P: Array, coverage: float) -> Bounds:
    check_fraction("coverage", coverage)
    n = len(residuals)
    # The rank of a new row among n + 1 is uniformly distributed; rounding must not cost a rank.
    rank = math.ceil((n + 1) * coverage - 1e-9)
    reach = np.full(residuals.shape[1], np.inf)
    if rank <= n:
        reach = residuals[rank - 1]
    margin = reach * _degree_scale(P)
    return np.maximum(P - margin, 0.0), np.minimum(P + margin, 1.0)
