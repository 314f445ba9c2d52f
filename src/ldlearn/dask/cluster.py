"""The cluster: finding a client, and runner of work whose results are sums over blocks."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pkgutil import resolve_name
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import distributed
import numpy as np
from dask import delayed
from distributed.protocol.pickle import dumps

from ldlearn.exceptions import FileError, InputError, LDLearnError, MissingDependencyError

_VERSION = "ldlearn:__version__"
_CONNECT_SECONDS = 10
_POLL_SECONDS = 5  # a round that takes longer has somebody look whether there are workers at all
_NO_WORKER_SECONDS = 60  # in which no worker can work, after which none is waited for
_PAUSED = "all workers have paused, for their memory is full; give them more, or use smaller blocks."
_GONE = (
    "the cluster has had no workers; start some and try again (workers that end by themselves cannot import what X or "
    "y is made with: their logs tell)."
)
_TREE_WIDTH = 16  # parts that one task of a tree adds up
_INLINE_BYTES = 10_000  # bytes of a message that travels with the task of each block


class ClusterError(LDLearnError, RuntimeError):
    """The cluster could not do the work; its data and its workers are as they were."""


def connect(address: str) -> Any:
    """A client of the scheduler at an address such as ``"tcp://host:8786"``."""
    answers: SimpleQueue[Any] = SimpleQueue()

    def call() -> None:
        try:
            # Not the default: the user may have a client of another cluster.
            answers.put(distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
        except Exception as error:
            answers.put(error)

    # In a thread that nobody waits for: if something listens there that is no scheduler, Dask's time-out does not help.
    Thread(target=call, daemon=True).start()
    try:
        found = answers.get(timeout=1.5 * _CONNECT_SECONDS)
    except Empty:
        found = TimeoutError()
    if isinstance(found, Exception):
        raise FileError(f"No Dask scheduler answers at {address} ({type(found).__name__}).")
    return found


def current_client(client: Any = None) -> Any:
    """The targets client, or else the current one."""
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise InputError(
                "There is no Dask client; make one first (dask.distributed.Client()), or pass it as client=."
            ) from None
    if client.asynchronous:
        raise InputError(
            "An asynchronous Dask client cannot be used here, where results are waited for; make an ordinary one for "
            "the same scheduler, and call from a thread (asyncio.to_thread)."
        )
    return client


def versions_of_workers(client: Any) -> dict[str, str]:
    """The version of this package on each worker; one sentence if one of them, or the scheduler, cannot import it.

    That has to be asked beforehand, by a function that any Python has: a worker that cannot read a task dies of it.
    """
    try:
        client.run_on_scheduler(resolve_name, _VERSION)
        found = client.run(resolve_name, _VERSION, on_error="return")
        missing = [f"worker {worker}" for worker, answer in found.items() if isinstance(answer, ImportError)]
    except ImportError:
        missing = ["scheduler"]
    if missing:
        raise MissingDependencyError(
            f"The {missing[0]} cannot import ldlearn; install it, in the version of this process, wherever the "
            "scheduler and the workers of the cluster run."
        )
    return {worker: answer for worker, answer in found.items() if isinstance(answer, str)}  # others are just lost


def check_workers(client: Any) -> None:
    """Refuse a cluster whose workers have another version of this package, which may compute something else."""
    ours = resolve_name(_VERSION)
    for worker, theirs in versions_of_workers(client).items():
        if theirs != ours:
            raise ClusterError(
                f"Worker {worker} has ldlearn {theirs} and this process {ours}; install the same everywhere."
            )


class BlockRunner:
    """Rounds of work on a cluster: a small message out to all blocks, a sum of small arrays back.

    Every round is a graph of ordinary tasks, which may run on any worker, and again after one is lost: nothing is
    pinned, nobody waits for a certain worker.

    Attributes
    ----------
    count : int
        BlockRunner so far.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.n_rounds = 0
        # Whoever waits in a task of a worker lets others use its place: what it waits for may have no other.
        with suppress(ValueError, KeyError):  # this is no worker, or it has done so before
            distributed.secede()

    def map_sum(self, function: Callable[..., Sequence[Any]], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """The sum over all blocks of what ``function(block, ..., common)`` gives, a sequence of numbers and arrays."""
        parts = self._parts(function, blocks, common)
        while len(parts) > 1:
            parts = [delayed(_add, pure=False)(parts[k : k + _TREE_WIDTH]) for k in range(0, len(parts), _TREE_WIDTH)]
        self.n_rounds += 1
        return list(self.compute(parts, blocks)[0])

    def map_compute(self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """What ``function(block, ..., common)`` gives for each block, which should be little."""
        self.n_rounds += 1
        # One task gathers them: one answer is awaited, not one for each block.
        return list(self.compute([delayed(list)(self._parts(function, blocks, common))], blocks)[0])

    def map_persist(self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """The same, but left on the cluster; it is computed again should it be lost."""
        return self.persist(self._parts(function, blocks, common))

    def persist(self, collections: Sequence[Any]) -> list[Any]:
        """Dask collections, computed and left on the cluster."""
        with _ignore_size_warning(), self._explain_errors():
            return list(self.client.persist(list(collections)))

    def compute(self, collections: Sequence[Any], made_of: Sequence[Sequence[Any]] = ()) -> list[Any]:
        """Dask collections, computed and brought here; ``made_of`` are blocks that were kept, to tell what is wrong."""
        with _ignore_size_warning(), self._explain_errors(made_of):
            return [self._wait_for(future) for future in self.client.compute(list(collections))]

    def _parts(self, function: Callable[..., Any], blocks: Sequence[Sequence[Any]], common: Any) -> list[Any]:
        # Impure, so that tasks are named at random: Dask would hash what they are targets in every round.
        if len(dumps(common)) <= _INLINE_BYTES:
            # Nobody waits until it has come from another worker.
            work = delayed(_WithMessage(function, common), pure=False)
            return [work(*block) for block in zip(*blocks, strict=True)]
        # A large message is a task of its own: it travels once to each worker, not once with each block.
        work, message = delayed(function, pure=False), delayed(common, pure=False, traverse=False)
        return [work(*block, message) for block in zip(*blocks, strict=True)]

    def _wait_for(self, future: Any) -> Any:
        idle_since = None
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                if future.status != "pending":  # it has just come, or it was the task that ran out of time
                    return future.result()
            workers = self.client.scheduler_info()["workers"].values()
            # A worker whose memory is full is paused: it is there, but takes no task.
            if any(worker["status"] == "running" for worker in workers):
                idle_since = None
                continue
            idle_since = idle_since or time.monotonic()
            if time.monotonic() - idle_since > _NO_WORKER_SECONDS:
                raise ClusterError(f"For {_NO_WORKER_SECONDS:g} seconds {_PAUSED if workers else _GONE}")

    @contextmanager
    def _explain_errors(self, made_of: Sequence[Sequence[Any]] = ()) -> Iterator[None]:
        """What goes wrong on a cluster, as one sentence; errors of our own family speak for themselves."""
        try:
            yield
        except LDLearnError:
            raise
        except distributed.KilledWorker:
            raise ClusterError(
                "Workers died again and again at the same block, for want of memory (use smaller blocks) or "
                "because they cannot import what X or y is made with: their logs tell."
            ) from None
        except Exception as error:
            if self.client.status != "running":
                raise ClusterError("The Dask client was closed, or its scheduler ended, in the midst of it.") from error
            if not isinstance(error, CancelledError):
                raise _task_error(error) from error
            failed = [future for future in distributed.futures_of(list(made_of)) if future.status == "error"]
            if failed:
                raise _task_error(failed[0].exception()) from error
            raise ClusterError(
                f"Dask dropped the work ({str(error).splitlines()[0]}); perhaps data were lost with a worker."
            ) from error


class _WithMessage:
    """A function that has been told the message, under its own name, by which Dask knows how long a task takes."""

    def __init__(self, function: Callable[..., Any], common: Any) -> None:
        self.function, self.common, self.__name__ = function, common, function.__name__

    def __call__(self, *block: Any) -> Any:
        return self.function(*block, self.common)


def _task_error(error: Any) -> ClusterError:
    while error.__cause__ is not None:  # Dask wraps what happened
        error = error.__cause__
    what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(".")
    return ClusterError(f"A task failed on the cluster ({what}); compute X and y by themselves to see where.")


def _add(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Sums of the first, the second, ... of all parts."""
    return [
        np.sum(np.stack(column), axis=0) if np.ndim(column[0]) else sum(column) for column in zip(*parts, strict=True)
    ]


@contextmanager
def _ignore_size_warning() -> Iterator[None]:
    """Coefficients of many labels are a large message, on purpose."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield
