"""The plans of the leaderboard, and the run of their cells; records are kept beside this file."""

from __future__ import annotations

import lzma
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from sklearn.utils import get_tags

from ldlearn.base import LabelEstimator
from ldlearn.base.discovery import find_estimator
from ldlearn.datasets import fetch_dataset, list_datasets
from ldlearn.evaluation import Record, read_records
from ldlearn.evaluation.record import latest_records
from ldlearn.experiments import Plan, RunProgress, run_plan
from ldlearn.experiments.methods import estimators
from ldlearn.metrics import USUAL_METRICS
from ldlearn.tables.files import write_file

RECORDS = Path(__file__).parent / "records"
ROWS, POINTS = 300, 4
# Methods that cannot handle these sizes or take longer than a minute; listed on the page.
LEFT_OUT: dict[str, str] = {}
# Four points for every method that has a hyperparameter and does not select it itself: its main
# penalty or size, with the default among them. Methods that are not listed have those of
# `default_grid`.
GRIDS: dict[str, dict[str, list[Any]]] = {
    "AABP": {"l2": [0.0003, 0.003, 0.03, 0.3]},
    "AAKNN": {"n_neighbors": [5, 10, 20, 40]},
    "BDLE": {"alpha": [0.001, 0.1], "lam": [0.01, 1.0]},
    "BoostedLDL": {"learning_rate": [0.05, 0.15], "max_leaf_nodes": [4, 8]},
    "DFLDL": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "DLDL": {"beta": ["default", 0.1, 1.0, 10.0]},
    "FCM": {"b": [1.5, 2.0, 2.5, 3.0]},
    "FLE": {"alpha": [0.1, 1.0], "beta": [1.0, 10.0]},
    "GLESC": {"beta": [1.0, 10.0], "lam": [1.0, 10.0]},
    "GLLE": {"lam": [0.01, 0.1, 1.0, 10.0]},
    "IncomLDL": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "KM": {"sigma": ["mean", 3.0, 10.0, 30.0]},
    "LALOT": {"l2": [1.0, 3.0, 10.0, 30.0]},
    "LDLDPA": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "LDLForest": {"max_depth": [3, 5, 7, 9]},
    "LDLLC": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "LDLLCLR": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "LDLLRR": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "LDLSCL": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "LDLSF": {"lam1": [0.1, 1.0], "lam2": [1.4, 14.0]},
    "LEMLL": {"reconstruction_penalty": [0.1, 1.0, 10.0, 100.0]},
    "LESC": {"beta": [0.001, 0.1], "gamma": [1.0, 10.0]},
    "LP": {"alpha": [0.2, 0.5, 0.8, 0.95]},
    "LSELDL": {"alpha": [0.1, 1.0], "beta": [0.01, 1.0]},
    "ML": {"lam": [0.1, 1.0, 10.0, 100.0]},
    "OLDL": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "PTBayes": {"ridge": [0.03, 0.3, 1.0, 3.0]},
    "PTSVM": {"C": [0.01, 0.1, 1.0, 10.0]},
    "SABFGS": {"l2": [1.0, 10.0, 100.0, 1000.0]},
    "VoteLDL": {"gamma": ["default", 1.0, 10.0, 100.0]},
    "WInLDL": {"l2": [1.0, 10.0, 100.0, 1000.0]},
}


PENALTIES = ("l2", "gamma", "alpha", "C")


def default_grid(cls: type[LabelEstimator]) -> dict[str, list[Any]]:
    """Four values around the default of the first penalty; none if there is no penalty."""
    params = cls().get_params()
    for name in PENALTIES:
        value = params.get(name)
        if isinstance(value, float) and value > 0:
            return {name: [value / 10, value, 10 * value, 100 * value]}
    return {}


@dataclass(frozen=True)
class Case:
    """A kind of training labels: how readers would call it, how it is made, what a 0 means."""

    title: str
    short: str
    made: str
    protocol: dict[str, Any]
    zeros: tuple[str, ...] = ("none",)


CASES = {
    "above": Case(
        "0/1 labels mark everything that applies: 0 means none",
        "above 0.01",
        "Here labels are 1 where the true degree exceeds 0.01.",
        {"rule": "threshold", "threshold": 0.01},
    ),
    "votes": Case(
        "0/1 labels come from a few votes",
        "five votes",
        "Here each of five raters names one label, drawn by the true degrees; labels with a vote "
        "are 1. So few votes "
        'miss labels that apply: “, less” marks methods with `zeros="less"`.',
        {"rule": "votes", "k": 5},
        zeros=("none", "less"),
    ),
    "largest": Case(
        "0/1 labels mark only the main labels: 0 means less",
        "two largest",
        "Here the two largest degrees are 1. Methods with the parameter `zeros` have "
        '`zeros="less"`.',
        {"rule": "top-k", "k": 2},
        zeros=("less",),
    ),
    "degrees": Case(
        "Degrees of the training rows are known",
        "degrees",
        "Here learners are trained on the true degrees.",
        {"rule": "threshold"},
    ),
}


@dataclass(frozen=True)
class Setting:
    """How hyperparameters are selected, and the number of shuffled splits."""

    title: str
    selection: dict[str, Any]
    repeats: int
    tuned: bool = True


SETTINGS = {
    "defaults": Setting("defaults", {}, 10, tuned=False),
    "labels": Setting("selected by 0/1 labels", {"mode": "logical"}, 2),
    "truth": Setting(
        "selected by true degrees",
        {"mode": "oracle", "recovery": "intersection", "prediction": "intersection"},
        2,
    ),
}


def available_datasets() -> list[str]:
    """Names of the data sets with degrees that are on this machine: embedded, in the cache or in
    LDLEARN_DATA."""
    here = [info.name for info in list_datasets() if info.state != "not here"]
    return [name for name in here if fetch_dataset(name, download=False).D is not None]


def leaderboard_plans(
    datasets: Sequence[str] | None = None, methods: Iterable[str] | None = None, rows: int = ROWS
) -> dict[tuple[str, str], Plan]:
    """A plan for each case and setting; where hyperparameters are selected, with the methods that
    have a grid.

    Parameters
    ----------
    datasets : sequence of str, optional
        All that are on this machine by default.
    methods : iterable of str, optional
        Names of estimators; all of the library by default.
    rows : int
        Rows drawn from each data set.
    """
    names = [
        name for name in (estimators() if methods is None else methods) if name not in LEFT_OUT
    ]
    sets = {
        name: {"rows": rows} for name in (available_datasets() if datasets is None else datasets)
    }
    plans = {}
    for (setting_name, setting), (case_name, case) in product(SETTINGS.items(), CASES.items()):
        tables = dict(_methods(names, case_name))
        if setting.tuned:
            tables = {
                name: table
                for name, table in tables.items()
                if table["grid"] or table.get("learner_grid")
            }
        else:
            tables = {
                name: table | {"grid": {}, "learner_grid": {}} for name, table in tables.items()
            }
        # With known degrees, selection without them is not needed.
        if tables and (case_name, setting_name) != ("degrees", "labels"):
            content = {
                "name": f"{case_name}-{setting_name}",
                "description": f"{case.title}; {setting.title}",
                "datasets": sets,
                "methods": tables,
                "protocol": {"repeats": setting.repeats} | case.protocol,
                "selection": setting.selection,
            }
            plans[case_name, setting_name] = Plan.from_dict(content)
    return plans


def _methods(names: Sequence[str], case: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Methods of a plan: learners for degrees; joint models, enhancers and enhancers with a learner
    for 0/1 labels. Those of counts of votes are compared by `benchmarks/few_votes.py`."""
    for name in names:
        cls = find_estimator(name)
        if (cls.kind == "learner") != (case == "degrees") or get_tags(cls()).counts:
            continue
        grid = GRIDS[name] if name in GRIDS else default_grid(cls)
        table: dict[str, Any] = {"estimator": name, "params": {}, "grid": grid}
        for zeros in CASES[case].zeros if "zeros" in cls().get_params() else ("",):
            params = {"zeros": zeros} if zeros else {}
            suffix = "" if zeros in ("", CASES[case].zeros[0]) else f", {zeros}"
            yield f"{name}{suffix}", table | {"params": params}
            if name == "FromClassifier":
                yield f"{name} (votes){suffix}", table | {"params": params | {"link": "votes"}}
        if cls.kind == "enhancer":
            # An enhancer without a grid of its own leaves all points to the learner.
            learner_grid = {} if grid else GRIDS["SABFGS"]
            yield f"{name} + SABFGS", table | {"learner": "SABFGS", "learner_grid": learner_grid}
        if name in ("PriorLE", "UniformLE"):
            yield f"{name} + MeanLDL", table | {"learner": "MeanLDL"}


def run_plans(
    plans: dict[tuple[str, str], Plan],
    folder: Path,
    kept: Path = RECORDS,
    *,
    again: Collection[str] = (),
    progress: RunProgress | None = None,
) -> int:
    """Compute the cells that have no record yet, and return their number.

    Parameters
    ----------
    plans : dict
        Of `leaderboard_plans`.
    folder : Path
        Where the runs work; what an interrupted run has computed stays here.
    kept : Path
        Folder of the compressed records.
    again : collection of str
        Estimators whose code has changed: their records do not count.
    """
    n_computed = 0
    for plan in plans.values():
        work, file = folder / plan.name, kept / f"{plan.name}.jsonl.xz"
        work.mkdir(parents=True, exist_ok=True)
        known = read_records(file, history=True) if file.is_file() else []
        known += read_records(work, history=True) if (work / "records.jsonl").is_file() else []
        by_cell = {record.cell: record for record in known if record.estimator not in again}
        write_file(
            work / "records.jsonl", b"".join(record.encoded() for record in by_cell.values())
        )
        n_before = sum(record.is_ok for record in by_cell.values())
        run_plan(plan, work, progress=progress)
        found = [
            record for record in read_records(work, history=True) if record.status != "missing"
        ]
        n_computed += sum(record.is_ok for record in found) - n_before
        kept.mkdir(parents=True, exist_ok=True)
        # The last record of a method counts, if its parameters have changed.
        content = b"".join(compact(record).encoded() for record in latest_records(found))
        write_file(file, lzma.compress(content, preset=9))
    return n_computed


def compact(record: Record) -> Record:
    """The record without what the page does not show."""
    scores = {
        task: found and {name: _round(found.get(name)) for name in USUAL_METRICS}
        for task, found in (("recovery", record.recovery), ("prediction", record.prediction))
    }
    empty: dict[str, Any] = {
        "grid": [],
        "samples": None,
        "convergence": None,
        "label_names": [],
        "paper_zeros": {},
    }
    return replace(
        record, **scores, **empty, validation={}, selected_by_metric={}, degrees={}, warnings=[]
    )


def _round(value: float | None) -> float | None:
    return value if value is None else round(value, 5)


def read_board(case: str, setting: str, kept: Path = RECORDS) -> list[Record]:
    """The records of a case and setting; empty if there are none."""
    file = kept / f"{case}-{setting}.jsonl.xz"
    return read_records(file) if file.is_file() else []
