import io

import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import LogProgress, run_plan
from ldlearn.experiments.cells import plan_cells
from ldlearn.experiments.progress import TimeLeft


def test_the_time_left_is_that_of_the_cells_left(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    plan = tiny_plan(methods={"UniformLE": {}, "DLDL": {}}, protocol={"repeats": 10})
    cells = plan_cells(plan)
    left = TimeLeft(cells)
    assert left.seconds() is None
    for cell, seconds in zip(cells[:4], (1.0, 9.0, 1.0, 9.0), strict=True):
        left.recorded(cell, seconds)
        clock[0] += seconds  # the first cell is done when its time is added
    # one process: eight cells of each method are left
    clock[0] = 100.0 - 1.0 + 20.0
    assert left.seconds() == pytest.approx(8 * 1.0 + 8 * 9.0)
    clock[0] = 100.0 - 1.0 + 10.0  # the same work in half the time: two processes
    assert left.seconds() == pytest.approx(40.0)


def test_the_log_has_a_line_for_each_cell(tmp_path):
    stream = io.StringIO()
    run_plan(tiny_plan(), tmp_path, progress=LogProgress(stream))
    lines = stream.getvalue().splitlines()
    assert "10 cells, 0 of them recorded before" in lines[0]
    assert len(lines) == 11
    assert "[10/10] ok made / SABFGS on truth / 1" in lines[-1]
