"""SIGKILL at random moments; benchmarks/kill_runs.py does the same twenty times."""

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import forked
import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import RunProgress, WorkersLostError, read_records, run_plan

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kill_runs.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.skipif(not SCRIPT.is_file(), reason="the benchmarks are not here")
def test_killed_runs_lose_only_unfinished_cells(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import kill_runs

    with ProcessPoolExecutor(1, mp_context=forked.context()) as pool:
        is_equal, differences = pool.submit(kill_runs.compare, kills=5, repeats=4).result(
            timeout=120
        )
    assert is_equal, differences


class _WorkerKiller(RunProgress):
    """Kills a worker process of joblib as soon as a cell is recorded."""

    def finish_cell(self, cell, record):
        for pid in _children():
            os.kill(pid, signal.SIGKILL)


def _children():
    from joblib.externals.loky import get_reusable_executor

    return list(get_reusable_executor(reuse=True)._processes)


def test_killed_worker_raises_and_the_next_run_resumes(tmp_path):
    plan = tiny_plan(protocol={"repeats": 10})
    with pytest.raises(
        WorkersLostError,
        match=r"worker process was killed.*; \d+ of 50 cells are recorded, and the same",
    ):
        run_plan(plan, tmp_path, jobs=2, progress=_WorkerKiller())
    before = len(read_records(tmp_path))
    assert 1 <= before < 50
    run = run_plan(plan, tmp_path)
    assert (run.count("ok"), run.computed) == (50, 50 - before)
