"""Doing a piece of work in whatever process it lands in, always under the same conditions."""

from __future__ import annotations

import platform
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ldlearn.core.shared_neighbors import SharedNeighbors
from ldlearn.discovery import installed_versions
from ldlearn.experiments.captured_warnings import error_text
from ldlearn.experiments.cells import Work
from ldlearn.experiments.search import Partial, search
from ldlearn.experiments.sources import AnyDataset
from ldlearn.experiments.splits import make_split

THREADS = 1  # of BLAS and OpenMP in a cell: sums of more threads are rounded differently
_one_at_a_time = threading.Lock()
# Pieces of work come split by split, so that all methods of a split find those of its rows.
_neighbors = SharedNeighbors()


@dataclass
class WorkResult:
    """What came of a piece of work: one partial result for each cell, or a sentence on why there is none."""

    started: str
    partials: list[Partial] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    label_names: list[str] = field(default_factory=list)
    error: str = ""
    peak_memory_mb: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)


def do_work(number: int, work: Work, data: AnyDataset) -> tuple[int, WorkResult]:
    """Do a piece of work.

    Parameters
    ----------
    number : int
        Returned as it is, to know the result again.
    work : Work
    data : AnyDataset
        The data set of its cells.
    """
    result = WorkResult(started=datetime.now(UTC).isoformat(timespec="seconds"), versions=installed_versions())
    # Warnings, thread limits and the memory peak belong to the process: a worker with several threads waits here.
    with _one_at_a_time, threadpool_limits(limits=THREADS):
        _forget_peak_memory()
        try:
            cell = work.cells[0]
            sparse = all(cell.method.takes_sparse for cell in work.cells)
            split = make_split(data, cell.dataset, cell.protocol, cell.repeat, sparse=sparse)
            result.sizes, result.label_names = split.record, list(data.label_names)
            with _neighbors:
                result.partials = search(work, split)
        except Exception as error:
            result.error = error_text(error)
        result.peak_memory_mb = round(_peak_memory_mb(), 1)
    return number, result


def _forget_peak_memory() -> None:
    """Let the peak of this process start anew (Linux; elsewhere the peak is that of the process so far)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_memory_mb() -> float:
    try:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) / 1024
    except (OSError, KeyError):
        return _peak_by_resource()


def _peak_by_resource() -> float:  # pragma: no cover
    try:
        import resource
    except ImportError:
        return float("nan")
    peak: Any = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) / (1024**2 if platform.system() == "Darwin" else 1024)
