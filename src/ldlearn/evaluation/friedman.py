"""The Friedman test, with the correction of Iman and Davenport.

The statistic is our own, because scipy's refuses two methods, divides 0 by 0 if all tie, and rounds perfect agreement
to something less, where the correction divides by what is left.
"""

import math
import warnings
from collections.abc import Sequence

from numpy.typing import ArrayLike
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import f as f_distribution

from ldlearn.evaluation.ranks import ranks
from ldlearn.evaluation.score_matrix import FloatArray, TooFewDatasetsWarning, check_alpha, check_scores
from ldlearn.evaluation.statistics import FriedmanResult


def friedman(
    scores: ArrayLike, *, greater_is_better: bool, methods: Sequence[str] | None = None, alpha: float = 0.05
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
    >>> scores = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.3, 0.4], [0.1, 0.5, 0.6], [0.1, 0.2, 0.2]]
    >>> print(friedman(scores, greater_is_better=False, methods=["A", "B", "C"]))
    Friedman test: 3 methods on 5 data sets differ at alpha = 0.05
      chi2(2) = 8.316, p = 0.0156
      Iman-Davenport F(2, 8) = 19.75, p = 0.000805
      Kendall's W = 0.832
      average ranks: A 1.000, B 2.300, C 2.700
    """
    check_alpha(alpha)
    table = check_scores(scores, methods)
    n, k = table.n_datasets, table.n_methods
    # The largest chi2 there is: all data sets rank the methods alike, so that Kendall's W is 1.
    lowest_p = float(chi2_distribution.sf(n * (k - 1), k - 1))
    if lowest_p > alpha:
        warnings.warn(
            f"{n} data sets are too few for {k} methods: even if they all agreed, Friedman's p-value would be "
            f"{lowest_p:.3g}, above alpha = {alpha:g}.",
            TooFewDatasetsWarning,
            stacklevel=2,
        )
    r = ranks(table.values, greater_is_better=greater_is_better)
    chi2 = _tie_corrected_chi2(r)
    f = _iman_davenport(chi2, n, k)
    return FriedmanResult(
        average_ranks=dict(zip(table.methods, r.mean(axis=0).tolist(), strict=True)),
        n_datasets=n,
        chi2=chi2,
        p_value=float(chi2_distribution.sf(chi2, k - 1)),
        f=f,
        f_p_value=float(f_distribution.sf(f, k - 1, (k - 1) * (n - 1))),
        alpha=alpha,
    )


def _tie_corrected_chi2(r: FloatArray) -> float:
    """Return chi2 = (k - 1) * spread of the rank sums / spread of the ranks, which is Friedman's with ties."""
    n, k = r.shape
    middle = (k + 1) / 2
    total = float(((r - middle) ** 2).sum())
    if total == 0:
        return 0.0  # every data set ties all methods: nothing differs
    return float((k - 1) * ((r.sum(axis=0) - n * middle) ** 2).sum() / total)


def _iman_davenport(chi2: float, n: int, k: int) -> float:
    room = n * (k - 1) - chi2
    # No room if all data sets agree; p is then 0 by convention. Sums of mid-ranks are exact in floats.
    return (n - 1) * chi2 / room if room > 0 else math.inf
