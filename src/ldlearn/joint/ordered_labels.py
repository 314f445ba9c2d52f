"""Ordered labels: degrees that change evenly along the labels, and how much weight that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array, Mask, log_softmax, normalize_rows
from ldlearn.core.targets import fill_unknown
from ldlearn.core.votes import competing_votes, label_counts, profile_log_rate
from ldlearn.joint.label_model import Split, held_out_splits, judging_weights
from ldlearn.solvers.features import Features
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import softmax_regression

_WEIGHTS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_ROUGH = 1e-4  # accuracy per row that is enough to compare weights


def roughness(c: int) -> NDArray[np.float64]:
    """The matrix Q with ``d' Q d = |second differences of d|^2``; zero if there are fewer than three labels.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0, 4.0])
    >>> float(d @ roughness(4) @ d), float(np.eye(4)[1] @ roughness(4) @ np.eye(4)[1])
    (0.0, 5.0)
    """
    S = np.diff(np.eye(c), n=2, axis=0) if c > 2 else np.zeros((1, c))
    return np.asarray(S.T @ S)


@dataclass(frozen=True)
class OrderedChoice:
    """The weight of the second differences, and why."""

    weight: float
    message: str


def choose_ordered(
    features: Features, Y: Mask, known: Mask | None, *, beta: float, gamma: float, max_iter: int
) -> OrderedChoice:
    """The smallest weight under whose predictions held-out 0/1 labels are as likely as under the best, but for chance.

    The likelihood is that of votes, chance one standard error of the paired difference. (The degrees of the vote
    model, by which beta is chosen, cannot choose here: that model knows of no order, and a weight of 0 is nearest to
    it.) Weights are tried from 0 upwards until the likelihood falls; at most 2,000 rows take part.
    """
    splits = held_out_splits(features, Y, known)
    if not splits:
        return OrderedChoice(0.0, "too few rows to choose the weight of ordered labels by: it is 0")
    counts = judging_weights(splits)
    tried: list[NDArray[np.float64]] = []
    for weight in _WEIGHTS:
        rows = np.concatenate([_held_out(split, weight, beta, gamma, max_iter) for split in splits])
        if tried and np.average(rows - tried[-1], weights=counts) <= 0.0:
            break
        tried.append(rows)
    chosen = next(k for k, rows in enumerate(tried) if _is_as_good(rows, tried[-1], counts))
    gain = float(np.average(tried[chosen] - tried[0], weights=counts))
    words = f"ordered={_WEIGHTS[chosen]:g}: held-out labels are likelier by {gain:.3f} per row than without"
    return OrderedChoice(_WEIGHTS[chosen], words)


def _is_as_good(rows: NDArray[np.float64], best: NDArray[np.float64], counts: NDArray[np.float64]) -> bool:
    """Whether the best is better by no more than one standard error."""
    better = best - rows
    mean, n = float(np.average(better, weights=counts)), float(counts.sum())
    error = float(np.sqrt(np.average((better - mean) ** 2, weights=counts) / max(n - 1.0, 1.0)))
    return mean <= error


def _held_out(split: Split, weight: float, beta: float, gamma: float, max_iter: int) -> NDArray[np.float64]:
    """Vote log-likelihoods of the test rows; lambda is that of the training rows."""
    features, Y, known = split.features, split.Y, split.known
    support = Y if known is None else Y | ~known
    Q = weight * roughness(Y.shape[1])
    D: Array = normalize_rows(fill_unknown(Y, known, features.sample_weight))
    # As DLDL alternates, but that W comes last: it is predictions that are judged.
    W = softmax_regression(features, D, l2=gamma, tol=_ROUGH)
    for _ in range(1, max_iter):
        D = newton_simplex(log_softmax(W.logits), support, beta=beta, between_labels=Q, start=D, tol=_ROUGH).D
        W = softmax_regression(features, D, l2=gamma, start=W, tol=_ROUGH)
    log_rate = profile_log_rate(log_softmax(W.logits), Y, counts=label_counts(features.sample_weight, known))
    Z = np.asarray(split.X_test @ W.coef + W.intercept, dtype=np.float64)
    return split.log_likelihoods(competing_votes(Z, log_rate))
