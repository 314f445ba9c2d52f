"""Progress of a run: the interface that receives it, a log with one line for each cell, and the time left."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from typing import TextIO

from ldlearn.evaluation import Record
from ldlearn.evaluation.formatting import format_duration
from ldlearn.experiments.cells import Cell


class RunProgress:
    """Receives the progress of a run; this one is silent."""

    def begin(self, n_cells: int, n_recorded: int, todo: list[Cell]) -> None:
        """Before the first cell: number of cells, number of those recorded before, and cells to compute."""

    def message(self, text: str) -> None:
        """Something the user should know, such as a data set that is not on this machine."""

    def recorded(self, cell: Cell, record: Record) -> None:
        """A cell is recorded."""

    def end(self) -> None:
        """The run is over, for whatever reason."""


class TimeLeft:
    """Estimates the time left from measured times: of the same method and data set, else of the same method.

    Parameters
    ----------
    cells : list of Cell
        All cells to compute.
    """

    def __init__(self, cells: list[Cell]) -> None:
        self._left = Counter((cell.method.name, cell.dataset.name) for cell in cells)
        self._measured: dict[object, list[float]] = defaultdict(list)
        self._began = 0.0

    def recorded(self, cell: Cell, seconds: float) -> None:
        """Add the time of a cell."""
        if not self._measured:
            self._began = time.monotonic() - seconds  # the start of worker processes does not count
        method, dataset = cell.method.name, cell.dataset.name
        self._left[method, dataset] -= 1
        for key in ((method, dataset), method, None):
            self._measured[key].append(seconds)

    def seconds(self) -> float | None:
        """The estimate, or None before anything was measured."""
        if not self._measured:
            return None
        todo = 0.0
        for (method, dataset), n_cells in self._left.items():
            times = self._measured.get((method, dataset)) or self._measured.get(method) or self._measured[None]
            todo += n_cells * sum(times) / len(times)
        busy, elapsed = sum(self._measured[None]), time.monotonic() - self._began
        # Divided by the number of cells that were computed at the same time so far.
        return todo * elapsed / busy if busy and elapsed else todo


class LogProgress(RunProgress):
    """Writes one line for each cell.

    Parameters
    ----------
    stream : text stream, optional
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def begin(self, n_cells: int, n_recorded: int, todo: list[Cell]) -> None:
        """Log the number of cells."""
        self._n_cells, self._n_recorded, self._left = n_cells, n_recorded, TimeLeft(todo)
        self.message(f"{n_cells} cells, {n_recorded} of them recorded before")

    def message(self, text: str) -> None:
        """Log a message with the time of day."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=self._stream, flush=True)

    def recorded(self, cell: Cell, record: Record) -> None:
        """Log the cell and its time; there was one message for all cells of a missing data set."""
        self._n_recorded += 1
        seconds = record.seconds.get("select", 0.0)
        self._left.recorded(cell, seconds)
        if record.status != "missing":
            outcome = f"{seconds:.1f} s" if record.is_ok else record.message
            left = format_duration(self._left.seconds())
            self.message(f"[{self._n_recorded}/{self._n_cells}] {record.status} {cell}: {outcome} (time left: {left})")
