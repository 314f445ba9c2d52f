"""Optional files outside the repository: real data sets and the paper's tables."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared_file(name: str) -> Path:
    """Path of a file below ``../shared``; without it the test is skipped, and the skip line names
    the file."""
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"needs the file ../shared/{name} beside the project")
    return path
