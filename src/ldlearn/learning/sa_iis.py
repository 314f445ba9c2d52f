"""SA-IIS: softmax regression on label distributions by improved iterative scaling."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from ldlearn.base import (
    Capabilities,
    Learner,
    NonNegative,
    PositiveInt,
    estimator_dataclass,
)
from ldlearn.core.scaling import (
    Scaling,
    feature_scaling,
    row_batches,
)
from ldlearn.core.simplex import (
    TINY,
    Array,
    SampleWeight,
    log_mean_distribution,
    log_softmax,
    row_weights,
    softmax,
)
from ldlearn.learning.linear_softmax import LinearSoftmaxMixin

# Exponentials are computed at this many nodes of the row sums f, and interpolated between them.
_NODES = 16


@estimator_dataclass
class SAIIS(LinearSoftmaxMixin, Learner):
    r"""Softmax regression on label distributions by improved iterative scaling (SA-IIS).

    The model and the loss of `SABFGS` without a penalty, minimised by the slow but steady steps of
    iterative scaling: every iteration minimises an upper bound of the loss that falls apart into
    one scalar equation per weight. It starts from the mean distribution and stops far from the
    minimum, which acts as regularisation; to reach the minimum, use `SABFGS`.

    .. math::

        \min_{W, b}\; T = -\sum_{ij} d_{ij} \ln p_{ij}, \qquad P = softmax(X W + b)

    With :math:`f_i = \sum_k |x_{ik}|` the step :math:`\delta` of weight (k, j) solves

    .. math:: \sum_i p_{ij} x_{ik} \exp(\delta\, \mathrm{sign}(x_{ik}) f_i) = \sum_i d_{ij} x_{ik}.

    Parameters
    ----------
    max_iter : int, default=1000
        Iterations at most. The published experiments use 50 or 200, which from their start need not
        even reach the mean distribution.
    tol : float, default=2e-4
        Stop when an iteration lowers T by less than this, relatively: the strength of the
        regularisation, to be tuned like one.
    fit_intercept : bool, default=True
        Whether b is free (a constant feature of its own, beside standardised ones) or 0, the
        published form (on the features as they are).
    init : {"zeros", "eye"}, default="zeros"
        Where W starts. ``"eye"``, the published form, ties the first labels to the first features:
        the result then depends on the order of the labels until it has converged.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    objective_path_ : ndarray of shape (n_iter_,)
        T after each iteration; never rises.
    objective_ : float
        Its last value.
    n_iter_ : int
    converged_ : bool
        Whether T settled within ``tol``.
    label_names_ : ndarray of shape (n_labels,)

    Notes
    -----
    Steps shrink as the largest :math:`f_i` grows, so without an intercept scale the features first.
    Rows enter the exponentials only through :math:`f_i`: n of them are interpolated from 16, and an
    iteration costs 16 c products with X instead of n m c exponentials per sweep of Newton's method.
    Standardised rows are made block by block; sparse ones become dense there, a block at a time.

    Departures from the paper: an intercept that starts at the mean distribution, standardised
    features, and ``tol`` instead of a number of iterations by default
    (``max_iter=50, tol=0, fit_intercept=False, init="eye"`` is the published form); a step is cut
    where :math:`|\delta| f_i` would exceed 50 or vary by more than 6 over the rows (the descent
    stays monotone). Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import SAIIS
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> SAIIS(tol=1e-6).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    _test_params = ({"tol": 0.01}, {"tol": 0.01, "fit_intercept": False})

    max_iter: PositiveInt = 1000
    tol: NonNegative = 2e-4
    fit_intercept: bool = True
    init: Literal["zeros", "eye"] = "zeros"

    def __sklearn_tags__(self) -> Capabilities:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # The published start ties the first labels to the first features, and a fit stopped early
        # depends on it.
        tags.label_invariant = self.init == "zeros"
        return tags

    def _fit(self, X: Any, D: Array, sample_weight: SampleWeight | None = None) -> None:
        m = X.shape[1]
        scaling = Scaling(np.zeros(m), np.ones(m))
        if self.fit_intercept:
            scaling = feature_scaling(X, weights=sample_weight)
        problem = _IterativeScaling(X, D, scaling, self.fit_intercept, sample_weight)
        W = np.zeros(problem.shape)
        if self.init == "eye":
            np.fill_diagonal(W, 1.0)
        if self.fit_intercept:
            W[-1] = log_mean_distribution(D, sample_weight)
        path = [problem.loss(W)]
        while self._should_iterate(path):
            W = W + problem.step(W)
            path.append(problem.loss(W))
        # The intercept is 0, or the last row.
        coef, self.intercept_ = scaling.undo(W[:m], W[m:].sum(axis=0))
        self.coef_ = coef.T


class _IterativeScaling:
    """Steps of iterative scaling on rows that are scaled (and made dense) block by block."""

    def __init__(
        self,
        X: Any,
        D: Array,
        scaling: Scaling,
        fit_intercept: bool,
        weights: SampleWeight | None,
    ) -> None:
        self.X = X
        self.scaling = scaling
        self.fit_intercept = fit_intercept
        self.counts = row_weights(D, weights)[:, None]
        self.D = D * self.counts
        self.shape = (X.shape[1] + fit_intercept, D.shape[1])
        width = max(self.shape[0], self.shape[1] * _NODES)
        self.slices = list(row_batches(len(D), width))
        self.targets = np.zeros(self.shape)
        lengths = np.empty(len(D))
        for block, Z in self._blocks():
            self.targets += Z.T @ self.D[block]
            lengths[block] = np.abs(Z).sum(axis=1)
        self.nodes, self.weights = _interpolate(lengths)
        # With |step| f above 50 exponentials would overflow; with |step| times half the range of
        # f above 3 the interpolation would lose digits (16 nodes give nine). A longer way takes
        # more steps.
        longest = max(lengths.max(), TINY)
        half_range = max(np.ptp(lengths) / 2, TINY)
        self.cap = min(50.0 / longest, 3.0 / half_range)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for block in self.slices:
            Z = self.scaling.apply(self.X[block])
            if self.fit_intercept:
                Z = np.column_stack([Z, np.ones(len(Z))])
            yield block, Z

    def loss(self, W: Array) -> float:
        """``-sum D ln P``."""
        total = 0.0
        for block, Z in self._blocks():
            total -= np.vdot(self.D[block], log_softmax(Z @ W))
        return total

    def step(self, W: Array) -> Array:
        """The roots of all scalar equations, by Newton's method kept inside a shrinking bracket."""
        sums = self._feature_sums(W)

        def excess(step: Array) -> tuple[Array, Array]:
            value = -self.targets
            slope = np.zeros_like(step)
            for node, (up, down) in zip(self.nodes, sums, strict=True):
                # The scalar equations, with positive and negative x_ik apart and exp(step f)
                # interpolated between nodes.
                growth = np.exp(step * node)
                grown = up * growth
                shrunk = down / growth
                value += grown - shrunk
                slope += node * (grown + shrunk)
            return value, slope

        return _increasing_root(excess, W.shape, self.cap)

    def _feature_sums(self, W: Array) -> Array:
        """``sum_i p_ij max(+-z_ik, 0) l_r(f_i)`` for each node r: an array (nodes, 2, m, c)."""
        m, c = self.shape
        r = len(self.nodes)
        sums = np.zeros((2, m, r * c))
        for block, Z in self._blocks():
            P = softmax(Z @ W) * self.counts[block]
            spread = np.einsum("ir,ij->irj", self.weights[block], P).reshape(-1, r * c)
            sums[0] += np.maximum(Z, 0.0).T @ spread
            sums[1] += np.maximum(-Z, 0.0).T @ spread
        return np.ascontiguousarray(sums.reshape(2, m, r, c).transpose(2, 0, 1, 3))


def _interpolate(lengths: Array) -> tuple[Array, Array]:
    """Nodes and weights: for modest t ``exp(t lengths)`` is about ``weights @ exp(t nodes)``."""
    middle = (lengths.max() + lengths.min()) / 2
    half = np.ptp(lengths) / 2
    if half <= 1e-12 * middle:
        return np.array([middle]), np.ones((len(lengths), 1))
    orders = np.arange(_NODES)
    nodes = np.cos(np.pi * (orders + 0.5) / _NODES)
    # Discrete orthogonality of the Chebyshev polynomials gives the Lagrange basis without a
    # division.
    factors = np.where(orders == 0, 1.0, 2.0) / _NODES
    basis = chebvander(nodes, _NODES - 1).T * factors[:, None]
    weights = chebvander((lengths - middle) / half, _NODES - 1) @ basis
    return middle + half * nodes, weights


def _increasing_root(function: Any, shape: tuple[int, ...], cap: float) -> Array:
    """Entry by entry the root of an increasing function in [-cap, cap], or the nearer end."""
    high = np.full(shape, cap)
    low = -high
    is_below = function(low)[0] > 0
    low[function(high)[0] < 0] = cap
    high[is_below] = -cap
    x = np.clip(0.0, low, high)
    for _ in range(60):  # bisection alone would reach the tolerance in some 40
        value, slope = function(x)
        # The function increases: its sign says on which side of x the root is.
        low = np.where(value < 0, x, low)
        high = np.where(value > 0, x, high)
        newton = x - value / np.where(slope > 0, slope, np.inf)
        inside = (newton >= low) & (newton <= high)
        before = x
        x = np.where(inside, newton, (low + high) / 2)
        if np.abs(x - before).max() <= 1e-12 * cap:
            break
    return x
