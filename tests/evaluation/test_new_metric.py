"""A new metric as described in CONTRIBUTING.md is available in scores, records, reports and
commands."""

import numpy as np
import pytest
from added_to_package import add_to_package
from tiny_plans import tiny_plan

from ldlearn import metrics
from ldlearn.cli.main import main
from ldlearn.experiments import run_plan
from ldlearn.metrics import METRICS, registry, score_all
from ldlearn.reporting import Report

D, P = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.75, 0.25]])


FILE = '''
"""How sure a prediction is."""

from ldlearn.metrics.registry import register


@register("Toy", "max p", greater_is_better=True)
def toy_confidence(D_true, D_pred):
    """Largest predicted degree."""
    return D_pred.max(axis=1)
'''


@pytest.fixture
def toy_metric(tmp_path, monkeypatch):
    yield add_to_package(monkeypatch, tmp_path, metrics, "toy_metric", FILE, "toy_confidence")
    del registry._BETWEEN_DISTRIBUTIONS["toy_confidence"]


def test_new_metric_in_scores(toy_metric):
    assert metrics.toy_confidence is toy_metric
    assert toy_metric(D, P) == score_all(D, P)["toy_confidence"] == 0.625
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
