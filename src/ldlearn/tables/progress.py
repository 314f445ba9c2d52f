"""Reports of progress: the interface, and an implementation that reports nothing."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Progress(Protocol):
    """Opens a task; the callable that it returns is called with every amount of work done."""

    def __call__(self, task: str, total: int | None, *, is_bytes: bool = False) -> AbstractContextManager[Advance]:
        """Begin a task of this size; None if that is unknown."""


@contextmanager
def silent(task: str, total: int | None, *, is_bytes: bool = False) -> Iterator[Advance]:
    """Report nothing."""
    yield lambda amount: None
