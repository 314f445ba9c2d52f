"""Selection of DLDL's penalties from 0/1 labels alone.

docs/research/defaults.md has the rule and its regret.
"""

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
# From degrees that follow the predictor to equal degrees.
_BETAS = tuple(np.geomspace(0.03, 100.0, 9))
# To the default gamma, the cheapest fit first.
_GAMMA_RATIOS = tuple(10.0 ** np.arange(2.5, -1.5, -0.5))
_ORDERED_PENALTIES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Hyperparameters(NamedTuple):
    """Selected values, and why."""

    beta: float
    gamma: float
    ordered: float
    message: str


@limit_blas_threads()
def select_hyperparameters(
    features: CentredMatrix,
    labels: RowTargets,
    groups: Indices | None = None,
    *,
    beta: float | None = None,
    gamma: float | None = None,
    ordered: bool | float = False,
    label_model: str = "auto",
    max_iter: int = 5,
) -> Hyperparameters:
    """Select beta and gamma where they are None, and the penalty of ordered labels if it is True.

    1. The target degrees are those of the vote model, or equal degrees of the positive labels if
       nearly all rows have equally many of them.
    2. gamma minimises the held-out KL divergence to the target; beta maximises the mean
       intersection with it.
    3. The penalty of ordered labels is selected given both: see `_select_ordered_penalty`.

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
    ordered : bool or float, default=False
        A number is kept.
    label_model : {"auto", "votes", "presence"}, default="auto"
        "votes" and "presence" (equal degrees) state the target of step 1.
    max_iter : int, default=5
        Outer iterations of DLDL.
    """
    selects_penalties = beta is None or gamma is None
    splits: list[Split] = []
    if selects_penalties or ordered is True:
        splits = validation_splits(features, labels, groups)
    votes: ValidatedModel | None = None
    target = "equal degrees of the positive labels"
    messages: list[str] = []
    if selects_penalties and not splits:
        messages.append("too few rows to select hyperparameters: beta and gamma are defaults")
    elif selects_penalties:
        takes_votes, message = _takes_votes(splits, label_model)
        messages.append(message)
        if takes_votes:
            votes = validate_vote_model(splits)
            target = "the degrees of the vote model"
    if gamma is None:
        gamma = default_gamma(features, warn=True)
        if splits:
            ratio = _select_gamma_ratio(splits, votes)
            gamma *= ratio
            best = f"{target} are predicted best at {ratio:.2g} times the default"
            messages.append(f"gamma={gamma:.3g}: {best}")
    if beta is None:
        beta = _BETAS[-1] if splits else 1.0
        if votes is not None:
            agreement = _beta_agreement(features, labels, splits, votes, gamma, max_iter)
            beta = _maximise_on_grid(agreement, _BETAS)
        if splits:
            messages.append(f"beta={beta:.2g}: nearest to {target}")
    if ordered is True:
        ordered, message = _select_ordered_penalty(splits, beta, gamma, max_iter)
        messages.append(message)
    summary = "; ".join(messages)
    if summary:
        _log.info("%s", summary)
    return Hyperparameters(float(beta), float(gamma), float(ordered), summary)


def _takes_votes(splits: list[Split], label_model: str) -> tuple[bool, str]:
    """Whether the degrees of the vote model are the target, not equal degrees; and a message."""
    if label_model != "auto":
        return label_model == "votes", f"{label_model=}"
    if has_fixed_cardinality(splits):
        return False, "nearly all rows have equally many positive labels"
    return True, "labels are taken as votes"


def _select_gamma_ratio(splits: list[Split], votes: ValidatedModel | None) -> float:
    """The ratio of gamma to its default with the least held-out KL(D, P).

    P is the predictor that learns the targets.
    """
    targets = [_split_targets(split, votes, k) for k, split in enumerate(splits)]
    fits: list[SoftmaxFit | None] = [None] * len(splits)
    weights = validation_weights(splits)

    def agreement(ratio: float) -> float:
        """Mean cross-entropy, negative, which is the KL divergence but for a constant."""
        values = []
        for k, split in enumerate(splits):
            D, D_test = targets[k]
            gamma = ratio * split.default_gamma
            W = softmax_regression(split.features, D, l2=gamma, start=fits[k], tol=VALIDATION_TOL)
            fits[k] = W
            logP = log_softmax(split.validation_scores(W))
            # No degree is taken to be nearer to 0 than so many rows can show: one outlier cannot
            # decide.
            smallest = np.log(0.5 / (split.features.total + 1))
            values.append((D_test * np.maximum(logP, smallest)).sum(axis=1))
        return np.average(np.concatenate(values), weights=weights)

    return max(_GAMMA_RATIOS, key=agreement)


def _split_targets(split: Split, votes: ValidatedModel | None, k: int) -> tuple[Array, Array]:
    """Target degrees of the training rows and of the validation rows of split k."""
    if votes is None:
        D = normalize_rows(fill_unknown(*split.labels))
        D_test = normalize_rows(fill_unknown(*split.labels_test))
        return D, D_test
    fit = votes.fits[k]
    theta = competing_votes(fit.scores, fit.log_rate)
    return _vote_degrees(theta, split.labels), _vote_degrees(votes.thetas[k], split.labels_test)


def _vote_degrees(theta: Array, labels: RowTargets) -> Array:
    """Expected shares of the votes given the labels."""
    return normalize_rows(expected_votes(theta, labels.values, labels.observed))


def _beta_agreement(
    features: CentredMatrix,
    labels: RowTargets,
    splits: list[Split],
    votes: ValidatedModel,
    gamma: float,
    max_iter: int,
) -> Callable[[float], float]:
    """The mean intersection of DLDL's degrees with those of the vote model, by beta.

    DLDL's degrees are those without a graph. The mean is over all rows, or over the training rows
    of one split where not all rows are used.
    """
    fit = votes.fits[0]
    if len(validation_weights(splits)) < features.n:
        features = splits[0].features
        labels = splits[0].labels
    else:
        Y, observed, _ = labels
        l2 = votes.penalty_ratio * default_gamma(features)
        fit = vote_regression(features, Y, l2=l2, observed=observed, start=fit, tol=VALIDATION_TOL)
    target = _vote_degrees(competing_votes(fit.scores, fit.log_rate), labels)
    support = Support(possible_labels(labels.values, labels.observed))
    start = normalize_rows(fill_unknown(*labels))
    # The same for every beta.
    first_W = softmax_regression(features, start, l2=gamma, tol=VALIDATION_TOL)

    def agreement(beta: float) -> float:
        W = first_W
        D = start
        for iteration in range(max_iter):
            if iteration:
                W = softmax_regression(features, D, l2=gamma, start=W, tol=VALIDATION_TOL)
            previous = D
            logP = log_softmax(W.logits)
            D = newton_simplex(logP, support, beta=beta, start=D, tol=VALIDATION_TOL).D
            if np.abs(D - previous).mean() <= 3e-3:
                break
        return np.average(np.minimum(D, target).sum(axis=1), weights=features.sample_weight)

    return agreement


def _maximise_on_grid(function: Callable[[float], float], grid: tuple[float, ...]) -> float:
    """Climb from the middle of the grid to the maximum of a function with a single one."""
    value = cache(function)
    best = len(grid) // 2
    for step in (1, -1):
        while 0 <= best + step < len(grid) and value(grid[best + step]) > value(grid[best]):
            best += step
    return grid[best]


def _select_ordered_penalty(
    splits: list[Split], beta: float, gamma: float, max_iter: int
) -> tuple[float, str]:
    """The smallest penalty within one standard error of the best, and a message.

    Penalties are compared by held-out likelihood. The likelihood of the 0/1 labels is that of
    votes, given DLDL's predictions. (The degrees of the vote model, by which beta is selected, do
    not help here: that model knows no order, and a penalty of 0 is nearest to it.) Penalties are
    tried from 0 upwards until the likelihood falls.
    """
    if not splits:
        return 0.0, "too few rows to select the penalty of ordered labels: it is 0"
    weights = validation_weights(splits)
    tried: list[Array] = []
    for penalty in _ORDERED_PENALTIES:
        of_splits = [
            _held_out_likelihoods(split, penalty, beta, gamma, max_iter) for split in splits
        ]
        values = np.concatenate(of_splits)
        if tried and np.average(values - tried[-1], weights=weights) <= 0.0:
            break
        tried.append(values)
    best = 0
    while paired_z_score(tried[-1] - tried[best], weights) > 1.0:
        best += 1
    penalty = _ORDERED_PENALTIES[best]
    gain = np.average(tried[best] - tried[0], weights=weights)
    compared = f"held-out log-likelihood per row higher by {gain:.3f} than without"
    return penalty, f"ordered={penalty:g}: {compared}"


def _held_out_likelihoods(
    split: Split, penalty: float, beta: float, gamma: float, max_iter: int
) -> Array:
    """Vote log-likelihoods of the validation rows; lambda is that of the training rows."""
    features = split.features
    Y, observed, sample_weight = split.labels
    support = possible_labels(Y, observed)
    Q = penalty * second_difference_penalty(Y.shape[1])
    D = normalize_rows(fill_unknown(*split.labels))
    # As DLDL alternates, but ending with W, because predictions are evaluated.
    W = softmax_regression(features, D, l2=gamma, tol=VALIDATION_TOL)
    for _ in range(1, max_iter):
        logP = log_softmax(W.logits)
        D = newton_simplex(
            logP, support, beta=beta, between_labels=Q, start=D, tol=VALIDATION_TOL
        ).D
        W = softmax_regression(features, D, l2=gamma, start=W, tol=VALIDATION_TOL)
    weights = label_weights(sample_weight, observed)
    log_rate = profile_log_rate(log_softmax(W.logits), Y, weights=weights)
    return split.log_likelihoods(competing_votes(split.validation_scores(W), log_rate))
