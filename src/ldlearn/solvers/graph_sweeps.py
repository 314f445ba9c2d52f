"""Entropy plus a graph over rows on simplices: every row solved by itself, given the others, all at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ldlearn.core.logical import Support
from ldlearn.core.resources import in_threads, thread_count
from ldlearn.core.simplex import Array

if TYPE_CHECKING:
    from ldlearn.solvers.newton_simplex import SimplexSolution

    # Of a prior, curvatures, weights, a start and a tolerance, rows being columns; None if it does not get there.
    SolveRows = Callable[[Array, Array, Array | None, Array | None, float], SimplexSolution | None]

_MORE_SWEEPS = 6  # if more are to be expected, Newton's method is quicker
_OF_ROWS = 0.1  # of the tolerance is left to the rows, the rest to what is between them
_ROUNDING = 1e-9  # of a degree


def is_graph_laplacian(G: Any) -> bool:
    """Whether nothing is positive off the diagonal and no row sums to less than zero, up to rounding."""
    # The diagonal has n entries at most, so that any further positive one lies beside it.
    n, diagonal = G.shape[0], G.diagonal()
    return bool(np.count_nonzero(G.data > 0) <= n and (G @ np.ones(n) >= -_ROUNDING * diagonal).all())


class GraphSweeps:
    r"""Sweeps over the rows of the problem of `newton_simplex` with a graph.

    With ``G = diag(g) - A``, each row minimises its part of U given the others, which pull it by ``2 alpha A D``:

    .. math::

        d_i \leftarrow argmin_d\; w_i (\sum_j d_j (\ln d_j - L_{ij}) + \beta_i |d|^2) + \alpha g_i |d|^2
            - 2 \alpha \langle (A D)_i, d \rangle

    Although all rows move at once, no sweep raises U: it falls by at least ``alpha tr(E' (diag(g) + A) E)`` for a
    change E, and like ``diag(g) - A`` that matrix is positive semi-definite. At the new D the gradient is constant on
    the support of each row, but for the change of the pulls: one product with G is all that a sweep and its
    certificate need. The error shrinks by the share of the graph in the curvature: much where alpha is small.

    Parameters
    ----------
    solve_rows : callable
        Solves such rows.
    log_prior, alpha, beta, weights
        As in `newton_simplex`.
    support : Support
    laplacian : csr_array of shape (n, n)
        For which `is_graph_laplacian` holds.

    Attributes
    ----------
    D : ndarray of shape (n, c)
    gap : ndarray of shape (n,)
        At least the Frank-Wolfe gap of each row.
    objective : float
        U.
    n_products : int
        How often a matrix was multiplied by G.
    """

    def __init__(
        self,
        solve_rows: SolveRows,
        log_prior: Array,
        support: Support,
        laplacian: Any,
        alpha: float,
        beta: float | Array,
        weights: Array | None,
    ) -> None:
        n, c = support.shape
        self.D, self.gap, self.objective, self.n_products = np.zeros((n, c)), np.zeros(n), np.inf, 0
        self.G = _row_parts(laplacian, thread_count())
        self.twice_alpha, own = 2.0 * alpha, 2.0 * alpha * np.asarray(laplacian.diagonal())
        counts = np.ones(n) if weights is None else weights
        curvatures = 2.0 * beta + own / counts
        self.total = float(counts.sum())
        self.blocks = [
            _Block(
                solve_rows,
                rows,
                support.labels(rows) + rows * np.intp(c),
                support.take(log_prior, rows),
                curvatures[rows],
                own[rows],
                None if weights is None else weights[rows],
            )
            for rows in support.blocks
        ]

    def run(self, start: Array | None, tol: float) -> bool | None:
        """Sweep until the gap, averaged over the rows, is ``tol``, or many more sweeps would be needed; whether it is.

        None if a row could not be solved.
        """
        if start is not None:
            self.D[...] = start
        product, goal, previous = self._product(), tol * self.total, np.inf
        for block in self.blocks:
            block.begin(self.D, product, self.twice_alpha)
        while self._sweep(_OF_ROWS * tol):
            gap = float(self.gap.sum())
            if gap <= goal:
                return True
            if not gap * (gap / previous) ** _MORE_SWEEPS <= goal:
                return False
            previous = gap
        return None

    def _sweep(self, tol: float) -> bool:
        """Solve all rows to ``tol``; whether that could be done."""
        if not all(in_threads(lambda block: block.solve(self.D, tol), self.blocks)):
            return False
        product = self._product()
        self.objective = sum(in_threads(lambda block: block.certify(product, self.twice_alpha, self.gap), self.blocks))
        return True

    def _product(self) -> Array:
        """``G D``."""
        self.n_products += 1
        parts = in_threads(lambda part: part @ self.D, self.G)
        return np.asarray(parts[0] if len(parts) == 1 else np.concatenate(parts))


class _Block:
    """Some rows with equally many positive labels, each a column of the arrays."""

    def __init__(
        self,
        solve_rows: SolveRows,
        rows: NDArray[np.intp],
        places: NDArray[np.intp],
        prior: Array,
        curvature: Array,
        own: Array,
        weights: Array | None,
    ) -> None:
        self.solve_rows, self.rows, self.places = solve_rows, rows, places  # in D as one vector, row after row
        self.prior, self.curvature, self.weights = prior, curvature, weights
        self.own = own  # 2 alpha g
        self.D: Array | None = None

    def begin(self, D: Array, product: Array, twice_alpha: float) -> None:
        """From these degrees, or from the prior alone if there are none."""
        start = D.ravel()[self.places]
        self.pull = self._pull(start, product, twice_alpha)
        if start.any():
            self.D = start

    def _pull(self, own_D: Array, product: Array, twice_alpha: float) -> Array:
        """``2 alpha A D`` from ``G D``."""
        return np.asarray(self.own * own_D - twice_alpha * product.ravel()[self.places])

    def solve(self, D: Array, tol: float) -> bool:
        """Put what the rows find, given their pulls, into D."""
        prior = self.prior + (self.pull if self.weights is None else self.pull / self.weights)
        found = self.solve_rows(prior, self.curvature, self.weights, self.D, tol)
        if found is None:
            return False
        self.D, self.row_gap, self.objective = found.D.T, found.gap, found.objective
        D.reshape(-1)[self.places] = self.D
        return True

    def certify(self, product: Array, twice_alpha: float, gap: NDArray[np.float64]) -> float:
        """The rows' part of U, and their gaps, now that their pulls have changed with the other rows."""
        assert self.D is not None
        before, self.pull = self.pull, self._pull(self.D, product, twice_alpha)
        change = before - self.pull
        # The gradient moved by `change`, and <d, g> - min g of a sum is at most the sum of both: a bound of the new
        # gap.
        gap[self.rows] = self.row_gap + np.einsum("ij,ij->j", self.D, change) - change.min(axis=0)
        # The rows counted <pull before, d>; of the pull now U has half, because each edge belongs to two rows.
        return self.objective + 0.5 * float(np.vdot(before + change, self.D))


def _row_parts(G: sparse.csr_array, n_parts: int) -> list[sparse.csr_array]:
    """G cut into blocks of rows that share its entries, for threads to multiply by."""
    if n_parts == 1:
        return [G]
    parts = []
    for start, stop in pairwise(np.linspace(0, G.shape[0], n_parts + 1).astype(int).tolist()):
        entries = slice(G.indptr[start], G.indptr[stop])
        arrays = (G.data[entries], G.indices[entries], G.indptr[start : stop + 1] - G.indptr[start])
        parts.append(sparse.csr_array(arrays, shape=(stop - start, G.shape[1])))
    return parts
