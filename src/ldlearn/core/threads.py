"""Work on blocks of rows in several threads: numpy lets go of the interpreter while it computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count() -> int:
    """How many threads may be used: as many as the BLAS library may, and one outside the main thread.

    So ``OMP_NUM_THREADS``, ``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits` and what joblib or Dask
    allow their workers hold here too; whoever calls from a thread of their own is parallel already.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
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
    with _single_threaded_blas(), ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
    with _blas().limit(limits=1):
        yield
