"""PT-Bayes: one Gaussian per label, Bayes' rule for the degrees."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from ldlearn.base import Learner
from ldlearn.base.sklearn_private import Interval
from ldlearn.core.problem_transformation import draw_labels, floored
from ldlearn.core.simplex import Array, softmax


class PTBayes(Learner):
    r"""One Gaussian per label; the degrees are the posterior probabilities of the labels (PT-Bayes).

    Every row becomes c single-label examples weighted by its degrees; then each label has a prior, a mean and a full
    covariance. Assumes few features and Gaussian ones: in many dimensions the densities differ by large factors and
    the predictions run to the corners of the simplex, which only a large ``ridge`` prevents.

    .. math:: p_j(x) \propto \pi_j\, \mathcal{N}(x;\, \mu_j, \Sigma_j + r I)

    Parameters
    ----------
    ridge : float, default=1.0
        r, in units of the mean variance of the features (``relative=True``) or as it is.
    relative : bool, default=True
        Whether ``ridge`` is a multiple of the mean variance of the features.
    resample : bool, default=False
        Draw n c single-label examples with probabilities :math:`d_{ij} / n` and estimate from these, as published, or
        estimate from the weights :math:`d_{ij}`, the limit of many draws.
    log_domain : bool, default=True
        Compute with logarithms of densities, or with the densities themselves, as published. They over- or underflow in
        a few dozen dimensions, and a row where that happens is predicted uniform.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    priors_ : ndarray of shape (c,)
        :math:`\pi_j`.
    means_ : ndarray of shape (c, m)
        :math:`\mu_j`; of a label without weight the mean of all rows.
    covariances_ : ndarray of shape (c, m, m)
        :math:`\Sigma_j + r I`.
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Degrees are raised to at least 1e-9 and renormalised; so a label that was never drawn gets 1e-9. A row whose
    densities are not finite even as logarithms gets the priors. Memory: 2 c m^2 numbers, for the covariances and their
    inverse roots.

    Departures from the paper: no draws, logarithms, and a ridge of the size of the features' variance by default.
    ``PTBayes(ridge=1e-14, relative=False, resample=True, log_domain=False)`` is the published form; with more features
    than drawn examples of a label its densities overflow everywhere, and it predicts uniform distributions.
    Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import PTBayes
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> PTBayes().fit(X, D).predict(X).round(2)
    array([[0.73, 0.27],
           [0.5 , 0.5 ],
           [0.27, 0.73]])
    """

    # The draws depend on the order of rows and labels; without draws both may be permuted.
    order_invariant = False
    label_invariant = False
    _test_params = ({}, {"resample": True, "random_state": 0}, {"log_domain": False})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "relative": ["boolean"],
        "resample": ["boolean"],
        "log_domain": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        ridge: float = 1.0,
        *,
        relative: bool = True,
        resample: bool = False,
        log_domain: bool = True,
        random_state: Any = None,
    ) -> None:
        self.ridge = ridge
        self.relative = relative
        self.resample = resample
        self.log_domain = log_domain
        self.random_state = random_state

    def _fit(self, X: Any, D: Array) -> None:
        X = X.astype(np.float64)
        weights = draw_labels(D, D.size, check_random_state(self.random_state)).astype(float) if self.resample else D
        self.priors_ = weights.sum(axis=0) / weights.sum()
        n_labels, n_features = D.shape[1], X.shape[1]
        ridge = self.ridge * (_mean_variance(X) if self.relative else 1.0)
        self.means_ = np.tile(X.mean(axis=0), (n_labels, 1))
        self.covariances_ = np.zeros((n_labels, n_features, n_features))
        for j in np.flatnonzero(self.priors_):
            self.means_[j], self.covariances_[j] = _gaussian(X, weights[:, j], unbiased=self.resample)
        self.covariances_ += ridge * np.eye(n_features)
        self._whiteners = [_whitener(S, ridge) for S in self.covariances_]

    def _predict(self, X: Any) -> Array:
        log_scores = self._log_densities(X.astype(np.float64))
        with np.errstate(divide="ignore"):
            log_scores += np.log(self.priors_)
        return floored(self._posterior(log_scores))

    def _log_densities(self, X: Array) -> Array:
        """``ln N(x; mu_j, Sigma_j + r I)`` for all rows and labels."""
        columns = []
        for mean, (whitener, log_determinant) in zip(self.means_, self._whiteners, strict=True):
            squares = np.square((X - mean) @ whitener).sum(axis=1)
            columns.append(-0.5 * (squares + log_determinant + X.shape[1] * np.log(2.0 * np.pi)))
        return np.column_stack(columns)

    def _posterior(self, log_scores: Array) -> Array:
        if self.log_domain:
            usable = np.isfinite(log_scores.max(axis=1))
            P = softmax(np.where(usable[:, None], log_scores, 0.0))
            return np.where(usable[:, None], P, self.priors_)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.exp(log_scores)
            P = scores / scores.sum(axis=1, keepdims=True)
        return np.asarray(np.nan_to_num(P, nan=0.0))  # all of a failed row, which the floor makes uniform


def _mean_variance(X: Array) -> float:
    variance = float(X.var(axis=0).mean())
    return variance if variance > 0 else 1.0  # identical rows: any width will do


def _gaussian(X: Array, weights: Array, unbiased: bool) -> tuple[Array, Array]:
    """Weighted mean and covariance; ``unbiased`` divides by one less than the number of draws."""
    used = weights > 0
    X, weights = X[used], weights[used]
    total = float(weights.sum())
    mean = weights @ X / total
    deviations = (X - mean) * np.sqrt(weights)[:, None]
    return mean, deviations.T @ deviations / (max(total - 1.0, 1.0) if unbiased else total)


def _whitener(S: Array, ridge: float) -> tuple[Array, float]:
    """V with ``V V' = inv(S)``, and ``ln det S``; eigenvalues below the ridge are rounding errors."""
    try:
        factor = linalg.cholesky(S, lower=True)
        inverse = linalg.solve_triangular(factor, np.eye(len(S)), lower=True)
        return inverse.T, 2.0 * float(np.log(np.diag(factor)).sum())
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(S)
        values = np.maximum(values, ridge)
        return vectors / np.sqrt(values), float(np.log(values).sum())
