"""Credible intervals of degrees from the posterior distribution of a vote regression.

`vote_posterior` computes that distribution. In short comments n, m and c are n_samples, n_features
and n_labels; scores are logits.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, betaln, expit, exprel
from scipy.stats import norm

from ldlearn.core.simplex import Array, Mask, log_degrees, log_softmax
from ldlearn.core.targets import possible_labels
from ldlearn.core.votes import LARGEST_THETA, log_expected_votes
from ldlearn.exceptions import InputError
from ldlearn.solvers.linear_predictor import centred_blocks
from ldlearn.uncertainty.vote_misfit import Misfit

Bounds = tuple[Array, Array]
_SMALLEST = 1e-12  # value of 1 - p, and of an expected number of votes
# lambda / kappa if the number of raters is unknown: clusters have 1.17 votes on average. With this
# assumption the empirical coverage at nominal 90 % is 85 to 95 % for simulated votes of 5 and 20
# raters, but 80 % for those of 20 raters who agree much (docs/research/coverage.md).
_DEFAULT_OVERDISPERSION = 0.3


@dataclass(frozen=True)
class KroneckerCovariance:
    """Covariance of the coefficients as the inverse of ``scatter (x) information + 2 l2 I``.

    For wide features the basis spans the differences of the training rows; outside of it the prior
    variance holds.
    """

    learned = {
        "scale": "float (n_inputs)",
        "basis": "float (n_inputs, n_basis) | None",
        "variances": "float (n_basis, n_directions)",
        "prior": "float",
        "directions": "float (n_labels, n_directions)",
        "intercept": "float (n_labels, n_labels)",
    }

    scale: Array  # (m,): factor of each column
    basis: Array | None  # (m, k), of the scaled columns; None stands for the identity
    # (k, c): of the coefficient of a basis vector in a direction of the labels, less the prior's
    variances: Array
    prior: float  # variance of a coefficient outside of the basis; 0 if the basis is complete
    directions: Array  # (c, c), orthogonal
    intercept: Array  # (c, c): covariance of the intercepts

    def score_covariance(self, centred: Array) -> Array:
        """Covariance of the scores of each row, of shape (n_samples, n_labels, n_labels)."""
        rows = centred * self.scale
        if self.basis is not None:
            rows = rows @ self.basis
        parts = np.asarray(rows, dtype=np.float64) ** 2 @ self.variances
        if self.prior:
            parts = np.maximum(self.prior * (centred**2).sum(axis=1, keepdims=True) + parts, 0.0)
        V = np.einsum("jk,nk,lk->njl", self.directions, parts, self.directions, optimize=True)
        return V + self.intercept

    def scaled_by(self, factor: float) -> Self:
        """A multiple of the covariance."""
        return replace(
            self,
            variances=factor * self.variances,
            prior=factor * self.prior,
            intercept=factor * self.intercept,
        )

    @property
    def numbers_per_row(self) -> int:
        """How many numbers a row needs."""
        return max(len(self.scale), len(self.directions) ** 2)


@dataclass(frozen=True)
class FullCovariance:
    """Covariance of coefficients and intercepts without an approximation."""

    learned = {"matrix": "float (n_rows, n_labels, n_rows, n_labels)"}

    # (m + 1, c, m + 1, c), or (m, c, m, c) without an intercept; float32 where possible
    matrix: Array

    def score_covariance(self, centred: Array) -> Array:
        """Covariance of the scores of each row, of shape (n_samples, n_labels, n_labels)."""
        k, c = self.matrix.shape[:2]
        rows = np.hstack([centred, np.ones((len(centred), k - centred.shape[1]))])
        half = (rows @ self.matrix.reshape(k, -1)).reshape(len(rows), c, k, c)
        return np.einsum("njkl,nk->njl", half, rows, optimize=True)

    def scaled_by(self, factor: float) -> Self:
        """A multiple of the covariance."""
        return replace(self, matrix=self.matrix * self.matrix.dtype.type(factor))

    @property
    def numbers_per_row(self) -> int:
        """How many numbers a row needs."""
        return int(self.matrix.shape[1] * np.prod(self.matrix.shape[2:]))


@dataclass(frozen=True)
class VotePosterior:
    """Posterior distribution of the coefficients of a vote regression, for its links.

    There are one or two link functions. `vote_posterior` computes it. It has about n_features^2
    numbers, whatever the number of rows, so that a model file can hold it.
    """

    learned = {
        "mean": "float (n_inputs)",
        "coefs": "float (n_links, n_inputs, n_labels)",
        "intercepts": "float (n_links, n_labels)",
        "log_rates": "float (n_links)",
        "fixed_raters": "list of bool",
        "link_probabilities": "float (n_links)",
        "covariance": "FullCovariance | KroneckerCovariance",
        "degree_quantiles": "float (n_quantiles)",
        "score_variance": "float",
        "negative_frequency": "float",
        "misfit": "Misfit",
    }

    mean: Array  # of the features
    coefs: Array  # (n_links, m, c), the more probable link first
    intercepts: Array  # (n_links, c), of centred features
    log_rates: Array  # (n_links,)
    fixed_raters: list[bool]  # of each link
    link_probabilities: Array  # (n_links,), posterior
    covariance: KroneckerCovariance | FullCovariance
    degree_quantiles: Array  # of the predictions for the training rows
    score_variance: float  # mean posterior variance of the scores of the training rows
    negative_frequency: float  # of the training labels
    misfit: Misfit

    def concentration(self, n_raters: float, offset: float = 0.0) -> float:
        """Concentration of the votes of a row, see `find_concentration`."""
        log_votes = log_expected_votes(np.log(self.degree_quantiles), self.fixed_raters[0])[0]
        positive = -np.expm1(-np.exp(self.log_rates[0] + offset + log_votes))
        return find_concentration(self.degree_quantiles, positive.mean(), n_raters)

    def degree_intervals(
        self, X: Any, coverage: float, concentration: float | None = None
    ) -> Bounds:
        """Intervals of the degrees of each row.

        Without a concentration they are for the mean p(x): normal intervals of ln p / (1 - p). With
        one they are for the row's own degrees, which have a Dirichlet distribution around p(x).

        The normal approximation is biased towards equal degrees if labels determine the
        coefficients poorly, and most information is in negative labels if raters are many. So there
        are no intervals if the variance of the scores exceeds the frequency of negative labels:
        beyond, empirical coverage at nominal 0.9 was 0.61 to 0.87.
        """
        if self.score_variance > self.negative_frequency:
            raise InputError(
                "No intervals for predictions: the labels determine the coefficients too poorly, "
                "because there are few rows for so many features, or nearly all labels are "
                "positive (the logits of the training rows have a posterior variance of "
                f"{self.score_variance:.2g}, which must not exceed the frequency of negative "
                f"labels, {self.negative_frequency:.2g}); fit with more rows or fewer features, or "
                "use ConformalIntervals, if some true degrees are known."
            )
        row_variance = 0.0 if concentration is None else 1.0 / concentration
        find_bounds = _normal_bounds if concentration is None else _beta_bounds_from_log_odds
        bounds = np.empty((2, X.shape[0], self.coefs.shape[2]))
        for rows, centred in centred_blocks(X, self.mean, self.covariance.numbers_per_row):
            P_links = np.exp([log_softmax(Z) for Z in self._scores(centred)])
            P = np.minimum(P_links[0], 1.0 - _SMALLEST)
            V = self.covariance.score_covariance(centred)
            # d ln p_j / (1 - p_j) = <e_j - p, dz> / (1 - p_j)
            pV = np.einsum("nk,nkl->nl", P, V)
            spread = np.einsum("njj->nj", V) - 2.0 * pV + np.einsum("nk,nk->n", pV, P)[:, None]
            spread = spread / (1.0 - P) ** 2 + row_variance / np.maximum(P * (1.0 - P), _SMALLEST)
            odds = log_degrees(P_links) - np.log(np.maximum(1.0 - P_links, _SMALLEST))
            centre, variance = self._average_links(odds, spread)
            bounds[:, rows] = find_bounds(centre, variance, coverage)
        return bounds[0], bounds[1]

    def vote_intervals(
        self,
        X: Any,
        Y: Mask,
        coverage: float,
        offset: float | Array = 0.0,
        observed: Mask | None = None,
        concentration: float | None = None,
    ) -> Bounds:
        """Intervals of the shares of votes that each row did get, given its 0/1 labels.

        A negative label has share 0. The votes of positive labels are zero-truncated, and
        overdispersed according to the concentration (None: slightly); the distribution of a share
        is approximated by a Beta distribution.
        """
        bounds = np.empty((2, *Y.shape))
        possible = possible_labels(Y, observed)
        positive = possible if observed is None else Y & observed
        rates = self.log_rates[:, None] + np.broadcast_to(offset, len(Y))
        for rows, centred in centred_blocks(X, self.mean, self.covariance.numbers_per_row):
            logP_links = [log_softmax(Z) for Z in self._scores(centred)]
            links = []
            for logP, rate in zip(logP_links, rates[:, rows, None], strict=True):
                excess = _excess_variance(np.exp(rate), concentration)
                links.append(_ConditionalVotes(logP + rate, possible[rows], positive[rows], excess))
            V = self.covariance.score_covariance(centred)
            of_scores = links[0].variance_of_scores(np.exp(logP_links[0]), V)
            spread = links[0].variance_of_votes() + of_scores
            odds = np.stack([link.log_odds() for link in links])
            centre, variance = self._average_links(odds, spread)
            bounds[:, rows] = _beta_bounds_from_log_odds(centre, variance, coverage)
        # The only possible label of a row has degree 1, a negative label 0.
        bounds[:, ~possible] = 0.0
        bounds[:, possible & (possible.sum(axis=1, keepdims=True) == 1)] = 1.0
        return bounds[0], bounds[1]

    def _scores(self, centred: Array) -> Array:
        """Scores under every link, of shape (n_links, n_samples, n_labels)."""
        return np.stack([centred @ W + b for W, b in zip(self.coefs, self.intercepts, strict=True)])

    def _average_links(self, odds: Array, spread: Array) -> tuple[Array, Array]:
        """Mean of the log-odds over the links, and their variance within and between links."""
        probabilities = self.link_probabilities[:, None, None]
        centre = (probabilities * odds).sum(axis=0)
        return centre, np.maximum(spread, 0.0) + (probabilities * (odds - centre) ** 2).sum(axis=0)


@dataclass(frozen=True)
class _ConditionalVotes:
    """Votes of labels given which got any: their means, variances and derivatives."""

    theta: Array  # log of the expected votes before any label was seen
    possible: Mask  # labels that may have votes
    positive: Mask  # labels that have at least one
    excess: float | Array  # variance of votes over that of Poisson votes: see `_excess_variance`

    @cached_property
    def means(self) -> Array:
        """Expected votes of each label."""
        mu = np.exp(np.minimum(self.theta, LARGEST_THETA))
        return self.possible * np.where(self.positive, 1.0 / exprel(-mu), mu)

    @cached_property
    def other_votes(self) -> Array:
        """Expected votes of the other labels of the row; never 0, even for the only label."""
        return np.maximum(self.means.sum(axis=1, keepdims=True) - self.means, _SMALLEST)

    def log_odds(self) -> Array:
        """Log-odds of the share of each label."""
        return np.log(np.maximum(self.means, _SMALLEST)) - np.log(self.other_votes)

    def variance_of_votes(self) -> Array:
        """Variance of the log-odds due to the randomness of votes.

        Before any label was seen, votes have mean mu and variance ``excess * mu``, in a unit that
        cancels in shares. Given that there is one, E[v^2] and E[v] grow by ``1 / (1 - exp(-mu))``:
        var / mean^2 is ``(1 - exp(-mu)) (excess / mu + 1) - 1``.
        """
        mu = np.exp(np.clip(self.theta, np.log(_SMALLEST), LARGEST_THETA))
        before = self.excess / mu
        given_one = -np.expm1(-mu) * (before + 1.0) - 1.0
        relative = np.where(self.positive, given_one, before)
        relative = self.possible * np.maximum(relative, 0.0)
        variances = relative * self.means**2
        others = variances.sum(axis=1, keepdims=True) - variances
        return relative + others / self.other_votes**2

    def variance_of_scores(self, P: Array, V: Array) -> Array:
        """Variance of the log-odds due to the covariance V of the scores."""
        mu = np.exp(np.minimum(self.theta, LARGEST_THETA))
        # Derivatives of the logarithms of the means in theta, and of the means.
        given_one = np.maximum(1.0 + mu - self.means, 0.0)
        elasticity = self.possible * np.where(self.positive, given_one, 1.0)
        derivatives: Array = elasticity * self.means
        found = np.empty_like(P)
        for j in range(P.shape[1]):
            # Of the log-odds of label j in theta of every label.
            slope = -derivatives / self.other_votes[:, [j]]
            slope[:, j] = elasticity[:, j]
            slope -= slope.sum(axis=1, keepdims=True) * P  # and in the scores
            found[:, j] = np.einsum("nk,nkl,nl->n", slope, V, slope, optimize=True)
        return found


def _normal_bounds(centre: Array, variance: Array, coverage: float) -> Bounds:
    """Quantiles of degrees whose log-odds are normally distributed."""
    reach = norm.ppf(0.5 + 0.5 * coverage) * np.sqrt(variance)
    return expit(centre - reach), expit(centre + reach)


def _beta_bounds_from_log_odds(centre: Array, variance: Array, coverage: float) -> Bounds:
    """Quantiles of Beta distributions, given the mean and variance of the log-odds of degrees.

    A Beta distribution is skewed if votes are few, and may lie near 0 or 1. Let ``v / (v + w)`` be
    a share, v and w gamma variables of shapes a and b. It has the Beta distribution of a and b,
    with the mean ``m = a / (a + b)``, and 1/a + 1/b, the sum of the relative variances of v and w,
    is the linear approximation of the variance of its log-odds: ``1 / ((a + b) m (1 - m))``.
    """
    m = np.clip(expit(centre), _SMALLEST, 1.0 - _SMALLEST)
    return beta_bounds(m, 1.0 / np.maximum(m * (1.0 - m) * variance, _SMALLEST), coverage)


def beta_bounds(mean: Array, concentration: float | Array, coverage: float) -> Bounds:
    """Quantiles of Beta distributions with this mean and concentration.

    They are the marginals of a Dirichlet distribution. A lower bound below 0.01 is 0: such a degree
    counts as 0 (see `binarize`), and small quantiles are sensitive to errors of the mean.
    """
    m = np.clip(np.asarray(mean, dtype=np.float64), _SMALLEST, 1.0 - _SMALLEST)
    size = np.clip(concentration, 0.5, 1e8)  # between nearly all of [0, 1] and a point
    tail = 0.5 - 0.5 * coverage
    a = size * m
    b = size * (1.0 - m)
    lower = betaincinv(a, b, tail)
    return np.where(lower < 0.01, 0.0, lower), betaincinv(a, b, 1.0 - tail)


def _probability_of_no_vote(P: Array, n_raters: float, concentration: float) -> Array:
    """Probability that no rater votes for a label of degree p: a ratio of Beta functions.

    ``E[(1 - q)^R]`` where q is Beta distributed with mean p; ``(1 - p)^R`` if raters do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> _probability_of_no_vote(np.array([0.5]), 1, 3.0)  # one rater
    array([0.5])
    >>> _probability_of_no_vote(np.array([0.5]), 2, 2.0).round(6)  # q is uniform
    array([0.333333])
    """
    p = np.clip(P, 1e-9, 1.0 - 1e-9)
    a = concentration * (1.0 - p)
    b = concentration * p
    return np.exp(betaln(a + n_raters, b) - betaln(a, b))


def find_concentration(P: Array, positive: float, n_raters: float) -> float:
    """The kappa for which the expected frequency of positive labels is the observed one.

    It is infinite if it is too large.

    Parameters
    ----------
    P : ndarray
        Degrees of labels of rows; any sample of them.
    positive : float
        Observed frequency of positive labels.
    n_raters : float
        Number of raters of a row.
    """

    def excess(log_concentration: float) -> float:
        no_vote = _probability_of_no_vote(P, n_raters, np.exp(log_concentration))
        return positive - 1.0 + no_vote.mean()

    # Beyond these hardly anything changes.
    lowest = 1e-2
    highest = 1e4
    if excess(np.log(highest)) >= 0.0:
        return np.inf
    if excess(np.log(lowest)) <= 0.0:
        return lowest
    return float(np.exp(brentq(excess, np.log(lowest), np.log(highest), xtol=1e-6)))


def _excess_variance(rate: Array, concentration: float | None) -> Array:
    """Variance of the shares of votes over that of Poisson votes.

    Both have the same probability of a positive label. With
    ``s = lambda / kappa = ln(1 + R / kappa)`` the votes of a label have mean
    ``m = p lambda (exp(s) - 1) / s`` and variance ``m exp(s)``; variance over squared mean is
    ``s / (1 - exp(-s))`` times ``1 / (lambda p)``.

    Parameters
    ----------
    rate : ndarray
        lambda.
    concentration : float or None
        kappa; None if it is unknown.
    """
    agreement = np.full_like(rate, _DEFAULT_OVERDISPERSION)
    if concentration is not None:
        agreement = rate / concentration
    return 1.0 / exprel(-agreement)
