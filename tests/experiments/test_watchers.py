import io
import math

import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import LogWatcher, run_plan
from ldlearn.experiments.cells import families, pieces, plan_cells
from ldlearn.experiments.summary import summarise
from ldlearn.experiments.watchers import TimeLeft, spell


def test_durations_for_people():
    assert [spell(s) for s in (None, 0.2, 65, 3725)] == ["unknown", "0 s", "1 min 05 s", "1 h 02 min"]


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


def record(method, value, **more):
    scores = {"chebyshev": value, "intersection": 1 - value if value is not None else None}
    base = {"dataset": "d", "method": method, "status": "ok", "is_floor": False, "trained_on": "logical"}
    return base | {"recovery": scores, "prediction": None} | more


def test_summaries_are_means_and_deviations_best_first():
    records = [record("a", 0.3), record("a", 0.5), record("b", 0.2), record("b", 0.2), record("c", None)]
    records.append(record("b", 9.0, status="failed"))
    rows = summarise(records, "recovery", ["chebyshev"])
    assert [row.method for row in rows] == ["b", "a", "c"]
    assert rows[1].mean["chebyshev"] == pytest.approx(0.4)
    assert rows[1].std["chebyshev"] == pytest.approx(math.sqrt(0.02))
    assert [row.method for row in summarise(records, "recovery", ["intersection"])] == ["b", "a", "c"]
    assert summarise(records, "prediction", ["chebyshev"]) == []
