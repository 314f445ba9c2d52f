"""Cells of a plan (data set, method, repeat), and the pieces of work that compute them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ldlearn.experiments.methods import MethodSpec, grid_points
from ldlearn.experiments.plan import Plan, Protocol, Selection
from ldlearn.experiments.records import SCHEMA
from ldlearn.experiments.sources import DatasetSpec

Point = tuple[int, dict[str, Any]]

_BLOCK, _MOST_BLOCKS = 32, 8  # grid points of a piece of work at least, and pieces of a grid at most


@dataclass(frozen=True)
class Cell:
    """One data set, one method, one repeat: a pure function of these gives its record."""

    dataset: DatasetSpec
    method: MethodSpec
    repeat: int
    protocol: Protocol
    selection: Selection

    @property
    def seed(self) -> int:
        """Of the shuffle of a repeat, and of estimators that use one."""
        return self.protocol.seed + self.repeat

    @property
    def key(self) -> str:
        """A stable name of the cell: equal for equal content, in any process and plan."""
        protocol = asdict(self.protocol)
        # More repeats leave the first ones as they are; and what a kind of split does not use cannot matter.
        for name in ("repeats", *(("folds", "validation") if self.protocol.split == "repeats" else ("shares",))):
            protocol.pop(name)
        selection = asdict(self.selection)
        # Nor can the rows that judge recovery, where there is no choice between them.
        if self.selection.recovery_rows == "validation" or not self.method.can_enhance:
            selection.pop("recovery_rows")
        content = {
            "schema": SCHEMA,
            "dataset": {"name": self.dataset.name} | self.dataset.to_dict(),
            "method": {"name": self.method.name} | self.method.to_dict(),
            "repeat": self.repeat,
            "protocol": protocol,
            "selection": selection,
        }
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Work:
    """A piece of work: some grid points of cells that share the estimator.

    Attributes
    ----------
    cells : tuple of Cell
        Of one data set and repeat, whose methods begin with the same estimator, parameters and grid.
    points : tuple of (int, dict)
        Grid points, each with its place in the whole grid.
    """

    cells: tuple[Cell, ...]
    points: tuple[Point, ...]


def plan_cells(plan: Plan) -> list[Cell]:
    """Every cell of a plan: data sets outermost, then repeats, then methods."""
    return [
        Cell(dataset, method, repeat, plan.protocol, plan.selection)
        for dataset in plan.datasets
        for repeat in range(plan.protocol.n_repeats)
        for method in plan.methods
    ]


def families(cells: Iterable[Cell]) -> list[tuple[Cell, ...]]:
    """Group the cells that can share their first step."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        key = json.dumps([cell.dataset.name, cell.repeat, cell.method.work, cell.method.trained_on])
        groups.setdefault(key, []).append(cell)
    return [tuple(group) for group in groups.values()]


def pieces(family: tuple[Cell, ...]) -> list[Work]:
    """Cut the grid of a family, in the same way however many processes there are."""
    method = family[0].method
    points = list(enumerate(grid_points(method.grid)))
    return [Work(family, tuple(block)) for block in _blocks(method.estimator, points)]


def _blocks(estimator: str, points: list[Point]) -> list[list[Point]]:
    if estimator != "DLDL":
        size = max(_BLOCK, -(-len(points) // _MOST_BLOCKS))
        return [points[start : start + size] for start in range(0, len(points), size)]
    # The models of a path share their first step, which depends on gamma; a piece holds those of one gamma.
    paths: dict[str, list[Point]] = {}
    for place, point in points:
        key = json.dumps({name: value for name, value in point.items() if name not in ("alpha", "beta")})
        paths.setdefault(key, []).append((place, point))
    return list(paths.values())
