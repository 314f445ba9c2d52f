"""Softmax regression on label distributions: Newton's method with a Kronecker preconditioner and a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ldlearn.core.simplex import Array
from ldlearn.solvers.features import Features, reciprocal

__all__ = ["Features", "SoftmaxFit", "loss_and_gradient", "softmax_regression"]

# Shapes: X (n, m), D and P (n, c), coef W (m, c), intercept b (c,). Arrays of shape (n, c) are in Fortran order: sums,
# maxima and products over short rows are then sums, maxima and products of long columns.
_FORCING = 0.1  # relative accuracy of the first Newton systems; later ones are solved the better the nearer the end is
_MANY_STEPS = 25  # conjugate gradient steps after which a better preconditioner is worth making
_LARGEST_BLOCKS = 2 * 10**7  # entries of that preconditioner
_SLACK = 0.1  # part of what is asked for that the Newton system may leave
_ARMIJO = 1e-4
_MAX_HALVINGS = 30
_ROUNDING = 1e-15  # rises of the loss of this size, relative to its terms, are not rises
_ABSENT = 1e-30  # mean degree at which a label that no row has is left
_RIDGE = 1e-10  # of a block with a unit diagonal
_BALANCED = 1e-13  # column sums per row that count as equal


@dataclass(frozen=True)
class SoftmaxFit:
    """Weights of a softmax regression; ``logits = X @ coef + intercept``."""

    coef: Array
    intercept: Array
    logits: Array  # of the training rows
    loss: float = np.nan
    gap: float = np.inf  # the loss is at most so far above its minimum; infinite (nothing is certain) if l2 is 0
    n_iter: int = 0
    n_products: int = 0  # multiplications by X or its transpose
    converged: bool = False


def loss_and_gradient(features: Features, D: Array, l2: float, W: Array, b: Array) -> tuple[float, Array, Array]:
    r"""``T(W) = sum_i lse(z_i) - <D, Z> + l2 |W|^2`` and its gradient (Eqs. 8 and 9 of the DLDL paper).

    Here ``Z = (X - mean) W + b``: with an unpenalised intercept the same family of models, better conditioned.
    """
    Z = features.times(W, b)
    P, loss = _predictions_and_loss(Z, D)
    gW, gb = features.transpose_times(P - D)
    return loss + l2 * float(np.vdot(W, W)), gW + 2.0 * l2 * W, gb


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

    The certificate: for any Q with rows on the simplex and the column sums of D, the minimum is at least
    ``-sum Q ln Q - |X'(Q - D)|^2 / (4 l2)`` with X centred (Fenchel duality; the column sums are the intercept's
    condition). For Q = P, the predictions after a few Newton steps on b alone, the loss exceeds that bound by exactly
    ``|gradient in W|^2 / (4 l2)``. It is evaluated in float64 at the weights that are returned.

    Parameters
    ----------
    features : Features
    D : ndarray of shape (n, c)
        Rows sum to one.
    l2 : float, default=0
    start : SoftmaxFit, default=None
        Where to start: an earlier fit on the same features.
    tol : float, default=1e-10
        Stop when the certified distance to the minimum is at most this per row. With ``l2 = 0`` there is no
        certificate, and half of the squared Newton decrement, an estimate of that distance, takes its place.
    max_iter : int, default=100
        With ``l2 = 0`` there may be no finite minimiser; then the iterations end here or where progress does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core import softmax
    >>> X = np.array([[-1.0], [1.0]])
    >>> fit = softmax_regression(Features(X), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> softmax(X @ fit.coef + fit.intercept).round(5)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    goal = tol * len(D)
    problem = _Problem(features, D, l2, goal)
    point = problem.start(start)
    blocks: _Solve | None = None
    n_iter, converged, previous, forcing = 0, False, np.inf, _FORCING
    while True:
        if point.bound <= goal:
            point = problem.certified(point)
            converged = point.bound <= goal
        if converged or n_iter == max_iter:
            break
        direction = problem.newton_direction(point, forcing, blocks or _kronecker_preconditioner(features, point.P, l2))
        if direction.n_steps > _MANY_STEPS and D.shape[1] * features.m**2 <= _LARGEST_BLOCKS:
            blocks = _block_preconditioner(features, point.P, l2)
        if l2 == 0 and direction.decrement <= 2.0 * goal:
            converged = True
            break
        invisible = direction.decrement <= problem.rounding(point)
        lower = problem.line_search(point, direction)
        if lower is None or (invisible and point.bound >= 0.5 * previous):
            break  # no further progress in floating point
        previous, forcing = point.bound, min(_FORCING, np.sqrt(direction.decrement / len(D)))
        point = lower
        n_iter += 1
    if l2 > 0 and not converged:
        point = problem.certified(point)
        converged = point.bound <= goal
    intercept = point.b - features.mean @ point.W
    return SoftmaxFit(point.W, intercept, point.Z, point.loss, point.bound, n_iter, problem.n_products, converged)


@dataclass
class _Point:
    W: Array
    b: Array
    Z: Array  # logits
    P: Array  # predictions
    loss: float
    gW: Array  # gradient
    gb: Array
    bound: float  # of the distance to the minimum, once b is optimal for W


@dataclass
class _Direction:
    W: Array
    b: Array
    Z: Array  # the logits' change along it
    decrement: float  # minus the slope
    n_steps: int = 0


class _Problem:
    """Loss, gradient and Hessian, and the moves that the solver makes."""

    def __init__(self, features: Features, D: Array, l2: float, goal: float) -> None:
        self.features = features
        self.D = np.asfortranarray(D)
        self.l2 = l2
        self.goal = goal  # distance to the minimum that is asked for
        self.n_products = 0

    def start(self, fit: SoftmaxFit | None) -> _Point:
        """An earlier fit, or weights of zero and the intercept that is best for them."""
        features, (n, c) = self.features, self.D.shape
        if fit is not None:
            W = _across_labels(fit.coef)
            return self.point(W, fit.intercept + features.mean @ fit.coef, np.asfortranarray(fit.logits))
        b = np.zeros(c)
        if features.fit_intercept:
            b = np.log(np.maximum(self.D.mean(axis=0, dtype=np.float64), _ABSENT))
            b -= b.mean()
        return self.point(np.zeros((features.m, c)), b, np.asfortranarray(np.tile(b, (n, 1))))

    def point(self, W: Array, b: Array, Z: Array) -> _Point:
        return self.with_gradient(W, b, Z, *self.predictions_and_loss(W, Z))

    def predictions_and_loss(self, W: Array, Z: Array) -> tuple[Array, float]:
        P, loss = _predictions_and_loss(Z, self.D)
        return P, loss + self.l2 * float(np.vdot(W, W))

    def with_gradient(self, W: Array, b: Array, Z: Array, P: Array, loss: float) -> _Point:
        gW, gb = self.features.transpose_times(P - self.D, exact=True)
        gW = _across_labels(gW + 2.0 * self.l2 * W)
        self.n_products += 1
        bound = float(np.vdot(gW, gW)) / (4.0 * self.l2) if self.l2 > 0 else np.inf
        return _Point(W, b, Z, P, loss, gW, _across_labels(gb), bound)

    def rounding(self, point: _Point) -> float:
        return _ROUNDING * (abs(point.loss) + len(self.D))

    def certified(self, point: _Point) -> _Point:
        """The same weights with their own logits in float64 and the intercept that is best for them."""
        Z = self.features.times(point.W, point.b, exact=True)
        self.n_products += 1
        b = _balanced(Z, self.D) if self.features.fit_intercept else np.zeros_like(point.b)
        return self.point(point.W, point.b + b, Z + b)

    def newton_direction(self, point: _Point, forcing: float, solve: _Solve) -> _Direction:
        """Conjugate gradients, preconditioned by ``solve``, to the relative accuracy ``forcing``."""
        P = point.P
        W, b, Z = np.zeros_like(point.gW), np.zeros_like(point.gb), np.zeros_like(P)
        rW, rb = -point.gW, -point.gb
        zW, zb = solve(rW, rb)
        sW, sb = zW, zb
        rho = first = _dot(rW, zW, rb, zb)
        n_steps = 0
        while rho > forcing**2 * first and n_steps < W.size and not self._is_negligible(rW):
            sZ = self.features.times(sW, sb)
            hW, hb = self.features.transpose_times(_curve(P, sZ))
            hW += 2.0 * self.l2 * sW
            n_steps += 1
            curvature = _dot(sW, hW, sb, hb)
            if curvature <= 0.0:
                break
            t = rho / curvature
            W, b, Z = W + t * sW, b + t * sb, Z + t * sZ
            rW, rb = rW - t * hW, rb - t * hb
            zW, zb = solve(rW, rb)
            previous, rho = rho, _dot(rW, zW, rb, zb)
            sW, sb = zW + (rho / previous) * sW, zb + (rho / previous) * sb
        self.n_products += 2 * n_steps
        return _Direction(W, b, Z, -_dot(point.gW, W, point.gb, b), n_steps)

    def _is_negligible(self, residual: Array) -> bool:
        """Whether a Newton step that leaves this residual would end the iterations."""
        return float(np.vdot(residual, residual)) <= _SLACK * 4.0 * self.l2 * self.goal

    def line_search(self, point: _Point, direction: _Direction) -> _Point | None:
        """The point at the first of 1, 1/2, 1/4, ... steps that has lowered the loss enough; None if none does."""
        t = 1.0
        for _ in range(_MAX_HALVINGS):
            W, Z = point.W + t * direction.W, point.Z + t * direction.Z
            P, loss = self.predictions_and_loss(W, Z)
            if loss <= point.loss - _ARMIJO * t * direction.decrement + self.rounding(point):
                return self.with_gradient(W, point.b + t * direction.b, Z, P, loss)
            t *= 0.5
        return None


def _predictions_and_loss(Z: Array, D: Array) -> tuple[Array, float]:
    """``softmax(Z)`` and ``sum_i lse(z_i) - <D, Z>``, each row shifted by its own maximum."""
    P = Z - Z.max(axis=1, keepdims=True)
    linear = np.vdot(D.T, P.T)  # of transposes, which are contiguous
    np.exp(P, out=P)
    totals = P.sum(axis=1, keepdims=True)
    P /= totals
    return P, float(np.log(totals).sum() - linear)


def _curve(P: Array, Z: Array) -> Array:
    """``(diag(p_i) - p_i p_i') z_i`` for each row."""
    U = P * Z
    U -= P * U.sum(axis=1, keepdims=True)
    return U


def _across_labels(A: Array) -> Array:
    """A without what all labels share: predictions do not depend on it, and the best weights have none."""
    return np.asarray(A - A.mean(axis=-1, keepdims=True))


def _dot(A: Array, B: Array, a: Array, b: Array) -> float:
    return float(np.vdot(A, B) + np.vdot(a, b))


def _balanced(Z: Array, D: Array) -> Array:
    """What to add to every row of logits so that predictions have the column sums of D: Newton's method, damped."""
    n, c = D.shape
    b = np.zeros(c)
    P, loss = _predictions_and_loss(Z, D)
    for _ in range(_MAX_HALVINGS):
        excess = (P - D).sum(axis=0)
        if np.abs(excess).max() <= _BALANCED * n:
            break
        values, U = np.linalg.eigh(_mean_curvature(P))
        step = -U @ (reciprocal(n * np.maximum(values, 0.0)) * (excess @ U))
        before = loss
        for t in 0.5 ** np.arange(_MAX_HALVINGS):
            P, loss = _predictions_and_loss(Z + (b + t * step), D)
            if loss <= before + _ROUNDING * (abs(before) + n):
                break
        b += t * step
    return b


def _mean_curvature(P: Array) -> Array:
    """The mean of ``diag(p_i) - p_i p_i'``."""
    return np.asarray(np.diag(P.mean(axis=0)) - P.T @ P / len(P))


_Solve = Callable[[Array, Array], tuple[Array, Array]]


def _kronecker_preconditioner(features: Features, P: Array, l2: float) -> _Solve:
    """Solve with ``scatter (x) C + 2 l2 I`` (weights) and ``n C`` (intercept)."""
    values, U = np.linalg.eigh(_mean_curvature(P))
    values = np.maximum(values, 0.0)
    # 1 / c is the curvature of even predictions, to weigh the scatter matrix against the penalty.
    scale, Q, scatter, identity = features.spectrum(ridge=2.0 * l2 * P.shape[1])
    inverse = reciprocal(np.outer(scatter, values) + 2.0 * l2 * identity[:, None])
    inverse_b = reciprocal(len(P) * values)
    column = scale[:, None]

    def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
        g = column * gW
        core = (g if Q is None else Q.T @ g) @ U * inverse
        step = (core if Q is None else Q @ core) @ U.T
        return _across_labels(column * step), _across_labels(((gb @ U) * inverse_b) @ U.T)

    return solve


def _block_preconditioner(features: Features, P: Array, l2: float) -> _Solve:
    """Solve with the blocks ``Z' diag(p_j (1 - p_j)) Z + 2 l2 I`` of the Hessian, Z being [X - mean, 1].

    The blocks know nothing of the directions along which all labels move together; those are projected out.
    """
    blocks = [_Block(features.weighted_scatter(w), l2) for w in (P * (1.0 - P)).T]

    def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
        step = np.column_stack([block.solve(g) for block, g in zip(blocks, np.vstack([gW, gb]).T, strict=True)])
        step = _across_labels(step)
        return step[:-1], step[-1] if features.fit_intercept else np.zeros_like(gb)

    return solve


class _Block:
    """A factorised block of the Hessian, its rows and columns scaled to a unit diagonal."""

    def __init__(self, scatter: Array, l2: float) -> None:
        diagonal = np.einsum("ii->i", scatter)
        diagonal[:-1] += 2.0 * l2
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(np.float64).tiny))
        scatter *= self.scale[:, None] * self.scale
        diagonal[:] = 1.0 + _RIDGE  # collinear or constant features must not stop the factorisation
        self.factor = linalg.cho_factor(scatter, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, g: Array) -> Array:
        return np.asarray(self.scale * linalg.cho_solve(self.factor, self.scale * g, check_finite=False))
