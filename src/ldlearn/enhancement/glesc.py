"""gLESC: sample correlations from features and labels together, by a tensor of low rank."""

from typing import Literal

import numpy as np
from scipy import fft

from ldlearn.base import (
    Capabilities,
    Enhancer,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.resources import require_memory
from ldlearn.core.scaling import (
    CACHED_ENTRIES,
    feature_scaling,
    row_batches,
)
from ldlearn.core.simplex import Array, Mask, softmax
from ldlearn.solvers.low_rank import (
    ThinFactors,
    shrinkage,
    smooth_by_representation,
    thin_factors,
)


@estimator_dataclass
class GLESC(Enhancer):
    r"""Generalised label enhancement with sample correlations (gLESC).

    Like `LESC`, but the samples are rebuilt from each other twice, by features and by 0/1 labels,
    and the two representations are made alike by a low-rank penalty on the tensor that stacks them.
    Assumes that samples with similar features have similar logical labels; use it when there are
    labels enough to tell samples apart.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of scores between 0 and 1 gives no label less than 1/e of another's degree.

    .. math::

        \min_{Z, E}\; |(Z_1, Z_2)|_{tnn} + \beta |(E_1; E_2)|_{2,1}
        \;\; \text{with} \;\; X_v^T = X_v^T Z_v + E_v, \qquad
        \min_F\; |F - Y|^2 + \lambda |F - C^T F|^2, \;\; C = (Z_1 + Z_2) / 2, \qquad
        D = softmax(F)

    :math:`X_1` holds the standardised features, :math:`X_2 = Y`; :math:`|.|_{tnn}` is the mean over
    frequencies of the nuclear norms of the tensor's slices after a Fourier transform along the
    first index of Z, that of the samples.

    Parameters
    ----------
    beta : float, default=10.0
        Price of a sample that is not represented.
    lam : float, default=10.0
        The weight lambda of the agreement with the representation. 0 gives ``softmax(Y)``.
    orientation : {"stated", "released"}, default="stated"
        Which difference is penalised: ``F - C'F``, which follows from ``X' = X'C + E``, or
        ``F - C F`` as in the released code. C is not symmetric; the two differ, and the second
        depends much more on the order of samples.
    standardize : bool, default=True
        Whether columns of X are first centred and divided by their standard deviations.
    tol : float, default=1e-6
        Stop when every constraint is violated by less (Frobenius norm).
    max_iter : int, default=100
        The penalties double in each iteration; about 45 are needed.

    Attributes
    ----------
    representation_ : ndarray of shape (n_samples, n_samples)
        C.
    n_iter_ : int
    converged_ : bool
        Whether the constraints hold within ``tol``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    **The result depends on the order of the samples**, because a Fourier transform runs along them:
    only cyclic shifts leave the tensor norm as it is. Data sorted by group may score better than
    the same data shuffled; shuffle before comparing methods.

    The mathematics needs dense n x n arrays, about 40 n^2 bytes in all; MemoryError is raised
    before anything is allocated if they do not fit. `LESC` needs none, `GLLE` a sparse graph. The
    penalties double in every iteration, as released: the constraints hold at the end, but nothing
    certifies that the first problem is at its minimum.

    Departures from the paper: the second problem is solved exactly over all F instead of by L-BFGS
    from a random start; every slice is thresholded once (the released code does the middle ones
    twice for odd n); E is updated after both Z, not between them. The released code has
    ``orientation="released"``. Confidence: certain.

    References
    ----------
    Q. Zheng, J. Zhu, H. Tang, X. Liu, Z. Li, H. Lu, "Generalized Label Enhancement with Sample
    Correlations", IEEE TKDE 35(1), 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import GLESC
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, 1.0], [-2.0, 2.0]])
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> GLESC(lam=1.0).fit_enhance(X, Y).round(2)
    array([[0.72, 0.28],
           [0.53, 0.47],
           [0.3 , 0.7 ],
           [0.26, 0.74]])
    """

    learned = {"representation_": "float (n_samples, n_samples)"}

    _test_params = ({}, {"beta": 0.1, "orientation": "released", "standardize": False})

    beta: Positive = 10.0
    lam: NonNegative = 10.0
    orientation: Literal["stated", "released"] = "stated"
    standardize: bool = True
    tol: Positive = 1e-6
    max_iter: PositiveInt = 100

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.order_invariant = False  # a Fourier transform runs along the samples
        return tags

    def _fit(self, X: Array, Y: Mask) -> None:
        n = len(X)
        # Five n x n arrays of doubles at the peak.
        use = f"GLESC with its {n} x {n} representations"
        require_memory(40.0 * n**2, use, "LESC makes no such array")
        labels = Y.astype(float)
        if self.standardize:
            X = feature_scaling(X).apply(X)
        C = self._fit_representation([thin_factors(X), thin_factors(labels)])
        self.representation_ = C
        if self.orientation == "stated":
            C = C.T
        self.label_distributions_ = softmax(smooth_by_representation(labels, C, self.lam))

    def _fit_representation(self, views: list[ThinFactors]) -> Array:
        """Mean of the two representations, by the inexact augmented Lagrangian method.

        Each view v has ``X = X Z + E`` (multiplier Y, penalty mu) and ``Z = G`` (multiplier W,
        penalty rho), where the pair of G is the tensor of low rank. X and E are kept in coordinates
        of the row spaces, the tensor G in Fourier coordinates, to which the bases are rotated once.
        Z and W are n x n, too, but only their products with the bases are ever needed: Z differs
        from ``G - W / rho`` by a matrix in the row space, called ``change`` here, so that one n x n
        array a view is kept and updated in place.
        """
        # The rows of both views one above the other; only the tensor takes them apart.
        X = np.vstack([view.coordinates for view in views])
        s = np.concatenate([view.values for view in views])[:, None]
        cuts = [len(views[0].values)]
        tensor = _SpectralTensor([view.basis for view in views], X.shape[1])
        E = Y = GV = WV = np.zeros_like(X)  # GV, WV: of G and W / rho with the bases
        # As released; small penalties let the first iterations go far from the constraints.
        mu = rho = 1e-4
        for _ in self._iterations():
            ratio = mu / rho
            # Z minimises mu |X - X Z - E + Y / mu|^2 + rho |Z - G + W / rho|^2. X is diagonal in
            # these coordinates, so the normal equations (I + ratio X'X) change = ratio X' (...) are
            # solved entry by entry.
            change = ratio * s * (X - E + Y / mu - s * (GV - WV)) / (1.0 + ratio * s**2)
            rest = X - s * (GV - WV + change)  # X - X Z
            # E shrinks the columns of both views together: a sample is an outlier in both or in
            # none.
            E = rest + Y / mu
            E *= shrinkage(np.linalg.norm(E, axis=0), self.beta / mu)
            # The tensor takes up the change, which makes it Z + W / rho, and is thresholded: this
            # is the new G.
            sums = GV + change  # Z + W / rho, with the bases
            products, distance = tensor.threshold_singular_values(np.split(change, cuts), 1.0 / rho)
            GV = np.vstack(products)
            gap = rest - E
            lengths = [float(np.linalg.norm(part)) for part in np.split(gap, cuts)]
            self.converged_ = bool(max(distance, *lengths) < self.tol)
            Y = Y + mu * gap
            mu = min(2.0 * mu, 1e11)  # as released, like the next
            previous = rho
            rho = min(2.0 * rho, 1e13)
            # The new W / rho: what the thresholds took away, times the old rho over the new one.
            WV = (sums - GV) * (previous / rho)
        return tensor.mean_matrix()


class _SpectralTensor:
    """Two n x n matrices, stacked, after a Fourier transform along their rows.

    Parameters
    ----------
    bases : two ndarrays of shape (n, r)
        Orthonormal columns; the matrices only ever change by ``basis @ change`` and by thresholds.
    n : int
    """

    def __init__(self, bases: list[Array], n: int) -> None:
        self.n = n
        # Conjugate frequencies are stored once, with the weight of two, so that lengths are those
        # of all frequencies.
        self.root_weights = np.ones((n // 2 + 1, 1))
        self.root_weights[1 : (n + 1) // 2] = np.sqrt(2.0)
        self.bases = [self.root_weights * fft.rfft(basis, axis=0, norm="ortho") for basis in bases]
        # Frequency, matrix, column.
        self.slices = np.zeros((n // 2 + 1, len(bases), n), dtype=complex)

    def mean_matrix(self) -> Array:
        """Mean of the two matrices."""
        spectrum = self.slices.mean(axis=1) / self.root_weights
        return fft.irfft(spectrum, n=self.n, axis=0, norm="ortho", overwrite_x=True)

    def threshold_singular_values(
        self,
        change: list[Array],
        tau: float,
    ) -> tuple[list[Array], float]:
        """Add ``basis @ change``, then lower the singular values of every frequency's slice by tau.

        Returns ``basis.T @ matrix`` for both, and how far the thresholds moved the tensor. One pass
        over memory.
        """
        products = [np.zeros_like(part) for part in change]
        squares = 0.0
        # The tensor's norm is the mean of the nuclear norms of the slices of a plain transform, and
        # tau is their threshold; stored slices are scaled, and their thresholds alike.
        taus = tau * self.root_weights / np.sqrt(self.n)
        for rows in row_batches(self.n // 2 + 1, 4 * self.n, CACHED_ENTRIES):
            slices = self.slices[rows]
            for v, part in enumerate(change):
                slices[:, v] += self.bases[v][rows] @ part
            # Two rows a slice: its singular vectors follow from 2 x 2 Gram matrices, all
            # frequencies at once.
            values, vectors = np.linalg.eigh(slices @ slices.conj().transpose(0, 2, 1))
            lengths = np.sqrt(np.maximum(values, 0.0))
            squares += np.sum(np.minimum(lengths, taus[rows]) ** 2)
            kept = vectors * shrinkage(lengths, taus[rows])[:, None, :]
            slices[:] = (kept @ vectors.conj().transpose(0, 2, 1)) @ slices
            for v, product in enumerate(products):
                product += (self.bases[v][rows].conj().T @ slices[:, v]).real
        return products, np.sqrt(squares)
