"""Newton's method for entropy plus a quadratic over simplices, with a certified gap."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ldlearn.core.resources import in_threads
from ldlearn.core.scaling import CACHED_ENTRIES, row_batches
from ldlearn.core.simplex import Array, Indices, Mask, log_degrees, row_weights, take_rows
from ldlearn.solvers.spd import conjugate_gradients

# Arrays of shape (n_samples, n_labels) are in Fortran order: operations on short rows run along
# long columns.
_MAX_POSITIVES = CACHED_ENTRIES // 8  # of a block: a dozen arrays of this size stay in cache


class Support:
    """The positive labels of each row, and blocks of rows with the same number of positive labels.

    Parameters
    ----------
    Y : boolean ndarray of shape (n_samples, n_labels)
        At least one positive label in each row.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_labels).
    blocks : list of ndarray
        Row indices; every row is in one block.

    Examples
    --------
    >>> import numpy as np
    >>> support = Support(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=bool))
    >>> [rows.tolist() for rows in support.blocks]
    [[1], [0, 2]]
    """

    def __init__(self, Y: Mask) -> None:
        self.shape: tuple[int, int] = Y.shape
        rows, labels = np.nonzero(Y)
        self.indices = labels.astype(np.int32)
        self.indptr = np.searchsorted(rows, np.arange(len(Y) + 1))
        counts = np.diff(self.indptr)
        self.blocks: list[Indices] = []
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            for batch in row_batches(len(rows), count, _MAX_POSITIVES):
                self.blocks.append(rows[batch])

    def equal_shares(self) -> sparse.csr_array:
        """Equal degrees of the positive labels of each row."""
        counts = np.diff(self.indptr)
        shares = 1.0 / np.maximum(counts, 1)
        return self.to_csr(np.repeat(shares, counts))

    def entry_positions(self, rows: Indices) -> Indices:
        """Positions of the entries of these rows in ``indices``, one column per row."""
        first = rows[0]
        count = self.indptr[first + 1] - self.indptr[first]
        return self.indptr[rows] + np.arange(count)[:, None]

    @cached_property
    def flat_positions(self) -> list[Indices]:
        """For each block, the positions of its entries in a flat array in Fortran order."""
        n = np.intp(self.shape[0])  # positions may exceed 32 bits
        return [self.indices[self.entry_positions(rows)] * n + rows for rows in self.blocks]

    def mask(self) -> Mask:
        """A boolean array, True at the positive labels."""
        values = np.ones(len(self.indices), dtype=bool)
        return self.to_csr(values).toarray()

    def to_csr(self, values: Array) -> sparse.csr_array:
        """A sparse array with these values, given row by row."""
        entries = (values, self.indices, self.indptr)
        return sparse.csr_array(entries, shape=self.shape)


def has_few_positives(Y: Mask) -> bool:
    """Whether sparse storage pays: at least 64 labels, of which at most one in 8 is positive."""
    return Y.shape[1] >= 64 and bool(8 * np.count_nonzero(Y) <= Y.size)


@dataclass(frozen=True)
class SimplexSolution:
    """The result of `newton_simplex` with a bound of its distance from the optimum."""

    D: Any  # of the kind of the prior: ndarray or csr_array
    gap: Array  # per row; the sum bounds U(D) - min U from above
    objective: float
    n_iter: int  # Newton steps
    converged: bool


def newton_simplex(
    log_prior: Any,
    support: Mask | Support,
    *,
    laplacian: Any = None,
    beta: float | Array = 0.0,
    sample_weight: Array | None = None,
    between_labels: Array | None = None,
    start: Array | None = None,
    tol: float = 1e-9,
    max_iter: int = 100,
) -> SimplexSolution:
    r"""Minimise entropy plus a quadratic over rows on the simplex of their supports.

    .. math::

        U(D) = \sum_i w_i (\sum_j D_{ij} (\ln D_{ij} - L_{ij}) + \beta_i |d_i|^2 + d_i^T Q d_i)
        + tr(D^T G D)

    With ``L = ln P`` this is the D-step of DLDL. U is strictly convex for a Laplacian G.

    The iterate is kept as ``ln D``, so that no entry can leave the interior. The direction
    ``V = dD / D`` is found by conjugate gradients in the inner product weighted by D, restricted to
    ``sum_j D_ij V_ij = 0``, and preconditioned by the diagonal of the Hessian together with that
    constraint (closed form per row). The step along V inverts the separable part ``ln d + q d``
    exactly, so that without a graph only one multiplier per row remains to be found.

    Parameters
    ----------
    log_prior : ndarray or csr_array of shape (n_samples, n_labels)
        L; values off the support are ignored. Without a graph it may be sparse, its entries those
        of the support; then so are ``start`` and the result.
    support : boolean ndarray of shape (n_samples, n_labels), or Support
        At least one True in each row. Pass a `Support` to solve repeatedly with the same one.
    laplacian : sparse array of shape (n_samples, n_samples), default=None
        G, symmetric positive semi-definite: the Laplacian of a graph, times its penalty.
    beta : float or ndarray of shape (n_samples,), default=0
        One value, or one for each row.
    sample_weight : ndarray of shape (n_samples,), default=None
        w: positive, all 1 by default. The graph term is not weighted.
    between_labels : ndarray of shape (n_labels, n_labels), default=None
        Q, symmetric positive semi-definite: a penalty on pairs of degrees of a row.
    start : ndarray of shape (n_samples, n_labels), default=None
        Distributions for a warm start; by default ``exp(L)`` renormalised on the support. Whichever
        of the two is lower (row by row, if there is no graph) is used, so the result is never above
        ``U(start)``.
    tol : float, default=1e-9
        Stop when the weighted mean of the rows' Frank-Wolfe gaps is at most this; without a graph,
        a row stops when its own gap is, so that its result does not depend on other rows.
    max_iter : int, default=100

    Returns
    -------
    SimplexSolution

    Examples
    --------
    >>> import numpy as np
    >>> P, Y = np.array([[0.1, 0.3, 0.6]]), np.array([[True, True, False]])
    >>> newton_simplex(np.log(P), Y).D
    array([[0.25, 0.75, 0.  ]])
    >>> newton_simplex(np.log(P), Y, beta=1e6).D.round(3)
    array([[0.5, 0.5, 0. ]])
    """
    if laplacian is not None or between_labels is not None:
        mask = support.mask() if isinstance(support, Support) else support
        problem = _SimplexProblem(log_prior, mask, laplacian, beta, sample_weight, between_labels)
        return problem.solve(start, tol, max_iter)
    # Without a graph rows are independent: solve blocks of rows with equally many positive labels.
    support = support if isinstance(support, Support) else Support(support)
    D: Any
    if sparse.issparse(log_prior):
        D = support.to_csr(np.zeros(len(support.indices)))
        places = [support.entry_positions(rows) for rows in support.blocks]
    else:
        D = np.zeros(support.shape, order="F")
        places = support.flat_positions
    priors = _stored_values(log_prior)
    degrees = _stored_values(D)
    starts = None if start is None else _stored_values(start)
    gap = np.zeros(len(support.indptr) - 1)
    betas = np.broadcast_to(beta, gap.shape)

    def solve(block: tuple[Indices, Indices]) -> tuple[float, int, bool]:
        rows, places = block
        weights = take_rows(sample_weight, rows)
        block_start = None if starts is None else starts[places].T
        problem = _SimplexProblem(priors[places].T, None, None, betas[rows], weights)
        found = problem.solve(block_start, tol, max_iter)
        degrees[places] = found.D.T
        gap[rows] = found.gap
        return found.objective, found.n_iter, found.converged

    blocks = list(zip(support.blocks, places, strict=True))
    objectives, n_iter, converged = zip(*in_threads(solve, blocks), strict=True)
    return SimplexSolution(D, gap, sum(objectives), max(n_iter), all(converged))


def _stored_values(A: Any) -> Array:
    """The stored entries of A as a vector, by rows if A is sparse, else by columns; not a copy."""
    return A.data if sparse.issparse(A) else np.asfortranarray(A).T.reshape(-1)


class _SimplexPoint(NamedTuple):
    logD: Array
    D: Array
    quadratic: Array  # gradient of the quadratic part of U
    values: Array  # U row by row, the graph term divided among its rows


class _SimplexProblem:
    """Value, gradient and Hessian of U in the coordinates of the solver, and the solver's steps."""

    def __init__(
        self,
        log_prior: Array,
        support: Mask | None,
        laplacian: Any,
        beta: float | Array,
        sample_weight: Array | None,
        between_labels: Array | None = None,
    ) -> None:
        # None stands for every label of every row.
        self.support = None if support is None else np.asfortranarray(support)
        self.L = self.fill_off_support(np.asfortranarray(log_prior), 0.0)
        # Of a row's entropy, prior and beta.
        self.weight = row_weights(self.L, sample_weight)[:, None]
        beta = np.reshape(beta, (-1, 1))
        self.curvature = self.weight * (2.0 * beta)
        self.diagonal = self.curvature
        self.Q = None
        if between_labels is not None:
            self.Q = 2.0 * between_labels
            self.diagonal = self.diagonal + self.weight * np.diag(self.Q)
        self.G = None
        if laplacian is not None:
            self.G = 2.0 * sparse.csr_array(laplacian)
            self.diagonal = self.diagonal + self.G.diagonal()[:, None]

    def fill_off_support(self, A: Array, elsewhere: float) -> Array:
        return A if self.support is None else np.where(self.support, A, elsewhere)

    def exceeds(self, values: Array, limits: Array) -> Mask:
        """Whether values of rows are above limits: row by row, or with a graph all together.

        Without a graph every row must be treated by itself: its result does not depend on others.
        """
        if self.G is None:
            return values > limits
        return np.full(len(values), values.sum() > limits.sum())

    def quadratic_gradient(self, D: Array) -> Array:
        """Gradient of the quadratic part: ``2 G D + 2 beta D + 2 D Q``."""
        gradient = self.curvature * D
        if self.Q is not None:
            gradient += self.weight * (D @ self.Q)
        if self.G is not None:
            gradient = np.asfortranarray(self.G @ D) + gradient
        return gradient

    def solve(self, start: Array | None, tol: float, max_iter: int) -> SimplexSolution:
        goals = tol * self.weight[:, 0]
        point = self.starting_point(start)
        n_iter = 0
        previous_gap = np.inf
        while True:
            logD, D, quadratic, values = point
            slope = self.weight * (logD - self.L + 1.0) + quadratic
            gradient = self.fill_off_support(slope, 0.0)
            # The Frank-Wolfe gap of each row: <g_i, d_i> - min_j g_ij over the support.
            smallest = self.fill_off_support(gradient, np.inf).min(axis=1, keepdims=True)
            gap = np.einsum("ij,ij->i", D, gradient - smallest)
            converged = bool(gap.sum() <= goals.sum())
            moving = self.exceeds(gap, goals)
            if not moving.any() or n_iter == max_iter:
                break
            V = self.newton_direction(D, gradient) * moving[:, None]
            slopes = np.einsum("ij,ij,ij->i", D, gradient, V)
            largest = np.max(self.weight * np.abs(self.L), axis=1)
            rounding = 1e-15 * (np.abs(values) + largest)
            lower = self.line_search(point, V, slopes, rounding)
            moving_gap = gap[moving].sum()
            # A gap below a thousand rounding errors that did not decrease will not decrease any
            # further.
            if lower is None or previous_gap <= moving_gap <= 1e3 * rounding[moving].sum():
                break
            previous_gap = moving_gap
            point = lower
            n_iter += 1
        return SimplexSolution(D, gap, values.sum(), n_iter, converged)

    def evaluate(self, logD: Array) -> _SimplexPoint:
        """Renormalise ``logD`` and evaluate U there."""
        logD = self.fill_off_support(logD, -np.inf)
        logD = logD - logD.max(axis=1, keepdims=True)
        D = np.exp(logD)
        total = D.sum(axis=1, keepdims=True)
        D /= total
        logD = self.fill_off_support(logD - np.log(total), 0.0)
        quadratic = self.quadratic_gradient(D)
        # A quadratic form is half the product of D with its gradient.
        terms = self.weight * (logD - self.L) + 0.5 * quadratic
        values = np.einsum("ij,ij->i", D, terms)
        return _SimplexPoint(logD, D, quadratic, values)

    def starting_point(self, start: Array | None) -> _SimplexPoint:
        """The prior or the start, whichever has the lower U (row by row without a graph)."""
        prior = self.evaluate(self.L)
        if start is None:
            return prior
        warm = self.evaluate(log_degrees(np.asfortranarray(start)))
        is_lower = self.exceeds(prior.values, warm.values)
        pairs = zip(warm, prior, strict=True)
        arrays = [np.where(is_lower, a.T, b.T).T for a, b in pairs]
        return _SimplexPoint(*arrays)

    def newton_direction(self, D: Array, gradient: Array) -> Array:
        """Solve ``w V + Q(D V) + gradient = const per row``, ``sum_j D_ij V_ij = 0``."""
        # In V = dD / D and the inner product weighted by D the Hessian of the entropy is w times
        # the identity, however small a degree is: in dD it would be w / D, and the system
        # hopelessly scaled.
        scale = self.weight + D * self.diagonal
        inverse = D / scale
        total = inverse.sum(axis=1, keepdims=True)

        def precondition(R: Array) -> Array:
            multiplier = np.einsum("ij,ij->i", inverse, R)[:, None] / total
            return (R - multiplier) / scale

        # The free constant of each row is taken such that R obeys the constraint,
        # sum_j D_ij R_ij = 0.
        R = np.einsum("ij,ij->i", D, gradient)[:, None] - gradient
        if self.G is None and self.Q is None:
            return precondition(R)  # the preconditioner is the Hessian
        return conjugate_gradients(
            lambda S: self.weight * S + self.quadratic_gradient(D * S),
            precondition,
            R,
            rtol=1e-2,
            max_steps=D.size,
            dot=lambda A, B: np.einsum("ij,ij,ij->", D, A, B),
        )[0]

    def retract(self, logD: Array, D: Array, V: Array) -> Array:
        """The logarithm of d+ with ``ln d+ + q d+ = ln d + q d + (1 + q d) v``.

        That is exact for the separable part of U.
        """
        q = self.diagonal / self.weight
        log_q = np.log(np.maximum(q, 1e-30))  # q is 0 for an isolated row without beta
        qD = q * D
        return _log_omega((1.0 + qD) * V + qD + logD + log_q) - log_q

    def line_search(
        self,
        point: _SimplexPoint,
        V: Array,
        slopes: Array,
        rounding: Array,
    ) -> _SimplexPoint | None:
        """Backtrack until U decreases; without a graph every row has its own step length."""
        t = np.ones((len(V), 1))
        for _ in range(40):
            logD = self.retract(point.logD, point.D, t * V)
            lower = self.evaluate(logD)
            increase = lower.values - point.values - 1e-4 * t.ravel() * slopes
            failed = self.exceeds(increase, rounding)
            if not failed.any():
                return lower
            t[failed] *= 0.5
        return None


def _log_omega(z: Array) -> Array:
    """The u with ``u + exp(u) = z``, by three steps of Halley's method.

    That is the logarithm of the Wright omega function. From ``min(z, ln max(z, 1))``, which is
    never below u, the steps arrive at rounding for every z.
    """
    u = np.minimum(z, np.log(np.maximum(z, 1.0)))
    for _ in range(3):
        e = np.exp(u)
        slope = 1.0 + e
        step = (u + e - z) / slope
        u -= step / (1.0 - 0.5 * step * e / slope)
    return u
