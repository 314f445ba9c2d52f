"""The cluster: finding a client, and rounds of work whose results are sums over blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import distributed
import numpy as np
from dask import delayed

from ldlearn.errors import FileError, InputError, LDLearnError

_CONNECT_SECONDS = 10
_BRANCHES = 16  # parts that one task of a tree adds up


class ClusterError(LDLearnError, RuntimeError):
    """The cluster could not do the work; its data and its workers are as they were."""


def connect(address: str) -> Any:
    """A client of the scheduler at an address such as ``"tcp://host:8786"``."""
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FileError(f"No Dask scheduler answers at {address} ({type(error).__name__}).") from None


def current_client(client: Any = None) -> Any:
    """The given client, or else the current one."""
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise InputError(
            "There is no Dask client; make one first (dask.distributed.Client()), or pass it as client=."
        ) from None


class Rounds:
    """Rounds of work on a cluster: a small message out to all blocks, a sum of small arrays back.

    Every round is a graph of ordinary tasks, which may run on any worker, and again after one is lost: nothing is
    pinned, nobody waits for a certain worker.

    Attributes
    ----------
    count : int
        Rounds so far.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.count = 0

    def total(self, function: Callable[..., Sequence[Any]], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """The sum over all blocks of what ``function(block, ..., common)`` gives, a sequence of numbers and arrays."""
        parts = self._parts(function, blocks, common)
        while len(parts) > 1:
            parts = [delayed(_add, pure=False)(parts[k : k + _BRANCHES]) for k in range(0, len(parts), _BRANCHES)]
        self.count += 1
        return list(self._result(parts[0]))

    def collect(self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """What ``function(block, ..., common)`` gives for each block, which should be little."""
        self.count += 1
        return list(self._result(delayed(list)(self._parts(function, blocks, common))))

    def keep(self, function: Callable[..., Any], *blocks: Sequence[Any], common: Any = None) -> list[Any]:
        """The same, but left on the cluster; it is computed again should it be lost."""
        with _quietly():
            return list(self.client.persist(self._parts(function, blocks, common)))

    def _parts(self, function: Callable[..., Any], blocks: Sequence[Sequence[Any]], common: Any) -> list[Any]:
        # The message is a task of its own: it travels once to each worker, not once with each block.
        message = delayed(common, pure=False, traverse=False)
        work = delayed(function, pure=False)
        return [work(*block, message) for block in zip(*blocks, strict=True)]

    def _result(self, part: Any) -> Any:
        with _quietly():
            future = self.client.compute(part)
        try:
            return future.result()
        except distributed.KilledWorker:
            raise ClusterError(
                "Workers died again and again at the same block, perhaps for want of memory; use smaller blocks or "
                "workers with more memory."
            ) from None


def _add(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Sums of the first, the second, ... of all parts."""
    return [
        np.sum(np.stack(column), axis=0) if np.ndim(column[0]) else sum(column) for column in zip(*parts, strict=True)
    ]


@contextmanager
def _quietly() -> Iterator[None]:
    """Weights of many labels are a large message, on purpose."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        yield
