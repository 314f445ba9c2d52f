"""The committed run of the plan `paper`: its pages match its records."""

import numpy as np
import pytest
from protocol import load

from ldlearn.evaluation import Record, Results
from ldlearn.experiments import load_plan, read_records
from ldlearn.experiments.cells import plan_cells
from ldlearn.reporting.report import Report
from research.paper import write_page

FOLDER = write_page.RUN


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return list(read_records(FOLDER))


def test_readme_matches_the_records(records: list[Record]) -> None:
    page = write_page.readme(Results(records, subject=write_page.OURS))
    assert page == (FOLDER / "README.md").read_text(encoding="utf-8")


def test_summary_matches_the_records(records: list[Record]) -> None:
    plan = (FOLDER / "plan.toml").read_text(encoding="utf-8")
    assert Report(records, plan).markdown() == (FOLDER / "report.md").read_text(encoding="utf-8")


def test_every_cell_of_its_plan_was_run(records: list[Record]) -> None:
    status = {record.cell: record.status for record in records}
    cells = plan_cells(load_plan(FOLDER / "plan.toml"))
    found = {
        name: {status[cell.key] for cell in cells if cell.dataset.name == name}
        for name in ("natural_scene", "scut_fbp", "twitter_ldl")
    }
    assert found == {"natural_scene": {"ok"}, "scut_fbp": {"ok"}, "twitter_ldl": {"missing"}}


@pytest.mark.parametrize(
    ("name", "low", "high"), [("Natural_Scene", 1e-5, 1e-2), ("SCUT_FBP", 1e-6, 1e-6)]
)
def test_statement_of_the_readme_on_tiny_degrees(name: str, low: float, high: float) -> None:
    _, D = load(name)
    tiny = D[D <= 0.01]
    assert tiny.min() == pytest.approx(low, rel=1e-4) or tiny.min() > low
    assert tiny.max() == pytest.approx(high, rel=1e-4) or tiny.max() < high
    assert name == "SCUT_FBP" or np.median(tiny) == pytest.approx(2e-4, rel=0.3)
