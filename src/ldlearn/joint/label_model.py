"""What a 1 means: do the labels of a row share its votes, or does each stand alone? Held-out 0/1 labels tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.utils import check_array, check_consistent_length

from ldlearn.base import check_logical
from ldlearn.base.estimator import explain_overflow, raise_input_errors
from ldlearn.core.resources import in_threads
from ldlearn.core.simplex import Array, Mask
from ldlearn.core.targets import split_observed
from ldlearn.core.votes import LARGEST_THETA, competing_votes, log_likelihood
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import Features
from ldlearn.solvers.vote_regression import VoteFit, vote_regression
from ldlearn.uncertainty.intervals import check_share

Rows = NDArray[np.intp]
_MOST_ROWS = 2000  # that a choice is made on
_MANY_ROWS = 1000  # are only cut in half
_FEWEST_ROWS = 10  # fewer tell nothing
_RATIOS = (300.0, 60.0, 12.0, 2.4, 0.5, 0.1)  # of the penalty to DLDL's default
_ROUGH = 1e-4  # accuracy per row that is enough to compare models; at 1e-3 some verdicts change
_COUNT_LEVEL = 0.01  # chance of finding too little variation where labels are independent
_RATIONED = 0.5  # of the variance that votes would give to the number of positives
_NOTHING = 1e-9


@dataclass(frozen=True)
class Fold:
    """Rows to learn from and rows to judge by."""

    train: Rows
    test: Rows


def held_out_folds(X: Any, most_rows: int = _MOST_ROWS) -> list[Fold]:
    """Two folds of many rows, three of few, none of fewer than ten; at most 2,000 rows (of many) take part.

    Where a row goes depends on its features alone, not on its place: in another order, rows keep their folds. Rows with
    the same features go together, so that none is judged by its own copy and a row twice is a row of weight 2. Only
    where fewer than ten differ, among hundreds, are copies parted.
    """
    order, starts = _same_rows(X)
    if len(starts) < _FEWEST_ROWS <= len(order) / _FEWEST_ROWS:
        starts = np.arange(len(order))
    if len(starts) < _FEWEST_ROWS:
        return []
    ends = np.append(starts[1:], len(order))
    shuffled = np.random.default_rng(1).permutation(len(starts))
    taken = int(np.searchsorted(np.cumsum((ends - starts)[shuffled]), most_rows, side="right"))
    groups = [order[starts[k] : ends[k]] for k in shuffled[: max(taken, _FEWEST_ROWS)]]
    n_folds = 3 if len(groups) < _MANY_ROWS else 2
    parts = [np.concatenate(groups[k::n_folds]) for k in range(n_folds)]
    return _folds_of(parts)


def shuffled_by_features(X: Any) -> Rows:
    """The rows of X in an order that looks random but depends on their features alone."""
    return _same_rows(X)[0][np.random.default_rng(1).permutation(X.shape[0])]


def make_folds(rows: Rows, n_folds: int) -> list[Fold]:
    """Each part of the rows, dealt out in turn, to judge what is learned from the others."""
    return _folds_of([rows[k::n_folds] for k in range(n_folds)])


def _folds_of(parts: list[Rows]) -> list[Fold]:
    rows = np.concatenate(parts)
    return [Fold(np.setdiff1d(rows, part), np.sort(part)) for part in parts]


def _same_rows(X: Any) -> tuple[Rows, Rows]:
    """The rows in the order of a projection of their features, and where in it a row begins that differs."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1]).astype(X.dtype)
    # Not by BLAS, in which the same row may give another number at another place.
    projected = np.einsum("ij,j->i", X, direction) if isinstance(X, np.ndarray) else X @ direction
    order = np.argsort(projected, kind="stable")
    return order, np.flatnonzero(np.append(True, np.diff(projected[order]) > 0))


@dataclass(frozen=True)
class Split:
    """The rows of a fold as models need them."""

    features: Features
    Y: Mask
    X_test: Any
    Y_test: Mask
    known: Mask | None = None  # labels of the training rows that are not unknown; None if none is
    known_test: Mask | None = None
    weights_test: NDArray[np.float64] | None = None  # how often each row counts

    def log_likelihoods(self, theta: Array) -> NDArray[np.float64]:
        """Of the known labels of each test row."""
        return log_likelihood(theta, self.Y_test, n_seen=self.features.total, known=self.known_test)


def held_out_splits(features: Features, Y: Mask, known: Mask | None = None) -> list[Split]:
    """The rows of each of `held_out_folds`."""

    X, intercept, weights = features.X, features.fit_intercept, features.sample_weight

    def part(A: Any, rows: Rows) -> Any:
        return None if A is None else A[rows]

    return [
        Split(
            Features(X[fold.train], intercept, part(weights, fold.train), orthogonal=features.orthogonal),
            Y[fold.train],
            X[fold.test],
            Y[fold.test],
            part(known, fold.train),
            part(known, fold.test),
            part(weights, fold.test),
        )
        for fold in held_out_folds(features.original.X)
    ]


def judging_weights(splits: list[Split]) -> NDArray[np.float64]:
    """How often each of the test rows of the splits counts."""
    return np.concatenate(
        [np.ones(len(s.Y_test)) if s.weights_test is None else s.weights_test for s in splits] or [np.empty(0)]
    )


@dataclass(frozen=True)
class HeldOut:
    """What a model, with the penalty that suits it best, says of held-out labels."""

    ratio: float  # of the penalty to DLDL's default gamma
    log_likelihoods: NDArray[np.float64]  # of each row
    weights: NDArray[np.float64]  # how often each row counts
    thetas: tuple[Array, ...]  # of the test rows of each split: the log of the votes that the model expects
    fits: tuple[VoteFit, ...]  # one for each split

    @property
    def mean(self) -> float:
        """Log-likelihood of a row."""
        return float(np.average(self.log_likelihoods, weights=self.weights))


def best_penalty(splits: list[Split], *, competing: bool) -> HeldOut:
    """Try penalties from heavy to light, each fit starting from the last, until the likelihood falls."""
    weights = judging_weights(splits)
    best = HeldOut(1.0, np.empty(0), weights, (), ())
    if not splits:
        return best
    paths = [_path(split, competing) for split in splits]
    for ratio in _RATIOS:
        likelihoods, thetas, fits = zip(*in_threads(next, paths), strict=True)  # splits know nothing of each other
        found = HeldOut(ratio, np.concatenate(likelihoods), weights, thetas, fits)
        if best.fits and found.mean < best.mean:
            break
        best = found
    return best


def _path(split: Split, competing: bool) -> Iterator[tuple[NDArray[np.float64], Array, VoteFit]]:
    """Under each penalty: log-likelihood and theta of the test rows, and the fit."""
    features, fit = split.features, None
    for ratio in _RATIOS:
        l2 = ratio * default_gamma(features)
        fit = vote_regression(features, split.Y, l2=l2, competing=competing, known=split.known, start=fit, tol=_ROUGH)
        Z = np.asarray(split.X_test @ fit.coef + fit.intercept, dtype=np.float64)
        theta = competing_votes(Z, fit.log_rate) if competing else Z
        yield split.log_likelihoods(theta), theta, fit


def _excess(theta: Array, Y: Mask, known: Mask | None = None) -> NDArray[np.float64]:
    """How far the number of positives of each row is off, squared, beyond what independent labels would vary.

    Rows without any positive are never seen. So ``P_j = pi_j / (1 - q)``, with ``pi_j`` the chance of label j before
    such rows were dropped and q that of no label; a few fixed-point steps give pi. Rows with unknown labels are seen
    whatever the others are; only the others are counted.
    """
    P = -np.expm1(-np.exp(np.minimum(theta, LARGEST_THETA)))
    P = P if known is None else P * known
    seen = np.ones((len(P), 1))
    for _ in range(20):
        seen = -np.expm1(np.log1p(-np.minimum(P * seen, 1.0 - 1e-12)).sum(axis=1, keepdims=True))
    if known is not None:
        seen[~known.all(axis=1)] = 1.0
    pi, mean = P * seen, P.sum(axis=1)
    second = ((pi * (1.0 - pi)).sum(axis=1) + pi.sum(axis=1) ** 2) / np.maximum(seen[:, 0], 1e-12)
    return np.asarray((Y.sum(axis=1) - mean) ** 2 - np.maximum(second - mean**2, 0.0))


def _count_variances(theta: Array, Y: Mask, known: Mask | None = None) -> tuple[Array, Array]:
    r"""Squared deviation of each row's number of positives from the usual one, and its variance if raters had voted.

    The number of labels with any vote, when exactly lambda votes are cast, varies less than if votes were Poisson: by
    what the number of votes explains of it, :math:`(\sum_j \lambda p_j e^{-\lambda p_j})^2 / \lambda` (the occupancy
    problem). Rows differ in their shares, too: so the first is no less than the second on average, if labels are votes.
    """
    counted = np.ones(Y.shape) if known is None else known.astype(float)
    usual = counted @ (Y.sum(axis=0) / np.maximum(counted.sum(axis=0), 1.0))
    votes = np.exp(np.minimum(theta, LARGEST_THETA))
    none = np.exp(-votes)
    explained = (counted * votes * none).sum(axis=1) ** 2 / votes.sum(axis=1)
    return (Y.sum(axis=1) - usual) ** 2, (counted * none * (1.0 - none)).sum(axis=1) - explained


@dataclass(frozen=True)
class Competition:
    """Verdict of `competition_test`.

    Attributes
    ----------
    competing : bool
        False if the labels were found to stand alone.
    z : float
        Paired statistic over held-out rows, independent minus competing; large values speak for labels that stand
        alone. 0 if the two models say the same of every row.
    p_value : float
        Of the hypothesis that labels compete, against labels that stand alone.
    gain : float
        Log-likelihood per row that independent labels gain over competing ones; negative if they lose.
    z_count : float
        Whether the number of positives of a row varies more (positive) or less (negative) than it would if labels
        were independent given the features.
    count_ratio : float
        The variance of that number over the one that votes would give it even if all rows had the same degrees: at
        least 1 for votes, near 0 where every row has equally many positives.
    z_chances : float
        Paired statistic over held-out rows, all rows expecting equally many votes minus all expecting equally many
        ticks; large values speak against degrees in proportion to the chances of a tick.
    n_rows : int
        Held-out rows that the comparison is made on.
    words : str
        The verdict as a sentence.
    """

    competing: bool
    z: float
    p_value: float
    gain: float
    z_count: float
    count_ratio: float
    z_chances: float
    n_rows: int
    words: str

    @property
    def rationed(self) -> bool:
        """Whether rows are so alike in their number of positives that these tell only which degrees are the largest."""
        return self.count_ratio < _RATIONED

    @property
    def trust(self) -> float:
        """How far the vote model's degrees are to be believed, from 0 (equal shares instead) to 1.

        0 if labels stand alone or are rationed. 1 if held-out labels are no likelier as labels that stand alone, or if
        the number of positives varies too little for that. Otherwise the two-sided p-value of that comparison.
        """
        if not self.competing or self.rationed:
            return 0.0
        return min(1.0, 2.0 * self.p_value) if self.z_count > norm.ppf(_COUNT_LEVEL) else 1.0

    @property
    def chances(self) -> float:
        """How far degrees in proportion to the chances of a tick are to be reckoned with beside votes, from 0 to 1.

        The smaller p-value of two tests in which votes may show: that held-out labels are no likelier as votes than as
        labels that stand alone, and no likelier if all rows expect equally many votes than equally many ticks. So one
        half where neither says anything.
        """
        return float(min(norm.cdf(self.z), norm.sf(self.z_chances)))


def competition_test(X: Any, y: Any, *, fit_intercept: bool = True, level: float = 0.05) -> Competition:
    r"""Do the labels of a row compete for its votes, or does each mark its own presence?

    Two models of 0/1 labels with the same link are compared on held-out rows: ``P(y_j = 1) = 1 - exp(-lambda p_j)``,
    p a softmax of linear scores, and ``1 - exp(-exp(x w_j + b_j))``, each with the penalty that suits it best. The
    statistic is the mean difference of their log-likelihoods over its standard error. Labels are found to stand alone
    if it is large, and if the number of positives of a row does not vary less than independent labels would let it:
    where every row has its two largest labels ticked, they do compete, whatever link suits them.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n, m)
        Features.
    y : array-like or data frame of shape (n, c)
        Logical labels; NaN where unknown.
    fit_intercept : bool, default=True
    level : float, default=0.05
        Chance of calling competing labels independent where the features say nothing; less where they do.

    Returns
    -------
    Competition

    Examples
    --------
    >>> from ldlearn.datasets import make_label_distributions
    >>> from ldlearn.joint import competition_test
    >>> votes = make_label_distributions(1000, labels="votes", n_raters=20)
    >>> competition_test(votes.X, votes.Y).competing
    True
    >>> presence = make_label_distributions(1000, labels="presence")
    >>> competition_test(presence.X, presence.Y).competing
    False
    """
    check_share("level", level)
    Y, known = split_observed(check_logical(y, nan="allow"))
    with raise_input_errors():
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_consistent_length(X, Y)
    with explain_overflow(X):
        splits = held_out_splits(Features(X, fit_intercept), Y, known)
        return compare(splits, best_penalty(splits, competing=True), level)


def compare(splits: list[Split], together: HeldOut, level: float = 0.05) -> Competition:
    """The test, given what the model of competing labels says of the held-out rows."""
    if not splits:
        return Competition(True, 0.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0, "too few rows to tell whether labels compete")
    apart = best_penalty(splits, competing=False)
    weights = apart.weights
    difference = apart.log_likelihoods - together.log_likelihoods
    gain, z = float(np.average(difference, weights=weights)), _z(difference, weights)
    z_count, count_ratio = _z(_each(_excess, splits, apart), weights), _count_ratio(splits, together)
    z_chances = _z(_votes_over_chances(splits, apart), weights)
    p_value = float(norm.sf(z))
    counts_vary = z_count > norm.ppf(_COUNT_LEVEL)
    if count_ratio < _RATIONED:
        verdict = "labels are rationed: rows hardly differ in their number of positives, as if all ticked equally many"
    elif p_value < level and counts_vary:
        verdict = "labels stand alone: each marks its own presence"
    elif z < norm.ppf(level):
        verdict = "labels compete, as votes do"
    elif not counts_vary:
        verdict = "labels compete: rows differ less in their number of positives than independent labels would"
    else:
        verdict = "the labels do not say whether they compete; they are taken as votes"
    figures = f"(held-out log-likelihood per row, independent minus competing: {gain:+.3f}, z = {z:+.1f})"
    competing = p_value >= level or not counts_vary
    words = f"{verdict} {figures}"
    return Competition(competing, z, p_value, gain, z_count, count_ratio, z_chances, len(difference), words)


def _votes_over_chances(splits: list[Split], apart: HeldOut) -> NDArray[np.float64]:
    r"""Log-likelihood that held-out rows gain if all expect equally many votes rather than equally many ticks.

    What a model of independent labels expects of a row, :math:`v_j` votes and so the chance :math:`P_j` of a tick, is
    scaled until :math:`\sum_j v_j`, or else :math:`\sum_j P_j`, is the same in all rows: two ways to compete. Then
    degrees, which sum to one in every row, are in proportion to :math:`v_j`, or else to :math:`P_j`.
    """
    gains = []
    for theta, split in zip(apart.thetas, splits, strict=True):
        votes = np.exp(np.clip(theta, -LARGEST_THETA, LARGEST_THETA))
        equal_votes = _same_sums(votes, split.weights_test)
        equal_ticks = np.minimum(_same_sums(-np.expm1(-votes), split.weights_test), 1.0 - _NOTHING)
        as_votes, as_chances = np.log(equal_votes), np.log(-np.log1p(-equal_ticks))
        gains.append(split.log_likelihoods(as_votes) - split.log_likelihoods(as_chances))
    return np.concatenate(gains)


def _same_sums(values: Array, weights: NDArray[np.float64] | None) -> Array:
    """Rows of positive values, each scaled to the geometric mean of their sums."""
    sums = values.sum(axis=1, keepdims=True)
    return np.asarray(values / sums * np.exp(np.average(np.log(sums[:, 0]), weights=weights)))


def _each(function: Callable[..., Any], splits: list[Split], model: HeldOut) -> Any:
    """What the function says of the test rows of all splits under a model."""
    parts = (function(theta, split.Y_test, split.known_test) for theta, split in zip(model.thetas, splits, strict=True))
    return np.concatenate([np.asarray(part) for part in parts], axis=-1)


def _count_ratio(splits: list[Split], votes: HeldOut) -> float:
    """Observed over expected variance of the number of positives; 0 if labels never differ and none is expected to."""
    observed, expected = np.average(_each(_count_variances, splits, votes), axis=1, weights=votes.weights)
    return float(observed / expected) if expected > _NOTHING else 0.0


def _z(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Mean over standard error, each value counted as often as its weight says; 0 if there is nothing to tell apart."""
    n = float(weights.sum())
    if len(values) < 2 or n <= 1.0:
        return 0.0
    mean = float(np.average(values, weights=weights))
    error = float(np.sqrt(weights @ (values - mean) ** 2 / (n - 1.0) / n))
    return mean / error if error > _NOTHING else 0.0
