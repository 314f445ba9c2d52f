import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import run_plan


@pytest.fixture(scope="session")
def complete_run(tmp_path_factory):
    """The tiny plan, run without interruption; its folder must only be read or copied."""
    return run_plan(tiny_plan(), tmp_path_factory.mktemp("whole"))
