"""LDLSF: label-specific and common features, learned together."""

from typing import Literal

import numpy as np
from scipy import linalg

from ldlearn.base import (
    Learner,
    NonNegative,
    Positive,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.scaling import feature_scaling
from ldlearn.core.simplex import (
    TINY,
    Array,
    SampleWeight,
    normalize_rows,
    row_weights,
)
from ldlearn.exceptions import InputError
from ldlearn.solvers.low_rank import thin_factors

# Shapes: X (n, m), D (n, c), W, S, C, their sum N and multiplier V (m, c), Q and B = I + 2 lam3 Q
# (c, c).


@estimator_dataclass
class LDLSF(Learner):
    r"""Label-specific and common features (LDLSF).

    Linear regression on the degrees whose coefficients are the sum of two parts: S, sparse entry by
    entry, finds the features that matter to one label; C, sparse row by row, those that matter to
    all. Predictions of correlated labels are drawn together. Assumes degrees that are linear in the
    features; use it to learn which features matter to which label.

    .. math::

        \min_{W, b}\; \tfrac12 |F - D|_F^2 + \lambda_1 |S|_1 + \lambda_2 |C|_{2,1}
        + \lambda_3\, tr(F Q F^T), \qquad
        F = X W + 1 b^T, \quad W = S + C, \quad F 1 = 1

    :math:`|C|_{2,1}` sums the lengths of the rows of C; Q is made of the correlations R of the
    columns of D.

    Parameters
    ----------
    lam1, lam2, lam3 : float, default=1.0, 1.4, 1e-3
        :math:`\lambda_1, \lambda_2, \lambda_3`; 1e-4, 1e-2 and 1e-3 in the published code. The
        first two are weighed against a sum over rows, so the same numbers mean less as n grows. C
        is zero whenever ``lam2 > lam1 * sqrt(c)``, as published, and S is zero whenever
        ``lam2 < lam1``: for both parts to be used lam2 must lie between. lam3 must stay small:
        labels of a distribution are negatively correlated, and the problem is convex only while
        ``1 + 2 lam3 * (smallest eigenvalue of Q)`` is positive (in practice up to 0.1 to 0.25);
        beyond that fit refuses.
    rho : float, default=1e-3
        First weight of the augmented Lagrangian; balanced between iterations.
    correlation : {"laplacian", "code"}, default="laplacian"
        ``Q = diag(R 1) - R``, or the published code's ``R`` with the sums of its other entries on
        the diagonal. The first draws correlated labels together, the second draws them apart.
    max_iter : int, default=1000
    tol : float, default=1e-4
        Stop when both residuals of ADMM are this small, relatively.
    fit_intercept : bool, default=True
        Whether b is free (never penalised) or 0, the published form, for which ``F 1 = 1`` may be
        impossible; it is then met in the least squares sense.
    standardize : bool, default=True
        Whether the penalties are on the coefficients of standardised features, so that the units of
        the features do not matter, or those of the features as they are, the published form.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        ``specific_ + common_``.
    specific_ : ndarray of shape (n_features, n_labels)
        S.
    common_ : ndarray of shape (n_features, n_labels)
        C.
    intercept_ : ndarray of shape (n_labels,)
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after each iteration; it need not fall every time.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether both residuals are within ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Departures from the paper: an intercept, standardised features and larger penalties by default
    (with the published ones it is least squares, and loses to the mean distribution where features
    are many); the W-step is exact (two eigendecompositions, made once) and meets ``F 1 = 1`` by
    itself instead of through a multiplier; S and C are updated together in closed form instead of
    one after the other; rho is balanced; iterations start from zero and go on to convergence
    instead of ending at 100. It is the same convex problem, solved further. Negative predictions
    are cut off as in the published code; a row without any positive one becomes uniform.
    Confidence: certain.

    References
    ----------
    T. Ren, X. Jia, W. Li, L. Chen, Z. Li, "Label distribution learning with label-specific
    features", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import LDLSF
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> model = LDLSF(lam1=1e-4, lam2=1e-2).fit(X, D)
    >>> model.predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    learned = {
        "specific_": "float (n_features, n_labels)",
        "common_": "float (n_features, n_labels)",
        "coef_": "float (n_labels, n_features)",
        "intercept_": "float (n_labels)",
    }

    _test_params = (
        {},
        {
            "correlation": "code",
            "lam1": 0.1,
            "lam2": 0.1,
            "lam3": 0.01,
            "tol": 1e-3,
            "fit_intercept": False,
            "standardize": False,
        },
    )

    lam1: NonNegative = 1.0
    lam2: NonNegative = 1.4
    lam3: NonNegative = 1e-3
    rho: Positive = 1e-3
    correlation: Literal["laplacian", "code"] = "laplacian"
    max_iter: PositiveInt = 1000
    tol: Positive = 1e-4
    fit_intercept: bool = True
    standardize: bool = True

    def _fit(self, X: Array, D: Array, sample_weight: SampleWeight | None = None) -> None:
        B = self._label_hessian(D, sample_weight)
        # Columns of unit length keep the W-step accurate whatever their units; penalties may be on
        # the coefficients in these units or in those of the user.
        scaling = feature_scaling(X, self.fit_intercept, sample_weight)
        units = np.ones((X.shape[1], 1))
        if not self.standardize:
            units = scaling.scale[:, None]
        # Squared errors count a row as often as its weight says if row and degrees are multiplied
        # by its root.
        root = np.sqrt(row_weights(D, sample_weight))[:, None]
        mean = intercept = np.zeros(D.shape[1])
        constant = 0.0
        if self.fit_intercept:
            # On centred data the mean prediction and W are two separate problems.
            mean = np.average(D, axis=0, weights=sample_weight)
            intercept = _mean_prediction(B, mean)
            deviation = intercept @ B @ intercept - 2.0 * intercept @ mean + mean @ mean
            constant = 0.5 * np.vdot(root, root) * float(deviation)
        w_step = _WStep(root * scaling.apply(X), root * (D - mean), B)
        S, C, path = self._admm(w_step, self.lam1 / units, self.lam2 / units)
        self.objective_path_ = np.array(path) + constant
        self.objective_ = float(self.objective_path_[-1])
        self.specific_ = S / scaling.scale[:, None]
        self.common_ = C / scaling.scale[:, None]
        coef, self.intercept_ = scaling.undo(S + C, intercept)
        self.coef_ = coef.T

    def _label_hessian(self, D: Array, weights: SampleWeight | None) -> Array:
        """B, which must be positive definite."""
        Q = _label_coupling(D, self.correlation, weights)
        B = np.eye(D.shape[1]) + 2.0 * self.lam3 * Q
        smallest = np.linalg.eigvalsh(B)[0]
        if smallest <= 0.0:
            raise InputError(
                f"lam3={self.lam3:g} makes the problem non-convex for the correlations of these "
                f"labels; give a lam3 below {self.lam3 / (1.0 - smallest):.3g}."
            )
        return B

    def _admm(self, w_step: "_WStep", box: Array, ball: Array) -> tuple[Array, Array, list[float]]:
        """S, C and the objective after each iteration.

        ``box`` and ``ball`` penalise each row of S and of C.
        """
        rho = self.rho
        first = 0.0
        S = C = N = V = np.zeros(w_step.shape)
        path: list[float] = []
        for n_iter in self._iterations():
            W = w_step.solve(rho * N - V, rho)
            S, C = _split_coefficients(W + V / rho, box / rho, ball / rho)
            before = N
            N = S + C
            V = V + rho * (W - N)
            penalty = np.sum(box * np.abs(S)) + ball[:, 0] @ linalg.norm(C, axis=1)
            path.append(w_step.smooth_loss(N) + penalty)
            first = first or linalg.norm(W)
            # W of 1 % of its first length needs no relative accuracy.
            length = max(linalg.norm(W), linalg.norm(N), 0.01 * first, TINY)
            primal = linalg.norm(W - N) / length
            length = max(linalg.norm(V), self.tol * w_step.size, TINY)
            dual = rho * linalg.norm(N - before) / length
            self.converged_ = bool(max(primal, dual) <= self.tol)
            if n_iter % 5 == 0 and n_iter <= 100:
                # Residuals of equal size: neither the constraint nor the objective lags behind.
                # Convergence of ADMM is certain only once rho is constant.
                rho *= np.sqrt(primal / max(dual, TINY)).clip(0.1, 10.0)
        return S, C, path

    def _predict(self, X: Array) -> Array:
        scores = X @ self.coef_.T + self.intercept_
        return normalize_rows(np.maximum(scores, 0.0))


def _mean_prediction(B: Array, mean: Array) -> Array:
    """Minimise ``|b - mean|^2 / 2 + lam3 b' Q b`` over b that sum to 1."""
    free = np.linalg.solve(B, mean)
    direction = np.linalg.solve(B, np.ones(len(B)))
    return free + (1.0 - free.sum()) / direction.sum() * direction


def _label_coupling(D: Array, correlation: str, weights: SampleWeight | None = None) -> Array:
    """Q, from the correlations R of the columns of D; a constant column correlates with none."""
    standardised = feature_scaling(D, weights=weights).apply(D)
    R = np.cov(standardised, rowvar=False, bias=True, aweights=weights).reshape(D.shape[1], -1)
    np.fill_diagonal(R, 0.0)  # cancels in the Laplacian, and the code replaces it
    sums = np.diag(R.sum(axis=1))
    return sums - R if correlation == "laplacian" else sums + R


class _WStep:
    """The step of ADMM in W, factorised once for all iterations and all rho."""

    def __init__(self, X: Array, D: Array, B: Array) -> None:
        self.shape = (X.shape[1], D.shape[1])
        XtD = X.T @ D
        self.size = linalg.norm(XtD)
        self.U, lengths = thin_factors(X.T)
        self.eigenvalues = lengths**2  # X'X = U diag(eigenvalues) U'
        self.label_eigenvalues, self.label_directions = np.linalg.eigh(B)
        self.XtD = self.U.T @ XtD
        # X W 1 = D 1, seen along the directions that X has.
        self.sums = self.XtD.sum(axis=1) / self.eigenvalues
        self.ones = self.label_directions.sum(axis=0)
        self.B = B
        self.constant = 0.5 * np.vdot(D, D)

    def smooth_loss(self, W: Array) -> float:
        """``|X W - D|^2 / 2 + lam3 tr(X W Q W' X')``."""
        along = self.U.T @ W
        scaled = self.eigenvalues[:, None] * along
        quadratic = 0.5 * np.vdot(scaled, along @ self.B)
        return quadratic - np.vdot(along, self.XtD) + self.constant

    def solve(self, G: Array, rho: float) -> Array:
        """Minimise the smooth loss ``- <G, W> + rho |W|^2 / 2`` over W with ``X W 1 = D 1``."""
        along = self.U.T @ G
        inverse = 1.0 / (self.eigenvalues[:, None] * self.label_eigenvalues + rho)
        free = (along + self.XtD) @ self.label_directions * inverse
        weight = self.ones * inverse
        # The constraint X W 1 = D 1 has one multiplier for each direction of X.
        multiplier = (free @ self.ones - self.sums) / (weight @ self.ones)
        core = (free - multiplier[:, None] * weight) @ self.label_directions.T
        # Outside the directions of X only the last two terms remain.
        return self.U @ (core - along / rho) + G / rho


def _split_coefficients(R: Array, box: Array, ball: Array) -> tuple[Array, Array]:
    """Minimise ``|R - S - C|^2 / 2 + box |S|_1 + ball |C|_{2,1}`` over S and C together.

    What is left, ``Y = R - S - C``, is each row of R projected onto ``|y_j| <= box, |y| <= ball``:
    cut at the box after a shrinking by t <= 1. C is the shrinking and S the cut. ``box`` and
    ``ball`` are columns, one entry a row of R.
    """
    nothing = np.zeros_like(R)
    if not box.any():
        return R, nothing
    if not ball.any():
        return nothing, R
    descending = -np.sort(-np.abs(R), axis=1)
    # Of each entry and all smaller ones.
    ascending = descending[:, ::-1]
    squares = np.cumsum(ascending**2, axis=1)[:, ::-1]
    n_cut = np.arange(R.shape[1])  # how many entries the box cuts
    room = np.maximum(ball**2 - n_cut * box**2, 0.0)
    scales = np.sqrt(room / np.maximum(squares, 1e-150))
    # With the right number cut, t is too small for the next entry to reach the box: the first such
    # number is right. Equality must not fail by rounding: the next t may be 0.
    fits = scales * descending <= box * (1.0 + 1e-12)
    first = np.argmax(fits, axis=1, keepdims=True)
    chosen = np.take_along_axis(scales, first, axis=1)
    t = np.where(fits.any(axis=1, keepdims=True), np.minimum(chosen, 1.0), 1.0)
    uncut = np.clip(R, -box / t, box / t)
    return R - uncut, (1.0 - t) * uncut
