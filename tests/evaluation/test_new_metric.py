"""A new metric is a function and a line of the table: scores, records, reports and commands."""

import gc

import numpy as np
import pytest
from tiny_plans import tiny_plan

from ldlearn.cli.main import main
from ldlearn.experiments import run_plan
from ldlearn.metrics import METRICS, Metric, score_all
from ldlearn.metrics.inputs import check_distribution_pair, mean_or_rows
from ldlearn.reporting import Report

D, P = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.75, 0.25]])


def toy_confidence(D_true, D_pred, *, convention="exact", per_row=False):
    """Return the largest predicted degree."""
    _, P = check_distribution_pair(D_true, D_pred, convention)
    return mean_or_rows(P.max(axis=1), per_row)


LINE = Metric(toy_confidence, "Toy", "max p", greater_is_better=True)


@pytest.fixture
def toy_metric(monkeypatch):
    """The metric in the table until the test ends; METRICS is a read-only view of a dictionary."""
    (table,) = gc.get_referents(METRICS)
    monkeypatch.setitem(table, LINE.name, LINE)


def test_new_metric_in_scores(toy_metric):
    assert toy_confidence(D, P) == score_all(D, P)["toy_confidence"] == 0.625
    assert METRICS["toy_confidence"].heading == "Toy ↑"


def test_new_metric_in_records_selection_and_reports(toy_metric, tmp_path):
    plan = tiny_plan(metrics=["toy_confidence"], selection={"prediction": "toy_confidence"})
    records = run_plan(plan, tmp_path).records
    tuned = next(record for record in records if record.method == "DLDL")
    assert tuned.validation["prediction"] == max(point.prediction for point in tuned.grid)
    assert 1 / 3 < tuned.prediction["toy_confidence"] < 1
    report = Report(records, plan.to_toml())
    assert "### Prediction: Toy ↑" in report.markdown()
    assert ">Toy ↑</option>" in report.html()


def test_new_metric_on_the_command_line(toy_metric, tmp_path, capsys):
    for name, matrix in (("true.csv", D), ("mine.csv", P)):
        np.savetxt(tmp_path / name, matrix, delimiter=",", header="a,b", comments="")
    with pytest.raises(SystemExit) as exit_info:
        main(["compare", str(tmp_path / "true.csv"), str(tmp_path / "mine.csv")])
    assert exit_info.value.code in (0, None)
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("Toy ↑")
    ]
    assert line.split()[-1] == "0.625"
