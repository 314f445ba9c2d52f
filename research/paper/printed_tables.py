"""The tables of the DLDL paper, letter by letter."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ldlearn._messages import normalize_name
from ldlearn.evaluation import Task

CITATION = "Y. Jia, J. Tang, J. Jiang: Label Distribution Learning from Logical Label, IJCAI 2024"
SUBJECT = "DLDL"  # the paper's own method
AVERAGE = "Avg.Rank"  # stands where cells name a data set
SUPPLEMENT = {
    "1": "S3",
    "2": "S4",
}  # tables of the text, and those that repeat them with deviations
PAPER_METRICS = {
    "Chebyshev": "chebyshev",
    "Clark": "clark",
    "One-error": "threshold_error",
    "Intersection": "intersection",
}
_FILES = ("recovery", "predictive", "predictive_ldlsf", "ablation")
_ZEROS = "frac_le_0.01_implied_by_S5_one_error"


class PrintedCell(NamedTuple):
    """A cell of the paper.

    Attributes
    ----------
    table, metric, dataset, method : str
        Where it stands, in the paper's names; a row of average ranks has `AVERAGE` for its data
        set.
    mean, std, rank : str
        As printed; empty where nothing is.
    right_rank : str
        What the printed values give, if that is another rank.
    remarks : tuple of str
        What is wrong with it.
    """

    table: str
    metric: str
    dataset: str
    method: str
    mean: str
    std: str
    rank: str
    right_rank: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The mean as a number."""
        return float(self.mean)

    @property
    def score(self) -> str:
        """Mean and deviation as printed."""
        return self.mean + (f" ± {self.std}" if self.std else "")


@dataclass(frozen=True)
class Block:
    """Tables of the paper that report one experiment.

    Attributes
    ----------
    key, title : str
    task : {"recovery", "prediction"}
    tables : tuple of str
        Their numbers in the paper; the first that has a value counts, as the supplement adds
        deviations.
    learner : str
        The learner that follows enhancers in it.
    """

    key: str
    title: str
    task: Task
    tables: tuple[str, ...]
    learner: str = ""

    @property
    def is_ablation(self) -> bool:
        """Whether its rows are DLDL without one of its terms."""
        return self.key.startswith("ablation")

    def scores(self, cells: Iterable[PrintedCell]) -> list[PrintedCell]:
        """Those of its tables, without averages; what two tables repeat comes once."""
        found: dict[tuple[str, str, str], PrintedCell] = {}
        mine = [cell for cell in cells if cell.table in self.tables and cell.dataset != AVERAGE]
        for cell in sorted(mine, key=lambda cell: self.tables.index(cell.table)):
            found.setdefault((cell.metric, cell.dataset, cell.method), cell)
        return list(found.values())


BLOCKS = (
    Block("recovery", "Recovery (Tables 1 and S3)", "recovery", ("S3", "1")),
    Block(
        "prediction",
        "Prediction, SA-BFGS where needed (Tables 2 and S4)",
        "prediction",
        ("S4", "2"),
        "SABFGS",
    ),
    Block(
        "prediction-ldlsf",
        "Prediction, LDLSF where needed (Table S5)",
        "prediction",
        ("S5",),
        "LDLSF",
    ),
    Block("ablation-recovery", "Recovery without one term (Table 3)", "recovery", ("3/recovery",)),
    Block(
        "ablation-prediction",
        "Prediction without one term (Table 3)",
        "prediction",
        ("3/predictive",),
    ),
)


@dataclass(frozen=True)
class PaperDataset:
    """A data set of the paper (Table S1).

    Attributes
    ----------
    name : str
    n_labels : int
    zeros : float
        Share of the labels whose true degree is at most 0.01: what a prediction that is positive
        everywhere gets as "One-error" in Table S5.
    """

    name: str
    n_labels: int
    zeros: float

    @property
    def clark_baseline(self) -> float:
        """The smallest mean Clark distance of predictions that are positive everywhere, given the
        share of zeros."""
        # Each zero adds 1 under Clark's root. A row has k <= c - 1 zeros, so sqrt(k) >= k / sqrt(c
        # - 1): the mean of k, which the share of zeros gives, bounds the mean distance.
        return self.n_labels * self.zeros / math.sqrt(self.n_labels - 1)


@cache
def printed_cells() -> tuple[PrintedCell, ...]:
    """Every cell of every table, average ranks included.

    Returns
    -------
    tuple of PrintedCell
        Named tuples with table, metric, dataset, method, mean, std and rank, each a string as
        printed.
    """
    return tuple(PrintedCell(**row) for name in _FILES for row in read_rows(name))


@cache
def paper_datasets() -> dict[str, PaperDataset]:
    """The data sets of the paper, by their abbreviations."""
    return {
        row["abbr"]: PaperDataset(row["dataset"], int(row["labels"]), float(row[_ZEROS]))
        for row in read_rows("datasets")
    }


@cache
def abbreviations() -> dict[str, str]:
    """The paper's abbreviation of a data set, by how `normalize_name` spells any of its names."""
    return {
        normalize_name(name): short
        for short, dataset in paper_datasets().items()
        for name in (dataset.name, short)
    }


@cache
def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of this package's data."""
    return list(csv.DictReader(read_text(f"{name}.csv").splitlines()))


def read_text(name: str) -> str:
    """A file of this package's data."""
    return files("research.paper").joinpath("data", name).read_text(encoding="utf-8")
