"""LDL-SCL: softmax regression with local correlations as further features."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge

from ldlearn.base import (
    Capabilities,
    NonNegative,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_softmax,
)
from ldlearn.learning.linear_softmax import LinearSoftmaxLearner, logit_gradient


@estimator_dataclass
class LDLSCL(LinearSoftmaxLearner):
    r"""Label correlations on local samples (LDL-SCL).

    Rows of similar distributions form clusters. What each cluster says about a row is a further
    feature of it, which is learned with the model: it lets predictions deviate from the linear
    model, towards the clusters. New rows have theirs predicted by linear regression. Assumes that
    label correlations differ between groups of rows.

    .. math::

        \min_{W, b, V, C \ge 0}\; KL(D, P) + l_2 |W|^2 + \lambda_2 |V|^2
        + \lambda_3 \sum_{ik} c_{ik} |p_i - g_k|^2, \qquad
        P = softmax(X W + b + C V)

    :math:`g_k` is the mean distribution of cluster k. With the regression
    :math:`C \approx X R + 1 r^T` predictions are :math:`softmax(X (W + R V) + b + V^T r)`.

    Parameters
    ----------
    n_clusters : int, default=5
        Clusters of the training distributions; fewer if there are fewer different distributions.
    lam2, lam3 : float, default=1.0
        :math:`\lambda_2, \lambda_3`; 0.001 in the paper, where few small steps replace the
        penalties.
    l2 : float, default=1.0
        Weight of the penalty, 0.001 in the paper, and ridge of the regression on standardised
        features, 0 there; the loss sums over rows, so the same number means less as n grows.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this, relatively.
    max_iter : int, default=2000
        L-BFGS iterations at most.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        The transpose of :math:`W + R V`.
    intercept_ : ndarray of shape (n_labels,)
        :math:`b + V^T r`.
    cluster_centers_ : ndarray of shape (n_clusters, n_labels)
        The :math:`g_k`.
    objective_ : float
        Without its constant: the divergence without the entropy of D.
    n_iter_ : int
    converged_ : bool
        Whether ``tol`` was reached.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: penalties of 1 and a ridge, solved to convergence, instead of 0.001
    and a few hundred steps of Adam (solved to convergence, the published penalties are below the
    mean distribution on most data sets); C is non-negative as a square instead of by a barrier; an
    intercept; V starts at zero. The problem is not convex as the paper says: the result is a local
    minimum. On data with many zeros (Natural_Scene, SCUT_FBP) the default is above the mean
    distribution by intersection and below it by KL: C makes predictions of small degrees too
    small. Confidence: certain.

    References
    ----------
    X. Jia, Z. Li, X. Zheng, W. Li, S.-J. Huang, "Label Distribution Learning with Label
    Correlations on Local Samples", IEEE TKDE 33(4), 2021, pp. 1619-1631.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLSCL
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> LDLSCL(n_clusters=2, l2=1e-4, random_state=0).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    learned = {"cluster_centers_": "float (n_clusters, n_labels)"}

    _test_params = ({"n_clusters": 3, "random_state": 0},)

    n_clusters: PositiveInt = 5
    lam2: NonNegative = 1.0
    lam3: NonNegative = 1.0
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # The random start of k-means depends on the order of rows and labels.
        tags.order_invariant = False
        tags.label_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        n_clusters = min(self.n_clusters, len(np.unique(D, axis=0)))
        kmeans = KMeans(n_clusters, n_init=10, random_state=self.random_state)
        kmeans.fit(D, sample_weight=sample_weight)
        self.cluster_centers_ = kmeans.cluster_centers_
        n, c = D.shape
        # 0.01 for other clusters than its own: at 0 the square has no slope.
        roots = np.sqrt(np.eye(n_clusters)[kmeans.labels_] + 0.01)
        unit_V = np.sqrt(n / c + 2.0 * self.lam2)
        others = (np.zeros((n_clusters, c)), unit_V), (roots, c**-0.5)
        V, roots = self._minimize(X, D, sample_weight, self._local_loss, *others)
        scaling = feature_scaling(X, self.fit_intercept, sample_weight)
        ridge = Ridge(self.l2, fit_intercept=self.fit_intercept)
        ridge.fit(scaling.apply(X), roots**2, sample_weight=sample_weight)
        coef = np.atleast_2d(ridge.coef_).T
        R, r = scaling.undo(coef, ridge.intercept_)
        self.coef_ = self.coef_ + (R @ V).T
        self.intercept_ = self.intercept_ + r @ V

    def _local_loss(
        self,
        D: Array,
        times: Array,
        Z: Array,
        V: Array,
        roots: Array,
    ) -> tuple[Any, ...]:
        """The loss with ``C = roots**2``, and its gradients in Z, V and roots."""
        C = roots**2
        log_P = log_softmax(Z + C @ V)
        P = np.exp(log_P)
        away = self.lam3 * cdist(P, self.cluster_centers_, "sqeuclidean")
        loss = np.vdot(times * C, away)
        loss += self.lam2 * np.vdot(V, V) - np.vdot(times * D, log_P)
        from_centers = C.sum(axis=1, keepdims=True) * P - C @ self.cluster_centers_
        in_P = 2.0 * self.lam3 * from_centers
        in_Z = times * (P - D + logit_gradient(P, in_P))
        in_V = C.T @ in_Z + 2.0 * self.lam2 * V
        in_C = in_Z @ V.T + times * away
        return loss, in_Z, in_V, 2.0 * roots * in_C
