"""Progress of a run: the interface that is told of it, a log of one line for each cell, and the time left."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from typing import Any, TextIO

from ldlearn.evaluation import Record
from ldlearn.evaluation.formatting import format_duration
from ldlearn.experiments.cells import Cell, Work


class Watcher:
    """Is told how a run goes; this one keeps quiet."""

    def begin(self, cells: int, recorded: int, works: list[Work]) -> None:
        """Before the first piece of work: how many cells there are, how many were recorded before, what is to do."""

    def note(self, sentence: str) -> None:
        """Something the user should know, such as a data set that is not here."""

    def worked(self, work: Work, seconds: float) -> None:
        """A piece of work is done."""

    def recorded(self, cell: Cell, record: Record) -> None:
        """A cell is recorded."""

    def end(self) -> None:
        """The run is over, for whatever reason."""


class TimeLeft:
    """Estimates the time left from what was measured: of the same method and data set, else of the same method.

    Parameters
    ----------
    works : list of Work
        All that is to do.
    """

    def __init__(self, works: list[Work]) -> None:
        self._seen: dict[Any, list[float]] = defaultdict(list)
        self._left: dict[tuple[str, str], float] = defaultdict(float)
        for work in works:
            self._left[_what(work)] += len(work.points)
        self._began: float | None = None
        self._busy = 0.0

    def worked(self, work: Work, seconds: float) -> None:
        """Take note of a measured time."""
        if self._began is None:
            self._began = time.monotonic() - seconds  # the start of worker processes is no work
        method, dataset = _what(work)
        self._left[method, dataset] -= len(work.points)
        self._busy += seconds
        for key in ((method, dataset), method, None):
            self._seen[key].append(seconds / len(work.points))

    def seconds(self) -> float | None:
        """The estimate, or None before anything was measured."""
        if self._began is None:
            return None
        elapsed = time.monotonic() - self._began
        to_do = sum(points * self._rate(*what) for what, points in self._left.items() if points > 0)
        # How many pieces ran side by side so far, whoever runs them.
        at_a_time = self._busy / elapsed if self._busy and elapsed else 1.0
        return to_do / at_a_time

    def _rate(self, method: str, dataset: str) -> float:
        seen = self._seen.get((method, dataset)) or self._seen.get(method) or self._seen[None]
        return sum(seen) / len(seen)


def _what(work: Work) -> tuple[str, str]:
    return work.cells[0].method.name, work.cells[0].dataset.name


class LogWatcher(Watcher):
    """Writes one line for each cell.

    Parameters
    ----------
    stream : text stream, optional
        Standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._done = self._cells = 0
        self._left = TimeLeft([])

    def begin(self, cells: int, recorded: int, works: list[Work]) -> None:
        """Say how much there is to do."""
        self._cells, self._done, self._left = cells, recorded, TimeLeft(works)
        self.note(f"{cells} cells, {recorded} of them recorded before")

    def note(self, sentence: str) -> None:
        """Say it, and when."""
        print(f"{time.strftime('%H:%M:%S')} {sentence}", file=self._stream, flush=True)

    def worked(self, work: Work, seconds: float) -> None:
        """Keep the time."""
        self._left.worked(work, seconds)

    def recorded(self, cell: Cell, record: Record) -> None:
        """Say which cell, and how long it took; a data set that is not here was noted once for all its cells."""
        self._done += 1
        if record.status != "missing":
            what = f"{record.seconds['select']:.1f} s" if record.is_ok else record.message
            left = format_duration(self._left.seconds())
            self.note(f"[{self._done}/{self._cells}] {record.status} {cell}: {what} (time left: {left})")
