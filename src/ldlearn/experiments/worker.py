"""Computing cells, in any process, always under the same conditions."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ldlearn.base.discovery import installed_versions
from ldlearn.core.neighbors import SharedNeighbors
from ldlearn.evaluation import Record
from ldlearn.experiments.captured_warnings import error_message
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.search import search
from ldlearn.experiments.sources import AnyDataset
from ldlearn.experiments.splits import make_split

THREADS = 1  # of BLAS and OpenMP in a cell: sums of more threads are rounded differently
_one_at_a_time = threading.Lock()
# Cells come split by split, so that all methods of a split share the neighbours of its rows.
_neighbors = SharedNeighbors()


def compute_cells(cells: Sequence[Cell], data: AnyDataset) -> list[Record]:
    """Compute cells that share their first step, with their data set.

    Returns
    -------
    list of Record
        One for each cell; if all failed together, each has the reason.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    found: dict[str, Any] = {"started": started, "versions": installed_versions(), "threads": THREADS}
    # Warnings, thread limits and the memory peak belong to the process: a worker with several threads waits here.
    with _one_at_a_time, threadpool_limits(limits=THREADS):
        _reset_peak_memory()
        try:
            first = cells[0]
            # The cells share the split, though only some of their learners may need dense features.
            sparse = all(cell.method.takes_sparse for cell in cells)
            split = make_split(data, first.dataset, first.protocol, first.repeat, sparse=sparse)
            found |= {"sizes": split.record, "label_names": list(data.label_names)}
            with _neighbors:
                records = search(cells, split, **found)
        except Exception as error:
            # Any error belongs to the records of these cells; the other cells of the run go on.
            records = [cell.record("failed", error_message(error), **found) for cell in cells]
        peak = round(_peak_memory_mb(), 1)
    return [replace(record, peak_memory_mb=peak) for record in records]


def _reset_peak_memory() -> None:
    """Reset the peak memory of this process (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM and nothing else, see proc(5)


def _peak_memory_mb() -> float:
    """Peak memory since the last reset (Linux; NaN elsewhere)."""
    with suppress(OSError, KeyError):
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) / 1024
    return float("nan")
