"""LDL-LCLR: softmax regression with a low-rank matrix of label correlations."""

from functools import partial
from typing import Any

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from ldlearn.base import (
    NonNegative,
    Positive,
    estimator_dataclass,
)
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_softmax,
    row_weights,
)
from ldlearn.exceptions import InputError
from ldlearn.learning.linear_softmax import LinearSoftmaxLearner, logit_gradient

# Lengths and singular values are quadratic below about this, so that they have a gradient.
_ROUNDED_LENGTH = 1e-3


@estimator_dataclass
class LDLLCLR(LinearSoftmaxLearner):
    r"""Label correlations via low-rank approximation (LDL-LCLR).

    Assumes what `SABFGS` does, and that few combinations of labels explain all: the predictions,
    multiplied by a matrix of label correlations of low rank, shall give the degrees, too. To be
    tried where labels are many.

    .. math::

        \min_{W, b, S}\; KL(D, P) + l_2 |W|^2 + \lambda_2 |D - P S|_{2,1} + \lambda_3 |S|_*
        - \lambda_4 \sum_{jk} m_{jk} s_{jk}, \qquad P = softmax(X W + b)

    :math:`|\cdot|_{2,1}` is the sum of the lengths of the columns, :math:`|S|_*` that of the
    singular values, and :math:`m_{jk}` the mean of :math:`(d_{ij} - d_{ik})^2` over the rows. P
    predicts; S does not take part.

    Parameters
    ----------
    lam2, lam3 : float, default=0.01
        :math:`\lambda_2, \lambda_3`, as in the published code.
    lam4 : float, default=0.001
        :math:`\lambda_4`, 0.01 in the published code, for sums over rows instead of means. It must
        be less than lam3 divided by the largest singular value of the matrix of the :math:`m_{jk}`,
        else the problem may have no minimum, and fit refuses.
    l2 : float, default=1.0
        Weight of the penalty, 0.001 in the published code; the loss sums over rows, so the same
        number means less as n grows.
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
    correlations_ : ndarray of shape (n_labels, n_labels)
        S.
    objective_ : float
        Without its constant: the divergence without the entropy of D.
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper, as its released code shows it: the constraint ``D = P S + E`` is
    substituted, and what is left is minimised by L-BFGS instead of ADMM, whose gradients there are
    wrong; lengths and singular values are rounded within 0.001; the last term is a mean, since with
    the sum there may be no minimum; an unpenalised intercept. There the last term is summed over
    four clusters of rows, meant as local correlations: squares sum to the same without the
    clusters. Confidence: inferred (from the released code; of the paper only the abstract was
    available).

    References
    ----------
    T. Ren, X. Jia, W. Li, S. Zhao, "Label Distribution Learning with Label Correlations via
    Low-Rank Approximation", IJCAI 2019, pp. 3325-3331.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLLCLR
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> LDLLCLR(l2=1e-4).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    learned = {"correlations_": "float (n_labels, n_labels)"}

    lam2: NonNegative = 1e-2
    lam3: Positive = 1e-2
    lam4: NonNegative = 1e-3

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        weights = row_weights(D, sample_weight)
        columns = D.T * np.sqrt(weights / weights.sum())
        M = cdist(columns, columns, "sqeuclidean")  # the mean over rows of (d_j - d_k)^2
        norm = linalg.norm(M, 2)
        if self.lam4 * norm >= self.lam3:
            raise InputError(
                f"lam4={self.lam4:g} is so large for lam3={self.lam3:g} that there may be no "
                f"minimum; give a lam4 below {self.lam3 / norm:.3g}."
            )
        loss = partial(self._low_rank_loss, M)
        identity = np.eye(D.shape[1])
        (self.correlations_,) = self._minimize(X, D, sample_weight, loss, (identity, 1.0))

    def _low_rank_loss(
        self,
        M: Array,
        D: Array,
        times: Array,
        Z: Array,
        S: Array,
    ) -> tuple[float, Array, Array]:
        """The loss and its gradients in Z and S."""
        log_P = log_softmax(Z)
        P = np.exp(log_P)
        E = D - P @ S
        lengths = np.sqrt(np.sum(times * E**2, axis=0) + _ROUNDED_LENGTH**2)
        U, s, Vt = linalg.svd(S)
        rounded = np.sqrt(s**2 + _ROUNDED_LENGTH**2)
        loss = self.lam2 * lengths.sum() + self.lam3 * rounded.sum()
        loss -= self.lam4 * np.vdot(M, S) + np.vdot(times * D, log_P)
        in_E = self.lam2 * times * E / lengths
        in_Z = times * (P - D) - logit_gradient(P, in_E @ S.T)
        in_S = self.lam3 * U * (s / rounded) @ Vt - self.lam4 * M - P.T @ in_E
        return loss, in_Z, in_S
