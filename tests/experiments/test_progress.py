import io

from tiny_plans import tiny_plan

from ldlearn.experiments import LogProgress, run_plan
from ldlearn.experiments.cells import plan_cells


def test_remaining_time_is_extrapolated_from_finished_cells(monkeypatch):
    clock, stream = [100.0], io.StringIO()
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    plan = tiny_plan(methods={"UniformLE": {}, "DLDL": {}}, protocol={"repeats": 10})
    progress = LogProgress(stream)
    progress.begin(20, 6)
    for cell in plan_cells(plan)[6:10]:
        clock[0] += 5.0
        progress.finish_cell(cell, cell.record("ok"))
    assert stream.getvalue().endswith("(time left: 50 s)\n")  # ten cells of five seconds


def test_log_has_one_line_per_cell(tmp_path):
    stream = io.StringIO()
    run_plan(tiny_plan(), tmp_path, progress=LogProgress(stream))
    lines = stream.getvalue().splitlines()
    assert "10 cells, 0 of them recorded before" in lines[0]
    assert len(lines) == 11
    assert "[10/10] ok made / SABFGS on truth / 1" in lines[-1]
