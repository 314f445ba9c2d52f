"""LP: label propagation along a similarity graph."""

from typing import Literal

import numpy as np
from scipy import sparse

from ldlearn.base import (
    Enhancer,
    Fraction,
    OutputMap,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.graph import knn_graph
from ldlearn.core.kernels import mean_distance, rbf_kernel
from ldlearn.core.resources import require_memory
from ldlearn.core.simplex import (
    Array,
    Mask,
    to_distributions,
)
from ldlearn.solvers.spd import solve_spd, unit_diagonal_scale


@estimator_dataclass
class LP(Enhancer):
    r"""Label propagation (LP): every row passes a part of its labels on to similar rows.

    Assumes that similar rows have similar distributions; a negative label gets a degree if
    neighbours carry it. Use it when distances between rows mean something: on features of very
    different scales, or many noisy ones, standardise and set ``sigma="mean"``.

    The scores are the limit of ``F <- alpha P F + (1 - alpha) Y`` from ``F = Y``:

    .. math::

        F = (1 - \alpha) (I - \alpha P)^{-1} Y, \qquad P = \hat A^{-1/2} A \hat A^{-1/2}, \qquad
        a_{ij} = \exp(-|x_i - x_j|^2 / 2 \sigma^2), \quad a_{ii} = 0

    with :math:`\hat A` the diagonal matrix of the row sums of A.

    Parameters
    ----------
    alpha : float, default=0.5
        Fraction that comes from the neighbours, in [0, 1). 0 leaves Y as it is.
    sigma : float or "mean", default=1.0
        Width of the similarity: 1 in the literature, or the mean distance between the rows (with
        ``n_neighbors``: between neighbours).
    n_neighbors : int or None, default=None
        None joins all pairs of rows, as in the literature. A number joins each row with its nearest
        ones, which keeps the graph sparse.
    normalize : {"l1", "softmax", "shift_l1"}, default="l1"
        How scores become distributions.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, n_labels)
        The propagated labels F.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    With ``n_neighbors=None`` a dense n x n array is made, 8 n^2 bytes; if that cannot fit,
    MemoryError says so before it is allocated. ``n_neighbors=20`` is the sparse alternative.

    Departures from the paper: the limit is computed by conjugate gradients, not approached by
    iteration. A row without similar rows (all similarities underflow) keeps its labels. Confidence:
    inferred (the output map from published numbers).

    References
    ----------
    Y.-K. Li, M.-L. Zhang, X. Geng, "Leveraging Implicit Relative Labeling-Importance Information
    for Effective Multi-label Learning", ICDM 2015.

    Examples
    --------
    Two rows at distance 0 exchange ``alpha / (1 + alpha)`` of their labels:

    >>> import numpy as np
    >>> from ldlearn.enhancement import LP
    >>> X, Y = np.array([[0.0], [0.0]]), np.array([[1, 0], [0, 1]])
    >>> LP(alpha=0.5).fit_enhance(X, Y).round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    """

    learned = {"scores_": "float (n_samples, n_labels)"}

    _test_params = ({}, {"alpha": 0.8, "n_neighbors": 3, "sigma": "mean", "normalize": "softmax"})

    alpha: Fraction = 0.5
    sigma: Literal["mean"] | Positive = 1.0
    n_neighbors: PositiveInt | None = None
    normalize: OutputMap = "l1"

    def _fit(self, X: Array, Y: Mask) -> None:
        if self.n_neighbors is None:
            system = self._dense_system(X)
        else:
            system = self._sparse_system(X, self.n_neighbors)
        # The geometric series of the propagation, summed: I - alpha P is definite, since P has no
        # eigenvalue above 1.
        self.scores_ = (1.0 - self.alpha) * solve_spd(system, Y.astype(float))
        self.label_distributions_ = to_distributions(self.scores_, self.normalize)

    def _dense_system(self, X: Array) -> Array:
        """``I - alpha P`` of all pairs, made in the memory of A."""
        n = len(X)
        require_memory(
            8.0 * n * n, f"The {n} x {n} graph of LP", "n_neighbors=20 keeps the graph sparse"
        )
        A = rbf_kernel(X, width=mean_distance(X) if isinstance(self.sigma, str) else self.sigma)
        # A row is not its own neighbour.
        np.fill_diagonal(A, 0.0)
        # 0 for a row so far from all others that every similarity underflows: P has a row of zeros
        # there, and the labels just stay.
        scale = unit_diagonal_scale(A.sum(axis=1))
        A *= -self.alpha * scale[:, None]
        A *= scale
        # A is -alpha P by now; with ones on its diagonal it is the system.
        np.fill_diagonal(A, 1.0)
        return A

    def _sparse_system(self, X: Array, n_neighbors: int) -> sparse.csr_array:
        A = knn_graph(X, n_neighbors, self.sigma)
        scale = sparse.diags_array(unit_diagonal_scale(A.sum(axis=1)))
        return sparse.csr_array(sparse.eye_array(len(X)) - self.alpha * (scale @ A @ scale))
