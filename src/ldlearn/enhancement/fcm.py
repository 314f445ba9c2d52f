"""FCM: degrees from fuzzy clusters of the features."""

import warnings

import numpy as np
from sklearn.utils import check_random_state

from ldlearn.base import (
    AboveOne,
    Capabilities,
    Enhancer,
    NonNegative,
    OutputMap,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.kernels import squared_distances
from ldlearn.core.simplex import (
    Array,
    Mask,
    SampleWeight,
    positive_or_one,
    row_weights,
    to_distributions,
)


@estimator_dataclass
class FCM(Enhancer):
    r"""Fuzzy c-means (FCM): a row inherits the labels that go with the clusters it belongs to.

    Assumes that rows form clusters and that a label is tied to some of them; negative labels get a
    degree too. Use it as a baseline on few features: in many dimensions the memberships with
    ``b=2`` become equal and the degrees uniform, which a warning reports. **At its defaults it
    loses to equal shares** of the positive labels (`UniformLE`) where a 0 means a degree near 0,
    since which labels of a row are 1 hardly enters.

    .. math::

        \min_{U, \mu}\; \sum_{i, k} u_{ik}^b |x_i - \mu_k|^2, \quad \sum_k u_{ik} = 1; \qquad
        f_{il} = \max_k a_{lk} u_{ik}

    where :math:`A = Y^\top U` (labels x clusters) with its columns, then its rows, divided by their
    sums.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters p; None is ten times the number of labels.
    b : float, default=2.0
        Fuzzifier, above 1: near 1 a row belongs to one cluster, at 2 to many. Try 1.1 to 1.5 on
        many features.
    tol : float, default=1e-4
        Stop when no membership changes by more.
    max_iter : int, default=1000
        Iterations at most.
    normalize : {"l1", "softmax", "shift_l1"}, default="l1"
        How scores become distributions.
    random_state : int, RandomState or None, default=None
        First memberships. They belong to rows, so the result depends on the order of rows.

    Attributes
    ----------
    memberships_ : ndarray of shape (n_samples, n_clusters)
        U; rows sum to one.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    associations_ : ndarray of shape (n_labels, n_clusters)
        A.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each iteration; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether the memberships settled within ``tol``.
    scores_ : ndarray of shape (n_samples, n_labels)
        The max-product composition f.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: memberships are proportional to :math:`|x_i - \mu_k|^{-2/(b-1)}`, the
    minimiser of the objective; the paper on label enhancement prints the exponent without the 2.
    The order of the two normalisations of A and the max-product composition (not max-min) are a
    choice among readings. Confidence: inferred.

    References
    ----------
    N. El Gayar, F. Schwenker, G. Palm, "A Study of the Robustness of KNN Classifiers Trained Using
    Soft Labels", ANNPR 2006.
    N. Xu, A. Tao, X. Geng, "Label Enhancement for Label Distribution Learning", IJCAI 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import FCM
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> FCM(n_clusters=2, random_state=0).fit_enhance(X, Y).round(2)
    array([[1. , 0. ],
           [1. , 0. ],
           [0.2, 0.8],
           [0.2, 0.8]])
    """

    learned = {
        "memberships_": "float (n_samples, n_clusters)",
        "cluster_centers_": "float (n_clusters, n_features)",
        "associations_": "float (n_labels, n_clusters)",
        "scores_": "float (n_samples, n_labels)",
    }

    _test_params = (
        {"n_clusters": 3, "b": 1.5, "random_state": 0},
        {"n_clusters": 2, "b": 1.2, "normalize": "softmax", "random_state": 0},
    )

    n_clusters: PositiveInt | None = None
    b: AboveOne = 2.0
    tol: NonNegative = 1e-4
    max_iter: PositiveInt = 1000
    normalize: OutputMap = "l1"
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # The random memberships depend on the order of rows, and differ between a row and its copy.
        tags.order_invariant = False
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Array, Y: Mask, sample_weight: SampleWeight | None = None) -> None:
        w = row_weights(Y, sample_weight)
        self._cluster(X, self.n_clusters or 10 * Y.shape[1], w)
        self.associations_ = (w[:, None] * Y).T @ self.memberships_
        # Columns first: of the labels that a cluster's members carry, the share of each, so that
        # large clusters say no more than small ones. Then rows: what ties a label to clusters sums
        # to one, for frequent labels as for rare ones. A label without positive rows keeps zeros.
        for axis in (0, 1):
            sums = self.associations_.sum(axis=axis, keepdims=True)
            self.associations_ /= positive_or_one(sums)
        scores = [(self.memberships_ * row).max(axis=1) for row in self.associations_]
        self.scores_ = np.column_stack(scores)
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)

    def _cluster(self, X: Array, p: int, w: SampleWeight) -> None:
        """Alternate between centres and memberships: exact minima over one of them."""
        # Rows of weight 0 move no centre, and what is drawn for others must not depend on them.
        counted = w > 0
        # Distances are computed from inner products, which lose digits where all rows are far from
        # 0.
        mean = np.average(X, axis=0, weights=w)
        centred = (X - mean)[counted]
        counts = w[counted, None]
        U = check_random_state(self.random_state).uniform(size=(len(centred), p))
        U = U / U.sum(axis=1, keepdims=True)
        weights = counts * U**self.b
        path: list[float] = []
        centres = np.zeros((p, centred.shape[1]))
        for _ in self._iterations():
            members = weights.sum(axis=0)[:, None]
            # A cluster that every row has left, each being on a centre of its own, stays where it
            # is.
            centres = np.where(members > 0, weights.T @ centred / positive_or_one(members), centres)
            squares = squared_distances(centred, centres)
            before = U
            U = _memberships(squares, self.b)
            weights = counts * U**self.b
            path.append(np.vdot(weights, squares))
            self.converged_ = bool(np.abs(U - before).max() <= self.tol)
        self.memberships_ = _memberships(squared_distances(X - mean, centres), self.b)
        self.cluster_centers_ = centres + mean
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        largest = U.max()
        # Collapsed: no membership is even twice the uniform 1 / p (half way to 1 where p is 2 or
        # less).
        if self.objective_ > 0 and largest < min(2.0, (p + 1) / 2.0) / p:
            warnings.warn(
                f"The memberships of FCM collapsed (the largest is {largest:.3g}, {p} clusters): "
                f"the degrees are nearly uniform; take b nearer to 1 than {self.b:g}, fewer "
                "clusters or fewer features.",
                UserWarning,
                stacklevel=7,
            )


def _memberships(squares: Array, b: float) -> Array:
    """``u_ik`` proportional to ``squares^(-1 / (b - 1))``; 1 for a row on a centre."""
    nearest = squares.min(axis=1, keepdims=True)
    # Relative to the nearest centre no power overflows, however near to 1 b is. On a centre the
    # limit is taken.
    ratio = np.where(nearest == 0, squares == 0, nearest / positive_or_one(squares))
    U = ratio ** (1.0 / (b - 1.0))
    return U / U.sum(axis=1, keepdims=True)
