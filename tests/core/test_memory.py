import pytest

from ldlearn.core import memory


def test_refuses_before_allocating(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**9)
    memory.require_memory(9e8, "The kernel", "use less")
    with pytest.raises(MemoryError, match=r"^The kernel needs 8.0 GB and 1.0 GB are free; use less\.$"):
        memory.require_memory(8e9, "The kernel", "use less")


def test_says_nothing_where_the_system_does_not(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    memory.require_memory(1e30, "Everything", "nothing")


def test_available_memory_is_a_plausible_number():
    available = memory.available_memory()
    assert available is None or 10**6 < available < 10**15
