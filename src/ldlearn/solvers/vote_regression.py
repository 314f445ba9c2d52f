"""Regression of 0/1 labels by the vote model: a label is positive if it gets at least one vote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from ldlearn.core.simplex import Array, Mask, log_softmax
from ldlearn.core.votes import label_weights, log_expected_votes, vote_losses, vote_slopes
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.spd import conjugate_gradients

# Shapes: X (n_samples, n_features); scores Z = X W + b, expected votes exp(theta) and labels Y
# (n_samples, n_labels); coef W (n_features, n_labels), intercept b (n_labels,).
# P(y_j = 1) = 1 - exp(-exp(theta_j)), where
#     random number of raters:  theta = log_softmax(Z) + log_rate + offset,
#     fixed raters:             theta = ln(-ln(1 - softmax(Z))) + log_rate + offset.
# The likelihood of 0/1 labels given theta is in `ldlearn.core.votes`.


@dataclass(frozen=True)
class VoteFit:
    """Coefficients of a vote regression; scores of new rows are ``X @ coef + intercept``."""

    coef: Array
    intercept: Array
    log_rate: float  # ln(lambda)
    scores: Array  # of the training rows
    loss: float  # negative log-likelihood plus penalty
    path: Array  # the loss after every iteration, the start's first
    n_iter: int
    converged: bool


def vote_regression(
    features: CentredMatrix,
    Y: Mask,
    *,
    l2: float = 0.0,
    fixed_raters: bool = False,
    observed: Mask | None = None,
    offset: float | Array = 0.0,
    weak_prior: bool = False,
    start: VoteFit | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
) -> VoteFit:
    r"""Minimise the negative log-likelihood of 0/1 labels plus ``l2 |W|^2`` over W, b and lambda.

    ``P(y_j = 1) = 1 - exp(-lambda p_j)``, ``p = softmax(X W + b)``. The problem is not convex:
    Newton's method with conjugate gradients that stop where the curvature is negative, from the
    best model without features, ends in a stationary point. The preconditioner is
    ``scatter(X) (x) C + 2 l2 I`` with C the mean over rows of the curvature in the scores, its
    negative part left out.

    One row is added to the data: it has the mean features, and each of its labels is 1/2. So a
    label that is always or never positive gets finite coefficients, and without features the
    estimate is ``(k + 1/2) / (n + 1)`` for a label that is positive in k of n rows. With many votes
    a negative label is so unlikely that half of one reduces lambda considerably; with
    ``weak_prior`` the loss of that row is ``ln(2 cosh(theta_j / 2))`` instead, whose slope is at
    most 1/2.

    Rows are weighted by the sample weights of the features, and unknown labels are ignored.

    Parameters
    ----------
    features : CentredMatrix
    Y : boolean ndarray of shape (n_samples, n_labels)
    l2 : float, default=0
    fixed_raters : bool, default=False
        Whether every row has the same number of votes, so that ``P(y_j = 0) = (1 - p_j)^lambda``;
        else that number is random, and ``P(y_j = 0) = exp(-lambda p_j)``.
    observed : boolean ndarray of shape (n_samples, n_labels), default=None
        Mask of the observed labels; all by default.
    offset : float or ndarray of shape (n_samples,), default=0
        Known part of ln(lambda) of each row, such as the log of its number of raters.
    weak_prior : bool, default=False
        Estimates are nearly unbiased, but if nearly all labels are positive, degrees are hardly
        determined.
    start : VoteFit, default=None
        Warm start: an earlier fit with the same numbers of features and labels.
    tol : float, default=1e-8
        Stop when half of the squared Newton decrement, an estimate of the distance to the minimum,
        is at most this per row.
    max_iter : int, default=100

    Examples
    --------
    >>> import numpy as np
    >>> from ldlearn.core.votes import competing_votes
    >>> X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> Y = np.array([[1, 0], [1, 1], [0, 1], [1, 1]], dtype=bool)
    >>> fit = vote_regression(CentredMatrix(X), Y, l2=1e-6)
    >>> np.exp(competing_votes(X @ fit.coef + fit.intercept, fit.log_rate)).round(2)[[0, 2]]
    array([[2.48, 0.61],
           [0.61, 2.48]])
    """
    weights = label_weights(features.sample_weight, observed)
    if weights is not None:
        weights = np.vstack([weights, np.ones_like(weights[:1])])
    if np.ndim(offset):  # the added row has the mean
        mean_offset = np.average(offset, weights=features.sample_weight)
        offset = np.append(offset, mean_offset)
    halves = np.full(Y.shape[1], 0.5)
    with_added_row = np.vstack([Y, halves])
    link = CompetingLabels(with_added_row, weights, weak_prior, offset, fixed_raters)
    votes = _LocalVotes(features, link)
    fit = minimize_votes(
        votes,
        l2=l2,
        start=start,
        tol=tol,
        max_iter=max_iter,
    )
    return replace(fit, scores=fit.scores[:-1])


def minimize_votes(
    votes: VoteObjective,
    *,
    l2: float,
    start: VoteFit | None = None,
    tol: float,
    max_iter: int,
) -> VoteFit:
    """`vote_regression` for any objective, whose rows may be in memory or on a cluster."""
    ridge = np.zeros(votes.n_coef + votes.c + 1)
    ridge[: votes.n_coef] = 2.0 * l2

    def penalised_loss(point: VoteObjectiveAt) -> float:
        return point.loss + 0.5 * float(ridge @ point.v**2)

    def hessian_product(s: Array) -> Array:
        return derivatives.hessian_product(s) + ridge * s

    point = votes.at(votes.start(start))
    path = [penalised_loss(point)]
    while True:
        derivatives = point.derivatives()
        gradient = derivatives.gradient + ridge * point.v
        direction, _, _ = conjugate_gradients(
            hessian_product,
            votes.preconditioner(derivatives.mean_curvature, l2),
            -gradient,
            rtol=0.1,
            max_steps=min(200, len(gradient)),
        )
        decrement = -gradient @ direction
        converged = decrement <= 2.0 * tol * votes.features.total
        if len(path) > max_iter or (converged and len(path) == 1):
            break
        for t in 0.5 ** np.arange(40):
            lower = votes.at(point.v + t * direction)
            loss = penalised_loss(lower)
            if loss <= path[-1] - 1e-4 * t * decrement:
                break
        else:  # no further decrease in floating point
            converged = converged or decrement <= 1e-10 * abs(path[-1])
            break
        point = lower
        path.append(loss)
        # The last direction is known: its step may improve the fit considerably.
        if converged:
            break
    W, b, log_rate = votes.split_parameters(point.v)
    return VoteFit(
        coef=W,
        intercept=b - votes.features.mean @ W,
        log_rate=log_rate,
        scores=point.scores,
        loss=path[-1],
        path=np.array(path),
        n_iter=len(path) - 1,
        converged=bool(converged),
    )


class Derivatives(NamedTuple):
    """Derivatives of the loss, in scores and ln(lambda) or in the parameters that give them."""

    gradient: Any
    hessian_product: Callable[..., Any]  # the Hessian times a change
    # (c + 1, c + 1): mean over rows in scores and ln(lambda), without its negative part
    mean_curvature: Array


class VoteObjectiveAt(NamedTuple):
    """The loss at some parameters and, computed on demand, its derivatives."""

    v: Array
    loss: float
    derivatives: Callable[[], Derivatives]
    scores: Any = None


class VoteObjective:
    """Negative log-likelihood of 0/1 labels as a function of the vector (W, b, ln lambda).

    A subclass has the method ``at(v)``: the `VoteObjectiveAt` at these parameters.
    """

    at: Callable[[Array], VoteObjectiveAt]

    def __init__(self, features: CentredMatrix, constant: tuple[Array, float]) -> None:
        """``constant`` are the best scores, the same for all rows, and ln(lambda)."""
        self.features = features
        self.constant = constant
        self.c = len(constant[0])
        self.n_coef = features.m * self.c

    def split_parameters(self, v: Array) -> tuple[Array, Array, float]:
        """W, b and ln(lambda)."""
        W = v[: self.n_coef].reshape(self.features.m, self.c)
        return W, v[self.n_coef : -1], float(v[-1])

    def join_parameters(self, W: Array, b: Array, rate: float) -> Array:
        """Inverse of `split_parameters`."""
        b = b * self.features.fit_intercept
        return np.concatenate([W.ravel(), b, [rate]])

    def start(self, earlier: VoteFit | None) -> Array:
        """An earlier fit, or the best model without features."""
        if earlier is None:
            b, log_rate = self.constant
            return self.join_parameters(np.zeros(self.n_coef), b, log_rate)
        centred = earlier.intercept + self.features.mean @ earlier.coef
        return self.join_parameters(earlier.coef, centred, earlier.log_rate)

    def preconditioner(self, M: Array, l2: float) -> Callable[[Array], Array]:
        """Solve with ``scatter (x) M + 2 l2 I`` for W and ``n M`` for b and ln(lambda)."""
        values, U = np.linalg.eigh(M[:-1, :-1])
        ridge_solve = self.features.ridge_solver(values, l2)
        inner = self.features.total * M
        if not self.features.fit_intercept:
            inner[:-1] = inner[:, :-1] = 0.0
        inverse = linalg.pinvh(inner, rtol=1e-10)

        def solve(g: Array) -> Array:
            W, _, _ = self.split_parameters(g)
            step = ridge_solve(W @ U) @ U.T
            step_of_rest = inverse @ g[self.n_coef :]
            return np.concatenate([step.ravel(), step_of_rest])

        return solve


class _LocalVotes(VoteObjective):
    """Rows in memory, followed by a row of mean features, whose centred features are 0."""

    def __init__(self, features: CentredMatrix, link: CompetingLabels) -> None:
        super().__init__(features, link.best_constant())
        self.link = link

    def at(self, v: Array) -> VoteObjectiveAt:
        Z, log_rate = self._scores(v)
        loss, score_derivatives = self.link.at(Z, log_rate)

        def derivatives() -> Derivatives:
            gradient, hessian_product, curvature = score_derivatives()
            return Derivatives(
                self._parameter_gradient(*gradient),
                lambda s: self._parameter_gradient(*hessian_product(*self._scores(s))),
                curvature,
            )

        return VoteObjectiveAt(v, loss, derivatives, Z)

    def _scores(self, v: Array) -> tuple[Array, float]:
        W, b, log_rate = self.split_parameters(v)
        Z = np.empty((self.features.n + 1, self.c), order="F")
        Z[:-1] = self.features.linear_predictor(W, b)
        Z[-1] = b
        return Z, log_rate

    def _parameter_gradient(self, R: Array, rate: float) -> Array:
        """The gradient in the parameters, given that in the scores and in ln(lambda)."""
        gW, gb = self.features.transpose_product(R[:-1])
        return self.join_parameters(gW, gb + R[-1], rate)


@dataclass(frozen=True)
class CompetingLabels:
    """Labels that compete for the votes of a row: theta depends on the softmax of its scores.

    ``weights`` are those of the labels (`label_weights`); the last row may be that of a weak prior.
    """

    Y: Array
    weights: Array | None
    weak_prior: bool = False
    offset: float | Array = 0.0
    fixed_raters: bool = False

    def at(self, Z: Array, log_rate: float) -> tuple[float, Callable[[], Derivatives]]:
        """Negative log-likelihood and log-prior, and a function that computes its derivatives."""
        logP = log_softmax(Z)
        theta, *by_log_p = log_expected_votes(logP, self.fixed_raters)
        theta = theta + np.reshape(log_rate + self.offset, (-1, 1))
        losses = vote_losses(theta, self.Y)
        if self.weak_prior:
            half = 0.5 * theta[-1]
            losses[-1] = np.logaddexp(half, -half)
        loss = float(self._apply_weights(losses).sum())
        return loss, lambda: self._vote_derivatives(np.exp(logP), theta, *by_log_p)

    def _vote_derivatives(
        self,
        P: Array,
        theta: Array,
        dtheta: Any,
        d2theta: Any,
    ) -> Derivatives:
        """``dtheta`` and ``d2theta`` are the derivatives of theta in ln p."""
        u, h = vote_slopes(theta, self.Y)
        if self.weak_prior:
            tanh = np.tanh(0.5 * theta[-1])
            u[-1] = 0.5 * tanh
            h[-1] = 0.25 * (1.0 - tanh**2)
        u = self._apply_weights(u)
        h = self._apply_weights(h)
        s = u * dtheta
        r = h * dtheta
        f = r * dtheta
        k = f + u * d2theta
        U = s.sum(axis=1, keepdims=True)
        h_total = h.sum()

        def hessian_product(dZ: Array, drate: float) -> tuple[Array, float]:
            weighted = P * dZ
            mean = weighted.sum(axis=1, keepdims=True)
            change = dZ - mean
            v = k * change + r * drate
            V = v.sum(axis=1, keepdims=True)
            # The last term comes from the softmax's own curvature; it and `d2theta` alone can be
            # negative.
            in_scores = v - P * V - U * (weighted - P * mean)
            return in_scores, (r * change).sum() + h_total * drate

        curvature = vote_curvature(P, f, r, h, np.maximum(-U, 0.0))
        return Derivatives(
            gradient=(s - P * U, u.sum()),
            hessian_product=hessian_product,
            mean_curvature=curvature / self.largest_label_weight,
        )

    def _apply_weights(self, A: Array) -> Array:
        return A if self.weights is None else A * self.weights

    @property
    def largest_label_weight(self) -> float:
        """Largest sum of weights of a label; the number of rows without weights."""
        ones = np.ones((len(self.Y), 1))
        return self._apply_weights(ones).sum(axis=0).max()

    def best_constant(self) -> tuple[Array, float]:
        """The degrees without features, as scores, and ln(lambda)."""
        counts = self._apply_weights(np.ones_like(self.Y)).sum(axis=0)
        means = self._apply_weights(self.Y).sum(axis=0) / counts
        votes = -np.log1p(-means)
        rate = votes.sum()
        return np.log(votes / rate), np.log(rate) - np.mean(self.offset)


def vote_curvature(
    P: Array,
    f: Array,
    r: Array,
    i: Array,
    bent: Array | float = 0.0,
) -> Array:
    """Second derivative in the scores and ln(lambda), summed over rows.

    That of a row in its scores is ``sum_j f_j (e_j - p)(e_j - p)' + bent (diag(p) - p p')``; r is
    the one in scores and ln(lambda), before it is centred, and i the one in ln(lambda).
    """
    cross = f.T @ P
    of_row = f.sum(axis=1, keepdims=True) - bent
    outer = (of_row * P).T @ P
    diagonal = np.diag((f + bent * P).sum(axis=0))
    in_scores = diagonal - cross - cross.T + outer
    q = r - r.sum(axis=1, keepdims=True) * P
    q = q.sum(axis=0)
    curvature = np.empty((len(q) + 1, len(q) + 1))
    curvature[:-1, :-1] = in_scores
    curvature[:-1, -1] = curvature[-1, :-1] = q
    curvature[-1, -1] = i.sum()
    return curvature
