"""LDL-DPA: softmax regression that favours the key labels."""

import numpy as np
from scipy.stats import rankdata

from ldlearn.base import NonNegative, estimator_dataclass
from ldlearn.core.simplex import Array
from ldlearn.learning.linear_softmax import LinearSoftmaxLearner


@estimator_dataclass
class LDLDPA(LinearSoftmaxLearner):
    r"""Softmax regression with the description-degree percentile average (LDL-DPA).

    Assumes what `SABFGS` does, and that the labels of large degrees matter most: predictions are
    rewarded for the degrees of labels of high rank, and for being as uneven as the true
    distribution. To be tried where rankings are evaluated.

    .. math::

        \min_{W, b}\; KL(D, P) - \frac{\alpha}{c} \sum_{ij} r_{ij} p_{ij}
        + \beta \sum_i (var(p_i) - var(d_i))^2 + l_2 |W|^2, \qquad
        P = softmax(X W + b)

    :math:`r_{ij}` is the rank of label j among the c degrees of row i, 1 for the smallest (the mean
    rank of equal ones), and var the variance of the degrees of a row.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the ranks. A large one predicts the highest label alone.
    beta : float, default=1e-3
        Weight of the variances.
    l2 : float, default=1.0
        Weight of the penalty; the loss sums over rows, so the same number means less as n grows.
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
    Departures from the paper: unknown, since it was not available; the formula is that of a
    third-party implementation (PyLDL), which has no intercept and ``l2=0`` by default, and agrees
    with the abstract. Confidence: inferred.

    References
    ----------
    X. Jia, T. Qin, Y. Lu, W. Li, "Adaptive Weighted Ranking-Oriented Label Distribution Learning",
    IEEE TNNLS 35(8), 2024, pp. 11302-11316.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLDPA
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> LDLDPA(l2=1e-4).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    alpha: NonNegative = 1e-3
    beta: NonNegative = 1e-3

    def _row_losses(self, D: Array, P: Array) -> tuple[Array, Array]:
        c = D.shape[1]
        reward = self.alpha / c * rankdata(D, axis=1)
        excess = P.var(axis=1, keepdims=True) - D.var(axis=1, keepdims=True)
        losses = self.beta * excess[:, 0] ** 2 - np.sum(reward * P, axis=1)
        deviations = P - P.mean(axis=1, keepdims=True)
        in_P = 4.0 * self.beta / c * excess * deviations
        return losses, in_P - reward
