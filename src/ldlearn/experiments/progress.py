"""Progress of a run: the interface that receives it, and a log with one line for each cell."""

import sys
import time
from typing import TextIO

from ldlearn._messages import escape_control_chars
from ldlearn.evaluation import Record
from ldlearn.evaluation.formatting import format_duration
from ldlearn.experiments.cells import Cell


class RunProgress:
    """Receives the progress of a run; this one is silent."""

    def begin(self, n_cells: int, n_recorded: int) -> None:
        """Before the first cell: number of cells, and number of those recorded before."""

    def message(self, text: str) -> None:
        """Something the user should know, such as a data set that is not on this machine."""

    def finish_cell(self, cell: Cell, record: Record) -> None:
        """A cell was computed and recorded."""

    def end(self) -> None:
        """The run is over, for whatever reason."""


class LogProgress(RunProgress):
    """Writes one line for each cell, with an estimate of the time left.

    Parameters
    ----------
    stream : text stream, optional
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def begin(self, n_cells: int, n_recorded: int) -> None:
        """Log the number of cells."""
        self._n_cells = n_cells
        self._n_before = n_recorded
        self._n_computed = 0
        self._began = time.monotonic()
        self.message(f"{n_cells} cells, {n_recorded} of them recorded before")

    def message(self, text: str) -> None:
        """Log a message with the time of day."""
        line = f"{time.strftime('%H:%M:%S')} {escape_control_chars(text)}"
        print(line, file=self._stream, flush=True)

    def finish_cell(self, cell: Cell, record: Record) -> None:
        """Log the cell and its time; there was one message for all cells of a missing data set."""
        self._n_computed += 1
        n_recorded = self._n_before + self._n_computed
        if record.status == "missing":
            return
        outcome = record.message
        if record.is_ok:
            outcome = f"{record.seconds.get('select', 0.0):.1f} s"
        mean = (time.monotonic() - self._began) / self._n_computed
        left = format_duration(mean * (self._n_cells - n_recorded))
        counted = f"[{n_recorded}/{self._n_cells}]"
        self.message(f"{counted} {record.status} {cell}: {outcome} (time left: {left})")
