"""The record of one cell of an experiment (one data set, method and repeat) as a typed, versioned value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias, TypeGuard

from ldlearn.evaluation.compatibility import all_baselines, current_names
from ldlearn.exceptions import InputError
from ldlearn.metrics import HEADLINE_METRICS

Task: TypeAlias = Literal["recovery", "prediction"]
TASKS: tuple[Task, Task] = ("recovery", "prediction")
PHASES = ("select", "fit", "predict")  # what the seconds of a record are spent on

# Version 1 is that of ldlearn 0.1.0; version 2 counts the grid points and has parameters under their names of today;
# version 3 has a budget of grid points and what each metric chose.
SCHEMA = 3

Scores: TypeAlias = Mapping[str, float | None]
Params: TypeAlias = Mapping[str, Any]


class _ByKey:
    """Access as to the dictionaries that records were in version 0.1.0: ``record["method"]``."""

    def __getitem__(self, key: str) -> Any:
        try:
            return getattr(self, key)
        except AttributeError:
            raise KeyError(key) from None


@dataclass(frozen=True)
class GridPoint(_ByKey):
    """A setting of the parameters that were searched: its validation scores, or why it has none."""

    params: Params
    recovery: float | None = None
    prediction: float | None = None
    error: str = ""


@dataclass(frozen=True)
class Samples(_ByKey):
    """A few training rows: their numbers, true degrees, 0/1 labels and what the method recovered."""

    rows: list[int]
    truth: list[list[float]] | None = None
    logical: list[list[int]] | None = None
    recovered: list[list[float]] | None = None


@dataclass(frozen=True)
class Convergence(_ByKey):
    """The objective after every step, and the certified gap: how far the last value is at most from the minimum."""

    objective: list[float]
    gap: float | None = None


@dataclass(frozen=True, kw_only=True)
class Record(_ByKey):
    """What is known of one cell once it was tried.

    Attributes
    ----------
    cell : str
        The key of the cell: equal for equal work.
    dataset, method : str
    repeat : int
    status : {"ok", "failed", "missing"}
    message : str
        Why it failed or is missing.
    kind : {"enhancer", "learner", "joint", "two-step"}
    is_baseline : bool
        Whether it looks at no feature, or does what anyone would do first.
    trained_on : {"logical", "truth"}
    estimator, params, learner, learner_params
        What the method is made of, with its fixed parameters.
    seed : int or None
    sizes : mapping
        n_train, n_validation, n_test, n_features, n_labels.
    label_names : sequence of str
    selection : mapping
        How parameters were chosen: mode, the names of the metrics for recovery and prediction, ``per_metric``, whether
        each metric chose for itself, ``budget``, and ``recovery_basis``, the rows that decided.
    selected : mapping of str to mapping
        By task, the parameters chosen.
    selected_by_metric : mapping of str to mapping
        By task and metric, those that each metric chose for itself; empty where one chose for all.
    recovery, prediction : mapping of str to float, or None
        Scores on the training and on the test rows, by metric.
    paper_zeros : mapping of str to mapping
        By task, scores of the metrics that notice zeros, with the treatment of the DLDL paper.
    degrees : mapping of str to list
        By task, degrees of the first rows, where there is no truth: methods are then compared with each other.
    validation : mapping of str to float
        By task, the score that decided.
    n_points : int
        Number of grid points that were tried.
    grid : sequence of GridPoint
        Those points; empty where they were left out to save space.
    samples : Samples or None
    convergence : Convergence or None
    warnings : sequence of str
    seconds : mapping
        Of selection, one fit, and prediction.
    peak_memory_mb : float or None
    versions : mapping
    threads : int or None
    started : str or None
        ISO time.
    schema : int
    """

    cell: str
    dataset: str
    method: str
    repeat: int
    status: str
    message: str = ""
    kind: str = ""
    is_baseline: bool = False
    trained_on: str = "logical"
    estimator: str = ""
    params: Params = field(default_factory=dict)
    learner: str | None = None
    learner_params: Params = field(default_factory=dict)
    seed: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    label_names: list[str] = field(default_factory=list)
    selection: Mapping[str, Any] = field(default_factory=dict)
    selected: Mapping[str, Params | None] = field(default_factory=dict)
    selected_by_metric: Mapping[str, Mapping[str, Params]] = field(default_factory=dict)
    recovery: Scores | None = None
    prediction: Scores | None = None
    paper_zeros: Mapping[str, Scores | None] = field(default_factory=dict)
    degrees: Mapping[str, list[list[float]]] = field(default_factory=dict)
    validation: Scores = field(default_factory=dict)
    n_points: int = 0
    grid: list[GridPoint] = field(default_factory=list)
    samples: Samples | None = None
    convergence: Convergence | None = None
    warnings: list[str] = field(default_factory=list)
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory_mb: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    started: str | None = None
    schema: int = SCHEMA

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a record of this or an earlier version; what it does not say has its default.

        Parameters
        ----------
        content : mapping
            A line of a file of records, as JSON gives it.

        Raises
        ------
        InputError
            If it is no record, or one of a later version.
        """
        version = int(content.get("schema") or 1)
        if version > SCHEMA:
            raise InputError("The record was written by a later version of ldlearn; update this one to read it.")
        # null stands for what a record does not say, and keys that are not ours are passed over.
        given = {each.name: content[each.name] for each in fields(cls) if content.get(each.name) is not None}
        lacking = [name for name in ("cell", "dataset", "method", "repeat", "status") if name not in given]
        if lacking:
            raise InputError(f"A record must have {lacking[0]!r}.")
        given["grid"] = [GridPoint(**point) for point in given.get("grid", ())]
        for name, kind in (("samples", Samples), ("convergence", Convergence)):
            given[name] = kind(**given[name]) if given.get(name) else None
        # Version 1 does not count its points; stored runs count them and leave the grid out to save space.
        given["n_points"] = given.get("n_points") or len(given["grid"])
        record = cls(**given | {"schema": SCHEMA})
        return record if version > 1 else record._brought_up_to_date()

    def _brought_up_to_date(self) -> Self:
        def renamed(params: Params) -> dict[str, Any]:
            return current_names(params, self.estimator, self.learner)

        return replace(
            self,
            is_baseline=self.is_baseline or all_baselines(self.estimator, self.learner),
            params=renamed(self.params),
            learner_params=current_names(self.learner_params, self.learner),
            selected={task: params and renamed(params) for task, params in self.selected.items()},
            grid=[replace(point, params=renamed(point.params)) for point in self.grid],
        )

    def to_dict(self) -> dict[str, Any]:
        """What a line of a file of records holds; numbers that are not finite are None, as JSON has none."""
        content: dict[str, Any] = _plain(self)
        for point in content["grid"]:
            # nearly all points have none, and grids are long
            if not point["error"]:
                del point["error"]
        return content

    def encoded(self) -> bytes:
        """One line of JSON."""
        return (json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n").encode()

    def as_stored(self) -> Self:
        """The record as it is read back."""
        return self.from_dict(json.loads(self.encoded()))

    @property
    def comparable(self) -> Self:
        """The part that does not depend on when, where and how fast it was made."""
        return replace(self, seconds={}, peak_memory_mb=None, started=None, threads=None)

    @property
    def is_ok(self) -> bool:
        """Whether the cell was computed."""
        return self.status == "ok"

    def scores(self, task: Task) -> Scores:
        """Scores of a task by metric; empty if the method has none."""
        return (self.recovery if task == "recovery" else self.prediction) or {}

    def deciding_metric(self, task: Task) -> str:
        """Name of the metric by which parameters were chosen for a task."""
        # Chebyshev, the default of plans, for records that do not say.
        return str(self.selection.get(task) or HEADLINE_METRICS[0])


def latest(records: Iterable[Record]) -> list[Record]:
    """The last record of every data set, method and repeat, in the order of first appearance."""
    return list({(record.dataset, record.method, record.repeat): record for record in records}.values())


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of a record is a finite number."""
    # True and False are numbers to Python, and no scores to us.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _plain(value: Any) -> Any:
    """A copy of what JSON knows."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, _ByKey):
        value = vars(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    # json knows no numbers of numpy
    return _plain(value.item()) if hasattr(value, "item") else value
