"""The Wilcoxon signed-rank test for pairs of methods, adjusted after Holm.

Our own, because scipy's is exact without ties and zeros only, and differences of printed scores have both.
"""

import warnings
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata

from ldlearn.evaluation.adjust import adjust_p_values
from ldlearn.evaluation.ranks import named_average_ranks
from ldlearn.evaluation.score_matrix import FloatArray, TooFewDatasetsWarning, check_alpha, check_scores, round_off
from ldlearn.evaluation.statistics import Comparison, PostHocResult
from ldlearn.exceptions import InputError

Zeros: TypeAlias = Literal["zsplit", "wilcox", "pratt"]

# Exact p-values cost n^3 additions; from here on the normal approximation is good to three digits.
_EXACT_UP_TO = 200


def wilcoxon_holm(
    scores: ArrayLike,
    control: str | int | None = None,
    *,
    greater_is_better: bool,
    methods: Sequence[str] | None = None,
    alpha: float = 0.05,
    zeros: Zeros = "zsplit",
) -> PostHocResult:
    """Compare pairs of methods by the signed ranks of their differences, adjusted after Holm.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int, optional
        Name or column of the method to compare with every other one; by default all pairs are compared.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    alpha : float
        Level of significance of all comparisons together.
    zeros : {"zsplit", "wilcox", "pratt"}
        Data sets on which two methods score the same. "zsplit": their ranks are shared between both sides
        (Demšar's rule). "wilcox": they are left out. "pratt": they are ranked, then left out.

    Returns
    -------
    PostHocResult
        ``groups`` and ``cliques`` hold methods not told apart. p-values are exact up to 200 data sets, also
        with ties and zeros: the shares of all ways to swap the two methods on some of the data sets that give a
        statistic at least as extreme.

    Warns
    -----
    TooFewDatasetsWarning
        If even a method that wins on every data set could not be significant: ``2^(1 - N) M > alpha`` for N
        data sets and M comparisons.

    Examples
    --------
    >>> from ldlearn.evaluation import wilcoxon_holm
    >>> scores = [[0.10, 0.15, 0.31], [0.20, 0.16, 0.42], [0.15, 0.17, 0.33], [0.10, 0.13, 0.34]] * 2
    >>> print(wilcoxon_holm(scores, "A", greater_is_better=False, methods=["A", "B", "C"]))
    Wilcoxon-Holm, against A, 8 data sets, alpha = 0.05
      average ranks: A 1.250, B 1.750, C 3.000
        A - B: rank difference -0.500, statistic 11, p = 0.383, adjusted 0.383
      * A - C: rank difference -1.750, statistic 0, p = 0.00781, adjusted 0.0156
    """
    check_alpha(alpha)
    table = check_scores(scores, methods)
    pairs = table.pairs(control)
    _warn_if_never_significant(table.n_datasets, len(pairs), alpha)
    tests = [signed_rank_test(table.values[:, i], table.values[:, j], zeros) for i, j in pairs]
    adjusted = adjust_p_values([test.p_value for test in tests], "holm")
    average = named_average_ranks(table, greater_is_better)
    names = [(table.methods[i], table.methods[j]) for i, j in pairs]
    comparisons = tuple(
        Comparison(
            first=first,
            second=second,
            rank_difference=average[first] - average[second],
            # the smaller sum, as printed tables of the test have it
            statistic=min(test.first_greater, test.second_greater),
            p_value=test.p_value,
            adjusted_p_value=float(p),
            significant=bool(p <= alpha),
        )
        for (first, second), test, p in zip(names, tests, adjusted, strict=True)
    )
    named_control = None if control is None else names[0][0]
    return PostHocResult("Wilcoxon-Holm", average, table.n_datasets, alpha, comparisons, named_control)


class SignedRanks(NamedTuple):
    """Rank sums of the differences in either direction, and the two-sided p-value."""

    first_greater: float
    second_greater: float
    p_value: float


def signed_rank_test(first: ArrayLike, second: ArrayLike, zeros: Zeros = "zsplit") -> SignedRanks:
    """Test whether paired scores differ, exactly for the ranks at hand (ties and zeros included)."""
    if zeros not in get_args(Zeros):
        raise InputError(f"zeros must be one of {', '.join(get_args(Zeros))}, got {zeros!r}.")
    d = paired_differences(first, second)
    if zeros == "wilcox":
        d = d[d != 0]
    r = rankdata(np.abs(d)) if d.size else np.zeros(0)
    shared = r[d == 0].sum() / 2 if zeros == "zsplit" else 0.0
    sums = float(r[d > 0].sum() + shared), float(r[d < 0].sum() + shared)
    # Swapping the two scores of a data set turns the sign of a difference; a zero stays one.
    return SignedRanks(*sums, _two_sided_p(r[d != 0], abs(sums[0] - sums[1])))


def paired_differences(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """Return first - second, rounded so that 0.3 - 0.2 and 0.2 - 0.1 tie although their floats differ."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError(f"Paired scores must be two lists of the same length, got {a.shape} and {b.shape}.")
    return round_off(a - b, max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)))


def _two_sided_p(r: FloatArray, difference: float) -> float:
    """Return P(|sum of r with random signs| >= difference)."""
    if difference == 0:
        return 1.0
    if r.size > _EXACT_UP_TO:
        return float(2 * norm.sf(difference / np.sqrt((r**2).sum())))
    doubled = np.rint(2 * r).astype(int)  # mid-ranks are halves
    total = int(doubled.sum())
    # Shares of the 2^n ways to set the signs, not counts: those of 200 data sets fit no integer of numpy.
    probability = np.zeros(total + 1)
    probability[0] = 1.0
    for step in doubled:
        # Both sides are read before either is written: each rank is taken or left exactly once.
        probability[step:] = (probability[step:] + probability[: total + 1 - step]) / 2
        probability[:step] /= 2
    positive = np.arange(total + 1)
    # sums of many shares may exceed 1 by rounding
    return min(1.0, float(probability[np.abs(2 * positive - total) >= round(2 * difference)].sum()))


def _warn_if_never_significant(n_datasets: int, n_comparisons: int, alpha: float) -> None:
    lowest_p = 2.0 ** (1 - n_datasets) * n_comparisons
    if lowest_p > alpha:
        warnings.warn(
            f"{n_datasets} data sets are too few for {n_comparisons} comparisons: even a method that wins on "
            f"all of them gets the adjusted p-value {min(1.0, lowest_p):.3g}, above alpha = {alpha:g}.",
            TooFewDatasetsWarning,
            stacklevel=3,
        )
