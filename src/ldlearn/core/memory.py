"""Refuse an allocation that cannot fit, before it is made."""

from __future__ import annotations

from pathlib import Path


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
