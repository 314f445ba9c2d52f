"""Intervals with a guarantee for any estimator that predicts, where the true degrees of some rows are known."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ldlearn.base.estimator import set_output, wrap_output
from ldlearn.core.targets import check_distributions, check_matrix, label_order
from ldlearn.exceptions import InputError, ParameterError
from ldlearn.uncertainty.intervals import check_share

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]
_LEAST_SPREAD = 0.1  # of a degree, as a standard deviation: that of a share of 0.01


class ConformalIntervals(BaseEstimator):
    """Intervals around the degrees that a fitted estimator predicts, calibrated on rows with true degrees.

    Split conformal prediction: if the calibration rows and the new rows come from the same source in no particular
    order, and the estimator has not seen the calibration rows, the intervals of a label hold its true degree with at
    least the chance ``coverage``, whatever the estimator is and however wrong. That is an average over
    rows: some kinds of rows may be held less often than others.

    Parameters
    ----------
    estimator : fitted estimator
        Anything of the library with ``predict``.
    simultaneous : bool, default=False
        Whether the promise is for all degrees of a row at once; by default it is for each label by itself.

    Attributes
    ----------
    residuals_ : ndarray of shape (n, c) or (n, 1)
        ``|d - p| / sqrt(p (1 - p))`` of the calibration rows, sorted down each column; no p counts as nearer to 0 or 1
        than 0.01. If the promise is simultaneous, the largest of each row.
    label_names_ : ndarray of shape (c,)
        Those of the estimator.

    Examples
    --------
    >>> from ldlearn import ConformalIntervals, DLDL
    >>> from ldlearn.datasets import make_label_distributions
    >>> data = make_label_distributions(900, 10, 4, labels="votes")
    >>> model = DLDL().fit(data.X[:300], data.Y[:300])
    >>> sure = ConformalIntervals(model).fit(data.X[300:500], data.D[300:500])
    >>> lower, upper = sure.predict_interval(data.X[500:], coverage=0.9)
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
        X : array-like of shape (n, m)
            Rows that the estimator was not fitted on.
        y : array-like or data frame of shape (n, c)
            Their true degrees; the columns of a data frame are matched by name. Rows of NaN are left out.
        """
        if not hasattr(self.estimator, "predict"):
            raise ParameterError(f"{type(self.estimator).__name__} predicts nothing to put an interval around.")
        check_is_fitted(self.estimator)
        self.label_names_ = self.estimator.label_names_
        order = label_order(y, self.label_names_)
        degrees = check_matrix(y, "label distributions", nan="allow")
        known = ~np.isnan(degrees).all(axis=1)
        if not known.any():
            raise InputError("the degrees of no row are known; conformal intervals need some to calibrate on.")
        truth = check_distributions(degrees[known])
        predicted = np.asarray(self.estimator.predict(X), dtype=np.float64)
        if len(predicted) != len(degrees):
            raise InputError(f"X has {len(predicted)} rows, but there are degrees for {len(degrees)}.")
        self.residuals_ = _residuals(predicted[known], truth if order is None else truth[:, order], self.simultaneous)
        return self

    @wrap_output
    def predict_interval(self, X: Any, coverage: float = 0.9) -> Bounds:
        """Intervals for the degrees of new rows.

        Parameters
        ----------
        X : array-like of shape (n, m)
        coverage : float, default=0.9
            Chance with which an interval is to hold the true degree. With fewer than ``coverage / (1 - coverage)``
            calibration rows nothing can be promised, and intervals are [0, 1].

        Returns
        -------
        lower, upper : ndarrays of shape (n, c)
            ``0 <= lower <= predict(X) <= upper <= 1``; data frames if `set_output` asks for them.
        """
        check_is_fitted(self, "residuals_")
        return _intervals(self.residuals_, np.asarray(self.estimator.predict(X), dtype=np.float64), coverage)


def conformal_intervals(
    known: ArrayLike, truth: ArrayLike, new: ArrayLike, coverage: float = 0.9, *, simultaneous: bool = False
) -> Bounds:
    """Intervals around any degrees, predicted or recovered, from rows whose true degrees are known.

    `ConformalIntervals` does this for the predictions of an estimator.

    Parameters
    ----------
    known, truth : array-like of shape (n, c)
        Degrees that a method gave to calibration rows, and the true ones.
    new : array-like of shape (n_new, c)
        Degrees that the method gave to other rows.
    coverage, simultaneous
        As for `ConformalIntervals`.

    Returns
    -------
    lower, upper : ndarrays of shape (n_new, c)

    Examples
    --------
    >>> known, truth = [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.9, 0.1], [0.3, 0.7]]
    >>> lower, upper = conformal_intervals(known, truth, [[0.5, 0.5]], coverage=0.75)
    >>> lower.round(3), upper.round(3)
    (array([[0.375, 0.375]]), array([[0.625, 0.625]]))
    """
    residuals = _residuals(np.asarray(known, dtype=np.float64), check_distributions(truth), simultaneous)
    return _intervals(residuals, np.asarray(new, dtype=np.float64), coverage)


def _spread(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far a degree may be off, up to a factor: shares near 0 and 1 vary less."""
    return np.asarray(np.maximum(np.sqrt(np.maximum(P * (1.0 - P), 0.0)), _LEAST_SPREAD))


def _residuals(P: NDArray[np.float64], D: NDArray[np.float64], simultaneous: bool) -> NDArray[np.float64]:
    if P.shape != D.shape:
        raise InputError(f"there are degrees of shape {P.shape}, but true ones of shape {D.shape}.")
    residuals = np.abs(D - P) / _spread(P)
    return np.asarray(np.sort(residuals.max(axis=1, keepdims=True) if simultaneous else residuals, axis=0))


def _intervals(residuals: NDArray[np.float64], P: NDArray[np.float64], coverage: float) -> Bounds:
    check_share("coverage", coverage)
    n = len(residuals)
    # A new row is as likely as any other to have any rank among n + 1; rounding must not cost a rank.
    rank = math.ceil((n + 1) * coverage - 1e-9)
    reach = np.full(residuals.shape[1], np.inf) if rank > n else residuals[rank - 1]
    return np.maximum(P - reach * _spread(P), 0.0), np.minimum(P + reach * _spread(P), 1.0)
