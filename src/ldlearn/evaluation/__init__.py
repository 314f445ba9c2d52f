"""The record of a result, summaries of records, and statistics between methods."""

from ldlearn.evaluation.analysis import (
    Agreement,
    Cost,
    Curve,
    Difference,
    agreement,
    best_baselines,
    costs,
    difference,
    search_curves,
    sensitivity_curves,
)
from ldlearn.evaluation.bayesian_test import BayesianComparison, bayesian_signed_rank
from ldlearn.evaluation.pairwise_tests import (
    Comparison,
    Effect,
    PostHocResult,
    adjust_p_values,
    bonferroni_dunn,
    critical_difference,
    effect_sizes,
    maximal_runs,
    nemenyi,
    wilcoxon_holm,
)
from ldlearn.evaluation.ranking import FriedmanResult, TooFewDatasetsWarning, friedman, ranks
from ldlearn.evaluation.record import (
    TASKS,
    Convergence,
    GridPoint,
    Record,
    RunFolderError,
    Samples,
    Task,
    append_records,
    read_records,
)
from ldlearn.evaluation.summary import Dataset, Method, Results, Score, Spread, TaskTable
from ldlearn.evaluation.text_tables import TextTable, scoreboards

# Records · summaries of a run · analyses of a run · statistics between methods over data sets
__all__ = [
    "Record", "GridPoint", "Samples", "Convergence", "Task", "TASKS", "read_records", "append_records",
    "RunFolderError", "Results", "Method", "Dataset", "Score", "Spread", "TaskTable", "TextTable", "scoreboards",
    "Difference", "difference", "best_baselines", "Agreement", "agreement", "Cost", "costs",
    "Curve", "search_curves", "sensitivity_curves",
    "ranks", "friedman", "FriedmanResult", "critical_difference", "nemenyi", "bonferroni_dunn",
    "wilcoxon_holm", "PostHocResult", "Comparison", "adjust_p_values", "effect_sizes", "Effect",
    "bayesian_signed_rank", "BayesianComparison",
    "maximal_runs", "TooFewDatasetsWarning",
]  # fmt: skip
