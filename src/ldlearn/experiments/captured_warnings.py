"""Warnings and errors during the computation of a cell, as its record has them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_ABOUT_CODE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@contextmanager
def captured_warnings(messages: list[str]) -> Iterator[None]:
    """Append warnings to a list instead of showing them; those about code, not results, are dropped."""
    # "always": a record must not depend on the filters of the user, or of the process it was made in.
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield
        finally:  # a fit that fails may have warned before
            messages += [_one_line(entry.message) for entry in caught if not issubclass(entry.category, _ABOUT_CODE)]


def error_message(error: Exception) -> str:
    """Class and message of an error in one line."""
    return f"{type(error).__name__}: {_one_line(error)}"


def _one_line(message: Exception | str) -> str:
    return " ".join(str(message).split())
