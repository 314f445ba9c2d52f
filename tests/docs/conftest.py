"""What the tests of several pages share."""

from pathlib import Path

import pytest


@pytest.fixture
def listings(monkeypatch):
    """The tables of the pages that are made from the library's own registries."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
    import listings

    return listings
