import threading
from contextlib import contextmanager

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ldlearn.core import resources
from ldlearn.core.resources import (
    blas_threads,
    in_threads,
    limit_blas_threads,
    sum_in_threads,
    thread_count,
)


def test_raises_before_allocating(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 10**9)
    resources.require_memory(1e9, "The kernel", "use less")
    with pytest.raises(MemoryError, match=r"^The kernel needs 8\.0 GB .*1\.0 GB .*use less"):
        resources.require_memory(8e9, "The kernel", "use less")


def test_no_error_if_available_memory_is_unknown(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: None)
    resources.require_memory(1e30, "Everything", "nothing")


def test_available_memory_is_a_plausible_number():
    available = resources.available_memory()
    assert available is None or 10**6 < available < 10**15


# Threads


def test_thread_limit_is_that_of_blas():
    with threadpool_limits(1, user_api="blas"):
        assert thread_count() == 1


def test_calls_from_other_threads_are_serial(monkeypatch):
    counts = []
    with threadpool_limits(3, user_api="blas"):
        ours = thread_count()
        other = threading.Thread(target=lambda: counts.append(thread_count()))
        other.start()
        other.join()
    assert ours >= 1
    assert counts == [1]


@pytest.mark.parametrize("count", [1, 3])
def test_results_are_ordered_and_errors_propagate(count, monkeypatch):
    monkeypatch.setattr(resources, "thread_count", lambda: count)
    assert in_threads(lambda k: k * k, range(20)) == [k * k for k in range(20)]
    assert in_threads(abs, []) == []
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda k: 1 // k, [1, 0, 2])


def test_blas_is_limited_to_one_thread_and_restored(monkeypatch):
    with threadpool_limits(2, user_api="blas"):
        before = [library.num_threads for library in resources._blas_controller().lib_controllers]
        monkeypatch.setattr(resources, "thread_count", lambda: 2)
        inside = in_threads(
            lambda _: [
                library.num_threads for library in resources._blas_controller().lib_controllers
            ],
            [0, 1],
        )
        assert np.unique(inside).tolist() == [1]
        assert [
            library.num_threads for library in resources._blas_controller().lib_controllers
        ] == before


@pytest.mark.parametrize("count", [1, 3])
def test_parallel_sum_equals_a_loop(count, monkeypatch):
    monkeypatch.setattr(resources, "thread_count", lambda: count)
    numbers, arrays = sum_in_threads(lambda k: (k, np.full(2, 2.0 * k)), range(10))
    assert numbers == 45
    np.testing.assert_array_equal(arrays, [90.0, 90.0])
    assert sum_in_threads(lambda k: (), range(10)) == []


def current_blas_threads():
    return max(library.num_threads for library in resources._blas_controller().lib_controllers)


def test_blas_limit_is_restored_on_request():
    with threadpool_limits(2, user_api="blas"):
        with limit_blas_threads():
            assert (current_blas_threads(), thread_count()) == (1, 2)
            with limit_blas_threads():
                assert (current_blas_threads(), thread_count()) == (1, 2)
            with blas_threads():
                assert (current_blas_threads(), thread_count()) == (2, 2)
            assert in_threads(lambda _: thread_count(), [0, 1]) == [1, 1]
            assert (current_blas_threads(), thread_count()) == (1, 2)
        assert (current_blas_threads(), thread_count()) == (2, 2)


class GlobalLimit:
    """A BLAS library with one limit for all threads."""

    num_threads = 2

    @property
    def lib_controllers(self):
        return [self]

    @contextmanager
    def limit(self, limits):
        before, self.num_threads = self.num_threads, limits
        yield
        self.num_threads = before


def test_other_threads_do_not_change_the_blas_limit(monkeypatch):
    """It would otherwise store our temporary limit of one and restore it after we released it."""
    inside, over = threading.Event(), threading.Event()

    def factorise():
        with blas_threads():
            inside.set()
            over.wait(5)

    blas = GlobalLimit()
    monkeypatch.setattr(resources, "_blas_controller", lambda: blas)
    other = threading.Thread(target=factorise)
    with limit_blas_threads():
        other.start()
        inside.wait(5)
        assert blas.num_threads == 1
    over.set()
    other.join()
    assert blas.num_threads == 2


def test_blas_limit_is_restored_after_an_error():
    @limit_blas_threads()
    def fail():
        assert thread_count() == 2
        raise ZeroDivisionError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            fail()
        assert (current_blas_threads(), thread_count()) == (2, 2)
