"""Resources of the machine: available memory, and threads for computations on blocks of rows."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController


def available_memory() -> int | None:
    """Bytes of memory that this process can still allocate, or None if that is unknown."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            # Not MemFree: the system frees its caches on demand.
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def require_memory(n_bytes: float, purpose: str, instead: str) -> None:
    """Raise MemoryError if ``n_bytes`` of memory are not available.

    Parameters
    ----------
    n_bytes : float
        Peak size of the allocation.
    purpose : str
        Object to allocate, e.g. ``"the 50000 x 50000 kernel of KM"``.
    instead : str
        Alternative for the user, e.g. ``"GLLE keeps its graph sparse"``.
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{purpose} needs {n_bytes / 1e9:.1f} GB and {available / 1e9:.1f} GB are free; "
            f"{instead}."
        )


# Threads of `in_threads` while BLAS is limited to one; set by the main thread only.
_n_threads: int | None = None
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """Number of threads to use: that of the BLAS library, and one outside the main thread.

    So ``OMP_NUM_THREADS``, ``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits` and the
    limits that joblib and Dask set for their workers apply here, too. A caller outside the main
    thread is assumed to run in parallel already.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    if _n_threads is not None:
        return _n_threads
    counts = [library.num_threads for library in _blas_controller().lib_controllers]
    return max(counts, default=1)


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[function(item) for item in items]`` in several threads with single-threaded BLAS.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    count = min(thread_count(), len(items)) if len(items) > 1 else 1
    if count == 1:
        return list(map(function, items))
    with limit_blas_threads():
        return list(_thread_pool(count).map(function, items))


@contextmanager
def limit_blas_threads() -> Iterator[None]:
    """Context in which BLAS has one thread and `in_threads` uses as many as BLAS had before.

    Enter it once around a long computation on blocks: products of small matrices between the blocks
    are slower in several threads than in one, and idle BLAS threads wait in a busy loop.
    """
    global _n_threads
    count = thread_count()
    if count == 1 or _n_threads is not None:
        yield
        return
    with _blas_controller().limit(limits=1):
        _n_threads = count
        try:
            yield
        finally:
            _n_threads = None


@contextmanager
def blas_threads() -> Iterator[None]:
    """Context that restores the BLAS threads within `limit_blas_threads`.

    It is meant for operations on one large matrix.
    """
    # The limit is global: another thread than the main one could restore an outdated value.
    if _n_threads is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _blas_controller().limit(limits=thread_count()):
        yield


def sum_in_threads(function: Callable[[Item], Sequence[Any]], items: Sequence[Item]) -> list[Any]:
    """Elementwise sums of the sequences of numbers or new arrays that the function returns.

    Arrays are added in place.

    Examples
    --------
    >>> sum_in_threads(lambda k: (k, k * k), [1, 2, 3])
    [6, 14]
    """
    if len(items) == 1:  # saves microseconds, which count for small data
        return list(function(items[0]))
    # One partial sum per thread, not per item, exists at a time.
    count = thread_count()
    parts = [items[k::count] for k in range(count)]
    return _accumulate(in_threads(lambda part: _accumulate(map(function, part)), parts))


def _accumulate(rows: Iterable[Sequence[Any]]) -> list[Any]:
    total: list[Any] = []
    for row in rows:
        if not total:
            total = list(row)
            continue
        for k, part in enumerate(row):
            total[k] += part
    return total


@cache
def _blas_controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _thread_pool(count: int) -> ThreadPoolExecutor:
    """Cached, because starting threads takes longer than a small computation."""
    return ThreadPoolExecutor(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # threads do not survive a fork
