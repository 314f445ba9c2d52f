"""ML: the label manifold, labels rebuilt like the features from the same neighbours."""

from typing import Any

import numpy as np
from scipy import sparse

from ldlearn.base import (
    Enhancer,
    OutputMap,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.reconstruction import reconstruction_laplacian, reconstruction_weights
from ldlearn.core.simplex import (
    Array,
    Mask,
    positive_or_one,
    to_distributions,
)

_RIDGE = 1e-8  # makes the minimiser unique: M has the constants in its null space


@estimator_dataclass
class ML(Enhancer):
    r"""Multi-label manifold (ML): neighbours rebuild real labels with the weights of the features.

    Assumes that features and labels live on manifolds of the same local shape. Recovers real
    numbers which keep the signs of the logical labels, at least ``lam`` from zero, and are
    otherwise as locally linear as the features. Use it when neighbourhoods are meaningful; negative
    labels that are nearly positive get degrees, for which it pays (it is often behind `UniformLE`)
    where a 0 means a degree near 0.

    .. math::

        \min_U\; tr(U^\top M U) \quad \text{with} \quad (2 y_{il} - 1)\, u_{il} \ge \lambda, \qquad
        M = (I - W)^\top (I - W)

    where the rows of W are the weights of locally linear embedding:
    :math:`x_i \approx \sum_j w_{ij} x_j` over the nearest neighbours of row i.

    Parameters
    ----------
    lam : float, default=1.0
        Smallest size of a score (lambda). U is proportional to it, so it matters for
        ``normalize="softmax"`` only.
    n_neighbors : int or None, default=None
        Neighbours that rebuild a row; None is one more than the number of labels.
    reg : float, default=1e-3
        Ridge of the weights, relative to the local scatter.
    tol : float, default=1e-6
        Relative size of the projected gradient at which the quadratic programmes stop.
    max_iter : int, default=10000
        Steps of the quadratic programmes at most.
    normalize : {"shift_l1", "softmax", "l1"}, default="shift_l1"
        How scores become distributions.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_labels)
        U.
    objective_ : float
    n_iter_ : int
    converged_ : bool
        Whether every quadratic programme was solved to ``tol``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    One quadratic programme with bounds for each label, all solved at once with sparse products; no
    n x n array.

    Departures from the paper: a ridge of 1e-8 makes the solution unique (a label that all rows
    carry gets ``lam``). Confidence: certain; the output map inferred from published numbers.

    References
    ----------
    P. Hou, X. Geng, M.-L. Zhang, "Multi-Label Manifold Learning", AAAI 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import ML
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 1]])
    >>> model = ML(n_neighbors=2).fit(X, Y)
    >>> model.scores_.round(1)  # as linear as the feature, with the signs of Y
    array([[ 7., -5.],
           [ 5., -3.],
           [ 3., -1.],
           [ 1.,  1.],
           [-1.,  3.]])
    """

    learned = {"scores_": "float (n_samples, n_labels)"}

    _test_params = (
        {"n_neighbors": 4},
        {"lam": 0.5, "n_neighbors": 3, "reg": 1e-2, "normalize": "softmax"},
    )

    lam: Positive = 1.0
    n_neighbors: PositiveInt | None = None
    reg: Positive = 1e-3
    tol: Positive = 1e-6
    max_iter: PositiveInt = 10_000
    normalize: OutputMap = "shift_l1"

    def _fit(self, X: Array, Y: Mask) -> None:
        n_neighbors = self.n_neighbors or Y.shape[1] + 1
        M = reconstruction_laplacian(reconstruction_weights(X, n_neighbors, reg=self.reg))
        M = sparse.csr_array(M + _RIDGE * sparse.eye_array(len(X)))
        # Solved for the margin 1: the constraints are homogeneous, so that U grows with lam.
        signs = np.where(Y, 1.0, -1.0)
        U, self.n_iter_, self.converged_ = _minimize_signed_quadratic(
            M, signs, tol=self.tol, max_iter=self.max_iter
        )
        self.scores_ = self.lam * U
        self.objective_ = float(np.vdot(self.scores_, M @ self.scores_))
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)


def _minimize_signed_quadratic(
    A: Any,
    signs: Array,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> tuple[Array, int, bool]:
    r"""Minimise ``u' A u`` subject to ``s_i u_i >= 1`` for each column s of ``signs``.

    With ``v = s u`` these are quadratics over ``v >= 1``, solved by modified proportioning with
    reduced gradient projection: conjugate gradients inside a face, a projected gradient step that
    may change the face, or a step that releases active bounds. The preconditioner is a scaling to
    unit diagonal, which maps bounds to bounds.

    Parameters
    ----------
    A : sparse array of shape (n, n)
        Symmetric positive definite.
    signs : ndarray of shape (n, c)
        Of -1 and 1.
    tol : float, default=1e-6
        Stop when the projected gradient of the scaled problem is this small relative to its bounds.
    max_iter : int, default=10000
        If it is reached, ``converged`` is False.

    References
    ----------
    Z. Dostál, J. Schöberl, "Minimizing Quadratic Functions Subject to Bound Constraints with the
    Rate of Convergence and Finite Termination", Computational Optimization and Applications 30,
    2005.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> A = sparse.csr_array([[2.0, -1.5], [-1.5, 2.0]])
    >>> _minimize_signed_quadratic(A, np.array([[1.0, 1.0], [1.0, -1.0]]))[0].round(6)
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    root = np.sqrt(A.diagonal())
    inverse = sparse.diags_array(1.0 / root)
    scaled = sparse.csr_array(inverse @ A @ inverse)
    # Below 2 / (largest eigenvalue), where a projected step lowers the objective.
    step = 1.9 / abs(scaled).sum(axis=1).max()
    lower = root[:, None]
    goal = tol * np.linalg.norm(root)

    def gradient(V: Array) -> Array:
        return signs * (scaled @ (signs * V))

    V = np.repeat(lower, signs.shape[1], axis=1)
    G = gradient(V)
    n_iter = 0
    free, blocked = _free_and_chopped(V, G, lower)
    P = free  # conjugate directions
    while True:
        squares = _column_dots(free, free) + _column_dots(blocked, blocked)
        unsolved = np.sqrt(squares) > goal
        if n_iter == max_iter or not unsolved.any():
            return signs * V / lower, n_iter, not unsolved.any()
        n_iter += 1
        # In the terms of Dostál and Schöberl, `free` and `blocked` are the free and the chopped
        # gradient, `reduced` the reduced free gradient of a projected step. While it dominates the
        # chopped gradient, the face is kept (`inside`); otherwise active bounds are released along
        # the chopped gradient. Solved columns stay.
        slack = V - lower
        reduced = np.minimum(slack / step, free)
        inside = _column_dots(blocked, blocked) <= _column_dots(reduced, free)
        direction = np.where(inside, P, blocked) * unsolved
        image = gradient(direction)
        curvature = _column_dots(direction, image)
        t = _column_dots(G, direction) / positive_or_one(curvature)
        # Largest step before an entry reaches its bound; the chopped gradient reaches none.
        room = np.where(direction > 0, slack / positive_or_one(direction), np.inf).min(axis=0)
        expand = inside & (t > room)
        t = np.where(expand, room, t)
        V = np.maximum(V - t * direction, lower)
        G = G - t * image
        if expand.any():
            # A step of fixed length along the free gradient, cut at the bounds: many entries may
            # reach them at once.
            V = np.where(expand & (lower < V), np.maximum(V - step * G, lower), V)
            G = np.where(expand, gradient(V), G)
        free, blocked = _free_and_chopped(V, G, lower)
        # Directions stay conjugate only within a face: on a new one they start again from the free
        # gradient.
        conjugate = inside & ~expand & (curvature > 0)
        turn = np.where(conjugate, _column_dots(free, image) / positive_or_one(curvature), 0.0)
        P = free - turn * direction


def _free_and_chopped(V: Array, G: Array, lower: Array) -> tuple[Array, Array]:
    """Gradient of the free entries, and of those at a bound which it would leave."""
    bound = lower >= V
    free = np.where(bound, 0.0, G)
    return free, np.minimum(G - free, 0.0)


def _column_dots(A: Array, B: Array) -> Array:
    """Inner products of the columns."""
    return np.einsum("ij,ij->j", A, B)
