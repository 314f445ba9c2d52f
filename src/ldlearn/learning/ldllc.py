"""LDLLC: softmax regression with distances between the coefficients of correlated labels."""

import numpy as np
from scipy.spatial.distance import cdist

from ldlearn.base import (
    NonNegative,
    Positive,
    estimator_dataclass,
)
from ldlearn.core.simplex import Array
from ldlearn.learning.linear_softmax import LinearSoftmaxLearner

_ZERO_LENGTH = 1e-10  # lengths that count as zero


@estimator_dataclass
class LDLLC(LinearSoftmaxLearner):
    r"""Softmax regression that exploits label correlations (LDLLC).

    Assumes what `SABFGS` does, and that labels are related: the coefficients of positively
    correlated labels are drawn together and those of negatively correlated ones apart. To be tried
    where labels are many.

    .. math::

        \min_{W, b}\; KL(D, P) + l_2 |W|^2 + \lambda \sum_{j < k} r_{jk} |w_j - w_k|, \qquad
        P = softmax(X W + b)

    :math:`r_{jk}` is the correlation of :math:`w_j` and :math:`w_k`, two columns of W, over the
    features.

    Parameters
    ----------
    lam : float, default=0.1
        :math:`\lambda`; a tenth of ``l2`` as in the published code, which has 0.01 and 0.1.
    l2 : float, default=1.0
        Weight of the penalty, which must be positive: negative correlations are rewarded without
        bound. The loss sums over rows, so the same number means less as n grows.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by a smaller part.
    max_iter : int, default=2000
        L-BFGS iterations at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        The transpose of W.
    intercept_ : ndarray of shape (n_labels,)
        b.
    objective_ : float
        Without its constant: the divergence without the entropy of D.
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper, as its released code shows it: Euclidean distances, as in its
    gradient (its objective has mean absolute differences); correlations, as in its objective (its
    gradient has their signs), and the exact gradient; an unpenalised intercept; zero instead of the
    identity as a start. The problem is not convex: the result is a local minimum. Confidence:
    inferred (from the released code; the paper was not available).

    References
    ----------
    X. Jia, W. Li, J. Liu, Y. Zhang, "Label Distribution Learning by Exploiting Label Correlations",
    AAAI 2018, pp. 3310-3317.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLLC
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> LDLLC(l2=1e-4, lam=1e-5).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    lam: NonNegative = 0.1
    l2: Positive = 1.0

    def _penalty(self, W: Array) -> tuple[float, Array]:
        squares, in_W = super()._penalty(W)
        U = W - W.mean(axis=0)
        lengths = np.sqrt(np.sum(U**2, axis=0) + _ZERO_LENGTH**2)
        U = U / lengths
        correlations = U.T @ U
        distances = cdist(W.T, W.T)
        in_U = U @ distances
        in_U = (in_U - U * np.sum(U * in_U, axis=0)) / lengths
        apart = distances > _ZERO_LENGTH
        pull = np.divide(correlations, distances, out=np.zeros_like(distances), where=apart)
        in_W += self.lam * (in_U - in_U.mean(axis=0))
        in_W += self.lam * (W * pull.sum(axis=0) - W @ pull)
        return squares + 0.5 * self.lam * np.vdot(correlations, distances), in_W
