"""How much memory a file may ask for, and how trouble in a foreign parser becomes our error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldlearn.errors import DatasetError

# Deflate reaches 1,032 to 1; real data of mostly zeros stay below 200 (the Movie set has 170).
MOST_EXPANSION = 250
ALWAYS_ALLOWED = 64 << 20
MOST_NAMES = 1_000_000


def check_declared(declared: int, stored: int, path: Path) -> None:
    """Refuse a file that announces far more bytes than it can hold, before anything is allocated."""
    if declared > max(ALWAYS_ALLOWED, MOST_EXPANSION * stored):
        raise DatasetError(
            f"{path} announces {declared:,} bytes of data in {stored:,} bytes of file; it is refused as broken or "
            "malicious."
        )


def check_total(declared: int, max_bytes: int, path: Path) -> None:
    """Refuse a file whose arrays would not fit into what the caller allows."""
    if declared > max_bytes:
        raise DatasetError(
            f"{path} would take {declared:,} bytes of memory, more than the limit {max_bytes:,}; raise max_bytes if "
            "that is meant."
        )


def check_width(n_columns: int, path: Path | str) -> None:
    """Refuse a matrix with more columns than could be named; an empty one may announce any number of them."""
    if n_columns > MOST_NAMES:
        raise DatasetError(f"{path} announces {n_columns:,} columns, more than the limit {MOST_NAMES:,}.")


@contextmanager
def broken_file_is_our_error(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises on a broken file into a `DatasetError`.

    Parsers of foreign formats raise many kinds of exceptions on broken input; the caller needs one.
    """
    try:
        yield
    except (DatasetError, ImportError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DatasetError(f"{path} cannot be read; it is broken or not what its name says: {reason}") from error
