"""Warnings raised while a cell is computed, captured for its record."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 5  # kept per cell
_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@contextmanager
def captured_warnings(texts: list[str]) -> Iterator[None]:
    """Append the texts of warnings to a list instead of showing them; those about code, not results, are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            about_results = [entry for entry in caught if not issubclass(entry.category, _ABOUT_CODE)]
            texts += distinct([" ".join(str(entry.message).split()) for entry in about_results])


def distinct(texts: list[str]) -> list[str]:
    """The first few different ones."""
    return list(dict.fromkeys(texts))[:MOST]
