"""Progress of long work: the interface that is told of it, and one that tells nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Opens a task; what it gives is told every amount that has been done."""

    def __call__(self, task: str, total: int | None, *, is_bytes: bool = False) -> AbstractContextManager[Advance]:
        """Begin a task of this many parts; None if nobody knows."""


@contextmanager
def silent(task: str, total: int | None, *, is_bytes: bool = False) -> Iterator[Advance]:
    """Tell nobody."""
    yield lambda amount: None
