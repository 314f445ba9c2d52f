"""Regression of 0/1 labels by the vote model: a label is positive if it gets at least one vote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ldlearn.core.simplex import Array, Mask, log_softmax
from ldlearn.core.votes import Vector, label_counts, log_expected_votes, losses, slopes
from ldlearn.solvers.features import Features, reciprocal

# Shapes: X (n_samples, n_features); scores Z = X W + b, expected votes exp(theta) and labels Y (n_samples, n_labels);
# coef W (n_features, n_labels), intercept b (n_labels,).
# P(y_j = 1) = 1 - exp(-exp(theta_j)), where
#   competing labels:    theta = log_softmax(Z) + log_rate + offset,
#   fixed raters:        theta = ln(-ln(1 - softmax(Z))) + log_rate + offset,
#   independent labels:  theta = Z.
# The likelihood of 0/1 labels given theta is in `ldlearn.core.votes`.


class Start(NamedTuple):
    """Coefficients for a warm start."""

    coef: Array
    intercept: Array
    log_rate: float


@dataclass(frozen=True)
class VoteFit:
    """Coefficients of a vote regression; scores of new rows are ``X @ coef + intercept``."""

    coef: Array
    intercept: Array
    log_rate: float  # ln(lambda); 0 for independent labels, whose intercepts include it
    scores: Array  # of the training rows
    loss: float  # negative log-likelihood plus penalty
    path: Vector  # the loss after every iteration, the start's first
    n_iter: int
    n_products: int  # multiplications by X or its transpose
    converged: bool


def vote_regression(
    features: Features,
    Y: Mask,
    *,
    l2: float = 0.0,
    competing: bool = True,
    fixed_raters: bool = False,
    observed: Mask | None = None,
    offset: float | Vector = 0.0,
    weak_prior: bool = False,
    start: VoteFit | Start | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> VoteFit:
    r"""Minimise the negative log-likelihood of 0/1 labels plus ``l2 |W|^2`` over W, b and (if labels compete) lambda.

    ``P(y_j = 1) = 1 - exp(-lambda p_j)``, ``p = softmax(X W + b)`` if labels compete, else
    ``P(y_j = 1) = 1 - exp(-exp(x w_j + b_j))``. The second is convex. The first is not: Newton's method with
    conjugate gradients that stop where the curvature is negative, from the best model without features, ends in a
    stationary point. The preconditioner is ``scatter(X) (x) C + 2 l2 I`` with C the mean over rows of the curvature in
    the scores, its negative part left out.

    One row is added to the data: it has the mean features, and each of its labels is 1/2. So a label that is always or
    never positive gets finite coefficients, and without features the estimate is ``(k + 1/2) / (n + 1)`` for a label
    that is positive in k of n rows. With many votes a negative label is so unlikely that half of one reduces lambda
    considerably; with ``weak_prior`` the loss of that row is ``ln(2 cosh(theta_j / 2))`` instead, whose slope is at
    most 1/2.

    Rows are weighted by the sample weights of the features, and unknown labels are ignored.

    Parameters
    ----------
    features : Features
    Y : boolean ndarray of shape (n_samples, n_labels)
    l2 : float, default=0
    competing : bool, default=True
    fixed_raters : bool, default=False
        Whether every row has the same number of votes, so that ``P(y_j = 0) = (1 - p_j)^lambda``; else that number is
        random, and ``P(y_j = 0) = exp(-lambda p_j)``. Only for competing labels.
    observed : boolean ndarray of shape (n_samples, n_labels), default=None
        Mask of the observed labels; all by default.
    offset : float or ndarray of shape (n_samples,), default=0
        Known part of ln(lambda) of each row, such as the log of its number of raters. Only for competing labels.
    weak_prior : bool, default=False
        Estimates are nearly unbiased, but if nearly all labels are positive, degrees are hardly determined.
    start : VoteFit or Start, default=None
        Warm start: an earlier fit on the same features, or any coefficients.
    tol : float, default=1e-8
        Stop when half of the squared Newton decrement, an estimate of the distance to the minimum, is at most this
        per row.
    max_iter : int, default=100

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core.votes import competing_votes
    >>> X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [1, 1]], dtype=bool)
    >>> fit = vote_regression(Features(X), Y, l2=1e-6)
    >>> np.exp(competing_votes(X @ fit.coef + fit.intercept, fit.log_rate)).round(2)[[0, 2]]
    array([[2.48, 0.61],
           [0.61, 2.48]])
    """
    labels = _labels_and_prior(features, Y, observed, weak_prior)
    offsets = _with_mean(offset, features.sample_weight)
    link = Competing(labels, offsets, fixed_raters) if competing else _Independent(labels)
    fit = minimize(link, Design(features, Y.shape[1]), l2=l2, start=start, tol=tol, max_iter=max_iter)
    return replace(fit, scores=fit.scores[:-1])


def minimize(
    link: Link, design: Design, *, l2: float, start: VoteFit | Start | None = None, tol: float, max_iter: int
) -> VoteFit:
    """`vote_regression` for any link and design, which alone have access to the rows (in memory or on a cluster).

    The scores of the result are those that the design computes from the parameters.
    """
    features = design.features
    v = design.start(link, start)
    Z, rate = design.apply(v)
    point = link.at(Z, rate)
    path = [point.loss + l2 * design.penalty(v)]
    n_products, converged = 1, False
    while True:
        derivatives = point.derivatives()
        gradient = design.adjoint(derivatives.slope, derivatives.rate_slope) + 2.0 * l2 * design.penalised(v)
        direction, steps = _newton_direction(design, derivatives, l2, gradient)
        decrement = -float(gradient @ direction)
        n_products += 2 + 2 * steps
        converged = decrement <= 2.0 * tol * features.total
        if len(path) > max_iter or (converged and len(path) == 1):
            break
        lower = _line_search(link, design, (Z, rate, v), direction, l2, path[-1], decrement)
        if lower is None:  # no further decrease in floating point
            converged = converged or decrement <= 1e-10 * abs(path[-1])
            break
        point, (Z, rate, v) = lower
        path.append(point.loss + l2 * design.penalty(v))
        if converged:  # the direction is known: take the last step, which may improve the fit considerably
            break
    W, b, log_rate = design.split(v)
    intercept = b - features.mean @ W
    return VoteFit(
        W, intercept, float(log_rate), Z, path[-1], np.array(path), len(path) - 1, n_products, bool(converged)
    )


def _labels_and_prior(features: Features, Y: Mask, observed: Mask | None, weak_prior: bool) -> Labels:
    counts = label_counts(features.sample_weight, observed)
    counts = None if counts is None else np.vstack([counts, np.ones((1, counts.shape[1]))])
    return Labels(np.vstack([Y, np.full(Y.shape[1], 0.5)]), counts, weak_prior=weak_prior)


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of the loss for Newton's method."""

    slope: Array  # gradient in the scores
    rate_slope: float  # and in ln(lambda)
    hessian_times: Callable[[Array, float], tuple[Array, float]]  # the Hessian times a change of (scores, ln(lambda))
    mean_curvature: Vector  # (c + 1, c + 1): its mean over rows, ln(lambda) last, no negative part


@dataclass(frozen=True)
class Point:
    """The model at given parameters: its loss and, computed on demand, the derivatives."""

    loss: float
    derivatives: Callable[[], Derivatives]


class Link(Protocol):
    """The likelihood of the labels given scores and ln(lambda). Scores may be opaque: the design computes them."""

    def at(self, Z: Array, log_rate: float) -> Point:
        """The model at the given scores and ln(lambda)."""

    def constant(self) -> tuple[Vector, float]:
        """The best scores, the same for all rows, and ln(lambda)."""


class Labels:
    """Labels and their weights (`label_counts`); the last row may be that of a weak prior."""

    def __init__(self, Y: Array, counts: Array | None, *, weak_prior: bool = False) -> None:
        self.Y, self.counts, self.weak_prior = Y, counts, weak_prior

    def loss(self, theta: Array) -> float:
        """Negative log-likelihood and log-prior."""
        found = losses(theta, self.Y)
        if self.weak_prior:
            found[-1] = np.logaddexp(0.5 * theta[-1], -0.5 * theta[-1])
        return float((found if self.counts is None else found * self.counts).sum())

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """First and second derivatives of the loss of each label."""
        first, second = slopes(theta, self.Y)
        if self.weak_prior:
            tanh = np.tanh(0.5 * theta[-1])
            first[-1], second[-1] = 0.5 * tanh, 0.25 * (1.0 - tanh**2)
        return (first, second) if self.counts is None else (first * self.counts, second * self.counts)

    @property
    def total(self) -> float:
        """Largest sum of weights of a label; the number of rows without weights."""
        return float(len(self.Y)) if self.counts is None else float(self.counts.sum(axis=0).max())

    def constant_votes(self) -> Vector:
        """Expected votes of each label without features."""
        counts = np.broadcast_to(np.ones((1, 1)) if self.counts is None else self.counts, self.Y.shape)
        means = (counts * self.Y).sum(axis=0) / counts.sum(axis=0)
        return np.asarray(-np.log1p(-means))


class _Independent:
    """theta = Z: independent labels."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def at(self, Z: Array, log_rate: float) -> Point:
        return Point(self.labels.loss(Z), lambda: self._derivatives(Z))

    def _derivatives(self, Z: Array) -> Derivatives:
        slope, curvature = self.labels.slopes(Z)

        def hessian_times(dZ: Array, drate: float) -> tuple[Array, float]:
            return curvature * dZ, 0.0

        mean = np.diag(np.append(curvature.sum(axis=0) / self.labels.total, 0.0))
        return Derivatives(slope, 0.0, hessian_times, mean)

    def constant(self) -> tuple[Vector, float]:
        return np.log(self.labels.constant_votes()), 0.0


class Competing:
    """theta = log_expected_votes(log_softmax(Z)) + log_rate + offset: labels compete for the votes of a row."""

    def __init__(self, labels: Labels, offset: float | Vector, fixed_raters: bool = False) -> None:
        self.labels, self.offset, self.fixed_raters = labels, offset, fixed_raters

    def at(self, Z: Array, log_rate: float) -> Point:
        """Negative log-likelihood and its derivatives."""
        logP = log_softmax(Z)
        theta, rise, bend = log_expected_votes(logP, self.fixed_raters)
        theta = theta + np.reshape(log_rate + self.offset, (-1, 1))
        return Point(self.labels.loss(theta), lambda: self._derivatives(np.exp(logP), theta, rise, bend))

    def _derivatives(self, P: Array, theta: Array, rise: Array | float, bend: Array | float) -> Derivatives:
        u, h = self.labels.slopes(theta)  # in theta; d theta = rise (dZ - <P, dZ>) + drate
        s, f, r = u * rise, h * rise**2, h * rise
        k = f + u * bend
        U, H, h_total = s.sum(axis=1, keepdims=True), f.sum(axis=1, keepdims=True), h.sum()

        def hessian_times(dZ: Array, drate: float) -> tuple[Array, float]:
            weighted = P * dZ
            mean = weighted.sum(axis=1, keepdims=True)
            change = dZ - mean
            v = k * change + r * drate
            V = v.sum(axis=1, keepdims=True)
            # The last term comes from the softmax's own curvature; it and `bend` alone can be negative.
            return v - P * V - U * (weighted - P * mean), float((r * change).sum() + h_total * drate)

        bent = np.maximum(-U, 0.0)
        cross = f.T @ P
        curvature = np.empty((P.shape[1] + 1, P.shape[1] + 1))
        curvature[:-1, :-1] = np.diag(f.sum(axis=0) + (bent * P).sum(axis=0)) - cross - cross.T + ((H - bent) * P).T @ P
        curvature[:-1, -1] = curvature[-1, :-1] = (r - r.sum(axis=1, keepdims=True) * P).sum(axis=0)
        curvature[-1, -1] = h_total
        return Derivatives(s - P * U, float(u.sum()), hessian_times, curvature / self.labels.total)

    def constant(self) -> tuple[Vector, float]:
        """The degrees without features, as scores, and ln(lambda)."""
        votes = self.labels.constant_votes()
        return np.log(votes / votes.sum()), float(np.log(votes.sum()) - np.mean(self.offset))


def _with_mean(offset: float | Vector, weights: Vector | None) -> Vector:
    """The offsets of all rows, followed by their mean."""
    values = np.asarray(offset, dtype=np.float64)
    return values if values.ndim == 0 else np.append(values, np.average(values, weights=weights))


class Design:
    """The parameters (W, b, ln lambda) as one vector, and the linear map from them to scores."""

    def __init__(self, features: Any, c: int) -> None:  # Features, or CentredColumns
        self.features, self.c = features, c
        self.n_coef = features.m * c
        free = np.append(np.full(c, features.fit_intercept), True)
        self._free = np.outer(free, free)  # pairs of intercepts, ln(lambda) last, that are not fixed at 0

    def split(self, v: Vector) -> tuple[Array, Array, float]:
        """W, b and ln(lambda)."""
        W = v[: self.n_coef].reshape(self.features.m, self.c)
        return W, v[self.n_coef : -1], float(v[-1])

    def join(self, W: Array, b: Array, rate: float) -> Vector:
        """Inverse of `split`."""
        return np.concatenate([W.ravel(), b, [rate]])

    def start(self, link: Link, earlier: VoteFit | Start | None) -> Vector:
        """An earlier fit, or the best model without features."""
        if earlier is not None:
            centred = earlier.intercept + self.features.mean @ earlier.coef
            return self.join(earlier.coef, centred, earlier.log_rate)
        b, rate = link.constant()
        if not self.features.fit_intercept:
            b = np.zeros_like(b)
        return self.join(np.zeros((self.features.m, self.c)), b, rate)

    def apply(self, v: Vector) -> tuple[Array, float]:
        """Scores of all rows, followed by those of the mean features, and ln(lambda)."""
        W, b, rate = self.split(v)
        Z = np.empty((self.features.n + 1, self.c), order="F")
        Z[:-1], Z[-1] = self.features.times(W, b), b
        return Z, rate

    def adjoint(self, R: Array, rate: float) -> Vector:
        """The gradient in the parameters, given that in the scores and in ln(lambda)."""
        gW, gb = self.features.transpose_times(R[:-1])
        return self.join(gW, gb + R[-1] * self.features.fit_intercept, rate)

    def penalised(self, v: Vector) -> Vector:
        """W alone, the rest 0."""
        coef = np.zeros_like(v)
        coef[: self.n_coef] = v[: self.n_coef]
        return coef

    def penalty(self, v: Vector) -> float:
        """``|W|^2``."""
        coef = v[: self.n_coef]
        return float(coef @ coef)

    def preconditioner(self, M: Vector, l2: float) -> Callable[[Vector], Vector]:
        """Solve with ``scatter (x) C + 2 l2 I`` for W and ``n M`` for intercepts and ln(lambda); C is a block of M."""
        values, U = np.linalg.eigh(M[:-1, :-1])
        scale, Q, scatter, identity = self.features.spectrum(ridge=2.0 * l2 * self.c)
        inverse = reciprocal(np.outer(scatter, np.maximum(values, 0.0)) + 2.0 * l2 * identity[:, None])
        column = scale[:, None]
        inner = _pseudo_inverse(self.features.total * np.where(self._free, M, 0.0))

        def solve(g: Vector) -> Vector:
            gW = column * self.split(g)[0]
            core = (gW if Q is None else Q.T @ gW) @ U * inverse
            step = column * ((core if Q is None else Q @ core) @ U.T)
            return np.concatenate([step.ravel(), inner @ g[self.n_coef :]])

        return solve


def _pseudo_inverse(M: Vector) -> Vector:
    """Of a small symmetric matrix: as `numpy.linalg.pinv`, in a third of the time."""
    values, U = np.linalg.eigh(M)
    sizes = np.abs(values)
    kept = sizes > 1e-10 * sizes.max()
    return np.asarray((U * np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)) @ U.T)


def _newton_direction(
    design: Design, point: Derivatives, l2: float, gradient: Vector, max_steps: int = 200
) -> tuple[Vector, int]:
    """Conjugate gradients for ``Hessian d = -gradient``, until accurate or the curvature is negative."""
    solve = design.preconditioner(point.mean_curvature, l2)
    d = np.zeros_like(gradient)
    r = -gradient
    z = solve(r)
    s = z
    rho = first = float(r @ z)
    for step in range(min(max_steps, len(gradient))):
        if rho <= 1e-2 * first:  # a relative accuracy of 0.1
            return d, step
        hs = design.adjoint(*point.hessian_times(*design.apply(s))) + 2.0 * l2 * design.penalised(s)
        curvature = float(s @ hs)
        if curvature <= 0.0:
            return (d if step else s), step + 1
        t = rho / curvature
        d, r = d + t * s, r - t * hs
        z = solve(r)
        previous, rho = rho, float(r @ z)
        s = z + (rho / previous) * s
    return d, max_steps


_Place = tuple[Array, float, Vector]  # scores, ln(lambda), and the parameters that make them


def _line_search(
    link: Link, design: Design, place: _Place, direction: Vector, l2: float, loss: float, decrement: float
) -> tuple[Point, _Place] | None:
    """The first of 1, 1/2, 1/4, ... steps with a sufficient decrease of the loss; None if there is none."""
    Z, rate, v = place
    dZ, drate = design.apply(direction)
    t = 1.0
    for _ in range(40):
        there = Z + t * dZ, rate + t * drate, v + t * direction
        point = link.at(there[0], there[1])
        if point.loss + l2 * design.penalty(there[2]) <= loss - 1e-4 * t * decrement:
            return point, there
        t *= 0.5
    return None
