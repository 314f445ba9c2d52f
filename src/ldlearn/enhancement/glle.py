"""GLLE: graph Laplacian label enhancement."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ldlearn.base import (
    Capabilities,
    Enhancer,
    NonNegative,
    OutputMap,
    Positive,
    PositiveInt,
    RandomState,
    estimator_dataclass,
)
from ldlearn.core.graph import knn_graph, laplacian
from ldlearn.core.kernels import mean_distance, rbf_kernel
from ldlearn.core.resources import require_memory
from ldlearn.core.scaling import to_dense
from ldlearn.core.simplex import (
    Array,
    Indices,
    Mask,
    positive_or_one,
    to_distributions,
)
from ldlearn.exceptions import InputError
from ldlearn.solvers.spd import solve_operator, solve_spd


@estimator_dataclass
class GLLE(Enhancer):
    r"""Graph Laplacian label enhancement (GLLE): labels smoothed along the graph of similar rows.

    Assumes that similar rows have similar distributions; recovers labels that change little between
    neighbours and stay close to Y. The best studied enhancer and a fair first choice; standardise
    the features. With a small ``lam`` the result is the softmax of Y (`SoftmaxLE`), so look at
    ``lam`` from 0.01 to 1.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of scores between 0 and 1 gives no label less than 1/e of another's degree.
    ``normalize="l1"`` is nearer to such truths; the softmax is published and suits labels cut so
    high that many a 0 has a sizeable degree.

    .. math::

        \min_D\; |D - Y|^2 + \lambda\, tr(D^\top G D)
        + \lambda_R \sum_{i=1}^{g} tr(D_i Z_i Z_i^\top D_i^\top), \qquad D = [K, 1] W

    where G is the Laplacian of the graph of nearest neighbours (`ldlearn.core.knn_graph`) and K a
    Gaussian kernel whose width is the mean distance of rows. The last term, off by default, is that
    of the journal version: :math:`D_i` holds the rows of group i (k-means on X) and
    :math:`Z_i Z_i^\top` is a free c x c correlation matrix of the labels there.

    Parameters
    ----------
    lam : float, default=0.01
        Weight of smoothness (lambda). 0 leaves Y as it is.
    n_neighbors : int, default=20
        Neighbours of each row in the graph, itself not counted.
    sigma : float, "median" or "mean", default=10.0
        Width of the similarity; a number suits standardised features only, "median" any.
    correlation_penalty : float, default=0.0
        :math:`\lambda_R`, the penalty of label correlations; 0 is the conference version.
    n_groups : int or None, default=None
        Groups of rows with correlations of their own (g), only used if ``correlation_penalty > 0``.
        None takes one for every ten rows, at most 100.
    solver : {"exact", "lbfgs"}, default="exact"
        ``"exact"`` gives the minimum: K is invertible, so every D can be reached and
        ``(I + lam G) D = Y`` is one sparse system. ``"lbfgs"`` is the original: W from a random
        start, stopped early, far from the minimum.
    tol : float, default=1e-6
        Stop ``"lbfgs"``, or the alternation if ``correlation_penalty > 0``, when an iteration
        lowers the objective by less than this, relatively.
    max_iter : int, default=300
        Iterations of these at most. For ``"lbfgs"`` that is the published early stop: it warns, as
        any fit that is stopped before it converged.
    normalize : {"softmax", "l1", "shift_l1"}, default="softmax"
        How scores become distributions.
    random_state : int, RandomState or None, default=None
        Start of ``"lbfgs"``; groups and first correlations if ``correlation_penalty > 0``. The
        exact solver of the conference version needs none, and only it gives the same result for
        every order of rows and labels.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_labels)
        D before it is normalised.
    objective_ : float
        The objective at the solution.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each round of the alternation; never rises. Not with ``"lbfgs"``.
    n_iter_ : int
        Iterations of ``"lbfgs"``, rounds of the alternation if ``correlation_penalty > 0``,
        otherwise 1.
    converged_ : bool
        Whether the objective settled within ``tol``.
    groups_ : ndarray of shape (n_samples,)
        Group of each row; only if ``correlation_penalty > 0``.
    label_correlations_ : ndarray of shape (n_groups, n_labels, n_labels)
        ``Z_i Z_i'``; only if ``correlation_penalty > 0``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    ``"exact"`` keeps everything sparse. ``"lbfgs"`` makes the dense n x n kernel, 8 n^2 bytes, and
    says so in a MemoryError before that is allocated if it cannot fit. It multiplies rounding
    errors by about 100 in each of its first iterations: even with a seed, degrees differ in the
    second digit between machines or numbers of threads.

    Departures from the paper: the minimum instead of an early stop by default; a row is not its own
    neighbour (the released code's k = 20 counts it: ``n_neighbors=19``). With label
    correlations: they are minimised over, label by label, instead of five steps of descent,
    and both steps are repeated until the objective settles, not done once. Confidence: certain;
    constants of the journal version reconstructed.

    References
    ----------
    N. Xu, A. Tao, X. Geng, "Label Enhancement for Label Distribution Learning", IJCAI 2018.
    N. Xu, Y.-P. Liu, X. Geng, "Label Enhancement for Label Distribution Learning", IEEE TKDE 33(4),
    2021.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import GLLE
    >>> X = np.array([[0.0], [1.0], [2.1], [3.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> GLLE(lam=1.0, n_neighbors=1, sigma="median").fit_enhance(X, Y).round(2)
    array([[0.71, 0.29],
           [0.67, 0.33],
           [0.51, 0.49],
           [0.34, 0.66]])
    """

    learned = {
        "scores_": "float (n_samples, n_labels)",
        "groups_": "int (n_samples)",
        "label_correlations_": "float (n_groups, n_labels, n_labels)",
    }

    _test_params = (
        {"n_neighbors": 3},
        {
            "n_neighbors": 3,
            "sigma": "median",
            "lam": 0.1,
            "correlation_penalty": 0.1,
            "n_groups": 1,
            "random_state": 0,
        },
        {
            "n_neighbors": 3,
            "solver": "lbfgs",
            "tol": 0.1,
            "normalize": "shift_l1",
            "random_state": 0,
        },
    )

    lam: NonNegative = 0.01
    n_neighbors: PositiveInt = 20
    sigma: Literal["mean", "median"] | Positive = 10.0
    correlation_penalty: NonNegative = 0.0
    n_groups: PositiveInt | None = None
    solver: Literal["exact", "lbfgs"] = "exact"
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 300
    normalize: OutputMap = "softmax"
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # A random start depends on the order of rows and labels.
        starts_fixed = self.solver == "exact" and self.correlation_penalty == 0
        tags.order_invariant = starts_fixed
        tags.label_invariant = starts_fixed
        return tags

    def _fit(self, X: Any, Y: Mask) -> None:
        if self.correlation_penalty > 0 and self.solver == "lbfgs":
            raise InputError(
                "Label correlations (correlation_penalty > 0) need solver='exact', "
                "got solver='lbfgs'."
            )
        labels = Y.astype(float)
        G = laplacian(knn_graph(X, self.n_neighbors, self.sigma))
        if self.solver == "lbfgs":
            self.scores_ = self._fit_early_stopped(X, labels, G)
        else:
            # A kernel expansion of distinct rows can express every D, so that the minimum over W is
            # one over D itself: the normal equations (I + lam G) D = Y, sparse and definite.
            system = sparse.eye_array(len(labels)) + self.lam * G
            self.scores_ = solve_spd(sparse.csr_array(system), labels)
            self.objective_ = float(self._loss(self.scores_, labels, G))
            self.objective_path_ = np.array([self.objective_])
            self.n_iter_ = 1
            self.converged_ = True
            if self.correlation_penalty > 0:
                self._fit_correlations(X, labels, G)
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)

    def _fit_early_stopped(self, X: Any, Y: Array, G: sparse.csr_array) -> Array:
        """L-BFGS on the coefficients of ``[K, 1]`` from uniform random numbers, as released."""
        n, c = Y.shape
        require_memory(
            8.0 * n * n,
            f"The {n} x {n} kernel of GLLE's solver='lbfgs'",
            "solver='exact' needs no kernel",
        )
        dense = to_dense(X)
        K = rbf_kernel(dense, width=mean_distance(dense))
        start = check_random_state(self.random_state).uniform(size=(n + 1, c))
        loss = partial(self._loss_and_gradient, K=K, Y=Y, G=G)
        # The released L-BFGS keeps 20 pairs.
        (W,) = self._minimize_lbfgs(loss, [start], memory=20).arrays
        return K @ W[:-1] + W[-1]

    def _loss_and_gradient(
        self,
        W: Array,
        K: Array,
        Y: Array,
        G: sparse.csr_array,
    ) -> tuple[float, list[Array]]:
        D = K @ W[:-1] + W[-1]
        slope = 2.0 * (D - Y + self.lam * (G @ D))
        # The adjoint of D = [K, 1] W; K is its own transpose.
        return self._loss(D, Y, G), [np.vstack([K @ slope, slope.sum(axis=0)])]

    def _loss(self, D: Array, Y: Array, G: sparse.csr_array) -> float:
        return np.sum((D - Y) ** 2) + self.lam * np.vdot(D, G @ D)

    def _fit_correlations(self, X: Any, Y: Array, G: sparse.csr_array) -> None:
        """Minimise over the correlations and D in turn; the objective never rises."""
        rng = check_random_state(self.random_state)
        self.groups_ = self._group_rows(X, rng)
        members = [np.flatnonzero(self.groups_ == i) for i in range(self.groups_.max() + 1)]
        Z = rng.normal(size=(len(members), Y.shape[1], Y.shape[1]))
        # Rows of length one make Z Z' a correlation matrix.
        Z /= np.linalg.norm(Z, axis=2, keepdims=True)
        D = self.scores_
        path = [np.inf]
        while self._should_iterate(path):
            # Over correlation matrices R_i the last term is linear, <R_i, D_i' D_i>; over D
            # everything is quadratic.
            Z = _align_unit_rows(Z, _grams(D, members))
            R = Z @ Z.transpose(0, 2, 1)
            # Exact, so that neither half-step can raise the objective; the labels of a row are tied
            # by R, hence one system for all entries of D.
            D = self._solve_jointly(Y, G, R, members)
            correlation = np.sum(R * _grams(D, members))
            path.append(self._loss(D, Y, G) + self.correlation_penalty * correlation)
        self.scores_ = D
        self.label_correlations_ = R

    def _solve_jointly(
        self,
        Y: Array,
        G: sparse.csr_array,
        R: Array,
        members: Sequence[Indices],
    ) -> Array:
        """D of ``D + lam G D + correlation_penalty D_i R_i = Y``, i being the group of a row."""

        def system_times(D: Array) -> Array:
            result = D + self.lam * (G @ D)
            for rows, correlation in zip(members, R, strict=True):
                result[rows] += self.correlation_penalty * (D[rows] @ correlation)
            return result

        # Correlation matrices have a unit diagonal: each adds its penalty to every entry.
        diagonal = 1.0 + self.lam * G.diagonal() + self.correlation_penalty
        return solve_operator(system_times, diagonal[:, None], Y)

    def _group_rows(self, X: Any, rng: np.random.RandomState) -> Indices:
        n = X.shape[0]
        n_groups = self.n_groups or min(100, max(1, n // 10))
        if n_groups > n:
            raise InputError(
                f"n_groups must not exceed the number of rows, got n_groups={n_groups} and "
                f"n_samples={n}."
            )
        with warnings.catch_warnings():
            # Duplicates may make fewer groups, which is harmless.
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = KMeans(n_groups, n_init=1, random_state=rng).fit_predict(X)
        return np.unique(found, return_inverse=True)[1]


def _align_unit_rows(Z: Array, C: Array, sweeps: int = 20) -> Array:
    """Decrease ``<Z Z', C>`` over Z with rows of unit length, for a stack of symmetric matrices C.

    ``Z Z'`` runs through the correlation matrices: positive semi-definite with unit diagonal. One
    row is minimised over at a time, in closed form: it opposes the sum of the others, weighted by
    C. The value never increases.

    Parameters
    ----------
    Z : ndarray of shape (g, c, k)
        Starting point; rows of unit length.
    C : ndarray of shape (g, c, c)
    sweeps : int, default=20
        Passes over the rows.

    References
    ----------
    P.-W. Wang, W.-C. Chang, J. Z. Kolter, "The Mixing Method: Low-Rank Coordinate Descent for
    Semidefinite Programming with Diagonal Constraints", 2017.

    Examples
    --------
    Two positively related labels get the correlation -1:

    >>> import numpy as np
    >>> Z = _align_unit_rows(
    ...     np.eye(2)[None] @ [[0.6, 0.8], [0.0, 1.0]], np.array([[[2.0, 1.0], [1.0, 2.0]]])
    ... )
    >>> (Z @ Z.transpose(0, 2, 1)).round(6) + 0.0
    array([[[ 1., -1.],
            [-1.,  1.]]])
    """
    Z = np.array(Z, dtype=np.float64)
    # The diagonal of Z Z' is 1 whatever Z is: that of C changes nothing.
    others = C * (1.0 - np.eye(C.shape[1]))
    for _ in range(sweeps):
        for j in range(Z.shape[1]):
            gradient = np.einsum("gk,gkd->gd", others[:, j], Z)
            length = np.linalg.norm(gradient, axis=1, keepdims=True)
            Z[:, j] = np.where(length > 0, -gradient / positive_or_one(length), Z[:, j])
    return Z


def _grams(D: Array, members: Sequence[Indices]) -> Array:
    """``D_i' D_i`` for each group: shape (n_groups, n_labels, n_labels)."""
    return np.stack([D[rows].T @ D[rows] for rows in members])
