"""A plan on a real cluster of worker processes, one of which is killed in the middle of the run."""

import logging
import os
import signal
from functools import partial

import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import RunProgress, WorkersLostError, run_plan

distributed = pytest.importorskip("distributed", reason="dask is not installed")

# Warnings of Dask about lost workers.
pytestmark = pytest.mark.filterwarnings("ignore")


class Killer(RunProgress):
    """Kills a worker as soon as two cells are recorded."""

    def __init__(self, client):
        self.client, self.seen, self.killed = client, 0, None

    def finish_cell(self, cell, record):
        self.seen += 1
        if self.seen == 2:
            self.killed = next(iter(self.client.run(os.getpid).values()))
            os.kill(self.killed, signal.SIGKILL)


def test_run_with_a_lost_worker_gives_the_same_records(tmp_path, forked_workers):
    plan = tiny_plan()
    alone = run_plan(plan, tmp_path / "alone")
    options = {
        "n_workers": 2,
        "threads_per_worker": 2,
        "processes": True,
        "dashboard_address": None,
    }
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        killer = Killer(client)
        run = run_plan(
            plan, tmp_path / "cluster", scheduler=cluster.scheduler_address, progress=killer
        )
    assert killer.killed is not None
    assert [record.without_timing for record in run.records] == [
        record.without_timing for record in alone.records
    ]
    assert run.count("ok") == 10


class AfterTwoCells(RunProgress):
    """Calls a function as soon as two cells are recorded."""

    def __init__(self, function):
        self.function, self.seen = function, 0

    def finish_cell(self, cell, record):
        self.seen += 1
        if self.seen == 2:
            self.function()


def run_until(tmp_path, event, match):
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": None,
    }
    with distributed.LocalCluster(**options, memory_limit=0) as cluster:
        progress, address = AfterTwoCells(partial(event, cluster)), cluster.scheduler_address
        with pytest.raises(WorkersLostError, match=match) as caught:
            run_plan(tiny_plan(), tmp_path, scheduler=address, progress=progress)
    assert str(caught.value).endswith("of 10 cells are recorded, and the same command continues.")
    assert "\n" not in str(caught.value)


def test_closed_scheduler_raises(tmp_path, caplog):
    level = logging.getLogger("distributed.client").level
    try:
        run_until(
            tmp_path,
            lambda cluster: cluster.close(),
            match="scheduler ended, or the connection to it was lost; ",
        )
    finally:
        logging.getLogger("distributed.client").setLevel(level)
    assert [
        record
        for record in caplog.records
        if record.name == "distributed.client" and record.exc_info
    ] == []


def test_worker_with_full_memory_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._POLL_SECONDS", 0.1)
    monkeypatch.setattr("ldlearn.dask.cluster._NO_WORKER_SECONDS", 0.3)

    def pause(cluster):
        for worker in cluster.workers.values():
            cluster.sync(set_status, worker)

    async def set_status(worker):
        worker.status = distributed.core.Status.paused

    run_until(tmp_path, pause, match="workers have been paused because their memory is full; .*; ")


def test_missing_scheduler_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("ldlearn.dask.cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(OSError, match="No Dask scheduler answers at tcp:"):
        run_plan(tiny_plan(), tmp_path, scheduler="tcp://127.0.0.1:9")
