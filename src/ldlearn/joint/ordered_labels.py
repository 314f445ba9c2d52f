"""Ordered labels: a penalty on second differences of the degrees along the labels, and its selection."""

import numpy as np
from numpy.typing import NDArray

from ldlearn.core.simplex import Array, Mask, log_softmax, normalize_rows
from ldlearn.core.targets import fill_unknown
from ldlearn.core.votes import competing_votes, label_counts, profile_log_rate
from ldlearn.joint.validation import VALIDATION_TOL, Split, paired_z, validation_splits, validation_weights
from ldlearn.solvers.features import Features
from ldlearn.solvers.newton_simplex import newton_simplex
from ldlearn.solvers.softmax_regression import softmax_regression

_PENALTIES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def roughness(n_labels: int) -> NDArray[np.float64]:
    """The matrix Q with ``d' Q d = |second differences of d|^2``; zero if there are fewer than three labels.

    Examples
    --------
    >>> d = np.array([1.0, 2.0, 3.0, 4.0])
    >>> float(d @ roughness(4) @ d), float(np.eye(4)[1] @ roughness(4) @ np.eye(4)[1])
    (0.0, 5.0)
    """
    S = np.diff(np.eye(n_labels), n=2, axis=0) if n_labels > 2 else np.zeros((1, n_labels))
    return np.asarray(S.T @ S)


def select_ordered_penalty(
    features: Features, Y: Mask, observed: Mask | None, *, beta: float, gamma: float, max_iter: int
) -> tuple[float, str]:
    """The smallest penalty whose held-out likelihood is within one standard error of the best, and a message.

    The likelihood of the 0/1 labels is that of votes, given DLDL's predictions. (The degrees of the vote model, by
    which beta is selected, do not help here: that model knows no order, and a penalty of 0 is nearest to it.)
    Penalties are tried from 0 upwards until the likelihood falls; at most 2,000 rows are used.
    """
    splits = validation_splits(features, Y, observed)
    if not splits:
        return 0.0, "too few rows to select the penalty of ordered labels: it is 0"
    weights = validation_weights(splits)
    tried: list[NDArray[np.float64]] = []
    for penalty in _PENALTIES:
        values = np.concatenate([_held_out_likelihoods(split, penalty, beta, gamma, max_iter) for split in splits])
        if tried and np.average(values - tried[-1], weights=weights) <= 0.0:
            break
        tried.append(values)
    best = next(k for k, values in enumerate(tried) if paired_z(tried[-1] - values, weights) <= 1.0)
    gain = float(np.average(tried[best] - tried[0], weights=weights))
    message = f"ordered={_PENALTIES[best]:g}: held-out log-likelihood per row higher by {gain:.3f} than without"
    return _PENALTIES[best], message


def _held_out_likelihoods(
    split: Split, penalty: float, beta: float, gamma: float, max_iter: int
) -> NDArray[np.float64]:
    """Vote log-likelihoods of the validation rows; lambda is that of the training rows."""
    features, Y, observed = split.features, split.Y, split.observed
    support = Y if observed is None else Y | ~observed
    Q = penalty * roughness(Y.shape[1])
    D: Array = normalize_rows(fill_unknown(Y, observed, features.sample_weight))
    # As DLDL alternates, but ending with W, because predictions are evaluated.
    W = softmax_regression(features, D, l2=gamma, tol=VALIDATION_TOL)
    for _ in range(1, max_iter):
        D = newton_simplex(log_softmax(W.logits), support, beta=beta, between_labels=Q, start=D, tol=VALIDATION_TOL).D
        W = softmax_regression(features, D, l2=gamma, start=W, tol=VALIDATION_TOL)
    log_rate = profile_log_rate(log_softmax(W.logits), Y, counts=label_counts(features.sample_weight, observed))
    Z = np.asarray(split.X_test @ W.coef + W.intercept, dtype=np.float64)
    return split.log_likelihoods(competing_votes(Z, log_rate))
