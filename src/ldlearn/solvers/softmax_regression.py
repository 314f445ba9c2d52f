"""Softmax regression on label distributions: Newton's method with a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ldlearn.core.resources import limit_blas_threads
from ldlearn.core.simplex import TINY, Array
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.softmax_objective import (
    MAX_HALVINGS,
    ROUNDING,
    LabelCurvatures,
    LocalObjective,
    ObjectiveAt,
    SoftmaxObjective,
    SparseObjective,
)
from ldlearn.solvers.spd import conjugate_gradients, reciprocal, squared_norm

# Shapes: X (n_samples, n_features), D and P (n_samples, n_labels), coef W (n_features, n_labels),
# intercept b (n_labels,). Arrays of shape (n_samples, n_labels) are in Fortran order: operations on
# short rows run along long columns.


@dataclass(frozen=True)
class SoftmaxFit:
    """Coefficients of a softmax regression; ``logits = X @ coef + intercept``."""

    coef: Array
    intercept: Array
    logits: Array  # of the training rows
    loss: float = np.nan
    gap: float = np.inf  # bound of the distance of the loss from its minimum; infinite if l2 is 0
    n_iter: int = 0
    n_products: int = 0  # multiplications by X or its transpose
    converged: bool = False


def loss_and_gradient(
    features: CentredMatrix,
    D: Array,
    l2: float,
    W: Array,
    b: Array,
) -> tuple[float, Array, Array]:
    r"""``T(W) = sum_i lse(z_i) - <D, Z> + l2 |W|^2`` and its gradient: Eqs. 9 and 10 of DLDL.

    Rows are weighted by the sample weights of the features. Here ``Z = (X - mean) W + b``: with an
    unpenalised intercept the same family of models, better conditioned.
    """
    objective = LocalObjective(features, D).at(W, b)
    gW, gb = objective.gradient()
    return objective.loss + l2 * squared_norm(W), gW + 2.0 * l2 * W, gb


def softmax_regression(
    features: CentredMatrix,
    D: Array,
    *,
    l2: float = 0.0,
    start: SoftmaxFit | None = None,
    tol: float = 1e-10,
    rtol: float = 0.0,
    max_iter: int = 100,
) -> SoftmaxFit:
    r"""Minimise ``KL(D, softmax(X W + b)) + l2 |W|^2`` over W and an unpenalised b.

    If the features have sample weights, the divergence of each row is multiplied by its weight.

    Newton's method: the system is solved by conjugate gradients preconditioned by
    ``scatter(X) (x) C + 2 l2 I`` with ``C`` the mean of ``diag(p_i) - p_i p_i'``, which two small
    eigendecompositions invert. If that takes many steps (small l2, nearly separable rows), the
    diagonal blocks of the Hessian itself, one for each label, become the preconditioner. Logits are
    linear in the coefficients, so the line search costs no product with X. With many rows the
    second derivative comes from a sample, corrected by secants (the pairs of L-BFGS, for which the
    sampled Newton direction is the initial guess); if progress is slow, all rows are used.

    The certificate: for any Q with rows on the simplex and the column sums of D, the minimum is at
    least ``-sum Q ln Q - |X'(Q - D)|^2 / (4 l2)`` with X centred (Fenchel duality; the column sums
    are the intercept's condition). For Q = P, the predictions after a few Newton steps on b alone,
    the loss exceeds that bound by exactly ``|gradient in W|^2 / (4 l2)``. It is evaluated in
    float64 at the coefficients that are returned.

    Parameters
    ----------
    features : CentredMatrix
    D : ndarray or csr_array of shape (n_samples, n_labels)
        Rows sum to one. If sparse, no dense array of this shape is stored: ``logits`` of the fit
        are sparse, too: the log-predictions at the stored labels.
    l2 : float, default=0
    start : SoftmaxFit, default=None
        Warm start: an earlier fit on the same features.
    tol : float, default=1e-10
        Stop when the certified distance to the minimum is at most this per row. With ``l2 = 0``
        there is no certificate, and half of the squared Newton decrement, an estimate of that
        distance, takes its place.
    rtol : float, default=0
        Stop also when that distance, or half of the squared Newton decrement, is at most this part
        of the decrease of the loss since the start. Then it is not certified: ``gap`` is its value
        if b were optimal for W.
    max_iter : int, default=100
        With ``l2 = 0`` there may be no finite minimiser; then the iterations end here or where
        progress does.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core import softmax
    >>> X = np.array([[-1.0], [1.0]])
    >>> fit = softmax_regression(CentredMatrix(X), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> softmax(X @ fit.coef + fit.intercept).round(5)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    kind = SparseObjective if sparse.issparse(D) else LocalObjective
    with limit_blas_threads():
        return minimize_softmax(
            kind(features, D),
            l2=l2,
            start=start,
            tol=tol,
            rtol=rtol,
            max_iter=max_iter,
        )


def minimize_softmax(
    objective: SoftmaxObjective,
    *,
    l2: float,
    start: SoftmaxFit | None,
    tol: float,
    rtol: float = 0.0,
    max_iter: int = 100,
    max_cg_steps: int = 25,
    max_block_entries: int = 2 * 10**7,
) -> SoftmaxFit:
    """`softmax_regression` for any objective.

    After more than ``max_cg_steps`` conjugate gradient steps for
    one direction the blocks of the Hessian become the preconditioner, if they have at most
    ``max_block_entries`` entries and products with the features are not cheap.
    """
    goal = tol * objective.n
    problem = _SoftmaxProblem(objective, l2, goal)
    point = problem.start(start)
    initial = point.loss
    blocks: _Solve | None = None
    # Relative accuracy of the first Newton systems; later ones are solved more accurately.
    max_forcing = 0.1
    forcing = max_forcing
    features = objective.features
    block_entries = len(point.theta[0]) * features.m**2
    blocks_fit = block_entries <= max_block_entries and not objective.has_many_labels
    blocks_fit = blocks_fit and not features.has_cheap_products
    n_iter = 0
    while True:
        if point.bound <= goal and not point.certified:
            point = problem.certify(point.theta, point.objective)
        converged = point.bound <= goal
        problem.goal = max(goal, rtol * (initial - point.loss))
        problem.certifies = problem.goal == goal
        if point.bound <= problem.goal or n_iter == max_iter:
            break
        solve = blocks or problem.preconditioner(point)
        direction = problem.newton_direction(point, forcing, solve)
        if direction.n_steps > max_cg_steps and blocks_fit:
            blocks = problem.block_preconditioner(point)
        if direction.decrement <= 2.0 * problem.goal and (l2 == 0 or not problem.certifies):
            converged = l2 == 0
            break
        invisible = direction.decrement <= problem.rounding_error(point)
        lower = problem.line_search(point, direction)
        slow = lower is None or lower.squared_slope > 0.25 * point.squared_slope
        if slow and not point.objective.exact:
            point = lower or point  # single precision may be in the way
            lower = problem.point(point.theta, problem.in_float64(point.theta, point.objective))
        elif problem.sample is not None:
            problem.add_secant(point, None if slow else lower)
        elif lower is None or (invisible and slow):
            break  # no further progress in floating point
        # Rounding may have made it negative, and the next direction is then as accurate.
        if direction.decrement > 0.0:
            forcing = min(max_forcing, np.sqrt(direction.decrement / objective.n))
        point = lower or point
        n_iter += 1
    if l2 > 0 and rtol == 0 and not point.certified:
        point = problem.certify(point.theta, point.objective)
        converged = point.bound <= goal
    coef = point.theta[:-1]
    return SoftmaxFit(
        coef=coef,
        intercept=point.theta[-1] - objective.features.mean @ coef,
        logits=point.objective.logits,
        loss=point.loss,
        gap=point.bound,
        n_iter=n_iter,
        n_products=objective.n_products,
        converged=converged,
    )


_Solve = Callable[[Array], Array]


@dataclass
class _Point:
    theta: Array  # (n_features + 1, n_labels): W, and b in the last row
    objective: ObjectiveAt
    loss: float
    gradient: Array  # of the shape of theta, as all directions below
    bound: float  # of the distance to the minimum, if b is optimal for W
    certified: bool = False  # b is optimal for W, and all was computed in float64

    @property
    def squared_slope(self) -> float:
        """Squared length of the gradient in W."""
        return squared_norm(self.gradient[:-1])


@dataclass
class _Direction:
    theta: Array
    decrement: float  # minus the slope
    n_steps: int
    is_last: bool  # expected to reach the tolerance


class _SoftmaxProblem:
    """Loss, gradient and Hessian with the penalty, and the steps of the solver."""

    def __init__(self, objective: SoftmaxObjective, l2: float, goal: float) -> None:
        self.objective = objective
        self.features = objective.features
        self.l2 = l2
        self.goal = goal  # distance to the minimum that is asked for
        self.certifies = True  # whether the goal has to be certified
        # For second derivatives; None if they turn out to be too inaccurate. A sample may miss one
        # of many labels.
        self.sample = None if objective.has_many_labels else objective.features.hessian_sample
        # Steps, changes of the gradient, their inner products.
        self.secants: list[tuple[Array, Array, float]] = []

    def start(self, fit: SoftmaxFit | None) -> _Point:
        """An earlier fit, or zero coefficients and the optimal intercept for them."""
        if fit is not None:
            coef = _subtract_label_means(fit.coef)
            b = fit.intercept + self.features.mean @ fit.coef
            objective = self.objective.at(coef, b, logits=fit.logits)
            return self.point(np.vstack([coef, b]), objective)
        degrees = self.objective.degree_sums / self.objective.n
        theta = np.zeros((self.features.m + 1, len(degrees)))
        if self.features.fit_intercept:
            b = np.log(np.maximum(degrees, 1e-30))  # a label that no row has gets a small degree
            theta[-1] = b - b.mean()
        return self.point(theta, self.objective.at(theta[:-1], theta[-1]))

    def point(self, theta: Array, objective: ObjectiveAt) -> _Point:
        gradient = self.add_penalty_derivative(np.vstack(objective.gradient()), theta)
        point = _Point(
            theta=theta,
            objective=objective,
            loss=self.loss(theta, objective),
            gradient=_subtract_label_means(gradient),
            bound=np.inf,
        )
        if self.l2 > 0:
            point.bound = point.squared_slope / (4.0 * self.l2)
        return point

    def loss(self, theta: Array, objective: ObjectiveAt) -> float:
        return objective.loss + self.l2 * squared_norm(theta[:-1])

    def add_penalty_derivative(self, product: Array, theta: Array) -> Array:
        """A derivative of the loss without the penalty, to which that of the penalty is added."""
        product[:-1] += 2.0 * self.l2 * theta[:-1]
        return product

    def rounding_error(self, point: _Point) -> float:
        return ROUNDING * (abs(point.loss) + self.objective.n)

    def in_float64(self, theta: Array, objective: ObjectiveAt) -> ObjectiveAt:
        """The objective with logits recomputed in float64 unless they were."""
        if objective.exact:
            return objective
        return self.objective.at(theta[:-1], theta[-1], exact=True)

    def certify(self, theta: Array, objective: ObjectiveAt) -> _Point:
        """The same coefficients in float64, with the optimal intercept for them."""
        objective = self.in_float64(theta, objective)
        left = 0.0
        if self.features.fit_intercept:
            objective, shift, left = objective.balance(self.l2, self.goal)
            theta = np.vstack([theta[:-1], theta[-1] + shift])
        point = self.point(theta, objective)
        point.bound = max(point.bound + left, 0.0)  # below 0 by rounding alone
        point.certified = True
        return point

    def newton_direction(self, point: _Point, forcing: float, solve: _Solve) -> _Direction:
        """Conjugate gradients, preconditioned by ``solve``, to the relative accuracy ``forcing``.

        Secants are applied around that, as in the two loops of L-BFGS.
        """
        r = -point.gradient
        n_labels = r.shape[1]
        coefficients = []
        for step, change, product in reversed(self.secants):
            coefficients.append(np.vdot(step, r) / product)
            r = r - coefficients[-1] * change
        at = point.objective
        factor = 1.0
        if self.sample is not None:  # the second derivative does not depend on degrees
            rows = LocalObjective(self.sample, np.zeros((self.sample.n, n_labels)))
            at = rows.at(point.theta[:-1], point.theta[-1])
            factor = self.objective.n / rows.n

        def hessian_product(s: Array) -> Array:
            product = factor * np.vstack(at.hessian_product(s[:-1], s[-1]))
            return self.add_penalty_derivative(product, s)

        theta, r, n_steps = conjugate_gradients(
            hessian_product,
            solve,
            r,
            rtol=forcing,
            max_steps=self.features.m * n_labels,
            is_solved=self._is_negligible,
        )
        for step, change, product in self.secants:
            coefficient = coefficients.pop() - np.vdot(change, theta) / product
            theta = theta + coefficient * step
        # A step is expected to reduce the distance to the minimum by 100, or 20 with a sampled
        # Hessian.
        reduction = 100.0 if self.sample is None else 20.0
        near = point.bound <= reduction * self.goal
        return _Direction(
            theta=theta,
            decrement=-np.vdot(point.gradient, theta),
            n_steps=n_steps,
            is_last=self.certifies and near and self._is_negligible(r),
        )

    def add_secant(self, point: _Point, lower: _Point | None) -> None:
        """Learn the curvature along a step; without one forget the sample and the secants."""
        if lower is None:
            self.sample = None
            self.secants = []
            return
        step = lower.theta - point.theta
        change = lower.gradient - point.gradient
        product = np.vdot(step, change)
        if product > 0:
            self.secants.append((step, change, product))
            self.secants = self.secants[-10:]

    def _is_negligible(self, residual: Array) -> bool:
        """Whether a Newton step that leaves this residual would end the iterations."""
        return squared_norm(residual[:-1]) <= 0.1 * 4.0 * self.l2 * self.goal

    def line_search(self, point: _Point, direction: _Direction) -> _Point | None:
        """The point at the first of 1, 1/2, 1/4, ... steps that lowers the loss enough, or None."""
        along = point.objective.along(direction.theta[:-1], direction.theta[-1])
        highest = point.loss + self.rounding_error(point)
        for t in 0.5 ** np.arange(MAX_HALVINGS):
            theta = point.theta + t * direction.theta
            objective = along(t)
            if self.loss(theta, objective) > highest - 1e-4 * t * direction.decrement:
                continue
            if direction.is_last and t == 1.0:
                return self.certify(theta, objective)
            return self.point(theta, objective)
        return None

    def preconditioner(self, point: _Point) -> _Solve:
        """Solve with ``scatter (x) C + 2 l2 I`` for W and ``n C`` for b, C the mean curvature.

        With many labels C is diagonal. Then features can be centred for each label by their mean
        under its predictions: around it they spread about as much as overall (exactly so for normal
        features, whose density is multiplied by the exponential of a linear score), and
        coefficients and intercept nearly decouple.
        """
        curvature = point.objective.mean_curvature()
        if isinstance(curvature, LabelCurvatures):
            decoupled = self._diagonal_solve(curvature.mean_predictions)
            means = curvature.means

            def solve(g: Array) -> Array:
                centred = g[:-1] - means * g[-1]
                step = decoupled(np.vstack([centred, g[-1]]))
                step[-1] -= np.einsum("ij,ij->j", means, step[:-1])
                return _subtract_label_means(step)

            return solve
        values, U = np.linalg.eigh(curvature)
        decoupled = self._diagonal_solve(values)
        return lambda g: _subtract_label_means(decoupled(g @ U) @ U.T)

    def _diagonal_solve(self, curvature: Array) -> _Solve:
        """`preconditioner` for a diagonal C, coefficients and intercept separately."""
        solve = self.features.ridge_solver(curvature, self.l2)
        inverse = reciprocal(self.objective.n * np.maximum(curvature, 0.0))
        return lambda g: np.vstack([solve(g[:-1]), g[-1] * inverse])

    def block_preconditioner(self, point: _Point) -> _Solve:
        """Solve with the blocks ``Z' diag(p_j (1 - p_j)) Z + 2 l2 I`` of the Hessian.

        Z is ``[X - mean, 1]``. Directions in which all labels change alike are not in the blocks;
        they are projected out.
        """
        objective: Any = point.objective
        blocks = [_block_solver(scatter, self.l2) for scatter in objective.label_scatters()]

        def solve(g: Array) -> Array:
            steps = [block(column) for block, column in zip(blocks, g.T, strict=True)]
            step = _subtract_label_means(np.column_stack(steps))
            step[-1] *= self.features.fit_intercept
            return step

        return solve


def _subtract_label_means(A: Array) -> Array:
    """A minus its mean over labels, on which predictions do not depend and which is optimally 0."""
    # `mean` does the same in twice the time.
    return A - A.sum(axis=-1, keepdims=True) / A.shape[-1]


def _block_solver(scatter: Array, l2: float) -> _Solve:
    """Solve with a factorised block of the Hessian, scaled to a unit diagonal."""
    diagonal = np.einsum("ii->i", scatter)
    diagonal[:-1] += 2.0 * l2
    scale = 1.0 / np.sqrt(np.maximum(diagonal, TINY))
    scatter *= scale[:, None] * scale
    diagonal[:] = 1.0 + 1e-10  # collinear or constant features must not stop the factorisation
    try:
        factor = linalg.cho_factor(scatter, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        # More rounding than the ridge makes up for: the diagonal serves as well, if slower.
        return lambda g: scale**2 * g
    return lambda g: scale * linalg.cho_solve(factor, scale * g, check_finite=False)
