"""LEMLL: numerical labels and a kernel regressor that predicts them, learned together."""

import numpy as np
from scipy import linalg, sparse

from ldlearn.base import (
    Enhancer,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.kernels import mean_distance, rbf_kernel
from ldlearn.core.reconstruction import reconstruction_laplacian, reconstruction_weights
from ldlearn.core.resources import require_memory
from ldlearn.core.simplex import (
    TINY,
    Array,
    Mask,
    softmax,
)
from ldlearn.solvers.spd import solve_spd


@estimator_dataclass
class LEMLL(Enhancer):
    r"""Label enhancement for multi-label learning (LEMLL, a reconstruction).

    Assumes that the degrees, as real numbers near +1 or -1, are a smooth function of the features
    and lie on a manifold of the same local shape. Recovers numerical labels U that a kernel
    regressor can predict, that each sample's neighbours rebuild with the weights which rebuild its
    features, and that stay near the logical labels. Use it where both neighbourhoods and a smooth
    trend are credible.

    **At its defaults it loses to equal shares** (`UniformLE`) where a 0 means a degree near 0: a
    softmax of numbers near +1 and -1 gives a label that is 0 about 1/7 of the degree of one that is
    1.

    .. math::

        \min_{U, B, b}\; \tfrac{1}{2} tr(B^T K B) + C \sum_i \max(r_i - \epsilon, 0)^2
        + \lambda_M\, tr(U^T M U) + \lambda_Y |U - (2Y - 1)|^2, \qquad
        r_i = |u_i - (K B)_i - b|, \qquad D = softmax(U)

    K is a Gaussian kernel whose width is the mean distance of samples,
    :math:`M = (I - S)^T (I - S)` with S the affine weights that rebuild every sample from its
    neighbours (locally linear embedding).

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors of the regressor beyond :math:`\epsilon`. 0 leaves the regressor out.
    reconstruction_penalty : float, default=1.0
        :math:`\lambda_M`, the penalty of differences from what neighbours rebuild.
    label_penalty : float, default=1.0
        :math:`\lambda_Y`, the penalty of differences from the logical labels; to infinity,
        U = 2Y - 1.
    eps : float, default=0.2
        Error that costs nothing.
    n_neighbors : int, default=10
    tol : float, default=1e-6
        Stop when the duality gap is at most this, relative to the objective of U = 0, which is
        ``label_penalty n c``.
    max_iter : int, default=200

    Attributes
    ----------
    numerical_labels_ : ndarray of shape (n_samples, n_labels)
        U.
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        B; its columns sum to zero.
    intercept_ : ndarray of shape (n_labels,)
        b.
    objective_path_ : ndarray of shape (n_iter_,)
        The objective at each iterate. The dual value never falls, this one may rise for a while;
        the best is kept.
    objective_ : float
        The objective at the solution, the least of ``objective_path_``.
    gap_ : float
        Bound on how far ``objective_`` is above the minimum: its distance to the last dual value.
    n_iter_ : int
    converged_ : bool
        Whether the gap is within ``tol``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    With U eliminated, what remains is a multi-output support vector regression with the kernel
    :math:`\tilde K = K + (2 \lambda_M M + 2 \lambda_Y I)^{-1}`. Its dual, a group lasso in B, is
    solved by reweighted least squares, which never lose ground; the primal value certifies the
    distance to the minimum.

    The kernel is a dense n x n array, and so is its Cholesky factor: 24 n^2 bytes, refused by a
    MemoryError before they are allocated if they do not fit. `GLLE` and `ML` keep their graphs
    sparse. Time is ``O(n^3)`` per iteration, of which about five are usual and more are needed for
    large ``C`` with small ``label_penalty``.

    Departures from the paper: its full text was not at hand; the objective is put together from the
    abstract and from descriptions, so constants may differ from the original. All variables are
    minimised over together instead of by turns (the problem is convex). Confidence: reconstructed.

    References
    ----------
    R. Shao, N. Xu, X. Geng, "Multi-label Learning with Label Enhancement", ICDM 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import LEMLL
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> Y = np.array([[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> LEMLL(n_neighbors=2).fit_enhance(X, Y).round(2)
    array([[0.76, 0.24],
           [0.74, 0.26],
           [0.76, 0.24],
           [0.15, 0.85],
           [0.14, 0.86],
           [0.14, 0.86]])
    """

    learned = {
        "dual_coef_": "float (n_samples, n_labels)",
        "intercept_": "float (n_labels)",
        "gap_": "float",
        "numerical_labels_": "float (n_samples, n_labels)",
    }

    _test_params = (
        {"n_neighbors": 3, "tol": 1e-5},
        {"n_neighbors": 5, "reconstruction_penalty": 4.0, "eps": 0.0},
    )

    C: NonNegative = 1.0
    reconstruction_penalty: NonNegative = 1.0
    label_penalty: Positive = 1.0
    eps: NonNegative = 0.2
    n_neighbors: PositiveInt = 10
    tol: Positive = 1e-6
    max_iter: PositiveInt = 200

    def _fit(self, X: Array, Y: Mask) -> None:
        n = len(X)
        M = reconstruction_laplacian(reconstruction_weights(X, self.n_neighbors))
        # The Hessian in U of the last two terms; definite, because label_penalty is positive.
        N = sparse.csr_array(
            2.0 * self.reconstruction_penalty * M + 2.0 * self.label_penalty * sparse.eye_array(n)
        )
        signs = np.where(Y, 1.0, -1.0)
        # The numerical labels without a regressor.
        U = solve_spd(N, 2.0 * self.label_penalty * signs)
        self.dual_coef_ = np.zeros(Y.shape)
        self.intercept_ = np.zeros(Y.shape[1])
        self.gap_ = 0.0
        self.n_iter_ = 0
        self.converged_ = True
        path: list[float] = []
        if self.C > 0:
            use = f"LEMLL with its {n} x {n} kernel"
            require_memory(24.0 * n**2, use, "GLLE keeps its graph sparse")
            K = rbf_kernel(X, width=mean_distance(X))
            # In the memory of its argument, whose transpose is in LAPACK's order.
            K += linalg.inv(N.toarray().T, overwrite_a=True, check_finite=False)
            path = self._regress(K, U)
        # Without a regressor the other two terms have this minimum, a quadratic in the signs.
        base = self.label_penalty * np.vdot(signs, signs - U)
        self.objective_path_ = base + np.array(path)
        self.objective_ = base + min(path, default=0.0)
        # The gradient in U is N U - 2 label_penalty signs + B, and 0 at the minimum.
        self.numerical_labels_ = U - solve_spd(N, self.dual_coef_)
        self.label_distributions_ = softmax(self.numerical_labels_)

    def _regress(self, K: Array, U: Array) -> list[float]:
        """Support vector regression on targets U by reweighted least squares on the dual.

        Keeps the iterate of the least primal value; returns all of these values.
        """
        # 2 C (r - eps) / r, the weight of a row with error r, is 2 C at most: every row is a
        # support vector at first.
        weights = np.full(len(U), 2.0 * self.C)
        path: list[float] = []
        for _ in self._iterations():
            # The dual's penalty eps |B_i| + |B_i|^2 / (4 C) is replaced by the quadratic that
            # touches it from above at the last B: its weights make the next dual value at least as
            # large.
            B, b, KB = _weighted_fit(K, U, weights)
            error = np.linalg.norm(U - KB - b, axis=1)
            lengths = np.linalg.norm(B, axis=1)
            half = 0.5 * np.vdot(B, KB)
            primal = half + self.C * np.sum(np.maximum(error - self.eps, 0.0) ** 2)
            penalty = np.sum(lengths * (self.eps + lengths / (4.0 * self.C)))
            dual = np.vdot(B, U) - penalty - half
            path.append(primal)
            if primal <= min(path):
                self.dual_coef_ = B
                self.intercept_ = b
            self.gap_ = min(path) - dual
            self.converged_ = bool(self.gap_ <= self.tol * self.label_penalty * U.size)
            # At the solution |B_i| = 2 C (r_i - eps): this is |B_i| / r_i for the error r_i that
            # belongs to B_i.
            weights = lengths / np.maximum(self.eps + lengths / (2.0 * self.C), TINY)
        return path


def _weighted_fit(K: Array, U: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Solve ``B = weights * (U - K B - b)`` with columns of B that sum to zero."""
    # With R = diag(roots) the system is R (I + R K R)^-1 R: definite also where weights are zero.
    roots = np.sqrt(weights)[:, None]
    system = K * roots
    system *= roots.T
    system.flat[:: len(K) + 1] += 1.0
    # With .T no copy is made.
    factor = linalg.cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)
    solved = linalg.cho_solve(factor, np.hstack([roots * U, roots]), check_finite=False)
    free = solved[:, :-1]
    direction = solved[:, -1:]
    # b is what makes the columns of B sum to zero; where no row has weight, any b does.
    total = np.vdot(roots, direction)
    b = U.mean(axis=0)
    if total > 0:
        b = (roots * free).sum(axis=0) / total
    B = roots * (free - direction * b)
    return B, b, K @ B
