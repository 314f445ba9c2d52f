"""Laplace approximation of the posterior distribution of a vote regression.

The penalty is the prior of the coefficients, its strength the one with the largest evidence:
intervals then have their nominal coverage on average over rows, although penalised coefficients are
biased (the argument of Nychka and Wahba for smoothing splines).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import exprel

from ldlearn.core.simplex import Array, Indices, Mask, log_softmax, row_weights, take_rows
from ldlearn.core.votes import LARGEST_THETA, label_weights, log_expected_votes, vote_slopes
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.linear_predictor import centred_blocks
from ldlearn.solvers.row_space import RowSpace
from ldlearn.solvers.spd import reciprocal
from ldlearn.solvers.vote_regression import VoteFit, vote_curvature, vote_regression
from ldlearn.uncertainty.vote_intervals import FullCovariance, KroneckerCovariance, VotePosterior
from ldlearn.uncertainty.vote_misfit import (
    Misfit,
    VoteRows,
    measure_misfit,
    take_labels,
    vote_residuals,
)

_MAX_ROWS = 2000  # for the penalty and the curvature; coefficients are fitted on all rows
_MAX_COEFFICIENTS = 400  # up to which the information matrix is inverted without an approximation
_MAX_BASIS_ENTRIES = 2**20  # of a basis of the span of the training rows


def vote_posterior(
    features: CentredMatrix,
    Y: Mask,
    *,
    l2: float,
    observed: Mask | None = None,
    offset: float | Array = 0.0,
    groups: Indices | None = None,
    unmapped: CentredMatrix | None = None,
) -> VotePosterior:
    """Posterior distribution of the coefficients of a vote regression.

    The penalty is the one with the largest evidence (three steps of MacKay's fixed point iteration,
    from ``l2``). Two links are averaged according to their evidence: a random number of votes in
    each row, and the same number in all. Penalty and curvature are computed on at most 2,000 rows
    (`sample_rows`), coefficients on all.

    Parameters
    ----------
    features : CentredMatrix
    Y : boolean ndarray of shape (n_samples, n_labels)
    l2 : float
        Start of the search for the penalty; positive.
    observed, offset
        As for `vote_regression`.
    groups : ndarray of int, default=None
        Which rows are dependent. The log-likelihood is then divided by the design effect: see
        `_design_effect`.
    unmapped : CentredMatrix, default=None
        The features before a feature map, if there is one: for tests of the assumptions.
    """
    exact = (features.original_matrix.m + 1) * Y.shape[1] < _MAX_COEFFICIENTS
    if exact:
        features = features.original_matrix
    if groups is None:
        rows = features.original_matrix.sample_rows(_MAX_ROWS)
    else:
        rows = _sample_groups(groups)
    sample = features.subset(rows) if len(rows) < features.n else features
    labels: VoteRows = {"Y": Y, "observed": observed, "offset": offset}
    part = take_labels(labels, rows)
    penalty = l2
    fit = vote_regression(sample, l2=l2, weak_prior=True, tol=1e-4, **part)
    design_effect = 1.0
    for _ in range(3):
        information = _Information.from_fit(sample, fit, False, part)
        if groups is not None:
            design_effect = _design_effect(information, fit, part, groups[rows], penalty)
        penalty = _improve_penalty(information, fit, penalty, l2, design_effect)
        fit = vote_regression(sample, l2=penalty, weak_prior=True, start=fit, tol=1e-4, **part)
    scale = features.total / sample.total
    fits = {}
    losses = {}
    for fixed in (False, True):
        fit = vote_regression(
            features,
            l2=penalty,
            fixed_raters=fixed,
            weak_prior=True,
            start=fit,  # each fit starts from the one before
            tol=0.01 / features.n,
            **labels,
        )
        fits[fixed] = fit
        losses[fixed] = _negative_log_evidence(
            fit, fixed, penalty, sample, part, scale, design_effect
        )
    links = sorted(losses, key=losses.__getitem__)
    best = links[0]
    # A link whose log-evidence is lower by 7 or more is left out.
    if losses[links[1]] - losses[best] >= 7.0:
        links.pop()
    evidence = np.exp([losses[best] - losses[fixed] for fixed in links])
    information = _Information.from_fit(sample, fits[best], best, part, observed=exact)
    covariance: FullCovariance | KroneckerCovariance
    if exact:
        covariance = information.full_covariance(penalty, scale)
    elif isinstance(features, RowSpace):
        covariance = information.row_space_covariance(features, penalty)
    else:
        covariance = information.kronecker_covariance(features, penalty)
    covariance = covariance.scaled_by(design_effect)
    score_variance = _mean_score_variance(covariance, features.original_matrix, rows, Y.shape[1])
    entry_weights = label_weights(sample.sample_weight, part["observed"])
    if entry_weights is not None:
        entry_weights = np.broadcast_to(entry_weights, part["Y"].shape)
    negative_frequency = float(np.average(~part["Y"], weights=entry_weights))
    misfit = Misfit(0.0, 0.0, 0.0)
    if score_variance <= negative_frequency:  # else there are no intervals
        misfit = measure_misfit(
            features,
            fits[best],
            labels,
            l2=penalty,
            fixed_raters=best,
            groups=groups,
            unmapped=unmapped or features.original_matrix,
        )
    coefs = []
    intercepts = []
    for fixed in links:
        fit = fits[fixed]
        coefs.append(features.to_original(fit.coef, fit.intercept)[0])
        intercepts.append(fit.intercept + features.mean @ fit.coef)
    degrees = np.maximum(information.P, 1e-12)
    return VotePosterior(
        mean=features.original_matrix.mean,
        coefs=np.stack(coefs),
        intercepts=np.stack(intercepts),
        log_rates=np.array([fits[fixed].log_rate for fixed in links]),
        fixed_raters=links,
        link_probabilities=evidence / evidence.sum(),
        covariance=covariance,
        degree_quantiles=np.quantile(degrees, (np.arange(400) + 0.5) / 400),
        score_variance=score_variance,
        negative_frequency=negative_frequency,
        misfit=misfit,
    )


def _sample_groups(groups: Indices) -> Indices:
    """All rows of some groups: at least of 20, and of so many that there are about 2,000 rows."""
    names, number = np.unique(groups, return_inverse=True)
    n_drawn = max(20, len(names) * _MAX_ROWS // len(groups))
    drawn = np.random.default_rng(0).permutation(len(names))[:n_drawn]
    return np.flatnonzero(np.isin(number, drawn))


def _design_effect(
    information: _Information, fit: VoteFit, labels: VoteRows, groups: Indices, l2: float
) -> float:
    """Variance of the coefficients if rows of a group are dependent, over that if they are not.

    It is the trace of the sandwich covariance over groups divided by that over rows, in the metric
    of the posterior, and at least 1.
    """
    features = information.features
    column, basis, _, _ = features.spectrum(ridge=2.0 * l2 * labels["Y"].shape[1])
    curvature, prior, values, directions = information.curvature(features, l2)
    variances = reciprocal(curvature + prior)
    of_intercepts = reciprocal(features.total * values) * features.fit_intercept
    blocks = centred_blocks(features.X, features.mean, features.m)
    rows = np.concatenate([block * column for _, block in blocks])
    rows = np.column_stack([rows if basis is None else rows @ basis, np.ones(features.n)])
    slopes = vote_residuals(fit.scores, fit.log_rate, labels, False)[0] @ directions
    weights = row_weights(rows, features.sample_weight)
    _, number = np.unique(groups, return_inverse=True)
    in_group = sparse.csr_array((weights, (number, np.arange(features.n))))
    by_group = by_row = 0.0
    for variance, slope in zip(np.vstack([variances, of_intercepts]).T, slopes.T, strict=True):
        products = rows * slope[:, None]
        by_group += float(((in_group @ products) ** 2 @ variance).sum())
        by_row += float(weights @ (products**2 @ variance))
    return max(by_group / by_row, 1.0) if by_row > 0.0 else 1.0


def _mean_score_variance(
    covariance: FullCovariance | KroneckerCovariance,
    features: CentredMatrix,
    rows: Indices,
    n_labels: int,
) -> float:
    """Mean posterior variance of a score less the mean score of its row, at some training rows."""
    X = features.X[rows]
    found = np.empty(X.shape[0])
    for block, centred in centred_blocks(X, features.mean, covariance.numbers_per_row):
        V = covariance.score_covariance(centred)
        found[block] = np.einsum("njj->n", V) - V.sum(axis=(1, 2)) / n_labels
    mean = np.average(found, weights=take_rows(features.sample_weight, rows))
    return float(mean) / max(n_labels - 1, 1)


def _negative_log_evidence(
    fit: VoteFit,
    fixed_raters: bool,
    l2: float,
    some: CentredMatrix,
    part: dict[str, Any],
    scale: float,
    design_effect: float = 1.0,
) -> float:
    """Negative log-evidence of a link, up to a constant.

    It is the loss plus half the log-determinant of the Hessian matrix. If every row has a positive
    label, the likelihood is conditional on that.
    """
    information = _Information.from_fit(some, fit, fixed_raters, part)
    curvature, prior, _, _ = information.curvature(some, l2)
    loss = fit.loss
    if part["Y"].any(axis=1).all():
        any_vote = np.log(-np.expm1(-information.votes.sum(axis=1)))
        loss += scale * (any_vote @ row_weights(any_vote, some.sample_weight))
    eigenvalues = np.maximum(scale * curvature + prior, np.finfo(float).tiny)
    return loss / design_effect + 0.5 * np.log(eigenvalues).sum()


@dataclass(frozen=True)
class _Information:
    """Information of each row about its scores and ln(lambda).

    For the scores it is ``sum_j f_j (e_j - p)(e_j - p)' - u (diag(p) - p p')``. Expected (Fisher
    information, u = 0) or, if ``observed``, the second derivative of the loss.
    """

    features: CentredMatrix
    P: Array
    f: Array  # in the scores
    r: Array  # in the scores and ln(lambda)
    i: Array  # in ln(lambda)
    u: Array
    votes: Array  # expected

    @classmethod
    def from_fit(
        cls,
        features: CentredMatrix,
        fit: VoteFit,
        fixed_raters: bool,
        part: dict[str, Any],
        *,
        observed: bool = False,
    ) -> _Information:
        centre = fit.intercept + features.mean @ fit.coef
        logP = log_softmax(features.linear_predictor(fit.coef, centre))
        theta, dtheta, d2theta = log_expected_votes(logP, fixed_raters)
        theta = theta + np.reshape(fit.log_rate + part["offset"], (-1, 1))
        votes = np.exp(np.minimum(theta, LARGEST_THETA))
        if observed:
            u, i = vote_slopes(theta, part["Y"].astype(np.float64))
        else:
            u = np.zeros_like(theta)
            with np.errstate(over="ignore"):
                i = votes / exprel(votes)  # votes^2 / (exp(votes) - 1)
        entry_weights = label_weights(features.sample_weight, part["observed"])
        if entry_weights is not None:
            u = u * entry_weights
            i = i * entry_weights
        return cls(
            features=features,
            P=np.exp(logP),
            f=i * dtheta**2 + u * d2theta,
            r=i * dtheta,
            i=i,
            u=(u * dtheta).sum(axis=1),
            votes=votes,
        )

    def mean_information(self) -> Array:
        """Mean over rows, of shape (n_labels + 1, n_labels + 1), ln(lambda) last."""
        return vote_curvature(self.P, self.f, self.r, self.i) / self.features.total

    def label_directions(self) -> tuple[Array, Array]:
        """Eigenvalues, none negative, and eigenvectors of the mean information about the scores."""
        values, directions = np.linalg.eigh(self.mean_information()[:-1, :-1])
        return np.maximum(values, 0.0), directions

    def curvature(self, features: CentredMatrix, l2: float) -> tuple[Array, Array, Array, Array]:
        """Second derivatives of the loss and of the penalty, and the `label_directions`.

        The derivatives are those in the coefficients of `spectrum` and `label_directions`, as if
        every row had the same information.
        """
        values, directions = self.label_directions()
        spectrum = features.spectrum(ridge=2.0 * l2 * len(values))
        prior = 2.0 * l2 * spectrum.identity[:, None]
        return np.outer(spectrum.scatter, values), prior, values, directions

    def kronecker_covariance(self, features: CentredMatrix, l2: float) -> KroneckerCovariance:
        """Covariance of the coefficients as if every row had the same information."""
        curvature, prior, values, directions = self.curvature(features, l2)
        column, basis, _, _ = features.spectrum(ridge=2.0 * l2 * len(values))
        return KroneckerCovariance(
            scale=column,
            basis=None if basis is None else basis.astype(np.float32),
            variances=reciprocal(curvature + prior),
            prior=0.0,
            directions=directions,
            intercept=self._intercept_covariance(features),
        )

    def row_space_covariance(self, rows: RowSpace, l2: float) -> KroneckerCovariance:
        """The covariance in the span of the rows.

        Outside of it coefficients have the variance of the prior.
        """
        values, directions = self.label_directions()
        k = min(rows.m, max(1, _MAX_BASIS_ENTRIES // rows.original_matrix.m))
        curvature = np.outer(rows.spread[-k:], values)
        basis = rows.largest_directions(k).astype(np.float32)
        return KroneckerCovariance(
            scale=np.ones(len(basis)),
            basis=basis,
            variances=-curvature / (2.0 * l2 * (curvature + 2.0 * l2)),
            prior=0.5 / l2,
            directions=directions,
            intercept=self._intercept_covariance(rows),
        )

    def _intercept_covariance(self, features: CentredMatrix) -> Array:
        information = features.total * self.mean_information()
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        return inverse[:-1, :-1] * features.fit_intercept

    def full_covariance(self, l2: float, scale: float) -> FullCovariance:
        """Covariance of the coefficients if all rows have ``scale`` times this information."""
        m = self.features.m
        c = self.P.shape[1]
        H = np.empty((m + 1, c, m + 1, c))
        total = self.f.sum(axis=1)
        for j in range(c):
            for k in range(j + 1):
                p = self.P[:, j]
                q = self.P[:, k]
                weights = (total + self.u) * p * q - self.f[:, j] * q - p * self.f[:, k]
                if j == k:
                    weights += self.f[:, j] - self.u * p
                H[:, j, :, k] = H[:, k, :, j] = scale * self.features.weighted_scatter(weights)
        H[np.arange(m), :, np.arange(m), :] += 2.0 * l2 * np.eye(c)
        # Adding a number to all scores of a row changes nothing: any variance will do for that
        # direction.
        H[m, :, m, :] += np.trace(H[m, :, m, :]) / c
        size = (m + self.features.fit_intercept) * c
        flat = H.reshape((m + 1) * c, -1)[:size, :size]
        # lambda is unknown too.
        slopes = self.r - self.r.sum(axis=1, keepdims=True) * self.P
        shared = scale * np.vstack(self.features.transpose_product(slopes)).ravel()[:size]
        flat = flat - np.outer(shared, shared) / (scale * self.i.sum())
        # In units in which the prior of each coefficient has variance 1, so that the units of
        # features do not matter. Intercepts have no prior: in their units they have an information
        # of at least 1 in every direction.
        intercepts = flat[m * c :, m * c :]
        least = np.linalg.eigvalsh(intercepts).min(initial=np.inf)
        least = max(least, 1e-10 * np.trace(intercepts), np.finfo(float).tiny)
        unit = np.append(np.full(m * c, (2.0 * l2) ** -0.5), np.full(len(intercepts), least**-0.5))
        values, vectors = np.linalg.eigh(unit[:, None] * flat * unit)
        # The observed information of a sample may be indefinite: no variance is larger than that of
        # the prior.
        vectors = unit[:, None] * vectors
        matrix = (vectors / np.maximum(values, min(1.0, values.max()))) @ vectors.T
        variances = np.diag(matrix)
        if variances.min() > 1e-30 and variances.max() < 1e30:  # the range of single precision
            matrix = matrix.astype(np.float32)
        return FullCovariance(matrix.reshape(size // c, c, size // c, c))


def _improve_penalty(
    information: _Information, fit: VoteFit, l2: float, first: float, design_effect: float
) -> float:
    """A step towards the largest evidence.

    There ``2 l2 |W|^2`` is the effective number of coefficients.
    """
    curvature, prior, _, _ = information.curvature(information.features, l2)
    shares = curvature / np.maximum(curvature + prior, np.finfo(float).tiny)
    determined = design_effect * shares.sum()
    size = 2.0 * np.sum(fit.coef**2)
    most = 1e4 * first
    if determined >= most * size:
        return most
    return max(determined / size, 1e-4 * first)
