"""LDL-LRR: softmax regression that keeps the ranking of the labels."""

import numpy as np
from scipy.special import expit

from ldlearn.base import (
    NonNegative,
    Positive,
    estimator_dataclass,
)
from ldlearn.core.simplex import Array
from ldlearn.learning.linear_softmax import LinearSoftmaxLearner


@estimator_dataclass
class LDLLRR(LinearSoftmaxLearner):
    r"""Softmax regression that maintains the label ranking relation (LDL-LRR).

    Assumes what `SABFGS` does, and that the order of the labels matters beside their degrees: a
    pair of labels in the wrong order costs more the more their true degrees differ. To be tried
    where rankings are evaluated.

    .. math::

        \min_{W, b}\; KL(D, P) + \frac{\lambda}{2 c^2} \sum_i \sum_{u, v} (d_{iu} - d_{iv})^2
        \ln\big(1 + e^{-\sigma s_{iuv} (p_{iu} - p_{iv})}\big) + l_2 |W|^2, \qquad
        P = softmax(X W + b)

    :math:`s_{iuv}` is the sign of :math:`d_{iu} - d_{iv}` and c the number of labels.

    Parameters
    ----------
    lam : float, default=0.1
        :math:`\lambda`, the penalty of the ranking; the largest value that the paper tries.
    sigma : float, default=100.0
        How steeply the ranking loss rises with a difference in the wrong direction.
    l2 : float, default=1.0
        Weight of the penalty, half of the paper's :math:`\beta`, which is tried from 1e-3 to 100;
        the loss sums over rows, so the same number means less as n grows.
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
    Departures from the paper: the ranking loss is divided by :math:`2 c^2` instead of
    :math:`2 n c^2`, so that it does not vanish beside the divergence, which is a sum over rows (the
    paper's :math:`\lambda` is n times the one here); L-BFGS on all rows instead of mini-batches; an
    unpenalised intercept. The problem is not convex as the paper says, since the ranking loss
    depends on the softmax: the result is a local minimum. Confidence: certain.

    References
    ----------
    X. Jia, X. Shen, W. Li, Y. Lu, J. Zhu, "Label Distribution Learning by Maintaining Label Ranking
    Relation", IEEE TKDE 35(2), 2023, pp. 1695-1707.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLLRR
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> LDLLRR(l2=1e-4).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    lam: NonNegative = 0.1
    sigma: Positive = 100.0

    def _row_losses(self, D: Array, P: Array) -> tuple[Array, Array]:
        losses = np.zeros(len(D))
        in_P = np.zeros_like(P)
        for u in range(D.shape[1]):  # one label against all, so that no array has n c^2 entries
            ahead = D[:, [u]] - D
            weight = self.lam / D.shape[1] ** 2 * ahead**2
            slope = -self.sigma * np.sign(ahead)
            wrong = slope * (P[:, [u]] - P)
            losses += 0.5 * np.sum(weight * np.logaddexp(0.0, wrong), axis=1)
            # A pair counts twice, by halves.
            in_P[:, u] = np.sum(weight * slope * expit(wrong), axis=1)
        return losses, in_P
