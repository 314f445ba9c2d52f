"""The page of the studies says what their records say, and the records are those of their plans."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ldlearn.experiments import load_plan, read_records
from ldlearn.experiments.cells import plan_cells

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "studies.py"
if not SCRIPT.is_file() or not (ROOT / "docs").is_dir():
    pytest.skip("the benchmarks are not part of this copy of the project", allow_module_level=True)


@pytest.fixture(scope="module")
def studies() -> ModuleType:
    spec = importlib.util.spec_from_file_location("studies", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_records_give(studies: ModuleType) -> None:
    assert studies.page(studies.load()) == studies.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("study", ["ablation", "iterations", "graph_settings"])
def test_every_cell_of_a_study_was_run_as_its_plan_says(study: str) -> None:
    folder = ROOT / "benchmarks" / "studies" / study
    done = {record.cell for record in read_records(folder) if record.is_ok}
    assert {cell.key for cell in plan_cells(load_plan(folder / "plan.toml"))} == done
