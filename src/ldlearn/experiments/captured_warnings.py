"""Warnings and errors met while a cell is computed, as its record tells of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 5  # kept per cell
_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@contextmanager
def captured_warnings(texts: list[str]) -> Iterator[None]:
    """Append the texts of warnings to a list instead of showing them; those about code, not results, are dropped."""
    # "always": what a record says must not depend on the filters of the user, or of the process it was made in.
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield
        finally:
            # in a finally clause: a fit that fails may have warned of the reason before
            about_results = [entry for entry in caught if not issubclass(entry.category, _ABOUT_CODE)]
            texts += distinct([_one_line(entry.message) for entry in about_results])


def distinct(texts: list[str]) -> list[str]:
    """The first few different ones."""
    return list(dict.fromkeys(texts))[:MOST]


def error_text(error: Exception) -> str:
    """The kind of an error and what it says."""
    return f"{type(error).__name__}: {_one_line(error)}"


def _one_line(message: Exception | str) -> str:
    return " ".join(str(message).split())
