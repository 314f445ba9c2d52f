"""Statistics for comparing methods over data sets."""

from ldlearn.stats.adjust import adjust_p_values
from ldlearn.stats.effects import Effect, effect_sizes, rank_biserial
from ldlearn.stats.friedman import friedman
from ldlearn.stats.groups import maximal_cliques, maximal_runs
from ldlearn.stats.posthoc import bonferroni_dunn, critical_difference, nemenyi
from ldlearn.stats.ranks import average_ranks, ranks
from ldlearn.stats.results import Comparison, FriedmanResult, PostHocResult
from ldlearn.stats.scores import TooFewDatasetsWarning
from ldlearn.stats.wilcoxon import wilcoxon_holm

__all__ = [
    "ranks",
    "average_ranks",
    "friedman",
    "FriedmanResult",
    "critical_difference",
    "nemenyi",
    "bonferroni_dunn",
    "wilcoxon_holm",
    "PostHocResult",
    "Comparison",
    "adjust_p_values",
    "effect_sizes",
    "rank_biserial",
    "Effect",
    "maximal_runs",
    "maximal_cliques",
    "TooFewDatasetsWarning",
]
