"""Ranks of methods on each data set, best first."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ldlearn.evaluation.score_matrix import FloatArray, ScoreTable, check_scores, round_off
from ldlearn.exceptions import InputError


def ranks(
    scores: ArrayLike,
    *,
    greater_is_better: bool,
    ties: Literal["mid", "paper"] = "mid",
    std: ArrayLike | None = None,
) -> FloatArray:
    """Rank the methods on every data set; the best one has rank 1.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score (a mean) per data set and method.
    greater_is_better : bool
        Direction of the score, see ``ldlearn.metrics.METRICS[name].greater_is_better``.
    ties : {"mid", "paper"}
        "mid": equal scores share the mean of their ranks, as the Friedman test needs it. "paper": the rule of
        the DLDL paper; of equal scores that with the smaller standard deviation is first, and what is equal
        in both shares the smallest rank.
    std : array-like of shape (n_datasets, n_methods), optional
        Standard deviations, used by ``ties="paper"`` only.

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)

    Examples
    --------
    >>> from ldlearn.evaluation import ranks
    >>> scores = [[0.2, 0.1, 0.2], [0.3, 0.1, 0.2]]
    >>> ranks(scores, greater_is_better=True)
    array([[1.5, 3. , 1.5],
           [1. , 3. , 2. ]])
    >>> ranks(scores, greater_is_better=True, ties="paper", std=[[0.02, 0, 0.01], [0, 0, 0]])
    array([[2., 3., 1.],
           [1., 3., 2.]])
    """
    costs = _costs(check_scores(scores), greater_is_better)
    if ties == "mid":
        if std is not None:
            raise InputError('std is used by ties="paper" only; leave it out or ask for that rule.')
        return np.asarray(rankdata(costs, axis=1), dtype=np.float64)
    if ties == "paper":
        return _paper_ranks(costs, np.zeros_like(costs) if std is None else check_scores(std).values)
    raise InputError(f"ties must be 'mid' or 'paper', got {ties!r}.")


def average_ranks(
    scores: ArrayLike, *, greater_is_better: bool, methods: Sequence[str] | None = None
) -> dict[str, float]:
    """Return the mean of the mid-ranks over the data sets, by method.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.

    Returns
    -------
    dict of str to float
        In the order of the columns.

    Examples
    --------
    >>> from ldlearn.evaluation import average_ranks
    >>> average_ranks([[0.1, 0.2], [0.3, 0.3]], greater_is_better=False, methods=["ours", "theirs"])
    {'ours': 1.25, 'theirs': 1.75}
    """
    return named_average_ranks(check_scores(scores, methods), greater_is_better)


def named_average_ranks(table: ScoreTable, greater_is_better: bool) -> dict[str, float]:
    """Return the average mid-ranks of a checked table."""
    means = rankdata(_costs(table, greater_is_better), axis=1).mean(axis=0)
    return dict(zip(table.methods, means.tolist(), strict=True))


def _costs(table: ScoreTable, greater_is_better: bool) -> FloatArray:
    # By data set: a digit that is noise beside large scores may be all there is to the scores of another row.
    rounded = round_off(table.values, np.abs(table.values).max(axis=1, keepdims=True))
    return -rounded if greater_is_better else rounded


def _paper_ranks(costs: FloatArray, std: FloatArray) -> FloatArray:
    if std.shape != costs.shape:
        raise InputError(f"std must have the shape of scores, {costs.shape}, got {std.shape}.")
    mine, other = costs[:, :, np.newaxis], costs[:, np.newaxis, :]
    my_std, other_std = std[:, :, np.newaxis], std[:, np.newaxis, :]
    # "1, 1, 3", not mid-ranks: equals share the best place, and a smaller printed deviation breaks the tie.
    beaten = (other < mine) | ((other == mine) & (other_std < my_std))
    return np.asarray(1.0 + beaten.sum(axis=2))
