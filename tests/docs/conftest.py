"""Fixtures of several pages."""

from pathlib import Path

import pytest


@pytest.fixture
def listings(monkeypatch):
    """The tables generated from the registries of the library."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
    import listings

    return listings
