"""Cells of a plan: one data set, method and repeat each, with a stable key."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any

from ldlearn.evaluation import Record
from ldlearn.evaluation.record import Status
from ldlearn.experiments.methods import MethodSpec, grid_points
from ldlearn.experiments.plan import Plan, Protocol, Selection
from ldlearn.experiments.sources import COUNTS, DatasetSpec

GridIndex = tuple[int, int]  # of a point in the grid of a method, and in that of its learner

# Fields of a record that describe its method, under the same names.
_FACTS_OF_METHODS = (
    "kind",
    "is_baseline",
    "estimator",
    "params",
    "learner",
    "learner_params",
)


@dataclass(frozen=True)
class Cell:
    """One data set, one method, one repeat: a pure function of these gives its record."""

    dataset: DatasetSpec
    method: MethodSpec
    repeat: int
    protocol: Protocol
    selection: Selection

    def __str__(self) -> str:
        return f"{self.dataset.name} / {self.method.name} / {self.repeat}"

    @property
    def seed(self) -> int:
        """Seed of the shuffle of a repeat, and of estimators that use one."""
        return self.protocol.seed + self.repeat

    @property
    def trained_on(self) -> str:
        """What the method learns from: ``"logical"`` (0/1 labels), ``"votes"`` or ``"truth"``."""
        sees_counts = self.protocol.for_dataset(self.dataset).rule == COUNTS
        is_learner = self.method.kind == "learner"
        if sees_counts and (is_learner or self.method.takes_counts):
            return "votes"
        return "truth" if is_learner else "logical"

    @cached_property
    def grid_indices(self) -> list[GridIndex]:
        """Indices of the grid points that are tried."""
        return draw_grid_indices(self.method, self.selection.budget, self.protocol.seed)

    @cached_property
    def key(self) -> str:
        """A stable name of the cell: equal for equal content, in any process, folder and plan."""
        content = {
            "method": {"name": self.method.name} | self.method.to_dict(),
            "selection": self._effective_selection(),
        }
        return split_key(self.dataset, self.protocol, self.repeat, **content)

    @property
    def tuned(self) -> bool:
        """Whether there is more than one grid point to select from."""
        return len(self.grid_indices) > 1

    @property
    def _recovery_basis(self) -> str | None:
        """The rows that select hyperparameters for recovery, if any do."""
        if not self.tuned or not ("recovery" in self.method.tasks or self.method.is_stepwise):
            return None
        if self.selection.mode == "logical":
            return "validation labels"
        return f"{self.selection.recovery_rows} rows"

    def _effective_selection(self) -> dict[str, Any]:
        """The selection without what changes nothing.

        Records then serve all plans that ask for the same work.
        """
        selection = asdict(self.selection)
        if self._recovery_basis is None or self.selection.mode == "logical":
            selection.pop("recovery_rows")
        if not self.tuned:
            selection.pop("per_metric")
        if self.grid_indices == draw_grid_indices(self.method, None, 0):
            selection.pop("budget")
        return selection

    def record(self, status: Status, message: str = "", **found: Any) -> Record:
        """The record of this cell."""
        selection = asdict(self.selection) | {"recovery_basis": self._recovery_basis}
        # Plans that differ in recovery_rows may ask for the same work, and then share a record.
        del selection["recovery_rows"]
        for name in _FACTS_OF_METHODS:
            found[name] = getattr(self.method, name)
        found["trained_on"] = self.trained_on
        return Record(
            cell=self.key,
            dataset=self.dataset.name,
            method=self.method.name,
            repeat=self.repeat,
            status=status,
            message=message,
            seed=self.seed,
            selection=selection,
            **found,
        )


def split_key(dataset: DatasetSpec, protocol: Protocol, repeat: int, **content: Any) -> str:
    """A stable name of a split, and of what else is given: equal for equal content."""
    data = {"name": dataset.name} | dataset.to_dict()
    kept = asdict(protocol)
    if dataset.sha256 is not None:
        data.pop("path")  # the content of a file counts, wherever it lies
    # More repeats leave the first ones unchanged; settings that a kind of split does not use have
    # no effect.
    unused = ["folds", "validation"] if protocol.split == "repeats" else ["shares"]
    for name in ("repeats", *unused):
        del kept[name]
    content |= {"dataset": data, "repeat": repeat, "protocol": kept}
    # Equal text for equal content, whatever the order of the keys in a plan.
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def plan_cells(plan: Plan) -> list[Cell]:
    """Every cell of a plan: data sets outermost, then repeats, then methods."""
    cells = []
    for dataset, repeat, method in product(
        plan.datasets, range(plan.protocol.n_repeats), plan.methods
    ):
        cells.append(Cell(dataset, method, repeat, plan.protocol, plan.selection))
    return cells


def group_cells(cells: Iterable[Cell]) -> list[tuple[Cell, ...]]:
    """Group the cells that share their first step: the same estimator on the same split."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        method = cell.method
        first_step = [method.estimator, method.params, method.grid, cell.trained_on]
        # Points of a path are fitted together: one more of them could round the others differently.
        path = estimator_indices([cell]) if method.path_params else []
        shared = json.dumps([cell.dataset.name, cell.repeat, first_step, path])
        groups.setdefault(shared, []).append(cell)
    return list(map(tuple, groups.values()))


def estimator_indices(cells: Iterable[Cell]) -> list[int]:
    """Indices in the grid of the first estimator that any of the cells tries."""
    return sorted({first for cell in cells for first, _ in cell.grid_indices})


def draw_grid_indices(method: MethodSpec, budget: int | None, seed: int) -> list[GridIndex]:
    """The points that a method tries, in the order of its grid.

    Where the grid has more points than the budget, that many are drawn without replacement. They
    depend on the method and the seed alone, so all data sets and repeats try the same ones; and a
    larger budget only adds to them.

    Parameters
    ----------
    method : MethodSpec
    budget : int or None
        Points at most; None for the whole grid. A pair of two steps has one budget for both: for
        the product of its grids, or, if the first step is selected alone, with at most half of it
        for the learner.
    seed : int

    Examples
    --------
    >>> method = MethodSpec("GLLE", "GLLE", grid={"lam": [0.01, 0.1, 1.0], "n_neighbors": [5, 10]})
    >>> [len(draw_grid_indices(method, budget, 0)) for budget in (None, 4, 9)]
    [6, 4, 6]
    """
    n = len(grid_points(method.grid))
    n_learner = len(grid_points(method.learner_grid))
    # Without its name in the plan: the same method under another one tries the same points.
    name = json.dumps([seed, method.to_dict()], sort_keys=True)
    if not method.is_stepwise:
        pairs = _draw_by_checksum(n * n_learner, budget, name)
        return [divmod(pair, n_learner) for pair in pairs]
    # "budget and" keeps None, which is no limit. What the learner's grid leaves over goes to the
    # first step.
    learners = _draw_by_checksum(n_learner, budget and budget // 2, f"{name} learner")
    firsts = _draw_by_checksum(n, budget and budget - len(learners), name)
    return list(product(firsts, learners))


def _draw_by_checksum(n: int, budget: int | None, name: str) -> list[int]:
    """Draw numbers below n: those with the smallest checksums.

    No version of a random generator can change them.
    """
    if budget is None or n <= budget:
        return list(range(n))
    drawn = sorted(range(n), key=lambda k: hashlib.sha256(f"{name} {k}".encode()).digest())
    return sorted(drawn[:budget])
