"""L2: the unified framework that recovers degrees, a graph and a low-rank predictor together."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ldlearn.base import Capabilities, JointModel
from ldlearn.base.parameters import (
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.reconstruction import (
    local_grams,
    nearest_rows,
    reconstruction_laplacian,
    simplex_weights,
    weights_to_csr,
)
from ldlearn.core.simplex import Array, Mask, SampleWeight, project_simplex, row_weights, softmax
from ldlearn.core.targets import possible_labels
from ldlearn.solvers.nuclear_regression import NuclearFit, nuclear_regression
from ldlearn.solvers.spd import solve_operator


@estimator_dataclass
class L2(JointModel):
    r"""Unified framework for learning with label distributions (L2).

    Assumes that samples which rebuild each other's features also rebuild each other's degrees, and
    that a predictor of low rank can follow these. Recovers the degrees, the graph S behind them and
    the predictor from one objective; the joint model that DLDL is compared with. Standardise the
    features: the result depends on their scale.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of scores between 0 and 1 gives no label less than 1/e of another's degree. This does
    not limit its predictions.

    .. math::

        \min_{S, D, W, b}\; \beta |P - D|^2 + \alpha (|X - S X|^2 + |D - S D|^2)
        + \lambda |D - Y|^2 + \gamma |W|_*, \qquad P = softmax(X W + b)

    where :math:`S \ge 0` has rows that sum to one and are zero off the nearest neighbours, and
    :math:`|W|_*` is the sum of singular values. Recovered is ``softmax(D)``, predicted
    ``softmax(X W + b)``. Labels that are unknown (NaN in y) are left out of the term with Y. With
    ``sample_weight`` each row's first and third term count so often; the graph is not weighted. A
    row of weight 0 is not in the graph; its degrees are those without neighbours.

    Parameters
    ----------
    alpha : float, default=1e-3
        Penalty of the reconstruction by neighbours. 0 needs no graph.
    beta : float, default=1e-4
        Penalty of the squared distance between degrees and predictor.
    gamma : float, default=1e-3
        Penalty of the nuclear norm; a large one makes W = 0, a constant predictor. The other terms
        are sums over rows: what is large for hundreds of rows is small for thousands.
    lam : float, default=1e-3
        Penalty lambda of the distance from the logical labels; to infinity, D = Y.
    n_neighbors : int, default=20
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    init : {"zeros", "random"}, default="zeros"
        Where W starts. The problem is not convex in W; ``"zeros"`` goes downhill from the best
        constant predictor. ``"random"`` is uniform on [0, 1], as published: then the result depends
        on the seed and on the order of the labels.
    tol : float, default=1e-3
        Stop when no entry of D or of P moves by more in an iteration.
    max_iter : int, default=200
    random_state : int, RandomState instance or None, default=None
        Only for ``init="random"``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        W, of exactly low rank.
    intercept_ : ndarray of shape (n_labels,)
        b.
    scores_ : ndarray of shape (n_samples, n_labels)
        D, of the rows that count.
    weights_ : csr_array of shape (n_samples, n_samples)
        S, of the same rows; empty if ``alpha = 0``.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each iteration; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether D and P settled within ``tol``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        ``softmax(D)``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Alternates the exact S (small quadratic programmes, all at once), the exact D (one sparse linear
    system) and steps downhill in W and b (proximal gradients, whose thresholded singular values
    make W low-rank). S does not depend on alpha, which multiplies both of its terms.

    Departures from the paper: the released code has the wrong sign on two terms of the gradient of
    D, keeps only the diagonal of the softmax's Jacobian and takes the last softmax over samples;
    here D is solved in closed form, the Jacobian is whole and rows are distributions. An
    unpenalised intercept and a start at zero by default (``fit_intercept=False, init="random"`` is
    the published form). The published splitting of W into two copies (with a penalty mu) is
    replaced by proximal gradients: its result depended on rounding, and its copies need not agree
    where it stops. Confidence: certain about the problem (released code), inferred about its
    intent.

    References
    ----------
    X. Liu, J. Zhu, Z. Li, Z. Tian, X. Jia, L. Chen, "Unified framework for learning with label
    distribution", Information Fusion 75, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.joint import L2
    >>> X = np.array([[-2.0], [-1.9], [-1.7], [1.8], [1.9], [2.0]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> model = L2(gamma=1e-4, n_neighbors=2).fit(X, Y)
    >>> model.label_distributions_.round(2)
    array([[0.67, 0.33],
           [0.59, 0.41],
           [0.7 , 0.3 ],
           [0.27, 0.73],
           [0.27, 0.73],
           [0.27, 0.73]])
    >>> model.predict([[-3.0], [3.0]]).round(2)
    array([[0.87, 0.13],
           [0.07, 0.93]])
    """

    learned = {
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
        "scores_": "float (n_fitted, n_labels)",
        "weights_": "csr (n_fitted, n_fitted)",
    }

    can_enhance = False  # its degrees of new rows ignore the graph
    _test_params = (
        {"n_neighbors": 4, "tol": 0.02},
        {
            "n_neighbors": 3,
            "init": "random",
            "fit_intercept": False,
            "random_state": 0,
            "tol": 0.02,
        },
    )

    alpha: NonNegative = 1e-3
    beta: Positive = 1e-4
    gamma: NonNegative = 1e-3
    lam: NonNegative = 1e-3
    n_neighbors: PositiveInt = 20
    fit_intercept: bool = True
    init: Literal["zeros", "random"] = "zeros"
    tol: Positive = 1e-3
    max_iter: PositiveInt = 200
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.label_invariant = self.init == "zeros"  # a random start depends on their order
        # In a graph a row given twice is its own neighbour.
        tags.weight_equals_repetition = self.alpha == 0
        return tags

    def _fit(
        self,
        X: Any,
        Y: Mask,
        sample_weight: SampleWeight | None = None,
        observed: Mask | None = None,
    ) -> None:
        # With a free intercept centring changes no value of the objective, only how fast W and b
        # are found.
        features = np.asarray(X, dtype=np.float64)
        mean = np.zeros(X.shape[1])
        if self.fit_intercept:
            mean = np.average(features, axis=0, weights=sample_weight)
        S = sparse.csr_array((len(Y), len(Y)))
        if self.alpha > 0:
            neighbors = nearest_rows(X, self.n_neighbors)
            grams = local_grams(features - mean, neighbors)
            weights = simplex_weights(grams)
            S = weights_to_csr(weights, neighbors)
        seen = 1.0 if observed is None else observed
        rows = _Rows(features - mean, Y, row_weights(Y, sample_weight), seen)
        D = _propagated_labels(S, possible_labels(Y, observed))
        W, b = self._initial_coefficients(rows, D)
        P = softmax(rows.X @ W + b)
        path: list[float] = []
        for _ in self._iterations():
            old_D = D
            old_P = P
            # S, D and the predictor in turn, each given the latest of the others: no step raises
            # the objective.
            if self.alpha > 0:  # the last supports are a good start
                weights = simplex_weights(grams + local_grams(D, neighbors), start=weights > 0)
                S = weights_to_csr(weights, neighbors)
            D = self._solve_degrees(S, P, rows)
            fit = self._fit_predictor(rows, D, W, b)
            W = fit.coef
            b = fit.intercept
            P = softmax(fit.scores)
            path.append(self._objective(fit, S, D, rows))
            moved = max(np.abs(D - old_D).max(), np.abs(P - old_P).max())
            self.converged_ = bool(moved <= self.tol)
        self.coef_ = W.T
        self.intercept_ = b - mean @ W
        self.scores_ = D
        self.weights_ = S
        self.objective_path_ = np.array(path)
        self.objective_ = float(path[-1])
        self.label_distributions_ = softmax(D)

    def _enhance(self, X: Any, Y: Mask, observed: Mask | None = None) -> Array:
        """Degrees by the labels and the predictor alone."""
        seen = 1.0 if observed is None else observed
        mixed = self.beta * self._predict(X) + self.lam * Y
        return softmax(mixed / (self.beta + self.lam * seen))

    def _initial_coefficients(self, rows: _Rows, D: Array) -> tuple[Array, Array]:
        """W and b: at zero the best constant, which is the mean of distributions D."""
        shape = rows.X.shape[1], D.shape[1]
        if self.init == "random":
            W = check_random_state(self.random_state).uniform(size=shape)
            return W, np.zeros(shape[1])
        # A label without positive rows would start at minus infinity, where the squared error has
        # no gradient.
        log_means = np.log(np.maximum(np.average(D, axis=0, weights=rows.w), 1e-3))
        return np.zeros(shape), (log_means - log_means.mean()) * self.fit_intercept

    def _solve_degrees(self, S: sparse.csr_array, P: Array, rows: _Rows) -> Array:
        """Solve for the degrees, given the predictions; lam is 0 where y is NaN.

        ``[diag(w) (beta + lam) + alpha (I - S)' (I - S)] D = diag(w) (beta P + lam Y)``
        """
        M = self.alpha * reconstruction_laplacian(S)
        w = rows.w[:, None]
        diagonal = w * (self.beta + self.lam * rows.seen)
        target = w * (self.beta * P + self.lam * rows.Y)
        whole_diagonal = diagonal + M.diagonal()[:, None]
        return solve_operator(lambda D: diagonal * D + M @ D, whole_diagonal, target, tol=1e-8)

    def _fit_predictor(self, rows: _Rows, D: Array, W: Array, b: Array) -> NuclearFit:
        # The Hessian of |softmax(z) - d|^2 is at most 2 (1/4 + max |p - d|): the variance of a
        # vector of length one under p is at most 1/2.
        farthest = max(D.max(), 1.0 - D.min())
        return nuclear_regression(
            rows.X,
            lambda Z: _squared_error(Z, D, rows.w),
            self.gamma / self.beta,
            (W, b),
            curvature=0.5 + 2.0 * farthest,
            fit_intercept=self.fit_intercept,
            sample_weight=rows.w,
        )

    def _objective(self, fit: NuclearFit, S: sparse.csr_array, D: Array, rows: _Rows) -> float:
        value = self.beta * fit.objective
        if self.alpha:
            rebuilt = np.sum((rows.X - S @ rows.X) ** 2) + np.sum((D - S @ D) ** 2)
            value += self.alpha * rebuilt
        off = (D - rows.Y) * rows.seen
        return value + self.lam * (rows.w @ np.sum(off**2, axis=1))

    def _predict(self, X: Any) -> Array:
        return softmax(X @ self.coef_.T + self.intercept_)


class _Rows(NamedTuple):
    """Centred features, labels, sample weights, and which labels are observed."""

    X: Array
    Y: Mask
    w: SampleWeight
    seen: Array | float  # whether a label is observed; 1 if all are


def _squared_error(Z: Array, D: Array, weights: SampleWeight | None = None) -> tuple[float, Array]:
    """``|softmax(Z) - D|^2``, each row as often as it counts, and its gradient."""
    P = softmax(Z)
    R = P - D
    weighted = R if weights is None else R * weights[:, None]
    # The Jacobian of the softmax, diag(p) - p p', is symmetric and takes the residuals back to the
    # scores.
    mean = np.einsum("ij,ij->i", weighted, P)[:, None]
    return np.vdot(R, weighted), 2.0 * P * (weighted - mean)


def _propagated_labels(
    S: sparse.csr_array, Y: Mask, tol: float = 1e-3, max_iter: int = 100
) -> Array:
    """Minimise ``|D - S D|^2`` over distributions on the positive labels.

    By accelerated projected gradients, and roughly: they only shape the first graph.
    """
    M = reconstruction_laplacian(S)
    # The gradient is 2 M D, and the largest column sum bounds the largest eigenvalue of M: the step
    # 1 / L of FISTA.
    step = 0.5 / abs(M).sum(axis=0).max()  # a bound on the curvature
    D: Array = Y / Y.sum(axis=1, keepdims=True)
    Z = D
    t = 1.0
    for _ in range(max_iter):
        previous = D
        D = project_simplex(Z - 2.0 * step * (M @ Z), Y)
        if np.abs(D - previous).max() <= tol:
            break
        old = t
        t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        Z = D + (old - 1.0) / t * (D - previous)
    return D
