"""The experiment engine: a plan (TOML) becomes cells, and cells become append-only records."""

from ldlearn.evaluation import RunFolderError, read_records
from ldlearn.experiments.engine import RunSummary, run_plan
from ldlearn.experiments.executors import WorkersLostError
from ldlearn.experiments.external import export_splits, import_predictions
from ldlearn.experiments.methods import MethodSpec
from ldlearn.experiments.plan import Plan, Protocol, Selection, load_plan, shipped_plans
from ldlearn.experiments.progress import LogProgress, RunProgress
from ldlearn.experiments.sources import DatasetSpec
from ldlearn.experiments.table_plan import plan_for_table
from ldlearn.experiments.toml_table import PlanError

__all__ = [
    "Plan", "PlanError", "Protocol", "Selection", "DatasetSpec", "MethodSpec",
    "load_plan", "plan_for_table", "shipped_plans", "run_plan", "read_records",
    "export_splits", "import_predictions",
    "RunSummary", "RunFolderError", "WorkersLostError", "RunProgress", "LogProgress",
]  # fmt: skip
