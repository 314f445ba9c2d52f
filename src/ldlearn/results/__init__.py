"""Results of experiments: the typed record of a cell, one reader and writer, one summary."""

from ldlearn.results.agreement import Agreement, agreement
from ldlearn.results.costs import Cost, costs
from ldlearn.results.differences import Difference, best_floor, best_floors, difference
from ldlearn.results.files import RecordsFile, RunFolderError, read_records
from ldlearn.results.record import TASKS, Convergence, GridPoint, Record, Samples, Task
from ldlearn.results.scoreboards import Scoreboard, scoreboards
from ldlearn.results.sensitivity import Curve, search_curves, sensitivity_curves
from ldlearn.results.summary import AnyRecords, Dataset, Method, Results, Score, Spread, SummaryRow, TaskTable

__all__ = [
    "Record", "GridPoint", "Samples", "Convergence", "Task", "TASKS", "read_records", "RecordsFile", "RunFolderError",
    "Results", "AnyRecords", "Method", "Dataset", "Score", "Spread", "TaskTable", "SummaryRow", "Scoreboard",
    "Difference", "difference", "best_floor", "best_floors", "Agreement", "agreement", "Cost", "costs",
    "Curve", "search_curves", "sensitivity_curves", "scoreboards",
]  # fmt: skip
