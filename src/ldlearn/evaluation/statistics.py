"""What the tests return."""

from dataclasses import dataclass

from ldlearn.evaluation.groups import maximal_cliques, maximal_runs
from ldlearn.exceptions import InputError


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
        Friedman's statistic, corrected for ties, and its p-value (chi-square, ``n_methods - 1`` degrees).
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
        # Not that of Friedman's own chi2, which is too cautious, as Iman and Davenport showed (see Demšar).
        return self.f_p_value <= self.alpha

    @property
    def kendall_w(self) -> float:
        """Kendall's coefficient of concordance, the effect size: 0 no agreement, 1 all data sets agree."""
        return self.chi2 / (self.n_datasets * (len(self.average_ranks) - 1))

    def __repr__(self) -> str:
        verdict = "differ" if self.significant else "are not shown to differ"
        k = len(self.average_ranks)
        return (
            f"Friedman test: {k} methods on {self.n_datasets} data sets {verdict} at alpha = {self.alpha:g}\n"
            f"  chi2({k - 1}) = {self.chi2:.4g}, p = {self.p_value:.3g}\n"
            f"  Iman-Davenport F({k - 1}, {(k - 1) * (self.n_datasets - 1)}) = {self.f:.4g}, "
            f"p = {self.f_p_value:.3g}\n"
            f"  Kendall's W = {self.kendall_w:.3f}\n"
            f"{_rank_lines(self.average_ranks)}"
        )


@dataclass(frozen=True)
class Comparison:
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
        Whether the test tells the two apart.
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
            f"statistic {self.statistic:.4g}, p = {self.p_value:.3g}, adjusted {self.adjusted_p_value:.3g}"
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
    comparisons : tuple of Comparison
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
    comparisons: tuple[Comparison, ...]
    control: str | None = None
    critical_difference: float | None = None

    def comparison(self, first: str, second: str) -> Comparison:
        """Return the comparison of two methods, named in either order."""
        for pair in self.comparisons:
            if {pair.first, pair.second} == {first, second}:
                return pair
        raise InputError(f"{self.test} did not compare {first!r} with {second!r}.")

    @property
    def ordered(self) -> tuple[str, ...]:
        """Methods from best to worst average rank."""
        return tuple(sorted(self.average_ranks, key=self.average_ranks.__getitem__))

    @property
    def not_different_from_control(self) -> tuple[str, ...]:
        """Methods that the test could not tell from the control; empty without a control."""
        if self.control is None:
            return ()
        return tuple(pair.second for pair in self.comparisons if not pair.significant)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Bars of the critical-difference diagram; empty for tests against a control.

        Each is a longest stretch of neighbours in rank of which no two differ.
        """
        return () if self.control is not None else maximal_runs(self.ordered, self._differ)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """All largest sets of methods of which no two differ, also such as no bar can show."""
        return () if self.control is not None else maximal_cliques(self.ordered, self._differ)

    def _differ(self, first: str, second: str) -> bool:
        return self.comparison(first, second).significant

    def __repr__(self) -> str:
        against = "all pairs" if self.control is None else f"against {self.control}"
        lines = [f"{self.test}, {against}, {self.n_datasets} data sets, alpha = {self.alpha:g}"]
        if self.critical_difference is not None:
            lines.append(f"  critical difference {self.critical_difference:.4f}")
        lines.append(_rank_lines(self.average_ranks))
        lines.extend(f"  {pair}" for pair in self.comparisons)
        return "\n".join(lines)


def _rank_lines(average_ranks: dict[str, float]) -> str:
    best_first = sorted(average_ranks.items(), key=lambda item: item[1])
    return "  average ranks: " + ", ".join(f"{method} {rank:.3f}" for method, rank in best_first)
