"""L2: the unified framework that recovers degrees, a graph and a low-rank predictor together."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ldlearn.base import Joint
from ldlearn.base.sklearn_private import Interval, StrOptions
from ldlearn.core.reconstruction import (
    local_grams,
    nearest_rows,
    reconstruction_laplacian,
    simplex_weights,
    weights_to_csr,
)
from ldlearn.core.simplex import Array, project_simplex, softmax
from ldlearn.solvers.lbfgs import minimize_lbfgs
from ldlearn.solvers.low_rank import singular_value_threshold
from ldlearn.solvers.spd import solve_spd

_MU_GROWTH, _LARGEST_MU = 1.1, 1e6
_W_STEPS = 100  # of L-BFGS in one iteration


class L2(Joint):
    r"""Unified framework for learning with label distributions (L2).

    Assumes that samples which rebuild each other's features also rebuild each other's degrees, and that a predictor of
    low rank can follow these. Recovers the degrees, the graph S behind them and the predictor from one objective; the
    joint model that DLDL is compared with. Standardise the features: the result depends on their scale.

    .. math::

        \min_{S, D, W, b}\; \beta |P - D|^2 + \alpha (|X - S X|^2 + |D - S D|^2) + \lambda |D - Y|^2 + \gamma |W|_*,
        \qquad P = softmax(X W + b)

    where :math:`S \ge 0` has rows that sum to one and are zero off the nearest neighbours, and :math:`|W|_*` is the sum
    of singular values. Recovered is ``softmax(D)``, predicted ``softmax(X W + b)``.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the reconstruction by neighbours.
    beta : float, default=1e-4
        Weight of the agreement between degrees and predictor.
    gamma : float, default=1e-3
        Weight of the nuclear norm; a large one makes W = 0.
    lam : float, default=1e-3
        The weight lambda of the logical labels; to infinity, D = Y.
    n_neighbors : int, default=20
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form.
    mu : float, default=1e-4
        First penalty that ties W to its low-rank copy; it grows by a tenth in each iteration.
    init : {"zeros", "random"}, default="zeros"
        Where W starts. The problem is not convex in W; ``"random"`` is uniform on [0, 1], as published, and then the
        result depends on the seed and on the order of the labels.
    tol : float, default=1e-3
        Stop when ``|W - E| <= tol (sqrt(m c) + |W|)`` for the low-rank copy E, and no entry of D moves by more.
    max_iter : int, default=200
    random_state : int, RandomState instance or None, default=None
        Only for ``init="random"``.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
        W.
    intercept_ : ndarray of shape (c,)
        b.
    low_rank_coef_ : ndarray of shape (m, c)
        E, equal to W up to ``tol`` and of exactly low rank.
    scores_ : ndarray of shape (n, c)
        D.
    weights_ : csr_array of shape (n, n)
        S.
    n_iter_ : int
    converged_ : bool
    label_distributions_ : ndarray of shape (n, c)
        ``softmax(D)``.
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Alternates the exact S (small quadratic programmes, all at once), the exact D (one sparse linear system), W and b by
    L-BFGS and E by thresholding singular values. S does not depend on alpha, which multiplies both of its terms.

    Departures from the paper: the released code has the wrong sign on two terms of the gradient of D, keeps only
    the diagonal of the softmax's Jacobian and takes the last softmax over samples; here D is solved in closed form, the
    Jacobian is whole and rows are distributions. An unpenalised intercept and a start at zero by default
    (``fit_intercept=False, init="random"`` is the published form). The published stopping rule multiplies
    ``|W - E|`` by mu and can be met at the first step, so that another is used. Confidence: certain about the problem
    (released code), inferred about its intent.

    References
    ----------
    X. Liu, J. Zhu, Z. Li, Z. Tian, X. Jia, L. Chen, "Unified framework for learning with label distribution",
    Information Fusion 75, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.joint import L2
    >>> X = np.array([[-2.0], [-1.9], [-1.7], [1.8], [1.9], [2.0]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> model = L2(n_neighbors=2).fit(X, Y)
    >>> model.label_distributions_.round(2)
    array([[0.66, 0.34],
           [0.58, 0.42],
           [0.69, 0.31],
           [0.28, 0.72],
           [0.28, 0.72],
           [0.28, 0.72]])
    >>> model.predict([[-3.0], [3.0]]).argmax(axis=1)
    array([1, 1])
    """

    label_invariant = False
    _test_params = (
        {"n_neighbors": 4, "max_iter": 30, "tol": 0.02},
        {"n_neighbors": 3, "init": "random", "fit_intercept": False, "random_state": 0, "tol": 0.02},
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "mu": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"zeros", "random"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha: float = 1e-3,
        beta: float = 1e-4,
        gamma: float = 1e-3,
        lam: float = 1e-3,
        *,
        n_neighbors: int = 20,
        fit_intercept: bool = True,
        mu: float = 1e-4,
        init: str = "zeros",
        tol: float = 1e-3,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.fit_intercept = fit_intercept
        self.mu = mu
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Any, Y: NDArray[np.bool_]) -> None:
        # With a free intercept centring changes no value of the objective, only how fast L-BFGS is.
        mean = X.mean(axis=0, dtype=np.float64) if self.fit_intercept else np.zeros(X.shape[1])
        X = X - mean
        neighbors = nearest_rows(X, self.n_neighbors)
        grams = local_grams(X, neighbors)
        weights = simplex_weights(grams)
        D = propagated_labels(weights_to_csr(weights, neighbors), Y)
        W, b = self._start(X.shape[1], Y.shape[1])
        E, multiplier, mu, n_iter, converged = W, np.zeros_like(W), self.mu, 0, False
        while not converged and n_iter < self.max_iter:
            weights = simplex_weights(grams + local_grams(D, neighbors), start=weights > 0)
            S = weights_to_csr(weights, neighbors)
            previous, D = D, self._solve_degrees(S, softmax(X @ W + b), Y)
            W, b = self._fit_predictor(X, D, W, b, E - multiplier / mu, mu)
            E = singular_value_threshold(W + multiplier / mu, self.gamma / mu)
            multiplier = multiplier + mu * (W - E)
            mu = min(_MU_GROWTH * mu, _LARGEST_MU)
            apart = np.linalg.norm(W - E) / (np.sqrt(W.size) + np.linalg.norm(W))
            converged = bool(max(apart, np.abs(D - previous).max()) <= self.tol)
            n_iter += 1
        self.coef_, self.intercept_, self.low_rank_coef_ = W, b - mean @ W, E
        self.scores_, self.weights_ = D, S
        self.n_iter_, self.converged_ = n_iter, converged
        self.label_distributions_ = softmax(D)

    def _start(self, m: int, c: int) -> tuple[Array, Array]:
        if self.init == "zeros":
            return np.zeros((m, c)), np.zeros(c)
        return check_random_state(self.random_state).uniform(size=(m, c)), np.zeros(c)

    def _solve_degrees(self, S: sparse.csr_array, P: Array, Y: NDArray[np.bool_]) -> Array:
        """``[(beta + lam) I + alpha (I - S)' (I - S)] D = beta P + lam Y``."""
        total = self.beta + self.lam
        target = (self.beta * P + self.lam * Y) / total
        if self.alpha == 0:
            return np.asarray(target)
        system = sparse.eye_array(len(Y)) + (self.alpha / total) * reconstruction_laplacian(S)
        return solve_spd(sparse.csr_array(system), target, tol=1e-8)

    def _fit_predictor(self, X: Array, D: Array, W: Array, b: Array, anchor: Array, mu: float) -> tuple[Array, Array]:
        def loss(W: Array, b: Array) -> tuple[float, list[Array]]:
            return predictor_loss(X, D, W, b, anchor, mu / self.beta, self.fit_intercept)

        W, b = minimize_lbfgs(loss, [W, b], max_iter=_W_STEPS, tol=1e-10).arrays
        return W, b

    def _predict(self, X: Any) -> Array:
        return softmax(X @ self.coef_ + self.intercept_)


def predictor_loss(
    X: Array, D: Array, W: Array, b: Array, anchor: Array, weight: float, fit_intercept: bool
) -> tuple[float, list[Array]]:
    """``|softmax(X W + b) - D|^2 + weight / 2 |W - anchor|^2`` and its gradient (0 for a fixed intercept)."""
    P = softmax(X @ W + b)
    R = P - D
    slope = 2.0 * P * (R - np.einsum("ij,ij->i", R, P)[:, None])
    apart = W - anchor
    loss = float(np.sum(R * R) + 0.5 * weight * np.sum(apart * apart))
    return loss, [X.T @ slope + weight * apart, slope.sum(axis=0) * fit_intercept]


def propagated_labels(S: sparse.csr_array, Y: NDArray[np.bool_], tol: float = 1e-3, max_iter: int = 100) -> Array:
    """Minimise ``|D - S D|^2`` over distributions on the positive labels, by accelerated projected gradients.

    Roughly: they only shape the first graph.
    """
    M = reconstruction_laplacian(S)
    step = 0.5 / float(abs(M).sum(axis=0).max())  # a bound on the curvature
    D: Array = Y / Y.sum(axis=1, keepdims=True)
    Z = D
    t = 1.0
    for _ in range(max_iter):
        previous, D = D, project_simplex(Z - 2.0 * step * (M @ Z), Y)
        if np.abs(D - previous).max() <= tol:
            break
        t, old = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t)), t
        Z = D + (old - 1.0) / t * (D - previous)
    return D
