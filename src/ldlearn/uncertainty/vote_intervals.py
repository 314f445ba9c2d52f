"""Intervals of shares, from what a vote regression knows of its weights and of the raters.

Shapes: rows x - mean (n, m); scores Z (n, c); a covariance of scores (n, c, c). `vote_posterior` learns what is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, exprel
from scipy.stats import norm

from ldlearn.core.simplex import Array, Mask, log_softmax
from ldlearn.core.votes import LARGEST_THETA, Vector, log_expected_votes
from ldlearn.solvers.features import centred_blocks
from ldlearn.uncertainty.rater_agreement import excess_variance, find_concentration

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]
_Ends = Callable[[Array, Array, float], tuple[Array, Array]]  # of a centre and a variance of log-odds
_SMALLEST = 1e-12  # of 1 - p, and of votes
_NO_DEGREE = 0.01  # less does not count as one anywhere in the library: see `binarize`
_VAGUE, _CERTAIN = 0.5, 1e8  # concentrations of a Beta distribution that is nearly all of [0, 1], or a point


@dataclass(frozen=True)
class KroneckerCovariance:
    """Covariance of the weights from the inverse of ``scatter (x) information + 2 l2 I``."""

    scale: Vector  # of each column
    basis: NDArray[np.float32] | None  # of the scaled columns; None stands for the identity
    variances: Vector  # (m, c): of the weight of a basis vector in a direction of the labels
    directions: Vector  # (c, c), orthogonal
    intercept: Vector  # (c, c): covariance of the intercepts

    def of_scores(self, centred: Array) -> Array:
        """Covariance of the scores of each row."""
        rows = centred * self.scale
        parts = np.asarray(rows if self.basis is None else rows @ self.basis, dtype=np.float64) ** 2 @ self.variances
        V = np.einsum("jk,nk,lk->njl", self.directions, parts, self.directions, optimize=True)
        return np.asarray(V + self.intercept)

    @property
    def width(self) -> int:
        """Numbers that a row needs."""
        return max(len(self.scale), len(self.directions) ** 2)


@dataclass(frozen=True)
class RowSpaceCovariance:
    """The same for wide features, from the span of the training rows: elsewhere weights are what the prior says."""

    basis: NDArray[np.float32]  # (m, k), orthonormal: the directions in which training rows differ most
    gains: Vector  # (k, c): by how much the variance of a basis vector's weight is less than that of the prior
    prior: float  # variance of any weight before labels were seen
    directions: Vector  # (c, c), orthogonal
    intercept: Vector  # (c, c): covariance of the intercepts

    def of_scores(self, centred: Array) -> Array:
        """Covariance of the scores of each row."""
        gained = np.asarray(centred @ self.basis, dtype=np.float64) ** 2 @ self.gains
        parts = np.maximum(self.prior * (centred**2).sum(axis=1, keepdims=True) - gained, 0.0)
        V = np.einsum("jk,nk,lk->njl", self.directions, parts, self.directions, optimize=True)
        return np.asarray(V + self.intercept)

    @property
    def width(self) -> int:
        """Numbers that a row needs."""
        return max(len(self.basis), len(self.directions) ** 2)


@dataclass(frozen=True)
class FullCovariance:
    """Covariance of weights and intercepts as it is."""

    matrix: NDArray[Any]  # (m + 1, c, m + 1, c), m without an intercept; in single precision where that can hold it

    def of_scores(self, centred: Array) -> Array:
        """Covariance of the scores of each row."""
        k, c = self.matrix.shape[:2]
        rows = np.hstack([centred, np.ones((len(centred), k - centred.shape[1]))])
        half = (rows @ self.matrix.reshape(k, -1)).reshape(len(rows), c, k, c)
        return np.asarray(np.einsum("njkl,nk->njl", half, rows, optimize=True))

    @property
    def width(self) -> int:
        """Numbers that a row needs."""
        return int(self.matrix.shape[1] * np.prod(self.matrix.shape[2:]))


@dataclass(frozen=True)
class VotePosterior:
    """What 0/1 labels say of the shares of rows: the weights, how sure they are, and how sure the link is.

    Made by `vote_posterior`. Small enough to be kept in a model file: about m^2 numbers, m being the features that
    the predictor works on.
    """

    mean: Vector  # of the features
    coefs: Vector  # (links, m, c), the likelier link first
    intercepts: Vector  # (links, c), of centred features
    log_rates: Vector  # (links,)
    fixed_raters: list[bool]  # (links,)
    chances: Vector  # (links,): of being the right one
    covariance: KroneckerCovariance | RowSpaceCovariance | FullCovariance
    typical: Vector  # quantiles of the training rows' shares

    def concentration(self, n_raters: float, offset: float = 0.0) -> float:
        """How much the raters of a row agree, if there were so many: see `find_concentration`."""
        votes = np.exp(self.log_rates[0] + offset + log_expected_votes(np.log(self.typical), self.fixed_raters[0])[0])
        return find_concentration(self.typical, float(-np.expm1(-votes).mean()), n_raters)

    def share_intervals(self, X: Any, coverage: float, concentration: float | None = None) -> Bounds:
        """Lower and upper ends for the shares of every row.

        Without a concentration those of p(x), normal intervals of ln p / (1 - p). With one, those of the row's own
        shares q, which are drawn from a Dirichlet distribution around p(x).
        """
        own_variance, ends = (0.0, _normal_ends) if concentration is None else (1.0 / concentration, _beta_ends)
        bounds = _empty_bounds(X.shape[0], self.coefs.shape[2])
        for rows, centred in centred_blocks(X, self.mean, self.covariance.width):
            scores = self._scores(centred)
            P = _below_one(np.exp(log_softmax(scores[0])))
            V = self.covariance.of_scores(centred)
            # d ln p_j / (1 - p_j) = <e_j - p, dz> / (1 - p_j)
            pV = np.einsum("nk,nkl->nl", P, V)
            spread = np.einsum("njj->nj", V) - 2.0 * pV + np.einsum("nk,nk->n", pV, P)[:, None]
            odds = np.stack([_log_odds(np.exp(log_softmax(Z))) for Z in scores])
            spread = spread / (1.0 - P) ** 2 + own_variance / np.maximum(P * (1.0 - P), _SMALLEST)
            self._fill(bounds, rows, odds, spread, coverage, ends)
        if concentration is not None:
            bounds[0][bounds[0] < _NO_DEGREE] = 0.0  # where raters agree, a label may have no vote at all
        return bounds

    def vote_intervals(
        self,
        X: Any,
        Y: Mask,
        coverage: float,
        offset: float | Vector = 0.0,
        observed: Mask | None = None,
        concentration: float | None = None,
    ) -> Bounds:
        """Lower and upper ends for the shares of the votes that every row did get, given which labels got any.

        A label without a vote has share 0. The votes of the others are zero-truncated, and over-dispersed as those of
        raters who agree by this concentration (None: a little); a Beta distribution stands for that of a share.
        """
        bounds = _empty_bounds(*Y.shape)
        ticked = Y if observed is None else Y | ~observed
        surely = ticked if observed is None else Y & observed
        rates = self.log_rates[:, None] + np.broadcast_to(offset, len(Y))
        for rows, centred in centred_blocks(X, self.mean, self.covariance.width):
            scores = self._scores(centred)
            votes = [
                _Votes(
                    log_softmax(Z) + rate[rows, None],
                    ticked[rows],
                    surely[rows],
                    excess_variance(np.exp(rate[rows, None]), concentration),
                )
                for Z, rate in zip(scores, rates, strict=True)
            ]
            V = self.covariance.of_scores(centred)
            spread = votes[0].noise() + votes[0].spread(np.exp(log_softmax(scores[0])), V)
            self._fill(bounds, rows, np.stack([some.log_odds() for some in votes]), spread, coverage, _beta_ends)
        # A label alone in its row has all of it, one without a vote nothing.
        alone = ticked & (ticked.sum(axis=1, keepdims=True) == 1)
        for bound in bounds:
            bound[~ticked] = 0.0
            bound[alone] = 1.0
        return bounds

    def _scores(self, centred: Array) -> Array:
        """Scores under every link: (links, n, c)."""
        return np.stack([centred @ W + b for W, b in zip(self.coefs, self.intercepts, strict=True)])

    def _fill(self, bounds: Bounds, rows: slice, odds: Array, spread: Array, coverage: float, ends: _Ends) -> None:
        """Intervals around the mean over the links, as wide as they are unsure and as they differ."""
        chances = self.chances[:, None, None]
        centre = (chances * odds).sum(axis=0)
        between = (chances * (odds - centre) ** 2).sum(axis=0)
        bounds[0][rows], bounds[1][rows] = ends(centre, np.maximum(spread, 0.0) + between, coverage)


@dataclass(frozen=True)
class _Votes:
    """Votes of labels, given which got any: their means, and how these follow the shares."""

    theta: Array  # ln of the votes expected before any label was seen
    ticked: Mask  # labels that may have votes
    surely: Mask  # those that have at least one
    excess: float | Vector  # variance of votes over that of Poisson votes: see `excess_variance`

    @cached_property
    def means(self) -> Array:
        mu = np.exp(np.minimum(self.theta, LARGEST_THETA))
        return np.asarray(self.ticked * np.where(self.surely, 1.0 / exprel(-mu), mu))

    @cached_property
    def rest(self) -> Array:
        """Votes of the other labels of the row; never 0, so that a label alone does no harm."""
        return np.asarray(np.maximum(self.means.sum(axis=1, keepdims=True) - self.means, _SMALLEST))

    @cached_property
    def elasticity(self) -> Array:
        """d ln means / d theta."""
        mu = np.exp(np.minimum(self.theta, LARGEST_THETA))
        return np.asarray(np.where(self.surely, np.maximum(1.0 + mu - self.means, 0.0), 1.0) * self.ticked)

    def log_odds(self) -> Array:
        """Of the share of each label."""
        return np.asarray(np.log(np.maximum(self.means, _SMALLEST)) - np.log(self.rest))

    def noise(self) -> Array:
        """Variance of the log-odds because votes are random.

        Before any label was seen, votes have mean mu and variance ``excess * mu``, in a unit that shares do not know.
        Given that there is one, E[v^2] and E[v] grow by ``1 / (1 - exp(-mu))``: var / mean^2 is
        ``(1 - exp(-mu)) (excess / mu + 1) - 1``.
        """
        mu = np.exp(np.clip(self.theta, np.log(_SMALLEST), LARGEST_THETA))
        relative = np.where(self.surely, -np.expm1(-mu) * (self.excess / mu + 1.0) - 1.0, self.excess / mu)
        relative = self.ticked * np.maximum(relative, 0.0)
        variances = relative * self.means**2
        others = variances.sum(axis=1, keepdims=True) - variances
        return np.asarray(relative + others / self.rest**2)

    def spread(self, P: Array, V: Array) -> Array:
        """Variance of the log-odds because the scores, of covariance V, are not known."""
        found = np.empty_like(P)
        pulls = self.elasticity * self.means
        for j in range(P.shape[1]):
            slope = -pulls / self.rest[:, [j]]  # of the log-odds of label j in the theta of every label
            slope[:, j] = self.elasticity[:, j]
            slope -= slope.sum(axis=1, keepdims=True) * P  # and in the scores
            found[:, j] = np.einsum("nk,nkl,nl->n", slope, V, slope, optimize=True)
        return found


def _empty_bounds(n: int, c: int) -> Bounds:
    return np.empty((n, c)), np.empty((n, c))


def _normal_ends(centre: Array, variance: Array, coverage: float) -> tuple[Array, Array]:
    """Of shares whose log-odds are normal."""
    reach = norm.ppf(0.5 + 0.5 * coverage) * np.sqrt(variance)
    return expit(centre - reach), expit(centre + reach)


def _beta_ends(centre: Array, variance: Array, coverage: float) -> tuple[Array, Array]:
    """Of shares that are Beta distributed: few votes make them skewed, and they may lie near 0 or 1.

    Let ``v / (v + w)`` be a share, v and w gamma variables of shapes a and b. It has the Beta distribution of a and b,
    with the mean ``m = a / (a + b)``, and 1/a + 1/b, the sum of the relative variances of v and w, is what small
    changes make of the variance of its log-odds: ``1 / ((a + b) m (1 - m))``.
    """
    m = np.clip(expit(centre), _SMALLEST, 1.0 - _SMALLEST)
    size = np.clip(1.0 / np.maximum(m * (1.0 - m) * variance, _SMALLEST), _VAGUE, _CERTAIN)
    tail = 0.5 - 0.5 * coverage
    a, b = size * m, size * (1.0 - m)
    return np.asarray(betaincinv(a, b, tail)), np.asarray(betaincinv(a, b, 1.0 - tail))


def _log_odds(P: Array) -> Array:
    return np.asarray(np.log(np.maximum(P, np.finfo(float).tiny)) - np.log(np.maximum(1.0 - P, _SMALLEST)))


def _below_one(P: Array) -> Array:
    return np.asarray(np.minimum(P, 1.0 - _SMALLEST))
