"""Softmax regression on label distributions: Newton's method with a Kronecker preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from ldlearn.core.simplex import Array, softmax

# Shapes: X (n, m), D and P (n, c), coef W (m, c), intercept b (c,).
_LARGEST_FACTORISATION = 2000  # features; beyond this the preconditioner is diagonal
_FORCING = 0.3  # relative accuracy of the Newton system
_MANY_STEPS = 25  # conjugate gradient steps after which a better preconditioner is worth making
_LARGEST_BLOCKS = 2 * 10**7  # entries of that preconditioner
_ARMIJO = 1e-4
_MAX_HALVINGS = 30


class Features:
    """X as the solver needs it: centred without being copied, with the eigenvectors of its scatter matrix.

    Making one costs a factorisation; every fit on the same X, whatever its targets and weights, can share it.
    """

    def __init__(self, X: Any, fit_intercept: bool = True) -> None:
        self.X = X
        self.n, self.m = X.shape
        self.fit_intercept = fit_intercept
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self.mean = mean if fit_intercept else np.zeros(self.m)
        self.basis, self.spread = self._spectrum()

    def _spectrum(self) -> tuple[Array | None, NDArray[np.float64]]:
        """Eigenvectors and eigenvalues of ``(X - mean)' (X - mean)``; only its diagonal if there are many."""
        if self.m > min(_LARGEST_FACTORISATION, 2 * self.n):
            squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
            second = np.asarray(squares.sum(axis=0), dtype=np.float64).ravel()
            return None, np.maximum(second - self.n * self.mean**2, 0.0)
        scatter = self.X.T @ self.X
        scatter = np.asarray(scatter.toarray() if sparse.issparse(scatter) else scatter, dtype=np.float64)
        scatter -= self.n * np.outer(self.mean, self.mean)
        values, vectors = linalg.eigh(scatter, driver="evd", check_finite=False)
        return vectors, np.maximum(values, 0.0)

    def times(self, W: Array, b: Array) -> Array:
        """Logits ``(X - mean) W + b``."""
        product = np.asarray(self.X @ W.astype(self.X.dtype, copy=False), dtype=np.float64)
        product += b - self.mean @ W
        return product

    def transpose_times(self, R: Array) -> tuple[Array, Array]:
        """The adjoint: ``(X - mean)' R`` and the column sums of R (0 without an intercept)."""
        sums = R.sum(axis=0)
        product = np.asarray(self.X.T @ R.astype(self.X.dtype, copy=False), dtype=np.float64)
        product -= np.outer(self.mean, sums)
        return product, sums if self.fit_intercept else np.zeros_like(sums)

    def weighted_scatter(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """``Z' diag(weights) Z`` for ``Z = [X - mean, 1]``."""
        scaled = self.X.multiply(weights[:, None]).tocsr() if sparse.issparse(self.X) else self.X * weights[:, None]
        product = self.X.T @ scaled
        inner = np.asarray(product.toarray() if sparse.issparse(product) else product, dtype=np.float64)
        moment = np.asarray(self.X.T @ weights, dtype=np.float64)
        total = float(weights.sum())
        cross = moment - total * self.mean
        scatter = np.empty((self.m + 1, self.m + 1))
        scatter[:-1, :-1] = inner - np.outer(moment, self.mean) - np.outer(self.mean, cross)
        scatter[:-1, -1] = scatter[-1, :-1] = cross
        scatter[-1, -1] = total
        return scatter


@dataclass(frozen=True)
class SoftmaxFit:
    """Weights of a softmax regression; ``logits = X @ coef + intercept``."""

    coef: Array
    intercept: Array
    logits: Array  # of the training rows
    loss: float
    n_iter: int
    n_products: int  # multiplications by X or its transpose
    converged: bool


def loss_and_gradient(features: Features, D: Array, l2: float, W: Array, b: Array) -> tuple[float, Array, Array]:
    r"""``T(W) = sum_i lse(z_i) - <D, Z> + l2 |W|^2`` and its gradient (Eqs. 8 and 9 of the DLDL paper).

    Here ``Z = (X - mean) W + b``: with an unpenalised intercept the same family of models, better conditioned.
    """
    Z = features.times(W, b)
    loss = _loss(Z, D) + l2 * float(np.sum(W * W))
    gW, gb = features.transpose_times(softmax(Z) - D)
    return loss, gW + 2.0 * l2 * W, gb


def softmax_regression(
    features: Features,
    D: Array,
    *,
    l2: float = 0.0,
    start: SoftmaxFit | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> SoftmaxFit:
    r"""Minimise ``KL(D, softmax(X W + b)) + l2 |W|^2`` over W and an unpenalised b.

    Newton's method: the system is solved by conjugate gradients preconditioned by
    ``scatter(X) (x) C + 2 l2 I`` with ``C`` the mean of ``diag(p_i) - p_i p_i'``, which two small eigendecompositions
    invert. Where that takes many steps (small l2, nearly separable rows), the diagonal blocks of the Hessian itself,
    one for each label, take its place. Logits are linear in the weights, so the line search costs no product with X.

    Parameters
    ----------
    features : Features
    D : ndarray of shape (n, c)
        Rows sum to one.
    l2 : float, default=0
    start : SoftmaxFit, default=None
        Where to start: an earlier fit on the same features.
    tol : float, default=1e-10
        Stop when half of the squared Newton decrement, an estimate of the distance to the minimum, is at most
        this per row.
    max_iter : int, default=100
        With ``l2 = 0`` there may be no finite minimiser; then the iterations end here or where progress does.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [1.0]])
    >>> fit = softmax_regression(Features(X), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> softmax(X @ fit.coef + fit.intercept).round(5)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    n, c = D.shape
    W: Array
    b: Array
    Z: Array
    if start is None:
        W, b, Z = np.zeros((features.m, c)), np.zeros(c), np.zeros((n, c))
    else:
        W, b, Z = start.coef, start.intercept + features.mean @ start.coef, start.logits
    loss = _loss(Z, D) + l2 * float(np.sum(W * W))
    n_iter, n_products, converged = 0, 0, False
    blocks: _Solve | None = None
    while True:
        P = softmax(Z)
        gW, gb = features.transpose_times(P - D)
        gW += 2.0 * l2 * W
        direction = _newton_direction(features, P, l2, gW, gb, blocks or _kronecker_preconditioner(features, P, l2))
        n_products += 1 + direction.n_products
        if direction.n_products > 2 * _MANY_STEPS and c * features.m**2 <= _LARGEST_BLOCKS:
            blocks = _block_preconditioner(features, P, l2)
        converged = direction.decrement <= 2.0 * tol * n
        if converged or n_iter == max_iter:
            break
        t = _line_search(Z, D, W, l2, loss, direction)
        if t == 0.0:  # no further decrease in floating point
            break
        W, b, Z = W + t * direction.W, b + t * direction.b, Z + t * direction.Z
        loss = _loss(Z, D) + l2 * float(np.sum(W * W))
        n_iter += 1
    return SoftmaxFit(W, b - features.mean @ W, Z, loss, n_iter, n_products, converged)


@dataclass
class _Direction:
    W: Array
    b: Array
    Z: Array  # the logits' change along it
    decrement: float  # minus the slope
    n_products: int


def _loss(Z: Array, D: Array) -> float:
    """``sum_i lse(z_i) - <D, Z>``, each row shifted by its own maximum."""
    shifted = Z - Z.max(axis=1, keepdims=True)
    return float(np.log(np.exp(shifted).sum(axis=1)).sum() - np.vdot(D, shifted))


_Solve = Callable[[Array, Array], tuple[Array, Array]]


def _kronecker_preconditioner(features: Features, P: Array, l2: float) -> _Solve:
    """Solve with ``scatter (x) C + 2 l2 I`` (weights) and ``n C`` (intercept)."""
    C = np.diag(P.mean(axis=0)) - P.T @ P / len(P)
    values, U = np.linalg.eigh(C)
    values = np.maximum(values, 0.0)
    Q = features.basis
    blocks = features.spread[:, None] * values + 2.0 * l2
    inverse = _reciprocal(blocks)
    inverse_b = _reciprocal(len(P) * values)

    def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
        core = (gW if Q is None else Q.T @ gW) @ U * inverse
        step = (core if Q is None else Q @ core) @ U.T
        return step, ((gb @ U) * inverse_b) @ U.T

    return solve


def _block_preconditioner(features: Features, P: Array, l2: float) -> _Solve:
    """Solve with the blocks ``Z' diag(p_j (1 - p_j)) Z + 2 l2 I`` of the Hessian, Z being [X - mean, 1].

    The blocks know nothing of the directions along which all labels move together, where the loss is flat; those
    are projected out.
    """
    weights = P * (1.0 - P)
    factors = [_factor(features.weighted_scatter(w), l2) for w in weights.T]

    def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
        g = np.vstack([gW, gb])
        steps = [linalg.cho_solve(f, column, check_finite=False) for f, column in zip(factors, g.T, strict=True)]
        step = np.column_stack(steps)
        step -= step.mean(axis=1, keepdims=True)
        return step[:-1], step[-1] if features.fit_intercept else np.zeros_like(gb)

    return solve


def _factor(scatter: Array, l2: float) -> tuple[Array, bool]:
    diagonal = np.einsum("ii->i", scatter)
    diagonal += 1e-10 * diagonal.max() + np.finfo(float).tiny  # a constant feature must not stop the factorisation
    diagonal[:-1] += 2.0 * l2
    return linalg.cho_factor(scatter, lower=True, overwrite_a=True, check_finite=False)  # type: ignore[no-any-return]


def _reciprocal(values: Array) -> Array:
    """1 / values, and 0 where the value is numerically zero: the loss is flat along those directions."""
    flat = values <= 1e-12 * max(float(values.max()), np.finfo(float).tiny)
    return np.asarray(np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, values)))


def _newton_direction(features: Features, P: Array, l2: float, gW: Array, gb: Array, solve: _Solve) -> _Direction:
    W, b, Z = np.zeros_like(gW), np.zeros_like(gb), np.zeros_like(P)
    rW, rb = -gW, -gb
    zW, zb = solve(rW, rb)
    sW, sb = zW, zb
    rho = first = _dot(rW, zW, rb, zb)
    n_products = 0
    for _ in range(gW.size):
        if rho <= _FORCING**2 * first:
            break
        sZ = features.times(sW, sb)
        U = P * sZ
        U -= P * U.sum(axis=1, keepdims=True)
        hW, hb = features.transpose_times(U)
        hW += 2.0 * l2 * sW
        n_products += 2
        curvature = _dot(sW, hW, sb, hb)
        if curvature <= 0.0:
            break
        t = rho / curvature
        W, b, Z = W + t * sW, b + t * sb, Z + t * sZ
        rW, rb = rW - t * hW, rb - t * hb
        zW, zb = solve(rW, rb)
        previous, rho = rho, _dot(rW, zW, rb, zb)
        sW, sb = zW + (rho / previous) * sW, zb + (rho / previous) * sb
    return _Direction(W, b, Z, -_dot(gW, W, gb, b), n_products)


def _dot(A: Array, B: Array, a: Array, b: Array) -> float:
    return float(np.vdot(A, B) + np.vdot(a, b))


def _line_search(Z: Array, D: Array, W: Array, l2: float, loss: float, direction: _Direction) -> float:
    """The first of 1, 1/2, 1/4, ... at which the loss has fallen enough; 0 if none."""
    t = 1.0
    for _ in range(_MAX_HALVINGS):
        trial = W + t * direction.W
        value = _loss(Z + t * direction.Z, D) + l2 * float(np.sum(trial * trial))
        if value <= loss - _ARMIJO * t * direction.decrement:
            return t
        t *= 0.5
    return 0.0
