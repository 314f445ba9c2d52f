"""Doing a piece of work in whatever process it lands in, always under the same conditions."""

from __future__ import annotations

import platform
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ldlearn.base.discovery import installed_versions
from ldlearn.core.neighbors import SharedNeighbors
from ldlearn.experiments.captured_warnings import error_text
from ldlearn.experiments.cells import Work
from ldlearn.experiments.search import Partial, search
from ldlearn.experiments.sources import AnyDataset
from ldlearn.experiments.splits import make_split

THREADS = 1  # of BLAS and OpenMP in a cell: sums of more threads are rounded differently
_one_at_a_time = threading.Lock()
# Pieces of work come split by split, so that all methods of a split find those of its rows.
_neighbors = SharedNeighbors()


def do_work(work: Work, data: AnyDataset) -> tuple[Work, list[Partial]]:
    """Do a piece of work, with the data set of its cells.

    Returns
    -------
    work : Work
        As it was given, to know the result again.
    partials : list of Partial
        One for each cell; of a piece that failed as a whole, each says why.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    found: dict[str, Any] = {"started": started, "versions": installed_versions(), "threads": THREADS}
    # Warnings, thread limits and the memory peak belong to the process: a worker with several threads waits here.
    with _one_at_a_time, threadpool_limits(limits=THREADS):
        _forget_peak_memory()
        try:
            cell = work.cells[0]
            # Cells of a family share the split, though only some of their learners may need dense features.
            sparse = all(cell.method.takes_sparse for cell in work.cells)
            split = make_split(data, cell.dataset, cell.protocol, cell.repeat, sparse=sparse)
            found |= {"sizes": split.record, "label_names": list(data.label_names)}
            with _neighbors:
                partials = search(work, split)
        except Exception as error:
            # Whatever it is, it belongs into the records of these cells; the other cells of the run go on.
            partials = [Partial(error=error_text(error)) for _ in work.cells]
        found["peak_memory_mb"] = round(_peak_memory_mb(), 1)
    for partial in partials:
        partial.circumstances = found
    return work, partials


def _forget_peak_memory() -> None:
    """Let the peak of this process start anew (Linux; elsewhere the peak is that of the process so far)."""
    with suppress(OSError):
        # "5" resets the peak (VmHWM) and nothing else, see proc(5).
        Path("/proc/self/clear_refs").write_text("5")


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
    # macOS counts bytes, others kilobytes.
    return float(peak) / (1024**2 if platform.system() == "Darwin" else 1024)
