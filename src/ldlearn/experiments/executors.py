"""Executors of cells: in this process, in processes of this machine, or on Dask."""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import compress
from pathlib import Path
from typing import Any

import joblib
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from ldlearn._optional_imports import import_optional
from ldlearn.base.discovery import installed_versions
from ldlearn.core.graph import SharedNeighbors
from ldlearn.evaluation import Record
from ldlearn.exceptions import LDLearnError
from ldlearn.experiments.cells import Cell
from ldlearn.experiments.search import error_message, search
from ldlearn.experiments.sources import AnyDataset
from ldlearn.experiments.splits import make_split

# Cells that share their first step, and their data set.
_Work = tuple[tuple[Cell, ...], AnyDataset]
# Yields records as they are ready, in any order.
Executor = Callable[[Iterable[_Work]], Iterator[list[Record]]]

_THREADS = 1  # of BLAS and OpenMP in a cell: sums of more threads are rounded differently
_WAIT_SECONDS = 0.05  # between two checks for results of a cluster
_one_at_a_time = threading.Lock()
# Cells come split by split, so that all methods of a split share the neighbours of its rows.
_neighbors = SharedNeighbors()


class WorkersLostError(LDLearnError, RuntimeError):
    """Worker processes died; what was recorded is safe."""


def compute_cells(cells: Sequence[Cell], data: AnyDataset) -> list[Record]:
    """Compute cells that share their first step, with their data set.

    Returns
    -------
    list of Record
        One for each cell; if all failed together, each has the reason.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    fields = {"started": started, "versions": installed_versions(), "threads": _THREADS}
    # Warnings, thread limits and the memory peak belong to the process: a worker with several
    # threads waits here.
    with _one_at_a_time, threadpool_limits(limits=_THREADS):
        began = time.perf_counter()
        _reset_peak_memory()
        try:
            first = cells[0]
            # The cells share the split, though only some of their learners may need dense features.
            sparse = all(cell.method.takes_sparse for cell in cells)
            split = make_split(data, first.dataset, first.protocol, first.repeat, sparse=sparse)
            fields |= {"sizes": split.sizes, "label_names": list(data.label_names)}
            fields["votes"] = split.votes_per_row
            if first.trained_on == "logical" and split.train.votes is None:
                fields["constant_labels"] = list(compress(data.label_names, split.constant_labels))
            with _neighbors:
                records = search(cells, split, **fields)
        except Exception as error:
            # Any error belongs to the records of these cells; the other cells of the run go on.
            records = [cell.record("failed", error_message(error), **fields) for cell in cells]
        peak = round(_peak_memory_mb(), 1)
    total = round((time.perf_counter() - began) / len(cells), 4)
    measured = []
    for record in records:
        seconds = {**record.seconds, "total": total}
        measured.append(replace(record, peak_memory_mb=peak, seconds=seconds))
    return measured


def _reset_peak_memory() -> None:
    """Reset the peak VmHWM (Linux) and nothing else, see proc(5)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory_mb() -> float:
    """Peak memory since the last reset (Linux; NaN elsewhere)."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return math.nan


def run_here(tasks: Iterable[_Work], jobs: int = 1) -> Iterator[list[Record]]:
    """Run tasks on this machine.

    Parameters
    ----------
    tasks : iterable of (tuple of Cell, AnyDataset)
    jobs : int, default=1
        Number of processes; 1 stays in this one, -1 means as many as there are cores.
    """
    if jobs == 1:
        yield from (compute_cells(*task) for task in tasks)
        return
    try:
        children = {"initializer": _exit_after_parent, "initargs": (os.getpid(),)}
        with parallel_config(backend="loky", inner_max_num_threads=_THREADS, **children):
            # One task at a time: a batch would be recorded as a whole, and lost as a whole when the
            # run is killed.
            parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
            yield from parallel(delayed(compute_cells)(*task) for task in tasks)
    except TerminatedWorkerError:
        raise WorkersLostError("A worker process was killed, perhaps for want of memory") from None


def _exit_after_parent(parent: int) -> None:
    """End this process soon after its parent, which may have been killed."""

    def wait_for_parent() -> None:
        # A process whose parent has died is given another one.
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)  # sys.exit would end this thread alone

    # Windows keeps the id of a parent that has died.
    if os.name == "posix":
        threading.Thread(target=wait_for_parent, daemon=True).start()


def run_on_dask(tasks: Iterable[_Work], address: str) -> Iterator[list[Record]]:
    """Run tasks on a running Dask cluster.

    Parameters
    ----------
    tasks : iterable of (tuple of Cell, AnyDataset)
    address : str
        Address of the scheduler, ``"tcp://host:8786"``. The workers need the same version of this
        package, and run one task at a time each, whatever their number of threads.
    """
    cluster = import_optional("ldlearn.dask", "dask", "Dask schedulers")
    with cluster.connect(address) as client:
        cluster.check_workers(client)
        yield from _compute_on_workers(client, tasks)


def _compute_on_workers(client: Any, tasks: Iterable[_Work]) -> Iterator[list[Record]]:
    from distributed import KilledWorker, as_completed

    from ldlearn.dask.cluster import ClusterError, WorkerWatch, ignore_size_warning

    data_futures = {}
    futures = []
    # The data travel once, inside a task, because what is scattered dies with the workers that hold
    # it.
    with ignore_size_warning():
        for cells, dataset in tasks:
            if id(dataset) not in data_futures:
                # The content in the key: the scheduler takes equal keys for equal data, also those
                # of another run.
                key = f"ldlearn-data-{dataset.name}-{joblib.hash(dataset)}"
                data_futures[id(dataset)] = client.submit(_return_dataset, dataset, key=key)
            # Not pure: a task has a time and a memory of its own, so equal tasks are not one task.
            data = data_futures[id(dataset)]
            futures.append(client.submit(compute_cells, cells, data, pure=False))
    try:
        completed = as_completed(futures, loop=client.loop)
        watch = WorkerWatch(client)
        while not completed.is_empty():
            for future in completed.next_batch(block=False):
                yield future.result()
                future.release()  # a long run would keep all results on the workers
            time.sleep(_WAIT_SECONDS)
            watch.check()
    except KilledWorker:
        raise WorkersLostError("Workers of the cluster died repeatedly at the same cells") from None
    except ClusterError as error:
        raise WorkersLostError(str(error).rstrip(".")) from None
    except Exception:
        if client.status == "running":
            raise
        # The client would log the tracebacks of its attempts to reconnect.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        problem = "The Dask scheduler ended, or the connection to it was lost"
        raise WorkersLostError(problem) from None
    finally:
        if client.status == "running":
            client.cancel(futures)  # after Ctrl-C the cluster must not go on


def _return_dataset(dataset: AnyDataset) -> AnyDataset:
    return dataset
