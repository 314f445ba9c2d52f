"""Cluster failures raise a clear error instead of waiting forever."""

import asyncio
import socket
import time
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest

from ldlearn import DLDL
from ldlearn import dask as ld
from ldlearn.dask.cluster import check_workers
from ldlearn.datasets import make_label_distributions
from ldlearn.exceptions import FileError, InputError, MissingDependencyError

distributed = pytest.importorskip("distributed")
# Warnings of Dask about its own failures.
pytestmark = pytest.mark.filterwarnings("ignore")

PARAMS = {"beta": 0.3, "gamma": 0.3, "max_iter": 1}


@pytest.fixture(scope="module")
def data():
    return make_label_distributions(90, 3, 3, labels="votes", random_state=0)


@pytest.fixture
def rows(data):
    return tuple(da.from_array(A, chunks=(30, -1)) for A in (data.X, data.Y))


def test_failing_task_raises(rows, client_of_processes):
    X, Y = rows
    broken = X.map_blocks(
        lambda block: block / 0 if block is None else 1 // 0, dtype=float, meta=np.empty((0, 0))
    )
    with pytest.raises(
        ld.ClusterError,
        match=r"A task failed on the cluster \(ZeroDivisionError: .*; compute X and y",
    ):
        ld.DaskDLDL(**PARAMS, client=client_of_processes).fit(broken, Y)
    model = ld.DaskDLDL(**PARAMS, client=client_of_processes).fit(X, Y)
    with pytest.raises(ld.ClusterError, match="ZeroDivisionError"):
        model.score(broken, Y)


def test_client_closed_during_the_fit_raises(rows, cluster, after_steps):
    client = distributed.Client(cluster, set_as_default=False)
    after_steps(client.close)
    model = ld.DaskDLDL(**PARAMS, client=client)
    with pytest.raises(ld.ClusterError, match="The Dask client was closed"):
        model.fit(*rows)
    assert not hasattr(model, "coef_")


@pytest.fixture
def short_timeouts(monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._POLL_SECONDS", 0.1)
    monkeypatch.setattr("ldlearn.dask.cluster._NO_WORKER_SECONDS", 0.2)


@contextmanager
def client_of_workers(count):
    options = {
        "n_workers": count,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_cluster_without_workers_raises(rows, short_timeouts):
    message = r"For 0\.2 seconds the cluster has had no workers; start some"
    with client_of_workers(0) as client, pytest.raises(ld.ClusterError, match=message):
        ld.DaskDLDL(**PARAMS, client=client).fit(*rows)


def test_workers_killed_by_a_function_they_cannot_import(
    rows, short_timeouts, forked_workers, tmp_path, monkeypatch
):
    (tmp_path / "only_here.py").write_text("def twice(block):\n    return 2 * block\n")
    with client_of_workers(1) as client:
        monkeypatch.syspath_prepend(tmp_path)  # only in this process, not in the workers
        import only_here

        with pytest.raises(ld.ClusterError, match="import the libraries"):
            ld.DaskDLDL(**PARAMS, client=client).fit(
                rows[0].map_blocks(only_here.twice, dtype=float), rows[1]
            )


def test_workers_with_full_memory_raise(rows, client, short_timeouts, monkeypatch):
    info = {"workers": {"a": {"status": "paused"}}}
    slow = rows[0].map_blocks(lambda block: time.sleep(1), dtype=float, meta=np.empty((0, 0)))
    monkeypatch.setattr(client, "scheduler_info", lambda: info)
    with pytest.raises(ld.ClusterError, match="their memory is full"):
        ld.DaskDLDL(**PARAMS, client=client).fit(slow, rows[1])


def test_asynchronous_client_raises(rows, cluster):
    async def fit():
        async with distributed.Client(cluster.scheduler_address, asynchronous=True) as client:
            ld.DaskDLDL(**PARAMS, client=client).fit(*rows)

    with pytest.raises(InputError, match="An asynchronous Dask client cannot wait"):
        asyncio.run(fit())


def test_fits_within_tasks_do_not_deadlock(data, client_of_processes):
    def fit(X, Y):
        X, Y = (da.from_array(A, chunks=(30, -1)) for A in (X, Y))
        return ld.DaskDLDL(**PARAMS).fit(X, Y).coef_

    # As many as there are threads: each would otherwise block one that another needs.
    futures = [client_of_processes.submit(fit, data.X, data.Y, pure=False) for _ in range(2)]
    local = DLDL(**PARAMS).fit(data.X, data.Y)
    for future in futures:
        np.testing.assert_allclose(future.result(timeout=60), local.coef_, atol=1e-6)


class StubClient:
    """A client with given responses of the scheduler and the workers."""

    def __init__(self, scheduler, **workers):
        self.scheduler, self.workers = scheduler, workers

    def run_on_scheduler(self, function, name):
        if isinstance(self.scheduler, Exception):
            raise self.scheduler

    def run(self, function, name, on_error):
        return self.workers


def test_other_versions_are_rejected_before_sending(client_of_processes):
    check_workers(client_of_processes)  # the workers of this cluster have the same version
    with pytest.raises(ld.ClusterError, match=r"Worker b has ldlearn 0\.1\.0 and this process"):
        check_workers(StubClient("ours", a=OSError("lost"), b="0.1.0"))
    missing = ModuleNotFoundError("No module named 'ldlearn'")
    with pytest.raises(
        MissingDependencyError, match="The worker b cannot import ldlearn; install this version"
    ):
        check_workers(StubClient("ours", a=OSError("lost"), b=missing))
    with pytest.raises(
        MissingDependencyError, match="The scheduler cannot import ldlearn; install this version"
    ):
        check_workers(StubClient(missing))


def test_unresponsive_address_raises(monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._CONNECT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(FileError, match="No Dask scheduler answers"),
    ):
        ld.connect(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
