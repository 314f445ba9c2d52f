"""LDLFs: forests of differentiable trees with distributions at their leaves."""

from numbers import Integral
from typing import Annotated

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from ldlearn.base import (
    Learner,
    NonNegative,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.base.sklearn_private import Interval
from ldlearn.core.scaling import (
    CACHED_ENTRIES,
    feature_scaling,
    row_batches,
)
from ldlearn.core.simplex import (
    TINY,
    Array,
    Indices,
    SampleWeight,
    log_degrees,
    normalize_rows,
    row_weights,
)
from ldlearn.exceptions import InputError
from ldlearn.solvers.lbfgs import minimize_lbfgs

# Shapes: split logits F (n, n_outputs), leaves q (trees, leaves, c). Within a tree the rows of X
# are columns, so that every level is contiguous: probabilities of going left S (leaves - 1, n), of
# the leaves R (leaves, n).
# Entries of an array of the probabilities of leaves, of which several are in use at once.
_MAX_PROBABILITIES = CACHED_ENTRIES // 8


@estimator_dataclass
class LDLForest(Learner):
    r"""Label distribution learning forest (LDLFs, shallow form).

    Every split node n of a tree sends a row to the left with probability
    :math:`\sigma(f_{\varphi(n)}(x))`, where f is linear and :math:`\varphi` gives each node one of
    its outputs at random; every leaf holds a distribution. A tree predicts the mean of its leaves,
    weighted by the probability of reaching them, and the forest the mean of its trees. Assumes
    little: with enough leaves any smooth map can be expressed. To be tried where linear models are
    too stiff and rows are many.

    .. math::

        \min_{\Theta, \theta_0, q}\; -\frac{1}{n T} \sum_{t=1}^{T} \sum_{ij} D_{ij} \ln g^t_{ij},
        \qquad g^t_i = \sum_\ell p_t(\ell | x_i)\, q_{t \ell}, \quad
        p_t(\ell | x) = \prod_{n \to \ell} \sigma(\pm f_{\varphi_t(n)}(x)), \quad
        f(x) = \Theta^T x + \theta_0

    Leaves and splits are improved in turn: the leaves by the multiplicative update of the paper,
    the splits by a few steps of L-BFGS. Neither ever raises the loss.

    Parameters
    ----------
    n_estimators : int, default=5
        T, the trees.
    max_depth : int, default=7
        Levels of nodes, leaves included: :math:`2^{max\_depth-1}` leaves and one split node fewer.
    n_outputs : int, default=64
        Outputs of f that the split nodes share; at least the number of split nodes of a tree.
    leaf_updates : int, default=20
        Updates of the leaves before every round of steps on the splits.
    split_steps : int, default=5
        L-BFGS iterations on the splits in every round.
    tol : float, default=1e-2
        Stop when a round lowers the loss by less than this, relatively. Nothing else holds the
        weights back, so this is also the guard against overfitting: the smaller, the closer the
        forest follows its training rows.
    max_iter : int, default=100
        Rounds at most.
    fit_intercept : bool, default=True
        Whether :math:`\theta_0` is free or 0, the published form.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights and of the assignment of nodes to outputs.

    Attributes
    ----------
    output_coef_ : ndarray of shape (n_outputs, n_features)
        :math:`\Theta`.
    output_intercept_ : ndarray of shape (n_outputs,)
    nodes_ : ndarray of shape (n_estimators, leaves - 1)
        :math:`\varphi`: which output each split node uses, nodes in heap order (the children of
        k are 2 k + 1 and 2 k + 2).
    leaves_ : ndarray of shape (n_estimators, leaves, n_labels)
        q, from left to right.
    objective_path_ : ndarray of shape (n_iter_,)
        The loss after each round; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether the loss settled within ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: all rows and L-BFGS until ``tol`` instead of 25,000 mini-batches of
    gradient descent, whose learning rate the paper does not state; an intercept; features are
    standardised within the solver, and the weights given in the user's units. Confidence: certain.

    References
    ----------
    W. Shen, K. Zhao, Y. Guo, A. Yuille, "Label Distribution Learning Forests", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLForest
    >>> X = np.linspace(-1.0, 1.0, 21)[:, None]
    >>> D = np.hstack([X**2, 1.0 - X**2])
    >>> model = LDLForest(max_depth=4, tol=1e-4, random_state=0).fit(X, D)
    >>> model.predict([[-0.5], [0.0], [0.5]]).round(1)
    array([[0.2, 0.8],
           [0. , 1. ],
           [0.2, 0.8]])
    >>> model.leaves_.shape
    (5, 8, 2)
    """

    learned = {
        "nodes_": "int (n_trees, n_nodes)",
        "output_coef_": "float (n_outputs, n_features)",
        "output_intercept_": "float (n_outputs)",
        "leaves_": "float (n_trees, n_leaves, n_labels)",
    }

    _test_params = (
        {
            "n_estimators": 2,
            "max_depth": 3,
            "n_outputs": 4,
            "random_state": 0,
        },
    )

    n_estimators: PositiveInt = 5
    max_depth: Annotated[int, Interval(Integral, 2, 20, closed="both")] = 7
    n_outputs: PositiveInt = 64
    leaf_updates: PositiveInt = 20
    split_steps: PositiveInt = 5
    tol: NonNegative = 1e-2
    max_iter: PositiveInt = 100
    fit_intercept: bool = True
    random_state: RandomState = None

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        rng = check_random_state(self.random_state)
        n_leaves = 2 ** (self.max_depth - 1)
        n_splits = n_leaves - 1
        if self.n_outputs < n_splits:
            raise InputError(
                f"max_depth={self.max_depth} makes {n_splits} split nodes and each needs an output "
                f"of its own: give at least n_outputs={n_splits} instead of "
                f"n_outputs={self.n_outputs}, or a smaller max_depth."
            )
        nodes = [rng.permutation(self.n_outputs)[:n_splits] for _ in range(self.n_estimators)]
        self.nodes_ = np.array(nodes, dtype=np.intp)
        scaling = feature_scaling(X, self.fit_intercept, sample_weight)
        Z = scaling.apply(X)
        m = Z.shape[1]
        # A row counts as often as its weight says if its degrees are multiplied by that, compared
        # with the mean.
        counts = row_weights(D, sample_weight)
        D = D * (counts / counts.mean())[:, None]
        c = D.shape[1]
        # Logits of size one on standardised features: splits that differ, none of them saturated.
        theta = rng.normal(scale=1.0 / np.sqrt(m), size=(m, self.n_outputs))
        theta0 = np.zeros(self.n_outputs)
        leaves = np.full((self.n_estimators, n_leaves, c), 1.0 / c)
        leaves, loss = _update_leaves(Z @ theta, D, self.nodes_, leaves, self.leaf_updates)
        path = [loss]

        def split_loss(theta: Array, theta0: Array) -> tuple[float, list[Array]]:
            loss, gF = _forest_loss(Z @ theta + theta0, D, self.nodes_, leaves)
            return loss, [Z.T @ gF, self.fit_intercept * gF.sum(axis=0)]

        while self._should_iterate(path):
            # A few steps only: the leaves will be moved before the splits are at their best.
            start = [theta, theta0]
            splits = minimize_lbfgs(split_loss, start, max_iter=self.split_steps, tol=0.0)
            theta, theta0 = splits.arrays
            F = Z @ theta + theta0
            leaves, loss = _update_leaves(F, D, self.nodes_, leaves, self.leaf_updates)
            path.append(loss)
        coef, self.output_intercept_ = scaling.undo(theta, theta0)
        self.output_coef_ = coef.T
        self.leaves_ = leaves

    def _predict(self, X: Array) -> Array:
        F = X @ self.output_coef_.T + self.output_intercept_
        P = np.zeros((len(F), self.leaves_.shape[2]))
        for rows in row_batches(len(F), self.leaves_.shape[1], _MAX_PROBABILITIES):
            S = _left_probabilities(F[rows])
            for nodes, q in zip(self.nodes_, self.leaves_, strict=True):
                P[rows] += _leaf_probabilities(S[nodes]).T @ q
        return normalize_rows(P)


def _left_probabilities(F: Array) -> Array:
    """Probabilities (n_outputs, n) of going left."""
    return np.ascontiguousarray(expit(F).T)


def _leaf_probabilities(S: Array) -> Array:
    """Probabilities (leaves, n) of each leaf, from those of going left (leaves - 1, n), a heap."""
    n_splits, n = S.shape
    R = np.ones((1, n))
    while len(R) <= n_splits:
        left = R * S[len(R) - 1 : 2 * len(R) - 1]
        R = np.stack([left, R - left], axis=1).reshape(-1, n)
    return R


def _forest_loss(F: Array, D: Array, nodes: Indices, leaves: Array) -> tuple[float, Array]:
    """Loss of the forest with split logits F, and its gradient in F."""
    scale = 1.0 / (len(F) * len(nodes))
    loss = 0.0
    gradient = np.empty_like(F)
    for rows in row_batches(len(F), leaves.shape[1], _MAX_PROBABILITIES):
        d = D[rows].T
        S = _left_probabilities(F[rows])
        gS = np.zeros_like(S)
        for columns, q in zip(nodes, leaves, strict=True):
            R = _leaf_probabilities(S[columns])
            g = np.maximum(q.T @ R, TINY)
            loss -= scale * np.sum(d * np.log(g))
            R *= q @ (d / g)  # the share of each leaf in what is explained of a row
            gS[columns] += _node_gradient(S[columns], R)
        gradient[rows] = scale * gS.T
    return loss, gradient


def _node_gradient(S: Array, shares: Array) -> Array:
    """``s * (share of the right subtree) - (1 - s) * (share of the left)``, from the leaves up."""
    gradient = np.empty_like(S)
    while len(shares) > 1:
        width = len(shares) // 2
        level = slice(width - 1, 2 * width - 1)
        left = shares[0::2]
        shares = left + shares[1::2]
        # s (left + right) - left = s right - (1 - s) left.
        gradient[level] = S[level] * shares - left
    return gradient


def _update_leaves(
    F: Array,
    D: Array,
    nodes: Indices,
    leaves: Array,
    n_updates: int,
) -> tuple[Array, float]:
    """Normalised updates ``q_lj <- sum_i D_ij R_li q_lj / g_ij``, and the loss afterwards."""
    updated = np.array(leaves)
    loss = 0.0
    S = _left_probabilities(F)
    d = np.ascontiguousarray(D.T)
    for tree, columns in enumerate(nodes):
        R = _leaf_probabilities(S[columns])
        q = updated[tree]
        for _ in range(n_updates):
            # The step of expectation and maximisation for a mixture: how much of every degree each
            # leaf explains becomes its new distribution. No step raises the loss; a leaf that no
            # row reaches keeps what it has.
            explained = np.maximum(q.T @ R, TINY)
            new = q * (R @ (d / explained).T)
            mass = new.sum(axis=1, keepdims=True)
            q = np.divide(new, mass, out=q.copy(), where=mass > TINY)
        updated[tree] = q
        loss -= np.vdot(d, log_degrees(q.T @ R))
    return updated, loss / (len(F) * len(nodes))
