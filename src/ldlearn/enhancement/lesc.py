"""LESC: label enhancement with sample correlations from a low-rank representation."""

from typing import Literal

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from ldlearn.base import (
    AtLeastOne,
    Enhancer,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    TINY,
    Array,
    Mask,
    positive_or_one,
    softmax,
)
from ldlearn.solvers.low_rank import (
    ThinFactors,
    nuclear_norm,
    shrinkage,
    singular_value_threshold,
    smooth_by_representation,
    thin_factors,
)


@estimator_dataclass
class LESC(Enhancer):
    r"""Label enhancement with sample correlations (LESC).

    Assumes that the samples lie near a few subspaces, and that what rebuilds a sample's features
    from the others also rebuilds its degrees. Recovers scores that stay near the 0/1 labels and
    agree with that representation, global where the neighbours of GLLE are local. Worth trying when
    groups of samples (persons, scenes) span subspaces.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of scores between 0 and 1 gives no label less than 1/e of another's degree.

    .. math::

        \min_{Z, E}\; |Z|_* + \beta |E|_{2,1} \;\; \text{with} \;\; X^T = X^T Z + E, \qquad
        \min_F\; |F - Y|^2 + \gamma |F - Z^T F|^2, \qquad D = softmax(F)

    The columns of :math:`X^T` are the standardised samples, :math:`|Z|_*` (nuclear norm) is the sum
    of singular values and :math:`|E|_{2,1}` the sum of the lengths of the columns.

    Parameters
    ----------
    beta : float, default=0.001
        Price of a sample that is not represented. The default, published for DLDL's comparison,
        lies *below* ``beta_star_`` on common data: the first problem then has the solution Z = 0,
        and the useful Z that comes out is owed to ``mu`` growing too fast for the minimum to be
        reached.
    gamma : float, default=1.0
        Weight of the agreement with the representation. 0 gives ``softmax(Y)``.
    orientation : {"stated", "released"}, default="stated"
        Which difference is penalised: ``F - Z'F``, which follows from ``X' = X'Z + E``, or
        ``F - Z F`` as in the released code. Z is nearly symmetric, so little changes.
    standardize : bool, default=True
        Whether columns of X are first centred and divided by their standard deviations.
    mu : float, default=1e-6
        First penalty of the augmented Lagrangian. **The result depends on it and on rho**: the
        published schedule ends where the constraints hold, which need not be at the minimum;
        ``gap_`` says how far from it.
    rho : float, default=1.1
        Factor by which it grows. A constant penalty near beta (``mu=beta, rho=1``) goes to the
        minimum, in a few thousand iterations.
    tol : float, default=1e-6
        Largest violation of a constraint at which to stop.
    max_iter : int, default=1000

    Attributes
    ----------
    basis_ : ndarray of shape (n_samples, rank)
        Orthonormal basis of the row space of the samples; r is the rank of X.
    coefficients_ : ndarray of shape (r, n)
        ``Z = basis_ @ coefficients_``.
    beta_star_ : float
        Z = 0 solves the first problem if and only if ``beta <= beta_star_``. It shrinks as n grows.
    objective_ : float
        The first problem's objective at Z.
    gap_ : float
        Bound on how far ``objective_`` is above the minimum, from the dual problem: a certificate
        when it is small.
    n_iter_ : int
    converged_ : bool
        Whether the constraints hold within ``tol``, the published criterion; see ``gap_`` for the
        minimum.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    No n x n array is made, though Z is one: both problems are solved in r coordinates, and Z is
    kept as two factors. Memory is that of about ten copies of X; time per iteration is
    ``O(n r^2)``. With many features reduce them first (PCA, then ``standardize=False``).

    The dual of the first problem is to maximise :math:`\langle \Lambda, X^T \rangle` over matrices
    :math:`\Lambda` whose columns are no longer than beta and for which :math:`X \Lambda` has no
    singular value above 1. The multipliers of the constraint, shortened until they obey, give the
    bound behind ``gap_``.

    Departures from the paper: the second problem is solved exactly over all F (a kernel expansion
    of distinct samples can express every F) instead of by 300 steps of L-BFGS from a random start,
    so there is no seed. The penalty schedule is the released one, stopped at ``tol=1e-6`` instead
    of 1e-8, which moves F by about as much; standard deviations divide by n. The released code has
    ``orientation="released"``. Confidence: certain.

    References
    ----------
    H. Tang, J. Zhu, Q. Zheng, J. Wang, S. Pang, Z. Li, "Label Enhancement with Sample Correlations
    via Low-Rank Representation", AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import LESC
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [-1.0, 1.0], [-2.0, 2.0]])
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    >>> model = LESC(beta=0.5).fit(X, Y)
    >>> model.label_distributions_.round(2)
    array([[0.63, 0.37],
           [0.59, 0.41],
           [0.33, 0.67],
           [0.35, 0.65]])
    """

    learned = {
        "beta_star_": "float",
        "gap_": "float",
        "basis_": "float (n_samples, n_directions)",
        "coefficients_": "float (n_directions, n_samples)",
    }

    _test_params = (
        {"beta": 0.05, "rho": 1.3},
        {"beta": 0.5, "orientation": "released", "standardize": False},
    )

    beta: Positive = 0.001
    gamma: NonNegative = 1.0
    orientation: Literal["stated", "released"] = "stated"
    standardize: bool = True
    mu: Positive = 1e-6
    rho: AtLeastOne = 1.1
    tol: Positive = 1e-6
    max_iter: PositiveInt = 1000

    def _fit(self, X: Array, Y: Mask) -> None:
        if self.standardize:
            X = feature_scaling(X).apply(X)
        space = thin_factors(X)
        X = space.coordinates
        normed = X / positive_or_one(np.linalg.norm(X, axis=0))
        # From this beta on the representation is 0.
        self.beta_star_ = 1.0 / max(_spectral_norm(space.values[:, None] * normed), TINY)
        self.basis_ = space.basis
        self.coefficients_ = self._fit_representation(space)
        Z = aslinearoperator(self.basis_) @ aslinearoperator(self.coefficients_)  # never formed
        if self.orientation == "stated":
            Z = Z.T
        self.label_distributions_ = softmax(
            smooth_by_representation(Y.astype(float), Z, self.gamma)
        )

    def _fit_representation(self, space: ThinFactors) -> Array:
        """Low-rank representation, in coordinates of the row space, by the inexact ALM.

        There the samples are the columns of X and the dictionary is diagonal (s): no column of the
        optimal Z leaves the row space, which would only add to its nuclear norm. J is a copy of Z
        that carries the nuclear norm.
        """
        X = space.coordinates
        s = space.values[:, None]
        Z = E = Y1 = Y2 = np.zeros_like(X)
        mu = self.mu
        for _ in self._iterations():
            # Each of J, Z and E is the exact minimiser of the augmented Lagrangian given the
            # others.
            J = singular_value_threshold(Z + Y2 / mu, 1.0 / mu)
            # |X - s Z - E + Y1 / mu|^2 + |Z - J + Y2 / mu|^2 is quadratic in every entry of Z by
            # itself.
            Z = (s * (X - E + Y1 / mu) + J - Y2 / mu) / (s**2 + 1.0)
            rest = X - s * Z
            E = rest + Y1 / mu
            # Whole columns shrink, so that a sample is either represented or an outlier.
            E *= shrinkage(np.linalg.norm(E, axis=0), self.beta / mu)
            error = rest - E
            distance = Z - J
            self.converged_ = bool(np.abs([error, distance]).max(initial=0.0) < self.tol)
            Y1 = Y1 + mu * error
            Y2 = Y2 + mu * distance
            mu = min(self.rho * mu, 1e10)  # as released
        self.objective_ = nuclear_norm(Z) + self.beta * np.linalg.norm(X - s * Z, axis=0).sum()
        # A multiplier divided by how far it breaks either constraint of the dual obeys both; then
        # its value bounds the minimum from below.
        longest = np.linalg.norm(Y1, axis=0).max(initial=0.0)
        excess = max(1.0, longest / self.beta, _spectral_norm(s * Y1))
        self.gap_ = self.objective_ - np.vdot(Y1, X) / excess
        return Z


def _spectral_norm(A: Array) -> float:
    return np.linalg.svd(A, compute_uv=False).max(initial=0.0)
