"""SA-IIS: softmax regression on label distributions by improved iterative scaling."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy import sparse

from ldlearn.base import Learner
from ldlearn.base.sklearn_private import Interval, StrOptions
from ldlearn.core.simplex import Array, log_softmax, softmax

_NODES = 16
_LARGEST_SPREAD = 3.0  # |step| * half the range of f#; 16 nodes then interpolate exp to nine digits
_LARGEST_STEP = 50.0  # |step| * largest f#
_MAX_SWEEPS = 60
_ROOT_TOLERANCE = 1e-12
_BLOCK_BYTES = 2**26


class SAIIS(Learner):
    r"""Softmax regression on label distributions by improved iterative scaling (SA-IIS).

    The model and the loss of `SABFGS` without a penalty, minimised by the slow but steady steps of iterative scaling:
    every iteration minimises an upper bound of the loss that falls apart into one scalar equation per weight. The few
    iterations of the published form stop far from the minimum, which acts as regularisation; to reach the minimum, use
    `SABFGS`.

    .. math::

        \min_{W, b}\; T = -\sum_{ij} d_{ij} \ln p_{ij}, \qquad P = softmax(X W + b)

    With :math:`f_i = \sum_k |x_{ik}|` the step :math:`\delta` of weight (k, j) solves

    .. math:: \sum_i p_{ij} x_{ik} \exp(\delta\, \mathrm{sign}(x_{ik}) f_i) = \sum_i d_{ij} x_{ik}.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most; the strength of the regularisation, to be tuned like one. The published experiments use
        50 or 200.
    tol : float, default=1e-7
        Stop when an iteration lowers T by less.
    fit_intercept : bool, default=True
        Whether b is free (a constant feature of its own) or 0, the published form.
    init : {"zeros", "eye"}, default="zeros"
        Where W starts. ``"eye"``, the published form, ties the first labels to the first features: the result
        then depends on the order of the labels until it has converged.

    Attributes
    ----------
    coef_ : ndarray of shape (m, c)
    intercept_ : ndarray of shape (c,)
    loss_curve_ : ndarray of shape (n_iter_ + 1,)
        T before the first and after each iteration; never rises.
    n_iter_ : int
    label_names_ : ndarray of shape (c,)

    Notes
    -----
    Steps shrink as the largest :math:`f_i` grows, so scale the features first. Rows enter the exponentials only
    through :math:`f_i`: n of them are interpolated from 16, and an iteration costs 16 c products with X
    instead of n m c exponentials per sweep of Newton's method.

    Departures from the paper: an intercept and a start at 0 by default (``fit_intercept=False, init="eye"`` is
    the published form); a step is cut where :math:`|\delta| f_i` would exceed 50 or vary by more than 6 over the rows
    (the descent stays monotone). Confidence: certain.

    References
    ----------
    X. Geng, "Label Distribution Learning", IEEE TKDE 28(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.learning import SAIIS
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> D = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> SAIIS(max_iter=300).fit(X, D).predict(X).round(2)
    array([[0.9, 0.1],
           [0.5, 0.5],
           [0.1, 0.9]])
    """

    _accepts_sparse = True
    _test_params = ({"max_iter": 10}, {"max_iter": 10, "fit_intercept": False})
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "init": [StrOptions({"zeros", "eye"})],
    }

    def __init__(
        self, max_iter: int = 50, *, tol: float = 1e-7, fit_intercept: bool = True, init: str = "zeros"
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.init = init

    def _fit(self, X: Any, D: Array) -> None:
        n_features, n_labels = X.shape[1], D.shape[1]
        X = _with_constant(X) if self.fit_intercept else X.astype(np.float64)
        W = np.zeros((X.shape[1], n_labels))
        if self.init == "eye":
            W[:n_features] = np.eye(n_features, n_labels)
        scaling = _Scaling(X, D)
        losses = [scaling.loss(W)]
        for _ in range(self.max_iter):
            W = W + scaling.step(W)
            losses.append(scaling.loss(W))
            if losses[-2] - losses[-1] < self.tol:
                break
        self.coef_ = W[:n_features]
        self.intercept_ = W[n_features] if self.fit_intercept else np.zeros(n_labels)
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = len(losses) - 1

    def _predict(self, X: Any) -> Array:
        return softmax(X @ self.coef_ + self.intercept_)


class _Scaling:
    """The steps of iterative scaling on one training set."""

    def __init__(self, X: Any, D: Array) -> None:
        self.X, self.D = X, D
        self.targets = X.T @ D
        lengths = np.asarray(abs(X).sum(axis=1)).ravel()
        self.nodes, self.weights = _interpolate(lengths)
        negative = (-X).maximum(0) if sparse.issparse(X) else np.maximum(-X, 0.0)
        self.negative = negative if negative.sum() > 0 else None
        self.positive = X if self.negative is None else X + self.negative
        half_range = max((lengths.max() - lengths.min()) / 2, np.finfo(float).tiny)
        self.cap = min(_LARGEST_STEP / max(lengths.max(), np.finfo(float).tiny), _LARGEST_SPREAD / half_range)

    def loss(self, W: Array) -> float:
        log_p = log_softmax(self.X @ W)
        return -float(np.vdot(self.D, log_p))

    def step(self, W: Array) -> Array:
        """The roots of all scalar equations, by Newton's method kept inside a shrinking bracket."""
        up, down = self._masses(softmax(self.X @ W))

        def excess(step: Array) -> tuple[Array, Array]:
            value, slope = -self.targets, np.zeros_like(step)
            for r, node in enumerate(self.nodes):
                grown = up[r] * np.exp(step * node)
                shrunk = down[r] * np.exp(-step * node)
                value = value + (grown - shrunk)
                slope += node * (grown + shrunk)
            return value, slope

        return _increasing_root(excess, W.shape, self.cap)

    def _masses(self, P: Array) -> tuple[Array, Array]:
        """``sum_i p_ij max(+-x_ik, 0) l_r(f_i)`` for each node r, in blocks of rows: two arrays (nodes, m, c)."""
        n, c = P.shape
        r, m = len(self.nodes), self.X.shape[1]
        up, down = np.zeros((m, c * r)), np.zeros((m, c * r))
        rows = max(1, _BLOCK_BYTES // (8 * c * r))
        for first in range(0, n, rows):
            block = slice(first, first + rows)
            spread = (P[block, :, None] * self.weights[block, None, :]).reshape(-1, c * r)
            up += self.positive[block].T @ spread
            if self.negative is not None:
                down += self.negative[block].T @ spread
        return _nodes_first(up, c), _nodes_first(down, c)


def _nodes_first(masses: Array, c: int) -> Array:
    return np.ascontiguousarray(masses.reshape(len(masses), c, -1).transpose(2, 0, 1))


def _with_constant(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones], format="csr", dtype=np.float64) if sparse.issparse(X) else np.hstack([X, ones])


def _interpolate(lengths: Array) -> tuple[Array, Array]:
    """Nodes on the range of ``lengths`` and weights with ``exp(t lengths) = weights @ exp(t nodes)`` for modest t."""
    middle, half = (lengths.max() + lengths.min()) / 2, (lengths.max() - lengths.min()) / 2
    if half <= 1e-12 * middle:
        return np.array([middle]), np.ones((len(lengths), 1))
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    # Discrete orthogonality of the Chebyshev polynomials gives the Lagrange basis without a division.
    basis = chebvander(nodes, _NODES - 1).T * np.where(np.arange(_NODES) == 0, 1.0, 2.0)[:, None] / _NODES
    return middle + half * nodes, chebvander((lengths - middle) / half, _NODES - 1) @ basis


def _increasing_root(function: Any, shape: tuple[int, ...], cap: float) -> Array:
    """Entry by entry the root in [-cap, cap] of an increasing function; the nearer end where there is none."""
    low, high = np.full(shape, -cap), np.full(shape, cap)
    outside_low, outside_high = function(low)[0] > 0, function(high)[0] < 0
    low[outside_high], high[outside_low] = cap, -cap
    x = np.clip(np.zeros(shape), low, high)
    for _ in range(_MAX_SWEEPS):
        value, slope = function(x)
        low, high = np.where(value < 0, x, low), np.where(value > 0, x, high)
        newton = x - value / np.where(slope > 0, slope, np.inf)
        inside = (newton >= low) & (newton <= high)
        following = np.where(value == 0, x, np.where(inside, newton, (low + high) / 2))
        following[outside_low], following[outside_high] = -cap, cap
        moved = np.abs(following - x).max()
        x = following
        if moved <= _ROOT_TOLERANCE * cap:
            break
    return np.asarray(x)
