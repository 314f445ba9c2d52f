"""Softmax regression on label distributions: Newton's method with a Kronecker preconditioner and a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse

from ldlearn.core.resources import limit_blas_threads
from ldlearn.core.simplex import Array
from ldlearn.solvers.features import CentredColumns, Features, reciprocal
from ldlearn.solvers.many_labels import LabelCurvatures, SparseObjective, balanced
from ldlearn.solvers.softmax_objective import LocalObjective

__all__ = [
    "Features",
    "LocalObjective",
    "Objective",
    "ObjectiveAt",
    "SoftmaxFit",
    "loss_and_gradient",
    "minimize",
    "softmax_regression",
]

# Shapes: X (n, m), D and P (n, c), coef W (m, c), intercept b (c,). Arrays of shape (n, c) are in Fortran order: sums,
# maxima and products over short rows are then sums, maxima and products of long columns.
_FORCING = 0.1  # relative accuracy of the first Newton systems; later ones are solved the better the nearer the end is
_MANY_STEPS = 25  # conjugate gradient steps after which a better preconditioner is worth making
_LARGEST_BLOCKS = 2 * 10**7  # entries of that preconditioner
_SECANTS = 10  # remembered at most
_LITTLE = 0.25  # of the squared gradient left by a step that is still worth it
_NEAR_END = 100.0  # a step is expected to bring the distance to the minimum down by so much
_NEAR_END_SAMPLED = 20.0  # if second derivatives come from a sample
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
    r"""``T(W) = sum_i lse(z_i) - <D, Z> + l2 |W|^2`` and its gradient (Eqs. 9 and 10 of the DLDL paper).

    Rows count as often as the weights of the features say. Here ``Z = (X - mean) W + b``: with an unpenalised
    intercept the same family of models, better conditioned.
    """
    rows = LocalObjective(features, D).at(W, b)
    gW, gb = rows.gradient()
    return rows.loss + l2 * float(np.vdot(W, W)), gW + 2.0 * l2 * W, gb


def softmax_regression(
    features: Features,
    D: Array,
    *,
    l2: float = 0.0,
    start: SoftmaxFit | None = None,
    tol: float = 1e-10,
    rtol: float = 0.0,
    max_iter: int = 100,
) -> SoftmaxFit:
    r"""Minimise ``KL(D, softmax(X W + b)) + l2 |W|^2`` over W and an unpenalised b.

    If the features have weights, the divergence of each row is multiplied by its own.

    Newton's method: the system is solved by conjugate gradients preconditioned by
    ``scatter(X) (x) C + 2 l2 I`` with ``C`` the mean of ``diag(p_i) - p_i p_i'``, which two small eigendecompositions
    invert. Where that takes many steps (small l2, nearly separable rows), the diagonal blocks of the Hessian itself,
    one for each label, take its place. Logits are linear in the weights, so the line search costs no product with X.
    Of many rows a sample is enough for the second derivative, as long as its errors are made good by secants (the pairs
    of L-BFGS, for which the sampled Newton direction is the first guess); where progress is slow every row takes part.

    The certificate: for any Q with rows on the simplex and the column sums of D, the minimum is at least
    ``-sum Q ln Q - |X'(Q - D)|^2 / (4 l2)`` with X centred (Fenchel duality; the column sums are the intercept's
    condition). For Q = P, the predictions after a few Newton steps on b alone, the loss exceeds that bound by exactly
    ``|gradient in W|^2 / (4 l2)``. It is evaluated in float64 at the weights that are returned.

    Parameters
    ----------
    features : Features
    D : ndarray or csr_array of shape (n, c)
        Rows sum to one. If sparse, nothing of size (n, c) is held: ``logits`` of the fit are then sparse too, the
        log-predictions at the stored labels.
    l2 : float, default=0
    start : SoftmaxFit, default=None
        Where to start: an earlier fit on the same features.
    tol : float, default=1e-10
        Stop when the certified distance to the minimum is at most this per row. With ``l2 = 0`` there is no
        certificate, and half of the squared Newton decrement, an estimate of that distance, takes its place.
    rtol : float, default=0
        Stop also when that distance, or what half of the squared Newton decrement makes of it, is at most this part of
        what the loss has fallen since the start. Then it is not certified: ``gap`` is what it would be if b were
        optimal for W.
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
    steps: dict[str, Any] = {"l2": l2, "start": start, "tol": tol, "rtol": rtol, "max_iter": max_iter}
    with limit_blas_threads():
        if sparse.issparse(D):
            return minimize(SparseObjective(features, D), **steps, balance=balanced)
        return minimize(LocalObjective(features, D), **steps)


class ObjectiveAt(Protocol):
    """The training rows at some weights: the loss without its penalty and its derivatives, all of them sums over rows.

    The solver knows the rows through this alone, so they may lie anywhere.
    """

    loss: float
    exact: bool  # in float64 throughout

    @property
    def logits(self) -> Any:
        """What the rows keep for a later start; the solver never looks."""

    def excess(self) -> Array:
        """Column sums of ``P - D``."""

    def gradient(self) -> tuple[Array, Array]:
        """Of the loss in W and b; in float64 throughout if that was asked for."""

    def hessian_times(self, W: Array, b: Array) -> tuple[Array, Array]:
        """The second derivative of the loss times a direction."""

    def mean_curvature(self) -> Any:
        """The mean over rows of ``diag(p) - p p'``; of very many labels `LabelCurvatures`."""

    def scatters(self) -> Iterable[Array]:
        """``Z' diag(p_j (1 - p_j)) Z`` for each label j, Z being [X - mean, 1]."""

    def along(self, W: Array, b: Array) -> Callable[[float], ObjectiveAt]:
        """The rows at the weights plus t times a direction, as a function of t."""

    def shifted(self, b: Array) -> ObjectiveAt:
        """The rows with another intercept, greater by b."""


class Objective(Protocol):
    """The training rows: features (centred) and degrees D."""

    n: float  # as often as they count
    sampled: bool  # second derivatives come from a sample of the rows; set to False where that is too rough
    n_products: int  # multiplications by X or its transpose so far

    @property
    def features(self) -> CentredColumns:
        """What is known of the columns of X."""

    def mean_degrees(self) -> Array:
        """Column means of D."""

    def at(self, W: Array, b: Array, *, logits: Any = None, exact: bool = False) -> ObjectiveAt:
        """The rows at weights; ``logits`` were kept by rows at these weights.

        ``exact`` asks for float64 throughout, for these rows and for those that are made from them.
        """


_Balance = Callable[[Any, float, float, float], tuple[Any, Array, float]]


def minimize(
    rows: Objective,
    *,
    l2: float,
    start: SoftmaxFit | None,
    tol: float,
    rtol: float = 0.0,
    max_iter: int = 100,
    balance: _Balance | None = None,
) -> SoftmaxFit:
    """What `softmax_regression` does, for rows that may lie anywhere; their number enters through ``tol`` alone.

    ``balance(rows_at, n, l2, goal)`` gives rows whose predictions have the column sums of D, what that adds to b, and
    what it adds to the gap if the sums are only nearly the same; Newton's method on b by default.
    """
    goal = tol * rows.n
    problem = _Problem(rows, l2, goal, balance or _balanced)
    point = problem.start(start)
    first = point.loss
    blocks: _Solve | None = None
    n_iter, converged, forcing = 0, False, _FORCING
    while True:
        if point.bound <= goal and not point.certified:
            point = problem.certified(point.W, point.b)
        converged = point.bound <= goal
        problem.goal = max(goal, rtol * (first - point.loss))
        problem.certifies = problem.goal == goal
        if point.bound <= problem.goal or n_iter == max_iter:
            break
        direction = problem.newton_direction(point, forcing, blocks or problem.preconditioner(point))
        blocks_fit = point.b.size * rows.features.m**2 <= _LARGEST_BLOCKS and balance is None
        if direction.n_steps > _MANY_STEPS and blocks_fit:
            blocks = problem.block_preconditioner(point)
        if direction.decrement <= 2.0 * problem.goal and (l2 == 0 or not problem.certifies):
            converged = l2 == 0
            break
        invisible = direction.decrement <= problem.rounding(point)
        lower = problem.line_search(point, direction)
        slow = lower is None or np.vdot(lower.gW, lower.gW) > _LITTLE * np.vdot(point.gW, point.gW)
        if slow and not point.exact:
            lower = problem.exact(lower or point)  # single precision may be in the way
        elif rows.sampled:
            problem.learn(point, None if slow else lower)
        elif lower is None or (invisible and slow):
            break  # no further progress in floating point
        if direction.decrement > 0.0:  # rounding may have made it negative, and the next direction is then as accurate
            forcing = min(_FORCING, np.sqrt(direction.decrement / rows.n))
        point = lower or point
        n_iter += 1
    if l2 > 0 and rtol == 0 and not point.certified:
        point = problem.certified(point.W, point.b)
        converged = point.bound <= goal
    intercept = point.b - rows.features.mean @ point.W
    return SoftmaxFit(
        point.W, intercept, point.rows.logits, point.loss, point.bound, n_iter, rows.n_products, converged
    )


@dataclass
class _Point:
    W: Array
    b: Array
    rows: ObjectiveAt
    loss: float
    gW: Array  # gradient
    gb: Array
    bound: float  # of the distance to the minimum, if b is optimal for W
    exact: bool = False  # all was computed in float64
    certified: bool = False  # and b is optimal for W


class _Secant(NamedTuple):
    """A step, the change of the gradient along it, and the product of both."""

    W: Array
    b: Array
    gW: Array
    gb: Array
    product: float


@dataclass
class _Direction:
    W: Array
    b: Array
    decrement: float  # minus the slope
    n_steps: int
    ends: bool  # the last, as far as the residual tells


class _Problem:
    """Loss, gradient and Hessian with the penalty, and the moves that the solver makes."""

    def __init__(self, rows: Objective, l2: float, goal: float, balance: _Balance) -> None:
        self.balance = balance
        self.rows = rows
        self.features = rows.features
        self.l2 = l2
        self.goal = goal  # distance to the minimum that is asked for
        self.certifies = True  # whether reaching that is to be proved
        self.secants: list[_Secant] = []

    def start(self, fit: SoftmaxFit | None) -> _Point:
        """An earlier fit, or weights of zero and the intercept that is best for them."""
        if fit is not None:
            W, b = _across_labels(fit.coef), fit.intercept + self.features.mean @ fit.coef
            return self.point(W, b, self.rows.at(W, b, logits=fit.logits))
        degrees = self.rows.mean_degrees()
        b = np.zeros(len(degrees))
        if self.features.fit_intercept:
            b = np.log(np.maximum(degrees, _ABSENT))
            b -= b.mean()
        W = np.zeros((self.features.m, len(b)))
        return self.point(W, b, self.rows.at(W, b))

    def point(self, W: Array, b: Array, rows: ObjectiveAt) -> _Point:
        gW, gb = rows.gradient()
        gW = _across_labels(gW + 2.0 * self.l2 * W)
        bound = float(np.vdot(gW, gW)) / (4.0 * self.l2) if self.l2 > 0 else np.inf
        return _Point(W, b, rows, self.loss(W, rows), gW, _across_labels(gb), bound, rows.exact)

    def loss(self, W: Array, rows: ObjectiveAt) -> float:
        return rows.loss + self.l2 * float(np.vdot(W, W))

    def rounding(self, point: _Point) -> float:
        return _ROUNDING * (abs(point.loss) + self.rows.n)

    def exact(self, point: _Point) -> _Point:
        """The same weights with their own logits in float64."""
        return self.point(point.W, point.b, self.rows.at(point.W, point.b, exact=True))

    def certified(self, W: Array, b: Array) -> _Point:
        """Weights with their own logits in float64 and the intercept that is best for them."""
        rows = self.rows.at(W, b, exact=True)
        left = 0.0
        if self.features.fit_intercept:
            rows, shift, left = self.balance(rows, self.rows.n, self.l2, self.goal)
            b = b + shift
        point = self.point(W, b, rows)
        point.bound = max(point.bound + left, 0.0)  # below 0 by rounding alone
        point.certified = True
        return point

    def newton_direction(self, point: _Point, forcing: float, solve: _Solve) -> _Direction:
        """Conjugate gradients, preconditioned by ``solve``, to the relative accuracy ``forcing``.

        What is known of secants goes around that, as in L-BFGS.
        """
        W, b = np.zeros_like(point.gW), np.zeros_like(point.gb)
        rW, rb = -point.gW, -point.gb
        shares = []
        for secant in reversed(self.secants):
            share = _dot(secant.W, rW, secant.b, rb) / secant.product
            rW, rb = rW - share * secant.gW, rb - share * secant.gb
            shares.append(share)
        zW, zb = solve(rW, rb)
        sW, sb = zW, zb
        rho = first = _dot(rW, zW, rb, zb)
        n_steps = 0
        while rho > forcing**2 * first and n_steps < W.size and not self._is_negligible(rW):
            hW, hb = point.rows.hessian_times(sW, sb)
            hW += 2.0 * self.l2 * sW
            n_steps += 1
            curvature = _dot(sW, hW, sb, hb)
            if curvature <= 0.0:
                break
            t = rho / curvature
            W, b = W + t * sW, b + t * sb
            rW, rb = rW - t * hW, rb - t * hb
            zW, zb = solve(rW, rb)
            previous, rho = rho, _dot(rW, zW, rb, zb)
            sW, sb = zW + (rho / previous) * sW, zb + (rho / previous) * sb
        for secant, share in zip(self.secants, reversed(shares), strict=True):
            left = share - _dot(secant.gW, W, secant.gb, b) / secant.product
            W, b = W + left * secant.W, b + left * secant.b
        near = point.bound <= (_NEAR_END_SAMPLED if self.rows.sampled else _NEAR_END) * self.goal
        ends = self.certifies and near and self._is_negligible(rW)
        return _Direction(W, b, -_dot(point.gW, W, point.gb, b), n_steps, ends)

    def learn(self, point: _Point, lower: _Point | None) -> None:
        """Remember the change of the gradient; where there was little of it, let every row take part from now on."""
        if lower is None:
            self.rows.sampled = False
            self.secants = []
            return
        step = lower.W - point.W, lower.b - point.b, lower.gW - point.gW, lower.gb - point.gb
        product = _dot(step[0], step[2], step[1], step[3])
        if product > 0:
            self.secants = [*self.secants, _Secant(*step, product)][-_SECANTS:]

    def _is_negligible(self, residual: Array) -> bool:
        """Whether a Newton step that leaves this residual would end the iterations."""
        return bool(np.vdot(residual, residual) <= _SLACK * 4.0 * self.l2 * self.goal)

    def line_search(self, point: _Point, direction: _Direction) -> _Point | None:
        """The point at the first of 1, 1/2, 1/4, ... steps that has lowered the loss enough; None if none does."""
        along, t = point.rows.along(direction.W, direction.b), 1.0
        for _ in range(_MAX_HALVINGS):
            W, rows = point.W + t * direction.W, along(t)
            if self.loss(W, rows) <= point.loss - _ARMIJO * t * direction.decrement + self.rounding(point):
                b = point.b + t * direction.b
                return self.certified(W, b) if direction.ends and t == 1.0 else self.point(W, b, rows)
            t *= 0.5
        return None

    def preconditioner(self, point: _Point) -> _Solve:
        """Solve with ``scatter (x) C + 2 l2 I`` (weights) and ``n C`` (intercept), C being the mean curvature.

        Of very many labels C is diagonal. Then features can be centred for each label where it is predicted: around
        that mean they spread about as much as features do at all (just as much if they are normal, their density being
        multiplied by the exponential of a linear score), and apart from it weights and intercept have little to do
        with each other.
        """
        curvature = point.rows.mean_curvature()
        if isinstance(curvature, LabelCurvatures):
            apart, means = self._diagonal_solve(curvature.shares), curvature.means

            def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
                step, step_b = apart(gW - means * gb, gb)
                return _across_labels(step), _across_labels(step_b - np.einsum("ij,ij->j", means, step))

            return solve
        values, U = np.linalg.eigh(curvature)
        apart = self._diagonal_solve(values)

        def solve_rotated(gW: Array, gb: Array) -> tuple[Array, Array]:
            step, step_b = apart(gW @ U, gb @ U)
            return _across_labels(step @ U.T), _across_labels(step_b @ U.T)

        return solve_rotated

    def _diagonal_solve(self, curvature: Array) -> _Solve:
        """`preconditioner` for a diagonal C without negative parts, weights and intercept apart."""
        values = np.maximum(curvature, 0.0)
        # 1 / c is the curvature of even predictions, to weigh the scatter matrix against the penalty.
        scale, Q, scatter, identity = self.features.spectrum(ridge=2.0 * self.l2 * len(values))
        inverse = reciprocal(np.outer(scatter, values) + 2.0 * self.l2 * identity[:, None])
        inverse_b = reciprocal(self.rows.n * values)
        column = scale[:, None]

        def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
            g = column * gW
            core = (g if Q is None else Q.T @ g) * inverse
            return column * (core if Q is None else Q @ core), gb * inverse_b

        return solve

    def block_preconditioner(self, point: _Point) -> _Solve:
        """Solve with the blocks ``Z' diag(p_j (1 - p_j)) Z + 2 l2 I`` of the Hessian, Z being [X - mean, 1].

        The blocks know nothing of the directions along which all labels move together; those are projected out.
        """
        blocks = [_Block(scatter, self.l2) for scatter in point.rows.scatters()]

        def solve(gW: Array, gb: Array) -> tuple[Array, Array]:
            step = np.column_stack([block.solve(g) for block, g in zip(blocks, np.vstack([gW, gb]).T, strict=True)])
            step = _across_labels(step)
            return step[:-1], step[-1] if self.features.fit_intercept else np.zeros_like(gb)

        return solve


def _across_labels(A: Array) -> Array:
    """A without what all labels share: predictions do not depend on it, and the best weights have none."""
    return np.asarray(A - A.sum(axis=-1, keepdims=True) / A.shape[-1])  # `mean` does the same in twice the time


def _dot(A: Array, B: Array, a: Array, b: Array) -> float:
    return float(np.vdot(A, B) + np.vdot(a, b))


def _balanced(rows: ObjectiveAt, n: float, l2: float, goal: float) -> tuple[ObjectiveAt, Array, float]:
    """Rows whose predictions have the column sums of D, and what was added to b: Newton's method, damped.

    If they do not get these sums nothing is known of the distance to the minimum, and infinity is added to its bound.
    """
    total = np.zeros_like(rows.excess())
    for _ in range(_MAX_HALVINGS):
        excess = rows.excess()
        if np.abs(excess).max() <= _BALANCED * n:
            break
        values, U = np.linalg.eigh(rows.mean_curvature())
        step = -U @ (reciprocal(n * np.maximum(values, 0.0)) * (excess @ U))
        before = rows
        for t in 0.5 ** np.arange(_MAX_HALVINGS):
            rows = before.shifted(t * step)
            if rows.loss <= before.loss + _ROUNDING * (abs(before.loss) + n):
                break
        total += t * step
    return rows, total, 0.0 if np.abs(rows.excess()).max() <= _BALANCED * n else np.inf


_Solve = Callable[[Array, Array], tuple[Array, Array]]


class _Block:
    """A factorised block of the Hessian, its rows and columns scaled to a unit diagonal."""

    def __init__(self, scatter: Array, l2: float) -> None:
        diagonal = np.einsum("ii->i", scatter)
        diagonal[:-1] += 2.0 * l2
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, np.finfo(np.float64).tiny))
        scatter *= self.scale[:, None] * self.scale
        diagonal[:] = 1.0 + _RIDGE  # collinear or constant features must not stop the factorisation
        try:
            self.factor = linalg.cho_factor(scatter, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:  # more rounding than the ridge makes up for: the diagonal serves as well, if slower
            self.factor = np.eye(len(scatter)), True

    def solve(self, g: Array) -> Array:
        return np.asarray(self.scale * linalg.cho_solve(self.factor, self.scale * g, check_finite=False))
