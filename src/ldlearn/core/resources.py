"""What the machine has: memory that can still be allocated, threads for work on blocks of rows."""

from __future__ import annotations

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
    """Bytes the system could still give to this process, or None where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            # Not what is free: the system gives up its caches when asked.
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def require_memory(n_bytes: float, purpose: str, instead: str) -> None:
    """Raise MemoryError if ``n_bytes`` are not to be had.

    Parameters
    ----------
    n_bytes : float
        What is about to be allocated at its peak.
    purpose : str
        What for, e.g. ``"the 50000 x 50000 kernel of KM"``.
    instead : str
        What the user can do, e.g. ``"GLLE keeps its graph sparse"``.
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(f"{purpose} needs {n_bytes / 1e9:.1f} GB and {available / 1e9:.1f} GB are free; {instead}.")


_own: int | None = None  # threads of ours while BLAS has one; set by the main thread alone
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """How many threads may be used: as many as the BLAS library may, and one outside the main thread.

    So ``OMP_NUM_THREADS``, ``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits` and what joblib or Dask
    allow their workers hold here too; whoever calls from a thread of their own is parallel already.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    if _own is not None:
        return _own
    return max((library.num_threads for library in _blas().lib_controllers), default=1)


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[function(item) for item in items]``, the items shared among threads, each of which has BLAS to itself.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    count = min(thread_count(), len(items)) if len(items) > 1 else 1
    if count == 1:
        return [function(item) for item in items]
    with limit_blas_threads():
        return list(_pool(count).map(function, items))


@contextmanager
def limit_blas_threads() -> Iterator[None]:
    """Within, BLAS has one thread and `in_threads` those that BLAS had.

    Whoever works on blocks for long enters this once: small matrices between the blocks are slower in several threads
    than in one, and the threads of BLAS would wait for the next in a busy loop.
    """
    global _own
    count = thread_count()
    if count == 1 or _own is not None:
        yield
        return
    with _blas().limit(limits=1):
        _own = count
        try:
            yield
        finally:
            _own = None


@contextmanager
def blas_threads() -> Iterator[None]:
    """Within `limit_blas_threads`, give BLAS its threads back: for one large matrix."""
    # Limits hold for all threads: one that is not the main thread would restore what is no longer so.
    if _own is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _blas().limit(limits=thread_count()):
        yield


def sum_in_threads(function: Callable[[Item], Sequence[Any]], items: Sequence[Item]) -> list[Any]:
    """The sums of what a function of one item returns, a sequence of numbers or new arrays, which are added in place.

    Examples
    --------
    >>> sum_in_threads(lambda k: (k, k * k), [1, 2, 3])
    [6, 14]
    """
    count = min(thread_count(), len(items)) if len(items) > 1 else 1
    if count == 1:
        return _added(map(function, items))
    # Each thread adds up a share of its own: as many sums exist at once as threads, not as items.
    return _added(in_threads(lambda share: _added(map(function, share)), [items[k::count] for k in range(count)]))


def _added(rows: Iterable[Sequence[Any]]) -> list[Any]:
    total: list[Any] | None = None
    for row in rows:
        if total is None:
            total = list(row)
        else:
            for k, part in enumerate(row):
                total[k] += part
    return total or []


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    """Kept, since starting threads takes longer than a small piece of work."""
    return ThreadPoolExecutor(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has no threads but its own
