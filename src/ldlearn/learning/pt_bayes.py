"""PT-Bayes: one Gaussian per label, Bayes' rule for the degrees."""

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from ldlearn.base import (
    Capabilities,
    Learner,
    Positive,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.logical import draw_labels
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    clip_degrees,
    row_weights,
    softmax,
)


@estimator_dataclass
class PTBayes(Learner):
    r"""One Gaussian per label; degrees are posterior probabilities of the labels (PT-Bayes).

    Every row becomes c single-label examples weighted by its degrees; then each label has a prior,
    a mean and a full covariance. Assumes few features and Gaussian ones: in many dimensions the
    densities differ by large factors and the predictions run to the corners of the simplex, which
    only the ``ridge`` prevents.

    .. math:: p_j(x) \propto \pi_j\, \mathcal{N}(x;\, \mu_j, \Sigma_j + diag(r))

    Parameters
    ----------
    ridge : float, default=0.3
        The larger, the closer the predictions are to the priors; 1e-14 with ``relative=False`` is
        the published form.
    relative : bool, default=True
        Whether :math:`r_k` is ``ridge`` times m times the variance of feature k, so that neither
        the units nor the number m of features matter (log-densities add up over the features), or
        ``ridge`` as it is.
    resample : bool, default=False
        Draw n c single-label examples with probabilities :math:`d_{ij} / n` and estimate from
        these, as published, or estimate from the weights :math:`d_{ij}`, the limit of many draws.
    log_domain : bool, default=True
        Compute with logarithms of densities, or with the densities themselves, as published. They
        over- or underflow in a few dozen dimensions, and a row where that happens is predicted
        uniform.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Attributes
    ----------
    priors_ : ndarray of shape (n_labels,)
        :math:`\pi_j`.
    means_ : ndarray of shape (n_labels, n_features)
        :math:`\mu_j`; of a label without weight the mean of all rows.
    covariances_ : ndarray of shape (n_labels, n_features, n_features)
        :math:`\Sigma_j + diag(r)`.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Degrees are raised to at least 1e-9 and renormalised; so a label that was never drawn gets 1e-9.
    A row whose densities are not finite even as logarithms gets the priors. Memory: 2 c m^2
    numbers, for the covariances and their inverse roots.

    Departures from the paper: no draws, logarithms, and a ridge in units of the features' variances
    by default. ``PTBayes(ridge=1e-14, relative=False, resample=True, log_domain=False)`` is the
    published form; with more features than drawn examples of a label its densities overflow
    everywhere, and it predicts uniform distributions. Confidence: certain.

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
    array([[0.86, 0.14],
           [0.5 , 0.5 ],
           [0.14, 0.86]])
    """

    learned = {
        "priors_": "float (n_labels)",
        "means_": "float (n_labels, n_features)",
        "covariances_": "float (n_labels, n_features, n_features)",
        "_roots": "float (n_labels, n_features, n_features)",
    }

    _test_params = (
        {},
        {"resample": True, "random_state": 0},
        {"log_domain": False},
    )

    ridge: Positive = 0.3
    relative: bool = True
    resample: bool = False
    log_domain: bool = True
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # Draws depend on the order of rows and labels, and are another sample for other rows.
        tags.order_invariant = not self.resample
        tags.label_invariant = not self.resample
        tags.weight_equals_repetition = not self.resample
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        weights = D * row_weights(D, sample_weight)[:, None]
        if self.resample:
            rng = check_random_state(self.random_state)
            weights = draw_labels(weights, D.size, rng).astype(float)
        self.priors_ = weights.sum(axis=0) / weights.sum()
        c = D.shape[1]
        m = X.shape[1]
        ridge = np.full(m, self.ridge, dtype=np.float64)
        if self.relative:
            scale = feature_scaling(X, weights=sample_weight).scale
            # A constant feature says nothing: any width will do.
            ridge *= m * np.where(np.isfinite(scale), scale**2, 1.0)
        # A label without any mass has no Gaussian. It keeps this one, which its prior of 0 hides.
        mean = np.average(X, axis=0, weights=sample_weight)
        self.means_ = np.tile(mean, (c, 1))
        self.covariances_ = np.tile(np.diag(ridge), (c, 1, 1))
        self._roots = np.sqrt(self.covariances_)  # lower triangles L with L L' = covariance
        for j in np.flatnonzero(self.priors_):
            self.means_[j], deviations = _gaussian(X, weights[:, j], self.resample)
            self.covariances_[j] += deviations.T @ deviations
            # The ridge is not lost beside large deviations, as it may be in their squares.
            stacked = np.vstack([deviations, self._roots[j]])
            self._roots[j] = linalg.qr(stacked, mode="r")[0][:m].T

    def _predict(self, X: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_scores = np.tile(np.log(self.priors_), (len(X), 1))
        for j, L in enumerate(self._roots):
            whitened = linalg.solve_triangular(L, (X - self.means_[j]).T, lower=True)
            log_scores[:, j] -= 0.5 * np.sum(whitened**2, axis=0)
            log_scores[:, j] -= np.log(np.sqrt(2.0 * np.pi) * np.abs(np.diag(L))).sum()
        return clip_degrees(self._posterior(log_scores))

    def _posterior(self, log_scores: Array) -> Array:
        if self.log_domain:
            # A row so far away that no density has even a finite logarithm says nothing: it gets
            # the priors.
            usable = np.isfinite(log_scores.max(axis=1, keepdims=True))
            P = softmax(np.where(usable, log_scores, 0.0))
            return np.where(usable, P, self.priors_)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.exp(log_scores)
            P = scores / scores.sum(axis=1, keepdims=True)
        return np.nan_to_num(P)  # all 0 in a failed row, which becomes uniform


def _gaussian(X: Array, weights: Array, unbiased: bool) -> tuple[Array, Array]:
    """Weighted mean, and deviations from it whose products sum to the covariance.

    ``unbiased`` divides by one less than the number of draws.
    """
    total = weights.sum()
    mean = weights @ X / total
    if unbiased:
        total = max(total - 1.0, 1.0)
    return mean, (X - mean) * np.sqrt(weights / total)[:, None]
