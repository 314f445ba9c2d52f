"""Scores of methods over data sets: their ranks, and Friedman's test of these.

Friedman's statistic is our own, because scipy's refuses two methods, divides 0 by 0 if all tie, and
rounds perfect agreement to something less, where the correction of Iman and Davenport divides by
what is left.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from ldlearn.core.simplex import Array
from ldlearn.exceptions import InputError

__all__ = ["ranks", "friedman", "FriedmanResult", "TooFewDatasetsWarning"]

Names = Sequence[str] | None


class TooFewDatasetsWarning(UserWarning):
    """No outcome on so few data sets could be significant."""


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores, one row per data set and one named column per method, with their direction."""

    values: Array
    methods: tuple[str, ...]
    greater_is_better: bool

    def pairs(self, control: str | int | None) -> list[tuple[int, int]]:
        """Return the columns to compare: the control with every other one, or all pairs."""
        columns = range(len(self.methods))
        if control is None:
            return list(combinations(columns, 2))
        column = self.methods.index(control) if control in self.methods else control
        if column not in columns:
            raise InputError(
                f"There is no method {control!r}; the columns are {', '.join(self.methods)}."
            )
        return [(int(column), j) for j in columns if j != column]

    @property
    def costs(self) -> Array:
        """The scores, or minus the scores if a greater one is better."""
        return -self.values if self.greater_is_better else self.values

    @property
    def ranks(self) -> Array:
        """Mid-ranks within each row; the best method has the smallest."""
        # Rounded by data set: a digit that is noise beside large scores may be all there is to
        # those of another row.
        scale = np.abs(self.values).max(axis=1, keepdims=True, initial=0.0)
        return stats.rankdata(round_off(self.costs, scale), axis=1)

    @property
    def average_ranks(self) -> dict[str, float]:
        """Mean rank of every method."""
        return dict(zip(self.methods, self.ranks.mean(axis=0).tolist(), strict=True))

    def best_first(self) -> Self:
        """The same scores, columns sorted by average rank."""
        order = np.argsort(self.ranks.mean(axis=0), kind="stable")
        # Not by numpy, whose texts lose null characters at their end.
        names = tuple(self.methods[column] for column in order)
        return replace(self, values=self.values[:, order], methods=names)


def check_scores(scores: ArrayLike, greater_is_better: bool, methods: Names = None) -> ScoreMatrix:
    """Validate scores; the names are ``methods``, the columns of a frame, or "0", "1", ..."""
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2:
        raise InputError(
            "scores must be 2-D (rows are data sets, columns are methods), "
            f"got shape {values.shape}."
        )
    n_datasets, n_methods = values.shape
    if n_datasets < 2 or n_methods < 2:
        raise InputError(
            "scores must cover at least 2 data sets and 2 methods, "
            f"got {n_datasets} and {n_methods}."
        )
    columns = getattr(scores, "columns", range(n_methods))
    names = tuple(map(str, columns if methods is None else methods))
    if len(names) != n_methods or len(set(names)) != n_methods:
        raise InputError(
            f"methods must be {n_methods} different names, one per column, got {names}."
        )
    for row, column in np.argwhere(~np.isfinite(values)):
        raise InputError(
            f"The score of method {names[column]!r} on data set {row} is {values[row, column]}; "
            "leave out that data set or that method."
        )
    return ScoreMatrix(values, names, greater_is_better)


def check_alpha(alpha: float) -> None:
    """Refuse a level of significance that is not between 0 and 1."""
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, got {alpha!r}.")


def round_off(values: Array, scale: Array | float) -> Array:
    """Round to twelve digits of the scale, so that scores equal but for rounding errors tie."""
    # Scores that are all 0 have no scale, and are rounded as they are.
    safe = np.where(scale > 0, scale, 1.0)
    return np.round(values / safe, 12) * safe


def warn_too_few_datasets(n_datasets: int, compared: str, reason: str, stacklevel: int = 3) -> None:
    """Warn that no outcome could be significant."""
    message = f"{n_datasets} data sets are too few for {compared}: {reason}."
    warnings.warn(message, TooFewDatasetsWarning, stacklevel=stacklevel)


def ranks(scores: ArrayLike, *, greater_is_better: bool) -> Array:
    """Rank the methods on every data set, 1 for the best; equal scores share their mean rank.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score (a mean) per data set and method.
    greater_is_better : bool
        Direction of the score, see ``ldlearn.metrics.METRICS[name].greater_is_better``.

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)
        The mean of a column is the average rank of a method, which `friedman` returns by name.

    Examples
    --------
    >>> from ldlearn.evaluation import ranks
    >>> ranks([[0.2, 0.1, 0.2], [0.3, 0.1, 0.2]], greater_is_better=True)
    array([[1.5, 3. , 1.5],
           [1. , 3. , 2. ]])
    """
    return check_scores(scores, greater_is_better).ranks


def format_ranks(average_ranks: dict[str, float]) -> str:
    """One line of average ranks, best first."""
    best_first = sorted(average_ranks.items(), key=lambda item: item[1])
    return "  average ranks: " + ", ".join(f"{method} {rank:.3f}" for method, rank in best_first)


@dataclass(frozen=True, repr=False)
class FriedmanResult:
    """Outcome of the Friedman test.

    Attributes
    ----------
    average_ranks : dict of str to float
        Mean mid-rank of every method; 1 is best.
    n_datasets : int
        Number of data sets.
    chi2, p_value : float
        Friedman's statistic, corrected for ties, and its p-value (chi-square, ``n_methods - 1``
        degrees).
    f, f_p_value : float
        The statistic of Iman and Davenport and its p-value; infinity and 0 if all data sets agree.
    alpha : float
        Level of significance.
    """

    average_ranks: dict[str, float]
    n_datasets: int
    chi2: float
    p_value: float
    f: float
    f_p_value: float
    alpha: float

    @property
    def significant(self) -> bool:
        """Whether the p-value of Iman and Davenport is at most ``alpha``."""
        # Not that of Friedman's own chi2, which is too conservative, as Iman and Davenport showed
        # (see Demšar).
        return self.f_p_value <= self.alpha

    @property
    def kendall_w(self) -> float:
        """Kendall's coefficient of concordance, the effect size: 1 if all data sets agree."""
        return self.chi2 / (self.n_datasets * (len(self.average_ranks) - 1))

    def __repr__(self) -> str:
        verdict = "differ" if self.significant else "are not shown to differ"
        k = len(self.average_ranks)
        n = self.n_datasets
        freedom = f"{k - 1}, {(k - 1) * (n - 1)}"
        return (
            f"Friedman test: {k} methods on {n} data sets {verdict} at alpha = {self.alpha:g}\n"
            f"  chi2({k - 1}) = {self.chi2:.4g}, p = {self.p_value:.3g}\n"
            f"  Iman-Davenport F({freedom}) = {self.f:.4g}, p = {self.f_p_value:.3g}\n"
            f"  Kendall's W = {self.kendall_w:.3f}\n{format_ranks(self.average_ranks)}"
        )


def friedman(
    scores: ArrayLike, *, greater_is_better: bool, methods: Names = None, alpha: float = 0.05
) -> FriedmanResult:
    """Test whether any methods differ in their ranks over the data sets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score per data set and method; a frame's columns name the methods. The data sets must be
        independent of each other: two tasks on the same data are not two data sets.
    greater_is_better : bool
        Direction of the score.
    methods : sequence of str, optional
        Names of the columns.
    alpha : float
        Level of significance.

    Returns
    -------
    FriedmanResult

    Warns
    -----
    TooFewDatasetsWarning
        If Friedman's p-value would exceed ``alpha`` even if all data sets agreed.

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.

    Examples
    --------
    >>> from ldlearn.evaluation import friedman
    >>> scores = [
    ...     [0.1, 0.2, 0.3],
    ...     [0.1, 0.3, 0.2],
    ...     [0.2, 0.3, 0.4],
    ...     [0.1, 0.5, 0.6],
    ...     [0.1, 0.2, 0.2],
    ... ]
    >>> print(friedman(scores, greater_is_better=False, methods=["A", "B", "C"]))
    Friedman test: 3 methods on 5 data sets differ at alpha = 0.05
      chi2(2) = 8.316, p = 0.0156
      Iman-Davenport F(2, 8) = 19.75, p = 0.000805
      Kendall's W = 0.832
      average ranks: A 1.000, B 2.300, C 2.700
    """
    check_alpha(alpha)
    table = check_scores(scores, greater_is_better, methods)
    n, k = table.values.shape
    largest = n * (k - 1)  # chi2 if all data sets rank the methods alike
    lowest_p = stats.chi2.sf(largest, k - 1)
    if lowest_p > alpha:
        reason = (
            f"even if they all agreed, Friedman's p-value would be {lowest_p:.3g}, "
            f"above alpha = {alpha:g}"
        )
        warn_too_few_datasets(n, f"{k} methods", reason)
    r = table.ranks
    middle = (k + 1) / 2
    # (k - 1) times the spread of the rank sums over the spread of the ranks is Friedman's statistic
    # with ties. If every data set ties all methods, nothing differs. Sums of mid-ranks are exact in
    # floats.
    spread = ((r - middle) ** 2).sum()
    chi2 = 0.0
    if spread:
        chi2 = float((k - 1) * ((r.sum(axis=0) - n * middle) ** 2).sum() / spread)
    # If all data sets agree, p is 0 by convention.
    f = (n - 1) * chi2 / (largest - chi2) if chi2 < largest else math.inf
    p_value = float(stats.chi2.sf(chi2, k - 1))
    f_p_value = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return FriedmanResult(table.average_ranks, n, chi2, p_value, f, f_p_value, alpha)
