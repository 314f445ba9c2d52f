"""Results printed in the tables of the DLDL paper, letter by letter, and what is known to be wrong with them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ldlearn.errors import bare_name
from ldlearn.paper.ranks import AVERAGE, PAPER_METRICS, Row, ranked_tables
from ldlearn.results import Task

CITATION = "Y. Jia, J. Tang, J. Jiang: Label Distribution Learning from Logical Label, IJCAI 2024"
_ZEROS = "frac_le_0.01_implied_by_S5_one_error"
_FILES = ("recovery", "predictive", "predictive_ldlsf", "ablation")


@dataclass(frozen=True)
class Block:
    """Tables of the paper that report one experiment.

    Attributes
    ----------
    key, title : str
    task : {"recovery", "prediction"}
    tables : tuple of str
        Their numbers in the paper; the first that has a value counts, as the supplement adds deviations.
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

    def scores(self, rows: Iterable[Row]) -> Iterable[Row]:
        """Those of its tables, without averages; what two tables repeat comes once."""
        found: dict[tuple[str, str, str], Row] = {}
        scores = [row for row in rows if row["dataset"] != AVERAGE]
        for row in (row for table in self.tables for row in scores if row["table"] == table):
            found.setdefault((row["metric"], row["dataset"], row["method"]), row)
        return found.values()


BLOCKS = (
    Block("recovery", "Recovery (Tables 1 and S3)", "recovery", ("S3", "1")),
    Block("prediction", "Prediction, SA-BFGS where needed (Tables 2 and S4)", "prediction", ("S4", "2"), "SABFGS"),
    Block("prediction-ldlsf", "Prediction, LDLSF where needed (Table S5)", "prediction", ("S5",), "LDLSF"),
    Block("ablation-recovery", "Recovery without one term (Table 3)", "recovery", ("3/recovery",)),
    Block("ablation-prediction", "Prediction without one term (Table 3)", "prediction", ("3/predictive",)),
)


@dataclass(frozen=True)
class Printed:
    """A cell of the paper.

    Attributes
    ----------
    mean, std, rank : str
        As printed.
    right_rank : str
        What the printed values give, if that is another rank.
    remarks : tuple of str
        What is wrong with it.
    """

    mean: str
    std: str = ""
    rank: str = ""
    right_rank: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperDataset:
    """A data set of the paper (Table S1).

    Attributes
    ----------
    name, abbreviation : str
    n_labels : int
    zeros : float
        Share of the labels whose true degree is at most 0.01: what a prediction that is positive everywhere gets as
        "One-error" in Table S5.
    """

    name: str
    abbreviation: str
    n_labels: int
    zeros: float


@cache
def printed_rows() -> tuple[Row, ...]:
    """Every cell of every table, average ranks included: table, metric, dataset, method, mean, std, rank."""
    return tuple(row for name in _FILES for row in _read(name))


@cache
def printed_scores() -> dict[tuple[str, str], dict[tuple[str, str], Printed]]:
    """By (key of the block, metric of ours): scores by (abbreviated data set, method of the paper)."""
    tables: dict[tuple[str, str], dict[tuple[str, str], Printed]] = {}
    for block in BLOCKS:
        for row in block.scores(printed_rows()):
            found = tables.setdefault((block.key, PAPER_METRICS[row["metric"]]), {})
            found[row["dataset"], row["method"]] = _printed(block, row)
    return tables


@cache
def paper_methods(block: Block) -> dict[str, str]:
    """The paper's names of the methods of a block, by how `bare_name` spells them."""
    names = [name for (key, _), cells in printed_scores().items() if key == block.key for _, name in cells]
    return {bare_name(name): name for name in names}


@cache
def abbreviations() -> dict[str, str]:
    """The paper's abbreviation of a data set, by how `bare_name` spells any of its names."""
    return {bare_name(name): row["abbr"] for row in _read("datasets") for name in (row["dataset"], row["abbr"])}


@cache
def paper_datasets() -> dict[str, PaperDataset]:
    """The data sets of the paper, by their abbreviations."""
    return {
        row["abbr"]: PaperDataset(row["dataset"], row["abbr"], int(row["labels"]), float(row[_ZEROS]))
        for row in _read("datasets")
    }


@cache
def known_floors() -> dict[tuple[str, str], str]:
    """Intersections of floors on public copies of the data, all rows, by (floor, abbreviated data set)."""
    return {(row["floor"], row["dataset"]): row["intersection"] for row in _read("floors")}


def _printed(block: Block, row: Mapping[str, str]) -> Printed:
    where = (row["metric"], row["dataset"], row["method"])
    remarks = tuple(_remarks(block, *where))
    wrong = next(((table, *w) for table in block.tables if (w := _wrong_ranks().get((table, *where)))), None)
    if wrong is None:
        return Printed(row["mean"], row["std"], row["rank"], remarks=remarks)
    table, printed, right = wrong
    note = f"Table {table} prints another rank than its values give; the right one stands after the arrow."
    return Printed(row["mean"], row["std"], printed, right, (note, *remarks))


def _remarks(block: Block, metric: str, dataset: str, method: str) -> list[str]:
    return [
        row["remark"]
        for row in _read("remarks")
        if row["table"] in block.tables
        and row["metric"] in ("*", metric)
        and row["dataset"] in ("*", dataset)
        and row["method"] in ("*", method)
    ]


@cache
def _wrong_ranks() -> dict[tuple[str, str, str, str], tuple[str, str]]:
    """By table, metric, data set and method: the printed rank and the right one, where they differ."""
    return {
        (of.table, of.metric, of.datasets[i], of.methods[j]): (f"{of.printed[i, j]:.0f}", f"{of.right[i, j]:.0f}")
        for of in ranked_tables(printed_rows())
        for i, j in zip(*(of.printed != of.right).nonzero(), strict=True)
    }


@cache
def _read(name: str) -> list[dict[str, str]]:
    text = files("ldlearn.paper").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
