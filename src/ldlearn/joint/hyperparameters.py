"""DLDL's beta and gamma where none are given: chosen by the 0/1 labels alone. docs/defaults.md has the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from ldlearn.core.logical import Support
from ldlearn.core.simplex import Array, Mask, log_softmax, normalize_rows
from ldlearn.core.targets import fill_unknown
from ldlearn.core.votes import LARGEST_THETA, competing_votes, expected_votes
from ldlearn.joint.label_model import HeldOut, Split, best_penalty, compare, held_out_splits, judging_weights
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.features import Features
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression
from ldlearn.solvers.vote_regression import vote_regression

LABEL_MODELS = ("auto", "votes", "presence")
_BETAS = np.geomspace(0.03, 100.0, 9)  # from degrees that follow the predictor to equal shares
_MIDDLE_BETA = 4  # where to begin among them
_RATIOS = 10.0 ** np.arange(-1.0, 3.0, 0.5)  # of gamma to its default; the last leaves next to nothing of noise
_NO_EVIDENCE_BETA = 1.0
_ROUGH = 1e-3  # accuracy per row that is enough to compare weights
_LESS_ROUGH = 1e-5  # in the span of wide rows: it costs nothing there, and fits that end sooner make gamma too small
_SETTLED = 3e-3  # mean change of a degree
_FINE = 201  # places to look at between two tops


@dataclass(frozen=True)
class Hyperparameters:
    """The selected values, and why."""

    beta: float
    gamma: float
    message: str


def select_hyperparameters(
    features: Features,
    Y: Mask,
    *,
    beta: float | None = None,
    gamma: float | None = None,
    label_model: str = "auto",
    max_iter: int = 5,
    observed: Mask | None = None,
) -> Hyperparameters:
    """Choose the weights that are None.

    The labels themselves suggest degrees: those of the vote model, to the power of the trust in it
    (`Competition.trust`), so equal shares of the positive labels where there is none. gamma is the one whose
    predictions of them on held-out rows are best, by DLDL's own loss KL(D, P). beta is the one whose degrees are
    nearest to them (mean intersection), unless the labels leave room (`Competition.chances`) for another opinion,
    degrees in proportion to the chances of a tick: then it is the one that has least to lose whichever is right. At
    most 2,000 rows take part, and which ones depends on their features alone.

    Parameters
    ----------
    features : Features
        What the predictor works on, and how often each row counts.
    Y : boolean ndarray of shape (n, c)
    beta, gamma : float or None
        Weights that are given stay.
    label_model : {"auto", "votes", "presence"}, default="auto"
        Whether the labels of a row compete; "auto" tests it.
    max_iter : int, default=5
        Outer iterations of DLDL.
    observed : boolean ndarray of shape (n_samples, n_labels), default=None
        Which labels are observed; all by default.
    """
    unit = default_gamma(features)
    splits = held_out_splits(features, Y, observed)
    if not splits:
        chosen = _NO_EVIDENCE_BETA if beta is None else beta
        return Hyperparameters(
            chosen, unit if gamma is None else gamma, "too few rows to choose by: the weights are defaults"
        )
    suggested = _suggest(splits, label_model)
    words = [suggested.words]
    if gamma is None:
        ratio = _best_ratio(splits[:1] if len(Y) > _n_rows(splits) else splits, suggested)
        gamma = ratio * unit
        words.append(f"gamma={gamma:.3g}: held-out degrees are predicted best at {ratio:.2g} times its default")
    if beta is None and suggested.trust == 0.0:
        beta = float(_BETAS[-1])
        words.append(f"beta={beta:g}: equal shares of the positive labels, nearly")
    elif beta is None:
        beta = _safest_beta(_all_rows(features, Y, observed, splits, suggested), gamma, max_iter)
        power = "" if suggested.trust == 1.0 else f" to the power of {suggested.trust:.2g}, for they are in doubt"
        words.append(f"beta={beta:.2g}: nearest to the degrees of the vote model{power}{suggested.reserve}")
    return Hyperparameters(float(beta), float(gamma), "; ".join(words))


@dataclass(frozen=True)
class _Suggested:
    """Degrees suggested by the labels: those of the vote model to the power of ``trust``."""

    trust: float
    votes: HeldOut | None  # None if there is no trust
    words: str
    ratio: float = 1.0  # of the vote model's penalty to DLDL's default gamma: where to look for gamma first
    chances: float = 0.0  # weight of the other opinion, degrees in proportion to the chances of a tick

    def degrees(self, theta: Array, Y: Mask, known: Mask | None) -> Array:
        """Of rows for which the vote model expects ``exp(theta)`` votes."""
        return self._flattened(expected_votes(theta, Y, known))

    def by_chances(self, theta: Array, Y: Mask, known: Mask | None) -> Array:
        """The other opinion."""
        chances = -np.expm1(-np.exp(np.minimum(theta, LARGEST_THETA)))
        return self._flattened(np.where(Y if known is None else Y | ~known, chances, 0.0))

    def _flattened(self, degrees: Array) -> Array:
        return normalize_rows(np.where(degrees > 0, degrees**self.trust, 0.0))

    @property
    def reserve(self) -> str:
        """What is said of the other opinion."""
        if self.chances <= _SETTLED:
            return ""
        return f", as far as is safe if degrees are the chances of a tick (of weight {self.chances:.2g}) instead"

    def of_split(self, k: int, split: Split) -> tuple[Array, Array]:
        """Of the rows that split k learns from, and of those that it judges by."""
        if self.votes is None:
            return (
                normalize_rows(fill_unknown(split.Y, split.known, split.features.sample_weight)),
                normalize_rows(fill_unknown(split.Y_test, split.known_test, split.weights_test)),
            )
        fit = self.votes.fits[k]
        learned = self.degrees(competing_votes(fit.scores, fit.log_rate), split.Y, split.known)
        return learned, self.degrees(self.votes.thetas[k], split.Y_test, split.known_test)


def _suggest(splits: list[Split], label_model: str) -> _Suggested:
    if label_model == "presence":
        return _Suggested(0.0, None, "label_model='presence'")
    votes = best_penalty(splits, competing=True)
    if label_model == "votes":
        return _Suggested(1.0, votes, "label_model='votes'", votes.ratio)
    verdict = compare(splits, votes)
    chances = verdict.chances
    return _Suggested(verdict.trust, votes if verdict.trust else None, verdict.words, votes.ratio, chances)


def _n_rows(splits: list[Split]) -> int:
    """All rows, or those that take part if there are more: then one split is enough for what is tried often."""
    return sum(len(split.Y_test) for split in splits)


@dataclass(frozen=True)
class _Opinion:
    """Degrees that labels suggest, and how far they are to be reckoned with."""

    degrees: Array
    weight: float


@dataclass(frozen=True)
class _Rows:
    """Rows to try betas on, and what the labels suggest for them."""

    features: Features
    Y: Mask
    known: Mask | None
    opinions: list[_Opinion]


def _all_rows(features: Features, Y: Mask, known: Mask | None, splits: list[Split], suggested: _Suggested) -> _Rows:
    """All rows; of many, those that one split learns from."""
    votes = suggested.votes
    assert votes is not None
    if len(Y) > _n_rows(splits):
        first = splits[0]
        features, Y, known, fit = first.features, first.Y, first.known, votes.fits[0]
    else:
        l2 = votes.ratio * default_gamma(features)
        fit = vote_regression(features, Y, l2=l2, known=known, start=votes.fits[0], tol=_ROUGH)
    theta = competing_votes(fit.scores, fit.log_rate)
    opinions = [_Opinion(suggested.degrees(theta, Y, known), 1.0)]
    if suggested.chances > _SETTLED:  # else it cannot matter more than what D is accurate to
        opinions.append(_Opinion(suggested.by_chances(theta, Y, known), suggested.chances))
    return _Rows(features, Y, known, opinions)


def _safest_beta(rows: _Rows, gamma: float, max_iter: int) -> float:
    """The beta under which DLDL's degrees lose least, against those nearest to an opinion, whichever is right."""
    support = Support(rows.Y if rows.known is None else rows.Y | ~rows.known)
    start = normalize_rows(fill_unknown(rows.Y, rows.known, rows.features.sample_weight))
    tol = _accuracy(rows.features)
    first = softmax_regression(rows.features, start, l2=gamma, tol=tol)  # the same for every beta

    @cache
    def degrees(k: int) -> Array:
        """D of DLDL without a graph, roughly solved."""
        W, D = first, start
        for iteration in range(max_iter):
            if iteration:
                W = softmax_regression(rows.features, D, l2=gamma, start=W, tol=tol)
            step = newton_simplex(log_softmax(W.logits), support, beta=float(_BETAS[k]), start=D, tol=tol)
            previous, D = D, step.D
            if np.abs(D - previous).mean() <= _SETTLED:
                break
        return D

    def nearness(opinion: _Opinion, k: int) -> float:
        shared = np.minimum(degrees(k), opinion.degrees).sum(axis=1)
        return float(np.average(shared, weights=rows.features.sample_weight))

    hills = [_climb(partial(nearness, opinion), _MIDDLE_BETA, len(_BETAS)) for opinion in rows.opinions]
    return _between(_BETAS, _least_regret(hills, [opinion.weight for opinion in rows.opinions]))


def _accuracy(features: Features) -> float:
    return _LESS_ROUGH if features.orthogonal else _ROUGH


def _best_ratio(splits: list[Split], suggested: _Suggested) -> float:
    """The ratio of gamma to its default at which suggested degrees of held-out rows are predicted best, by KL(D, P).

    The predictor is the one that learns the suggested degrees of the other rows, so that beta plays no part.
    """
    cases = [(split, *suggested.of_split(k, split)) for k, split in enumerate(splits)]
    fits: list[SoftmaxFit | None] = [None] * len(splits)
    weights = judging_weights(splits)

    def agreement(k: int) -> float:
        parts = []
        for place, (split, D, D_test) in enumerate(cases):
            gamma = float(_RATIOS[k]) * default_gamma(split.features)
            W = softmax_regression(split.features, D, l2=gamma, start=fits[place], tol=_accuracy(split.features))
            fits[place] = W
            logP = log_softmax(np.asarray(split.X_test @ W.coef + W.intercept, dtype=np.float64))
            # No degree is taken to be nearer to 0 than the rows can tell: one far row cannot decide.
            parts.append((D_test * np.maximum(logP, np.log(0.5 / (split.features.total + 1)))).sum(axis=1))
        return float(np.average(np.concatenate(parts), weights=weights))

    first = int(np.abs(np.log(_RATIOS / suggested.ratio)).argmin())
    return _between(_RATIOS, _climb(agreement, first, len(_RATIOS)).top)


def _between(values: Array, place: float) -> float:
    """The value at a place between those of a geometric series."""
    return float(values[0] * (values[1] / values[0]) ** place)


@dataclass(frozen=True)
class _Hill:
    """A function of 0, 1, ... with one top, which may lie between two of them."""

    value: Callable[[int], float]
    top: float
    height: float

    def at(self, places: Array) -> Array:
        """Heights, by straight lines between whole places and the top."""
        whole = np.arange(np.floor(places.min()), np.ceil(places.max()) + 1.0)
        known, heights = np.append(whole, self.top), np.append([self.value(int(k)) for k in whole], self.height)
        order = known.argsort(kind="stable")
        return np.asarray(np.interp(places, known[order], heights[order]))


def _climb(value: Callable[[int], float], start: int, count: int) -> _Hill:
    """To the top of a function with one hill on 0, 1, ..., count - 1: that of the parabola through three places."""
    at = cache(value)
    best = start
    for step in (1, -1):
        while 0 <= best + step < count and at(best + step) > at(best):
            best += step
    if not 0 < best < count - 1:
        return _Hill(at, float(best), at(best))
    below, top, above = at(best - 1), at(best), at(best + 1)
    bend = below - 2.0 * top + above
    if bend >= 0.0:
        return _Hill(at, float(best), top)
    return _Hill(at, best + 0.5 * (below - above) / bend, top - (below - above) ** 2 / (8.0 * bend))


def _least_regret(hills: list[_Hill], weights: list[float]) -> float:
    """Where the most that is lost against the top of any hill, times its weight, is least: between their tops."""
    tops = [hill.top for hill in hills]
    places = np.linspace(min(tops), max(tops), _FINE)
    lost = [weight * (hill.height - hill.at(places)) for hill, weight in zip(hills, weights, strict=True)]
    return float(places[np.max(lost, axis=0).argmin()])
