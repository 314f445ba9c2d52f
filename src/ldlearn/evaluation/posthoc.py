"""Tests of pairs of average ranks: Nemenyi for all pairs, Bonferroni-Dunn against a control."""

import math
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, studentized_range

from ldlearn.evaluation.adjust import Adjustment, adjust_p_values
from ldlearn.evaluation.ranks import named_average_ranks
from ldlearn.evaluation.score_matrix import FloatArray, TooFewDatasetsWarning, check_alpha, check_scores
from ldlearn.evaluation.statistics import Comparison, PostHocResult
from ldlearn.exceptions import InputError

_NAMES: dict[Adjustment, str] = {"bonferroni": "Bonferroni-Dunn", "holm": "Holm", "hochberg": "Hochberg"}


def critical_difference(
    n_methods: int,
    n_datasets: int,
    alpha: float = 0.05,
    test: Literal["nemenyi", "bonferroni-dunn"] = "nemenyi",
) -> float:
    """Return how far apart two average ranks must be to differ.

    Parameters
    ----------
    n_methods, n_datasets : int
        Number of methods (with the control) and of independent data sets.
    alpha : float
        Level of significance of all comparisons together.
    test : {"nemenyi", "bonferroni-dunn"}
        All pairs, or a control against each other method.

    Returns
    -------
    float
        ``q * sqrt(k (k + 1) / (6 N))``; q is the quantile of the studentised range over sqrt(2) (Nemenyi) or
        the normal quantile at ``1 - alpha / (2 (k - 1))`` (Bonferroni-Dunn).

    Examples
    --------
    >>> from ldlearn.evaluation import critical_difference
    >>> round(critical_difference(7, 12), 4)
    2.6002
    >>> round(critical_difference(7, 12, test="bonferroni-dunn"), 4)
    2.3267
    """
    check_alpha(alpha)
    if n_methods < 2 or n_datasets < 1:
        raise InputError(
            f"A critical difference needs at least 2 methods and 1 data set, got {n_methods} and {n_datasets}."
        )
    if test == "nemenyi":
        # Infinitely many degrees of freedom: the variance of ranks is known, not estimated from the scores.
        q = float(studentized_range.ppf(1 - alpha, n_methods, np.inf)) / math.sqrt(2)
    elif test == "bonferroni-dunn":
        q = float(norm.isf(alpha / (2 * (n_methods - 1))))
    else:
        raise InputError(f"test must be 'nemenyi' or 'bonferroni-dunn', got {test!r}.")
    return q * _standard_error(n_methods, n_datasets)


def nemenyi(
    scores: ArrayLike, *, greater_is_better: bool, methods: Sequence[str] | None = None, alpha: float = 0.05
) -> PostHocResult:
    """Compare the average ranks of all pairs of methods.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    alpha : float
        Level of significance of all comparisons together.

    Returns
    -------
    PostHocResult
        ``groups`` are the bars of the critical-difference diagram.

    Warns
    -----
    TooFewDatasetsWarning
        If the critical difference exceeds the largest possible difference of ranks.

    Examples
    --------
    >>> from ldlearn.evaluation import nemenyi
    >>> scores = [[0.1, 0.2, 0.3]] * 4 + [[0.2, 0.1, 0.3]] * 4
    >>> result = nemenyi(scores, greater_is_better=False, methods=["A", "B", "C"])
    >>> result.groups
    (('A', 'B'),)
    >>> round(result.comparison("A", "C").adjusted_p_value, 4)
    0.0076
    """
    table = check_scores(scores, methods)
    n, k = table.n_datasets, table.n_methods
    limit = critical_difference(k, n, alpha, "nemenyi")
    _warn_if_never_significant(limit, n, k)
    average = named_average_ranks(table, greater_is_better)
    pairs = [(table.methods[i], table.methods[j]) for i, j in table.pairs(None)]
    z = _z_values(average, pairs, n)
    adjusted = studentized_range.sf(np.abs(z) * math.sqrt(2), k, np.inf)
    comparisons = _comparisons(average, pairs, z, np.minimum(adjusted, 1.0), limit)
    return PostHocResult("Nemenyi", average, n, alpha, comparisons, critical_difference=limit)


def bonferroni_dunn(
    scores: ArrayLike,
    control: str | int,
    *,
    greater_is_better: bool,
    methods: Sequence[str] | None = None,
    alpha: float = 0.05,
    adjust: Adjustment = "bonferroni",
) -> PostHocResult:
    """Compare the average rank of a control with that of every other method.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int
        Name or column of the control.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    alpha : float
        Level of significance of all comparisons together.
    adjust : {"bonferroni", "holm", "hochberg"}
        "bonferroni" is the test of Bonferroni and Dunn and has a critical difference; the other two adjust
        the same p-values step by step, find at least as much, and have none.

    Returns
    -------
    PostHocResult

    Warns
    -----
    TooFewDatasetsWarning
        If the critical difference exceeds the largest possible difference of ranks.

    Examples
    --------
    >>> from ldlearn.evaluation import bonferroni_dunn
    >>> scores = [[0.1, 0.2, 0.3]] * 4 + [[0.2, 0.1, 0.3]] * 4
    >>> print(bonferroni_dunn(scores, "A", greater_is_better=False, methods=["A", "B", "C"]))
    Bonferroni-Dunn, against A, 8 data sets, alpha = 0.05
      critical difference 1.1207
      average ranks: A 1.500, B 1.500, C 3.000
        A - B: rank difference +0.000, statistic 0, p = 1, adjusted 1
      * A - C: rank difference -1.500, statistic -3, p = 0.0027, adjusted 0.0054
    """
    table = check_scores(scores, methods)
    n, k = table.n_datasets, table.n_methods
    limit = critical_difference(k, n, alpha, "bonferroni-dunn")
    _warn_if_never_significant(limit, n, k)
    average = named_average_ranks(table, greater_is_better)
    pairs = [(table.methods[i], table.methods[j]) for i, j in table.pairs(control)]
    z = _z_values(average, pairs, n)
    adjusted = adjust_p_values(2 * norm.sf(np.abs(z)), adjust)
    # Step procedures compare each difference with a limit of its own, so that no band can be drawn for them.
    by_difference = limit if adjust == "bonferroni" else None
    comparisons = _comparisons(average, pairs, z, adjusted, by_difference, alpha)
    return PostHocResult(_NAMES[adjust], average, n, alpha, comparisons, pairs[0][0], by_difference)


def _standard_error(n_methods: int, n_datasets: int) -> float:
    # If all orders are equally likely, without ties; these only make it smaller, and the tests more cautious.
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def _z_values(average: dict[str, float], pairs: list[tuple[str, str]], n_datasets: int) -> list[float]:
    error = _standard_error(len(average), n_datasets)
    return [(average[first] - average[second]) / error for first, second in pairs]


def _comparisons(
    average: dict[str, float],
    pairs: list[tuple[str, str]],
    z_values: list[float],
    adjusted: FloatArray,
    limit: float | None,
    alpha: float = 0.0,
) -> tuple[Comparison, ...]:
    """Judge by the critical difference where there is one, so that text and diagram never disagree."""
    return tuple(
        Comparison(
            first=first,
            second=second,
            rank_difference=average[first] - average[second],
            statistic=z,
            p_value=float(2 * norm.sf(abs(z))),
            adjusted_p_value=float(p),
            significant=bool(p <= alpha if limit is None else abs(average[first] - average[second]) > limit),
        )
        for (first, second), z, p in zip(pairs, z_values, adjusted, strict=True)
    )


def _warn_if_never_significant(limit: float, n_datasets: int, n_methods: int) -> None:
    if limit >= n_methods - 1:
        warnings.warn(
            f"{n_datasets} data sets are too few for {n_methods} methods: average ranks can be at most "
            f"{n_methods - 1} apart, and the critical difference is {limit:.3f}.",
            TooFewDatasetsWarning,
            stacklevel=3,
        )
