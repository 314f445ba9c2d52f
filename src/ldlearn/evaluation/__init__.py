"""The record of a result, summaries of records, and statistics between methods."""

from ldlearn.evaluation.adjust import adjust_p_values
from ldlearn.evaluation.agreement import Agreement, agreement
from ldlearn.evaluation.costs import Cost, costs
from ldlearn.evaluation.differences import Difference, best_baseline, best_baselines, difference
from ldlearn.evaluation.effects import Effect, effect_sizes, rank_biserial
from ldlearn.evaluation.friedman import friedman
from ldlearn.evaluation.groups import maximal_cliques, maximal_runs
from ldlearn.evaluation.posthoc import bonferroni_dunn, critical_difference, nemenyi
from ldlearn.evaluation.ranks import average_ranks, ranks
from ldlearn.evaluation.record import TASKS, Convergence, GridPoint, Record, Samples, Task
from ldlearn.evaluation.record_files import RecordsFile, RunFolderError, read_records
from ldlearn.evaluation.score_matrix import TooFewDatasetsWarning
from ldlearn.evaluation.scoreboards import Scoreboard, scoreboards
from ldlearn.evaluation.sensitivity import Curve, search_curves, sensitivity_curves
from ldlearn.evaluation.statistics import Comparison, FriedmanResult, PostHocResult
from ldlearn.evaluation.summary import AnyRecords, Dataset, Method, Results, Score, Spread, SummaryRow, TaskTable
from ldlearn.evaluation.wilcoxon import wilcoxon_holm

__all__ = [
    "Record",
    "GridPoint",
    "Samples",
    "Convergence",
    "Task",
    "TASKS",
    "read_records",
    "RecordsFile",
    "RunFolderError",
    "Results",
    "AnyRecords",
    "Method",
    "Dataset",
    "Score",
    "Spread",
    "TaskTable",
    "SummaryRow",
    "Scoreboard",
    "Difference",
    "difference",
    "best_baseline",
    "best_baselines",
    "Agreement",
    "agreement",
    "Cost",
    "costs",
    "Curve",
    "search_curves",
    "sensitivity_curves",
    "scoreboards",
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
