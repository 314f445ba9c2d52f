import io

import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import LogWatcher, run_plan
from ldlearn.experiments.cells import families, pieces, plan_cells
from ldlearn.experiments.watchers import TimeLeft


def test_the_time_left_is_that_of_the_work_left(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    plan = tiny_plan(methods={"UniformLE": {}, "DLDL": {}}, protocol={"repeats": 10})
    works = [work for family in families(plan_cells(plan)) for work in pieces(family)]
    left = TimeLeft(works)
    assert left.seconds() is None
    for work, seconds in zip(works[:4], (1.0, 9.0, 1.0, 9.0), strict=True):
        left.worked(work, seconds)
        clock[0] += seconds  # the first piece is done when the watch is told
    # one process: eight pieces of each kind are left
    clock[0] = 100.0 - 1.0 + 20.0
    assert left.seconds() == pytest.approx(8 * 1.0 + 8 * 9.0)
    clock[0] = 100.0 - 1.0 + 10.0  # the same work in half the time: two processes
    assert left.seconds() == pytest.approx(40.0)


def test_the_log_has_a_line_for_each_cell(tmp_path):
    stream = io.StringIO()
    run_plan(tiny_plan(), tmp_path, watcher=LogWatcher(stream))
    lines = stream.getvalue().splitlines()
    assert "10 cells, 0 of them recorded before" in lines[0]
    assert len(lines) == 11
    assert "[10/10] ok made / SABFGS on truth / 1" in lines[-1]
