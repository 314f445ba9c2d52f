"""DLDL: label distributions and their predictor, learned together from logical labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from ldlearn.base import EnhancesNewRows, Joint
from ldlearn.base.sklearn_private import HasMethods, Interval, StrOptions
from ldlearn.core.graph import laplacian, neighbor_graph, similarity
from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.core.simplex import Array, Mask, log_softmax, normalize_rows, softmax
from ldlearn.errors import InputError
from ldlearn.joint.dldl_defaults import default_beta, default_gamma
from ldlearn.solvers.admm import admm_simplex
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import Features, SoftmaxFit, softmax_regression

_DEFAULT_NEIGHBORS = 20
_BANDWIDTH_ROWS = 1000  # rows that the width of the RBF feature map is measured on


class DLDL(EnhancesNewRows, Joint):
    r"""Label distribution learning directly from logical labels.

    Assumes that degrees are zero on negative labels, that a softmax of linear scores predicts them, and (if
    ``alpha > 0``) that near rows have near degrees. Recovers the degrees D of the training rows and, in the same
    objective, the weights W, b of a predictor for new rows. The method to begin with.

    .. math::

        \min_{D, W, b}\; KL(D, P) + \alpha\, tr(D^T G D) + \beta |D|_F^2 + \gamma |W|_F^2, \qquad
        P = softmax(X W + b), \quad 0 \le D \le Y, \quad D 1 = 1

    G is the Laplacian of the similarity graph A of the k nearest neighbours. The steps in W and in D are convex; each
    is solved exactly, in turn, ending with D.

    Parameters
    ----------
    alpha : float, default=0.0
        Weight of the graph term. 0 skips the graph altogether; where it helped, 0.01 to 0.1 did, and little.
    beta : float, default=None
        Weight of ``|D|^2``: large values push the degrees of a row towards equal shares of its positive labels.
        None chooses by the 0/1 labels: ``0.6 (1/r - 1)^2 exp(10 s)``, at most 20, with r the share of positive
        entries of Y and s the share of rows with a single one.
    gamma : float, default=None
        Weight of ``|W|^2``. None means 0.03 times the sum of the features' variances (0.03 m for m standardised
        features), which makes the result independent of the unit of X.
    n_neighbors : int, default=20
        k of the graph.
    sigma : float, "median" or "mean", default="median"
        Width of the Gaussian similarity; the strings are statistics of the distances to the k nearest neighbours.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0.
    feature_map : None, "rbf" or transformer, default=None
        What the predictor works on: X itself, Nystroem features of the kernel ``exp(-|x - z|^2 / w^2)``, w the mean
        distance between rows, or whatever the transformer makes of X. The graph always uses X.
    n_components : int, default=500
        Number of Nystroem features.
    max_iter : int, default=5
        Outer iterations (a W-step and a D-step each). Few of them are part of the method: many iterations
        sharpen the degrees until a small beta no longer holds them.
    tol : float, default=1e-6
        Accuracy of each step, per row: a certified gap for D, an estimated one for W. The outer iterations end when
        one lowers the objective by less than this per row.
    init : {"uniform", "pseudo"}, default="uniform"
        First D: equal shares of the positive labels, or the pseudo distributions of fast label enhancement, restricted
        to the positive labels.
    solver : {"newton", "admm"}, default="newton"
        How the D-step is solved. "admm" is Algorithm 1 of the paper with its sign corrected; slow, same D to 1e-4.
    tau : float, default=1.0
        Penalty of ADMM.
    empty_rows : {"raise", "all"}, default="raise"
        What to do with a row without a positive label: refuse it, or treat every label as possible.
    random_state : int, RandomState or None, default=None
        Seed of the RBF feature map; nothing else is random.
    verbose : bool, default=False
        Print a line after every half-step.
    callback : callable, default=None
        Called as ``callback(iteration, step, objective)`` after every half-step, step being "W" or "D".

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n, c)
        D, the recovered degrees.
    coef_ : ndarray of shape (m, c)
        W; m counts mapped features if there is a feature map.
    intercept_ : ndarray of shape (c,)
        b.
    graph_ : csr_array of shape (n, n) or None
        A, the similarity matrix used; None if alpha is 0.
    objective_ : ndarray of shape (2 * n_iter_,)
        Value after every half-step; never increases.
    gap_ : ndarray of shape (n,)
        Frank-Wolfe gap of each row after the last D-step. Their sum bounds from above how far the objective is from its
        minimum over D.
    alpha_, beta_, gamma_ : float
        The weights used.
    sigma_ : float or None
        The width used; None if alpha is 0.
    feature_map_ : transformer or None
    n_iter_ : int
        Outer iterations done.
    n_newton_ : list of int
        Iterations of each D-step.
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Departures from the paper: an unpenalised intercept (without one, centred features cannot even express the mean
    distribution); the graph is symmetrised, as the printed identity requires, and off by default; the D-step is
    solved by Newton's method to a certified gap instead of a few gradient steps; defaults of beta and gamma
    are rules. ``DLDL(alpha=..., beta=..., gamma=..., fit_intercept=False, init="pseudo")`` is the paper's setting.
    The released code does something else: what it recovers does not depend on X. Confidence: certain.

    References
    ----------
    Y. Jia, J. Tang, J. Jiang, "Label Distribution Learning from Logical Label", IJCAI 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn import DLDL
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1]])
    >>> model = DLDL(beta=0.1, gamma=0.1).fit(X, Y)
    >>> model.label_distributions_[2].round(2)
    array([0.5, 0.5])
    >>> model.predict([[1.9], [4.0]]).round(2)
    array([[0.56, 0.44],
           [0.01, 0.99]])
    """

    keeps_support = True
    _accepts_sparse = True
    _test_params: ClassVar[tuple[dict[str, Any], ...]] = (
        {},
        {"alpha": 0.1, "n_neighbors": 1, "init": "pseudo", "fit_intercept": False},
        {"alpha": 0.01, "n_neighbors": 1, "sigma": 1.0, "solver": "admm", "max_iter": 2},
        {"feature_map": "rbf", "n_components": 4, "random_state": 0},
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left"), None],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"median", "mean"})],
        "fit_intercept": ["boolean"],
        "feature_map": [StrOptions({"rbf"}), HasMethods(["fit_transform", "transform"]), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"uniform", "pseudo"})],
        "solver": [StrOptions({"newton", "admm"})],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "empty_rows": [StrOptions({"raise", "all"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        alpha: float = 0.0,
        beta: float | None = None,
        gamma: float | None = None,
        *,
        n_neighbors: int = _DEFAULT_NEIGHBORS,
        sigma: float | str = "median",
        fit_intercept: bool = True,
        feature_map: Any = None,
        n_components: int = 500,
        max_iter: int = 5,
        tol: float = 1e-6,
        init: str = "uniform",
        solver: str = "newton",
        tau: float = 1.0,
        empty_rows: str = "raise",
        random_state: Any = None,
        verbose: bool = False,
        callback: Callable[[int, str, float], None] | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.sigma = sigma
        self.fit_intercept = fit_intercept
        self.feature_map = feature_map
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.solver = solver
        self.tau = tau
        self.empty_rows = empty_rows
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def order_invariant(self) -> bool:  # type: ignore[override]
        """Only a feature map, which may draw rows at random, can depend on the order of samples."""
        return self.feature_map is None

    def _fit(self, X: Any, Y: Mask) -> None:
        self._solve(X, Y, self._fit_graph(X), Features(self._fit_feature_map(X), self.fit_intercept), None)

    def _solve(self, X: Any, Y: Mask, G: Any, features: Features, W: SoftmaxFit | None) -> None:
        """Algorithm 2. W is where the first W-step starts; `dldl_path` has better places than zero."""
        self.alpha_ = float(self.alpha)
        self.beta_ = float(default_beta(Y) if self.beta is None else self.beta)
        self.gamma_ = float(default_gamma(features) if self.gamma is None else self.gamma)
        self.objective_ = np.empty(0)
        self.n_newton_: list[int] = []
        self.n_iter_ = 0
        D = self._initial_distributions(X, Y)
        while self.n_iter_ < self.max_iter and not self._has_converged(len(D)):
            self.n_iter_ += 1
            W = self._update_W(features, G, D, W)  # Eq. 8
            D = self._update_D(W, Y, G, D)  # Eq. 11
            self.coef_, self.intercept_ = W.coef, W.intercept
        self.label_distributions_ = D

    def _fit_graph(self, X: Any) -> Any:
        """Similarity graph A (Eq. 2) and its Laplacian G; nothing if alpha is 0."""
        n = X.shape[0]
        self.graph_: sparse.csr_array | None = None
        self.sigma_: float | None = None
        self._index: NearestNeighbors | None = None
        # An impossible neighbourhood that was asked for is refused even if alpha = 0 leaves it unused.
        if self.n_neighbors >= n and (self.alpha > 0 or self.n_neighbors != _DEFAULT_NEIGHBORS):
            raise InputError(
                f"n_neighbors must be less than the number of rows, got n_neighbors={self.n_neighbors} and "
                f"n_samples={n}; lower it, or set alpha=0 to do without the graph."
            )
        if self.alpha == 0:
            return None
        self.graph_, self.sigma_, self._index = neighbor_graph(X, self.n_neighbors, self.sigma)
        return laplacian(self.graph_)

    def _fit_feature_map(self, X: Any) -> Any:
        if self.feature_map is None:
            self.feature_map_ = None
            return X
        if isinstance(self.feature_map, str):
            rng = check_random_state(self.random_state)
            n = X.shape[0]
            sample = X[np.sort(rng.permutation(n)[:_BANDWIDTH_ROWS])]
            width = float(euclidean_distances(sample).sum()) / max(sample.shape[0] * (sample.shape[0] - 1), 1) or 1.0
            self.feature_map_ = Nystroem(
                gamma=1.0 / width**2, n_components=min(self.n_components, n), random_state=rng.randint(2**31 - 1)
            )
        else:
            self.feature_map_ = clone(self.feature_map)
        return self.feature_map_.fit_transform(X)

    def _initial_distributions(self, X: Any, Y: Mask) -> Array:
        if self.init == "uniform":
            return normalize_rows(Y.astype(float))
        return normalize_rows(pseudo_distributions(X, Y) * Y)

    def _update_W(self, features: Features, G: Any, D: Array, W: SoftmaxFit | None) -> SoftmaxFit:
        W = softmax_regression(features, D, l2=self.gamma_, start=W, tol=self.tol)
        self._record("W", W.loss + float(xlogy(D, D).sum()) + self._smoothness(G, D))
        return W

    def _update_D(self, W: SoftmaxFit, Y: Mask, G: Any, D: Array) -> Array:
        logP = log_softmax(W.logits)
        problem: dict[str, Any] = {"laplacian": G, "alpha": self.alpha_, "beta": self.beta_}
        if self.solver == "admm":
            D, n_iter, converged = admm_simplex(logP, Y, **problem, start=D, tau=self.tau)
            if not converged:
                warnings.warn(
                    f"ADMM stopped after {n_iter} iterations before it converged; try another tau or solver='newton'.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
            found = newton_simplex(logP, Y, **problem, start=D, max_iter=0)  # only certifies
        else:
            found = newton_simplex(logP, Y, **problem, start=D, tol=self.tol)
            n_iter = found.n_iter
        self.gap_ = found.gap
        self.n_newton_.append(n_iter)
        self._record("D", found.objective + self.gamma_ * float(np.sum(W.coef**2)))
        return found.D

    def _smoothness(self, G: Any, D: Array) -> float:
        """The terms in D alone: ``alpha tr(D'GD) + beta |D|^2``."""
        graph_term = 0.0 if G is None else self.alpha_ * float(np.vdot(D, G @ D))
        return graph_term + self.beta_ * float(np.vdot(D, D))

    def _record(self, step: str, objective: float) -> None:
        # A step that starts at its own optimum may seem to rise by as much as its accuracy.
        if len(self.objective_):
            objective = min(objective, float(self.objective_[-1]))
        self.objective_ = np.append(self.objective_, objective)
        if self.verbose:
            print(f"[DLDL] {self.n_iter_}/{self.max_iter}  {step}-step  objective {objective:.6f}", flush=True)
        if self.callback is not None:
            self.callback(self.n_iter_, step, objective)

    def _has_converged(self, n: int) -> bool:
        last = self.objective_[::-2]
        return len(last) > 1 and bool(last[1] - last[0] <= self.tol * n)

    def _logits(self, X: Any) -> Array:
        mapped = X if self.feature_map_ is None else self.feature_map_.transform(X)
        return np.asarray(mapped @ self.coef_ + self.intercept_)

    def _predict(self, X: Any) -> Array:
        return softmax(self._logits(X))

    def _enhance(self, X: Any, Y: Mask) -> Array:
        r"""The D-step for new rows, given the fitted model.

        .. math::

            \min_d\; KL(d, p) + \alpha \sum_{j \in N(x)} a_j |d - d_j|^2 + \beta |d|^2,
            \quad 0 \le d \le y,\; 1^T d = 1

        where p is the prediction for x, N(x) are its k nearest training rows, ``a_j`` their similarities and
        ``d_j`` their recovered distributions, which stay as they are.
        """
        logP = log_softmax(self._logits(X).astype(np.float64))
        beta: float | NDArray[np.float64] = self.beta_
        if self._index is not None and self.sigma_ is not None:
            distances, nearest = self._index.kneighbors(X)
            weights = similarity(distances, self.sigma_)
            pulls = np.einsum("ik,ikj->ij", weights, self.label_distributions_[nearest])
            logP = logP + 2.0 * self.alpha_ * pulls
            beta = self.beta_ + self.alpha_ * weights.sum(axis=1)
        return newton_simplex(logP, Y, beta=beta, tol=self.tol).D
