"""Frames as Arrow tables of doubles and strings, whatever a chunk happens to hold."""

from __future__ import annotations

from typing import Any


def arrow_table(frame: Any) -> Any:
    """An Arrow table whose types depend on the columns only, so that empty and full chunks agree."""
    import pyarrow as pa

    columns = [
        pa.array(frame[name].to_numpy(), pa.float64() if frame[name].dtype.kind == "f" else pa.string())
        for name in frame.columns
    ]
    return pa.table(columns, names=[str(name) for name in frame.columns])
