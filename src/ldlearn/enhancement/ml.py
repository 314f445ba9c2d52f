"""ML: the label manifold, labels rebuilt like the features from the same neighbours."""

from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ldlearn.base import Enhancer
from ldlearn.base.parameters import OutputMap, Positive, PositiveInt, estimator_dataclass
from ldlearn.core.reconstruction import reconstruction_laplacian, reconstruction_weights
from ldlearn.core.simplex import Array, to_distributions
from ldlearn.solvers.bounded_quadratic import minimize_signed_quadratic

_RIDGE = 1e-8  # makes the minimiser unique: M has the constants in its null space


@estimator_dataclass
class ML(Enhancer):
    r"""Multi-label manifold (ML): real labels that neighbours rebuild with the weights that rebuild the features.

    Assumes that features and labels live on manifolds of the same local shape. Recovers real numbers which keep the
    signs of the logical labels, at least ``lam`` from zero, and are otherwise as locally linear as the features. Use
    it when neighbourhoods are meaningful; negative labels that are nearly positive get degrees, for which it pays (it
    is often behind `UniformLE`) where a 0 means a degree near 0.

    .. math::

        \min_U\; tr(U^\top M U) \quad \text{with} \quad (2 y_{il} - 1)\, u_{il} \ge \lambda, \qquad
        M = (I - W)^\top (I - W)

    where the rows of W are the weights of locally linear embedding: :math:`x_i \approx \sum_j w_{ij} x_j` over the
    nearest neighbours of row i.

    Parameters
    ----------
    lam : float, default=1.0
        Smallest size of a score (lambda). U is proportional to it, so it matters for ``normalize="softmax"`` only.
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
    One quadratic programme with bounds for each label, all solved at once with sparse products; no n x n array.

    Departures from the paper: a ridge of 1e-8 makes the solution unique (a label that all rows carry gets ``lam``).
    Confidence: certain; the output map inferred from published numbers.

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

    _test_params = ({"n_neighbors": 4}, {"lam": 0.5, "n_neighbors": 3, "reg": 1e-2, "normalize": "softmax"})

    _: KW_ONLY
    lam: Positive = 1.0
    n_neighbors: PositiveInt | None = None
    reg: Positive = 1e-3
    tol: Positive = 1e-6
    max_iter: PositiveInt = 10_000
    normalize: OutputMap = "shift_l1"

    def _fit(self, X: Array, Y: NDArray[np.bool_]) -> None:
        n_neighbors = Y.shape[1] + 1 if self.n_neighbors is None else self.n_neighbors
        M = reconstruction_laplacian(reconstruction_weights(X, n_neighbors, reg=self.reg))
        M = sparse.csr_array(M + _RIDGE * sparse.eye_array(len(X)))
        # Solved for the margin 1: the constraints are homogeneous, so that U grows with lam.
        fit = minimize_signed_quadratic(M, np.where(Y, 1.0, -1.0), tol=self.tol, max_iter=self.max_iter)
        self.scores_, self.n_iter_, self.converged_ = self.lam * fit.U, fit.n_iter, fit.converged
        self.objective_ = float(np.vdot(self.scores_, M @ self.scores_))
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)
