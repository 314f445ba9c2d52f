"""The cluster: connection to a client, and computations whose results are sums over blocks."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pkgutil import resolve_name
from threading import Thread
from typing import Any

import distributed
from dask import delayed

from ldlearn.exceptions import FileError, InputError, LDLearnError, MissingDependencyError

_VERSION = "ldlearn:__version__"
_CONNECT_SECONDS = 10
_POLL_SECONDS = 5  # interval of checks for running workers during a long round
_NO_WORKER_SECONDS = 60  # without a running worker, after which a round is given up
_PAUSED = (
    "all workers have been paused because their memory is full; give them more, or use smaller "
    "blocks."
)
_GONE = (
    "the cluster has had no workers; start some, or see their logs: perhaps they cannot import the "
    "libraries."
)
_TREE_WIDTH = 16  # partial sums added by one task of a tree


class ClusterError(LDLearnError, RuntimeError):
    """A computation on the cluster failed; its data and its workers are unchanged."""


def connect(address: str) -> Any:
    """A client of the scheduler at an address such as ``"tcp://host:8786"``."""
    found: list[Any] = [TimeoutError()]

    def open_client() -> None:
        try:
            # Not the default: the user may have a client of another cluster.
            found.append(
                distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
            )
        except Exception as error:
            found.append(error)

    # In a daemon thread: Dask's time-out does not apply if something other than a scheduler listens
    # at the address.
    thread = Thread(target=open_client, daemon=True)
    thread.start()
    thread.join(timeout=1.5 * _CONNECT_SECONDS)
    if isinstance(found[-1], Exception):
        raise FileError(f"No Dask scheduler answers at {address} ({type(found[-1]).__name__}).")
    return found[-1]


def current_client(client: Any = None) -> Any:
    """The given client, or the current one."""
    if client is None:
        try:
            client = distributed.get_client()
        except ValueError:
            raise InputError(
                "There is no Dask client; make one (distributed.Client()), or pass client=."
            ) from None
    if client.asynchronous:
        raise InputError(
            "An asynchronous Dask client cannot wait for results; make an ordinary one in a thread."
        )
    return client


def check_workers(client: Any) -> None:
    """Raise an error unless the scheduler and all workers have this version of the package.

    Checked beforehand by a function of the standard library, because a worker dies of a task that
    it cannot unpickle.
    """
    ours = resolve_name(_VERSION)
    try:
        client.run_on_scheduler(resolve_name, _VERSION)
    except ImportError:
        _refuse_missing_library("scheduler")
    found = client.run(resolve_name, _VERSION, on_error="return")
    for worker, theirs in found.items():
        if isinstance(theirs, ImportError):
            _refuse_missing_library(f"worker {worker}")
        if isinstance(theirs, str) and theirs != ours:  # any other error: the worker was just lost
            versions = f"Worker {worker} has ldlearn {theirs} and this process {ours}"
            raise ClusterError(f"{versions}; install the same.")


def _refuse_missing_library(where: str) -> None:
    raise MissingDependencyError(
        f"The {where} cannot import ldlearn; install this version on the cluster."
    )


class WorkerWatch:
    """Ends a wait for results once no worker has been able to compute them for a minute."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._last_check = self._last_active = time.monotonic()

    def check(self) -> None:
        """Raise an error if all workers are gone or paused.

        The scheduler is asked every few seconds at most.
        """
        now = time.monotonic()
        if now - self._last_check < _POLL_SECONDS:
            return
        self._last_check = now
        workers = self._client.scheduler_info()["workers"].values()
        if any(map(_is_active, workers)):
            self._last_active = now
        if now - self._last_active > _NO_WORKER_SECONDS:
            reason = _PAUSED if workers else _GONE
            raise ClusterError(f"For {_NO_WORKER_SECONDS:g} seconds {reason}")


def _is_active(worker: Any) -> bool:
    """A worker whose memory is full is paused: it finishes its tasks, but starts no others."""
    n_executing = worker.get("metrics", {}).get("task_counts", {}).get("executing", 0)
    return bool(worker["status"] == "running" or n_executing)


class BlockRunner:
    """Runs rounds of computation on a cluster.

    In a round a small message goes to all blocks, and a sum of small arrays comes back. Every round
    is a graph of ordinary tasks, which may run on any worker and are repeated if a worker is lost:
    nothing is pinned.

    Attributes
    ----------
    n_rounds : int
        Number of rounds so far.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.n_rounds = 0
        # Inside a task of a worker, free its thread: the tasks of the round may need it.
        with suppress(ValueError, KeyError):  # not inside a worker, or already seceded
            distributed.secede()

    def map_sum(
        self, function: Callable[..., Sequence[Any]], *blocks: Sequence[Any], common: Any = None
    ) -> list[Any]:
        """The sum over all blocks of ``function(block, ..., common)``.

        The function returns a sequence of numbers and arrays. Without a message ``common`` the
        function takes blocks only, here and below.
        """
        parts = self._make_tasks(function, blocks, common)
        while len(parts) > 1:
            branches = [parts[k : k + _TREE_WIDTH] for k in range(0, len(parts), _TREE_WIDTH)]
            parts = [delayed(_sum_elementwise, pure=False)(branch) for branch in branches]
        self.n_rounds += 1
        return self.compute(parts, blocks)[0]

    def map_compute(
        self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None
    ) -> list[Any]:
        """``function(block, ..., common)`` of each block; results should be small."""
        self.n_rounds += 1
        # One task gathers them: the client waits for one result, not for one per block.
        return self.compute([delayed(list)(self._make_tasks(function, blocks, common))], blocks)[0]

    def map_persist(
        self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None
    ) -> list[Any]:
        """``function(block, ..., common)`` of each block, left on the cluster.

        Lost results are recomputed.
        """
        return self.persist(self._make_tasks(function, blocks, common))

    def persist(self, collections: Sequence[Any]) -> list[Any]:
        """Compute Dask collections and leave them on the cluster."""
        with ignore_size_warning(), self._explain_errors():
            return list(self.client.persist(list(collections)))

    def compute(
        self, collections: Sequence[Any], persisted: Sequence[Sequence[Any]] = ()
    ) -> list[Any]:
        """Compute Dask collections and fetch them.

        ``persisted`` are the blocks they are made of, to explain errors.
        """
        with ignore_size_warning(), self._explain_errors(persisted):
            return [self._wait_for(future) for future in self.client.compute(list(collections))]

    def _make_tasks(
        self, function: Callable[..., Any], blocks: Sequence[Sequence[Any]], common: Any
    ) -> list[Any]:
        # Impure, so that tasks get random names: otherwise Dask hashes their arguments in every
        # round. The message is a separate task: it is sent once to each worker, not once with each
        # block.
        message = () if common is None else (delayed(common, pure=False, traverse=False),)
        work = delayed(function, pure=False)
        return [work(*block, *message) for block in zip(*blocks, strict=True)]

    def _wait_for(self, future: Any) -> Any:
        watch = WorkerWatch(self.client)
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                # It has just finished, or the task itself raised TimeoutError.
                if future.status != "pending":
                    return future.result()
            watch.check()

    @contextmanager
    def _explain_errors(self, persisted: Sequence[Sequence[Any]] = ()) -> Iterator[None]:
        """Convert errors of the cluster to ClusterError; our own errors are passed on."""
        try:
            yield
        except LDLearnError:
            raise
        except distributed.KilledWorker:
            raise ClusterError(
                "Workers died repeatedly at a block; see their logs, or use smaller blocks."
            ) from None
        except Exception as error:
            if self.client.status != "running":
                raise ClusterError(
                    "The Dask client was closed, or its scheduler ended, during a round."
                ) from error
            if not isinstance(error, CancelledError):
                raise _task_error(error) from error
            for future in distributed.futures_of(list(persisted)):
                if future.status == "error":
                    raise _task_error(future.exception()) from error
            reason = str(error).splitlines()[0]
            raise ClusterError(
                f"Dask dropped the work ({reason}); perhaps a worker was lost."
            ) from error


def _task_error(error: Any) -> ClusterError:
    while error.__cause__ is not None:  # Dask wraps the original error
        error = error.__cause__
    what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(".")
    return ClusterError(
        f"A task failed on the cluster ({what}); compute X and y separately to find the cause."
    )


def _sum_elementwise(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Sums of the first, the second, ... entries of all parts; nothing is added in place."""
    return [sum(each) for each in zip(*parts, strict=True)]


@contextmanager
def ignore_size_warning() -> Iterator[None]:
    """Coefficients of many labels are a large message by design."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield
