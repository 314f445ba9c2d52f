"""Tests of pairs of methods: Nemenyi, Bonferroni-Dunn, Wilcoxon-Holm; effect sizes.

The Wilcoxon test is our own, because scipy's is exact without ties and zeros only, and differences
of printed scores have both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ldlearn._messages import check_choice
from ldlearn.core.simplex import Array
from ldlearn.evaluation import ranking
from ldlearn.evaluation.ranking import Names, ScoreMatrix, check_alpha, check_scores
from ldlearn.exceptions import InputError

__all__ = [
    "critical_difference",
    "nemenyi",
    "bonferroni_dunn",
    "wilcoxon_holm",
    "PostHocResult",
    "PairComparison",
    "adjust_p_values",
    "effect_sizes",
    "Effect",
]

Control = str | int | None
_RankTest = Literal["nemenyi", "bonferroni-dunn"]
_MOST_EXACT_RANKS = 200


@dataclass(frozen=True)
class PairComparison:
    """One pair of methods in a post-hoc test.

    Attributes
    ----------
    first, second : str
        The two methods; with a control, ``first`` is the control.
    rank_difference : float
        Average rank of the first minus that of the second; negative if the first is better.
    statistic : float
        z of the rank difference, or the smaller of the two rank sums of the Wilcoxon test.
    p_value : float
        Two-sided, for this pair alone.
    adjusted_p_value : float
        Adjusted for all comparisons of the test.
    significant : bool
        Whether the two differ significantly.
    """

    first: str
    second: str
    rank_difference: float
    statistic: float
    p_value: float
    adjusted_p_value: float
    significant: bool

    def __str__(self) -> str:
        mark = "*" if self.significant else " "
        return (
            f"{mark} {self.first} - {self.second}: rank difference {self.rank_difference:+.3f}, "
            f"statistic {self.statistic:.4g}, p = {self.p_value:.3g}, "
            f"adjusted {self.adjusted_p_value:.3g}"
        )


@dataclass(frozen=True, repr=False)
class PostHocResult:
    """Outcome of a test of pairs of methods.

    Attributes
    ----------
    test : str
        Name of the test.
    average_ranks : dict of str to float
        Mean mid-rank of every method; 1 is best.
    n_datasets : int
        Number of data sets.
    alpha : float
        Level of significance of all comparisons together.
    comparisons : tuple of PairComparison
        All pairs, or the control with every other method.
    control : str or None
        The method that the others are compared with.
    critical_difference : float or None
        Average ranks further apart than this differ; None if the test has no single such number.
    """

    test: str
    average_ranks: dict[str, float]
    n_datasets: int
    alpha: float
    comparisons: tuple[PairComparison, ...]
    control: str | None = None
    critical_difference: float | None = None

    def comparison(self, first: str, second: str) -> PairComparison:
        """Return the comparison of two methods, named in either order."""
        for pair in self.comparisons:
            if {pair.first, pair.second} == {first, second}:
                return pair
        raise InputError(f"{self.test} did not compare {first!r} with {second!r}.")

    @property
    def methods_by_rank(self) -> tuple[str, ...]:
        """Methods from best to worst average rank."""
        return tuple(sorted(self.average_ranks, key=self.average_ranks.__getitem__))

    @property
    def not_different_from_control(self) -> tuple[str, ...]:
        """Methods that do not differ significantly from the control; empty without a control."""
        if self.control is None:
            return ()
        return tuple(pair.second for pair in self.comparisons if not pair.significant)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Bars of the critical-difference diagram; empty for tests against a control.

        Each is a longest run of neighbours in rank of which no two differ.
        """
        if self.control is not None:
            return ()
        ordered = self.methods_by_rank
        runs = []
        last_end = 0
        for start in range(len(ordered)):
            end = start + 1
            while end < len(ordered) and self._none_differs(ordered[end], ordered[start:end]):
                end += 1
            # A run that ends where an earlier one ended lies inside that one.
            if end - start > 1 and end > last_end:
                runs.append(ordered[start:end])
                last_end = end
        return tuple(runs)

    def _none_differs(self, method: str, others: Sequence[str]) -> bool:
        return not any(self.comparison(method, other).significant for other in others)

    def __repr__(self) -> str:
        against = "all pairs" if self.control is None else f"against {self.control}"
        lines = [f"{self.test}, {against}, {self.n_datasets} data sets, alpha = {self.alpha:g}"]
        if self.critical_difference is not None:
            lines.append(f"  critical difference {self.critical_difference:.4f}")
        lines.append(ranking.format_ranks(self.average_ranks))
        for pair in self.comparisons:
            lines.append(f"  {pair}")
        return "\n".join(lines)


def adjust_p_values(p_values: ArrayLike) -> Array:
    """Adjust p-values after Holm, so that each can be compared with the level of the whole family.

    The i-th smallest of m p-values is multiplied by m - i + 1: always valid, and never weaker than
    Bonferroni's factor m.

    Parameters
    ----------
    p_values : array-like of shape (m,)
        Raw p-values.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> from ldlearn.evaluation import adjust_p_values
    >>> adjust_p_values([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p_values must be a list of numbers between 0 and 1, got {p_values!r}.")
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    factors = np.arange(p.size, 0, -1)
    # An adjusted p-value must not fall below that of a smaller raw one, or the order of the tests
    # would change.
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted


def critical_difference(
    n_methods: int,
    n_datasets: int,
    alpha: float = 0.05,
    test: _RankTest = "nemenyi",
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
        ``q * sqrt(k (k + 1) / (6 N))``; q is the quantile of the studentised range over sqrt(2)
        (Nemenyi) or the normal quantile at ``1 - alpha / (2 (k - 1))`` (Bonferroni-Dunn).

    Examples
    --------
    >>> from ldlearn.evaluation import critical_difference
    >>> round(critical_difference(7, 12), 4)
    2.6002
    >>> round(critical_difference(7, 12, test="bonferroni-dunn"), 4)
    2.3267
    """
    check_alpha(alpha)
    check_choice("test", test, ("nemenyi", "bonferroni-dunn"))
    if n_methods < 2 or n_datasets < 1:
        raise InputError(
            f"There must be at least 2 methods and 1 data set, got {n_methods} and {n_datasets}."
        )
    if test == "nemenyi":
        # Infinitely many degrees of freedom: the variance of ranks is known, not estimated from the
        # scores.
        q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / math.sqrt(2)
    else:
        q = stats.norm.isf(alpha / (2 * (n_methods - 1)))
    return float(q * _standard_error(n_methods, n_datasets))


def _standard_error(n_methods: int, n_datasets: int) -> float:
    # If all orders are equally likely, without ties; these only make it smaller, and the tests more
    # conservative.
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def nemenyi(
    scores: ArrayLike, *, greater_is_better: bool, methods: Names = None, alpha: float = 0.05
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
    table = check_scores(scores, greater_is_better, methods)
    z, limit = _rank_differences(table, alpha, None, "nemenyi")
    k = len(table.methods)
    adjusted = np.minimum(stats.studentized_range.sf(np.abs(z) * math.sqrt(2), k, np.inf), 1.0)
    outcomes = (z, 2 * stats.norm.sf(np.abs(z)), adjusted)
    return _post_hoc_result("Nemenyi", table, alpha, None, outcomes, limit)


def bonferroni_dunn(
    scores: ArrayLike,
    control: str | int,
    *,
    greater_is_better: bool,
    methods: Names = None,
    alpha: float = 0.05,
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
    table = check_scores(scores, greater_is_better, methods)
    z, limit = _rank_differences(table, alpha, control, "bonferroni-dunn")
    p = 2 * stats.norm.sf(np.abs(z))
    outcomes = (z, p, np.minimum(1.0, len(p) * p))
    return _post_hoc_result("Bonferroni-Dunn", table, alpha, control, outcomes, limit)


def _rank_differences(
    table: ScoreMatrix, alpha: float, control: Control, test: _RankTest
) -> tuple[Array, float]:
    """Standardised differences of average ranks of all pairs, and the critical difference."""
    n, k = table.values.shape
    limit = critical_difference(k, n, alpha, test)
    if limit >= k - 1:
        reason = (
            f"average ranks can be at most {k - 1} apart, "
            f"and the critical difference is {limit:.3f}"
        )
        ranking.warn_too_few_datasets(n, f"{k} methods", reason, stacklevel=4)
    average = table.ranks.mean(axis=0)
    first, second = np.transpose(table.pairs(control))
    return (average[first] - average[second]) / _standard_error(k, n), limit


def _post_hoc_result(
    test: str,
    table: ScoreMatrix,
    alpha: float,
    control: Control,
    outcomes: Sequence[Array],
    limit: float | None,
) -> PostHocResult:
    """Collect statistics, p-values and adjusted p-values of all pairs.

    The critical difference decides where there is one, so that text and diagram never disagree.
    """
    average = table.average_ranks
    comparisons = []
    found = zip(table.pairs(control), np.transpose(outcomes).tolist(), strict=True)
    for (i, j), (statistic, p_value, adjusted) in found:
        first = table.methods[i]
        second = table.methods[j]
        difference = average[first] - average[second]
        significant = adjusted <= alpha if limit is None else abs(difference) > limit
        comparisons.append(
            PairComparison(first, second, difference, statistic, p_value, adjusted, significant)
        )
    name = None if control is None else comparisons[0].first
    n = len(table.values)
    return PostHocResult(test, average, n, alpha, tuple(comparisons), name, limit)


def wilcoxon_holm(
    scores: ArrayLike,
    control: Control = None,
    *,
    greater_is_better: bool,
    methods: Names = None,
    alpha: float = 0.05,
) -> PostHocResult:
    """Compare pairs of methods by the signed ranks of their differences, adjusted after Holm.

    The rank of a data set on which two methods score the same is shared between both sides
    (Demšar's rule).

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int, optional
        Name or column of the method to compare with every other one; by default all pairs are
        compared.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    alpha : float
        Level of significance of all comparisons together.

    Returns
    -------
    PostHocResult
        ``groups`` hold methods that do not differ significantly. p-values are exact up to 200 data
        sets, also with ties and zeros: the fraction of all ways to swap the two methods on some of
        the data sets that give a statistic at least as extreme.

    Warns
    -----
    TooFewDatasetsWarning
        If even a method that wins on every data set could not be significant:
        ``2^(1 - N) M > alpha`` for N data sets and M comparisons.

    Examples
    --------
    >>> from ldlearn.evaluation import wilcoxon_holm
    >>> scores = [
    ...     [0.10, 0.15, 0.31],
    ...     [0.20, 0.16, 0.42],
    ...     [0.15, 0.17, 0.33],
    ...     [0.10, 0.13, 0.34],
    ... ] * 2
    >>> print(wilcoxon_holm(scores, "A", greater_is_better=False, methods=["A", "B", "C"]))
    Wilcoxon-Holm, against A, 8 data sets, alpha = 0.05
      average ranks: A 1.250, B 1.750, C 3.000
        A - B: rank difference -0.500, statistic 11, p = 0.383, adjusted 0.383
      * A - C: rank difference -1.750, statistic 0, p = 0.00781, adjusted 0.0156
    """
    check_alpha(alpha)
    table = check_scores(scores, greater_is_better, methods)
    pairs = table.pairs(control)
    n = len(table.values)
    lowest_p = 2.0 ** (1 - n) * len(pairs)
    if lowest_p > alpha:
        reason = (
            "even a method that wins on all of them gets the adjusted p-value "
            f"{min(1.0, lowest_p):.3g}, above alpha = {alpha:g}"
        )
        ranking.warn_too_few_datasets(n, f"{len(pairs)} comparisons", reason)
    found = [_signed_rank_test(table.values[:, i], table.values[:, j]) for i, j in pairs]
    smaller, p = np.transpose(found)
    outcomes = (smaller, p, adjust_p_values(p))
    return _post_hoc_result("Wilcoxon-Holm", table, alpha, control, outcomes, None)


def _signed_rank_test(first: Array, second: Array) -> tuple[float, float]:
    """The smaller rank sum and the p-value of paired scores, exactly for the ranks at hand."""
    d = _paired_differences(first, second)
    r = stats.rankdata(np.abs(d))
    difference = abs((np.sign(d) * r).sum())
    # Swapping the two scores of a data set turns the sign of a difference; a zero stays one.
    return (r.sum() - difference) / 2, _two_sided_p(r[d != 0], difference)


def _paired_differences(first: Array, second: Array) -> Array:
    """Return first - second, rounded so that 0.3 - 0.2 and 0.2 - 0.1 tie."""
    return ranking.round_off(first - second, np.abs([first, second]).max(initial=0.0))


def _two_sided_p(r: Array, difference: float) -> float:
    """Return P(|sum of r with random signs| >= difference).

    Exact p-values cost n^3 additions; beyond 200 ranks the normal approximation is good to three
    digits.
    """
    if difference == 0:
        return 1.0
    if r.size > _MOST_EXACT_RANKS:
        return 2 * stats.norm.sf(difference / np.sqrt((r**2).sum()))
    doubled = np.rint(2 * r).astype(int)  # mid-ranks are halves
    total = doubled.sum()
    # Fractions of the 2^n ways to set the signs, not counts: those of 200 data sets fit no integer
    # of numpy.
    probability = np.zeros(total + 1)
    probability[0] = 1.0
    for step in doubled:
        # Both sides are read before either is written: each rank is taken or left exactly once.
        probability[step:] = (probability[step:] + probability[: total + 1 - step]) / 2
        probability[:step] /= 2
    extreme = np.abs(2 * np.arange(total + 1) - total) >= round(2 * difference)
    # Sums of many fractions may exceed 1 by rounding.
    return min(1.0, probability[extreme].sum())


@dataclass(frozen=True)
class Effect:
    """Size of the difference between two methods.

    Attributes
    ----------
    first, second : str
        The two methods; with a control, ``first`` is the control.
    wins, ties, losses : int
        Data sets on which the first is better, equal, worse.
    rank_biserial : float
        Matched-pairs rank-biserial correlation: 1 if the first wins everywhere, 0 if even, -1 if it
        loses everywhere; large differences weigh more than small ones.
    median_advantage : float
        Median over the data sets of the first's advantage, in units of the score; positive if
        better.
    """

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    rank_biserial: float
    median_advantage: float

    def __str__(self) -> str:
        return (
            f"{self.first} - {self.second}: "
            f"wins {self.wins}, ties {self.ties}, losses {self.losses}, "
            f"rank-biserial {self.rank_biserial:+.3f}, "
            f"median advantage {self.median_advantage:+.4g}"
        )


def effect_sizes(
    scores: ArrayLike, control: Control = None, *, greater_is_better: bool, methods: Names = None
) -> tuple[Effect, ...]:
    """Return wins, ties, losses and effect sizes of pairs of methods.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods.
    control : str or int, optional
        Name or column of the method to compare with every other one; by default all pairs are
        compared.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.

    Returns
    -------
    tuple of Effect

    Examples
    --------
    >>> from ldlearn.evaluation import effect_sizes
    >>> scores = [[0.1, 0.4], [0.3, 0.2], [0.2, 0.2], [0.1, 0.3]]
    >>> print(*effect_sizes(scores, greater_is_better=False, methods=["A", "B"]))
    A - B: wins 2, ties 1, losses 1, rank-biserial +0.667, median advantage +0.1
    """
    table = check_scores(scores, greater_is_better, methods)
    effects = []
    for i, j in table.pairs(control):
        # Rounded as in the test, so that a tie is the same thing in both.
        advantage = _paired_differences(table.costs[:, j], table.costs[:, i])
        signs = np.sign(advantage).astype(int)
        # Without ties, whose signs are 0.
        r = stats.rankdata(np.abs(advantage[signs != 0]))
        biserial = float((signs[signs != 0] * r).sum() / max(r.sum(), 1.0))
        pair = (table.methods[i], table.methods[j])
        losses, ties, wins = np.bincount(signs + 1, minlength=3).tolist()
        effects.append(Effect(*pair, wins, ties, losses, biserial, float(np.median(advantage))))
    return tuple(effects)
