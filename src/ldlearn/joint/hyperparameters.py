"""Selection of DLDL's penalties from 0/1 labels alone. docs/research/defaults.md has the rule and
its regret."""

import logging
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ldlearn.core.resources import limit_blas_threads
from ldlearn.core.simplex import Array, Indices, log_softmax, normalize_rows
from ldlearn.core.targets import RowTargets, fill_unknown, possible_labels
from ldlearn.core.votes import competing_votes, expected_votes, label_weights, profile_log_rate
from ldlearn.joint.dldl_steps import second_difference_penalty
from ldlearn.joint.label_model import (
    VALIDATION_TOL,
    Split,
    ValidatedModel,
    has_fixed_cardinality,
    paired_z_score,
    validate_vote_model,
    validation_splits,
    validation_weights,
)
from ldlearn.solvers.centred_matrix import CentredMatrix
from ldlearn.solvers.default_gamma import default_gamma
from ldlearn.solvers.newton_simplex import Support, newton_simplex
from ldlearn.solvers.softmax_regression import SoftmaxFit, softmax_regression
from ldlearn.solvers.vote_regression import vote_regression

_log = logging.getLogger(__name__)
_BETAS = tuple(
    np.geomspace(0.03, 100.0, 9)
)  # from degrees that follow the predictor to equal degrees
_GAMMA_RATIOS = tuple(
    10.0 ** np.arange(2.5, -1.5, -0.5)
)  # to the default gamma, the cheapest fit first


class Hyperparameters(NamedTuple):
    """Selected values, and why."""

    beta: float
    gamma: float
    message: str


@limit_blas_threads()
def select_hyperparameters(
    features: CentredMatrix,
    labels: RowTargets,
    groups: Indices | None = None,
    *,
    beta: float | None = None,
    gamma: float | None = None,
    label_model: str = "auto",
    max_iter: int = 5,
) -> Hyperparameters:
    """Select beta and gamma where they are None.

    1. The target degrees are those of the vote model, or equal degrees of the positive labels if
       nearly all rows have equally many of them.
    2. gamma minimises the held-out KL divergence to the target; beta maximises the mean
       intersection with it.

    Five folds (fewer, if there are more than 1,000 rows) of at most 2,000 rows are used.

    Parameters
    ----------
    features : CentredMatrix
        What the predictor works on, with sample weights.
    labels : RowTargets
        0/1 labels, with the same sample weights.
    groups : ndarray of int or None
        Rows of a group stay together in validation.
    beta, gamma : float or None
        Given values are kept.
    label_model : {"auto", "votes", "presence"}, default="auto"
        "votes" and "presence" (equal degrees) state the target of step 1.
    max_iter : int, default=5
        Outer iterations of DLDL.
    """
    default = default_gamma(features, warn=gamma is None)
    splits = validation_splits(features, labels, groups)
    if not splits:
        message = "too few rows to select hyperparameters: beta and gamma are defaults"
        return Hyperparameters(
            1.0 if beta is None else beta, default if gamma is None else gamma, message
        )
    votes, message = _target_model(splits, label_model)
    messages = [message]
    target = (
        "equal degrees of the positive labels" if votes is None else "the degrees of the vote model"
    )
    if gamma is None:
        ratio = _select_gamma_ratio(splits, votes)
        gamma = ratio * default
        messages.append(
            f"gamma={gamma:.3g}: {target} are predicted best at {ratio:.2g} times the default"
        )
    if beta is None:
        beta = (
            _BETAS[-1]
            if votes is None
            else _select_beta(features, labels, splits, votes, gamma, max_iter)
        )
        messages.append(f"beta={beta:.2g}: nearest to {target}")
    _log.info("%s", "; ".join(messages))
    return Hyperparameters(float(beta), float(gamma), "; ".join(messages))


def _target_model(splits: list[Split], label_model: str) -> tuple[ValidatedModel | None, str]:
    """The vote model if its degrees are the target, None if equal degrees are; and a message."""
    if label_model == "presence":
        return None, "label_model='presence'"
    if label_model == "auto" and has_fixed_cardinality(splits):
        return None, "nearly all rows have equally many positive labels"
    message = "labels are taken as votes" if label_model == "auto" else "label_model='votes'"
    return validate_vote_model(splits), message


def _select_gamma_ratio(splits: list[Split], votes: ValidatedModel | None) -> float:
    """The ratio of gamma to its default with the least held-out KL(D, P), for the predictor that
    learns the targets."""
    targets = [_split_targets(split, votes, k) for k, split in enumerate(splits)]
    fits: list[SoftmaxFit | None] = [None] * len(splits)

    def agreement(ratio: float) -> float:
        """Mean cross-entropy, negative, which is the KL divergence but for a constant."""
        values = []
        for k, (split, (D, D_test)) in enumerate(zip(splits, targets, strict=True)):
            gamma = ratio * split.default_gamma
            fits[k] = W = softmax_regression(
                split.features, D, l2=gamma, start=fits[k], tol=VALIDATION_TOL
            )
            logP = log_softmax(np.asarray(split.X_test @ W.coef + W.intercept, dtype=np.float64))
            # No degree is taken to be nearer to 0 than so many rows can show: one outlier cannot
            # decide.
            values.append(
                (D_test * np.maximum(logP, np.log(0.5 / (split.features.total + 1)))).sum(axis=1)
            )
        return float(np.average(np.concatenate(values), weights=validation_weights(splits)))

    return float(max(_GAMMA_RATIOS, key=agreement))


def _split_targets(split: Split, votes: ValidatedModel | None, k: int) -> tuple[Array, Array]:
    """Target degrees of the training rows and of the validation rows of split k."""
    if votes is None:
        return normalize_rows(fill_unknown(*split.labels)), normalize_rows(
            fill_unknown(*split.labels_test)
        )
    fit = votes.fits[k]
    theta = competing_votes(fit.scores, fit.log_rate)
    return _vote_degrees(theta, split.labels), _vote_degrees(votes.thetas[k], split.labels_test)


def _vote_degrees(theta: Array, labels: RowTargets) -> Array:
    """Expected shares of the votes given the labels."""
    return normalize_rows(expected_votes(theta, labels.values, labels.observed))


def _select_beta(
    features: CentredMatrix,
    labels: RowTargets,
    splits: list[Split],
    votes: ValidatedModel,
    gamma: float,
    max_iter: int,
) -> float:
    """The beta whose degrees have the largest mean intersection with those of the vote model.

    On all rows; on the training rows of one split where not all rows are used.
    """
    fit = votes.fits[0]
    if len(validation_weights(splits)) < features.n:
        features, labels = splits[0].features, splits[0].labels
    else:
        l2 = votes.penalty_ratio * default_gamma(features)
        Y, observed, _ = labels
        fit = vote_regression(features, Y, l2=l2, observed=observed, start=fit, tol=VALIDATION_TOL)
    target = _vote_degrees(competing_votes(fit.scores, fit.log_rate), labels)
    support = Support(possible_labels(labels.values, labels.observed))
    start = normalize_rows(fill_unknown(*labels))
    first_W = softmax_regression(
        features, start, l2=gamma, tol=VALIDATION_TOL
    )  # the same for every beta

    def agreement(beta: float) -> float:
        """Mean intersection of DLDL's degrees, without a graph, with the target."""
        W, D = first_W, start
        for iteration in range(max_iter):
            if iteration:
                W = softmax_regression(features, D, l2=gamma, start=W, tol=VALIDATION_TOL)
            previous, D = (
                D,
                newton_simplex(
                    log_softmax(W.logits), support, beta=beta, start=D, tol=VALIDATION_TOL
                ).D,
            )
            if np.abs(D - previous).mean() <= 3e-3:
                break
        return float(np.average(np.minimum(D, target).sum(axis=1), weights=features.sample_weight))

    return _maximise_on_grid(agreement, _BETAS)


def _maximise_on_grid(function: Callable[[float], float], grid: tuple[float, ...]) -> float:
    """Climb from the middle of the grid to the maximum of a function with a single one."""
    value, best = cache(function), len(grid) // 2
    for step in (1, -1):
        while 0 <= best + step < len(grid) and value(grid[best + step]) > value(grid[best]):
            best += step
    return float(grid[best])


_PENALTIES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def select_ordered_penalty(
    features: CentredMatrix,
    labels: RowTargets,
    groups: Indices | None = None,
    *,
    beta: float,
    gamma: float,
    max_iter: int,
) -> tuple[float, str]:
    """The smallest penalty whose held-out likelihood is within one standard error of the best, and
    a message.

    The likelihood of the 0/1 labels is that of votes, given DLDL's predictions. (The degrees of the
    vote model, by which beta is selected, do not help here: that model knows no order, and a
    penalty of 0 is nearest to it.) Penalties are tried from 0 upwards until the likelihood falls;
    at most 2,000 rows are used.
    """
    splits = validation_splits(features, labels, groups)
    if not splits:
        return 0.0, "too few rows to select the penalty of ordered labels: it is 0"
    weights = validation_weights(splits)
    tried: list[Array] = []
    for penalty in _PENALTIES:
        values = np.concatenate(
            [_held_out_likelihoods(split, penalty, beta, gamma, max_iter) for split in splits]
        )
        if tried and np.average(values - tried[-1], weights=weights) <= 0.0:
            break
        tried.append(values)
    best = next(
        k for k, values in enumerate(tried) if paired_z_score(tried[-1] - values, weights) <= 1.0
    )
    gain = float(np.average(tried[best] - tried[0], weights=weights))
    message = f"ordered={_PENALTIES[best]:g}: held-out log-likelihood per row higher by {gain:.3f} than without"
    return _PENALTIES[best], message


def _held_out_likelihoods(
    split: Split, penalty: float, beta: float, gamma: float, max_iter: int
) -> Array:
    """Vote log-likelihoods of the validation rows; lambda is that of the training rows."""
    features, (Y, observed, sample_weight) = split.features, split.labels
    support = possible_labels(Y, observed)
    Q = penalty * second_difference_penalty(Y.shape[1])
    D: Array = normalize_rows(fill_unknown(*split.labels))
    # As DLDL alternates, but ending with W, because predictions are evaluated.
    W = softmax_regression(features, D, l2=gamma, tol=VALIDATION_TOL)
    for _ in range(1, max_iter):
        D = newton_simplex(
            log_softmax(W.logits), support, beta=beta, between_labels=Q, start=D, tol=VALIDATION_TOL
        ).D
        W = softmax_regression(features, D, l2=gamma, start=W, tol=VALIDATION_TOL)
    log_rate = profile_log_rate(
        log_softmax(W.logits), Y, weights=label_weights(sample_weight, observed)
    )
    Z = np.asarray(split.X_test @ W.coef + W.intercept, dtype=np.float64)
    return split.log_likelihoods(competing_votes(Z, log_rate))
