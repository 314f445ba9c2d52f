"""FLE: fast label enhancement; the degrees are coefficients of the features."""

import numpy as np

from ldlearn.base import (
    Enhancer,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.prototypes import pseudo_distributions
from ldlearn.core.reconstruction import nonnegative_quadratic
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    Array,
    Mask,
    SampleWeight,
    normalize_rows,
    row_weights,
)


@estimator_dataclass
class FLE(Enhancer):
    r"""Fast label enhancement (FLE, a reconstruction).

    Assumes that a sample is a mixture of one prototype per label and that the shares of the mixture
    are its degrees. Recovers shares that rebuild the features, near the logical labels and near the
    pseudo distribution S that similarities with the classes' purest samples give. Linear in the
    number of samples: use it on large data.

    .. math::

        \min_{P \ge 0,\, Q}\; \tfrac{1}{m} (|X - P Q|^2 + \gamma |Q|^2)
        + \alpha |P - Y|^2 + \beta |P - S|^2 + \lambda |P 1 - 1|^2, \qquad
        D = P / (P 1)

    X is standardised, m is the number of features, and S is fixed:
    `ldlearn.core.prototypes.pseudo_distributions`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the logical labels; to infinity, P = Y.
    beta : float, default=1.0
        Weight of the pseudo distribution; to infinity, P = S.
    lam : float, default=1.0
        The weight lambda of the row sums; to infinity, they are one.
    gamma : float, default=1.0
        Weight of the prototypes' size.
    standardize : bool, default=True
        Whether columns of X are first centred and divided by their standard deviations. Without it
        features that nearly share one direction make S say nothing.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this, relatively.
    max_iter : int, default=500

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_labels, n_features)
        Q, of the standardised features.
    coefficients_ : ndarray of shape (n_samples, n_labels)
        P, before rows are divided by their sums.
    objective_path_ : ndarray of shape (n_iter_,)
        Never rises. The problem is convex in P and in Q, not in both: this is a stationary point.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether the objective settled within ``tol``.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    This is the method "FLE" of the DLDL paper's tables, not the neural Fusion Label Enhancement
    (FLEM). Time per iteration is ``O(n m c)`` and no n x n array is made.

    Departures from the paper: its full text was not at hand. Known are the factorisation with the
    degrees as coefficients, the pseudo distribution and that there are four penalties; their terms
    are reconstructed, and so are the defaults. Both steps are exact (least squares, non-negative
    least squares) where multiplicative updates are usual; the first terms are divided by m so that
    penalties mean the same for any number of features. Confidence: reconstructed.

    References
    ----------
    K. Wang, N. Xu, M. Ling, X. Geng, "Fast Label Enhancement for Label Distribution Learning", IEEE
    TKDE 35(2), 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.enhancement import FLE
    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.1], [0.5, 0.6]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [1, 1]])
    >>> FLE(beta=4.0).fit_enhance(X, Y).round(2)
    array([[1.  , 0.  ],
           [0.97, 0.03],
           [0.  , 1.  ],
           [0.26, 0.74]])
    """

    learned = {
        "prototypes_": "float (n_labels, n_features)",
        "coefficients_": "float (n_samples, n_labels)",
    }

    _test_params = ({}, {"alpha": 0.1, "beta": 5.0, "standardize": False, "tol": 1e-3})

    alpha: Positive = 1.0
    beta: NonNegative = 1.0
    lam: NonNegative = 1.0
    gamma: Positive = 1.0
    standardize: bool = True
    tol: Positive = 1e-6
    max_iter: PositiveInt = 500

    def _fit(self, X: Array, Y: Mask, sample_weight: SampleWeight | None = None) -> None:
        if self.standardize:
            X = feature_scaling(X, weights=sample_weight).apply(X)
        m = X.shape[1]
        identity = np.eye(Y.shape[1])
        w = row_weights(Y, sample_weight)
        S = pseudo_distributions(X, Y, sample_weight)
        # The pseudo distribution is the start, so that nothing is drawn and the order of rows does
        # not matter.
        P = S
        path = [np.inf]
        while self._should_iterate(path):
            # Ridge regression of the features on P: the exact minimum over Q.
            weighted = P.T * w
            Q = np.linalg.solve(weighted @ P + self.gamma * identity, weighted @ X)
            # Non-negative least squares for P: the row problems share this Hessian (halved), not
            # the linear term. Given Q no row sees another, so that its own weight does not move it.
            # The penalty on row sums, lam (p'1 - 1)^2, puts lam into every entry of the Hessian
            # (11') and of the linear term. The last support is the first guess: few entries become
            # or cease to be 0 in an iteration.
            H = Q @ Q.T / m + (self.alpha + self.beta) * identity + self.lam
            linear = X @ Q.T / m + self.alpha * Y + self.beta * S + self.lam
            P = nonnegative_quadratic(H, linear, P > 0)
            path.append(self._objective(X, Y, S, P, Q, w))
        self.prototypes_ = Q
        self.coefficients_ = P
        self.label_distributions_ = normalize_rows(P)

    def _objective(
        self,
        X: Array,
        Y: Mask,
        S: Array,
        P: Array,
        Q: Array,
        weights: SampleWeight,
    ) -> float:
        rows = (
            np.sum((X - P @ Q) ** 2, axis=1) / X.shape[1]
            + self.alpha * np.sum((P - Y) ** 2, axis=1)
            + self.beta * np.sum((P - S) ** 2, axis=1)
            + self.lam * (P.sum(axis=1) - 1.0) ** 2
        )
        return weights @ rows + self.gamma * np.sum(Q**2) / X.shape[1]
