"""SA-BFGS: softmax regression on label distributions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from ldlearn.base import Learner
from ldlearn.core.simplex import Array, softmax
from ldlearn.solvers.softmax_regression import Features, softmax_regression


class SABFGS(Learner):
    r"""Softmax regression on label distributions (SA-BFGS).

    Assumes that the logarithms of the degrees are linear in the features, up to a constant per row; recovers the
    maximum entropy model. The first learner to try.

    .. math:: \min_{W, b}\; KL(D, P) + l_2 |W|^2, \qquad P = softmax(X W + b)

    Parameters
    ----------
    l2 : float, default=1.0
        Weight of the penalty; sums over rows, so the same number means less as n grows. 0 is the published form, which
        may have no finite minimiser when degrees are zero.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    tol : float, default=1e-8
        Stop when the loss per row is this close to its minimum (estimated by the Newton decrement).
    max_iter : int, default=100
        Newton iterations at most.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
    intercept_ : ndarray of shape (c,)
    loss_ : float
        Objective without its constant, ``-sum D ln P + l2 |W|^2``.
    n_iter_ : int
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: Newton's method instead of BFGS (the same convex problem, solved further); an unpenalised
    intercept and ``l2 > 0`` by default. ``l2=0, fit_intercept=False`` is the published model. Without an
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

    _accepts_sparse = True
    _test_params = ({"max_iter": 20},)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "l2": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, l2: float = 1.0, *, fit_intercept: bool = True, tol: float = 1e-8, max_iter: int = 100) -> None:
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: Any, D: Array) -> None:
        fit = softmax_regression(Features(X, self.fit_intercept), D, l2=self.l2, tol=self.tol, max_iter=self.max_iter)
        self.coef_, self.intercept_ = fit.coef, fit.intercept
        self.loss_, self.n_iter_ = fit.loss, fit.n_iter

    def _predict(self, X: Any) -> Array:
        return softmax(X @ self.coef_ + self.intercept_)
