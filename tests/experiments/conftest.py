import pytest
from tiny_plans import tiny_plan

from ldlearn.experiments import run_plan


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The tiny plan, run in one go; its folder is only to be read, or copied."""
    return run_plan(tiny_plan(), tmp_path_factory.mktemp("whole"))
