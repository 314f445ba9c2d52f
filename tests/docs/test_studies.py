"""The page of studies matches its records, and the records match their plans."""

from __future__ import annotations

import pytest

from ldlearn.experiments import load_plan, read_records
from ldlearn.experiments.cells import plan_cells
from research.studies import write_page


def test_page_matches_the_records() -> None:
    assert write_page.page(write_page.load()) == write_page.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("study", ["ablation", "iterations", "graph_settings"])
def test_every_cell_of_a_study_was_run(study: str) -> None:
    folder = write_page.FOLDER / study
    done = {record.cell for record in read_records(folder) if record.is_ok}
    assert {cell.key for cell in plan_cells(load_plan(folder / "plan.toml"))} == done
