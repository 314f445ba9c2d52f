"""LSE-LDL: latent semantics encoding with feature selection (a reconstruction)."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.special import xlogy
from sklearn.linear_model import ridge_regression

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.core.simplex import (
    Array,
    SampleWeight,
    log_softmax,
    row_weights,
)
from ldlearn.exceptions import InputError
from ldlearn.learning.linear_softmax import LinearSoftmaxMixin
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.lbfgs import minimize_lbfgs
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression

# Shapes: X (n, m), D (n, c), latent features V (n, K), W (m, K), theta (K, c), Laplacian L (n, n).

# Below this length a row of W is penalised by its square, so that the penalty has a gradient.
_HUBER_LENGTH = 1e-6


@estimator_dataclass
class LSELDL(LinearSoftmaxMixin, Learner):
    r"""Latent semantics encoding (LSE-LDL), reconstructed.

    Features are encoded linearly into a few latent ones, which are free to deviate from the
    encoding, keep the neighbourhoods of the rows and predict the degrees by softmax regression. The
    encoding uses few features: their ranking is part of the result. To be tried where features are
    many and most of them are thought to be noise. Give features of one scale (standardised): the
    penalty compares their coefficients.

    .. math::

        \min_{W, V, \Theta, b}\; KL(D, softmax(V \Theta + b)) + \alpha |X W - V|_F^2
        + \beta\, tr(V^T L V) + \gamma |W|_{2,1} + l_2 |\Theta|_F^2

    X is centred, L is the Laplacian of the graph of nearest neighbours, :math:`|W|_{2,1}` the sum
    of the lengths of the rows of W. New rows are predicted by :math:`softmax(x^T W \Theta + b)`.

    Parameters
    ----------
    alpha : float, default=1.0
        How closely the latent features keep to their encoding.
    beta : float, default=0.01
        Weight of the graph. 0 makes no graph.
    gamma : float, default=1.0
        The larger, the fewer features are used. Stands against a sum over rows.
    l2 : float, default=0.01
        Penalty of :math:`\Theta`; without it V and W could shrink to nothing while :math:`\Theta`
        grows.
    n_latent : int, default=None
        K; c if None. More than c would change nothing.
    n_kept : int, default=None
        How many features, the best ranked ones, are used for prediction; all if None.
    n_neighbors : int, default=10
        Neighbours of each row in the graph.
    max_iter : int, default=50
        Rounds over all four.
    tol : float, default=1e-3
        Stop when a round lowers the objective by less than this, relatively.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        :math:`W \Theta`, zero for features that are not kept.
    intercept_ : ndarray of shape (n_labels,)
    encoding_ : ndarray of shape (n_features, n_latent)
        W.
    latent_ : ndarray of shape (n_samples, n_latent)
        V.
    theta_ : ndarray of shape (n_latent, n_labels)
    feature_scores_ : ndarray of shape (n_features,)
        Lengths of the rows of W: the larger, the more a feature matters.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each round; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether the objective settled within ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: a reconstruction from what its abstract says (encoding by regression,
    selection by the 2,1-norm, consistent local geometry, empirical risk on latent features,
    alternation, ranking of features); terms, coefficients and normalisation may differ from the
    paper. Of ours are the intercept, the term in ``l2``, and an exact rescaling of (W, V) against
    :math:`\Theta` in every round. Confidence: reconstructed.

    References
    ----------
    S. Xu, L. Shang, F. Shen, "Latent Semantics Encoding for Label Distribution Learning", IJCAI
    2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LSELDL
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> D = np.exp(2 * X[:, [3, 3]] * [1, -1])
    >>> D /= D.sum(axis=1, keepdims=True)
    >>> model = LSELDL().fit(X, D)
    >>> int(model.feature_scores_.argmax())
    3
    >>> model.predict([[0, 0, 0, 1, 0], [0, 0, 0, -1, 0]]).round(1)
    array([[1., 0.],
           [0., 1.]])
    """

    learned = {
        "encoding_": "float (n_features, n_latent)",
        "latent_": "float (n_samples, n_latent)",
        "theta_": "float (n_latent, n_labels)",
        "feature_scores_": "float (n_features)",
    }

    _test_params = (
        {"n_neighbors": 3, "tol": 0.01},
        {"beta": 0.0, "n_latent": 2, "n_kept": 2, "tol": 0.01},
    )

    alpha: Positive = 1.0
    beta: NonNegative = 0.01
    gamma: Positive = 1.0
    l2: Positive = 0.01
    n_latent: PositiveInt | None = None
    n_kept: PositiveInt | None = None
    n_neighbors: PositiveInt = 10
    max_iter: PositiveInt = 50
    tol: NonNegative = 1e-3

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        # Every row has latent scores of its own, improved by a few steps that see a row twice as
        # two.
        tags.weight_equals_repetition = False
        return tags

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        mean = np.average(X, axis=0, weights=sample_weight).astype(np.float64)
        penalties = (self.alpha, self.beta, self.gamma, self.l2)
        problem = _LatentProblem(X - mean, D, self._graph(X), *penalties, sample_weight)
        c = D.shape[1]
        state = problem.initial_state(min(self.n_latent or c, c))
        path = [problem.objective(state)]
        while self._should_iterate(path):
            state = problem.improve(state)
            path.append(problem.objective(state))
        self.encoding_ = state.W
        self.latent_ = state.V
        self.theta_ = state.theta
        self.feature_scores_ = linalg.norm(state.W, axis=1)
        coef = state.W @ state.theta
        if self.n_kept is not None:  # of equal features the first are kept
            order = np.argsort(-self.feature_scores_, kind="stable")
            coef[order[self.n_kept :]] = 0.0
        self.coef_ = coef.T
        self.intercept_ = state.b - mean @ coef

    def _graph(self, X: Array) -> sparse.csr_array:
        n = len(X)
        if self.beta == 0.0:
            return sparse.csr_array((n, n))
        if self.n_neighbors >= n:
            raise InputError(
                f"n_neighbors={self.n_neighbors} must be less than the number of rows, got "
                f"n_samples={n}; lower it, or set beta=0 to do without the graph."
            )
        return laplacian(knn_graph(X, self.n_neighbors))


class _LatentState(NamedTuple):
    """The four unknowns."""

    W: Array
    V: Array
    theta: Array
    b: Array


@dataclass
class _LatentProblem:
    """The objective of `LSELDL` and the steps that lower it."""

    X: Array
    D: Array
    L: sparse.csr_array
    alpha: float
    beta: float
    gamma: float
    l2: float
    counts: SampleWeight | None = None

    def __post_init__(self) -> None:
        self.times = row_weights(self.D, self.counts)[:, None]
        # Squared errors count rows by their weights if multiplied by the roots.
        self.root = np.sqrt(self.times)
        self.entropy = np.sum(self.times * xlogy(self.D, self.D))

    def initial_state(self, n_latent: int) -> _LatentState:
        """Ridge regression on the degrees, reduced to its leading directions."""
        centred = self.D - np.average(self.D, axis=0, weights=self.counts)
        W = self._reweighted_solve(centred, np.ones(self.X.shape[1]))
        left, lengths, _ = linalg.svd(W, full_matrices=False)
        # The right singular vectors are left out: theta, which is fitted next, takes up any
        # rotation.
        W = left[:, :n_latent] * lengths[:n_latent]
        theta = np.zeros((W.shape[1], self.D.shape[1]))
        return self.regress(_LatentState(W, self.X @ W, theta, np.zeros(self.D.shape[1])))

    def improve(self, state: _LatentState) -> _LatentState:
        """Each of the unknowns in turn; none of the steps raises the objective."""
        state = self.rescale(state)
        state = self.improve_latent(state)
        state = self.encode(state)
        return self.regress(state)

    def objective(self, state: _LatentState) -> float:
        """What all steps lower."""
        encoded = self.X @ state.W
        fit, _ = self.latent_loss(state.V, encoded, state.theta, state.b)
        # Huber's penalty: length and square meet at _HUBER_LENGTH with the same value and slope.
        lengths = linalg.norm(state.W, axis=1)
        rounded = 0.5 * (lengths**2 / _HUBER_LENGTH + _HUBER_LENGTH)
        penalty = np.where(lengths > _HUBER_LENGTH, lengths, rounded).sum()
        return fit + self.gamma * penalty + self.l2 * np.sum(state.theta**2)

    def regress(self, state: _LatentState) -> _LatentState:
        """theta and b: softmax regression on V."""
        logits = state.V @ state.theta + state.b
        fit = softmax_regression(
            CentredMatrix(state.V, sample_weight=self.counts),
            self.D,
            l2=self.l2,
            start=SoftmaxFit(state.theta, state.b, logits),
            tol=1e-8,
        )
        return state._replace(theta=fit.coef, b=fit.intercept)

    def rescale(self, state: _LatentState) -> _LatentState:
        """The t of least penalty for ``t W, t V, theta / t``, with the same predictions."""
        off = self.root * (self.X @ state.W - state.V)
        roughness = np.vdot(state.V, self.L @ state.V)
        quadratic = self.alpha * np.sum(off**2) + self.beta * roughness
        linear = self.gamma * linalg.norm(state.W, axis=1).sum()
        inverse = self.l2 * np.sum(state.theta**2)
        if inverse == 0.0 or quadratic + linear == 0.0:
            return state

        # The penalties are quadratic t^2 + linear t + inverse / t^2. Their derivative, times t^3,
        # has one positive root, which is at most that without the quadratic term.
        def slope(t: float) -> float:
            return 2.0 * quadratic * t**4 + linear * t**3 - 2.0 * inverse

        largest = (2.0 * inverse / linear) ** (1.0 / 3.0)
        t = optimize.brentq(slope, 0.0, 1.01 * largest)
        # Short rows of W are penalised by their squares, which the formula above does not know:
        # hence the comparison.
        scaled = state._replace(W=t * state.W, V=t * state.V, theta=state.theta / t)
        return min(scaled, state, key=self.objective)

    def improve_latent(self, state: _LatentState) -> _LatentState:
        """A few steps of L-BFGS on V."""
        encoded = self.X @ state.W
        loss = partial(self.latent_loss, encoded=encoded, theta=state.theta, b=state.b)
        (V,) = minimize_lbfgs(loss, [state.V], max_iter=10).arrays
        return state._replace(V=V)

    def latent_loss(
        self,
        V: Array,
        encoded: Array,
        theta: Array,
        b: Array,
    ) -> tuple[float, list[Array]]:
        """The terms of the objective that contain V, and their gradient; ``encoded = X W``."""
        log_P = log_softmax(V @ theta + b)
        off = V - encoded
        LV = self.L @ V
        fit = self.entropy - np.vdot(self.times * self.D, log_P)
        loss = fit + self.alpha * np.vdot(self.times * off, off)
        loss += self.beta * np.vdot(V, LV)
        of_rows = (np.exp(log_P) - self.D) @ theta.T + 2.0 * self.alpha * off
        return loss, [self.times * of_rows + 2.0 * self.beta * LV]

    def encode(self, state: _LatentState) -> _LatentState:
        """W by one step of iteratively reweighted least squares."""
        # |w| <= (|w|^2 / l + l) / 2 with equality at l = |w|: the weighted square lies above the
        # penalty and touches it at the present W, so that its minimum cannot raise the objective.
        lengths = np.maximum(linalg.norm(state.W, axis=1), _HUBER_LENGTH)
        return state._replace(W=self._reweighted_solve(state.V, lengths))

    def _reweighted_solve(self, V: Array, lengths: Array) -> Array:
        """Minimise ``alpha |X W - V|^2 + gamma/2 sum_k |W_k|^2 / lengths_k``."""
        # In the variables U = W / root the penalty is the same for all rows: |A U - V|^2 + |U|^2 /
        # (2 alpha).
        root = np.sqrt(lengths / self.gamma)
        A = self.root * self.X * root
        U = ridge_regression(A, self.root * V, 0.5 / self.alpha, solver="cholesky")
        return (np.atleast_2d(U) * root).T
