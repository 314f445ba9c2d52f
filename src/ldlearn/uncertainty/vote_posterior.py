"""How sure is a vote regression? The Laplace approximation of its weights, as a Bayesian would have it.

The prior of the weights is the penalty, its strength that of the largest evidence: intervals then have their coverage
on average over rows, although penalised weights are biased (Nychka's and Wahba's argument for smoothing splines).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

from ldlearn.core.simplex import Array, Mask, log_softmax
from ldlearn.core.votes import LARGEST_THETA, Vector, label_counts, log_expected_votes, profile_log_rate, slopes
from ldlearn.solvers.features import Features, reciprocal
from ldlearn.solvers.row_space import RowSpace
from ldlearn.solvers.vote_regression import Start, VoteFit, vote_regression
from ldlearn.uncertainty.vote_intervals import FullCovariance, KroneckerCovariance, RowSpaceCovariance, VotePosterior

_MOST_ROWS = 2000  # that the penalty and the curvature are learned on; the weights see all
_MOST_WEIGHTS = 400  # up to which the information matrix is inverted as it is
_MOST_NUMBERS = 2**20  # of a basis in the span of the rows that are kept
_ROUNDS = 3  # of the fixed point for the evidence
_WIDEST = 1e4  # ratio of a penalty to where the search for it began, either way
_UNLIKELY = 7.0  # in log-likelihood: a link that lost by more than this is left out
_ROUGH = 1e-4  # accuracy per row that is enough for a penalty
_TYPICAL = 400  # quantiles of the training rows' shares that are kept
_SMALLEST = 1e-12  # of these
_LEAST_NARROW = 1e-30  # variance that is written in single precision without losing digits, its reciprocal the largest


def vote_posterior(
    features: Features,
    Y: Mask,
    *,
    l2: float,
    weights: tuple[Array, Array] | None = None,
    observed: Mask | None = None,
    offset: float | Vector = 0.0,
) -> VotePosterior:
    """What 0/1 labels say of the shares of rows.

    The strength of the penalty is that of the largest evidence (MacKay's fixed point, from ``l2``). Two links are
    weighed by their evidence: a random number of votes in each row, and the same number in all. Penalty and
    curvature are learned on at most 2,000 rows, evenly taken, the weights on all.

    Parameters
    ----------
    features : Features
    Y : boolean ndarray of shape (n, c)
    l2 : float
        Where the search for the penalty begins; positive.
    weights : tuple of ndarrays of shapes (m, c) and (c,), default=None
        Weights and intercept of a predictor of the same labels, to begin with where rows are many.
    observed, offset
        As for `vote_regression`.
    """
    few_weights = (features.original.m + 1) * Y.shape[1] < _MOST_WEIGHTS
    features = features.original if few_weights else features
    some, rows = _few(features)
    part: dict[str, Any] = {
        "Y": Y[rows],
        "observed": None if observed is None else observed[rows],
        "offset": offset if np.ndim(offset) == 0 else np.asarray(offset)[rows],
    }
    penalty = l2
    fit = vote_regression(some, l2=penalty, tol=_ROUGH, **part)
    for _ in range(_ROUNDS):
        penalty = _likelier_penalty(_Information.of(some, fit, False, part), fit, penalty, l2)
        fit = vote_regression(some, l2=penalty, start=fit, tol=_ROUGH, **part)
    every: dict[str, Any] = {"Y": Y, "observed": observed, "offset": offset, "tol": 0.01 / features.n}
    start = fit if weights is None or some is features else _start(features, weights, Y, observed, offset)
    fits = {}
    for fixed in (False, True):  # one begins where the other ends
        start = fits[fixed] = vote_regression(features, l2=penalty, start=start, fixed_raters=fixed, **every)
    scale = features.total / some.total
    losses = {fixed: _against_evidence(fit, fixed, penalty, some, part, scale) for fixed, fit in fits.items()}
    order = sorted(fits, key=losses.__getitem__)
    chances = np.exp([losses[order[0]] - losses[fixed] for fixed in order])
    kept = [k for k, chance in enumerate(chances) if chance > np.exp(-_UNLIKELY)]
    best = [fits[order[k]] for k in kept]
    if few_weights:
        information = _Information.of(some, best[0], order[0], part, observed=True)
        covariance: Any = information.full(penalty, scale)
    elif isinstance(features, RowSpace):
        covariance = _Information.of(features, best[0], order[0], part).in_row_space(features, penalty)
    else:
        covariance = _Information.of(some, best[0], order[0], part).kronecker(features, penalty)
    return VotePosterior(
        mean=features.original.mean,
        coefs=np.stack([features.to_original(fit.coef, fit.intercept)[0] for fit in best]),
        intercepts=np.stack([fit.intercept + features.mean @ fit.coef for fit in best]),
        log_rates=np.array([fit.log_rate for fit in best]),
        fixed_raters=[order[k] for k in kept],
        chances=chances[kept] / chances[kept].sum(),
        covariance=covariance,
        typical=_typical_shares(some, best[0]),
    )


def _start(
    features: Features, weights: tuple[Array, Array], Y: Mask, observed: Mask | None, offset: float | Vector
) -> Start:
    """Weights that are known, and the number of votes that suits them best."""
    coef, intercept = weights
    logP = log_softmax(features.times(coef, intercept + features.mean @ coef))
    return Start(
        coef, intercept, profile_log_rate(logP, Y, offset, counts=label_counts(features.sample_weight, observed))
    )


def _typical_shares(features: Features, fit: VoteFit) -> Vector:
    """Shares of labels of rows as a few quantiles."""
    P = np.exp(log_softmax(features.times(fit.coef, fit.intercept + features.mean @ fit.coef)))
    counted = P if features.sample_weight is None else P[features.sample_weight > 0]
    return np.quantile(np.maximum(counted, _SMALLEST), (np.arange(_TYPICAL) + 0.5) / _TYPICAL)


def _against_evidence(
    fit: VoteFit, fixed_raters: bool, l2: float, some: Features, part: dict[str, Any], scale: float
) -> float:
    """Minus the log of the evidence of a link, up to what links share: loss, and half the log-determinant of its bend.

    Rows without any vote are never seen, where labels are not: each row is one of those with some.
    """
    information = _Information.of(some, fit, fixed_raters, part)
    values = np.maximum(np.linalg.eigvalsh(information.mean()[:-1, :-1]), 0.0)
    _, _, scatter, identity = some.spectrum(ridge=2.0 * l2 * len(values))
    bends = scale * np.outer(scatter, values) + 2.0 * l2 * identity[:, None]
    value = fit.loss + 0.5 * float(np.log(np.maximum(bends, np.finfo(float).tiny)).sum())
    if part["Y"].any(axis=1).all():
        seen = np.log(-np.expm1(-information.votes.sum(axis=1)))
        value += scale * float(seen.sum() if some.sample_weight is None else seen @ some.sample_weight)
    return value


def _few(features: Features) -> tuple[Features, slice]:
    """Features of at most 2,000 rows, evenly taken."""
    step = -(-features.n // _MOST_ROWS)
    rows = slice(None, None, step)
    if step == 1:
        return features, rows
    weights = None if features.sample_weight is None else features.sample_weight[rows]
    return Features(features.X[rows], features.fit_intercept, weights), rows


@dataclass(frozen=True)
class _Information:
    """What each row says of its scores, ``sum_j f_j (e_j - p)(e_j - p)' - u (diag(p) - p p')``, and of ln(lambda).

    Expected (Fisher's information, u = 0) or, if ``observed``, the second derivative of the loss as it is.
    """

    features: Features
    P: Array
    f: Array  # in the scores
    r: Array  # in the scores and ln(lambda)
    i: Array  # in ln(lambda)
    u: Vector
    votes: Array  # expected

    @classmethod
    def of(
        cls, features: Features, fit: VoteFit, fixed_raters: bool, part: dict[str, Any], *, observed: bool = False
    ) -> _Information:
        logP = log_softmax(features.times(fit.coef, fit.intercept + features.mean @ fit.coef))
        theta, rise, bend = log_expected_votes(logP, fixed_raters)
        theta = theta + np.reshape(fit.log_rate + part["offset"], (-1, 1))
        u, votes = np.zeros_like(theta), np.exp(np.minimum(theta, LARGEST_THETA))
        if observed:
            u, i = slopes(theta, part["Y"].astype(np.float64))
        else:
            with np.errstate(over="ignore"):
                i = votes / exprel(votes)  # votes^2 / (exp(votes) - 1)
        counts = label_counts(features.sample_weight, part["observed"])
        u, i = (u, i) if counts is None else (u * counts, i * counts)
        return cls(features, np.exp(logP), i * rise**2 + u * bend, i * rise, i, (u * rise).sum(axis=1), votes)

    def mean(self) -> Vector:
        """Mean over rows, (c + 1, c + 1), ln(lambda) last."""
        cross = self.f.T @ self.P
        C = np.diag(self.f.sum(axis=0)) - cross - cross.T + (self.f.sum(axis=1, keepdims=True) * self.P).T @ self.P
        q = (self.r - self.r.sum(axis=1, keepdims=True) * self.P).sum(axis=0)
        return np.block([[C, q[:, None]], [q[None, :], self.i.sum().reshape(1, 1)]]) / self.features.total

    def kronecker(self, features: Features, l2: float) -> KroneckerCovariance:
        """Covariance of the weights as if every row said the same."""
        values, directions = self._label_directions()
        column, basis, scatter, identity = features.spectrum(ridge=2.0 * l2 * len(values))
        inverse = reciprocal(np.outer(scatter, values) + 2.0 * l2 * identity[:, None])
        narrow = None if basis is None else basis.astype(np.float32)
        return KroneckerCovariance(column, narrow, inverse, directions, self._of_intercepts(features))

    def in_row_space(self, rows: RowSpace, l2: float) -> RowSpaceCovariance:
        """The same, as it is in the span of the rows and outside of it: only what the prior says holds there."""
        values, directions = self._label_directions()
        k = min(rows.m, max(1, _MOST_NUMBERS // rows.original.m))
        curvature = np.outer(rows.spread[-k:], values)
        gains = curvature / (2.0 * l2 * (curvature + 2.0 * l2))
        basis = rows.largest_directions(k).astype(np.float32)
        return RowSpaceCovariance(basis, gains, 0.5 / l2, directions, self._of_intercepts(rows))

    def _label_directions(self) -> tuple[Vector, Vector]:
        """Eigenvalues, none negative, and eigenvectors of what a row says on average of its scores."""
        values, directions = np.linalg.eigh(self.mean()[:-1, :-1])
        return np.maximum(values, 0.0), directions

    def _of_intercepts(self, features: Features) -> Vector:
        found = np.linalg.pinv(features.total * self.mean(), rcond=1e-10, hermitian=True)[:-1, :-1]
        return np.asarray(found * features.fit_intercept)

    def full(self, l2: float, scale: float) -> FullCovariance:
        """Covariance of the weights, if all rows say ``scale`` times what these say."""
        m, c = self.features.m, self.P.shape[1]
        H = np.empty((m + 1, c, m + 1, c))
        total = self.f.sum(axis=1)
        for j in range(c):
            for k in range(j + 1):
                p, q = self.P[:, j], self.P[:, k]
                weights = (total + self.u) * p * q - self.f[:, j] * q - p * self.f[:, k]
                weights += self.f[:, j] - self.u * p if j == k else 0.0
                H[:, j, :, k] = H[:, k, :, j] = scale * self.features.weighted_scatter(weights)
        H[np.arange(m), :, np.arange(m), :] += 2.0 * l2 * np.eye(c)
        # The same number added to all scores of a row changes nothing: any variance will do for that direction.
        H[m, :, m, :] += np.trace(H[m, :, m, :]) / c
        cross, gb = self.features.transpose_times(self.r - self.r.sum(axis=1, keepdims=True) * self.P)
        shared = scale * np.vstack([cross, gb]).ravel()
        size = (m + self.features.fit_intercept) * c
        flat = H.reshape((m + 1) * c, -1)[:size, :size]
        flat = flat - np.outer(shared[:size], shared[:size]) / (scale * self.i.sum())  # lambda is unknown too
        # In units in which the prior of each weight has variance 1, so that those of features make no difference, and
        # intercepts, which have none, are surer than that if weights are known.
        unit = np.append(np.full(m * c, (2.0 * l2) ** -0.5), _units_of(flat[m * c :, m * c :]))
        values, vectors = np.linalg.eigh(unit[:, None] * flat * unit)
        # Few rows may bend the other way where all do not: no direction is less certain than its prior.
        vectors = unit[:, None] * vectors
        matrix = (vectors / np.maximum(values, min(1.0, float(values.max())))) @ vectors.T
        return FullCovariance(_narrow(matrix).reshape(size // c, c, size // c, c))


def _units_of(intercepts: Vector) -> Vector:
    """Units in which intercepts of this information, if there are any, have at least 1 in every direction."""
    least = np.linalg.eigvalsh(intercepts).min(initial=np.inf)
    return np.full(len(intercepts), max(least, 1e-10 * np.trace(intercepts), np.finfo(float).tiny) ** -0.5)


def _narrow(variances: Vector) -> NDArray[Any]:
    """In single precision, if no variance is too small or too large for that."""
    diagonal = np.diag(variances)
    fits = diagonal.min() > _LEAST_NARROW and diagonal.max() < 1.0 / _LEAST_NARROW
    return variances.astype(np.float32) if fits else variances


def _likelier_penalty(information: _Information, fit: VoteFit, l2: float, first: float) -> float:
    """``2 l2 |W|^2`` = the number of weights that the labels determine: a step to the largest evidence."""
    values = np.maximum(np.linalg.eigvalsh(information.mean()[:-1, :-1]), 0.0)
    _, _, scatter, identity = information.features.spectrum(ridge=2.0 * l2 * len(values))
    curvature = np.outer(scatter, values)
    determined = float((curvature / np.maximum(curvature + 2.0 * l2 * identity[:, None], np.finfo(float).tiny)).sum())
    size, least, most = 2.0 * float(np.sum(fit.coef**2)), first / _WIDEST, first * _WIDEST
    return most if determined >= most * size else max(determined / size, least)
