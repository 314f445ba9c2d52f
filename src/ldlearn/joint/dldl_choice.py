"""DLDL's beta and gamma where none are given: chosen by the 0/1 labels alone. docs/defaults.md has the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from ldlearn.core.simplex import Array, Mask, log_softmax, normalize_rows
from ldlearn.core.targets import fill_unknown
from ldlearn.joint.default_gamma import default_gamma
from ldlearn.joint.label_model import Split, best_penalty, compare, held_out_splits, judging_weights
from ldlearn.solvers.features import Features
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression
from ldlearn.solvers.vote_regression import (
    VoteFit,
    competing_votes,
    expected_votes,
    label_counts,
    profile_log_rate,
)

LABEL_MODELS = ("auto", "votes", "presence")
_BETAS = np.geomspace(0.03, 100.0, 9)  # from degrees that follow the predictor to equal shares
_START = 4  # the middle of them
_RATIOS = (0.3, 1.0, 3.0, 10.0)  # of gamma to its default
_DEFAULT_RATIO = 1  # where 1 stands among them
_NO_EVIDENCE_BETA = 1.0
# The less labels look like votes, the nearer to equal shares were the best degrees: beta is multiplied by this to the
# power of the evidence that labels stand alone (0: none, 1: all there can be).
_DOUBT = 8.0
_ROUGH = 1e-4  # accuracy per row that is enough to compare weights
_SETTLED = 1e-3  # mean change of a degree


@dataclass(frozen=True)
class Choice:
    """The weights to use, and why."""

    beta: float
    gamma: float
    words: str


def choose_weights(
    X: Any,
    Y: Mask,
    features: Features,
    *,
    beta: float | None = None,
    gamma: float | None = None,
    label_model: str = "auto",
    max_iter: int = 5,
    known: Mask | None = None,
) -> Choice:
    """Choose the weights that are None.

    beta: the one whose degrees are nearest (mean intersection) to those of the vote model, raised where it is in doubt
    that labels are votes; the largest if labels stand alone. gamma: the one under whose predictions held-out labels
    are likeliest, by the vote likelihood. At most 2,000 rows take part, and which ones depends on their features alone.

    Parameters
    ----------
    X : {ndarray, csr_array} of shape (n, m)
        What the predictor works on.
    Y : boolean ndarray of shape (n, c)
    features : Features
        Of X, and how often each row counts.
    beta, gamma : float or None
        Weights that are given stay.
    label_model : {"auto", "votes", "presence"}, default="auto"
        Whether the labels of a row compete; "auto" tests it.
    max_iter : int, default=5
        Outer iterations of DLDL.
    known : boolean ndarray of shape (n, c), default=None
        Where Y says anything; by default everywhere.
    """
    unit = default_gamma(features)
    splits = held_out_splits(X, Y, features.fit_intercept, features.weights, known)
    if not splits:
        chosen = _NO_EVIDENCE_BETA if beta is None else beta
        return Choice(chosen, unit if gamma is None else gamma, "too few rows to choose by: the weights are defaults")
    words = [] if beta is not None else [f"label_model={label_model!r}"]
    trials: list[_Trial] | None = None
    if beta is None:
        doubt = 0.0
        together = None if label_model == "presence" else best_penalty(splits, competing=True)
        if label_model == "auto" and together is not None:
            verdict = compare(together, best_penalty(splits, competing=False))
            words, doubt = [verdict.words], float(norm.cdf(verdict.z))
            together = together if verdict.competing else None
        if together is None:
            beta = float(_BETAS[-1])
            words.append(f"beta={beta:g}: equal shares of the positive labels, nearly")
        else:
            trials = _trials(splits, max_iter, together.fits)
            nearest = _nearest_beta(trials, unit if gamma is None else gamma)
            beta = min(nearest * _DOUBT**doubt, float(_BETAS[-1]))
            words.append(f"beta={beta:.2g}: near the degrees of the vote model (nearest at {nearest:.2g})")
    if gamma is None:
        ratio = _likeliest_ratio(trials or _trials(splits, max_iter, ()), unit, beta)
        gamma = ratio * unit
        words.append(f"gamma={gamma:.3g}: held-out labels are likeliest at {ratio:g} times its default")
    return Choice(float(beta), float(gamma), "; ".join(words))


def _trials(splits: list[Split], max_iter: int, votes: tuple[VoteFit, ...]) -> list[_Trial]:
    """All splits but one: weights are compared often, and a half of many rows, or two thirds of few, judge well."""
    return [_Trial(split, max_iter, votes[k] if votes else None) for k, split in enumerate(splits[: len(splits) - 1])]


class _Trial:
    """DLDL without a graph, roughly solved on the training rows of a split."""

    def __init__(self, split: Split, max_iter: int, votes: VoteFit | None) -> None:
        self.split, self.max_iter = split, max_iter
        self.support = split.Y if split.known is None else split.Y | ~split.known
        self.start = normalize_rows(fill_unknown(split.Y, split.known, split.features.weights))
        self.target: Array | None = None
        if votes is not None:
            theta = competing_votes(votes.scores, votes.log_rate)
            self.target = normalize_rows(expected_votes(theta, split.Y, split.known))
        self._first: dict[float, SoftmaxFit] = {}

    def fit(self, beta: float, gamma: float) -> tuple[Array, SoftmaxFit]:
        """Degrees and predictor. The first step in W depends on gamma alone."""
        features, D = self.split.features, self.start
        if gamma not in self._first:
            self._first[gamma] = softmax_regression(features, D, l2=gamma, tol=_ROUGH)
        W = self._first[gamma]
        for iteration in range(self.max_iter):
            if iteration:
                W = softmax_regression(features, D, l2=gamma, start=W, tol=_ROUGH)
            previous, D = D, newton_simplex(log_softmax(W.logits), self.support, beta=beta, start=D, tol=_ROUGH).D
            if np.abs(D - previous).mean() <= _SETTLED:
                break
        return D, W

    def nearness(self, beta: float, gamma: float) -> float:
        """Mean intersection of the degrees with those of the vote model."""
        assert self.target is not None
        shared = np.minimum(self.fit(beta, gamma)[0], self.target).sum(axis=1)
        return float(np.average(shared, weights=self.split.features.weights))

    def held_out(self, beta: float, gamma: float) -> NDArray[np.float64]:
        """Vote log-likelihood of the test rows under the predictions; lambda is that of the training rows."""
        _, W = self.fit(beta, gamma)
        counts = label_counts(self.split.features.weights, self.split.known)
        log_rate = profile_log_rate(log_softmax(W.logits), self.split.Y, counts=counts)
        Z = np.asarray(self.split.X_test @ W.coef + W.intercept, dtype=np.float64)
        return self.split.log_likelihoods(competing_votes(Z, log_rate))


def _nearest_beta(trials: list[_Trial], gamma: float) -> float:
    """The beta whose degrees are nearest to the vote model's: the top of a parabola through the best of a grid."""
    values: dict[int, float] = {}

    def nearness(k: int) -> float:
        return float(np.mean([trial.nearness(float(_BETAS[k]), gamma) for trial in trials]))

    best = _climb(nearness, _START, len(_BETAS), values)
    if not 0 < best < len(_BETAS) - 1:
        return float(_BETAS[best])
    below, top, above = (values[best + step] for step in (-1, 0, 1))
    bend = below - 2.0 * top + above
    shift = 0.5 * (below - above) / bend if bend < 0 else 0.0
    return float(_BETAS[best] * (_BETAS[1] / _BETAS[0]) ** shift)


def _likeliest_ratio(trials: list[_Trial], unit: float, beta: float) -> float:
    weights = judging_weights([trial.split for trial in trials])

    def likelihood(k: int) -> float:
        rows = np.concatenate([trial.held_out(beta, _RATIOS[k] * unit) for trial in trials])
        return float(np.average(rows, weights=weights))

    return _RATIOS[_climb(likelihood, _DEFAULT_RATIO, len(_RATIOS), {})]


def _climb(value: Callable[[int], float], start: int, count: int, known: dict[int, float]) -> int:
    """The place of the maximum of a function with one hill on 0, 1, ..., count - 1; ``known`` keeps what was asked."""

    def at(k: int) -> float:
        if k not in known:
            known[k] = value(k)
        return known[k]

    best = start
    for step in (1, -1):
        while 0 <= best + step < count and at(best + step) > at(best):
            best += step
    return best
